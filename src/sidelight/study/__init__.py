"""From a table and statements to an answer, for the command line, the workbench and notebooks.

``fit`` does everything. Its steps are public too: ``prepare`` turns a table into a matrix,
``gather`` collects statements about its rows, ``open_study`` does both, ``build`` sets up a model.
``compare`` compares models. ``save`` and ``load`` store an answer, to predict new rows.
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
