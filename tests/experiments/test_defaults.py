"""The comparison of defaults: what is scored, what is stated, ranks, and the whole on blobs."""

import math
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from experiments.defaults import ranks
from experiments.defaults.baselines import seeded_kmeans
from experiments.defaults.development import Development, prepared
from experiments.defaults.methods import METHODS
from experiments.defaults.settings import SETTINGS, score, statements, untouched_rows
from experiments.runner import HERE, Outcome, load
from sidelight.metrics import adjusted_rand
from sidelight.side import SideInformation


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def blobs():
    X, y = make_blobs([50, 50, 50], cluster_std=0.4, random_state=0)
    return Development(X, y.astype(np.int64))


@pytest.fixture
def harness(monkeypatch, blobs):
    """The module of the experiment, on blobs instead of its tables."""
    load(HERE, "defaults")
    module = sys.modules["experiments_defaults_run"]
    monkeypatch.setattr(module, "development_table", lambda name, draw: blobs)
    return module


# What is scored


@pytest.mark.parametrize("setting", SETTINGS)
def test_annotated_rows_do_not_count(setting, rng):
    y = rng.integers(4, size=200)
    side = statements(y, SETTINGS[setting], seed=1)
    said = side.statements
    touched = {*said.i.tolist(), *said.j[said.j >= 0].tolist()}
    rows = untouched_rows(side)
    assert set(rows.tolist()) == set(range(200)) - touched
    assert 0 < len(rows) < 200
    wrong = np.where(np.isin(np.arange(200), rows), y, rng.integers(4, size=200))
    assert score(y, wrong, side)["ari"] == 1.0
    guess = rng.integers(4, size=200)
    right = np.where(np.isin(np.arange(200), rows), guess, y)
    assert score(y, right, side)["ari"] == adjusted_rand(y[rows], guess[rows])


def test_clusters_are_counted_on_all_rows():
    side = SideInformation.from_labels([0, -1, -1, -1])
    counts = score(np.array([0, 0, 1, 1]), [5, 0, 1, 1], side)
    assert (counts["clusters"], counts["classes"]) == (3, 2)


# What is stated


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_state_what_their_names_say(setting, rng):
    y = rng.integers(6, size=300)
    of = SETTINGS[setting]
    side = statements(y, of, seed=2)
    labelled = side.to_labels().astype(int)
    known = labelled >= 0
    n_must, n_cannot = len(side.must), len(side.cannot)
    if of.half:
        assert len(np.unique(labelled[known])) == 3
        assert known.sum() == round(0.1 * np.isin(y, np.unique(labelled[known])).sum())
    else:
        assert known.sum() == round(of.labels * 300)
    assert n_must + n_cannot == round(of.pairs * 300)
    wrong = (labelled[known] != y[known]).sum()
    wrong += (y[side.must[:, 0]] != y[side.must[:, 1]]).sum()
    wrong += (y[side.cannot[:, 0]] == y[side.cannot[:, 1]]).sum()
    assert wrong == round((1 - of.accuracy) * side.n_statements)


# Preparation


def test_rows_are_cut_small_classes_left_out_and_columns_standardised(rng):
    y = np.repeat([0, 1, 2], [900, 600, 4])
    X = np.column_stack([rng.normal(5, 3, (1504, 3)), np.ones(1504)])
    data = prepared(X, y, kind="table", seed=0)
    assert data.X.shape[1] == 3
    assert 790 <= len(data.y) <= 800
    assert data.n_classes == 2
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=0.01)
    wide = prepared(rng.normal(size=(120, 150)), np.repeat([0, 1], 60), kind="table", seed=0)
    assert wide.X.shape == (120, 50)


def test_counts_are_scaled_to_equal_depth(rng):
    y = np.repeat([0, 1], 50)
    profile = np.where(y[:, None] == 0, [1, 2, 3, 4.0], [4, 3, 2, 1.0])
    data = prepared(profile * rng.integers(1, 9, (100, 1)), y, kind="rna", seed=0)
    assert len(np.unique(data.X.round(9), axis=0)) == 2


# Base lines


def test_seeded_kmeans_holds_the_labels_and_finds_the_class_that_has_none(blobs):
    y = np.full(150, -1)
    for c in (0, 1):
        y[np.flatnonzero(blobs.y == c)[:3]] = c
    y[np.flatnonzero(blobs.y == 2)[0]] = 0  # wrong, and held all the same
    found = seeded_kmeans(blobs.X, SideInformation.from_labels(y), 3, 0)
    assert (found[y >= 0] == y[y >= 0]).all()
    assert adjusted_rand(blobs.y[y < 0], found[y < 0]) == 1.0


# Ranks


