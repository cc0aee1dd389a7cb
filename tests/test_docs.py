"""What the documentation says is true: examples run, commands exist, defaults match."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import shlex
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sidelight
from sidelight import query
from sidelight.cli import app
from sidelight.models import find_model, model_names, model_tags

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(m.name for m in pkgutil.walk_packages(sidelight.__path__, "sidelight."))
PARTS = [
    *("side", "blocks", "graph", "models", "metrics", "tables", "datasets", "report", "select"),
    *("query", "store", "web", "study", "bio", "results", "tree", "testing", "exceptions"),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    with np.printoptions(precision=8):
        result = doctest.testmod(
            importlib.import_module(name),
            optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
        )
    assert result.failed == 0


# Pages


def pages():
    """Everything written by hand: the README and the site, without what `make docs` generates."""
    made = {"_build", "gallery", "generated"}
    site = [p for p in (ROOT / "docs").rglob("*.md") if not made & set(p.parts)]
    return [ROOT / "README.md", *sorted(site)]


def text_of(page):
    return page.read_text(encoding="utf-8")


def readme():
    return text_of(ROOT / "README.md")


def blocks_of(page):
    """The blocks of code that are meant to be run: (language, code)."""
    return re.findall(r"^```(python|pycon|console)\n(.*?)^```", text_of(page), re.S | re.M)


def page_name(page):
    return str(page.relative_to(ROOT))


PAGES_WITH_CODE = [page for page in pages() if blocks_of(page)]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=page_name)
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.SkipTestWarning"
)  # checks that cannot apply
def test_code_on_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    space = types.ModuleType("page_" + re.sub(r"\W", "_", page.stem))
    monkeypatch.setitem(sys.modules, space.__name__, space)  # so that its classes can be pickled
    for language, code in blocks_of(page):
        if language == "python":
            exec(compile(code, page_name(page), "exec"), space.__dict__)
        elif language == "pycon":
            run_session(code, page, space.__dict__)
        else:
            run_commands(code)


def run_session(code, page, space):
    """A session with >>>: what it prints is what stands there."""
    session = doctest.DocTestParser().get_doctest(code, space, page.name, str(page), 0)
    said = []
    runner = doctest.DocTestRunner(
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False
    )
    runner.run(session, clear_globs=False, out=said.append)
    space.update(session.globs)
    assert runner.failures == 0, "".join(said)


def run_commands(code):
    """Lines that begin with a dollar sign, as far as they are ours."""
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("$ sidelight "):
            words = shlex.split(line[2:], comments=True)
            result = CliRunner().invoke(app, words[1:])
            # A check may find conflicts; that is what it is for.
            allowed = (0, 1) if words[1] == "check" else (0,)
            assert result.exit_code in allowed, f"{line}\n{result.output}{result.exception}"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
@pytest.mark.filterwarnings(
    "ignore::sidelight.exceptions.LostClassWarning"
)  # few labels, some lost
def test_examples_run_and_draw(path, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(map(plt.figure, plt.get_fignums())))
    runpy.run_path(str(path), run_name="__main__")
    assert drawn
    plt.close("all")


def test_every_kind_of_block_is_found():
    kinds = {language for page in PAGES_WITH_CODE for language, _ in blocks_of(page)}
    assert kinds == {"python", "pycon", "console"}


def test_every_page_has_code_that_runs_or_none():
    other = r"^```(?!python\n|pycon\n|console\n|text\n|\{|\n)(\S+)"
    for page in pages():
        if "results" not in page.parts:
            assert not re.findall(other, text_of(page), re.M), page_name(page)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_links_lead_somewhere(page):
    linked = re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", text_of(page))
    linked += re.findall(r"^:link: (\S+)$", text_of(page), re.M)
    for target in linked:
        path = page.parent / target
        made = "gallery/" in target or "generated/" in target  # `make docs -W` minds these
        assert made or path.exists() or path.with_suffix(".md").exists(), f"{page}: {target}"


def test_commands_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    told = set(re.findall(r"(?:`|^)make ([a-z-]+)", readme(), re.M))
    assert {"demo", "test"} <= told <= targets


def public_objects():
    for part in PARTS:
        module = importlib.import_module(f"sidelight.{part}")
        for name in module.__all__:
            yield f"{part}.{name}", getattr(module, name)


PUBLIC = [(name, thing) for name, thing in public_objects() if callable(thing)]


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_public_names_have_a_docstring_and_few_positional_parameters(name, thing):
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing) and issubclass(thing, (tuple, Exception)):
        return  # records are built by keyword or unpacked, not called by users
    parameters = inspect.signature(thing).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not hasattr(thing, "__dataclass_fields__"):
        assert len(positional) <= 3, f"{name} takes {[p.name for p in positional]} by position"


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_public_names_have_an_example_that_runs(name, thing):
    """That it runs is seen by `test_examples_in_docstrings_run`, if the module is one of ours."""
    assert ">>> " in inspect.getdoc(thing), name
    assert thing.__module__ in MODULES, name


def test_every_part_is_in_the_reference():
    told = set(re.findall(r"^   sidelight\.(\w+)$", text_of(ROOT / "docs/api/index.rst"), re.M))
    public = {path.name for path in Path(sidelight.__file__).parent.iterdir()}
    public = {n.removesuffix(".py") for n in public if n.endswith(".py") or "." not in n}
    public = {name for name in public if not name.startswith("_")}
    assert told == set(PARTS) == public - {"cli"}


def documented_parameters(thing):
    """For each parameter in the docstring the words after its colon."""
    section = re.search(
        r"Parameters\n-+\n(.*?)(\n\n[A-Z][A-Za-z ]+\n-+\n|\Z)", inspect.getdoc(thing), re.S
    )
    if section is None:
        return None
    told = {}
    for line in section.group(1).splitlines():
        if line and not line.startswith(" "):
            names, _, words = line.partition(" : ")
            told |= dict.fromkeys((part.strip(" *") for part in names.split(",")), words)
    return told


def methods_of(thing):
    """The methods that a class itself documents."""
    for method_name, method in vars(thing).items():
        function = getattr(method, "__func__", method)
        if not method_name.startswith("_") and inspect.isfunction(function):
            yield method_name, function


DOCUMENTED = PUBLIC + [
    (f"{name}.{method_name}", method)
    for name, thing in PUBLIC
    if inspect.isclass(thing)
    for method_name, method in methods_of(thing)
    if inspect.getdoc(method)
]


@pytest.mark.parametrize(("name", "thing"), DOCUMENTED, ids=[name for name, _ in DOCUMENTED])
def test_documented_parameters_are_the_real_ones(name, thing):
    told = documented_parameters(thing)
    if told is not None:
        real = [p.strip("*") for p in inspect.signature(thing).parameters]
        assert set(told) == set(real) - {"self", "cls"}


@pytest.mark.parametrize(("name", "thing"), DOCUMENTED, ids=[name for name, _ in DOCUMENTED])
def test_documented_defaults_are_the_real_ones(name, thing):
    for parameter, words in (documented_parameters(thing) or {}).items():
        told = re.search(r"default=(.*)$", words)
        real = inspect.signature(thing).parameters[parameter].default
        if told is not None:
            assert value_of(told.group(1)) == real, f"{parameter}: {real!r}"
        elif "optional" in words:
            assert real is not inspect.Parameter.empty, f"{parameter} is not optional"


def value_of(text):
    """A default as it stands in a docstring: a literal, a fraction such as 2/3, or a numpy type."""
    fraction = re.fullmatch(r"(\d+)/(\d+)", text)
    if fraction:
        return int(fraction[1]) / int(fraction[2])
    if hasattr(np, text):
        return getattr(np, text)
    return ast.literal_eval(text)


def test_a_wrong_default_would_be_noticed():
    def lying(x=1):
        """Text.

        Parameters
        ----------
        x : int, default=2
            Text.
        """

    with pytest.raises(AssertionError, match="x: 1"):
        test_documented_defaults_are_the_real_ones("lying", lying)


MODELS = {name: find_model(name) for name in model_names()}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_document_every_default(name):
    """Whoever sets a parameter has to know what it was."""
    for parameter, words in documented_parameters(MODELS[name]).items():
        assert re.search(r"optional|default=", words), f"{name}: {parameter}"


# Strategies of asking; `SequentialAsker` is the base of some of them.
ASKERS = {
    name: getattr(query, name)
    for name in query.__all__
    if name.endswith("Asker") and name != "SequentialAsker"
}
RIVALS = [(name, group) for group in (MODELS, ASKERS) for name in sorted(group)]


@pytest.mark.parametrize(("name", "group"), RIVALS, ids=[name for name, _ in RIVALS])
def test_every_model_and_asker_names_its_rivals(name, group):
    named = re.search(r"See Also\n-+\n(.*?)\n\n", inspect.getdoc(group[name]), re.S)
    rivals = re.findall(r"^(\w+) : ", named.group(1), re.M)
    assert rivals
    assert set(rivals) <= set(group) - {name}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_is_on_the_page_about_models(name):
    assert f"sidelight.models.{name}>" in text_of(ROOT / "docs/which-model.md")


def test_weights_on_the_page_about_models_are_the_real_defaults():
    rows = re.findall(
        r"^\| `(\w+)` \| `(\w+)=([^`]+)`", text_of(ROOT / "docs/which-model.md"), re.M
    )
    assert len(rows) >= 4
    for model, parameter, default in rows:
        assert inspect.signature(MODELS[model]).parameters[parameter].default == value_of(default)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_tables_on_the_page_about_models_say_what_the_tags_say(name):
    page, tags = text_of(ROOT / "docs/which-model.md"), model_tags(name)
    headers = ("| model | takes |", "| model | probabilities |", "| model | parameter |")
    about_models = [part for part in page.split("\n\n") if part.startswith(headers)]
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in "\n".join(about_models).splitlines()
        if re.match(rf"\| (`|\{{py:obj\}}`){name}\b", line)
    ]
    first, second, third = rows
    assert ("found" in first[2]) == tags.finds_k
    assert second[1] == ("yes" if tags.gives_probabilities else "no")
    told = [
        f"{name}={value}".replace("=", '="') + '"'
        for name, value in tags.takes_similarities.items()
    ]
    assert told == re.findall(r"\w+=\"\w+\"", second[2])
    assert second[3].startswith("yes") == tags.takes_sparse
    assert third[2] == tags.weight_unit
