"""Which sources can change a result, and whether a page is older than they are.

The version of an experiment is a hash of what its `run` function can reach: definitions of the
experiments' own files, one by one, and whole files of sidelight. Comments, docstrings, the code
that shows tables, and folders that no result comes from (web, cli, ...) are not part of it.

A page carries its stamp in one line, an HTML comment with JSON inside. `python -m experiments
--stale` compares the stamps with the sources of today.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "docs" / "results"

# They show, store or serve results; a fit is the same with and without them.
SHOWING = frozenset({"cli", "report", "store", "testing", "web"})

# The number of clusters by held-out statements: no experiment asks for it in this way, and those
# that import `select` themselves depend on it.
ASIDE = ("sidelight._validation", "sidelight.select")


def code_version(folder: Path, paper: str) -> str:
    """A hash of everything whose change may change a result, and of the libraries' versions."""
    return _digest({"sources": sources(folder, paper), "libraries": libraries()})


@cache
def sources(folder: Path, paper: str) -> dict[str, str]:
    """Hashes of the definitions and files that the cells of an experiment depend on."""
    import sidelight

    walk = _Walk(Path(sidelight.__file__).parent, folder / paper)
    walk.definition(folder / paper / "run.py", "run")
    return dict(sorted(walk.found.items()))


def sources_hash(folder: Path, paper: str) -> str:
    """The same as one hash, which a page carries."""
    return _digest(sources(folder, paper))


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

    def line(self) -> str:
        """The one line of a page that holds it."""
        return f"{_BEFORE}{json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)}{_AFTER}"


_BEFORE, _AFTER = "<!-- stamp ", " -->"


def stamp(folder: Path, paper: str, command: str) -> Stamp:
    """The stamp of a page that is made now."""
    return Stamp(paper, command, commit(), sources_hash(folder, paper), libraries())


def commit() -> str:
    """The commit of this checkout, with "-dirty" where files are changed; or "unknown"."""
    describe = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--tags"]
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


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
    if known.sources != sources_hash(folder, known.paper):
        why.append("other sources")
    if known.libraries != libraries():
        why.append("other libraries")
    return ", ".join(why)


def forget() -> None:
    """Read all files anew, after they were changed."""
    for remembered in (_homes, _bindings, _parsed, sources):
        remembered.cache_clear()


# What a definition reaches


class _Walk:
    """From one definition to all that it names, in our package and in the experiments."""

    def __init__(self, package: Path, paper: Path) -> None:
        self.package, self.paper = package, paper
        self.found: dict[str, str] = {}
        self._homes = _homes(package)

    def definition(self, path: Path, name: str) -> None:
        """One name of a file of the experiments, and whatever it uses."""
        key = f"{self._name(path)}:{name}"
        if key in self.found:
            return
        bound, imported = _bindings(path)
        if name in imported:
            self._import(*imported[name])
            return
        statements = bound.get(name, [])
        self.found[key] = _hash(statements)
        for statement in statements:
            for used, attribute in _uses(statement):
                if used in imported:
                    module, of_module = imported[used]
                    # `rivals.fit`: one definition of the module, not all of it
                    if of_module is not None and self._file(f"{module}.{of_module}"):
                        module, of_module = f"{module}.{of_module}", None
                    self._import(module, attribute if of_module is None else of_module)
                elif used in bound and used != name:
                    self.definition(path, used)
            self._models_named(statement)

    def _import(self, module: str, name: str | None) -> None:
        path = self._file(module)
        if path is None:
            return
        if module.startswith("experiments"):
            bound, _ = _bindings(path)
            for each in [name] if name is not None else bound:
                self.definition(path, each)
            return
        if module == "sidelight.models" and name in (None, "model_names"):
            name = None
            for home in self._homes.values():  # any of them
                self._ours(home, None)
        self._ours(module, name)

    def _ours(self, module: str, name: str | None) -> None:
        """A file of sidelight with everything that it imports."""
        if name is not None and self._file(f"{module}.{name}"):
            module, name = f"{module}.{name}", None
        if module in ("sidelight", "sidelight.models"):
            # Lazy doors: the name says which file is meant. `find_model` is called with a text,
            # which `_models_named` reads; `model_names` is for our error messages.
            if name in self._homes:
                self._ours(self._homes[name], None)
            elif name in _OTHERS:
                self._ours(_OTHERS[name], None)
            return
        path = self._file(module)
        if path is None or module.split(".")[1] in SHOWING:
            return
        key = self._name(path)
        if key in self.found:
            return
        tree = _parsed(path)
        self.found[key] = _hash([tree])
        for imported, names in _imports(tree, module, is_package=path.name == "__init__.py"):
            if (module, imported) != ASIDE:
                for each in names or [None]:
                    self._ours(imported, each)
        self._models_named(tree)

    def _models_named(self, tree: ast.AST) -> None:
        """Models that are asked for by a text with their name."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in self._homes:
                self._ours(self._homes[node.value], None)

    def _file(self, module: str) -> Path | None:
        """The file of a module of ours; None for those of others, and for what is no module."""
        first, *rest = module.split(".")
        if first not in ("sidelight", "experiments"):
            return None
        root = self.package if first == "sidelight" else HERE
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
        return f"experiments/{path.relative_to(HERE).as_posix()}"


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
    stub = ast.parse((package / "models" / "_models.pyi").read_text("utf-8"))
    return {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@cache
def _bindings(path: Path) -> tuple[dict[str, list[ast.stmt]], dict[str, tuple[str, str | None]]]:
    """Of a file: its definitions by name, and the (module, name) behind each imported name."""
    bound: dict[str, list[ast.stmt]] = {}
    imported: dict[str, tuple[str, str | None]] = {}
    for statement in _parsed(path).body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                imported[alias.asname or alias.name] = (str(statement.module), alias.name)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                imported[alias.asname or alias.name.split(".")[0]] = (alias.name, None)
        else:
            for name in _binds(statement):
                bound.setdefault(name, []).append(statement)
    return bound, imported


def _binds(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _uses(statement: ast.stmt) -> Iterator[tuple[str, str | None]]:
    """The names that it uses, with the attribute where only that is taken of them."""
    taken = {
        id(node.value): (node.value.id, node.attr)
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield taken.get(id(node), (node.id, None))


def _imports(
    tree: ast.AST, module: str, *, is_package: bool
) -> Iterator[tuple[str, list[str | None]]]:
    """The modules that a file imports anywhere, for other reasons than its types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from _imports(other, module, is_package=is_package)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                base = module.split(".")
                base = base[: len(base) - node.level + is_package]
                origin = ".".join([*base, *([origin] if origin else [])])
            if origin.split(".")[0] == "sidelight":
                yield origin, [alias.name for alias in node.names]
        else:
            yield from _imports(node, module, is_package=is_package)


@cache
def _parsed(path: Path) -> ast.Module:
    """The code of a file without docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                del node.body[0]
    return tree


def _hash(trees: Sequence[ast.AST]) -> str:
    """A hash of code; places in the file and comments are not part of a tree."""
    return hashlib.sha256("\n".join(map(ast.dump, trees)).encode()).hexdigest()[:12]