def test_mean_ranks_by_hand():
    scores = np.array([[0.9, 0.8, 0.1], [0.5, 0.5, 0.7], [0.2, 0.6, 0.4]])
    np.testing.assert_allclose(ranks.mean_ranks(scores), [(1 + 2.5 + 3) / 3, 5.5 / 3, 2.0])


def test_critical_differences_are_those_of_demsars_examples():
    # Demsar 2006, Section 3.2.2: 4 methods, 14 data sets, q = 2.569 at 5 % and 2.291 at 10 %
    assert ranks.critical_difference(4, 14) == pytest.approx(2.569 * math.sqrt(20 / 84), abs=1e-3)
    assert ranks.critical_difference(4, 14, 0.1) == pytest.approx(1.12, abs=5e-3)
    # his Table 5: q = 3.164 for 10 methods
    assert ranks.critical_difference(10, 110 / 6) == pytest.approx(3.164, abs=1e-3)


def test_bars_join_the_longest_runs_that_do_not_differ():
    assert ranks.cliques([1.0, 1.5, 2.2, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert ranks.cliques([1.0, 1.5, 2.0, 4.0], 1.0) == [(0, 2)]
    assert ranks.cliques([1.0, 3.0], 1.0) == []


# The whole


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        (name, setting)
        for name, method in METHODS.items()
        for setting in ("labels 10 %", "n pairs")
        if method.suits(labels=SETTINGS[setting].labels > 0)
    ],
)
def test_every_method_finds_blobs(harness, method, setting):
    cell = {"dataset": "blobs", "setting": setting, "method": method, "draw": 0}
    told = "given" if METHODS[method].takes_k else "found"
    values = harness.run(cell | {"clusters": told})
    assert values["ari"] > 0.9
    assert values["clusters"] == values["classes"] == 3


def test_a_method_that_fails_scores_nothing_and_is_named(harness):
    cells = [c for c in harness._short_cells(1) if c["dataset"] in ("iris", "wine")]
    values = {"ari": 0.8, "nmi": 0.7, "clusters": 4.0, "classes": 2.0}
    outcomes = [Outcome(cell, values) for cell in cells]
    broken = cells.index(
        next(c for c in cells if c["method"] == "SVC" and c["setting"] == "labels 10 %")
    )
    outcomes[broken] = Outcome(cells[broken], {}, "ValueError: on purpose")
    rows, text = harness._render_means(outcomes)
    found = {(r["method"], r["setting"], r["clusters"]): r for r in rows}
    assert found["SVC", "labels 10 %", "given"]["ari"] == pytest.approx(0.4)
    assert found["LDA", "labels 10 %", "given"]["ari"] == pytest.approx(0.8)
    assert found["LDA", "labels 10 %", "given"]["log_ratio"] == 1.0
    assert "| SVC | 1 | ValueError: on purpose |" in text


def test_losses_are_measured_against_the_best_other_of_each_table(harness):
    def outcome(dataset, method, ari):
        cell = {"dataset": dataset, "setting": "labels 10 %", "method": method}
        return Outcome(cell | {"clusters": "given", "draw": 0}, {"ari": ari})

    given = {"KMeans": (0.5, 0.5), "LDA": (0.9, 0.1), "StructuralEntropyTree": (0.7, 0.3)}
    outcomes = [
        outcome(name, method, values[i])
        for method, values in given.items()
        for i, name in enumerate(("one", "two"))
    ]
    (row,) = harness._render_losses(outcomes)[0]
    assert row["method"] == "StructuralEntropyTree"
    assert row["less_kmeans"] == pytest.approx(0.0)
    assert row["less_hindsight"] == pytest.approx(-0.2)
    assert row["beaten"] == "one -0.20; two -0.20"


def test_the_summary_sets_the_default_beside_the_best_other(harness):
    def outcome(dataset, method, ari):
        cell = {"dataset": dataset, "setting": "labels 10 %", "method": method}
        values = {"ari": ari, "nmi": ari, "clusters": 3.0, "classes": 3.0}
        return Outcome(cell | {"clusters": "given", "draw": 1}, values)

    given = {"KMeans": (0.5, 0.5), "LDA": (0.9, 0.3), "DiscriminativeClustering": (0.8, 0.6)}
    outcomes = [
        outcome(name, method, values[i])
        for method, values in given.items()
        for i, name in enumerate(("one", "two"))
    ]
    outcomes.append(outcome("one", "MarkovAggregation", 0.75))  # one table alone has no rival
    (row,), text = harness.render_summary(outcomes)
    assert row["best"] == "LDA"
    assert row["less_best"] == pytest.approx(0.1)
    assert row["less_hindsight"] == row["less_base_lines"] == pytest.approx(0.0)
    assert "| `DiscriminativeClustering` | **.700** |" in text
    assert "| `MarkovAggregation`, 1 of 2 tables | .750 |" in text
