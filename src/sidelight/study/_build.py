"""A model by its name, with its parameters checked before any data is read."""

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal

from sidelight.exceptions import SidelightError

# The parameters that fix or limit the number of clusters, by whatever name a model has for it.
COUNTS = ("n_clusters", "n_components")


def build(
    model: Any,
    *,
    n_clusters: int | Literal["held-out"] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Any:
    """Set up a model, and check its parameters before any data is read.

    Parameters
    ----------
    model : str, class or model
        A name of `sidelight.models.model_names`, or a model, which is copied and not changed.
    n_clusters : int or "held-out", optional
        The number of clusters, or its upper limit: whichever the model has a parameter for.
    parameters : dict, optional
        Further parameters, by name.
    seed : int, optional
        The ``random_state``, unless the model or the parameters have one.

    Returns
    -------
    model

    Examples
    --------
    >>> from sidelight import study
    >>> study.build("bayesian-mixture", n_clusters=5, seed=0)
    BayesianMixture(n_components=5, random_state=0)
    """
    from sklearn.base import clone

    from sidelight.models import find_model

    model = find_model(model) if isinstance(model, str) else model
    built = model() if isinstance(model, type) else clone(model)
    name, given = type(built).__name__, dict(parameters or {})
    allowed = list(inspect.signature(type(built)).parameters)
    unknown = [key for key in given if key not in allowed]
    if unknown:
        near = get_close_matches(unknown[0], allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SidelightError(
            f"{name} has no parameter {', '.join(map(repr, unknown))}.{hint} "
            f"It has {', '.join(allowed)}."
        )
    if n_clusters is not None:
        count = next((key for key in COUNTS if key in allowed), None)
        if count is None:
            raise SidelightError(
                f"{name} finds the number of clusters itself; leave {n_clusters} out."
            )
        if count in given:
            raise SidelightError(
                f"the number of clusters is given twice: {n_clusters}, and {count}={given[count]}."
            )
        given[count] = n_clusters
    if seed is not None and "random_state" in allowed and built.random_state is None:
        given.setdefault("random_state", seed)
    built.set_params(**given)
    try:
        built._validate_params()
    except ValueError as error:  # scikit-learn's, which names the parameter and what is allowed
        raise SidelightError(str(error)) from None
    return built


def reseeded(model: Any, seed: int) -> Any:
    from sklearn.base import clone

    return clone(model).set_params(random_state=seed)
