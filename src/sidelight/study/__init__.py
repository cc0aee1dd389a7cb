"""From a table and statements to an answer: what the command line and a notebook share.

``fit`` is the whole way. Its steps can be called alone: ``prepare`` turns a table into a matrix,
``gather`` collects statements about its rows, ``build`` sets up a model. ``compare`` sets models
beside each other.
"""

from sidelight.study._answer import Answer, Cluster
from sidelight.study._build import COUNTS, build
from sidelight.study._fit import compare, fit
from sidelight.study._gather import gather
from sidelight.tables import Preparation, Prepared, PreparedColumn, prepare

__all__ = [
    "COUNTS",
    "Answer",
    "Cluster",
    "Preparation",
    "Prepared",
    "PreparedColumn",
    "build",
    "compare",
    "fit",
    "gather",
    "prepare",
]
