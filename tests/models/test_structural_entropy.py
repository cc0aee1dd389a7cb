import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import oracles_structural_entropy as oracle
from sidelight import SideInformation, StructuralEntropyClustering
from sidelight.blocks import threads
from sidelight.datasets import load, make_blobs
from sidelight.exceptions import DataError, SideInformationError
from sidelight.graph import (
    check_graph,
    gaussian_weights,
    local_scales,
    nearest_neighbors,
    query_neighbors,
)
from sidelight.side import sample_labels, sample_pairs


def blobs(n=120, n_centers=4, d=3, seed=0, apart=8.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_centers, size=n)
    return apart * rng.normal(size=(n_centers, d))[y] + rng.normal(size=(n, d)), y


def fitted(X, side=None, **parameters):
    return StructuralEntropyClustering(**{"random_state": 0, **parameters}).fit(X, side=side)


# The paper

TABLES = {  # data set: affinity, ARI and NMI of the row SE of Tables 1 and 2
    "yale": ("gaussian", 28.12, 54.78),
    "orl": ("gaussian", 59.15, 85.31),
    "coil20": ("gaussian", 68.22, 86.34),
    "isolet1": ("gaussian", 56.01, 83.14),
    "optdigits": ("gaussian", 69.89, 79.69),
    "pbmc_10x": ("cosine", 63.89, 74.80),
    "mouse_bladder": ("cosine", 67.41, 77.13),
    "worm_neuron": ("cosine", 20.90, 41.70),
    "human_kidney": ("cosine", 54.20, 72.09),  # printed 72.86: a misprint
}


def as_in_the_paper(name, shared_data, **changes):
    data = load(name, variant="sse", data_home=shared_data)
    k = StructuralEntropyClustering.published_n_neighbors(len(data.y), len(data.class_names))
    return data, StructuralEntropyClustering.as_published(
        affinity=TABLES[name][0], n_neighbors=k, random_state=0, **changes
    )


@pytest.mark.parametrize("name", TABLES)
def test_base_line_equals_the_published_one_to_the_printed_digits(name, shared_data):
    data, model = as_in_the_paper(name, shared_data, refine=False)
    labels = model.fit(data.X).labels_
    assert round(100 * adjusted_rand_score(data.y, labels), 2) == TABLES[name][1]
    assert round(100 * normalized_mutual_info_score(data.y, labels), 2) == TABLES[name][2]


@pytest.mark.parametrize("name", ["yale", "orl", "coil20", "worm_neuron"])
def test_refining_ends_below_merging_and_moving(name, shared_data):
    data, model = as_in_the_paper(name, shared_data)
    for side in (None, sample_pairs(data.y, n_must=0.2, n_cannot=0.2, random_state=0)):
        published = model.set_params(refine="published").fit(data.X, side=side).objective_
        assert model.set_params(refine=True).fit(data.X, side=side).objective_ < published


def test_many_constraints_do_not_make_many_clusters_of_digits(shared_data):
    data = load("optdigits", variant="sse", data_home=shared_data)
    for share in (0.6, 1.0):
        side = sample_pairs(data.y, n_must=share, n_cannot=share, random_state=0)
        model = fitted(data.X, side, n_neighbors=30)
        assert model.n_clusters_ <= 30
        assert adjusted_rand_score(data.y, model.labels_) > 0.95
        trapped = fitted(data.X, side, n_neighbors=30, refine="published")
        assert trapped.objective_ > model.objective_
        assert adjusted_rand_score(data.y, trapped.labels_) < 0.5


# The objective


