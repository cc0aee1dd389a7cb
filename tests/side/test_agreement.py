"""Pairs kept and broken: counted by table as listing every pair counts them."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sidelight import SideInformation
from sidelight.side import Agreement, dyadic_error


def drawn(seed, n=30):
    """Statements of all kinds with weights, two vocabularies and some contradictions."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n, size=(40, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    side = SideInformation.from_pairs(
        must=pairs[:15], cannot=pairs[15:], n_samples=n, weight=rng.uniform(0.5, 2, len(pairs))
    )
    for vocabulary in (None, "other"):
        y = np.where(rng.random(n) < 0.5, rng.integers(3, size=n), -1)
        side += SideInformation.from_labels(
            y, vocabulary=vocabulary, weight=rng.uniform(0.5, 2, size=n)
        )
    side += SideInformation.from_columns(
        "not_label", rng.integers(n, size=6), n_samples=n, class_=rng.integers(3, size=6)
    )
    return side, rng.integers(-1, 4, size=n)


def listed(side, labels):
    """Every pair with its weight: (must, i, j, weight)."""
    said = side.statements
    for k in range(side.n_statements):
        if said.is_pair[k]:
            yield said.sign[k] > 0, said.i[k], said.j[k], said.weight[k]
    for code in np.unique(said.vocabulary[said.is_class]):
        mine = [
            k for k in range(side.n_statements) if said.is_class[k] & (said.vocabulary[k] == code)
        ]
        label = [k for k in mine if said.sign[k] > 0]
        weight = said.weight[label]
        factor = weight.sum() / sum(a * b for a, b in combinations(weight, 2))
        for a, b in combinations(label, 2):
            same = said.class_code[a] == said.class_code[b]
            yield same, said.i[a], said.i[b], said.weight[a] * said.weight[b] * factor
        for k in set(mine) - set(label):
            of_class = [a for a in label if said.class_code[a] == said.class_code[k]]
            for a in of_class:
                yield False, said.i[k], said.i[a], said.weight[k] / len(of_class)


def column(must, together):
    return (0 if together else 1) if must else (2 if together else 3)


@pytest.mark.parametrize("seed", range(4))
def test_totals_are_those_of_all_pairs_listed(seed):
    side, labels = drawn(seed)
    total = np.zeros(4)
    for must, i, j, weight in listed(side, labels):
        together = i == j or (labels[i] == labels[j] and labels[i] >= 0)
        total[column(must, together)] += weight
    assert_allclose(Agreement.of(side, labels).total, total, atol=1e-9)


def test_the_score_is_the_mean_of_the_two_f_scores():
    must, cannot = [(0, 1), (1, 2), (2, 3)], [(0, 4), (1, 5), (0, 3), (4, 5)]
    side = SideInformation.from_pairs(must=must, cannot=cannot, n_samples=6)
    labels = np.array([0, 0, 0, 1, 1, 0])
    # kept musts 2, broken must 1, broken cannot (1, 5) 1, kept cannots 3
    assert Agreement.of(side, labels).score == pytest.approx((4 / 6 + 6 / 8) / 2)


def test_one_kind_alone_has_its_own_f_score_and_none_is_no_number():
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=3)
    assert Agreement.of(side, [0, 0, 1]).score == pytest.approx(2 / 3)
    assert np.isnan(Agreement.of(SideInformation.empty(3), [0, 0, 1]).score)
    one = SideInformation.from_labels([0, -1, -1])
    assert np.isnan(Agreement.of(one, [0, 0, 1]).score)


def test_moves_are_the_slope_of_the_score():
    side, labels = drawn(1)
    side = side.only(kind=["must", "cannot"])
    weight = np.ones(side.n_statements)
    moves = Agreement.of(side, labels).moves()
    for k in (0, 7, 20):
        more = weight.copy()
        more[k] += 1e-6
        slope = Agreement.of(side, labels, weight=more).score - Agreement.of(side, labels).score
        assert slope / 1e-6 == pytest.approx(moves[k], abs=1e-5)


def test_standard_errors_are_the_scatter_over_draws():
    """Pairs among few rows depend on each other: the rows are drawn anew each time."""
    rng = np.random.default_rng(0)
    scores, errors = [], []
    for _ in range(300):
        truth = rng.integers(3, size=40)
        labels = np.where(rng.random(40) < 0.75, truth, rng.integers(3, size=40))
        pairs = np.array(list(combinations(range(40), 2)))
        pairs = pairs[rng.choice(len(pairs), 150, replace=False)]
        same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        side = SideInformation.from_pairs(must=pairs[same], cannot=pairs[~same], n_samples=40)
        found = Agreement.of(side, labels)
        scores.append(found.score)
        errors.append(found.standard_error())
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.2)


def test_standard_errors_of_labels_are_the_scatter_over_draws():
    rng = np.random.default_rng(0)
    scores, errors = [], []
    for _ in range(300):
        truth = rng.integers(3, size=60)
        labels = np.where(rng.random(60) < 0.75, truth, rng.integers(3, size=60))
        found = Agreement.of(SideInformation.from_labels(truth), labels)
        scores.append(found.score)
        errors.append(found.standard_error())
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.2)


def test_pairs_that_share_a_row_are_dependent_and_others_are_not():
    value = np.array([0.3, 0.4])
    shared = dyadic_error(value, np.array([0, 1]), np.array([1, 2]))
    assert shared == pytest.approx(0.7)  # as if it were one
    assert dyadic_error(value, np.array([0, 2]), np.array([1, 3])) == pytest.approx(0.5)
    assert np.isnan(dyadic_error(value[:1], np.array([0]), np.array([1])))


def test_weights_of_the_test_multiply_those_of_the_statements():
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=3)
    twice = SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=3, weight=[2, 1])
    assert_allclose(
        Agreement.of(side, [0, 0, 1], weight=[2.0, 1.0]).total,
        Agreement.of(twice, [0, 0, 1]).total,
    )
