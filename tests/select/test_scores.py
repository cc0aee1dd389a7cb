"""Scores by statements that a partition has not seen."""

import numpy as np
import pytest

from sidelight import BayesianMixture, DiscriminativeClustering, PartitionLevelKMeans
from sidelight.exceptions import SideInformationError
from sidelight.select import cross_validate_statements, statement_scores
from sidelight.side import Agreement, SideInformation, sample_labels, sample_pairs


def separated(n=150, seed=0, spread=9.0):
    truth = np.arange(n) % 3
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + spread * np.eye(3)[truth], truth


def test_a_result_its_model_and_its_labels_are_judged_alike_by_pairs():
    X, truth = separated(spread=2.0)
    held = sample_pairs(truth, 80, random_state=1)
    model = PartitionLevelKMeans(3, random_state=0).fit(X)
    found = statement_scores(model, held)
    assert found == statement_scores(model.result_, held) == statement_scores(model.labels_, held)
    assert found.share_right == pytest.approx(1 - held.violated(model.labels_).mean())
    assert found.score == Agreement.of(held, model.labels_).score


def test_shares_by_kind_and_annotator_add_up():
    X, truth = separated(spread=2.0)
    side = sample_pairs(
        truth, 60, annotators={"ann": 1.0, "bob": 0.7}, random_state=1
    ) + sample_labels(truth, 20, random_state=2)
    found = statement_scores(PartitionLevelKMeans(3, random_state=0).fit(X, truth), side)
    groups = found.by_kind_and_annotator
    assert {(g.kind, g.annotator) for g in groups} == {
        *((kind, name) for kind in ("must", "cannot") for name in ("ann", "bob")),
        ("label", None),
    }
    total = sum(g.n_statements * g.share_right for g in groups)
    assert total / found.n_statements == pytest.approx(found.share_right)


def test_the_ceiling_is_the_annotators_accuracy():
    X, truth = separated(200)
    said = sample_pairs(truth, 120, annotators={"ann": 1.0, "bob": 0.6}, random_state=3)
    share = {a: (said.statements.annotator == c).mean() for c, a in enumerate(said.annotators)}
    known = statement_scores(truth, said, accuracy={"ann": 1.0, "bob": 0.6})
    assert known.ceiling == pytest.approx(share["ann"] + 0.6 * share["bob"])
    assert known.relative == pytest.approx(known.share_right / known.ceiling)
    assert "annotators are right in" in known.in_words()
    assert statement_scores(truth, said).ceiling is None
    estimated = cross_validate_statements(
        DiscriminativeClustering(3, random_state=0), X, side=said, n_splits=2
    )
    assert estimated.ceiling == pytest.approx(known.ceiling, abs=0.15)


def test_log_loss_is_its_definition_where_there_are_probabilities():
    X, _ = separated(spread=2.0)
    model = BayesianMixture(3, random_state=0).fit(X)
    held = SideInformation.from_pairs(must=[(0, 3), (1, 4)], cannot=[(0, 1)], n_samples=150)
    p = model.predict_proba(X)
    same = [p[0] @ p[3], p[1] @ p[4], 1 - p[0] @ p[1]]
    found = statement_scores(model, held, X=X)
    assert found.log_loss == pytest.approx(-np.mean(np.log(np.maximum(same, 1e-12))), rel=1e-6)
    assert statement_scores(model, held).log_loss is None


def test_clusters_dealt_at_random_are_right_by_chance():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=400)
    held = sample_pairs(truth, 400, random_state=1)
    found = statement_scores(rng.integers(3, size=400), held)
    assert abs(found.share_right - found.chance) < 3 * found.standard_error


def test_questions_asked_rarely_count_more_and_audits_alone_where_there_are_enough():
    X, truth = separated(spread=1.0)
    side = sample_pairs(truth, 80, random_state=1)
    model = PartitionLevelKMeans(3, random_state=0)
    side = side.only(kind="cannot")
    plain = cross_validate_statements(model, X, side=side)
    even = cross_validate_statements(model, X, side=side, asked=np.full(side.n_statements, 0.5))
    assert even.share_right == pytest.approx(plain.share_right)
    few, many = (np.arange(side.n_statements) < n for n in (29, 30))
    assert cross_validate_statements(model, X, side=side, audit=few) == plain
    assert cross_validate_statements(model, X, side=side, audit=many).n_statements <= 30
    with pytest.raises(SideInformationError, match="asked has shape"):
        cross_validate_statements(model, X, side=side, asked=[0.5])
    with pytest.raises(SideInformationError, match="audit has shape"):
        cross_validate_statements(model, X, side=side, audit=[True])


def test_statements_about_other_rows_are_refused():
    held = SideInformation.from_pairs(must=[(0, 1)], n_samples=5)
    with pytest.raises(SideInformationError, match="4 rows.*about 5|about 5"):
        statement_scores(PartitionLevelKMeans(1).fit(np.eye(4)), held)