@pytest.mark.parametrize("refine", [True, False, "published"])
@pytest.mark.parametrize("n_clusters", [None, 3])
@pytest.mark.parametrize(
    ("affinity", "price"), [("gaussian", 0.0), ("gaussian", 0.5), ("local", 0.5)]
)
def test_objective_is_that_of_the_labels_and_never_rises(refine, n_clusters, affinity, price):
    X, y = blobs()
    side = sample_pairs(y, 40, accuracy=0.8, random_state=0)
    settings = {"refine": refine, "n_clusters": n_clusters, "affinity": affinity, "price": price}
    model = fitted(X, side, n_neighbors=6, **settings)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    if affinity == "local":
        scale = np.sort(D, axis=1)[:, 6] ** 0.5  # the last of 6 neighbours stands for the 7th
        S = np.exp(-D / np.outer(scale, scale))
        lowest = 0.0
    else:
        S = np.exp(-D / model.bandwidth_**2)
        lowest = S[~np.eye(len(S), dtype=bool)].min()
    R = oracle.relation(side, S, model.graph_.data.max(), lowest, 2.0, each=False)
    graph = model.graph_.toarray()
    assert_allclose(graph[graph > 0], S[graph > 0])
    expected = oracle.entropy(graph, R, model.labels_)
    share = np.bincount(model.labels_, graph.sum(axis=1)) / graph.sum()
    expected -= model.price_ * (share * np.log2(share)).sum()
    assert model.objective_ == pytest.approx(expected, abs=1e-6)
    assert model.history_[-1] == model.objective_
    assert (np.diff(model.history_) <= 0).all()


def test_a_price_of_clusters_makes_fewer_of_them():
    X, _ = blobs(300, 4, apart=2.0)
    found = [fitted(X, price=price).n_clusters_ for price in (0.0, 0.25, 0.5, 1.5)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * 4
    assert found[-1] == 1


def test_a_price_that_tears_single_rows_off_to_make_up_the_number_is_lowered():
    sample = make_blobs(1_000, 8, 8, separation=4.0, random_state=0)
    assert fitted(sample.X, price=0.9).n_clusters_ < 8
    assert fitted(sample.X, price=0.9, n_clusters=1).price_ == 0.9
    model = fitted(sample.X, price=0.9, n_clusters=8)
    assert model.price_ in (0.45, 0.225, 0.1125, 0.05625, 0.0)
    assert 2 * (np.bincount(model.labels_) == 1).sum() < 8
    share = np.bincount(model.labels_, model.graph_.sum(axis=1)) / model.graph_.sum()
    expected = oracle.entropy(model.graph_.toarray(), np.zeros((1_000, 1_000)), model.labels_)
    expected -= model.price_ * (share * np.log2(share)).sum()
    assert model.objective_ == pytest.approx(expected, abs=1e-6)


def test_clusters_of_labelled_rows_only_lower_the_price():
    from sidelight.models._entropy import clustering

    # Nine of ten clusters were the labelled rows of a class, and the tenth all other rows.
    n, labels = 1_000, np.zeros(1_000, dtype=np.int64)
    groups = np.arange(n)
    for k in range(9):
        groups[k * 10 : k * 10 + 10] = k * 10
        labels[k * 10 : k * 10 + 10] = k + 1
    problem = clustering.Problem(None, None, groups, None, False, 10, False, True, 0.5)
    assert clustering._is_torn(problem, labels)
    assert not clustering._is_torn(problem._replace(price=0.0), labels)
    assert not clustering._is_torn(problem._replace(n_clusters=None), labels)
    # The same groups, each with as many other rows as a class has.
    whole = np.where(np.arange(n) < 90, labels, np.arange(n) % 10)
    assert not clustering._is_torn(problem, whole)
    # Where nearly all rows are stated, a cluster of stated rows is nothing special.
    assert not clustering._is_torn(problem._replace(groups=np.arange(n) // 10 * 10), whole)


def test_a_dense_and_a_sparse_cluster_are_both_found_by_local_scales():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.05, (100, 2)), rng.normal([7, 0], 1.5, (100, 2))])
    model = fitted(X, n_clusters=2)
    assert adjusted_rand_score(np.repeat([0, 1], 100), model.labels_) > 0.9
    volume = model.graph_.sum(axis=1)
    assert 0.4 < volume[:100].sum() / volume.sum() < 0.6


def test_weights_and_annotators_count():
    X, y = blobs(60, 2, apart=4.0)
    a, b = np.flatnonzero(y == 0)[:2], np.flatnonzero(y == 1)[:2]
    wrong = [(int(i), int(j)) for i in a for j in b]
    found = {}
    for weight in (0.01, 50.0):
        side = SideInformation.from_pairs(must=wrong, n_samples=60, weight=weight, annotator="ann")
        found[weight] = fitted(X, side, n_clusters=2).result_.violated.sum()
    assert found[0.01] == 4
    assert found[50.0] == 0


