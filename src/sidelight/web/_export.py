"""Exports of the workbench: tables, statements, a script, a report, the whole project."""

import json
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.exceptions import SidelightError
from sidelight.store import Entry, Project
from sidelight.tables import read_table, write_cells
from sidelight.web._bench import Bench

EXPORTS = (
    "clusters.csv",
    "clusters.parquet",
    "clusters.h5ad",
    "statements.csv",
    "statements.jsonl",
    "statements.parquet",
    "script.py",
    "command.txt",
    "report.html",
    "project.zip",
)
FORMAT = 1
_MAX_MEMBER = 4_000_000_000  # bytes of one file inside a project file


def export(bench: Bench, project: int, what: str, place: Path, *, run: int | None = None) -> Path:
    """Write one export into a folder; returns the file."""
    found = bench.store.project(project)
    path = place / what
    kind, _suffix = what.split(".")
    if what == "clusters.h5ad":
        _cells(bench, found, path, _chosen(bench, project, run))
    elif kind == "clusters":
        _clusters(bench, found, path, _chosen(bench, project, run))
    elif kind == "statements":
        bench.store.side(project, index=bench.rows(project).ids).write(path)
    elif kind == "script":
        path.write_text(script(found, _chosen(bench, project, run)), encoding="utf-8")
    elif kind == "command":
        path.write_text(command(found, _chosen(bench, project, run)), encoding="utf-8")
    elif kind == "report":
        _report(bench, project, path, _chosen(bench, project, run))
    else:
        _project_file(bench, found, path)
    return path


def _chosen(bench: Bench, project: int, run: int | None) -> dict[str, Any]:
    """The run that is asked for, else the pinned one, else the last."""
    if run is not None:
        return bench.store.run(project, run)
    runs = bench.store.runs(project)
    if not runs:
        raise SidelightError("there is no run yet; start one, or answer ten questions.")
    return next((one for one in runs if one["pinned"]), runs[-1])


def _clusters(bench: Bench, project: Project, path: Path, run: dict[str, Any]) -> None:
    table = read_table(bench.rows(project.id).table_path)
    table.write(path, _new_columns(bench, run, set(table.columns)))


def _cells(bench: Bench, project: Project, path: Path, run: dict[str, Any]) -> None:
    """The rows as cells: the numbers that models saw, the columns and clusters, and the map."""
    rows = bench.rows(project.id)
    table = read_table(rows.table_path)
    write_cells(
        path,
        rows.X,
        names=project.config["features"],
        cells=rows.ids or range(project.n_rows),
        obs={**table.columns, **_new_columns(bench, run, set(table.columns))},
        obsm={"X_sidelight_map": np.array(bench.folder.array(project.config["files"]["layout"]))},
    )


def _new_columns(bench: Bench, run: dict[str, Any], taken: set[str]) -> dict[str, list[Any]]:
    """Cluster, name and membership of each row; a name that the table has already is changed."""
    labels = np.asarray(bench.folder.array(run["labels_file"]))
    names = [cluster["name"] for cluster in run["scores"]["clusters"]]
    more: dict[str, list[Any]] = {
        "cluster": labels.tolist(),
        "cluster_name": [names[k] for k in labels],
    }
    if run["scores"].get("membership"):
        own = bench.folder.array(run["scores"]["membership"])
        more["membership"] = [round(float(value), 6) for value in own]
    return {f"sidelight_{n}" if n in taken else n: v for n, v in more.items()}


def script(project: Project, run: dict[str, Any]) -> str:
    """The Python lines that repeat a run."""
    config = project.config
    options: dict[str, Any] = {"id": config["id"], **config["how"], "seed": run["seed"]}
    options["reading"] = config.get("reading")
    parameters = dict(run["parameters"])
    options["n_clusters"] = parameters.pop("n_clusters", None)
    options["parameters"] = parameters or None
    told = "".join(f"    {name}={value!r},\n" for name, value in options.items() if value)
    return (
        f"# Repeats run {run['id']} of {project.name!r}: what it knew is the log up to event\n"
        f"# {run['at_event']}. Export the statements and put them beside the table.\n"
        "from sidelight import study\n\n"
        f"answer = study.fit(\n    {config['source']!r},\n    {run['model']!r},\n"
        f'    side="statements.jsonl",\n    use_what_fits=True,\n{told})\n'
        'print(answer.in_words())\nanswer.write("clusters.csv")\n'
    )


