"""Access control: hosts, origins, tokens, sizes, and headers of every response."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request, Response
from starlette.responses import JSONResponse

from sidelight.store import Person
from sidelight.web._bench import Bench

COOKIE = "sidelight_session"
TOKEN_HEADER = "x-sidelight"
UPLOADS = ("/api/uploads", "/api/uploads/pictures", "/api/projects/file")
SAFE = {"GET", "HEAD", "OPTIONS"}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ROLE_MAY = {
    "viewer": {"look"},
    "annotator": {"answer"},
    "editor": {"look", "answer", "edit"},
    "owner": {"look", "answer", "edit", "own"},
}


def _name_of(host: str) -> str:
    """A host without its port."""
    return host.rsplit(":", 1)[0] if not host.endswith("]") and ":" in host else host


async def guard(
    request: Request, call_next: Callable[[Request], Awaitable[Response]], bench: Bench
) -> Response:
    """Refuse foreign hosts, foreign pages and large bodies; put headers on every answer."""
    refusal = _refusal(request, bench)
    response = (
        JSONResponse({"detail": refusal[1]}, status_code=refusal[0])
        if refusal
        else await call_next(request)
    )
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if not request.url.path.startswith("/static/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def _refusal(request: Request, bench: Bench) -> tuple[int, str] | None:
    host = request.headers.get("host", "")
    if _name_of(host).lower() not in bench.settings.hosts:
        return 421, "this server does not answer to that host name."
    if request.method in SAFE:
        return None
    length = request.headers.get("content-length", "")
    is_upload = request.url.path in UPLOADS
    limit = bench.settings.max_upload if is_upload else bench.settings.max_body
    if not length.isdigit():
        return 411, "a request with a body needs the header Content-Length."
    if int(length) > limit:
        return 413, f"the request has {int(length):,} bytes; at most {limit:,} are taken."
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return 403, "the request comes from another page."
    uses_cookie = COOKIE in request.cookies and "authorization" not in request.headers
    if uses_cookie and origin is None and not _same_site(request):
        return 403, "the request does not say which page it comes from."
    return None


def _same_site(request: Request) -> bool:
    return request.headers.get("sec-fetch-site") == "same-origin"


def token_of(request: Request) -> str | None:
    """The token of a session: a header for programs, a cookie for pages."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token:
        return token
    return request.cookies.get(COOKIE)


def person_of(request: Request) -> Person:
    """Who asks; 401 for strangers."""
    token = token_of(request)
    bench: Bench = request.app.state.bench
    person = None if token is None else bench.store.people.of_session(token)
    if person is None:
        raise HTTPException(401, "log in first: open the link that the server has printed.")
    if request.method not in SAFE and "authorization" not in request.headers:
        is_page = request.url.path.startswith("/plain/")  # forms have a field of their own
        if not is_page and request.headers.get(TOKEN_HEADER) != "1":
            raise HTTPException(403, f"a request that writes needs the header {TOKEN_HEADER}: 1.")
    return person


def may(what: str) -> Callable[[Request], Person]:
    """A dependency: the person, if their role may do that."""

    def checked(request: Request) -> Person:
        person = person_of(request)
        if what not in ROLE_MAY[person.role]:
            raise HTTPException(403, f"your role, {person.role}, may not do this.")
        return person

    return checked


def form_token(request: Request) -> str:
    """A secret of the session for hidden fields of forms."""
    return hmac.digest((token_of(request) or "").encode(), b"form", "sha256").hex()


def check_form(request: Request, given: Any) -> None:
    """Refuse a form that was not made for its sender."""
    if not isinstance(given, str) or not hmac.compare_digest(given, form_token(request)):
        raise HTTPException(403, "the form is out of date; reload the page.")