def test_statements_of_all_kinds_are_used_together():
    X, y = blobs(200, 4, apart=1.5)
    plain = adjusted_rand_score(y, fitted(X, n_clusters=4, price=0.0).labels_)
    side = sample_pairs(y, n_must=60, n_cannot=60, random_state=0)
    side = side + sample_labels(y, 40, n_negative=40, random_state=0)
    helped = fitted(X, side, n_clusters=4, price=0.0)
    assert adjusted_rand_score(y, helped.labels_) > plain + 0.1
    assert set(y) <= set(helped.cluster_names_)


def test_cannot_links_alone_weigh_something():
    X, _ = blobs(60, 2, apart=4.0)
    near = np.argsort(((X - X[0]) ** 2).sum(axis=1))[1:5]
    side = SideInformation.from_pairs(cannot=[(0, int(i)) for i in near], n_samples=60)
    assert side.violated(fitted(X, n_clusters=3).labels_).any()
    assert not fitted(X, side, n_clusters=3, side_weight=20.0).result_.violated.any()


# The number of clusters


@pytest.mark.parametrize("refine", [True, False, "published"])
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 30])
def test_exactly_as_many_clusters_as_asked_for(refine, n_clusters):
    X, y = blobs(60)
    side = sample_pairs(y, 20, random_state=0)
    for said in (None, side):
        assert fitted(X, said, refine=refine, n_clusters=n_clusters).n_clusters_ == n_clusters


def test_each_row_can_be_a_cluster_and_no_more():
    X, _ = blobs(12)
    assert fitted(X, n_clusters=12).n_clusters_ == 12
    with pytest.raises(DataError, match="n_samples=12, fewer than n_clusters=13"):
        fitted(X, n_clusters=13)


def test_the_number_of_clusters_is_found():
    X, y = blobs(600, 3, d=30, apart=3.0)
    model = fitted(X, n_neighbors=60)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) == 1.0


# New rows


def test_new_rows_go_where_their_neighbours_are():
    X, y = blobs(300, 3, apart=20.0)
    model = fitted(X[:200], n_clusters=3)
    together = model.predict(X[200:])
    assert adjusted_rand_score(y[200:], together) == 1.0
    far = model.predict(np.array([X[0] + 1e4, X[0]]))
    assert far[1] == model.labels_[0]
    assert 0 <= far[0] < model.n_clusters_


def test_fitted_rows_are_predicted_as_fitted_with_any_affinity():
    X, _ = blobs(100)
    for affinity in ("gaussian", "cosine", "local"):
        model = fitted(X, affinity=affinity)
        assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(("affinity", "price"), [("gaussian", 0.0), ("local", 0.3)])
def test_prediction_minimises_the_rise_of_the_objective(affinity, price):
    X, _ = blobs(80, 3, apart=2.0)
    model = fitted(X, n_neighbors=6, affinity=affinity, price=price)
    assert model.n_clusters_ > 2
    new = np.random.default_rng(1).normal(size=(20, 3))
    found = query_neighbors(new, X, 6)
    scales = local_scales(nearest_neighbors(X, 6))
    for row, label in enumerate(model.predict(new)):
        part = slice(found.indptr[row], found.indptr[row + 1])
        if affinity == "local":
            own = found.distances[part].max()  # the last of 6 neighbours stands for the 7th
            w = np.exp(-(found.distances[part] ** 2) / own / scales[found.indices[part]])
        else:
            w = gaussian_weights(found.distances[part], model.bandwidth_)
        rises = {}
        for k in set(model.labels_[found.indices[part]]):
            shared = w[model.labels_[found.indices[part]] == k].sum()
            inside = model.labels_ == k
            volume = model.graph_[inside].sum()
            cut = model.graph_[inside][:, ~inside].sum()
            total = model.graph_.sum()

            def f(v, c, total=total):
                return v * np.log2(v) - (c + price * v) * np.log2(v / total)

            rises[k] = f(volume + w.sum(), cut + w.sum() - 2 * shared) - f(volume, cut)
        assert label == min(rises, key=rises.get)


