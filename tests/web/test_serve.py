"""The link that is printed leads somewhere at once, and answers do not wait for each other."""

import asyncio
import socket
from urllib.parse import urlsplit

import uvicorn

from sidelight.web import Settings, serve
from sidelight.web._serve import _listen


def test_the_link_can_be_followed_before_the_server_answers(tmp_path, monkeypatch):
    reached = []

    def follow(link):
        place = urlsplit(link)
        socket.create_connection((place.hostname, place.port), timeout=5).close()
        reached.append(link)

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: sockets[0].close())
    serve(Settings(tmp_path, workers=0), port=0, tell=lambda line: None, opened=follow)
    assert len(reached) == 1


def test_a_short_answer_is_sent_at_once():
    """Nagle's algorithm would keep it for 40 ms on every connection that is used again."""

    async def accepted():
        came = asyncio.get_running_loop().create_future()
        listener = _listen("127.0.0.1", 0)
        server = await asyncio.start_server(
            lambda _, writer: came.set_result(writer), sock=listener
        )
        _, mine = await asyncio.open_connection(*listener.getsockname())
        theirs = await came
        found = theirs.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for writer in (mine, theirs):
            writer.close()
            await writer.wait_closed()
        server.close()
        return found

    assert asyncio.run(accepted())