def command(project: Project, run: dict[str, Any]) -> str:
    """The command line that repeats a run."""
    config = project.config
    words = ["sidelight", "fit", config["source"], "--side", "statements.jsonl"]
    options: dict[str, Any] = {"model": run["model"], "id": config["id"], **config["how"]}
    options |= config.get("reading") or {}
    parameters = dict(run["parameters"])
    options["clusters"] = parameters.pop("n_clusters", None)
    options["seed"] = run["seed"]
    options["set"] = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in parameters.items()
    ]
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one != "":
                words += [f"--{name.replace('_', '-')}", str(one)]
    return shlex.join([*words, "--use-what-fits", "--out", "clusters.csv"])


def _report(bench: Bench, project: int, path: Path, run: dict[str, Any]) -> None:
    """The report of a run that a job has made."""
    name = bench.made_by(project, "report", run["id"])
    if name is not None:
        path.write_bytes(bench.folder.path(name).read_bytes())
        return
    raise SidelightError(
        f"run {run['id']} has no report yet; start a job of the kind 'report' and wait for it."
    )


def _project_file(bench: Bench, project: Project, path: Path) -> None:
    """The log and the files of a project: a zip of JSON and arrays, no pickle."""
    runs = bench.store.runs(project.id)
    files = {*project.config["files"].values()}
    for run in runs:
        files |= {run["labels_file"], run["scores"]["verdict"]}
        files |= {run["scores"]["membership"]} - {None}
    about = {
        "format": FORMAT,
        "name": project.name,
        "n_rows": project.n_rows,
        "config": project.config,
    }
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project.json", json.dumps(about))
        lines = (json.dumps(event._asdict()) for event in bench.store.events(project.id))
        archive.writestr("events.jsonl", "\n".join(lines))
        archive.writestr("runs.json", json.dumps(runs))
        for name in sorted(files):
            archive.write(bench.folder.path(name), f"files/{name}")


def import_project(bench: Bench, path: Path, *, max_bytes: int = 8_000_000_000) -> Project:
    """Add a project from a project file; every member is checked before anything is written."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            total = sum(info.file_size for info in members.values())
            if total > max_bytes or any(i.file_size > _MAX_MEMBER for i in members.values()):
                raise SidelightError(
                    f"{path.name} would expand to {total:,} bytes; that is refused."
                )
            about = json.loads(archive.read("project.json"))
            if about.get("format") != FORMAT:
                raise SidelightError(
                    f"{path.name} has format {about.get('format')!r}; this version reads {FORMAT}."
                )
            contents = {
                name.removeprefix("files/"): archive.read(name)
                for name in members
                if name.startswith("files/")
            }
            events = [json.loads(line) for line in archive.read("events.jsonl").splitlines()]
            runs = json.loads(archive.read("runs.json"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        if isinstance(error, SidelightError):
            raise
        raise SidelightError(f"{path.name} is not a project file: {error}.") from None
    for name, data in contents.items():
        kept = bench.folder.put(data, Path(name).suffix)
        if kept != name:
            raise SidelightError(f"{path.name}: {name!r} does not hold what its name says.")
    project = bench.store.create_project(
        about["name"],
        n_rows=about["n_rows"],
        config=about["config"],
        data_hash=about["config"]["files"]["X"],
    )
    _replay_into(bench, project.id, events, runs)
    return project


def _replay_into(
    bench: Bench, project: int, events: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> None:
    """Events and runs under new numbers, in the same order."""
    number: dict[int, int] = {}
    for event in events:
        entry = Entry(event["kind"], event["body"], number.get(event["parent"]), event.get("key"))
        number[event["id"]] = bench.store.append_all(project, [entry])[0].id
    known = sorted(number)
    for run in runs:
        before = [old for old in known if old <= run["at_event"]]
        bench.store.add_run(
            project,
            model=run["model"],
            parameters=run["parameters"],
            seed=run["seed"],
            at_event=number[before[-1]] if before else 0,
            labels_file=run["labels_file"],
            scores=run["scores"],
            versions=run["versions"],
        )
