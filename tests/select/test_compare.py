"""Comparisons: the best score is chosen, ties by a witness, and what cannot be decided is said."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight import (
    DiscriminativeClustering,
    PartitionLevelKMeans,
    PCKMeans,
    SideInformation,
    StructuralEntropyTree,
)
from sidelight.exceptions import SideInformationError, SidelightError
from sidelight.select import (
    SideKFold,
    _compare,
    compare,
    cross_validate_statements,
    held_out_number,
    statement_scores,
)
from sidelight.select._candidates import classifiers, our_models
from sidelight.side import MUST, sample_labels, sample_pairs


def separated(n=150, seed=0, spread=9.0):
    truth = np.arange(n) % 3
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + spread * np.eye(3)[truth], truth


class Fails(ClusterMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise RuntimeError("no luck\nat all")


QUICK = ["PCKMeans", KMeans(n_init=2)]


def test_the_number_of_classes_is_found_and_the_best_comes_first():
    X, truth = separated()
    side = sample_pairs(truth, 80, random_state=0)
    found = compare(X, side=side, models=QUICK, n_clusters=range(2, 7), random_state=0)
    assert found.choice.n_clusters == found.model.n_clusters == 3
    assert found.choice == found.rows[0]
    assert [row.remark for row in found.rows].count("chosen") == 1
    scores = [row.score for row in found.rows]
    assert scores == sorted(scores, reverse=True)
    assert {row.n_clusters for row in found.rows} == {2, 3, 4, 5, 6}
    assert [model.n_clusters for model in found.models] == [r.n_clusters for r in found.rows]
    assert found.estimate.share_right > 0.95
    assert {row.n_statements for row in found.rows} == {0, 80}


def test_a_line_is_what_cross_validation_gives_where_no_pair_is_cut():
    X, truth = separated(spread=2.0)
    pairs = np.random.default_rng(0).permutation(150)[:100].reshape(50, 2)  # no two share a row
    together = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    side = SideInformation.from_pairs(pairs[together], pairs[~together], n_samples=150)
    model = PCKMeans(3, n_init=2, random_state=0)
    found = compare(X, side=side, models=[model], n_clusters=3, random_state=7)
    alone = cross_validate_statements(model, X, side=side, random_state=7)
    assert alone.n_statements == 50
    assert found.choice.score == alone.score
    assert found.choice.standard_error == alone.score_error
    assert found.estimate.share_right == alone.share_right
    assert "only candidate" in found.reason


def test_a_pair_in_two_folds_counts_half_in_each_and_not_in_the_estimate():
    X, truth = separated(spread=1.5)
    side = sample_pairs(np.where(np.arange(150) < 40, truth, -1), 90, random_state=0)
    model = PCKMeans(3, n_init=2, random_state=0)
    clusters = KMeans(3, n_init=2, random_state=0)
    models = [model, clusters]
    found = compare(X, side=side, models=models, n_clusters=3, random_state=7)
    said, counts, n_inside = side.statements, np.zeros((2, 2)), 0
    must = said.kind == MUST
    rows, fold = SideKFold(5, random_state=7).folds(side)
    for k in range(5):
        ends = np.isin([said.i, said.j], rows[fold == k]).sum(axis=0)
        labels = model.fit(X, side=side.where(ends == 0)).labels_
        together = labels[said.i] == labels[said.j]
        np.add.at(counts, (must.astype(int), together.astype(int)), ends / 2)
        n_inside += (ends == 2).sum()
    score = {row.model: row.score for row in found.rows}
    apart_f, together_f = 2 * counts.diagonal() / (counts.sum(axis=0) + counts.sum(axis=1))
    assert score["PCKMeans"] == pytest.approx((apart_f + together_f) / 2)
    whole = statement_scores(clusters.fit_predict(X), side)  # all statements, once each
    assert score["KMeans"] == pytest.approx(whole.score)
    assert found.estimate.n_statements == n_inside < 90
    assert counts.sum() == 90


def test_differences_below_one_standard_error_are_ties_and_said():
    X, truth = separated(spread=1.0)
    side = sample_pairs(truth, 40, random_state=0)
    models = [KMeans(k, n_init=1, random_state=s) for k in (3, 4, 5, 6) for s in range(3)]
    found = compare(X, side=side, models=models, random_state=0)
    n_judged = found.estimate.n_statements
    for row in found.rows:
        told = "chosen" if row is found.choice else f"not decidable with {n_judged} statements"
        assert (told in row.remark) == (row.behind < 1)
        assert row.behind >= 0
    assert any(row.behind < 1 for row in found.rows[1:])
    assert "cannot tell apart" in found.reason
    text = found.in_words()
    assert found.reason in text
    assert found.estimate.in_words() in text
    assert "tie with" in text


class Given(ClusterMixin, BaseEstimator):
    """A partition that is there already."""

    def __init__(self, labels=None):
        self.labels = labels

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)
        return self


def test_of_ties_the_one_most_like_the_default_model_is_chosen():
    X, truth = separated()
    side = sample_pairs(np.where(np.arange(150) < 60, truth, -1), 40, random_state=0)
    free = np.setdiff1d(np.arange(150), side.annotated_rows)
    near, far = truth.copy(), truth.copy()
    near[free[:5]] = (near[free[:5]] + 1) % 3
    far[free[:60]] = (far[free[:60]] + 1) % 3
    for models in ([Given(far), Given(near)], [Given(near), Given(far)]):
        found = compare(X, side=side, models=models, random_state=0)
        assert {row.score for row in found.rows} == {1.0}
        assert np.array_equal(found.model.labels, near)


def test_ties_go_by_fits_that_have_not_seen_the_fold_and_only_ties_do():
    """Whatever the witness says, a candidate that is far behind is not chosen."""
    X, truth = separated()
    side = sample_pairs(truth, 100, random_state=0)
    other = np.random.default_rng(0).integers(3, size=150)
    models = [Given(truth), Given(other)]
    run = _compare._Run(X, side, 5, 0, None, None, None, None)
    run.add(_compare.with_numbers(models, [], side, 0))
    good, bad = run.entries
    chosen, behind = _compare.choose([good, bad], witness=bad)
    assert chosen is good
    assert behind[bad.order] > 1
    blind = run.witness(0)
    for fold, judged in enumerate(blind.judged):
        kept, held = run.masks[fold]
        assert not (kept & held).any()
        alone = DiscriminativeClustering(random_state=0).fit(X, side=side.where(kept))
        assert np.array_equal(alone.labels_[run.sample], judged.labels)


def test_equal_scores_go_to_fewer_clusters_then_to_the_first():
    X, truth = separated()
    y = np.where(np.arange(150) < 45, truth, -1)
    found = compare(X, y, models=[KMeans(n_init=2), "ConstrainedKMeans"], random_state=0)
    assert {row.score for row in found.rows} == {1.0}
    assert found.choice.model == "KMeans"


def test_the_shown_figure_is_not_that_of_the_luckiest_candidate():
    """Clusters of noise: the best of many does well by chance, and the nested figure does not."""
    best, shown, chance = [], [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, truth = rng.normal(size=(120, 6)), rng.integers(3, size=120)
        side = sample_pairs(truth, 40, random_state=seed)
        models = [KMeans(k, n_init=1, random_state=s) for k in (2, 3, 4) for s in range(8)]
        found = compare(X, side=side, models=models, random_state=seed)
        best.append(found.rows[0].score)
        shown.append(found.estimate.score)
        chance.append(np.mean([row.score for row in found.rows]))
    assert np.mean(best) > np.mean(chance) + 0.1
    assert np.mean(shown) < np.mean(chance) + 0.05


def test_all_statements_are_judged_where_nobody_uses_any():
    truth = np.arange(60) % 3
    X = np.random.default_rng(0).normal(size=(60, 2)) + 9.0 * np.eye(3)[truth, :2]
    side = sample_pairs(np.where(np.arange(60) < 20, truth, -1), 100, random_state=0)
    alone = compare(X, side=side, models=KMeans(n_init=2), n_clusters=[2, 3], random_state=0)
    beside = compare(X, side=side, models=QUICK, n_clusters=[2, 3], random_state=0)
    assert alone.estimate.n_statements == 100 > beside.estimate.n_statements


def test_by_default_our_models_clusterers_and_classifiers_take_part():
    X, truth = separated(60)
    y = np.where(np.arange(60) < 30, truth, -1)
    own = make_pipeline(StandardScaler(), PCKMeans(3, n_init=1, random_state=0))
    found = compare(X, y, models=["default", own], n_splits=2, random_state=0)
    names = {row.model for row in found.rows}
    assert {"LinearDiscriminantAnalysis", "SVC", "LogisticRegression"} <= names
    assert {"KMeans", "Ward", "GaussianMixture"} <= names
    assert {"DiscriminativeClustering", "SeededKMeans", "Pipeline"} <= names
    assert not any("failed" in row.remark for row in found.rows)
    assert {row.n_clusters for row in found.rows} >= {3}


def test_classifiers_need_labels_of_every_class():
    _, truth = separated(60)
    many, few = (sample_labels(truth, n, random_state=0) for n in (30, 6))
    assert len(classifiers(many, [3], 0)) == 4
    assert classifiers(few, [3], 0) == []
    assert classifiers(many, [4], 0) == []  # a class that nobody named


def test_too_few_pairs_choose_no_number_of_clusters():
    X, truth = separated()
    side = sample_pairs(truth, n_must=4, n_cannot=12, random_state=0)
    with pytest.raises(SideInformationError, match="4 must-links and 12.*Ask for 6 must-links"):
        compare(X, side=side, models=QUICK, n_clusters=[2, 3])
    found = compare(X, side=side, models=["StructuralEntropyTree", "PCKMeans"], random_state=0)
    assert [row.model for row in found.rows] == ["StructuralEntropyTree"]
    assert "K is not chosen" in found.notes[0]
    given = compare(X, side=side, models=QUICK, n_clusters=3, random_state=0)
    assert {row.n_clusters for row in given.rows} == {3}
    with pytest.raises(SidelightError, match="there are none"):
        compare(X, side=side, models=["PCKMeans"])


def test_labels_of_one_class_choose_none_either():
    X, truth = separated()
    one = np.where((truth == 0) & (np.arange(150) < 60), 0, -1)
    with pytest.raises(SideInformationError, match="0 cannot-links"):
        compare(X, one, models=QUICK, n_clusters=[2, 3])


def test_what_takes_part_by_default_can_be_named_as_in_the_table():
    X, truth = separated()
    side = sample_pairs(truth, 60, random_state=0)
    names = ["KMeans", "Ward", "GaussianMixture", "PCKMeans"]
    found = compare(X, side=side, models=names, n_clusters=3, random_state=0)
    assert sorted(row.model for row in found.rows) == sorted(names)
    assert {row.n_clusters for row in found.rows} == {3}
    known = compare(X, truth, models=["SVC", "SeededKMeans"], random_state=0)
    assert sorted(row.model for row in known.rows) == ["SVC", "SeededKMeans"]


def test_a_candidate_that_fails_is_said_and_the_others_go_on():
    X, truth = separated()
    side = sample_pairs(truth, 60, random_state=0)
    found = compare(X, side=side, models=[Fails(), *QUICK], n_clusters=3, random_state=0)
    assert found.rows[-1].remark == "failed: RuntimeError: no luck"
    assert np.isnan(found.rows[-1].score)
    with pytest.raises(SidelightError, match="no candidate could be judged.*no luck"):
        compare(X, side=side, models=[Fails()], n_clusters=3)


def test_the_time_limit_ends_it_with_what_there_is(monkeypatch):
    X, truth = separated()
    side = sample_pairs(truth, 60, random_state=0)
    clock = iter([0.0, *np.arange(1, 200)])
    monkeypatch.setattr(_compare.time, "monotonic", lambda: float(next(clock)))
    models = [KMeans(n_init=1), "PCKMeans"]
    found = compare(X, side=side, models=models, n_clusters=3, time_limit=3, random_state=0)
    assert [(row.model, row.remark) for row in found.rows] == [
        ("KMeans", "chosen"),
        ("PCKMeans", "not finished"),
    ]
    assert found.notes == ["The time was up before 1 of 2 candidates were judged."]
    assert "PCKMeans" not in found.in_words()


@pytest.mark.slow  # processes that import everything
def test_the_same_for_any_number_of_jobs():
    X, truth = separated(spread=2.0)
    side = sample_pairs(truth, 60, random_state=0)
    how = {"side": side, "models": QUICK, "n_clusters": [3, 4], "random_state": 0}
    one, two = (compare(X, **how, n_jobs=n) for n in (1, 2))
    plain = [[row._replace(seconds=0.0) for row in found.rows] for found in (one, two)]
    assert plain[0] == plain[1]
    assert one.estimate == two.estimate


@pytest.mark.parametrize("n_threads", [1, 2])  # with one joblib stays here, and so must the starts
def test_the_same_on_a_dask_client(n_threads):
    distributed = pytest.importorskip("distributed")
    X, truth = separated()
    side = sample_pairs(truth, 60, random_state=0)
    how = {"side": side, "models": ["PCKMeans", "KMeans"], "n_clusters": [2, 3], "random_state": 0}
    here = compare(X, **how)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=n_threads, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster):
        there = compare(X, **how)
    assert [row[:5] + row[6:] for row in there.rows] == [row[:5] + row[6:] for row in here.rows]


def test_progress_is_told_fit_by_fit():
    X, truth = separated(60)
    side = sample_pairs(truth, 40, random_state=0)
    told = []
    compare(
        X, side=side, models=QUICK, n_clusters=[3, 4], n_splits=2, random_state=0,
        progress=lambda *what: told.append(what),
    )  # fmt: skip
    # Two fits of KMeans, two folds of two models, and two of the model that ties go by.
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert told[-1][1] == 8
    assert told[0][2].startswith("KMeans, K=")


def test_contradictions_keep_out_models_that_cannot_live_with_them():
    _, truth = separated(90)
    right = sample_labels(truth, 30, annotators={"ann": 1.0}, random_state=0)
    rows = right.statements.i[:3]
    wrong = SideInformation.from_columns(
        "label", rows, n_samples=90, class_=(truth[rows] + 1) % 3, annotator="bob"
    )
    assert "ConstrainedKMeans" in our_models(right, 90)
    assert "ConstrainedKMeans" not in our_models(right + wrong, 90)
    assert "MarkovAggregation" not in our_models(right, 10_000)
    pairs = sample_pairs(truth, 10, random_state=0)
    assert "SeededKMeans" not in our_models(pairs, 90)
    names = our_models(pairs, 90)
    assert names.index("PCKMeans") < names.index("DiscriminativeClustering")


@pytest.mark.parametrize("n_clusters", [0, [], [2.5], [3, 1000]])
def test_impossible_numbers_are_refused(n_clusters):
    X, truth = separated()
    with pytest.raises(SidelightError, match="n_clusters is"):
        compare(X, truth, models=QUICK, n_clusters=n_clusters)


def test_what_is_no_model_is_refused():
    X, truth = separated()
    with pytest.raises(SidelightError, match="unknown model 'KMeanz'"):
        compare(X, truth, models=["KMeanz"])
    with pytest.raises(SidelightError, match="is not a model"):
        compare(X, truth, models=[3])
    with pytest.raises(SideInformationError, match="no statements to hold back"):
        compare(X)


# n_clusters="held-out"


def test_held_out_statements_choose_the_number_of_clusters():
    X, truth = separated()
    side = sample_pairs(truth, 80, random_state=0)
    model = PCKMeans("held-out", n_init=1, random_state=0).fit(X, side=side)
    assert model.n_clusters_ == 3
    assert model.get_params()["n_clusters"] == "held-out"
    assert model.result_.provenance["parameters"]["n_clusters"] == 3
    assert clone(model).fit(X, side=side).n_clusters_ == 3
    tree = StructuralEntropyTree(n_clusters="held-out", random_state=0).fit(X, side=side)
    assert tree.n_clusters_ == 3
    by_labels = PartitionLevelKMeans("held-out", n_init=1, random_state=0)
    assert by_labels.fit(X, np.where(np.arange(150) < 45, truth, -1)).n_clusters_ == 3


def test_numbers_that_statements_do_not_tell_apart_are_advised():
    X, truth = separated(90, spread=1.0)
    side = sample_pairs(truth, 40, random_state=0)
    number, doubt = held_out_number(PCKMeans(n_init=1, random_state=0), X, side=side)
    assert "cannot be excluded" in doubt
    model = PCKMeans("held-out", n_init=1, random_state=0).fit(X, side=side)
    assert model.n_clusters_ == number
    assert model.result_.advice == [doubt]


def test_too_few_statements_choose_no_number_and_other_words_are_refused():
    X, truth = separated()
    side = sample_pairs(truth, n_must=3, n_cannot=30, random_state=0)
    with pytest.raises(SideInformationError, match="Ask for 7 must-links more"):
        PCKMeans("held-out").fit(X, side=side)
    with pytest.raises(ValueError, match="n_clusters"):
        PCKMeans("heldout").fit(X, side=side)
    with pytest.raises(ValueError, match="max_iter"):
        PCKMeans("held-out", max_iter=-1).fit(X, side=sample_pairs(truth, 60, random_state=0))
