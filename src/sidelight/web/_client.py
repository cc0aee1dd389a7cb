"""A thin Python client of the API: for tests, and for programs that answer questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sidelight.exceptions import SidelightError


class Client:
    """Talk to a workbench over HTTP.

    Parameters
    ----------
    url : str
        The address of the server.
    token : str, optional
        A token of the person in whose name it acts (``POST /api/people/token``).
    transport : httpx2.Client, optional
        Something that sends requests, instead of a new connection.

    Examples
    --------
    >>> from sidelight.web import Client
    >>> def same_first_letter(question):
    ...     first, second = (str(row["cells"]["name"])[0] for row in question["rows"])
    ...     return "must" if first == second else "cannot"
    >>> client = Client("http://127.0.0.1:8765", "a token")
    >>> client.close()  # with a server there: client.answer_all(1, same_first_letter, n=100)
    """

    def __init__(self, url: str, token: str | None = None, *, transport: Any = None) -> None:
        import httpx2

        self._http = transport or httpx2.Client(base_url=url, timeout=60)
        if token is not None:
            self._http.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """The response of an address of the API, such as ``projects``."""
        return self._checked(self._http.get(f"/api/{path}", params=query))

    def post(self, path: str, body: Any = None) -> Any:
        """Send data to an address of the API."""
        return self._checked(self._http.post(f"/api/{path}", json={} if body is None else body))

    def upload(self, path: str | Path) -> dict[str, Any]:
        """Send a table; returns its key and a preview."""
        path = Path(path)
        sent = self._http.post(
            "/api/uploads", params={"name": path.name}, content=path.read_bytes()
        )
        found: dict[str, Any] = self._checked(sent)
        return found

    def create_project(self, path: str | Path, name: str, **how: Any) -> dict[str, Any]:
        """Upload a table and import it as a project; ``how`` is as in the API."""
        key = self.upload(path)["upload"]
        found: dict[str, Any] = self.post("projects", {"upload": key, "name": name, **how})
        return found

    def ask(self, project: int, n: int = 1) -> list[dict[str, Any]]:
        """The next questions."""
        found: list[dict[str, Any]] = self.get(f"projects/{project}/ask", n=n)
        return found

    def answer(self, project: int, answers: Sequence[Mapping[str, Any]]) -> list[int]:
        """Send answers (``question``, ``value``); returns the numbers of their events."""
        found: list[int] = self.post(f"projects/{project}/answers", list(answers))["events"]
        return found

    def answer_all(
        self, project: int, decide: Callable[[dict[str, Any]], Any], *, n: int, at_once: int = 5
    ) -> Iterator[dict[str, Any]]:
        """Answer n questions by a function.

        Yields each question with the value that was answered. ``decide`` returns None for "can't
        tell".
        """
        done = 0
        while done < n:
            questions = self.ask(project, min(at_once, n - done))
            if not questions:
                return
            values = [decide(question) for question in questions]
            self.answer(
                project,
                [
                    {"question": q["id"], "value": "cannot_tell" if v is None else v}
                    for q, v in zip(questions, values, strict=True)
                ],
            )
            done += len(questions)
            for question, value in zip(questions, values, strict=True):
                yield {**question, "value": value}

    def export(self, project: int, what: str, **query: Any) -> bytes:
        """An export as bytes, such as ``clusters.csv``."""
        response = self._http.get(f"/api/projects/{project}/export/{what}", params=query)
        if response.status_code >= 400:
            self._checked(response)
        content: bytes = response.content
        return content

    def _checked(self, response: Any) -> Any:
        if response.status_code >= 400:
            try:
                detail = response.json()["detail"]
            except (ValueError, KeyError):
                detail = response.text[:500]
            raise SidelightError(f"the workbench answers {response.status_code}: {detail}")
        return response.json()
