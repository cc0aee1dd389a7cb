"""What the documentation says is true: examples run, commands exist, defaults match."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import sidelight

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(m.name for m in pkgutil.walk_packages(sidelight.__path__, "sidelight."))
FOLDERS = ["side", "blocks", "graph", "models", "metrics", "datasets", "report", "bio"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    with np.printoptions(precision=8):
        result = doctest.testmod(
            importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
        )
    assert result.failed == 0


def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", readme(), re.S)
    assert blocks
    space = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), space)


def test_commands_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    told = set(re.findall(r"(?:`|^)make ([a-z-]+)", readme(), re.M))
    assert {"demo", "test"} <= told <= targets


def test_links_in_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", readme()):
        assert (ROOT / target).exists(), target


def public_objects():
    for folder in FOLDERS:
        module = importlib.import_module(f"sidelight.{folder}")
        for name in module.__all__:
            yield f"{folder}.{name}", getattr(module, name)


PUBLIC = [(name, thing) for name, thing in public_objects() if callable(thing)]


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_public_names_have_a_docstring_and_few_positional_parameters(name, thing):
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing) and issubclass(thing, tuple):
        return  # records are built by keyword or unpacked, not called by users
    parameters = inspect.signature(thing).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not hasattr(thing, "__dataclass_fields__"):
        assert len(positional) <= 3, f"{name} takes {[p.name for p in positional]} by position"


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_documented_parameters_are_the_real_ones(name, thing):
    documented = re.search(
        r"Parameters\n-+\n(.*?)(\n\n[A-Z][a-z ]+\n-+\n|\Z)", inspect.getdoc(thing), re.S
    )
    if documented is None:
        return
    told = set()
    for line in documented.group(1).splitlines():
        if line and not line.startswith(" "):
            told.update(part.strip(" *") for part in line.split(" : ")[0].split(","))
    assert told == {p.strip("*") for p in inspect.signature(thing).parameters}