def test_precomputed_similarities_give_the_same_clusters_and_predict():
    X, _ = blobs(90)
    model = fitted(X, n_neighbors=8)
    other = fitted(model.graph_.toarray(), affinity="precomputed")
    assert_array_equal(other.labels_, model.labels_)
    similar = np.exp(-((X[:5, None] - X[None]) ** 2).sum(axis=2))
    assert_array_equal(other.predict(similar), model.labels_[:5])
    assert_array_equal(other.predict(sparse.csr_array(similar)), model.labels_[:5])


# Other forms of data and of starts


def test_sparse_dense_and_single_precision_agree():
    X = np.maximum(blobs(150, apart=3.0)[0], 0)
    for parameters in (
        {"affinity": "cosine"},
        {"affinity": "gaussian"},
        {"scaling": "min-max"},
        {},
    ):
        one = fitted(X, **parameters)
        two = fitted(sparse.csr_array(X), **parameters)
        assert_array_equal(one.labels_, two.labels_)
    single = X.astype(np.float32)
    assert_array_equal(fitted(single).labels_, fitted(single.astype(float)).labels_)


def test_scaling_makes_columns_alike_and_is_kept_for_new_rows():
    X, _ = blobs(100)
    stretched = X * np.array([1.0, 1e3, 1e-3]) + 7.0
    model = fitted(X, scaling="min-max")
    other = fitted(stretched, scaling="min-max")
    assert_array_equal(model.labels_, other.labels_)
    assert_array_equal(other.predict(stretched), other.labels_)


def test_a_start_can_be_given_and_is_improved():
    X, y = blobs(150)
    side = sample_pairs(y, 30, random_state=0)
    first = fitted(X, side)
    again = fitted(X, side, init=first)
    assert_array_equal(again.labels_, first.labels_)
    partly = np.where(np.arange(150) < 140, first.labels_, -1)
    assert fitted(X, side, init=partly).objective_ <= first.objective_ + 0.05
    merged = fitted(X, side, init=np.arange(150) % 50, refine=False)
    assert merged.n_clusters_ <= 50
    with pytest.raises(DataError, match="for each of the 150 rows"):
        fitted(X, side, init=np.zeros(3, dtype=int))


def test_must_links_can_be_merged_first():
    different = 0
    for seed in range(5):
        X, y = blobs(100, apart=2.0, seed=seed)
        side = sample_pairs(y, n_must=40, n_cannot=20, random_state=seed)
        one, two = (
            fitted(X, side, refine=False, must_first=first, n_neighbors=8, side_weight=0.3)
            for first in (False, True)
        )
        different += not np.array_equal(one.labels_, two.labels_)
    assert different


def test_the_answer_does_not_depend_on_threads():
    X, y = blobs(500, 5, apart=2.0)
    side = sample_pairs(y, 100, random_state=0)
    answers = []
    for n in (1, 2):
        with threads(n):
            answers.append(fitted(X, side))
    assert_array_equal(answers[0].labels_, answers[1].labels_)
    assert answers[0].objective_ == answers[1].objective_


def test_a_fitted_model_pickles():
    X, _ = blobs()
    model = fitted(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)


def test_many_rows_are_searched_without_merging(monkeypatch):
    import sidelight.models._entropy.clustering as module

    monkeypatch.setattr(module, "EXACT_ROWS", 50)
    monkeypatch.setattr(module, "_merged", None)
    X, y = blobs(200, 3, apart=20.0)
    side = sample_pairs(y, 20, random_state=0)
    model = fitted(X, side, n_clusters=3)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.objective_ == pytest.approx(model.history_[-1], abs=1e-9)
    with threads(2):
        assert_array_equal(fitted(X, side, n_clusters=3).labels_, model.labels_)
    again = fitted(X, side, n_clusters=3, init=model)
    assert_array_equal(again.labels_, model.labels_)


