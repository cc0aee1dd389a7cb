"""Which sources can change a result, and whether a page is older than they are.

The version of a cell is a hash of what the `run` function of its experiment can reach: definitions
of the experiments and of sidelight, one by one. Comments, docstrings, types, the words of errors
and warnings, the code that shows tables, and files that no result comes from (web, cli, ...) are
not part of it. An experiment may say which models a cell fits (`Experiment.uses`); models that
it names for other cells are then left out. A model that another model asks the registry for counts.

A page carries its stamp in one line, an HTML comment with JSON inside. `python -m experiments
--stale` compares the stamps with the sources of today. A hash also changes with the rules of what
counts; so where it differs, the sources of the page's commit are read by the rules of today.

`rewrites.csv` lists commits after which code computes the same bits as before, and how that was
checked: such a change, for speed or for tidiness, ages no page.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "docs" / "results"

# They show, store or serve results, or read and write files; a fit is the same without them.
SHOWING = frozenset(
    {"_formulas", "_html", "_reading", "_writing", "cli", "report", "store", "testing", "web"}
)

# The number of clusters by held-out statements: no experiment asks for it in this way, and those
# that import `select` themselves depend on it.
ASIDE = ("sidelight._validation", "sidelight.select")

# Rows on Dask: experiments fit arrays in memory.
ON_DASK = frozenset({"sidelight.blocks._dask", "sidelight.graph._representatives"})


def code_version(folder: Path, paper: str, uses: frozenset[str] | None = None) -> str:
    """A hash of everything whose change may change a result, and of the libraries' versions."""
    return _digest({"sources": sources(folder, paper, uses), "libraries": libraries()})


@cache
def sources(
    folder: Path, paper: str, uses: frozenset[str] | None = None, package: Path | None = None
) -> dict[str, str]:
    """Hashes of the definitions that cells with these models depend on (None: all cells).

    ``package`` is the folder of sidelight, by default of the one that is installed.
    """
    import sidelight

    walk = _Walk(package or Path(sidelight.__file__).parent, folder / paper, uses)
    walk.reach(f"experiments.{paper}.run", folder / paper / "run.py", "run")
    for name in sorted(uses or ()):
        walk.reach_model(name)
    return dict(sorted(walk.found.items()))


def sources_hash(folder: Path, paper: str, uses: frozenset[str] | None = None) -> str:
    """The same as one hash, which a page carries."""
    return _digest(sources(folder, paper, uses))


def libraries() -> dict[str, str]:
    """The versions of what computes below us."""
    import numpy
    import scipy
    import sklearn

    return {library.__name__: library.__version__ for library in (numpy, scipy, sklearn)}


def _digest(found: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]


# Stamps of pages


@dataclass(frozen=True)
class Stamp:
    """What made a page: the command, the commit, and the hash of the sources that matter."""

    paper: str
    command: str
    commit: str
    sources: str
    libraries: dict[str, str] = field(default_factory=dict)
    uses: list[str] | None = None  # the models of its cells; None: all that the paper names

    def line(self) -> str:
        """The one line of a page that holds it."""
        return f"{_BEFORE}{json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)}{_AFTER}"


_BEFORE, _AFTER = "<!-- stamp ", " -->"


def stamp(folder: Path, paper: str, command: str, uses: frozenset[str] | None = None) -> Stamp:
    """The stamp of a page that is made now."""
    made = sources_hash(folder, paper, uses)
    named = None if uses is None else sorted(uses)
    return Stamp(paper, command, commit(), made, libraries(), named)


def commit() -> str:
    """The commit of this checkout, with "-dirty" where sources are changed; or "unknown"."""
    try:
        name = _git("describe", "--always", "--tags")
        # A run writes pages, so these are no change of the sources.
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", "../src")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changed else name


def _git(*command: str) -> str:
    git = ["git", "-C", str(HERE), *command]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def read_stamp(page: Path) -> Stamp | None:
    """The stamp of a page; None if it has none."""
    for line in page.read_text("utf-8").splitlines():
        if line.startswith(_BEFORE):
            return Stamp(**json.loads(line.removeprefix(_BEFORE).removesuffix(_AFTER)))
    return None


@dataclass(frozen=True)
class Page:
    """A page of results: its stamp, and why it is stale ("" if it is not)."""

    path: Path
    stamp: Stamp | None
    why: str


