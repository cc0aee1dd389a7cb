"""Who imports whom: a folder uses the folders above it, and a heavy library has one home.

Families of models do not know each other, and a name with ``_`` stays in its folder.
"""

import ast
import re
from pathlib import Path

import pytest

import sidelight
from sidelight.models import find_model, model_names

SOURCE = Path(sidelight.__file__).parent
BASE = {
    "exceptions",
    "_formulas",
    "_html",
    "_memory",
    "_random",
    "_reading",
    "_wording",
    "_work",
    "_writing",
}  # numpy and nothing else
USES = {
    "_kernels": set(),
    "side": BASE,
    "store": {"side", *BASE},
    "results": {"side", "report", *BASE},  # report: inside plot() and report()
    "tree": {"side", "report", *BASE},  # report: inside plot()
    "blocks": {"_kernels", *BASE},
    "graph": {"side", "blocks", "_kernels", *BASE},
    "tables": {"side", "blocks", *BASE},
    "datasets": {"side", "blocks", "tables", *BASE},  # tables: read_table is public in both
    "metrics": {"side", "results", "tree", "_kernels", *BASE},
    # models: only the registry; select: inside n_clusters="held-out"
    "_validation": {"side", "blocks", "results", "models", "select", *BASE},
    "models": {"side", "blocks", "graph", "results", "tree", "_kernels", "_validation", *BASE},
    "report": {"side", "results", "tree", "metrics", "graph", *BASE},
    "bio": {"side", "models", *BASE},
    "select": {"side", "blocks", "results", "metrics", "models", *BASE},
    "query": {"side", "graph", "results", "metrics", "models", "_kernels", *BASE},
    "_saving": {"side", "results", "models", *BASE},
    "study": {"side", "tables", "models", "results", "report", "bio", "select", "_saving", *BASE},
    "web": {"side", "store", "tables", "study", "models", "query", "select", "report", *BASE},
    "testing": {"side", "blocks", "models", "metrics", "results", "_validation", "datasets", *BASE},
}
HOMES = {
    "numba": {"_kernels"},
    "dask": {"blocks"},
    "faiss": {"graph"},
    "matplotlib": {"report"},
    "anndata": {"bio", "tables"},
    "sentence_transformers": {"tables"},
    "torch": {"tables"},
    "sqlalchemy": {"store"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "distributed": {"blocks", "web"},  # web: a cluster that runs the fits
    "sklearn": {
        "models",
        "metrics",
        "datasets",
        "tables",
        "_saving",
        "study",
        "select",
        "query",
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


def names_imported(path):
    """Every (module, name) of ours that a file imports, also where it is for types only."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and ours(node.module):
            yield from ((node.module, alias.name) for alias in node.names)


def ours(module):
    return module.split(".")[0] == "sidelight"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_part(module, name):
    """The first private word below the top folder: ``sidelight._kernels`` itself is a folder."""
    below = [word for word in (*module.split(".")[1:], name) if word][1:]
    return next((word for word in below if is_private(word)), None)


# A type checker runs no code, so models have to be imported by name somewhere.
FOR_TYPES = {("__init__", "sidelight.models._registry")}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_name_with_an_underscore_stays_in_its_folder(path):
    part = part_of(path)
    for module, name in names_imported(path):
        home = (*module.split(".")[1:], name)[0]
        if home != part and (part, module) not in FOR_TYPES:
            assert private_part(module, name) is None, f"{part} uses {module} {name}"


# A family is a folder of models/ that has a model; other folders there are kits, such as emissions.
FAMILIES = {find_model(name).__module__.split(".")[2] for name in model_names()}


def room_of(module):
    """The folder inside models/ of a module, or None."""
    words = module.split(".")
    return words[2] if words[:2] == ["sidelight", "models"] and len(words) > 2 else None


@pytest.mark.parametrize(
    "path", sorted(SOURCE.glob("models/_*/*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_no_family_imports_another(path):
    own = path.parent.name
    for module, name in names_imported(path):
        named = f"{module}.{name}" if name else module
        other = room_of(named)
        assert other == own or other not in FAMILIES, f"{own} imports {named}"
        public = named in {f"sidelight.models.{model}" for model in model_names()}
        assert not public, f"{own} imports {named}; ask the registry: find_model({name!r})"


def test_what_all_families_share_imports_none_of_them():
    for path in SOURCE.glob("models/*.py"):
        if path.stem != "_registry":
            rooms = {room_of(f"{module}.{name}") for module, name in names_imported(path)}
            assert not rooms & FAMILIES, path.name


def test_a_breach_would_be_noticed(tmp_path):
    file = tmp_path / "breach.py"
    file.write_text("from sidelight.blocks._cluster import Cluster\nimport sidelight.side._cells\n")
    found = [private_part(*import_) for import_ in names_imported(file)]
    assert found == ["_cluster", "_cells"]
    assert private_part("sidelight._kernels.assign", "nearest") is None
    assert private_part("sidelight.graph", "_ivf") == "_ivf"
    assert room_of("sidelight.models._kmeans.run") in FAMILIES
    assert room_of("sidelight.models._emissions") not in FAMILIES


TESTS = Path(__file__).parent
# A kernel is tested against the pure functions of the family that calls it: their public names.
FAMILY_OF_KERNELS = "sidelight.models"


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda p: str(p.relative_to(TESTS))
)
def test_tests_reach_into_the_folder_that_they_mirror_only(path):
    relative = path.relative_to(TESTS)
    mirrored = relative.parts[0] if len(relative.parts) > 1 else ""
    for module, name in names_imported(path):
        home = (*module.split(".")[1:], name)[0]
        if home.strip("_") == mirrored:
            continue
        if mirrored == "kernels" and module.startswith(FAMILY_OF_KERNELS):
            assert not is_private(name) or name in FAMILIES, f"{relative} uses {module} {name}"
        else:
            assert private_part(module, name) is None, f"{relative} uses {module} {name}"


def test_the_table_for_contributors_is_this_one():
    page = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|.*\| ([^|]*) \|$", page, re.M)
    told = {folder: set(re.findall(r"`(\w+)`", uses)) for folder, uses in rows}
    assert set(USES) - {"_validation", "testing"} | {"cli"} == set(told)
    exempt = {"results": {"report"}, "tree": {"report"}}  # inside plot() and report()
    for folder in told.keys() & USES.keys():
        allowed = USES[folder] - BASE - {"_validation"} - exempt.get(folder, set())
        assert told[folder] == allowed, folder


def test_nobody_imports_the_command_line():
    users = {
        part_of(p) for p in modules() if any(n.startswith("sidelight.cli") for n in imported(p))
    }
    assert users <= {"cli", "__main__"}


def test_no_catch_all_modules():
    names = {p.stem.strip("_") for p in modules()} | {part_of(p) for p in modules()}
    assert not names & {"utils", "helpers", "common", "misc"}
