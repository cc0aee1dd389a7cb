"""Stamps: what can change a result is part of the version, and nothing else is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
FACTOR = 2

def scale(x):
    # a comment
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
    assert {"sidelight/models/_kmeans/vqe.py", "sidelight/metrics/_score.py"} <= found
    assert "sidelight/models/_kmeans/hg.py" in found  # only a text names it
    assert "sidelight/models/_markov/search.py" not in found
    assert not any(name.split("/")[1] in stamps.SHOWING for name in found if "sidelight/" in name)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("paper/run.py", '"""Run a cell."""', '"""Runs one cell."""'),
        ("paper/run.py", "SHOWN = 3", "SHOWN = 4"),
        ("paper/other.py", "# a comment", "# another one"),
        ("paper/other.py", 'return "text"', 'return "other text"'),
        ("runner.py", "elapsed", "so far"),
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
        ("runner.py", "[:8], 16", "[:7], 16"),
    ],
)
def test_what_a_cell_computes_changes_the_version(paper, file, old, new):
    assert changed(paper, file, old, new)


WATCH = """
import json, sys, warnings
from pathlib import Path
import sidelight
from experiments.runner import HERE, load
experiment = load(HERE, sys.argv[1])
for cell in experiment.recorded:
    if experiment.missing(cell) is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            experiment.run(cell)
        break
root = Path(sidelight.__file__).parent
used = {Path(m.__file__) for m in sys.modules.values() if getattr(m, "__file__", None)}
print(json.dumps([p.relative_to(root).as_posix() for p in used if p.is_relative_to(root)]))
"""


@pytest.mark.parametrize("paper", ["comac", "plsi", "sse"])
def test_every_file_that_a_cell_loads_is_part_of_the_version(paper):
    """Fails when a way to reach a file is one that the walk does not see."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, paper],
        capture_output=True,
        text=True,
        check=True,
        cwd=HERE.parent,
    )
    doors = {"__init__.py", "models/__init__.py", "models/_registry.py", "_kernels/__init__.py"}
    loaded = {f for f in json.loads(done.stdout.splitlines()[-1]) if f not in doors}
    # A folder's door is loaded with any file of it, and holds no code.
    loaded = {f for f in loaded if not (f.startswith("models/_") and f.endswith("__init__.py"))}
    known = {name.removeprefix("sidelight/") for name in sources(HERE, paper)}
    assert len(loaded) > 30
    assert loaded - known == set()


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


@pytest.mark.parametrize("paper", sorted(set(papers()) - {"defaults"}))  # put together by hand
def test_every_page_of_tables_has_a_stamp(paper):
    for path in (PAGES / paper).glob("*.md"):
        assert path.name == "README.md" or read_stamp(path) is not None, path.name
