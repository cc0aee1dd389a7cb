"""sidelight: semi-supervised clustering with people who know a little, and are sometimes wrong.

The package is imported lazily: ``import sidelight`` costs a few milliseconds, and a name such as
``sidelight.SideInformation`` loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sidelight.models import model_names

if TYPE_CHECKING:
    from sidelight.models import StatementMetric
    from sidelight.models._registry import *  # noqa: F403
    from sidelight.results import ClusterResult
    from sidelight.side import SideInformation
    from sidelight.study import load, save

__version__ = "0.2.0"

__all__ = ["ClusterResult", "SideInformation", "StatementMetric", "__version__", "load", "save"]
__all__ += model_names()

_HOME = {
    "ClusterResult": "sidelight.results",
    "SideInformation": "sidelight.side",
    "StatementMetric": "sidelight.models",
    "load": "sidelight.study",
    "save": "sidelight.study",
    **dict.fromkeys(model_names(), "sidelight.models"),
}

if not TYPE_CHECKING:  # else every name would be there for a type checker

    def __getattr__(name: str) -> object:
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module 'sidelight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
