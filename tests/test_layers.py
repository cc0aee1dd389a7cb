"""Who imports whom: a folder uses the folders above it, and a heavy library has one home."""

import ast
from pathlib import Path

import pytest

import sidelight

SOURCE = Path(sidelight.__file__).parent
BASE = {
    "exceptions",
    "_formulas",
    "_memory",
    "_random",
    "_reading",
    "_work",
    "_writing",
}  # numpy and nothing else
USES = {
    "_kernels": set(),
    "side": BASE,
    "results": {"side", "report", *BASE},  # report: inside plot() and report()
    "tree": {"side", "report", *BASE},  # report: inside plot()
    "blocks": {"_kernels", *BASE},
    "graph": {"side", "blocks", "_kernels", *BASE},
    "tables": {"side", *BASE},
    "datasets": {"side", "blocks", "tables", *BASE},  # tables: read_table is public in both
    "metrics": {"side", "results", "tree", "_kernels", *BASE},
    "_validation": {"side", "blocks", "results", "models", *BASE},  # models: only the registry
    "models": {"side", "blocks", "graph", "results", "tree", "_kernels", "_validation", *BASE},
    "report": {"side", "results", "tree", "metrics", "graph", *BASE},
    "bio": {"side", "models", *BASE},
    "study": {"side", "tables", "models", "results", "report", "bio", *BASE},
    "testing": {"side", "blocks", "models", "metrics", "results", "_validation", "datasets", *BASE},
}
HOMES = {
    "numba": {"_kernels"},
    "dask": {"blocks"},
    "faiss": {"graph"},
    "matplotlib": {"report"},
    "anndata": {"bio", "tables"},
    "sklearn": {
        "models",
        "metrics",
        "datasets",
        "tables",
        "study",
        "_validation",
        "testing",
        "graph",
        "report",
        "bio",
        "cli",
    },
}


def modules():
    return sorted(SOURCE.rglob("*.py"))


def part_of(path):
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path):
    """Every module that a file imports at run time, at the top or inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped.update(id(inner) for inner in ast.walk(node))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            if node.module == "sidelight":
                yield from (f"sidelight.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_part_imports_only_what_is_below_it(path):
    part = part_of(path)
    allowed = USES.get(part)
    for name in imported(path):
        top, *rest = name.split(".")
        if top == "sidelight" and rest and allowed is not None:
            assert rest[0] in {part, "__version__"} | allowed, f"{part} imports {name}"
        if top in HOMES:
            assert part in HOMES[top], f"{top} is imported in {part}"


def test_nobody_imports_the_command_line():
    users = {
        part_of(p) for p in modules() if any(n.startswith("sidelight.cli") for n in imported(p))
    }
    assert users <= {"cli"}


def test_no_catch_all_modules():
    names = {p.stem.strip("_") for p in modules()} | {part_of(p) for p in modules()}
    assert not names & {"utils", "helpers", "common", "misc"}
