"""From a table and statements to an answer: what the command line and a notebook share.

``fit`` is the whole way. Its steps can be called alone: ``prepare`` turns a table into a matrix,
``gather`` collects statements about its rows, ``open_study`` does both, ``build`` sets up a model.
``compare`` sets models beside each other. ``save`` and ``load`` keep what was found, for rows to
come.
"""

from sidelight.study._answer import Answer, Cluster
from sidelight.study._build import COUNTS, build
from sidelight.study._fit import compare, fit
from sidelight.study._gather import collect, gather
from sidelight.study._open import Opened, open_study
from sidelight.study._saved import Prediction, Saved, load, save
from sidelight.tables import Preparation, Prepared, PreparedColumn, prepare

__all__ = [
    "COUNTS",
    "Answer",
    "Cluster",
    "Opened",
    "Prediction",
    "Preparation",
    "Prepared",
    "PreparedColumn",
    "Saved",
    "build",
    "collect",
    "compare",
    "fit",
    "gather",
    "load",
    "open_study",
    "prepare",
    "save",
]
