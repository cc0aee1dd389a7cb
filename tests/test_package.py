"""The package as a newcomer meets it: what it imports, what it says, what it ships."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import sidelight

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    *("numba", "dask", "faiss", "sklearn", "matplotlib", "pandas", "polars", "pyarrow", "anndata"),
)


def loaded_after(statement):
    code = f"import sys; {statement}; print(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.parametrize(
    "statement",
    [
        "import sidelight",
        "import sidelight.side",
        "from sidelight import SideInformation; SideInformation.from_labels([0, -1]).conflicts()",
        "import sidelight.cli._app",
        "import sidelight.datasets",
        "import sidelight.tables",
        "import sidelight.study",
        "import sidelight.models; sidelight.models.model_names()",
        "import sidelight.report",
        "import sidelight.bio",
    ],
)
def test_light_parts_load_nothing_heavy(statement):
    assert loaded_after(statement) == []


def test_every_public_name_is_there():
    for name in sidelight.__all__:
        assert getattr(sidelight, name) is not None
    assert set(sidelight.__all__) <= set(dir(sidelight))
    with pytest.raises(AttributeError, match="no attribute 'SideInfo'"):
        _ = sidelight.SideInfo


def test_the_version_stands_in_one_place():
    assert version("sidelight") == sidelight.__version__
    text = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "CITATION.cff")
    )
    assert sidelight.__version__ not in text


def test_types_are_shipped():
    assert (Path(sidelight.__file__).parent / "py.typed").is_file()


def test_make_alone_lists_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M).group(1).split())
    listed = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M))
    assert phony == listed


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    # A Chromium for the browser tests, where it may be installed; then the tests, and nothing else.
    without = re.sub(r"^if .*?^fi\n", "", script, flags=re.M | re.S)
    commands = [
        line for line in without.splitlines() if line and not line.startswith(("#", "set ", "cd "))
    ]
    assert commands == ["make test"]
    assert set(re.findall(r"\b(pytest|make [a-z-]+|npm)\b", script)) == {"make test"}
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")
