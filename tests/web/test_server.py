"""A real server on loopback: killed, doubled, beside a full disk; requests are bounded."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from sidelight.exceptions import SidelightError
from sidelight.store import Store
from sidelight.web import Client
from web_table import write_table

pytestmark = pytest.mark.slow  # processes and signals, by the clock

START = (
    "import sys; from sidelight.cli import main; sys.argv = ['sidelight', 'serve', *sys.argv[1:]];"
    "main()"
)


class Server:
    """``sidelight serve`` in a process, on a port that is free."""

    def __init__(self, folder, table=None, *options):
        words = [str(table)] if table else []
        words += ["--data-root", str(folder), "--port", "0", "--workers", "0", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", START, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if "Data and answers are in" in line:
                break
        else:
            raise AssertionError("".join(lines))
        self.url = re.search(r"http://[^/]+", lines[0])[0]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self):
        self.process.terminate()
        self._end()

    def _end(self):
        self.process.wait(30)
        self.process.stdout.close()


def patient(call, seconds=60):
    """Try until the server answers: it has just been started, or killed."""
    import httpx2

    end = time.monotonic() + seconds
    while True:
        try:
            return call()
        except httpx2.HTTPError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "people.csv", 200)


def token_for(folder, name, role="annotator"):
    store = Store(folder / "workbench.db")
    person = store.people.add(name, role)
    token = store.people.new_token("session", person=person.id)
    store.close()
    return token


def kill_and_count(tmp_path, table, n_kills, n_clients):
    folder = tmp_path / "data"
    server = Server(folder, table, "--id", "id", "--drop", "town")
    urls, stop, acknowledged = [server.url], threading.Event(), []
    tokens = [token_for(folder, f"p{k}") for k in range(n_clients)]

    def answer(token, k):
        import httpx2

        url, number = urls[-1], 0
        client = Client(url, token)
        while not stop.is_set() and number < 100_000:
            if url != urls[-1]:
                client.close()
                url = urls[-1]
                client = Client(url, token)
            try:
                for question in client.ask(1, 2):
                    body = [{"question": question["id"], "value": "cannot_tell"}]
                    acknowledged.extend(client.answer(1, body))
                    number += 1
            except (httpx2.HTTPError, SidelightError):
                time.sleep(0.05)
        client.close()

    threads = [threading.Thread(target=answer, args=(token, k)) for k, token in enumerate(tokens)]
    for thread in threads:
        thread.start()
    for _ in range(n_kills):
        seen = len(acknowledged)
        end = time.monotonic() + 60
        while len(acknowledged) < seen + 3 and time.monotonic() < end:
            time.sleep(0.02)
        server.kill()
        server = Server(folder)
        urls.append(server.url)
    stop.set()
    for thread in threads:
        thread.join()
    server.kill()
    store = Store(folder / "workbench.db")
    kept = {event.id for event in store.events(1)}
    said = store.statements(1)
    store.rebuild(1)
    assert store.statements(1) == said
    store.close()
    return acknowledged, kept


def test_a_killed_server_loses_no_acknowledged_answer(tmp_path, table):
    acknowledged, kept = kill_and_count(tmp_path, table, n_kills=2, n_clients=3)
    assert len(acknowledged) >= 6
    assert set(acknowledged) <= kept


@pytest.mark.slow
def test_fifty_kills_and_eight_clients_lose_nothing(tmp_path, table):
    acknowledged, kept = kill_and_count(tmp_path, table, n_kills=50, n_clients=8)
    assert len(acknowledged) >= 150
    assert set(acknowledged) <= kept


def test_two_servers_on_one_store_and_a_client_that_repeats_everything(tmp_path, table):
    folder = tmp_path / "data"
    servers = [Server(folder, table, "--id", "id", "--drop", "town"), Server(folder)]
    clients = [Client(server.url, token_for(folder, f"p{k}")) for k, server in enumerate(servers)]
    try:
        for _ in range(3):
            for client in clients:
                (question,) = patient(lambda client=client: client.ask(1))
                body = [{"question": question["id"], "value": "cannot_tell"}]
                events = [client.answer(1, body) for _ in range(3)]
                assert events[0] == events[1] == events[2]
        tables = [client.get("projects")[0]["n_statements"] for client in clients]
        assert tables == [6, 6]
    finally:
        for client, server in zip(clients, servers, strict=True):
            client.close()
            server.stop()


def test_the_same_table_is_the_same_project(tmp_path, table):
    folder = tmp_path / "data"
    for _ in range(2):
        Server(folder, table, "--id", "id", "--drop", "town").stop()
    store = Store(folder / "workbench.db")
    assert len(store.projects()) == 1
    store.close()


def test_a_full_disk_is_an_error_and_the_log_stays_whole(tmp_path):
    """The database may grow no further: an answer is refused as a whole, earlier ones stay."""
    store = Store(tmp_path / "s.db")
    project = store.create_project("p", n_rows=50_000).id
    small = {"statements": {"kind": ["must"], "i": [0], "j": [1]}}
    first = store.append(project, "answer", small)
    with store._engine.connect() as c:
        pages = c.exec_driver_sql("PRAGMA page_count").scalar()
        c.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
        c.rollback()
    large = {"statements": {"kind": "label", "i": list(range(20_000)), "class": "a" * 20}}
    with pytest.raises(Exception, match="full"):
        store.append(project, "bulk", large)
    assert [event.id for event in store.events(project)] == [first.id]
    assert len(store.statements(project)) == 1
    store.close()


def test_a_wrong_start_is_a_sentence(tmp_path):
    for words, message in [
        (["nowhere.csv"], "does not exist"),
        ([str(write_table(tmp_path / "t.csv")), "--id", "idd"], "Did you mean 'id'"),
        (
            [str(tmp_path / "t.csv"), "--id", "id", "--side", "said.csv"],
            "said.csv",
        ),
    ]:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                START,
                *words,
                "--drop",
                "town",
                "--port",
                "0",
                "--data-root",
                str(tmp_path / "d"),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ,
        )
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
