"""Quality of an answer, choice of a model and of K, all by held-out statements."""

from sidelight.select._calibration import ENOUGH, Calibration, Judged, fit_temperature
from sidelight.select._compare import Compared, Comparison, compare, held_out_number
from sidelight.select._folds import SideKFold, hold_out
from sidelight.select._held_out import HeldOut, cross_validate_statements
from sidelight.select._scores import Kept, StatementScores, statement_scores

__all__ = [
    "ENOUGH",
    "Calibration",
    "Compared",
    "Comparison",
    "HeldOut",
    "Judged",
    "Kept",
    "SideKFold",
    "StatementScores",
    "compare",
    "cross_validate_statements",
    "fit_temperature",
    "held_out_number",
    "hold_out",
    "statement_scores",
]