def pages(folder: Path = HERE, results: Path = PAGES) -> list[Page]:
    """All pages of the experiments. A text without a stamp is as old as the tables beside it."""
    now = {path.parent.name: path.parent for path in sorted(folder.glob("*/run.py"))}
    found = []
    for paper in now:
        texts, stale, stamped = [], [], False
        for path in sorted((results / paper).glob("*.md")):
            known = read_stamp(path)
            if known is None:
                texts.append(path)
                continue
            why, stamped = _why(known, folder), True
            found.append(Page(path, known, why))
            if why:
                stale.append(path.name)
        why = f"rests on {', '.join(stale)}" if stale else "" if stamped else "no stamp beside it"
        found += [Page(path, None, why) for path in texts]
    return found


def _why(known: Stamp, folder: Path) -> str:
    """Why a page with this stamp is stale: sources or libraries are others today."""
    why = []
    uses = None if known.uses is None else frozenset(known.uses)
    now = sources(folder, known.paper, uses)
    if known.sources != _digest(now) and _rewritten(known, folder, uses) != now:
        why.append("other sources")
    if known.libraries != libraries():
        why.append("other libraries")
    return ", ".join(why)


class Rewrite(NamedTuple):
    """Two commits whose code computes the same bits, and how that was checked."""

    before: str
    after: str
    checked: str


def rewrites(folder: Path = HERE) -> list[Rewrite]:
    """The changes that age no page, from the oldest to the newest."""
    path = folder / "rewrites.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [Rewrite(**row) for row in csv.DictReader(file)]


def _rewritten(known: Stamp, folder: Path, uses: frozenset[str] | None) -> dict[str, str] | None:
    """The sources of a page's commit, brought through the rewrites; None if not at hand."""
    found = _sources_at(known.commit, known.paper, uses)
    if found is None:
        return None
    for rewrite in rewrites(folder):
        before = _sources_at(rewrite.before, known.paper, uses)
        after = _sources_at(rewrite.after, known.paper, uses)
        if before is None or after is None:
            continue
        changed = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
        if all(found.get(name) == before.get(name) for name in changed):
            kept = {name: hashed for name, hashed in found.items() if name not in changed}
            found = kept | {name: after[name] for name in changed & after.keys()}
    return found


def _sources_at(name: str, paper: str, uses: frozenset[str] | None) -> dict[str, str] | None:
    """The sources of a commit, by the rules of today; None if they are not at hand."""
    then = _checkout(name)
    if then is None:
        return None
    package, folder = then / "src" / "sidelight", then / "experiments"
    needed = folder / paper / "run.py", package / _DOORS
    if not all(path.is_file() for path in needed):  # files lay elsewhere then
        return None
    return sources(folder, paper, uses, package)


_checkouts: list[tempfile.TemporaryDirectory[str]] = []  # removed at the end of the process


