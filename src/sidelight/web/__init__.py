"""The workbench: people answer questions and the clusters follow (extra ``workbench``)."""

from sidelight.web._app import create_app
from sidelight.web._client import Client
from sidelight.web._serve import serve
from sidelight.web._settings import Settings

__all__ = ["Client", "Settings", "create_app", "serve"]
