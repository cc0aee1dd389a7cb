"""Name → class of every model, and its tags; a family is imported when a model of it is asked for.

A new model is one line in ``_models.pyi``, which editors and type checkers read too.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.models._base import SideClusterer
    from sidelight.models._models import *  # noqa: F403


def _homes() -> dict[str, str]:
    """Where each model lives, by name in alphabetical order, as ``_models.pyi`` has it."""
    stub = Path(__file__).with_name("_models.pyi").read_text(encoding="utf-8")
    found = {
        alias.name: str(node.module).removeprefix("sidelight.models.")
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return dict(sorted(found.items()))


HOMES = _homes()


class Tags(NamedTuple):
    """Traits of a model. `SideClusterer` declares each as a class attribute.

    Attributes
    ----------
    accepts : tuple of str
        The kinds of statement that it can use; ``unsure`` binds nothing and is always welcome.
    refuses : dict
        Why it cannot use others, in a sentence for the error message.
    finds_k : bool
        Whether it finds the number of clusters itself, without labels.
    finds_errors : bool
        Whether it estimates how accurate annotators are and which statements are probably wrong.
    gives_probabilities : bool
        Whether it has ``predict_proba``.
    weight_unit : str
        The unit in which statements are weighed against the data; "" where they are not weighed.
    takes_similarities : dict
        The parameters with which X is a matrix of similarities; empty where there are none.
    takes_sparse : bool
        Whether X may be a sparse matrix.
    on_dask : bool
        Whether X may be a Dask array.
    scales : str
        How time and memory grow, in a sentence (n rows, d columns, K clusters).
    repetition : {"adds", "ignored"}
        Whether repeating a statement makes it count more.
    contradictions : {"tolerated", "raises"}
        Whether statements may contradict each other.
    objective_sense : {"min", "max"}
        The direction in which ``history_`` runs.

    Examples
    --------
    >>> from sidelight.models import model_tags
    >>> tags = model_tags("BayesianMixture")
    >>> tags.finds_k, tags.gives_probabilities, tags.finds_errors
    (True, True, False)
    """

    accepts: tuple[str, ...]
    refuses: Mapping[str, str]
    finds_k: bool
    finds_errors: bool
    gives_probabilities: bool
    weight_unit: str
    takes_similarities: Mapping[str, Any]
    takes_sparse: bool
    on_dask: bool
    scales: str
    repetition: Literal["adds", "ignored"]
    contradictions: Literal["tolerated", "raises"]
    objective_sense: Literal["min", "max"]


def model_names(*, accepts: str | Sequence[str] = (), **tags: Any) -> list[str]:
    """The names of all models, or of those with certain tags, in alphabetical order.

    Parameters
    ----------
    accepts : str or sequence of str
        A kind of statement, or several, all of which the models have to take.
    **tags
        Values of other tags (see `Tags`). True and False also ask whether a tag that is a text or
        a dict is empty: ``takes_similarities=True``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sidelight.models import model_names
    >>> model_names(accepts="must", finds_k=True, on_dask=True)[:3]
    ['BayesianMixture', 'ConstraintPropagation', 'DiscriminativeClustering']
    """
    unknown = [name for name in tags if name not in Tags._fields]
    if unknown:
        raise SidelightError(f"unknown tag {unknown[0]!r}; known: {', '.join(Tags._fields)}.")
    kinds = {accepts} if isinstance(accepts, str) else set(accepts)
    if not kinds and not tags:
        return list(HOMES)  # without importing any family

    def fits(model: type) -> bool:
        own = model_tags(model)
        return kinds <= set(own.accepts) and all(
            (bool(getattr(own, name)) if isinstance(value, bool) else getattr(own, name)) == value
            for name, value in tags.items()
        )

    return [name for name in HOMES if fits(find_model(name))]


def find_model(name: str) -> "type[SideClusterer]":
    """The class of a model by its name; upper case, dashes and underscores do not matter.

    Parameters
    ----------
    name : str
        Such as "PartitionLevelKMeans" or "partition-level-kmeans".

    Returns
    -------
    class

    Examples
    --------
    >>> from sidelight.models import find_model
    >>> find_model("markov-aggregation")
    <class 'sidelight.models._markov.aggregation.MarkovAggregation'>
    >>> find_model("BayesianMix")
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SidelightError: unknown model 'BayesianMix'. Did you mean ...?...
    """
    known = {_plain(key): key for key in HOMES}
    found = known.get(_plain(name))
    if found is None:
        near = get_close_matches(_plain(name), known, n=1, cutoff=0.5)
        hint = f" Did you mean {known[near[0]]}?" if near else ""
        raise SidelightError(
            f"unknown model {name!r}.{hint} Known: {', '.join(HOMES)}; 'sidelight models' says "
            "what each one takes."
        )
    module = import_module(f"sidelight.models.{HOMES[found]}")
    return cast("type[SideClusterer]", getattr(module, found))


def model_tags(model: Any) -> Tags:
    """The tags of a model.

    Parameters
    ----------
    model : str, class or model
        A name of `model_names`, or any class or model that has tags as attributes.

    Returns
    -------
    Tags

    Examples
    --------
    >>> from sidelight.models import model_tags
    >>> model_tags("PartitionLevelKMeans").accepts
    ('cannot', 'label', 'not_label')
    """
    model = find_model(model) if isinstance(model, str) else model
    missing = [name for name in Tags._fields if not hasattr(model, name)]
    if missing:
        kind = model if isinstance(model, type) else type(model)
        raise SidelightError(
            f"{kind.__name__} has no tag {missing[0]!r}; declare it as a class attribute, or "
            "derive the class from sidelight.models.SideClusterer, which has defaults."
        )
    return Tags(*(getattr(model, name) for name in Tags._fields))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
