"""Row models on Dask arrays: what they find is what they find in memory."""

import pickle

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sidelight import (
    CVQE,
    LCVQE,
    AnnotatedGaussianMixture,
    BayesianMixture,
    ConstrainedKMeans,
    COPKMeans,
    EquivalenceGaussianMixture,
    HGMeans,
    HMRFKMeans,
    MarkovAggregation,
    MPCKMeans,
    PartialLabelFuzzyCMeans,
    PartialLabelGaussianMixture,
    PartitionLevelKMeans,
    PCKMeans,
    SeededKMeans,
    SideInformation,
    StructuralEntropyClustering,
    StructuralEntropyTree,
)
from sidelight.blocks import BLOCK_ROWS, is_dask
from sidelight.exceptions import DataError
from sidelight.side import usable_kinds

N = 3 * BLOCK_ROWS + 333


@pytest.fixture(scope="module")
def data():
    """Four groups, of which people name three, with some pairs; no ties."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=N)
    X = rng.normal(size=(N, 4))
    X[:, 0] += 3 * truth
    X[:, 1] += 2 * (truth % 2)
    some = rng.choice(N, size=300, replace=False)
    names = np.full(N, None)
    named = some[truth[some] < 3]
    names[named] = np.array(["a", "b", "c"])[truth[named]]
    pairs = rng.choice(N, size=(60, 2), replace=False)
    apart = truth[pairs[:, 0]] != truth[pairs[:, 1]]
    side = SideInformation.from_labels(names)
    side += SideInformation.from_pairs(cannot=pairs[apart], n_samples=N, annotator="bob")
    return X, side


MODELS = {
    "kmeans": PartitionLevelKMeans(4, n_init=2, random_state=0),
    "kmeans, random rows": PartitionLevelKMeans(4, init="random", n_init=1, random_state=0),
    "kmeans, k-means++": PartitionLevelKMeans(4, init="k-means++", n_init=1, random_state=0),
    "bayesian": BayesianMixture(6, n_init=1, tol=1e-4, random_state=0),
    "bayesian, diagonal": BayesianMixture(
        6, emission="gaussian_diag", potential="kl", n_init=1, tol=1e-4, random_state=0
    ),
}
MODELS["seeded"] = SeededKMeans(4, n_init=2, random_state=0)
MODELS["constrained"] = ConstrainedKMeans(4, n_init=2, random_state=0)
MODELS["pairwise"] = PCKMeans(4, n_init=2, random_state=0)
MODELS["all kept"] = COPKMeans(4, n_init=2, random_state=0)
MODELS["metric"] = MPCKMeans(4, n_init=2, random_state=0)
MODELS["metric of each cluster"] = MPCKMeans(4, per_cluster=True, n_init=1, random_state=0)
MODELS["field"] = HMRFKMeans(4, learn_metric=True, n_init=1, random_state=0)
MODELS["field, cosine"] = HMRFKMeans(4, distortion="cosine", n_init=1, random_state=0)
MODELS["violated rows"] = LCVQE(4, n_init=2, random_state=0)
MODELS["violated centres"] = CVQE(4, n_init=1, random_state=0)
MODELS["population"] = HGMeans(4, n_init=2, n_generations=1, random_state=0)
MODELS["labels held"] = PartialLabelGaussianMixture(4, n_init=2, random_state=0)
MODELS["labels held, diagonal"] = PartialLabelGaussianMixture(
    4, covariance_type="diag", n_init=1, random_state=0
)
MODELS["fuzzy"] = PartialLabelFuzzyCMeans(4, n_init=1, random_state=0)
MODELS["equivalence"] = EquivalenceGaussianMixture(4, n_init=1, random_state=0)
MODELS["annotated"] = AnnotatedGaussianMixture(4, n_init=2, n_generations=1, random_state=0)
MODELS["annotated, diagonal blocks"] = AnnotatedGaussianMixture(
    4, annotation_model="sbm", covariance_type="diag", n_init=1, n_generations=0, random_state=0
)
PARAMETERS = (
    "cluster_centers_",
    "class_profiles_",
    "weights_",
    "means_",
    "covariances_",
    "variances_",
    "statement_error_",
    "population_scores_",
    "metrics_",
    "column_weights_",
)
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def fitted(model, X, side):
    from sklearn.base import clone

    side = side if side is None else side.only(kind=usable_kinds(model.accepts))
    return clone(model).fit(X, side=side)


def found(model):
    """What a fit leaves that is neither lazy nor a name."""
    learned = {name: getattr(model, name) for name in PARAMETERS if hasattr(model, name)}
    return {**learned, "objective": model.objective_, "history": model.history_}


@EACH
def test_chunks_of_whole_blocks_give_the_same_bits(model, data):
    X, side = data
    expected = fitted(model, X, side)
    other = fitted(model, da.from_array(X, chunks=(2 * BLOCK_ROWS, 4)), side)
    for name, value in found(expected).items():
        assert np.asarray(value).tobytes() == np.asarray(found(other)[name]).tobytes(), name
    assert is_dask(other.labels_)
    assert_array_equal(other.labels_.compute(), expected.labels_)
    assert_array_equal(other.cluster_names_, expected.cluster_names_)
    assert_array_equal(other.result_.violated, expected.result_.violated)
    assert_array_equal(other.result_.sizes, expected.result_.sizes)
    assert other.n_iter_ == expected.n_iter_


@EACH
def test_other_chunks_give_the_same_objective_and_labels(model, data):
    X, side = data
    expected = fitted(model, X, side)
    other = fitted(model, da.from_array(X, chunks=(10_007, 4)), side)
    assert_allclose(other.objective_, expected.objective_, rtol=1e-9)
    assert_array_equal(other.labels_.compute(), expected.labels_)


@EACH
def test_methods_are_lazy_on_dask_and_give_the_same(model, data):
    X, side = data
    model = fitted(model, X, side)
    lazy = da.from_array(X[:5000], chunks=(1500, 4))
    for method in ("predict", "predict_proba", "transform", "score_samples"):
        if not hasattr(model, method):
            continue
        expected = getattr(model, method)(X[:5000])
        given = getattr(model, method)(lazy)
        assert is_dask(given)
        assert given.chunks[0] == lazy.chunks[0]
        assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
        assert_allclose(given.compute(), expected, rtol=1e-12)


def test_prediction_takes_chunks_of_unknown_size(data):
    X, side = data
    model = fitted(MODELS["kmeans"], X, side)
    lazy = da.from_array(X[:5000], chunks=(1500, 4))
    kept = lazy[lazy[:, 0] > 0]
    assert_array_equal(model.predict(kept).compute(), model.predict(X[:5000][X[:5000, 0] > 0]))


@EACH
def test_a_stored_model_has_its_labels(model, data):
    X, side = data
    model = fitted(model, da.from_array(X, chunks=(2 * BLOCK_ROWS, 4)), side)
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again.labels_, np.ndarray)
    assert again.result_.labels is again.labels_
    assert_array_equal(again.labels_, model.labels_.compute())
    assert is_dask(model.labels_)


def test_a_result_on_dask_has_names_and_a_report(data, tmp_path):
    X, side = data
    result = fitted(MODELS["kmeans"], da.from_array(X, chunks=(2 * BLOCK_ROWS, 4)), side).result_
    assert is_dask(result.names)
    gathered = result.gathered()
    assert_array_equal(result.names.compute(), gathered.names)
    assert gathered.gathered() is gathered
    assert result.report(tmp_path / "report.html", pictures=False)["n_rows"] == N


def test_weights_and_given_starts_travel_to_their_rows(data):
    X, side = data
    rng = np.random.default_rng(1)
    weight = rng.integers(3, size=N)
    chunked = da.from_array(X, chunks=(BLOCK_ROWS, 4))
    for init in (rng.integers(-1, 4, size=N), X[[1, 2, 3]], fitted(MODELS["kmeans"], X, side)):
        model = PartitionLevelKMeans(4, init=init, random_state=0)
        expected = model.fit(X, side=side, sample_weight=weight).cluster_centers_
        assert_array_equal(
            model.fit(chunked, side=side, sample_weight=weight).cluster_centers_, expected
        )


def test_empty_clusters_are_filled_and_missing_ones_told_as_in_memory():
    X = np.repeat(np.array([[0.0], [0.1], [9.0]]), BLOCK_ROWS, axis=0)
    chunked = da.from_array(X, chunks=(BLOCK_ROWS, 1))
    far = np.array([[0.0], [100.0], [101.0]])
    expected = PartitionLevelKMeans(3, init=far).fit(X)
    assert_array_equal(PartitionLevelKMeans(3, init=far).fit(chunked).labels_, expected.labels_)
    assert len(np.unique(expected.labels_)) == 3
    with pytest.warns(UserWarning, match="found 3 clusters where 5 were asked for"):
        few = PartitionLevelKMeans(5, random_state=0, n_init=1).fit(chunked)
    assert few.n_clusters_ == 3


def test_bayesian_mixture_begins_where_it_is_told(data):
    X, side = data
    chunked = da.from_array(X, chunks=(BLOCK_ROWS, 4))
    labels = np.random.default_rng(0).integers(-1, 4, size=N)
    for init in (labels, fitted(MODELS["bayesian"], X, side)):
        model = BayesianMixture(6, init=init, max_iter=3, tol=1.0)
        expected = model.fit(X, side=side).means_
        assert_array_equal(model.fit(chunked, side=side).means_, expected)


def test_sparse_chunks_give_the_same_bits_as_a_sparse_matrix(data):
    X, side = data
    X = np.where(X > 0.5, X, 0.0)
    expected = fitted(MODELS["kmeans"], sparse.csr_array(X), side)
    chunked = da.from_array(X, chunks=(BLOCK_ROWS, 4)).map_blocks(sparse.csr_array)
    other = fitted(MODELS["kmeans"], chunked, side)
    assert_array_equal(other.cluster_centers_, expected.cluster_centers_)


# Bad input


@EACH
def test_a_value_that_is_no_number_is_named_with_its_chunk(model, data):
    X, side = data
    X = X.copy()
    X[[BLOCK_ROWS + 5, BLOCK_ROWS + 9], 2] = np.nan, np.inf
    chunked = da.from_array(X, chunks=(BLOCK_ROWS, 4))
    rows = f"row {BLOCK_ROWS + 5}, {BLOCK_ROWS + 9} .*chunk 1 of X"
    with pytest.raises(DataError, match=rows):
        fitted(model, chunked, side)


def test_chunks_have_to_be_known_and_rows_whole(data):
    X, side = data
    chunked = da.from_array(X, chunks=(BLOCK_ROWS, 4))
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        fitted(MODELS["kmeans"], chunked[chunked[:, 0] > 0], None)
    with pytest.raises(DataError, match="rechunk"):
        fitted(MODELS["kmeans"], chunked.rechunk((BLOCK_ROWS, 2)), side)
    with pytest.raises(ValueError, match="4 features"):
        fitted(MODELS["kmeans"], chunked, side).predict(chunked[:, :3])


@pytest.mark.parametrize(
    "model", [StructuralEntropyClustering(3), StructuralEntropyTree(3), MarkovAggregation(3)]
)
def test_graph_models_say_what_to_do_instead(model, data):
    with pytest.raises(DataError, match="Condense the rows first.*cluster_centers_"):
        model.fit(da.from_array(data[0], chunks=(BLOCK_ROWS, 4)))


def test_a_batch_of_a_stream_is_in_memory(data):
    with pytest.raises(DataError, match="partial_fit takes a batch in the memory"):
        BayesianMixture(3).partial_fit(da.from_array(data[0], chunks=(BLOCK_ROWS, 4)))
