"""Stamps: what can change a result is part of the version, and nothing else is."""

import ast
import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sidelight
from experiments import stamps
from experiments.__main__ import main
from experiments.runner import HERE, papers
from experiments.stamps import PAGES, Page, Stamp, pages, read_stamp, sources, sources_hash

RUN = '''
"""A paper."""
from experiments.paper import other
from experiments.runner import Experiment, seed_of
from sidelight.models import LCVQE, find_model
from sidelight.metrics import score as judge

NAMES = {"one": "HGMeans"}
SHOWN = 3

def run(cell):
    """Run a cell."""
    return {"a": judge(_fit(cell), other.scale(seed_of(**cell)))}

def _fit(cell):
    return find_model(NAMES["one"])() or LCVQE()

def render(outcomes):
    return SHOWN, other.shown()
'''
OTHER = """
import warnings

FACTOR = 2

def scale(x: int):
    # a comment
    if x < 0:
        raise ValueError(f"{x} is below {FACTOR}", 2)
    if x < 5:
        warnings.warn("not much", stacklevel=2)
    return x * FACTOR

def shown():
    return "text"
"""


@pytest.fixture
def paper(tmp_path, monkeypatch) -> Path:
    """A folder of experiments with one paper of two files."""
    for module in ("runner.py", "stamps.py", "tables.py"):
        (tmp_path / module).write_text((HERE / module).read_text("utf-8"))
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "run.py").write_text(RUN)
    (tmp_path / "paper" / "other.py").write_text(OTHER)
    monkeypatch.setattr(stamps, "HERE", tmp_path)
    stamps.forget()
    yield tmp_path
    stamps.forget()


def changed(paper: Path, file: str, old: str, new: str) -> bool:
    """Whether an edit changes the version."""
    before = sources_hash(paper, "paper")
    path = paper / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new))
    stamps.forget()
    return sources_hash(paper, "paper") != before


def test_the_version_holds_what_a_cell_reaches_and_nothing_more(paper):
    found = set(sources(paper, "paper"))
    ours = {name for name in found if not name.startswith("sidelight/")}
    assert ours == {
        "experiments/runner.py:_digest",
        "experiments/runner.py:seed_of",
        "paper/other.py:FACTOR",
        "paper/other.py:scale",
        "paper/run.py:NAMES",
        "paper/run.py:_fit",
        "paper/run.py:run",
    }
    assert {"sidelight/models/_kmeans/vqe.py:LCVQE", "sidelight/metrics/_score.py:score"} <= found
    assert "sidelight/models/_kmeans/hg.py:HGMeans" in found  # only a text names it
    assert not any(name.startswith("sidelight/models/_markov/") for name in found)
    assert not any(name.split("/")[1] in stamps.SHOWING for name in found if "sidelight/" in name)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("paper/run.py", '"""Run a cell."""', '"""Runs one cell."""'),
        ("paper/run.py", "SHOWN = 3", "SHOWN = 4"),
        ("paper/other.py", "# a comment", "# another one"),
        ("paper/other.py", 'return "text"', 'return "other text"'),
        ("runner.py", "elapsed", "so far"),
        ("paper/other.py", 'f"{x} is below {FACTOR}"', '"too small"'),
        ("paper/other.py", '"not much"', 'f"{x} is not much"'),
        ("paper/other.py", "def scale(x: int)", "def scale(x: float) -> float"),
    ],
)
def test_words_and_tables_do_not_change_the_version(paper, file, old, new):
    assert not changed(paper, file, old, new)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("paper/run.py", '"one": "HGMeans"', '"one": "PCKMeans"'),
        ("paper/run.py", "or LCVQE()", "or LCVQE(n_init=2)"),
        ("paper/other.py", "FACTOR = 2", "FACTOR = 3"),
        ("paper/other.py", "raise ValueError", "raise TypeError"),
        ("paper/other.py", "if x < 0:", "if x < 1:"),
        ("paper/other.py", "import warnings", "import warnings\nwarnings.simplefilter('error')"),
        ("runner.py", "[:8], 16", "[:7], 16"),
    ],
)
def test_what_a_cell_computes_changes_the_version(paper, file, old, new):
    assert changed(paper, file, old, new)