def test_labelled_classes_say_how_many_neighbours_there_are():
    X, y = blobs(400, 4, apart=8.0)
    some = SideInformation.from_labels(np.where(np.arange(400) % 10 == 0, y, -1))
    one_class = SideInformation.from_labels(np.where(np.arange(400) % 10 == 0, 0, -1))
    of = StructuralEntropyClustering.published_n_neighbors
    assert fitted(X, price=0.0).n_neighbors_ == of(400, 20)
    assert fitted(X, some).n_neighbors_ == of(400, 4)
    assert fitted(X, some, n_clusters=40).n_neighbors_ == of(400, 40)
    assert fitted(X, one_class, price=0.0).n_neighbors_ == of(400, 20)


def test_where_nothing_says_how_large_clusters_are_a_price_needs_fifteen_neighbours():
    X, _ = blobs(400, 4, apart=8.0)
    pairs = SideInformation.from_pairs(must=[(0, 1)], n_samples=400)
    assert fitted(X).n_neighbors_ == fitted(X, pairs).n_neighbors_ == 15
    assert fitted(X[:120]).n_neighbors_ == 12  # a tenth of few rows
    few = StructuralEntropyClustering.published_n_neighbors(30, 30**0.5)
    assert fitted(X[:30]).n_neighbors_ == few > 3
    assert StructuralEntropyClustering()._n_neighbors(1_000_000, 0) == 30  # as before


def test_many_more_clusters_than_classes_come_with_advice():
    X, y = blobs(400, 4, apart=8.0)
    some = SideInformation.from_labels(np.where(np.arange(400) % 10 == 0, y, -1))
    advice = fitted(X, some, n_neighbors=3).result_.advice[0]
    assert "for 4 labelled classes" in advice
    assert "n_clusters=4" in advice
    for settings in ({"n_clusters": 20}, {"n_neighbors": 60}):
        assert fitted(X, some, **settings).result_.advice == []


# Bad input


@pytest.mark.parametrize("refine", [True, False, "published"])
def test_rows_that_are_all_equal_are_one_cluster(refine):
    X = np.ones((40, 2))
    model = fitted(X, refine=refine)
    assert model.n_clusters_ == 1
    assert np.isfinite(model.objective_)
    assert fitted(X, n_clusters=3, refine=refine).n_clusters_ == 3
    assert fitted(sparse.csr_array(X), refine=refine).n_clusters_ == 1


def test_one_row_is_one_cluster():
    model = fitted(np.ones((1, 2)))
    assert model.labels_.tolist() == [0]
    assert model.predict(np.zeros((2, 2))).tolist() == [0, 0]


def test_a_graph_without_edges_leaves_rows_alone_but_for_must_links():
    side = SideInformation.from_pairs(must=[(0, 2)], cannot=[(1, 3)], n_samples=4)
    model = fitted(np.zeros((4, 4)), side, affinity="precomputed")
    assert model.labels_.tolist() == [0, 1, 0, 2]
    assert np.isfinite(model.objective_)
    assert fitted(np.zeros((4, 4)), affinity="precomputed", n_clusters=2).n_clusters_ == 2


def test_disconnected_data_stay_apart_unless_must_links_join_them():
    W = sparse.block_diag([np.ones((5, 5)), np.ones((5, 5)), np.zeros((2, 2))]).toarray()
    model = fitted(W, affinity="precomputed")
    assert not set(model.labels_[:5]) & set(model.labels_[5:10])
    side = SideInformation.from_pairs(must=[(10, 11), (0, 10)], n_samples=12, weight=9.0)
    joined = fitted(W, side, affinity="precomputed")
    assert joined.result_.violated.sum() == 0
    assert np.isfinite(joined.objective_)


def test_a_bandwidth_far_too_small_is_told_with_the_scale_of_the_data():
    with pytest.warns(UserWarning, match=r"bandwidth=1e-05 .*1 to 5 apart .*'auto'"):
        model = fitted(np.arange(6.0)[:, None], affinity="gaussian", bandwidth=1e-5)
    assert model.n_clusters_ == 6


def test_negative_cosines_do_not_join_rows():
    X = np.array([[1.0, 0.0], [2.0, 0.1], [-1.0, 0.0], [-2.0, 0.1], [0.0, 0.0]])
    model = fitted(X, affinity="cosine", n_neighbors=4)
    assert (model.graph_.data > 0).all()
    assert model.labels_.tolist() == [0, 0, 1, 1, 2]
    assert len(model.predict(np.array([[0.0, 0.0], [3.0, 0.0]]))) == 2
    with pytest.warns(UserWarning, match="similar direction"):
        fitted(np.eye(3), affinity="cosine")


