"""Worker processes: progress, cancel, crash, limits, a stop in the middle."""

import os
import signal
import time

import psutil
import pytest

from sidelight.store import Store, StoreDown
from sidelight.web._pool import Pool
from sidelight.web._settings import Settings

PATIENCE = 600.0  # a worker imports scikit-learn and numba before it begins, on a busy machine too


def wait(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path, workers=1)


@pytest.fixture
def store(settings):
    store = Store(settings.store_address)
    yield store
    store.close()


@pytest.fixture
def project(store):
    return store.create_project("p", n_rows=5).id


@pytest.fixture
def pool(store, settings, tmp_path):
    pool = Pool(store, settings, str(tmp_path / "bulk"))
    pool.start()
    yield pool
    pool.stop()


def state(store, job):
    return store.jobs.get(job).state


def test_jobs_report_end_crash_and_are_cancelled(store, project, pool):
    quick = store.jobs.add(project, "nothing", {"seconds": 0.5})
    pool.wake()
    wait(lambda: state(store, quick) == "done")
    assert store.jobs.get(quick).heartbeat > 0

    deadly = store.jobs.add(project, "nothing", {"die": True})
    wait(lambda: state(store, deadly) == "failed")
    assert store.jobs.get(deadly).attempts == 2  # one retry after a crash
    assert "died" in store.jobs.get(deadly).error

    wrong = store.jobs.add(project, "magic", {})
    wait(lambda: state(store, wrong) == "failed")
    assert "unknown kind of job 'magic'" in store.jobs.get(wrong).error

    long = store.jobs.add(project, "nothing", {"seconds": 300})
    wait(lambda: store.jobs.get(long).heartbeat > 0)
    store.jobs.end(long, "cancelled")
    after = store.jobs.add(project, "nothing", {"seconds": 0.1})
    wait(lambda: state(store, after) == "done")
    assert state(store, long) == "cancelled"


def test_a_worker_that_is_killed_costs_a_retry_and_no_job(store, project, pool):
    job = store.jobs.add(project, "nothing", {"seconds": 3})
    wait(lambda: store.jobs.get(job).progress > 0)
    (worker,) = pool.processes
    if os.name == "posix":  # requests go before fits
        assert psutil.Process(worker).nice() > psutil.Process().nice()
    os.kill(worker, signal.SIGKILL)
    wait(lambda: state(store, job) == "done")
    assert store.jobs.get(job).attempts == 2


@pytest.mark.parametrize("call", ["claim", "pulse"])
def test_a_store_that_is_away_for_a_moment_ends_no_job(store, project, pool, monkeypatch, call):
    whole, n_failed = getattr(store.jobs, call), 0

    def fails_once(*arguments, **more):
        nonlocal n_failed
        n_failed += 1
        if n_failed == 1:
            raise StoreDown("a statement", {}, Exception("database is locked"))
        return whole(*arguments, **more)

    monkeypatch.setattr(store.jobs, call, fails_once)
    job = store.jobs.add(project, "nothing", {"seconds": 0.5})
    wait(lambda: state(store, job) == "done")
    assert n_failed > 1
    assert store.jobs.get(job).attempts == (1 if call == "claim" else 2)


def test_time_and_memory_have_limits(store, project, tmp_path):
    for limits, words in [({"max_seconds": 1.0}, "time limit"), ({"max_memory": 1}, "memory")]:
        settings = Settings(tmp_path, workers=1, **limits)
        pool = Pool(store, settings, str(tmp_path / "bulk"))
        pool.start()
        job = store.jobs.add(project, "nothing", {"seconds": 300})
        wait(lambda job=job: state(store, job) == "failed")
        assert words in store.jobs.get(job).error
        pool.stop()


def test_a_stopped_server_interrupts_its_jobs_and_leaves_no_process(
    store, project, settings, tmp_path
):
    pool = Pool(store, settings, str(tmp_path / "bulk"))
    pool.start()
    job = store.jobs.add(project, "nothing", {"seconds": 300})
    wait(lambda: store.jobs.get(job).heartbeat > 0)
    (worker,) = pool.processes
    pool.stop()
    assert state(store, job) == "interrupted"
    assert pool.processes == []
    assert not psutil.pid_exists(worker)  # ended, and waited for


def test_jobs_of_a_server_that_is_gone_are_interrupted_at_the_next_start(store, project, tmp_path):
    import platform

    job = store.jobs.add(project, "nothing", {})
    other = store.jobs.add(store.create_project("q", n_rows=2).id, "nothing", {})
    store.jobs.claim(f"{platform.node()}:999999999:0")
    store.jobs.claim("another machine:1:0")
    pool = Pool(store, Settings(tmp_path, workers=0), str(tmp_path / "bulk"))
    pool.start()
    assert state(store, job) == "interrupted"
    assert state(store, other) == "running"
    pool.stop()
