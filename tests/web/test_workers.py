"""A fit from the request to the run: by a worker process, and by a Dask cluster."""

import time

import pytest

from sidelight.store import Store
from sidelight.web import Settings
from sidelight.web._bench import Bench
from web_table import write_table


def wait_for(bench, job, seconds=180):
    end = time.monotonic() + seconds
    while bench.store.jobs.get(job).state in ("queued", "running"):
        assert time.monotonic() < end, "the job did not end in time"
        time.sleep(0.05)
    return bench.store.jobs.get(job)


def run_a_fit(bench, tmp_path):
    project = bench.create_project(
        write_table(tmp_path / "t.csv"), name="people", id="id", drop=["town"]
    )
    said = {"statements": {"kind": "label", "i": [0, 1, 2, 3], "class": ["b", "c", "b", "c"]}}
    bench.store.append(project.id, "bulk", said)
    job = bench.start_job(project.id, "fit", {"model": "ConstrainedKMeans"}, None)
    ended = wait_for(bench, job)
    assert ended.state == "done", ended.error
    (run,) = bench.store.runs(project.id)
    labels = bench.folder.array(run["labels_file"])
    assert len(labels) == 40
    assert len(set(labels[::2])) == 1  # the two groups of the table
    return project.id


def test_a_worker_process_fits_and_the_run_is_kept(tmp_path):
    bench = Bench(Settings(tmp_path / "data", workers=1))
    bench.runner.start()
    try:
        project = run_a_fit(bench, tmp_path)
        job = bench.start_job(project, "report", {"run": bench.store.last_run(project)["id"]}, None)
        ended = wait_for(bench, job)
        assert ended.state == "done", ended.error
        page = bench.folder.path(ended.message.removeprefix("report ")).read_text(encoding="utf-8")
        assert "<html" in page
    finally:
        bench.stop()


def test_a_dask_cluster_fits_instead_of_processes_here(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        bench = Bench(Settings(tmp_path / "data", workers=0, dask=cluster.scheduler_address))
        bench.runner.start()
        try:
            run_a_fit(bench, tmp_path)
            wrong = bench.store.jobs.add(1, "magic", {})
            assert "unknown kind" in wait_for(bench, wrong).error
        finally:
            bench.stop()
    store = Store(tmp_path / "data" / "workbench.db")
    assert store.runs(1)
    store.close()