def test_negative_similarities_are_refused():
    with pytest.raises(DataError, match="zero or more"):
        fitted(-np.ones((3, 3)), affinity="precomputed")


def test_contradictions_are_tolerated_and_listed():
    X, y = blobs(60)
    i, j = (int(r) for r in np.flatnonzero(y == 0)[:2])
    side = SideInformation.from_pairs(must=[(i, j)], cannot=[(i, j)], n_samples=60)
    model = fitted(X, side)
    assert model.result_.violated.sum() == 1
    assert len(model.result_.broken()) == 1


def test_paper_mode_refuses_to_expand_too_many_pairs():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    model = StructuralEntropyClustering.as_published(n_neighbors=5)
    with pytest.raises(SideInformationError, match=r"7,998,000 pairs .* entailed='mean'"):
        model.fit(X, np.arange(4000) % 2)


def test_a_label_for_every_row_is_refused_beyond_reason(monkeypatch):
    import sidelight.models._entropy.statements as relation

    monkeypatch.setattr(relation, "MOST_GROUP_PAIRS", 100)
    with pytest.raises(SideInformationError, match="40 groups of rows have different labels"):
        fitted(blobs(40)[0], SideInformation.from_labels(np.arange(40)))


def test_the_given_graph_is_left_as_it_was():
    W = check_graph(np.ones((5, 5)))
    before = W.copy()
    fitted(W, affinity="precomputed")
    assert (before != W).nnz == 0