def test_of_the_models_that_a_paper_names_a_cell_has_its_own_and_what_these_start_from(paper):
    def families(*uses):
        found = sources(paper, "paper", frozenset(uses))
        assert "paper/run.py:_fit" in found
        return {name.split(":")[0] for name in found if name.startswith("sidelight/models/_")}

    vqe, hg = "sidelight/models/_kmeans/vqe.py", "sidelight/models/_kmeans/hg.py"
    assert families() == set()
    assert vqe in families("LCVQE")
    assert hg not in families("LCVQE")
    assert {vqe, hg} <= families("LCVQE", "HGMeans")
    # asked of the registry, inside of the model
    started = families("DiscriminativeClustering")
    assert {f"sidelight/models/_{name}" for name in ("bayesian", "entropy", "kmeans")} <= {
        "/".join(name.split("/")[:3]) for name in started
    }


def test_a_model_that_no_text_and_no_import_names_counts_where_a_cell_says_so(paper):
    found = sources(paper, "paper", frozenset({"MarkovAggregation"}))
    assert "sidelight/models/_markov/aggregation.py:MarkovAggregation" in found


WATCH = """
import inspect, json, sys, threading, warnings
from pathlib import Path
import sidelight
from experiments.runner import HERE, load
experiment = load(HERE, sys.argv[1])
root = str(Path(sidelight.__file__).parent) + "/"
called = set()

def watch(frame, event, argument):  # None: only calls, not lines
    code = frame.f_code
    key = (code.co_filename.removeprefix(root), code.co_firstlineno)
    if key in called or not code.co_filename.startswith(root):
        return
    # not what an import runs: bodies of modules and classes, and what these call
    while frame is not None and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(root):
        called.add(key)

done, found = set(), []
for cell in experiment.recorded:
    used = experiment.used_by([cell])
    if used in done or experiment.missing(cell) is not None:
        continue
    done.add(used)
    called.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threading.settrace(watch)
        sys.settrace(watch)
        experiment.run(cell)
        sys.settrace(None)
    found.append((sorted(used), sorted(called)))
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    "paper",
    [*(pytest.param(name, marks=pytest.mark.slow) for name in ("comac", "sse")), "plsi", "ssdpgmm"],
)
def test_every_function_that_a_cell_calls_is_part_of_its_version(paper):
    """Fails when a way to reach a definition is one that the walk does not see."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, paper],
        capture_output=True,
        text=True,
        check=True,
        cwd=HERE.parent,
    )
    watched = json.loads(done.stdout.splitlines()[-1])
    assert len(watched) > 1
    doors = ("__init__.py", "models/__init__.py", "models/_registry.py")
    for used, called in watched:
        known = sources(HERE, paper, frozenset(used))
        names = {_definition(file, line) for file, line in called if file not in doors}
        assert len(names) > (30 if used else 5)  # K-means alone: scores
        assert {f"sidelight/{name}" for name in names} - known.keys() == set()


def _definition(file: str, line: int) -> str:
    """The definition of a module in which a function begins, as a version names it."""
    tree = ast.parse((Path(sidelight.__file__).parent / file).read_text("utf-8"))
    for statement in tree.body:
        first = min(
            [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]
        )
        if first <= line <= (statement.end_lineno or 0):
            if isinstance(statement, ast.Assign):
                return f"{file}:{ast.unparse(statement.targets[0])}"
            return f"{file}:{statement.name}"
    raise AssertionError(f"{file}:{line} is in no definition")


def test_a_stamp_survives_its_page(tmp_path):
    mark = Stamp("plsi", "python -m experiments", "abc", "0123", {"numpy": "2"})
    (tmp_path / "page.md").write_text(f"# Title\n\n{mark.line()}\n\ntext\n")
    assert read_stamp(tmp_path / "page.md") == mark
    (tmp_path / "page.md").write_text("# Title\n")
    assert read_stamp(tmp_path / "page.md") is None


def test_a_page_is_stale_when_sources_or_libraries_are_others_and_its_text_with_it(
    paper, tmp_path, capsys
):
    folder = tmp_path / "pages"
    (folder / "paper").mkdir(parents=True)
    mark = stamps.stamp(paper, "paper", "a command")
    for name, other in (
        ("one.md", mark),
        ("two.md", Stamp("paper", "a command", "abc", "0", mark.libraries)),
        ("three.md", Stamp("paper", "a command", "abc", mark.sources, {"numpy": "0.1"})),
    ):
        (folder / "paper" / name).write_text(other.line())
    (folder / "paper" / "README.md").write_text("words")
    found = {page.path.name: page for page in pages(paper, folder)}
    assert found["one.md"] == Page(folder / "paper" / "one.md", mark, "")
    assert found["two.md"].why == "other sources"
    assert found["three.md"].why == "other libraries"
    assert found["README.md"].why == "rests on three.md, two.md"
    assert main(["--stale", "--folder", str(paper), "--results", str(folder)]) == 0
    listed = capsys.readouterr().out
    assert "3 of 4 pages are stale" in listed
    for name in ("one.md", "two.md", "three.md"):
        (folder / "paper" / name).unlink()
    (alone,) = pages(paper, folder)
    assert alone.why == "no stamp beside it"
    assert f"{mark.commit}, {mark.sources}" in listed


