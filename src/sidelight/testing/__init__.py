"""Checks of our contract for any estimator, also those of third parties.

Each check takes an unfitted estimator that clusters into three clusters, and raises an
AssertionError that says what is wrong. They read what the model says about itself, its tags (see
`sidelight.models.Tags`), and `check_tags` that these are true. `checks` lists them; with pytest::

    @pytest.mark.parametrize("check", checks(), ids=lambda check: check.__name__)
    def test_contract(check):
        check(MyModel(n_clusters=3))

`fuzz` fits an estimator to hostile data again and again, and `verify_emission` holds emissions of a
`BayesianMixture` to their mathematics.
"""

from sidelight.testing._contract import (
    check_attributes,
    check_contradictions,
    check_history,
    check_inputs_untouched,
    check_lost_classes,
    check_names_survive,
    check_no_side_information,
    check_order_and_repetition,
    check_permuted_rows,
    check_pickle,
    check_same_bits,
    check_tags,
    check_unsupported_kinds,
    check_unsure_binds_nothing,
    check_verdict,
    checks,
    verify_emission,
)
from sidelight.testing._fuzz import FuzzReport, fuzz

__all__ = [
    "FuzzReport",
    "check_attributes",
    "check_contradictions",
    "check_history",
    "check_inputs_untouched",
    "check_lost_classes",
    "check_names_survive",
    "check_no_side_information",
    "check_order_and_repetition",
    "check_permuted_rows",
    "check_pickle",
    "check_same_bits",
    "check_tags",
    "check_unsupported_kinds",
    "check_unsure_binds_nothing",
    "check_verdict",
    "checks",
    "fuzz",
    "verify_emission",
]
