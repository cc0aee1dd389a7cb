"""Start the server: one command from a table to a page."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sidelight.exceptions import SidelightError
from sidelight.web._app import create_app
from sidelight.web._bench import Bench
from sidelight.web._settings import Settings

LOCAL = {"127.0.0.1", "localhost", "::1"}


def serve(
    settings: Settings,
    *,
    table: Path | None = None,
    side: Sequence[Path] = (),
    name: str | None = None,
    id: str | None = None,
    labels: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    tell: Callable[[str], None] = print,
    opened: Callable[[str], Any] | None = None,
    **how: Any,
) -> None:
    """Serve a workbench until it is interrupted.

    Parameters
    ----------
    settings : Settings
        Where the data lies.
    table : path, optional
        A table to open as a project, unless its contents are a project already.
    side : sequence of path
        Files of statements about it.
    name : str, optional
        The name of the project; by default that of the table.
    id : str, optional
        Column with the row ids.
    labels : str, optional
        Column with the classes that are known.
    host, port
        Where to listen. Port 0 takes any that is free.
    tell : callable
        What prints a line.
    opened : callable, optional
        Called with the address when the server listens, to open a browser.
    **how
        How the table becomes a matrix: see `sidelight.study.prepare`.

    Examples
    --------
    >>> import tempfile
    >>> from sidelight.web import Settings, serve
    >>> settings = Settings(tempfile.mkdtemp())
    >>> serve(settings, host="127.0.0.1", port=8765)  # doctest: +SKIP
    The workbench: http://127.0.0.1:8765/login?token=...
    """
    import uvicorn

    app = create_app(settings)
    bench: Bench = app.state.bench
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    if table is not None:
        open_table(bench, table, side=side, name=name, id=id, labels=labels, **how)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}"
    link = f"{address}/login?token={login_token(bench)}"
    listener.listen()  # a browser that opens the link at once waits, and is not refused
    tell(f"The workbench: {link}")
    tell("The link works once; afterwards the browser is logged in for a month.")
    if host in LOCAL:
        tell(f"Only this machine can reach it. Data and answers are in {settings.root}.")
    else:
        tell(
            f"Everybody who can reach {shown} can open the page; without a link they see nothing. "
            f"The connection is not encrypted. Data and answers are in {settings.root}."
        )
    if opened is not None:
        opened(link)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3)
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named; without that an
    # answer on a connection that is kept open waits 40 ms for a delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SidelightError(
            f"cannot listen on {host}:{port}: {error.strerror}. Choose another --port, or 0 for "
            "any that is free."
        ) from None
    return listener


def login_token(bench: Bench) -> str:
    """A link to log in as the owner, who is created if the store is empty."""
    people = bench.store.people.all()
    owner = next((p for p in people if p.role == "owner" and not p.disabled), None)
    owner = owner or bench.store.people.add("owner", "owner")
    return bench.store.people.new_token("login", person=owner.id, lasts=86400.0)


def open_table(
    bench: Bench,
    table: Path,
    *,
    side: Sequence[Path] = (),
    name: str | None = None,
    id: str | None = None,
    labels: str | None = None,
    **how: Any,
) -> int:
    """The project of a table: the one with the same contents, else a new one."""
    from sidelight import study
    from sidelight.tables import as_table
    from sidelight.web._rows import import_table

    drop = [*how.pop("drop", ()), *([labels] if labels else [])]
    config = import_table(bench.folder, table, id=id, drop=drop, source=str(table), **how)
    read = as_table(table, text=[id] if id else [], **(how.get("reading") or {}))
    for project in bench.store.projects():
        same = project.config["files"]["rows"] == config["files"]["rows"]
        if same and project.config["how"] == config["how"]:
            bench.asking.refresh(project.id)
            return project.id
    n_rows = config.pop("n_rows")
    # Statements first: a file that cannot be read leaves no project behind.
    said = study.gather(list(side), read, id=id, labels=labels)
    project = bench.store.create_project(
        name or table.stem, n_rows=n_rows, data_hash=config["files"]["X"], config=config
    )
    bench.store.say(project.id, said, source=", ".join(path.name for path in side) or None)
    bench.asking.refresh(project.id)
    return project.id
