"""``sidelight models``: which model takes what; and how the command line finds and sets up one.

Everything told here is what a class says of itself: its tags, its parameters and its docstring.
"""

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from sidelight.exceptions import SidelightError

# The parameters that limit or fix the number of clusters, by whatever name a model has for it.
_COUNTS = ("n_clusters", "n_components")

_LEGEND = (
    "must, cannot, label, not_label: the statements that it takes; all take unsure.",
    "K: the number of clusters is given, is a limit, or is found.",
    "prob: gives the probability of each cluster.",
    "wrong: statements that contradict each other are tolerated, or raise an error; found: the",
    "model also says which statements are probably wrong.",
    "",
    "More about one, with its parameters: sidelight models NAME",
)


def models(
    name: Annotated[
        str | None, typer.Argument(help="A model, to read about its parameters too.")
    ] = None,
) -> None:
    """List the models: which statements each takes, and what it gives."""
    typer.echo(overview() if name is None else describe(find_model(name)))


def registry() -> dict[str, Any]:
    """All models by name."""
    from sidelight import models as public

    found = {name: getattr(public, name) for name in public.__all__}
    return {name: thing for name, thing in found.items() if getattr(thing, "accepts", None)}


def find_model(name: str) -> Any:
    """The model of that name; upper case, dashes and underscores do not matter."""
    known = {_plain(key): model for key, model in registry().items()}
    if _plain(name) in known:
        return known[_plain(name)]
    near = get_close_matches(_plain(name), known, n=1, cutoff=0.5)
    hint = f" Did you mean {known[near[0]].__name__}?" if near else ""
    raise SidelightError(
        f"no model is called {name!r}.{hint} The models are {', '.join(registry())}; "
        "'sidelight models' says what each one takes."
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def set_up(
    model: Any, settings: Sequence[str], clusters: int | None, seed: int | None
) -> dict[str, Any]:
    """The parameters of a model from ``--set``, ``--clusters`` and ``--seed``."""
    allowed = list(inspect.signature(model).parameters)
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise SidelightError(f"--set {setting!r}: write it as parameter=value.")
        parameters[key.strip()] = _value(value.strip())
    unknown = [key for key in parameters if key not in allowed]
    if unknown:
        near = get_close_matches(unknown[0], allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SidelightError(
            f"{model.__name__} has no parameter {', '.join(map(repr, unknown))}.{hint} "
            f"It has {', '.join(allowed)}."
        )
    if clusters is not None:
        count = next((name for name in _COUNTS if name in allowed), None)
        if count is None:
            raise SidelightError(
                f"{model.__name__} finds the number of clusters itself; leave --clusters out."
            )
        if count in parameters:
            raise SidelightError(f"give --clusters or --set {count}=, not both.")
        parameters[count] = clusters
    if seed is not None and "random_state" in allowed:
        parameters.setdefault("random_state", seed)
    return parameters


def _value(text: str) -> Any:
    """A Python literal (10, 0.5, None, [1, 2]), else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def build(model: Any, parameters: Mapping[str, Any]) -> Any:
    """The model with its parameters, which are checked before any data is read."""
    built = model(**parameters)
    try:
        built._validate_params()
    except ValueError as error:  # scikit-learn's, which names the parameter and what is allowed
        raise SidelightError(str(error)) from None
    return built


# What a class says of itself


def overview() -> str:
    """A line per model: the statements that it takes, and what it gives."""
    from sidelight.side import KINDS

    kinds = [kind for kind in KINDS if kind != "unsure"]  # it binds nothing: all take it
    known = registry()
    width = max(map(len, known))
    heading = [*kinds, "K", "prob", "wrong"]
    lines = [f"{'model':{width}s} {' '.join(f'{name:5s}' for name in heading)}".rstrip()]
    for name, model in known.items():
        finds = "statement_error_" in _entries(model, "Attributes")
        cells = [
            *("yes" if kind in model.accepts else "-" for kind in kinds),
            _count_of(model)[0],
            "yes" if hasattr(model, "predict_proba") else "-",
            "found" if finds else model.contradictions,
        ]
        told = (f"{cell:{max(len(h), 5)}s}" for cell, h in zip(cells, heading, strict=True))
        lines.append(f"{name:{width}s} {' '.join(told)}".rstrip())
    return "\n".join([*lines, "", *_LEGEND])


def describe(model: Any) -> str:
    """One model in words, from its docstring and tags."""
    text = inspect.getdoc(model) or ""
    attributes = _entries(model, "Attributes")
    refused = [f"not {kind}: {why.strip()}" for kind, why in model.refuses.items()]
    lines = [model.__name__, "  " + " ".join(text.split("\n\n")[0].split()), ""]
    facts = {
        "takes": "; ".join([", ".join(model.accepts), *refused]),
        "clusters": _count_of(model)[1],
        "probabilities": "yes" if hasattr(model, "predict_proba") else "no",
        "contradictions": model.contradictions,
        "repetition": model.repetition,
        "finds wrong statements": "yes" if "statement_error_" in attributes else "no",
        "accuracy of annotators": "yes" if "annotator_accuracy_" in attributes else "no",
        "scales": getattr(model, "scales", ""),
    }
    lines += [f"  {key + ':':24s}{value}" for key, value in facts.items() if value]
    lines += ["", "  parameters (--set name=value):"]
    told = _entries(model, "Parameters")
    for name, parameter in inspect.signature(model).parameters.items():
        lines.append(f"    {name}={parameter.default!r}")
        if told.get(name):
            lines.append(f"        {_first_sentence(told[name])}")
    return "\n".join(lines)


def _count_of(model: Any) -> tuple[str, str]:
    """Where the number of clusters comes from, in a word and in a sentence."""
    parameters = inspect.signature(model).parameters
    name = next((count for count in _COUNTS if count in parameters), None)
    if name is None:
        return "found", "found by the model"
    told = _first_sentence(_entries(model, "Parameters").get(name, ""))
    word = "limit" if name == "n_components" else "given"
    if re.search(r"default .*\bfind|\bfound\b", told):
        word = "found"
    return word, f"{name}: {told}"


def _entries(model: Any, section: str) -> dict[str, str]:
    """The entries of one section of a numpydoc docstring, with their texts."""
    text = inspect.getdoc(model) or ""
    match = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in (match.group(1) if match else "").splitlines():
        if line and not line.startswith(" "):
            names = [part.strip(" *") for part in line.split(" : ")[0].split(",")]
            entries.update(dict.fromkeys(names, ""))
        else:
            for name in names:
                entries[name] = f"{entries[name]} {line.strip()}".strip()
    return entries


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s(?=[A-Z])", text, maxsplit=1)[0]