@cache
def _checkout(name: str) -> Path | None:
    """A folder with the sources of a commit; None if it is not known, or sources were changed."""
    if not name or name == "unknown" or name.endswith("-dirty"):
        return None
    archive = ["git", "-C", str(HERE.parent), "archive", name, "experiments", "src/sidelight"]
    try:
        packed = subprocess.run(archive, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    _checkouts.append(tempfile.TemporaryDirectory())
    with tarfile.open(fileobj=io.BytesIO(packed)) as members:
        members.extractall(_checkouts[-1].name, filter="data")
    return Path(_checkouts[-1].name)


def forget() -> None:
    """Read all files anew, after they were changed."""
    for remembered in (_homes, _bindings, sources):
        remembered.cache_clear()


# What a definition reaches


class _Walk:
    """From one definition to all that it names, in our package and in the experiments."""

    def __init__(self, package: Path, paper: Path, uses: frozenset[str] | None = None) -> None:
        self.package, self.paper, self.uses = package, paper, uses
        self.found: dict[str, str] = {}
        self._homes = _homes(package)
        self._waiting: list[tuple[ast.stmt, str, Path]] = []

    def reach(self, module: str, path: Path, name: str) -> None:
        """One definition, and all that follows from it."""
        self.definition(module, path, name)
        while self._waiting:
            self._follow(*self._waiting.pop())

    def reach_model(self, name: str) -> None:
        """A model, or what else a cell says that it uses, where a text alone names it."""
        if name in self._homes:
            self._door(name, "experiments")
        while self._waiting:
            self._follow(*self._waiting.pop())

    def definition(self, module: str, path: Path, name: str | None) -> None:
        """One name of a file, or all of them, and whatever they use."""
        file = self._name(path)
        bound, imported = _bindings(path, module)
        if name is None:
            for each in [*bound, *imported]:
                self.definition(module, path, each)
            return
        if name not in bound:
            if name in imported:
                self._import(*imported[name], ours=module)
            return
        for each in (name, _EFFECTS):  # what a file does when it is loaded counts with any of it
            if each in bound and f"{file}:{each}" not in self.found:
                self.found[f"{file}:{each}"] = _hash(bound[each])
                self._waiting += [(statement, module, path) for statement in bound[each]]

    def _follow(self, statement: ast.stmt, module: str, path: Path) -> None:
        """All that a statement uses: its own file's names, imported ones, models by their name."""
        imported = {**_bindings(path, module)[1], **_inner_imports(statement, module)}
        used_names, texts = _uses(statement)
        for used, attribute in used_names:
            if used not in imported:
                self.definition(module, path, used)
                continue
            origin, name = imported[used]
            # `rivals.fit`: one definition of the module, not all of it
            if name is not None and self._file(f"{origin}.{name}"):
                origin, name = f"{origin}.{name}", None
            elif name is None and used != origin and used == origin.split(".")[0]:
                attribute = None  # `import a.b`, which defines a
            self._import(origin, attribute if name is None else name, ours=module)
        for text in texts & self._homes.keys():
            self._import("sidelight.models", text, ours=module)

    def _import(self, module: str, name: str | None, *, ours: str) -> None:
        """A name of another file; None is the whole file."""
        path = self._file(module)
        if path is None or (ours, module) == ASIDE:
            return
        if module.startswith("sidelight.") and module.split(".")[1] in SHOWING:
            return
        if module in ON_DASK:
            return
        if name is not None and self._file(f"{module}.{name}"):
            module, name = f"{module}.{name}", None
            self._import(module, name, ours=ours)
            return
        if module.split(".")[0] != "sidelight":
            self.definition(module, path, name)
            return
        if self._left_out(module, name, ours):
            return
        if module in ("sidelight", "sidelight.models"):
            self._door(name, ours)
            return
        self.definition(module, path, name)

    def _left_out(self, module: str, name: str | None, ours: str) -> bool:
        """Whether an experiment names it for other cells than those that are asked about."""
        if self.uses is None or ours.split(".")[0] == "sidelight" or name in self.uses:
            return False
        return module == "sidelight.query" or (
            module in ("sidelight", "sidelight.models") and name in self._homes
        )

    def _door(self, name: str | None, ours: str) -> None:
        """Of a lazy door the name says which file is meant.

        `find_model` is called with a text, which `_follow` reads; inside of sidelight `model_names`
        is for error messages.
        """
        if name in self._homes:
            self._import(self._homes[name], name, ours="sidelight")
        elif name in _OTHERS:
            self._import(_OTHERS[name], name, ours="sidelight")
        elif name in (None, "model_names") and ours.split(".")[0] != "sidelight":
            for each in self._homes:  # any of them
                self._door(each, ours)

    def _file(self, module: str) -> Path | None:
        """The file of a module of ours; None for those of others, and for what is no module."""
        first, *rest = module.split(".")
        if first not in ("sidelight", "experiments"):
            return None
        root = self.package if first == "sidelight" else self.paper.parent
        path = root.joinpath(*rest)
        for candidate in (
            path.with_name(f"{path.name}.py") if rest else path,
            path / "__init__.py",
        ):
            if candidate.is_file():
                return candidate
        return None

    def _name(self, path: Path) -> str:
        for root, shown in ((self.package, "sidelight"), (self.paper, self.paper.name)):
            if path.is_relative_to(root):
                return f"{shown}/{path.relative_to(root).as_posix()}"
        return f"experiments/{path.relative_to(self.paper.parent).as_posix()}"


_Import = tuple[str, str | None]  # a module, and the name that is taken of it
_EFFECTS = "<module>"
_DOORS = Path("models", "_models.pyi")

_OTHERS = {
    "ClusterResult": "sidelight.results",
    "Emission": "sidelight.models._emissions",
    "SideInformation": "sidelight.side",
    "SideClusterer": "sidelight.models._base",
    "StatementMetric": "sidelight.models._metric",
    "load": "sidelight.study",
    "save": "sidelight.study",
    "warm_up": "sidelight.models._warm_up",
}


@cache
def _homes(package: Path) -> dict[str, str]:
    """The module of every model, by its name."""
    stub = ast.parse((package / _DOORS).read_text("utf-8"))
    return {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@cache
def _bindings(path: Path, module: str) -> tuple[dict[str, list[ast.stmt]], dict[str, _Import]]:
    """Of a file: its definitions by name, and the (module, name) behind each imported name.

    Statements that define nothing, or only on a condition, are what a file does when it is loaded.
    """
    bound: dict[str, list[ast.stmt]] = {}
    imported: dict[str, _Import] = {}
    for statement in _parsed(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imported |= _imports(statement, module, is_package=path.name == "__init__.py")
            continue
        names = [*_binds(statement)]
        if not names or not isinstance(statement, _PLAIN):
            names.append(_EFFECTS)
            imported |= _inner_imports(statement, module)
        for name in names:
            bound.setdefault(name, []).append(statement)
    return bound, imported


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PLAIN = (*_DEFINITIONS, ast.Assign, ast.AnnAssign, ast.AugAssign)


def _binds(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, _DEFINITIONS):
            yield node.name


@cache
def _uses(statement: ast.stmt) -> tuple[set[tuple[str, str | None]], set[str]]:
    """The names that it uses, with the attribute where only that is taken of them; its texts."""
    nodes = list(ast.walk(statement))
    taken: dict[int, tuple[str, str | None]] = {
        id(node.value): (node.value.id, node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    names = {taken.get(id(node), (node.id, None)) for node in nodes if isinstance(node, ast.Name)}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return names, {text for text in texts if isinstance(text, str)}


@cache
def _inner_imports(statement: ast.stmt, module: str) -> dict[str, _Import]:
    """What is imported inside a statement, such as in a function."""
    found: dict[str, _Import] = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= _imports(node, module, is_package=False)
    return found


def _imports(
    node: ast.Import | ast.ImportFrom, module: str, *, is_package: bool
) -> dict[str, _Import]:
    """The (module, name) behind each name that an import defines."""
    if isinstance(node, ast.Import):
        return {a.asname or a.name.split(".")[0]: (a.name, None) for a in node.names}
    origin = node.module or ""
    if node.level:
        base = module.split(".")
        base = base[: len(base) - node.level + is_package]
        origin = ".".join([*base, *([origin] if origin else [])])
    return {alias.asname or alias.name: (origin, alias.name) for alias in node.names}


@cache
def _parsed(text: str) -> ast.Module:
    """The code of a file without docstrings, types and the words of errors and warnings."""
    tree: ast.Module = _Bare().visit(ast.parse(text))
    return tree


class _Bare(ast.NodeTransformer):
    """Leave out what cannot change a result."""

    def visit(self, node: ast.AST) -> Any:
        """Docstrings, of whatever can have one; then the rest."""
        if isinstance(node, (ast.Module, *_DEFINITIONS)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
        return super().visit(node)

    def visit_If(self, node: ast.If) -> Any:
        """Imports for types alone."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return [self.visit(other) for other in node.orelse]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """The type of a parameter."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """The type of what a function returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        """What an error says."""
        return _Wordless().visit(self.generic_visit(node))

    def visit_Call(self, node: ast.Call) -> Any:
        """What a warning says."""
        self.generic_visit(node)
        if ast.unparse(node.func) in ("warn", "warnings.warn"):
            return _Wordless().visit(node)
        return node


class _Wordless(ast.NodeTransformer):
    """Without texts, and what is put into them."""

    def visit_Constant(self, node: ast.Constant) -> Any:
        """A text."""
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """A text with values."""
        return ast.Constant("")


@cache
def _dump(tree: ast.AST) -> str:
    return ast.dump(tree)


def _hash(trees: Sequence[ast.AST]) -> str:
    """A hash of code; places in the file and comments are not part of a tree."""
    return hashlib.sha256("\n".join(map(_dump, trees)).encode()).hexdigest()[:12]