def test_where_the_rules_changed_the_sources_of_a_pages_commit_are_read_again(
    paper, tmp_path, monkeypatch
):
    repository = tmp_path / "repository"
    here = repository / "experiments"
    shutil.copytree(paper / "paper", here / "paper")
    shutil.copy(paper / "runner.py", here)
    package = Path(sidelight.__file__).parent
    only_code = shutil.ignore_patterns("__pycache__", "web", "static")
    shutil.copytree(package, repository / "src" / "sidelight", ignore=only_code)
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(stamps, "HERE", here)
    stamps.forget()
    pages_of = repository / "pages"
    (pages_of / "paper").mkdir(parents=True)
    made = stamps.commit()
    by_other_rules = Stamp("paper", "a command", made, "0", stamps.libraries())
    (pages_of / "paper" / "page.md").write_text(by_other_rules.line())

    def why():
        (page,) = pages(here, pages_of)
        return page.why

    assert why() == ""
    other = here / "paper" / "other.py"
    other.write_text(other.read_text().replace("FACTOR = 2", "FACTOR = 3"))
    stamps.forget()
    assert why() == "other sources"
    other.write_text(OTHER)
    stamps.forget()
    unclean = dataclasses.replace(by_other_rules, commit=f"{made}-dirty")
    (pages_of / "paper" / "page.md").write_text(unclean.line())
    assert why() == "other sources"
    (pages_of / "paper" / "page.md").write_text(by_other_rules.line())

    # A rewrite that is listed ages no page; a later change, or one before it, does.
    def committed(text):
        other.write_text(text)
        subprocess.run([*git, "commit", "-q", "-a", "-m", "next"], check=True)
        stamps.forget()
        return stamps.commit()

    doubled = OTHER.replace("x * FACTOR", "x + x").replace("FACTOR = 2", "")
    after = committed(doubled)
    assert why() == "other sources"
    listed = f"before,after,checked\n{made},{after},by hand\n"
    (here / "rewrites.csv").write_text(listed)
    assert why() == ""
    assert stamps.rewrites(here) == [stamps.Rewrite(made, after, "by hand")]
    committed(doubled.replace("x + x", "x + x + 1"))
    assert why() == "other sources"
    again = committed(doubled.replace("x + x", "x + x + 0"))
    (here / "rewrites.csv").write_text(f"{listed}{after},{again},by hand\n")
    assert why() == ""
    (here / "rewrites.csv").write_text(f"before,after,checked\n{after},{again},by hand\n")
    assert why() == "other sources"


def test_every_rewrite_names_two_commits_and_how_it_was_checked():
    for rewrite in stamps.rewrites():
        assert re.fullmatch("[0-9a-f]{7,40}", rewrite.before), rewrite
        assert re.fullmatch("[0-9a-f]{7,40}", rewrite.after), rewrite
        assert len(rewrite.checked.split()) > 5, rewrite


def test_code_for_rows_on_dask_is_aside_and_no_experiment_has_such_rows():
    for paper in papers():
        found = {name.split(":")[0] for name in sources(HERE, paper)}
        assert not found & {f"{name.replace('.', '/')}.py" for name in stamps.ON_DASK}
    for module in stamps.ON_DASK:
        assert (Path(sidelight.__file__).parents[1] / f"{module.replace('.', '/')}.py").is_file()
    for path in HERE.rglob("*.py"):
        modules = {name for name, _ in stamps._bindings(path, "experiments")[1].values()}
        assert not any(name.split(".")[0] == "dask" for name in modules), path


@pytest.mark.parametrize("paper", papers())
def test_every_page_of_tables_has_a_stamp(paper):
    for path in (PAGES / paper).glob("*.md"):
        assert path.name == "README.md" or read_stamp(path) is not None, path.name
