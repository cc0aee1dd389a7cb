"""``sidelight models``: which model takes what; and how the command line finds and sets up one.

The tags of a model say what it takes and gives; its docstring explains its parameters.
"""

import ast
import inspect
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from sidelight.exceptions import SidelightError

_LEGEND = (
    "must, cannot, label, not_label: the statements that it takes; all take unsure.",
    "K: the number of clusters is given, is a limit, or is found.",
    "prob: gives the probability of each cluster.",
    "wrong: statements that contradict each other are tolerated, or raise an error; found: the",
    "model also says which statements are probably wrong.",
    "",
    "More about one model, with its parameters: sidelight models NAME",
)


def models(
    name: Annotated[
        str | None, typer.Argument(help="A model, to read about its parameters too.")
    ] = None,
) -> None:
    """List the models: which statements each takes, and what it gives."""
    from sidelight.models import find_model

    typer.echo(overview() if name is None else describe(find_model(name)))


def read_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The parameters of a model from texts such as ``n_init=10``."""
    parameters = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise SidelightError(f"--set {setting!r}: write it as parameter=value.")
        parameters[key.strip()] = _value(value.strip())
    return parameters


def _value(text: str) -> Any:
    """A Python literal (10, 0.5, None, [1, 2]), else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


# What a model says of itself


def overview() -> str:
    """A line per model: the statements that it takes, and what it gives."""
    from sidelight.models import find_model, model_names, model_tags
    from sidelight.side import KINDS, Kind

    kinds = [kind for kind in KINDS if Kind.of(kind).binds]  # all take the others
    width = max(map(len, model_names()))
    heading = [*kinds, "K", "prob", "wrong"]
    lines = [f"{'model':{width}s} {' '.join(f'{name:5s}' for name in heading)}".rstrip()]
    for name in model_names():
        tags = model_tags(name)
        cells = [
            *("yes" if kind in tags.accepts else "-" for kind in kinds),
            _count_of(find_model(name))[0],
            "yes" if tags.gives_probabilities else "-",
            "found" if tags.finds_errors else tags.contradictions,
        ]
        told = (f"{cell:{max(len(h), 5)}s}" for cell, h in zip(cells, heading, strict=True))
        lines.append(f"{name:{width}s} {' '.join(told)}".rstrip())
    return "\n".join([*lines, "", *_LEGEND])


def describe(model: Any) -> str:
    """One model in words, from its tags and its docstring."""
    from sidelight.models import model_tags

    text = inspect.getdoc(model) or ""
    tags = model_tags(model)
    refused = [f"not {kind}: {why.strip()}" for kind, why in tags.refuses.items()]
    lines = [model.__name__, "  " + " ".join(text.split("\n\n")[0].split()), ""]
    similar = ", ".join(f"{name}={value!r}" for name, value in tags.takes_similarities.items())
    facts = {
        "takes": "; ".join([", ".join(tags.accepts), *refused]),
        "clusters": _count_of(model)[1],
        "probabilities": _yes(tags.gives_probabilities),
        "contradictions": tags.contradictions,
        "repetition": tags.repetition,
        "finds wrong statements": _yes(tags.finds_errors),
        "accuracy of annotators": _yes(tags.finds_errors),
        "unit of weights": tags.weight_unit,
        "takes similarities": f"with {similar}" if similar else "no",
        "sparse matrices": _yes(tags.takes_sparse),
        "Dask arrays": _yes(tags.on_dask),
        "scales": tags.scales,
    }
    lines += [f"  {key + ':':24s}{value}" for key, value in facts.items() if value]
    lines += ["", "  parameters (--set name=value):"]
    told = _entries(model, "Parameters")
    for name, parameter in inspect.signature(model).parameters.items():
        lines.append(f"    {name}={parameter.default!r}")
        if told.get(name):
            lines.append(f"        {_first_sentence(told[name])}")
    return "\n".join(lines)


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _count_of(model: Any) -> tuple[str, str]:
    """Where the number of clusters comes from, in a word and in a sentence."""
    from sidelight.models import model_tags
    from sidelight.study import COUNTS

    parameters = inspect.signature(model).parameters
    name = next((count for count in COUNTS if count in parameters), None)
    if name is None:
        return "found", "found by the model"
    finds = model_tags(model).finds_k
    word = "given" if not finds else "limit" if name == "n_components" else "found"
    return word, f"{name}: {_first_sentence(_entries(model, 'Parameters').get(name, ''))}"


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
