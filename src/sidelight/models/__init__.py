"""Estimators that use statements, and a registry that finds them by name or ability."""

from importlib import import_module
from typing import TYPE_CHECKING

from sidelight.models._registry import HOMES, Tags, find_model, model_names, model_tags

if TYPE_CHECKING:
    from sidelight.models._base import SideClusterer
    from sidelight.models._emissions import Emission
    from sidelight.models._metric import StatementMetric
    from sidelight.models._registry import *  # noqa: F403
    from sidelight.models._warm_up import warm_up

__all__ = [
    "Emission",
    "SideClusterer",
    "StatementMetric",
    "Tags",
    "find_model",
    "model_names",
    "model_tags",
    "warm_up",
]
__all__ += HOMES

_OTHERS = {
    "Emission": "_emissions",
    "SideClusterer": "_base",
    "StatementMetric": "_metric",
    "warm_up": "_warm_up",
}

if not TYPE_CHECKING:  # else every name would be there for a type checker

    def __getattr__(name: str) -> object:
        if name in HOMES:
            return find_model(name)
        if name in _OTHERS:
            return getattr(import_module(f"sidelight.models.{_OTHERS[name]}"), name)
        raise AttributeError(f"module 'sidelight.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
