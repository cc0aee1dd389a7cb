"""Every model through scikit-learn's checks and ours, and through pipelines and searches."""

import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import ClassifierTags
from sklearn.utils.estimator_checks import (
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
    parametrize_with_checks,
)

from sidelight import (
    CVQE,
    LCVQE,
    AnnotatedGaussianMixture,
    BayesianMixture,
    ConsensusKMeans,
    ConstrainedKMeans,
    ConstrainedMeanShift,
    ConstrainedSpectral,
    ConstraintPropagation,
    COPKMeans,
    CrossEntropyClustering,
    DiscriminativeClustering,
    EquivalenceGaussianMixture,
    HGMeans,
    HMRFKMeans,
    LabelPropagationNMF,
    MarkovAggregation,
    MPCKMeans,
    PartialLabelFuzzyCMeans,
    PartialLabelGaussianMixture,
    PartitionLevelKMeans,
    PCKMeans,
    PropagatedSymmetricNMF,
    RelationSpectral,
    SeededKMeans,
    SelfSupervisedNMF,
    SemiMultiCons,
    SideInformation,
    SparsestCutTree,
    StructuralEntropyClustering,
    StructuralEntropyTree,
)
from sidelight.models import model_names
from sidelight.results import Verdict
from sidelight.testing import checks

MODELS = [
    # A short search: the checks are about the contract, and some fit 20,000 rows.
    AnnotatedGaussianMixture(3, n_init=3, n_generations=1),
    BayesianMixture(3),
    ConstrainedKMeans(3),
    DiscriminativeClustering(3),
    MarkovAggregation(3, n_init=2),
    SemiMultiCons(),
    ConstrainedMeanShift(),
    LabelPropagationNMF(3, n_init=2),
    SelfSupervisedNMF(3, n_members=3, n_rounds=2),
    PropagatedSymmetricNMF(3, n_init=2),
    SparsestCutTree(3),
    ConstrainedSpectral(3),
    RelationSpectral(3),
    PartitionLevelKMeans(3),
    SeededKMeans(3),
    StructuralEntropyClustering(3),
    StructuralEntropyTree(3),
    PCKMeans(3),
    COPKMeans(3),
    LCVQE(3),
    CVQE(3),
    MPCKMeans(3),
    HMRFKMeans(3),
    ConsensusKMeans(3, n_partitions=3),
    HGMeans(3, n_init=3, n_generations=2),
    ConstraintPropagation(3),
    CrossEntropyClustering(3, n_init=2),
    PartialLabelFuzzyCMeans(3, n_init=2),
    PartialLabelGaussianMixture(3, n_init=2),
    EquivalenceGaussianMixture(3, n_init=2),
]
# scikit-learn has no clusterer of its own with predict_proba for sparse X.
# `test_sparse_check_breaks_on_any_clusterer_with_probabilities` says when this can go.
_SPARSE = "it reads classifier_tags.multi_class of all that has predict_proba, clusterers too"
_CLASSES = "its y has more classes than clusters, and labels that hold need a cluster per class"
_WITH_MANY_CLASSES = (
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
)
_COPIES = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "a copy of a labelled row is in pairs of its own, and pairs are not weighed by rows",
)
_DRAWN = dict.fromkeys(_COPIES, "what it draws follows the order of the rows, which is shuffled")
_SPARSE_PROBABLE = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), _SPARSE
)
EXPECTED_FAILURES = {  # {model name: {check name: reason}}
    "ConsensusKMeans": _DRAWN,
    "COPKMeans": dict.fromkeys(_WITH_MANY_CLASSES, _CLASSES),
    "CVQE": _COPIES,
    "ConstrainedKMeans": dict.fromkeys(_WITH_MANY_CLASSES, _CLASSES),
    "BayesianMixture": _SPARSE_PROBABLE,
    "EquivalenceGaussianMixture": dict.fromkeys(_WITH_MANY_CLASSES, _CLASSES) | _SPARSE_PROBABLE,
    "ConstrainedMeanShift": {
        "check_clustering": "without cannot-links all rows are one cluster, which is the method's",
    },
    "LCVQE": _COPIES,
    "PartialLabelFuzzyCMeans": dict.fromkeys(_WITH_MANY_CLASSES, _CLASSES) | _SPARSE_PROBABLE,
    "PartialLabelGaussianMixture": dict.fromkeys(_WITH_MANY_CLASSES, _CLASSES) | _SPARSE_PROBABLE,
    "DiscriminativeClustering": _SPARSE_PROBABLE,
}


def test_every_public_model_is_checked():
    assert set(model_names()) == {type(model).__name__ for model in MODELS}


