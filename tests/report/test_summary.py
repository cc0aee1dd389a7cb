"""What a report tells, as plain data."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from sidelight import SideInformation
from sidelight.exceptions import DataError
from sidelight.report import (
    Evidence,
    disagreements,
    own_membership,
    summarize,
    summarize_side,
    suspect_rows,
)


def sure(result, p=0.9):
    """Probabilities that give every row its own cluster with p."""
    n_clusters = len(result.cluster_names)
    table = np.full((len(result.labels), n_clusters), (1 - p) / (n_clusters - 1))
    table[np.arange(len(result.labels)), result.labels] = p
    return table


def judged(result, **verdict):
    """The result of a model that estimates more."""
    return replace(result, verdict=replace(result.verdict, **verdict))


def test_a_summary_is_plain_data_and_complete(told):
    result = judged(
        told.result,
        error=np.linspace(0, 1, 6),
        accuracy={"ann": 0.9, "bob": 0.4, None: np.float64(0.8)},
    )
    evidence = Evidence(
        probabilities=sure(told.result),
        truth=[*["x"] * 15, *["y"] * 14, None],
        stability=[told.result.labels, np.roll(told.result.labels, 1)],
        notes=["Note."],
        command="sidelight fit",
    )
    summary = summarize(result, told.X, evidence=evidence)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (summary["n_rows"], summary["n_clusters"], summary["columns"]) == (
        30,
        3,
        ["x0", "x1", "x2"],
    )
    assert summary["model"] == "PartitionLevelKMeans"
    assert summary["command"] == "sidelight fit"
    assert [cluster["membership"] for cluster in summary["clusters"]] == pytest.approx([0.9] * 3)


def test_profiles_are_differences_in_standard_deviations_and_in_units(told):
    cluster = summarize(told.result, told.X, feature_names=["p", "q", "r"])["clusters"][1]
    inside = told.result.labels == 1
    p = next(entry for entry in cluster["profile"] if entry["column"] == "p")
    assert p["mean"] == pytest.approx(told.X[inside, 0].mean())
    assert p["others"] == pytest.approx(told.X[~inside, 0].mean())
    assert p["difference"] == pytest.approx((p["mean"] - p["others"]) / told.X[:, 0].std())
    assert [entry["column"] for entry in cluster["profile"]] == ["p", "q", "r"]
    assert cluster["profile"][2]["difference"] == 0  # a constant column sets nothing apart


def test_sparse_and_dense_data_have_the_same_profiles(told):
    dense = summarize(told.result, told.X)["clusters"]
    thin = summarize(told.result, sparse.csr_array(told.X))["clusters"]
    for one, two in zip(dense, thin, strict=True):
        for a, b in zip(one["profile"], two["profile"], strict=True):
            assert a["column"] == b["column"]
            assert_allclose(
                [a["difference"], a["mean"]], [b["difference"], b["mean"]], rtol=1e-9, atol=1e-12
            )


def test_kept_and_broken_statements_are_counted_by_kind_and_annotator(told):
    kept = summarize(told.result)["kept"]
    violated, said = told.result.violated, told.side.statements
    assert violated.tolist() == [False, False, False, True, False, True]
    assert kept["broken"] == violated.sum()
    assert [(r["kind"], r["n"], r["broken"]) for r in kept["by_kind"]] == [
        ("cannot", 2, 1),
        ("label", 4, 1),
    ]
    assert [(r["annotator"], r["n"], r["broken"]) for r in kept["by_annotator"]] == [
        ("ann", 3, 0),
        ("bob", 2, 2),
        ("(not told)", 1, 0),
    ]
    assert Counter(said.annotator.tolist()) == {0: 3, 1: 2, -1: 1}


def test_accuracies_are_matched_by_name(told):
    kept = summarize(judged(told.result, accuracy={"bob": 0.4, "ann": 0.9, None: 0.8}))["kept"]
    assert [row["accuracy"] for row in kept["by_annotator"]] == [0.9, 0.4, 0.8]


def test_suspects_are_told_with_their_rows_most_doubtful_first(told):
    result = judged(told.result, error=np.array([0.1, 0.1, 0.99, 0.7, np.nan, 0.6]))
    suspects = summarize(result)["suspects"]
    assert [s["statement"] for s in suspects] == [
        "r20 is 'c' (label)",
        "r11 is 'a' (label, bob)",
        "r02 apart from r03 (cannot, bob)",
    ]
    assert [s["broken"] for s in suspects] == [False, True, True]
    assert suspects[2]["rows"] == ["r02", "r03"]
    assert suspects[1]["clusters"] == ["b"]
    rows = suspect_rows(result)
    assert np.flatnonzero(rows).tolist() == [2, 3, 11, 20]
    assert np.flatnonzero(suspect_rows(told.result)).tolist() == [2, 3, 11]


def test_without_errors_of_the_model_probabilities_say_how_doubtful_a_statement_is(told):
    table = sure(told.result, 0.9)
    doubts = summarize(told.result, evidence=Evidence(probabilities=table))["suspects"]
    of = {s["statement"]: s["doubt"] for s in doubts}
    assert of["r11 is 'a' (label, bob)"] == pytest.approx(0.95)
    assert of["r02 apart from r03 (cannot, bob)"] == pytest.approx(0.9**2 + 2 * 0.05**2)


def test_evidence_asks_the_model_for_what_it_has(told):
    evidence = Evidence.of(told.model, told.X, notes=["n"])
    assert evidence.probabilities is None
    told.model.predict_proba = lambda X: sure(told.result)
    evidence = Evidence.of(told.model, told.X)
    assert_allclose(own_membership(told.result, evidence.probabilities), 0.9)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"evidence": Evidence(probabilities=np.ones((30, 2)))}, "shape"),
        ({"X": np.ones((30, 3)), "feature_names": ["a"]}, "1 feature_names for 3 columns"),
        ({"X": np.ones((29, 3))}, "X has 29 rows"),
    ],
)
def test_what_does_not_fit_the_result_is_refused(told, more, problem):
    with pytest.raises(DataError, match=problem):
        summarize(told.result, **more)


def test_stability_is_agreement_over_seeds_per_answer_and_per_cluster(told):
    labels = told.result.labels
    split = np.where((labels == 0) & (np.arange(30) % 2 == 0), 3, labels)
    summary = summarize(told.result, evidence=Evidence(stability=[(labels + 1) % 3, split]))
    assert summary["stability"]["agreement"][0] == 1
    assert summary["stability"]["agreement"][1] < 1
    assert summary["stability"]["n_clusters"] == [3, 4]
    assert [c["stability"] for c in summary["clusters"]] == pytest.approx([0.75, 1, 1])


def test_the_truth_is_compared_where_it_is_known(told):
    truth = [*["x"] * 10, *["y"] * 10, *["z"] * 9, None]
    found = summarize(told.result, evidence=Evidence(truth=truth))["truth"]
    assert found["classes"] == ["x", "y", "z"]
    assert found["confusion"] == [[10, 0, 0], [0, 10, 0], [0, 0, 9]]
    assert found["all_rows"]["accuracy"] == 1
    assert found["n_rows"] == 29


# Statements alone


def test_a_check_counts_groups_and_explains(told):
    said = summarize_side(told.side, clusters=2)
    assert said["kinds"] == {"cannot": 2, "label": 4}
    assert said["annotators"][2] == {"annotator": "(not told)", "kinds": {"label": 1}}
    assert said["groups"] == {"n": 1, "largest": 2}
    assert said["n_rows_in_statements"] == 8
    assert said["feasible"]["answer"] == "no"
    assert summarize_side(SideInformation.empty(3))["feasible"] is None
    assert summarize_side(SideInformation.empty(0))["n_rows"] == 0


answers = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cy", None]),
        st.sampled_from(["must", "cannot", "label"]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from(["x", "y"]),
    ).filter(lambda a: a[1] == "label" or a[2] != a[3]),
    max_size=25,
)


@given(answers)
def test_disagreements_equal_a_slow_count(said):
    annotator, kind, i, j, name = zip(*said, strict=True) if said else ((),) * 5
    side = SideInformation.from_columns(
        list(kind),
        list(i),
        [None if k == "label" else b for k, b in zip(kind, j, strict=True)],
        class_=[n if k == "label" else None for k, n in zip(kind, name, strict=True)],
        annotator=list(annotator),
        n_samples=4,
    )
    last = {}
    for who, what, a, b, c in said:
        if who is not None:
            thing = ("label", a) if what == "label" else ("pair", min(a, b), max(a, b))
            last[who, thing] = c if what == "label" else what
    expected = {}
    for (who, thing), answer in last.items():
        for (other, same), reply in last.items():
            if who < other and thing == same:
                both, differ = expected.get((who, other), (0, 0))
                expected[who, other] = (both + 1, differ + (answer != reply))
    found = {tuple(d["annotators"]): (d["n_both"], d["n_differ"]) for d in disagreements(side)}
    assert found == expected
    assert all(len(d["examples"]) == min(3, d["n_differ"]) for d in disagreements(side))
