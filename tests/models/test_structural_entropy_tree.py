"""StructuralEntropyTree: the paper's base line, what the tree holds, bad input."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.datasets import load_wine, make_blobs

import oracles_structural_entropy
import oracles_tree as oracle
from sidelight import SideInformation, StructuralEntropyClustering, StructuralEntropyTree
from sidelight.datasets import load
from sidelight.datasets import make_blobs as overlapping_blobs
from sidelight.exceptions import DataError
from sidelight.metrics import adjusted_rand, dendrogram_purity, normalized_mutual_info
from sidelight.side import CANNOT, sample_labels, sample_pairs


def blobs(n=120, seed=0, centers=4):
    return make_blobs(n, centers=centers, cluster_std=1.0, n_features=5, random_state=seed)


def overlapping(n):
    """Ten Gaussians that overlap, and right statements about n/10 pairs."""
    sample = overlapping_blobs(n, 16, 10, separation=4.0, random_state=0)
    return sample.X, sample.y, sample_pairs(sample.y, n // 10, random_state=1)


def test_right_pairs_do_not_leave_clusters_of_a_few_rows():
    X, y, side = overlapping(5_000)
    for n_neighbors, least in ((5, 0.48), ("auto", 0.54)):
        model = StructuralEntropyTree(10, n_neighbors=n_neighbors, random_state=0)
        labels = model.fit_predict(X, side=side)
        # With a price that left no large clusters, two of ten had 12 and 11 rows, and ARI was .467.
        assert np.bincount(labels).min() >= 100
        assert adjusted_rand(y, labels) > least


@pytest.mark.parametrize(
    ("n", "expected"), [(2, 5), (1_000, 5), (2_000, 7), (4_000, 9), (32_000, 15), (10**9, 15)]
)
def test_large_graphs_have_more_neighbours(n, expected):
    assert StructuralEntropyTree()._n_neighbors(n, 3) == expected
    assert StructuralEntropyTree(n_neighbors=8)._n_neighbors(n, 3) == 8
    assert StructuralEntropyTree.as_published()._n_neighbors(n, 3) == 5


def scores(model, y):
    found = (
        dendrogram_purity(model.binary_tree_, y),
        adjusted_rand(y, model.labels_),
        normalized_mutual_info(y, model.labels_),
    )
    return [f"{100 * value:.2f}" for value in found]


def test_the_unsupervised_tree_of_wine_is_that_of_the_paper():
    data = load("wine", "sse")
    model = StructuralEntropyTree.as_published().fit(data.X)
    assert scores(model, data.y) == ["84.87", "73.85", "74.19"]


@pytest.mark.parametrize(
    ("name", "variant", "printed"),
    [
        ("heart", "sse", ["61.97", "7.70", "21.30"]),
        ("breast_libsvm", None, ["95.75", "88.00", "80.93"]),
        ("australian", "sse", ["57.02", "1.95", "8.03"]),
    ],
)
def test_unsupervised_trees_are_those_of_the_paper(name, variant, printed, shared_data):
    data = load(name, variant, data_home=shared_data)
    model = StructuralEntropyTree.as_published().fit(data.X)
    assert scores(model, data.y) == printed


@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("n_clusters", [None, 3])
def test_clusters_do_not_swing_with_the_statements(n_clusters, share):
    data = load("wine", "sse")
    found = []
    for draw in range(5):
        side = sample_pairs(data.y, n_must=share, n_cannot=share, random_state=draw)
        model = StructuralEntropyTree(n_clusters, random_state=0).fit(data.X, side=side)
        found.append(adjusted_rand(data.y, model.labels_))
        assert model.n_clusters_ == 3
    assert np.std(found) < 0.06
    assert min(found) > {0.2: 0.75, 0.6: 0.9, 1.0: 0.95}[share]


@pytest.mark.parametrize(("share", "lowest"), [(0.2, 0.75), (1.0, 0.95)])
def test_clusters_of_breast_cancer_are_found_and_none_is_a_single_row(share, lowest, shared_data):
    data = load("breast_libsvm", data_home=shared_data)
    for draw in range(3):
        side = sample_pairs(data.y, n_must=share, n_cannot=share, random_state=draw)
        model = StructuralEntropyTree(random_state=0).fit(data.X, side=side)
        assert np.bincount(model.labels_).min() > 1
        assert adjusted_rand(data.y, model.labels_) > lowest


@pytest.mark.parametrize("n_clusters", [None, 4])
def test_what_belongs_together_is_a_node_and_stays_in_one_cluster_where_that_is_possible(
    n_clusters,
):
    X, y = blobs()
    side = sample_pairs(y, n_must=60, n_cannot=60, random_state=1)
    model = StructuralEntropyTree(n_clusters, random_state=0).fit(X, side=side)
    nodes = {frozenset(s) for s in oracle.leaves_under(model.binary_tree_.parent, len(X))}
    groups = np.asarray(side.groups())
    for group in range(groups.max() + 1):
        rows = np.flatnonzero(groups == group)
        assert frozenset(rows) in nodes
        assert len(np.unique(model.labels_[rows])) == 1
    said = side.statements
    assert (model.labels_[said.i] != model.labels_[said.j])[said.kind == CANNOT].all()


def test_statements_that_weigh_nothing_change_nothing():
    X, y = blobs()
    side = sample_pairs(y, n_must=60, n_cannot=60, random_state=1)
    plain = StructuralEntropyTree(random_state=0).fit(X)
    model = StructuralEntropyTree(side_weight=0.0, random_state=0).fit(X, side=side)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.binary_tree_.parent, plain.binary_tree_.parent)


def test_one_wrong_must_link_does_not_join_two_clusters():
    X, y = blobs()
    side = sample_pairs(y, n_must=60, n_cannot=60, random_state=1)
    far = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    wrong = side + SideInformation.from_pairs(must=[far], n_samples=len(X))
    model = StructuralEntropyTree(random_state=0).fit(X, side=wrong)
    assert adjusted_rand(y, model.labels_) > 0.95


@pytest.mark.parametrize("mode", ["published", "mean", "default", "not refined", "given", "tall"])
@pytest.mark.parametrize("seed", range(3))
def test_the_objectives_are_those_of_the_definition(seed, mode):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3))
    side = sample_pairs(rng.integers(3, size=24), n_must=6, n_cannot=6, random_state=seed)
    model = {
        "published": StructuralEntropyTree.as_published(),
        "mean": StructuralEntropyTree(entailed="mean"),
        "default": StructuralEntropyTree(price=0.3),
        "not refined": StructuralEntropyTree(price=0.3, refine=False),
        "given": StructuralEntropyTree(5),
        "tall": StructuralEntropyTree(3, height=5),
    }[mode].fit(X, side=side)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    cosine = Z @ Z.T
    off = ~np.eye(24, dtype=bool)
    W = model.graph_.toarray()
    np.testing.assert_allclose(W[W > 0], cosine[W > 0], atol=1e-12)
    strengths = (side, cosine, W.max(), cosine[off].min(), 2.0)
    if mode in ("published", "mean"):
        R = oracles_structural_entropy.relation(*strengths, each=mode == "published")
    else:
        R = oracles_structural_entropy.stated_relation(*strengths)
    loops = mode == "published"
    for tree, value in (
        (model.tree_, model.objective_),
        (model.binary_tree_, model.binary_objective_),
    ):
        expected = oracle.entropy(W, R, tree.parent, self_loops=loops)
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "settings",
    [{}, {"refine": False}, {"cutting": "published"}, {"n_clusters": 7}, {"height": 4}],
)
def test_clusters_are_the_children_of_the_root(settings):
    X, y = blobs()
    side = sample_pairs(y, n_must=10, n_cannot=10, random_state=0)
    model = StructuralEntropyTree(**settings, random_state=0).fit(X, side=side)
    root = model.tree_.n_nodes - 1
    assert sorted(model.cluster_nodes_) == model.tree_.children_of(root).tolist()
    under = oracle.leaves_under(model.tree_.parent, len(X))
    for cluster, node in enumerate(model.cluster_nodes_):
        assert under[node] == set(np.flatnonzero(model.labels_ == cluster))
    assert model.tree_.depths.max() <= model.height
    assert is_valid_linkage(model.binary_tree_.to_linkage(), throw=True)
    assert is_valid_linkage(model.tree_.to_linkage(), throw=True)


@pytest.mark.parametrize("settings", [{}, {"n_clusters": 6}])
def test_clusters_are_nodes_of_the_binary_tree(settings):
    X, y = blobs()
    side = sample_pairs(y, n_must=20, n_cannot=20, random_state=0)
    model = StructuralEntropyTree(**settings).fit(X, side=side)
    nodes = {frozenset(s) for s in oracle.leaves_under(model.binary_tree_.parent, len(X))}
    for cluster in range(model.n_clusters_):
        assert frozenset(np.flatnonzero(model.labels_ == cluster)) in nodes


def test_without_refining_the_binary_tree_is_that_of_stretching_alone():
    X, _ = blobs()
    one = StructuralEntropyTree(refine=False).fit(X)
    two = StructuralEntropyTree(cutting="published").fit(X)
    np.testing.assert_array_equal(one.binary_tree_.parent, two.binary_tree_.parent)


def test_taller_trees_have_the_same_clusters_and_parts_inside_them():
    X, _ = blobs(300)
    low = StructuralEntropyTree(random_state=0).fit(X)
    tall = StructuralEntropyTree(height=4, random_state=0).fit(X)
    np.testing.assert_array_equal(low.labels_, tall.labels_)
    assert tall.tree_.depths.max() > 2
    parts = tall.cut(height=2)
    assert parts.max() > tall.labels_.max()
    assert len({*zip(parts, tall.labels_, strict=True)}) == parts.max() + 1
    assert tall.objective_ < low.objective_


def test_a_higher_price_leaves_fewer_clusters():
    X, _ = blobs(300)
    counts = [StructuralEntropyTree(price=p).fit(X).n_clusters_ for p in (0.0, 0.4, 0.8, 1.2)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[-1] == 1


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 17, 60])
@pytest.mark.parametrize("refine", [True, False])
def test_the_asked_number_of_clusters_is_found_and_cut(n_clusters, refine):
    X, _ = blobs(60)
    model = StructuralEntropyTree(n_clusters, refine=refine).fit(X)
    assert model.n_clusters_ == n_clusters
    other = StructuralEntropyTree(refine=refine).fit(X)
    assert other.cut(n_clusters).max() + 1 == n_clusters


def test_published_trees_can_have_a_given_number_of_clusters():
    X, y = blobs(80)
    model = StructuralEntropyTree.as_published(n_clusters=4).fit(X)
    assert adjusted_rand(y, model.labels_) > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "n_clusters or height, and not both"),
        ({"n_clusters": 2, "height": 1}, "not both"),
        ({"n_clusters": 0}, "between 1 and 30"),
        ({"n_clusters": 31}, "between 1 and 30"),
        ({"height": -1}, "depth is -1"),
    ],
)
def test_cuts_that_cannot_be_made_are_refused(arguments, message):
    model = StructuralEntropyTree().fit(blobs(30)[0])
    with pytest.raises(DataError, match=message):
        model.cut(**arguments)


def test_statements_join_components_that_no_edge_joins():
    W = np.kron(np.eye(3), np.ones((6, 6)))
    settings = {"affinity": "precomputed", "random_state": 0}
    assert StructuralEntropyTree(**settings).fit(W).n_clusters_ == 3
    pairs = SideInformation.from_pairs(must=[(0, 6), (1, 7), (2, 8)], n_samples=18)
    labels = SideInformation.from_labels(["a", "a"] + [None] * 4 + ["a", "a"] + [None] * 10)
    for side in (pairs, labels):
        model = StructuralEntropyTree(**settings).fit(W, side=side)
        assert model.labels_[0] == model.labels_[6] != model.labels_[12]


def test_new_rows_go_where_their_neighbours_are():
    X, _ = blobs(200)
    model = StructuralEntropyTree(random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    near = X + np.random.default_rng(0).normal(size=X.shape) * 0.05
    assert (model.predict(near) == model.labels_).mean() > 0.98


def test_a_precomputed_graph_gives_the_same_tree():
    X, y = blobs(60)
    side = sample_pairs(y, n_must=5, n_cannot=0, random_state=0)
    one = StructuralEntropyTree(random_state=0).fit(X)
    two = StructuralEntropyTree(affinity="precomputed", random_state=0).fit(one.graph_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == pytest.approx(two.objective_)
    assert two.fit(one.graph_, side=side).predict(one.graph_).shape == (60,)


def test_sparse_and_dense_rows_give_the_same_tree_however_they_are_scaled():
    X, _ = blobs(80)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.4, 0.0, X)
    for model in (StructuralEntropyTree, StructuralEntropyClustering):
        for scaling in (None, "z-score", "min-max"):
            dense = model(scaling=scaling, random_state=0).fit(X)
            thin = model(scaling=scaling, random_state=0).fit(sparse.csr_array(X))
            np.testing.assert_array_equal(dense.labels_, thin.labels_)


def test_z_scores_take_units_away():
    X, _ = blobs(80)
    model = StructuralEntropyTree(random_state=0)
    other = X * [1.0, 1e3, 1e-3, 7.0, 1.0] + [0.0, 5.0, 9.0, -1e3, 1.0]
    np.testing.assert_array_equal(model.fit_predict(X), model.fit_predict(other))


@pytest.mark.parametrize("cutting", ["priced", "published"])
def test_one_row_is_one_cluster(cutting):
    model = StructuralEntropyTree(cutting=cutting).fit(np.array([[1.0, 2.0]]))
    assert model.labels_.tolist() == [0]
    assert model.objective_ == 0
    assert model.tree_.to_linkage().shape == (0, 4)


@pytest.mark.parametrize("cutting", ["priced", "published"])
def test_equal_rows_are_one_cluster(cutting):
    model = StructuralEntropyTree(cutting=cutting, scaling=None).fit(np.ones((7, 3)))
    assert model.labels_.tolist() == [0] * 7
    assert model.cut(3).max() == 2


def test_constant_columns_have_no_direction_and_say_so():
    with pytest.warns(UserWarning, match="no two neighbours point in a similar direction"):
        model = StructuralEntropyTree().fit(np.array([[1.0], [-1.0]]))
    assert model.labels_.tolist() == [0, 1]


def test_rows_without_neighbours_stay_alone_unless_somebody_puts_them_together():
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 1.0
    model = StructuralEntropyTree(affinity="precomputed")
    assert model.fit(W).labels_.tolist() == [0, 0, 0, 1, 2, 3]
    model.fit(np.zeros((4, 4)), side=SideInformation.from_pairs(must=[(0, 3)], n_samples=4))
    assert model.labels_.tolist() == [0, 1, 2, 0]
    assert model.n_clusters_ == 3


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(DataError, match="fewer than n_clusters=9"):
        StructuralEntropyTree(9).fit(np.eye(4))


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_names_and_broken_statements_are_told():
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"], dtype=object)[y]
    given = np.where(np.arange(len(y)) % 6 == 0, names, None)
    model = StructuralEntropyTree(random_state=0).fit(X, given)
    assert {"barolo", "grignolino", "barbera"} <= set(model.cluster_names_)
    assert adjusted_rand(y, model.labels_) > 0.8
    wrong = SideInformation.from_pairs(must=[(0, 174)], n_samples=178)
    assert model.fit(X, given, side=wrong).result_.violated.any()


def test_a_fitted_tree_survives_pickling():
    X, _ = blobs(60)
    model = pickle.loads(pickle.dumps(StructuralEntropyTree().fit(X)))
    assert model.cut(5).max() == 4
    assert repr(model.tree_).startswith("ClusterTree(60 rows")


@pytest.mark.parametrize("wrong", [{"height": 1}, {"price": -0.1}, {"cutting": "best"}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        StructuralEntropyTree(**wrong).fit(np.eye(4))


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_clusters_of_many_rows_are_put_together_from_small_modules(kind, monkeypatch):
    from sidelight.models._entropy import tree

    sample = overlapping_blobs(3_000, 8, 5, separation=12.0, random_state=0)
    draw = sample_labels if kind == "labels" else sample_pairs
    side = draw(sample.y, 300, random_state=1)
    model = StructuralEntropyTree(5, random_state=0)
    from_rows = model.fit(sample.X, side=side).objective_
    monkeypatch.setattr(tree, "EXACT_ROWS", 500)
    found = []
    of_modules = tree.trees.exactly_of_modules
    monkeypatch.setattr(
        tree.trees, "exactly_of_modules", lambda *a: found.append(of_modules(*a)) or found[-1]
    )
    model.fit(sample.X, side=side)
    assert found
    assert model.n_clusters_ == 5
    assert adjusted_rand(sample.y, model.labels_) > 0.95
    assert model.objective_ <= from_rows * 1.0001
    # Too few modules for so many clusters: the search is among rows.
    found.clear()
    assert model.set_params(n_clusters=1_000).fit(sample.X, side=side).n_clusters_ == 1_000
    assert not found


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")  # of a few rows
@pytest.mark.parametrize("seed", range(1, 4))
def test_large_clusters_of_many_uneven_rows_are_not_divided(seed, monkeypatch):
    from sidelight.models._entropy import tree

    monkeypatch.setattr(tree, "EXACT_ROWS", 1_000)
    sample = overlapping_blobs(16_000, 8, 8, separation=6.0, random_state=seed)
    kept = np.random.default_rng(0).random(16_000) < 0.5**sample.y
    X, y = sample.X[kept], sample.y[kept]
    model = StructuralEntropyTree(8, random_state=0)
    labels = model.fit_predict(X, side=sample_labels(y, 400, random_state=0))
    # With the price of a tree of modules ARI was .37, .31 and .47.
    assert adjusted_rand(y, labels) > 0.5
    assert np.bincount(labels).max() > 0.6 * np.bincount(y).max()