@parametrize_with_checks(
    MODELS, expected_failed_checks=lambda model: EXPECTED_FAILURES.get(type(model).__name__, {})
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_scikit_learns_contract(estimator, check):
    check(estimator)


class _SureKMeans(KMeans):
    """A clusterer of scikit-learn's own kind, with probabilities."""

    def predict_proba(self, X):
        return np.eye(self.n_clusters)[self.predict(X)]


def test_sparse_check_breaks_on_any_clusterer_with_probabilities():
    check_estimator_sparse_array("KMeans", KMeans(4))
    with pytest.raises(AssertionError) as failure:
        check_estimator_sparse_array("_SureKMeans", _SureKMeans(4))
    assert "'NoneType' object has no attribute 'multi_class'" in str(failure.value.__cause__)


@pytest.mark.parametrize("check", [check_estimator_sparse_array, check_estimator_sparse_matrix])
@pytest.mark.parametrize("model", [m for m in MODELS if m.gives_probabilities and m.takes_sparse])
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_sparse_check_passes_up_to_its_question_to_classifiers(model, check, monkeypatch):
    kind, seen = type(model), []
    probabilities = kind.predict_proba

    def watched(self, X):
        shares = probabilities(self, X)
        assert shares.shape == (X.shape[0], self.n_clusters_)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        seen.append(X.format)
        return np.empty((X.shape[0], 4))  # what the check expects of a classifier

    def as_classifier(self):
        tags = super(kind, self).__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()
        return tags

    monkeypatch.setattr(kind, "predict_proba", watched)
    monkeypatch.setattr(kind, "__sklearn_tags__", as_classifier)
    # Its y has four classes; a model that holds labels needs a cluster for each.
    enough = {"n_clusters": 4} if "n_clusters" in model.get_params() else {}
    check(kind.__name__, clone(model).set_params(**enough))
    assert {"csr", "csc", "coo"} <= set(seen)


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_our_contract(model, check):
    check(clone(model))


# A model that breaks the contract must be caught: each entry breaks one clause.


class _Rising(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        super().fit(X, y, side=side, sample_weight=sample_weight)
        self.history_ = self.history_[::-1]
        return self


class _Deaf(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        return super().fit(X)


class _OrderBound(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        if side is not None and side.n_statements:
            side = side[np.arange(len(X))].only(kind="label")
            first = side.statements.i[:1]
            X = X + 5.0 * np.isin(np.arange(len(X)), first)[:, None]
        return super().fit(X, y, side=side, sample_weight=sample_weight)


class _ClaimsToIgnore(PartitionLevelKMeans):
    repetition = "ignored"


class _ClaimsToRaise(PartitionLevelKMeans):
    contradictions = "raises"


class _OtherMap(PartitionLevelKMeans):
    """Judges labels by clusters that do not carry the names of their classes."""

    def fit(self, X, y=None, *, side=None, sample_weight=None):
        super().fit(X, y, side=side, sample_weight=sample_weight)
        result = self.result_
        clusters = result.verdict.clusters[:, ::-1]
        verdict = Verdict.of(result.side, self.labels_, clusters=clusters)
        self.result_ = replace(result, verdict=verdict)
        return self


class _OtherKept(PartitionLevelKMeans):
    """Says of every statement that it is kept."""

    def fit(self, X, y=None, *, side=None, sample_weight=None):
        super().fit(X, y, side=side, sample_weight=sample_weight)
        verdict = replace(self.result_.verdict, kept=np.ones_like(self.result_.verdict.kept))
        self.result_ = replace(self.result_, verdict=verdict)
        return self


class _Backwards(AnnotatedGaussianMixture):
    """Takes right statements for wrong ones."""

    def _publish(self, *args, error, accuracy):
        accuracy = {name: 1 - p for name, p in accuracy.items()}
        return super()._publish(*args, error=1 - error, accuracy=accuracy)


class _Silent(PartitionLevelKMeans):
    """Loses classes without a word."""

    def fit(self, X, y=None, *, side=None, sample_weight=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().fit(X, y, side=side, sample_weight=sample_weight)


class _ClaimsToFindK(PartitionLevelKMeans):
    finds_k = True


class _ClaimsToBeDense(PartitionLevelKMeans):
    takes_sparse = False


class _ClaimsToFindErrors(PartitionLevelKMeans):
    finds_errors = True


class _ClaimsProbabilities(PartitionLevelKMeans):
    gives_probabilities = True


class _Greedy(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        kinds = ["cannot", "label", "not_label", "unsure"]
        side = None if side is None else side.only(kind=kinds)
        return super().fit(X, y, side=side, sample_weight=sample_weight)


class _Careless(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        X -= X.mean(axis=0)
        return super().fit(X, y, side=side, sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (_Rising, "check_history"),
        (_Deaf, "check_attributes"),
        (_Deaf, "check_contradictions"),
        (_Deaf, "check_names_survive"),
        (_OrderBound, "check_order_and_repetition"),
        (_ClaimsToIgnore, "check_order_and_repetition"),
        (_ClaimsToRaise, "check_contradictions"),
        (_OtherMap, "check_verdict"),
        (_OtherKept, "check_verdict"),
        (_Backwards, "check_verdict"),
        (_Silent, "check_lost_classes"),
        (_ClaimsToFindK, "check_tags"),
        (_ClaimsToBeDense, "check_tags"),
        (_ClaimsToFindErrors, "check_tags"),
        (_ClaimsProbabilities, "check_tags"),
        (_Greedy, "check_unsupported_kinds"),
        (_Careless, "check_inputs_untouched"),
    ],
)
def test_broken_model_is_caught(model, check):
    broken = next(c for c in checks() if c.__name__ == check)
    with pytest.raises(AssertionError):
        broken(model(3))


# Routing


@pytest.fixture
def linked():
    """Rows, and cannot-links between neighbours that only make sense for the right rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 8.0 * (np.arange(60) % 3 == 0)[:, None]
    names = [f"r{i}" for i in range(60)]
    pairs = [(names[i], names[i + 2]) for i in range(0, 58, 2)]
    return X, SideInformation.from_pairs(cannot=pairs, index=names)


class _Witness(PartitionLevelKMeans):
    """Remembers the data and the statements of each fit."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None, *, side=None, sample_weight=None):
        _Witness.seen.append((np.array(X), side))
        return super().fit(X, y, side=side, sample_weight=sample_weight)


def expected_links(side, rows):
    kept = set(rows)
    return {(f"r{i}", f"r{j}") for i, j in side.cannot if i in kept and j in kept}


def links_by_name(side):
    return {(side.index[i], side.index[j]) for i, j in side.cannot}


def test_cross_validation_gives_each_fold_the_statements_about_its_rows(linked):
    X, side = linked
    _Witness.seen.clear()
    splitter = KFold(3, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        model = _Witness(2, random_state=0, n_init=1).set_fit_request(side=True)
        cross_validate(
            model, X, cv=splitter, params={"side": side}, scoring=lambda m, X, y=None: 0.0
        )
    assert len(_Witness.seen) == 3
    for (rows, _), (fold, said) in zip(splitter.split(X), _Witness.seen, strict=True):
        assert_array_equal(fold, X[rows])
        assert links_by_name(said) == expected_links(side, rows)


def test_search_over_a_pipeline_gives_each_fold_the_statements_about_its_rows(linked):
    X, side = linked
    _Witness.seen.clear()
    splitter = KFold(3)
    with config_context(enable_metadata_routing=True):
        model = _Witness(2, random_state=0, n_init=1).set_fit_request(side=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {"_witness__side_weight": [0.1, 10.0]},
            cv=splitter,
            scoring=lambda m, X, y=None: -m[-1].objective_,
        )
        search.fit(X, side=side)
    folds = [rows for _ in range(2) for rows, _ in splitter.split(X)]
    assert len(_Witness.seen) == len(folds) + 1
    for rows, (fold, said) in zip([*folds, np.arange(60)], _Witness.seen, strict=True):
        assert len(fold) == len(rows)
        assert links_by_name(said) == expected_links(side, rows)
        scaled = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)
        np.testing.assert_allclose(fold, scaled)
    assert search.best_estimator_[-1].result_.side.n_statements == side.n_statements


def test_pipeline_of_a_scaler_and_a_model_takes_side_information(linked):
    X, side = linked
    with config_context(enable_metadata_routing=True):
        model = PartitionLevelKMeans(2, random_state=0).set_fit_request(side=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, side=side)
    assert pipeline[-1].result_.side == side


# Frames, set_output, callbacks


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_go_in_and_distances_come_out_as_frames(backend):
    frames = pytest.importorskip(backend)
    X = np.random.default_rng(0).normal(size=(30, 2))
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = PartitionLevelKMeans(3, random_state=0).set_output(transform=backend)
    distances = model.fit(frame).transform(frame)
    names = [f"partitionlevelkmeans{k}" for k in range(3)]
    assert list(distances.columns) == names
    assert_array_equal(model.get_feature_names_out(), names)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert_array_equal(model.labels_, PartitionLevelKMeans(3, random_state=0).fit(X).labels_)
    nearest = np.asarray(distances).argmin(axis=1)
    assert_array_equal(nearest, model.labels_)


class _Counter:
    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.ended = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return self.stop_after is not None and context.task_name == "iteration"

    def teardown(self, estimator, context):
        pass


def test_callbacks_see_every_iteration_of_every_start():
    X = np.random.default_rng(0).normal(size=(100, 2))
    counter = _Counter()
    model = PartitionLevelKMeans(4, n_init=3, random_state=0).set_callbacks(counter).fit(X)
    assert counter.ended.count("start") == 3
    assert counter.ended.count("iteration") >= model.n_iter_ + 2
    assert counter.ended[-1] == "fit"


def test_callback_can_stop_a_start():
    X = np.random.default_rng(0).normal(size=(200, 2))
    counter = _Counter(stop_after=1)
    model = PartitionLevelKMeans(5, n_init=2, random_state=0).set_callbacks(counter).fit(X)
    assert model.n_iter_ == 1
    assert_array_equal(model.predict(X), model.labels_)


def test_progress_bar_of_scikit_learn_works(capsys):
    X = np.random.default_rng(0).normal(size=(50, 2))
    PartitionLevelKMeans(2, n_init=2, random_state=0).set_callbacks(ProgressBar()).fit(X)
