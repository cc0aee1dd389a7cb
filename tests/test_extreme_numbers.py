"""Numbers that overflow are refused by every model in one sentence; large ones are no trouble."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from oracles import partition_level_objective
from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    MarkovAggregation,
    PartitionLevelKMeans,
    PCKMeans,
    SeededKMeans,
    SideInformation,
    StructuralEntropyClustering,
    StructuralEntropyTree,
)
from sidelight._validation import LARGEST, LARGEST_WEIGHT
from sidelight.exceptions import DataError, SideInformationError
from sidelight.models import model_names
from small_models import with_clusters

MODELS = [
    AnnotatedGaussianMixture(2, n_init=2, n_generations=1, random_state=0),
    BayesianMixture(2, random_state=0),
    MarkovAggregation(2, n_init=2, random_state=0),
    PartitionLevelKMeans(2, random_state=0),
    StructuralEntropyClustering(2, must_first=True, random_state=0),
    StructuralEntropyTree(2, random_state=0),
]
ALL = [
    *MODELS,
    *(
        with_clusters(name, 2)
        for name in model_names()
        if name not in {type(model).__name__ for model in MODELS}
    ),
]
all_models = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)) + 8.0 * (np.arange(40) % 2)[:, None]


@all_models
@pytest.mark.parametrize("value", [1e154, -1e160, 1e300])
def test_values_whose_squared_distances_overflow_are_refused_by_row(model, X, value):
    X[[3, 7], 1] = value
    for data in (X, sparse.csr_array(X)) if model.takes_sparse else (X,):
        with pytest.raises(DataError, match=r"X holds -?1e\+\d+ in row 3, 7; .*at most 1e\+130"):
            clone(model).fit(data)


@all_models
def test_float32_has_no_value_that_is_too_large_but_infinity(model, X):
    large = (X / np.abs(X).max()).astype(np.float32) * np.float32(3e38)
    fitted = clone(model).fit(large)
    assert np.isfinite(fitted.objective_)
    np.testing.assert_array_equal(fitted.labels_, clone(model).fit(X).labels_)
    large[4] = np.inf
    with pytest.raises(DataError, match=r"NaN or infinity in row 4"):
        clone(model).fit(large)


@all_models
def test_new_rows_are_held_to_the_same_limit(model, X):
    fitted = clone(model).fit(X)
    with pytest.raises(DataError, match=r"X holds 1e\+200 in row 0"):
        fitted.predict(np.full((1, 3), 1e200))


@every_model
def test_a_row_is_named_by_its_id(model, X):
    X[2] = 1e200
    side = SideInformation.empty(40, index=[f"r{k}" for k in range(40)])
    with pytest.raises(DataError, match=r"X holds 1e\+200 in row r2"):
        clone(model).fit(X, side=side)


@pytest.mark.parametrize(
    "model",
    [
        StructuralEntropyClustering(2, affinity="precomputed"),
        StructuralEntropyTree(2, affinity="precomputed"),
        MarkovAggregation(2, chain="similarity"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_similarities_whose_sums_overflow_are_refused(model, X):
    S = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.raises(DataError, match=r"X holds .*e\+\d+ in row 0.*at most 1e\+130"):
        clone(model).fit(S * 1e300)


def test_a_dask_array_is_held_to_the_same_limit(X):
    da = pytest.importorskip("dask.array")
    X[5] = 1e200
    with pytest.raises(DataError, match=r"X holds 1e\+200 in row 5 \(first in chunk 0 of X\)"):
        PartitionLevelKMeans(2).fit(da.from_array(X, chunks=(20, 3)))


@every_model
def test_the_largest_values_are_clustered(model, X):
    plain = clone(model).fit(X)
    large = clone(model).fit(X / np.abs(X).max() * LARGEST)
    assert np.isfinite(large.objective_)
    assert np.isfinite(large.history_).all()
    np.testing.assert_array_equal(large.labels_, plain.labels_)


@every_model
@pytest.mark.parametrize("weight", [1e150, 1e300])
def test_weights_whose_sums_overflow_are_refused_by_statement(model, X, weight):
    side = SideInformation.from_columns(
        "label", [0, 1, 2], class_=["a", "b", "a"], weight=[1.0, weight, 1.0], n_samples=40
    )
    with pytest.raises(SideInformationError, match=r"weights .* sum of 1e\+\d+.*1e\+30.*1 is 'b'"):
        clone(model).fit(X, side=side)


@pytest.mark.parametrize(
    "model", [m for m in MODELS if hasattr(m, "side_weight")], ids=lambda m: type(m).__name__
)
def test_a_side_weight_that_overflows_is_refused(model, X):
    side = SideInformation.from_columns("label", [0, 1], class_=["a", "b"], n_samples=40)
    with pytest.raises(SideInformationError, match=r"side_weight.*at most 1e\+30"):
        clone(model).set_params(side_weight=1e200).fit(X, side=side)


def test_sample_weights_are_held_to_the_limit_of_weights(X):
    with pytest.raises(DataError, match=r"sample_weight.*at most 1e\+30"):
        PartitionLevelKMeans(2).fit(X, sample_weight=np.full(40, 1e150))
    PartitionLevelKMeans(2).fit(X, sample_weight=np.full(40, LARGEST_WEIGHT / 40))


@pytest.mark.parametrize(
    "exponents",
    [(-15, 15), (-300, -280), (-29, 28)],
    ids=lambda pair: f"1e{pair[0]} to 1e{pair[1]}",
)
@pytest.mark.parametrize("kind", [PartitionLevelKMeans, SeededKMeans, PCKMeans])
def test_row_weights_of_any_range_keep_the_contract(kind, X, exponents):
    weight = 10.0 ** np.random.default_rng(2).uniform(*exponents, size=40)
    model = kind(2, random_state=0).fit(X, sample_weight=weight)
    assert (np.diff(model.history_) <= 0).all()
    distance2 = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    half = 0.5 if kind is PCKMeans else 1.0  # as its paper has it
    np.testing.assert_allclose(model.objective_, half * (weight @ distance2), rtol=1e-9)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert np.unique(model.labels_).tolist() == [0, 1]


def mixed_weights(model, n_samples):
    """Statements of every kind that a model takes, some against the data, of weights 1 to 1e15."""
    rng = np.random.default_rng(1)
    kinds = [kind for kind in ("label", "not_label", "cannot", "must") if kind in model.accepts]
    said = [kinds[k % len(kinds)] for k in range(60)]
    return SideInformation.from_columns(
        said,
        rng.integers(n_samples, size=60),
        [int(rng.integers(n_samples)) if kind in ("must", "cannot") else None for kind in said],
        class_=[None if kind in ("must", "cannot") else "ab"[rng.integers(2)] for kind in said],
        weight=rng.choice([1.0, 0.3, 1e6, 1e9, 1e12, 1e15], size=60),
        n_samples=n_samples,
        self_pairs="drop",
    )


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
@every_model
def test_large_weights_beside_small_ones_keep_the_contract(model, X):
    fitted = clone(model).fit(X, side=mixed_weights(model, len(X)))
    steps = np.diff(fitted.history_) * (1 if model.objective_sense == "max" else -1)
    assert (steps >= 0).all()
    np.testing.assert_allclose(fitted.history_[-1], fitted.objective_, rtol=1e-9)
    assert fitted.n_clusters_ == 2
    assert np.unique(fitted.labels_).tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
@pytest.mark.parametrize("seed", range(10))
def test_two_statements_of_weight_1e15_leave_the_others_in_j(seed):
    rng = np.random.default_rng(seed)
    X = np.floor(rng.random((60, 1)) * 3)
    side = SideInformation.from_columns(
        "label",
        rng.integers(60, size=40),
        class_=["abc"[k] for k in rng.integers(3, size=40)],
        weight=np.append(rng.choice([1.0, 0.3, 0.7], size=38), [1e15, 1e15]),
        n_samples=60,
    )
    model = PartitionLevelKMeans(2, random_state=0).fit(X, side=side)
    expected = partition_level_objective(X, model.labels_, side, model.side_weight_)
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-9)
    np.testing.assert_allclose(model.history_[-1], expected, rtol=1e-9)
