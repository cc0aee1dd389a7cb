"""The link that is printed leads somewhere at once."""

import socket
from urllib.parse import urlsplit

import uvicorn

from sidelight.web import Settings, serve


def test_the_link_can_be_followed_before_the_server_answers(tmp_path, monkeypatch):
    reached = []

    def follow(link):
        place = urlsplit(link)
        socket.create_connection((place.hostname, place.port), timeout=5).close()
        reached.append(link)

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: sockets[0].close())
    serve(Settings(tmp_path, workers=0), port=0, tell=lambda line: None, opened=follow)
    assert len(reached) == 1
