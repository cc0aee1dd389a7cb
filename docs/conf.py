"""How the site is built: ``make docs``, without a network and with warnings as errors."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx_gallery.sorting import FileNameSortKey

import sidelight
import sidelight.models

project = "sidelight"
author = "the sidelight developers"
copyright = "the sidelight developers"
version = release = sidelight.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb"]
suppress_warnings = ["config.cache"]  # the sort key of the gallery is a class
templates_path = ["_templates"]
default_role = "py:obj"

# Formulas are plain text in this project, so that they read the same in an editor, in help() and
# here: no MathJax, and nothing else that a browser would fetch from elsewhere.
html_theme = "pydata_sphinx_theme"
html_title = "sidelight"
html_static_path = ["_static"]
html_css_files = ["sidelight.css"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that stand alone have nothing to list at their side.
html_sidebars = {page: [] for page in ("index", "install", "tour", "which-model", "changelog")}
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True


_PARTS = re.findall(
    r"^   (sidelight\.\w+)$", (Path(__file__).parent / "api" / "index.rst").read_text("utf-8"), re.M
)
_CLASSES = {
    f"{part}.{name}": thing
    for part in _PARTS
    for module in [importlib.import_module(part)]
    for name in module.__all__
    if isinstance(thing := getattr(module, name), type)
}


# A class that two parts export has a page in both; its name may be indexed only once.
def _second_homes() -> list[str]:
    first = dict.fromkeys(_CLASSES.values())
    for name, thing in _CLASSES.items():
        first[thing] = first[thing] or name
    return [name for name, thing in _CLASSES.items() if first[thing] != name]


# The page of a class has the methods that are written here, inherited or not; scikit-learn's own
# are in its manual. Traits of models are for the registry, and `model_tags` shows them.
def _methods() -> dict[str, list[str]]:
    shown = {}
    for name, thing in _CLASSES.items():
        members = {n: getattr(thing, n) for n in dir(thing) if not n.startswith(("_", "set_"))}
        shown[name] = [
            n
            for n, member in members.items()
            if inspect.isroutine(member)
            and (getattr(member, "__module__", None) or "").startswith("sidelight")
            and inspect.getdoc(member)
        ]
    return shown


_TRAITS = [n for n in inspect.get_annotations(sidelight.models.SideClusterer) if n[0] != "_"]
autosummary_context = {
    "second_homes": _second_homes(),
    "shown": _methods(),
    "traits": _TRAITS,
}
autodoc_typehints = "none"  # numpydoc's types say more
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": FileNameSortKey,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # times of the machine that built the page tell a reader nothing
    "write_computation_times": False,
    "abort_on_example_error": True,
}

# Files beside docs/ are linked from pages, for those who read them in the repository.
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:experiments|benchmarks|examples|src)[^)]*\)")


def _without_links_outside(app: Any, name: str, source: list[str]) -> None:
    source[0] = _OUTSIDE.sub(r"\1", source[0])


# Pages of results are linked in their text; the site also wants to know what lies below what.
def _results_below_results(app: Any, name: str, source: list[str]) -> None:
    place = Path(app.srcdir, name).parent
    if name == "results/README":
        below = [f"{page.parent.name}/README" for page in sorted(place.glob("*/README.md"))]
    elif re.fullmatch(r"results/\w+/README", name):
        pages = sorted(set(place.glob("*.md")) - {place / "README.md"})
        below = [f"{page.stem} <{page.stem}>" for page in pages]  # their titles are all the same
    else:
        return
    source[0] += "\n\n".join(["", "```{toctree}\n:hidden:", "\n".join(below)]) + "\n```\n"


# Sphinx links a scaled picture to its file: on a phone that is how one reads it.
def _pictures_open(app: Any, doctree: nodes.document) -> None:
    for picture in doctree.findall(nodes.image):
        in_card = any(name.startswith("sd-card") for name in picture["classes"])
        if not in_card and not isinstance(picture.parent, nodes.reference):
            picture.setdefault("scale", 100)


# In a docstring n_clusters_ is a name and |x| a length; to reStructuredText they are references.
_MARKUP = re.compile(r"(``.*?``|`.*?`_?|\*\*.*?\*\*)|(?<![\w\\])([A-Za-z]\w*)_(?!\w)|(?<!\\)\|")


def _names_are_names(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[k] = _MARKUP.sub(_escaped, line)


def _escaped(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return f"{found[2]}\\_" if found[2] else "\\|"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _without_links_outside)
    app.connect("source-read", _results_below_results)
    app.connect("doctree-read", _pictures_open)
    app.connect("autodoc-process-docstring", _names_are_names, priority=900)  # after numpydoc
