"""Temperatures: found again where they are known, and from their definition."""

import numpy as np
import pytest
from scipy.special import softmax

from sidelight.select import Calibration, Judged, fit_temperature

NOBODY = np.empty((0, 3)), np.empty((0, 3)), np.empty(0, dtype=bool)


def drawn(n, temperature, seed=0):
    """Classes drawn from probabilities, which are then made surer by a temperature."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3)) * 1.5
    p = softmax(logits, axis=1)
    truth = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return softmax(logits * temperature, axis=1), truth, p


@pytest.mark.parametrize("temperature", [0.5, 1.0, 6.0])
def test_a_temperature_is_found_again_from_labels(temperature):
    given, truth, p = drawn(4000, temperature)
    found = fit_temperature([Judged(given, truth, given.argmax(axis=1), *NOBODY)])
    assert found.temperature == pytest.approx(temperature, rel=0.1)
    np.testing.assert_allclose(found.apply(given), p, atol=0.05)
    assert found.log_loss <= found.log_loss_before


def test_a_temperature_is_found_again_from_pairs():
    given, truth, _ = drawn(8000, 4.0)
    one, two = given[:4000], given[4000:]
    must = truth[:4000] == truth[4000:]
    none = np.empty((0, 3)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    found = fit_temperature([Judged(*none, one, two, must)])
    assert found.temperature == pytest.approx(4.0, rel=0.15)


def test_the_loss_is_its_definition():
    label_p = np.array([[0.7, 0.2, 0.1]] * 20)
    pair_p, pair_q = np.array([[0.5, 0.5, 0.0]]), np.array([[0.9, 0.1, 0.0]])
    column = np.zeros(20, dtype=np.int64)
    found = fit_temperature([Judged(label_p, column, column, pair_p, pair_q, np.array([False]))])
    expected = -(20 * np.log(0.7) + np.log(1 - 0.5)) / 21
    assert found.log_loss_before == pytest.approx(expected)
    assert found.n_statements == 21


def test_certain_and_wrong_probabilities_become_modest():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    said = np.where(rng.random(300) < 0.6, truth, (truth + 1) % 3)
    found = fit_temperature([Judged(np.eye(3)[said], truth, said, *NOBODY)])
    assert found.apply(np.eye(3)).max() == pytest.approx(0.6, abs=0.05)


def test_a_class_without_a_cluster_costs_as_much_as_a_probability_of_zero():
    given = np.full((30, 3), 1 / 3)
    with_home = fit_temperature([Judged(given, *np.zeros((2, 30), dtype=np.int64), *NOBODY)])
    without = fit_temperature(
        [Judged(given, np.full(30, -1), np.zeros(30, dtype=np.int64), *NOBODY)]
    )
    assert without.log_loss_before == pytest.approx(-np.log(1e-12))
    assert with_home.log_loss_before == pytest.approx(np.log(3))


def test_few_statements_say_nothing_about_a_temperature():
    given = np.full((19, 3), 1 / 3)
    assert fit_temperature([Judged(given, *np.zeros((2, 19), dtype=np.int64), *NOBODY)]) is None


def test_a_cluster_of_two_classes_is_not_sure_of_its_name():
    rng = np.random.default_rng(0)
    cluster = rng.integers(2, size=400)
    truth = np.where(cluster == 0, rng.choice([0, 2], size=400), 1)  # nothing tells 2 from 0
    p = np.eye(2)[cluster] * 0.98 + 0.01
    found = fit_temperature([Judged(p, np.where(truth == 2, -1, truth), cluster, *NOBODY)])
    right = cluster == truth
    assert found.confidence(p, cluster).mean() == pytest.approx(right.mean(), abs=0.02)


def test_without_labels_confidence_is_the_probability_at_the_temperature():
    p = np.array([[0.9, 0.1], [0.3, 0.7]])
    found = Calibration(2.0, 20, 0.0, 0.0)
    np.testing.assert_allclose(found.confidence(p, [0, 1]), found.apply(p)[[0, 1], [0, 1]])


def test_rows_still_add_up_to_one():
    p = Calibration(50.0, 20, 0.0, 0.0).apply(np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
