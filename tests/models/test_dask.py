"""Models on Dask arrays: what they find is what they find in memory, or near it."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sidelight import (
    CVQE,
    LCVQE,
    AnnotatedGaussianMixture,
    BayesianMixture,
    ConstrainedKMeans,
    ConstrainedSpectral,
    ConstraintPropagation,
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


# Graph models: representatives

GRAPHS = {
    "entropy": StructuralEntropyClustering(4, random_state=0),
    "markov": MarkovAggregation(4, random_state=0),
    "markov, soft": MarkovAggregation(4, constraints="soft", n_init=1, random_state=0),
    "propagation": ConstraintPropagation(4, random_state=0),
    "scaled": StructuralEntropyClustering(4, scaling="z-score", random_state=0),
    "scaled to [0, 1]": StructuralEntropyClustering(4, scaling="min-max", random_state=0),
    "metric": ConstraintPropagation(4, metric="statements", scaling="z-score", random_state=0),
}
EACH_GRAPH = pytest.mark.parametrize("model", GRAPHS.values(), ids=GRAPHS)
CELLS = 600


@pytest.fixture(scope="module")
def groups():
    """Four groups apart, names of three, pairs of which one is wrong: 20,000 rows."""
    rng = np.random.default_rng(0)
    n = 20_000
    truth = rng.integers(4, size=n)
    X = rng.normal(size=(n, 5)) + 9 * rng.normal(size=(4, 5))[truth]
    some = rng.choice(n, size=200, replace=False)
    names = np.full(n, None)
    named = some[truth[some] < 3]
    names[named] = np.array(["a", "b", "c"])[truth[named]]
    pairs = rng.choice(n, size=(60, 2), replace=False)
    apart = truth[pairs[:, 0]] != truth[pairs[:, 1]]
    apart[np.flatnonzero(~apart)[0]] = True  # the wrong one
    side = SideInformation.from_labels(names)
    side += SideInformation.from_pairs(cannot=pairs[apart], n_samples=n, annotator="bob")
    return X, truth, side


def condensed(n_cells=CELLS):
    return dask.config.set({"sidelight.representatives": n_cells, "scheduler": "synchronous"})


@EACH_GRAPH
def test_where_the_representatives_are_the_rows_the_answer_is_that_of_memory(model, groups):
    X, _, side = groups
    X, side = X[:3000], side[:3000]
    expected = clone(model).fit(X, side=side)
    other = clone(model).fit(da.from_array(X, chunks=(700, 5)), side=side)
    assert is_dask(other.labels_)
    assert_array_equal(other.labels_.compute(), expected.labels_)
    assert_array_equal(other.cluster_names_, expected.cluster_names_)
    assert_array_equal(other.result_.violated, expected.result_.violated)
    assert_allclose(other.objective_, expected.objective_, rtol=1e-9)
    lazy = other.predict(da.from_array(X[:100], chunks=(40, 5)))
    assert is_dask(lazy)
    assert_array_equal(lazy.compute(), expected.predict(X[:100]))


@EACH_GRAPH
def test_condensed_rows_get_the_clusters_of_memory(model, groups):
    X, truth, side = groups
    expected = clone(model).fit(X, side=side)
    with condensed():
        other = clone(model).fit(da.from_array(X, chunks=(7000, 5)), side=side)
        labels = other.labels_.compute()
    free = np.setdiff1d(np.arange(len(X)), side.annotated_rows)
    assert other.result_.provenance["representatives"] <= CELLS + len(side.annotated_rows)
    assert other.labels_.chunks == ((7000, 7000, 6000),)
    score, before = (adjusted_rand_score(truth[free], found[free])
                     for found in (labels, expected.labels_))  # fmt: skip
    assert abs(score - before) < 0.01
    assert score > 0.95
    assert_array_equal(other.cluster_names_, expected.cluster_names_)


@EACH_GRAPH
def test_the_verdict_is_about_the_labels_of_the_rows(model, groups):
    X, _, side = groups
    with condensed():
        model = clone(model).fit(da.from_array(X, chunks=(7000, 5)), side=side)
        gathered = model.result_.gathered()
    assert_array_equal(gathered.side.annotated_rows, side.annotated_rows)
    i, j = side.cannot.T
    broken = (gathered.labels[i] == gathered.labels[j]).sum()
    is_cannot = side.statements.kind == side.statements.kind[-1]
    assert model.result_.violated[is_cannot].sum() == broken
    if model.weight_unit == "a probability" and model.constraints == "hard":
        assert not broken  # also the wrong one: no cost outweighs it


@EACH_GRAPH
def test_chunks_do_not_change_condensed_rows(model, groups):
    X, _, side = groups
    with condensed():
        one = clone(model).fit(da.from_array(X, chunks=(20_000, 5)), side=side)
        other = clone(model).fit(da.from_array(X, chunks=(3333, 5)), side=side)
        assert_allclose(other.objective_, one.objective_, rtol=1e-9)
        assert_array_equal(other.labels_.compute(), one.labels_.compute())


def test_labels_of_condensed_rows_are_computed_when_asked_for(groups, monkeypatch):
    X, _, side = groups
    asked = []
    predict = StructuralEntropyClustering._predict_rows
    monkeypatch.setattr(
        StructuralEntropyClustering,
        "_predict_rows",
        lambda self, X: asked.append(len(X)) or predict(self, X),
    )
    with condensed():
        chunked = da.from_array(X, chunks=(7000, 5))
        model = StructuralEntropyClustering(random_state=0).fit(chunked, side=side)
        assert asked == []
        assert len(model.labels_[:5].compute()) == 5
        assert asked == [7000]


def test_a_stored_condensed_model_predicts_and_starts_another(groups, tmp_path):
    X, _, side = groups
    with condensed():
        chunked = da.from_array(X, chunks=(7000, 5))
        model = ConstraintPropagation(4, random_state=0).fit(chunked, side=side)
        labels = model.labels_.compute()
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.labels_, labels)
        assert_array_equal(again.predict(X[:50]), model.predict(X[:50]))
        warm = ConstraintPropagation(4, init=again, random_state=0).fit(chunked, side=side)
        assert adjusted_rand_score(labels, warm.labels_.compute()) > 0.99
        with pytest.raises(DataError, match="give a fitted model as init"):
            ConstraintPropagation(4, init=labels).fit(chunked, side=side)


def test_what_cannot_be_condensed_is_refused(groups):
    chunked = da.from_array(groups[0], chunks=(7000, 5))
    for scaling in (None, "z-score", "min-max"):
        with condensed(), pytest.raises(DataError, match="chunks of X are sparse"):
            StructuralEntropyClustering(scaling=scaling).fit(chunked.map_blocks(sparse.csr_array))
    with pytest.raises(DataError, match="similarities of all rows"):
        StructuralEntropyClustering(affinity="precomputed").fit(chunked)
    with pytest.raises(DataError, match="matrix of all states"):
        MarkovAggregation(3, chain="similarity").fit(chunked)


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


@pytest.mark.parametrize("model", [StructuralEntropyTree(3), ConstrainedSpectral(3)])
def test_models_of_all_rows_say_what_to_do_instead(model, data):
    with pytest.raises(DataError, match="Condense the rows first.*cluster_centers_"):
        model.fit(da.from_array(data[0], chunks=(BLOCK_ROWS, 4)))


def test_a_batch_of_a_stream_is_in_memory(data):
    with pytest.raises(DataError, match="partial_fit takes a batch in the memory"):
        BayesianMixture(3).partial_fit(da.from_array(data[0], chunks=(BLOCK_ROWS, 4)))