def test_rows_are_shuffled_near_their_place():
    from sidelight.models._entropy.clustering import shuffled_blocks

    order = shuffled_blocks(40_000, np.random.default_rng(0))
    everyone = np.arange(40_000)
    assert_array_equal(np.sort(order), everyone)
    assert_array_equal(order // 16_384, everyone // 16_384)
    assert (order // 512 != everyone // 512).mean() > 0.9


def test_one_torn_cluster_of_many_rows_lowers_the_price(monkeypatch):
    from sidelight.models._entropy import clustering

    monkeypatch.setattr(clustering, "_order_in_memory", lambda rows: None)
    rng = np.random.default_rng(0)
    y = np.arange(600) % 6
    X = rng.normal(size=(600, 2)) + 40.0 * rng.normal(size=(6, 2))[y]
    torn = np.where(y == 5, 4, y)
    torn[0] = 5

    def price_after(found, up_to):
        monkeypatch.setattr(clustering, "EXACT_ROWS", up_to)
        given = iter(found)
        monkeypatch.setattr(
            clustering, "_found", lambda *_: clustering.search.Moved(next(given), [0.0, 0.0])
        )
        return StructuralEntropyClustering(6, random_state=0).fit(X)

    whole = price_after([torn, y], 599)
    assert whole.price_ < price_after([torn], 600).price_  # one of six is less than a half
    assert adjusted_rand_score(y, whole.labels_) == 1.0
    # If every price leaves as many, the first one stays.
    assert price_after([torn] * 9, 599).price_ > whole.price_


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_clusters_of_many_rows_are_put_together_from_small_modules(kind, monkeypatch):
    from sidelight.models._entropy import clustering

    monkeypatch.setattr(clustering, "EXACT_ROWS", 500)
    sample = make_blobs(3_000, 8, 5, separation=12.0, random_state=0)
    draw = sample_labels if kind == "labels" else sample_pairs
    side = draw(sample.y, 300, random_state=1)
    made = []
    joined = clustering._joined
    monkeypatch.setattr(clustering, "_joined", lambda *a: made.append(joined(*a)) or made[-1])
    model = fitted(sample.X, side, n_clusters=5)
    assert made
    assert model.n_clusters_ == 5
    assert adjusted_rand_score(sample.y, model.labels_) > 0.95
    assert (np.diff(model.history_) <= 0).all()
    with threads(2):
        assert_array_equal(fitted(sample.X, side, n_clusters=5).labels_, model.labels_)
    # Too few modules for so many clusters: the search is among rows.
    made.clear()
    assert fitted(sample.X, side, n_clusters=1_500).n_clusters_ == 1_500
    assert not made


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
@pytest.mark.parametrize("kind", ["labels", "pairs", None])
def test_separate_clusters_of_many_rows_are_found_without_their_number(kind, monkeypatch):
    from sidelight.models._entropy import clustering, search

    monkeypatch.setattr(clustering, "EXACT_ROWS", 500)
    sample = make_blobs(6_000, 16, 10, separation=8.0, random_state=0)
    draw = {"labels": sample_labels, "pairs": sample_pairs}.get(kind)
    side = draw and draw(sample.y, 60, random_state=1)
    model = fitted(sample.X, side, n_neighbors=30)
    assert model.n_clusters_ == 10
    assert adjusted_rand_score(sample.y, model.labels_) > 0.95
    assert (np.diff(model.history_) <= 0).all()
    monkeypatch.setattr(search, "_NODES", 1_000)
    for n in (1, 2, 3):
        with threads(n):
            again = fitted(sample.X, side, n_neighbors=30)
        assert_array_equal(again.labels_, model.labels_)
        assert_array_equal(again.history_, model.history_)
    # Single rows alone lose most of them.
    monkeypatch.setattr(clustering, "_condensed", lambda problem: None)
    rows = fitted(sample.X, side, n_neighbors=30)
    assert rows.objective_ > model.objective_
    assert adjusted_rand_score(sample.y, rows.labels_) < 0.9


def test_modules_are_not_joined_where_single_rows_have_a_cluster_for_each_class(monkeypatch):
    from sidelight.models._entropy import clustering

    monkeypatch.setattr(clustering, "EXACT_ROWS", 500)
    monkeypatch.setattr(clustering, "_joined", None)
    X, y = blobs(900, 3, apart=20.0)
    model = fitted(X, sample_labels(y, 90, random_state=0), n_neighbors=30)
    assert adjusted_rand_score(y, model.labels_) == 1.0

    groups = np.arange(900)
    groups[:90] = 3 * (np.arange(90) // 30)  # labelled rows of three classes
    problem = clustering.Problem(
        None, None, groups, None, False, None, False, True, 0.5, n_classes=3
    )
    assert clustering._has_classes(problem, np.arange(900) % 3)
    assert not clustering._has_classes(problem._replace(n_classes=0), np.arange(900) % 3)
    assert not clustering._has_classes(problem, np.arange(900) % 2)
    torn = np.full(900, 3)
    torn[:90] = np.arange(90) // 30
    assert not clustering._has_classes(problem, torn)


def test_torn_clusters_of_small_modules_are_refined_only_if_they_are_the_best(monkeypatch):
    from sidelight.models._entropy import clustering

    monkeypatch.setattr(clustering, "EXACT_ROWS", 500)
    sample = make_blobs(2_000, 8, 4, separation=12.0, random_state=0)
    torn = np.zeros(2_000, dtype=np.int64)
    torn[:3] = 1, 2, 3
    refined = []
    refine = clustering._refined
    monkeypatch.setattr(clustering, "_refined", lambda *a: refined.append(a[0].price) or refine(*a))
    monkeypatch.setattr(clustering, "_joined", lambda problem, modules: torn)
    monkeypatch.setattr(clustering, "_number_torn", lambda problem, labels: 3)
    model = fitted(sample.X, n_clusters=4)
    assert refined == [0.0, 0.5]  # the last price, and the first of equals
    assert model.price_ == 0.5
    assert len(model.history_) == 2


@pytest.mark.parametrize("options", [{}, {"n_clusters": 5}, {"must_first": True}])
def test_many_rows_are_merged_once(options, monkeypatch):
    from sidelight.models._entropy import clustering

    monkeypatch.setattr(clustering, "EXACT_ROWS", 500)
    X, _ = blobs(600, 5)
    merged, merge = [], clustering._merged
    monkeypatch.setattr(clustering, "_merged", lambda problem: merged.append(1) or merge(problem))
    fitted(X, refine=False, **options)
    assert len(merged) == 1
