"""The application: routes, errors in sentences, start and stop."""

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from sidelight import __version__
from sidelight.exceptions import SidelightError
from sidelight.store import StoreDown
from sidelight.web._advice import in_page
from sidelight.web._api import api
from sidelight.web._bench import Bench
from sidelight.web._pages import page, pages
from sidelight.web._security import guard
from sidelight.web._settings import Settings

STATIC = Path(__file__).parent / "static"


def create_app(settings: Settings) -> FastAPI:
    """The workbench as an ASGI application.

    Parameters
    ----------
    settings : Settings
        Where the data lies, who may reach it, and limits.

    Returns
    -------
    FastAPI

    Examples
    --------
    >>> import tempfile
    >>> from sidelight.web import Settings, create_app
    >>> app = create_app(Settings(tempfile.mkdtemp(), workers=0))
    >>> app.title
    'sidelight'
    >>> app.state.bench.stop()
    """
    bench = Bench(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        bench.start()
        yield
        bench.stop()

    app = FastAPI(
        title="sidelight",
        version=__version__,
        summary="Group data with the help of people who know a little about it.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.bench = bench

    @app.middleware("http")
    async def guarded(request: Request, call_next: Any) -> Response:
        return await guard(request, call_next, bench)

    app.add_exception_handler(SidelightError, _sentence)
    app.add_exception_handler(PermissionError, _forbidden)
    for down in (StoreDown, OSError):
        app.add_exception_handler(down, _not_saved)
    app.add_exception_handler(HTTPException, _told)
    app.include_router(api)
    app.include_router(pages)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


def _wants_page(request: Request) -> bool:
    is_api = request.url.path.startswith("/api/")
    return not is_api and "text/html" in request.headers.get("accept", "")


async def _sentence(request: Request, error: Exception) -> Response:
    """Errors of sidelight in their own words; unknown things are "not found"."""
    text = str(in_page(error) if isinstance(error, SidelightError) else error)
    status = 404 if text.startswith("there is no project") else 422
    if _wants_page(request):
        return page("message.html", status, title="That did not work", text=text)
    return JSONResponse({"detail": text}, status_code=status)


async def _forbidden(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=403)


async def _not_saved(request: Request, error: Exception) -> Response:
    """The disk is full, or the database is gone: nothing was saved, and trying again may help."""
    if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT):
        raise error
    why = str(getattr(error, "orig", error)).strip().rstrip(".")
    text = f"the workbench cannot save anything now ({why}); nothing of this request was kept."
    if _wants_page(request):
        return page("message.html", 503, title="Not saved", text=text)
    return JSONResponse({"detail": text}, status_code=503)


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if _wants_page(request):
        title = "Log in first" if error.status_code == 401 else "That did not work"
        return page("message.html", error.status_code, title=title, text=str(error.detail))
    return JSONResponse({"detail": error.detail}, status_code=error.status_code)
