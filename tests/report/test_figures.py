import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sidelight import SideInformation
from sidelight.exceptions import DataError
from sidelight.report import (
    _colours,
    _figures,
    align_clusters,
    new_figure,
    plot_annotators,
    plot_clusters,
    plot_confusion,
    plot_history,
    plot_profiles,
    project,
)


@pytest.fixture
def ax():
    return new_figure().axes[0]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_projection_keeps_the_largest_variances_in_order():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 9, 3, 0.1]
    plane = project(X)
    assert np.allclose(plane.mean(axis=0), 0)
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:2]
    assert np.allclose(np.linalg.norm(plane, axis=0), expected)
    assert np.allclose(project(sparse.csr_array(X)), plane)


@pytest.mark.parametrize("X", [np.zeros((3, 1)), np.zeros((1, 3))])
def test_the_projection_of_degenerate_data_is_flat(X):
    assert project(X).shape == (len(X), 2)


def test_nothing_cannot_be_drawn():
    with pytest.raises(DataError, match="rows and columns"):
        project(np.zeros((0, 3)))


def test_clusters_and_statements_are_in_the_legend(ax):
    side = SideInformation.from_pairs(must=[(0, 1), (0, 2)], cannot=[(0, 3), (2, 3)], n_samples=4)
    side += SideInformation.from_labels(["a", None, None, "b"])
    X = np.arange(8.0).reshape(4, 2)
    plot_clusters(X, [0, 0, 1, 1], side=side, names=["a", "b"], ax=ax)
    stated = ["must", "cannot", "label"]
    assert legend(ax) == ["a", "b", *stated, "must, broken", "cannot, broken"]


def test_without_clusters_the_contradictions_stand_out(ax):
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 1)], n_samples=2)
    plot_clusters(np.eye(2), side=side, ax=ax)
    assert legend(ax) == ["must", "cannot, broken"]


def test_many_rows_are_sampled(ax):
    plot_clusters(np.random.default_rng(0).normal(size=(30_000, 2)), ax=ax)
    assert len(ax.collections[0].get_offsets()) == 20_000


def test_noise_has_a_name_of_its_own(ax):
    plot_clusters(np.eye(3), [-1, 0, 1], ax=ax)
    assert legend(ax) == ["noise", "0", "1"]


def test_a_map_leaves_rows_out_beyond_its_limit(monkeypatch):
    monkeypatch.setattr(_figures, "_MAX_MAPPED", 5)
    plane = project(np.arange(12.0).reshape(6, 2), method="tsne")
    assert np.isfinite(plane).all(axis=1).sum() == 5


def test_a_single_column_can_be_mapped():
    assert np.isfinite(project(np.arange(6.0)[:, None], method="tsne")).all()


def test_rows_without_a_place_are_not_drawn(ax):
    plane = np.array([[0.0, 0.0], [np.nan, np.nan], [1.0, 1.0]])
    side = SideInformation.from_pairs(must=[(0, 1), (0, 2)], n_samples=3)
    plot_clusters(plane, [0, 0, 0], side=side, ax=ax)
    assert len(ax.collections[0].get_offsets()) == 2
    assert len(ax.collections[1].get_segments()) == 1


def test_an_unknown_method_is_refused():
    with pytest.raises(DataError, match="pca, tsne, umap"):
        project(np.eye(3), method="mds")


def test_many_statements_are_sampled_and_counted(ax):
    pairs = [(0, k) for k in range(1, 301)]
    side = SideInformation.from_pairs(must=pairs, n_samples=301)
    plot_clusters(np.random.default_rng(0).normal(size=(301, 2)), side=side, ax=ax)
    assert legend(ax) == ["must (100 of 300)"]


def test_clusters_are_named_where_they_are(ax):
    plot_clusters(np.eye(4)[:, :2], [0, 0, 1, 1], names=["$low$", "x" * 50], ax=ax)
    written = [text.get_text() for text in ax.texts]
    assert written == [r"\$low\$", "x" * 23 + "…"]
    ax.figure.canvas.draw()  # a dollar sign is no formula


def oklab(colour):
    """Ottosson's OKLab: two colours at a distance of .02 can just be told apart."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    lms = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(lab) @ np.cbrt(np.array(lms) @ linear)


def test_twenty_four_colours_and_grey_can_be_told_apart():
    places = np.array([oklab(colour) for colour in (*_colours.COLOURS, _colours.GREY)])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert len(places) == 25
    assert apart[np.triu_indices(25, 1)].min() > 0.1
    assert (places[:, 0] < 0.85).all()  # to be seen on white
    assert (places[:, 0] > 0.4).all()  # and on a dark page


def test_colours_and_shapes_differ_while_they_last():
    assert len(set(_figures.MARKERS)) == len(_figures.MARKERS)
    grey = [sum(int(c[k : k + 2], 16) for k in (1, 3, 5)) for c in _figures.COLOURS[:4]]
    assert len(set(grey)) == 4


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_aligned_clusters_are_the_same_clusters_and_share_most_rows(rows):
    labels, reference = np.array(rows).T
    reference = np.unique(reference, return_inverse=True)[1]
    found = align_clusters(labels, reference)
    pairs = set(zip(labels.tolist(), found.tolist(), strict=True))
    assert len(pairs) == len(set(labels.tolist())) == len(set(found.tolist()))
    own = np.unique(labels)
    best = max(
        sum(int(((labels == a) & (reference == b)).sum()) for a, b in zip(own, order, strict=False))
        for order in itertools.permutations(range(5), len(own))
    )
    assert (found == reference).sum() == best


def test_partitions_of_other_rows_cannot_be_aligned():
    with pytest.raises(DataError, match="of 2 rows"):
        align_clusters([0, 1], [0, 1, 2])


def test_noise_stays_noise_when_clusters_are_aligned():
    assert align_clusters([-1, 4, 4], [0, 1, 1]).tolist() == [-1, 1, 1]


def test_the_result_draws_itself(told):
    ax = told.result.plot(told.X)
    assert legend(ax)[:3] == ["a", "b", "c"]
    assert "cannot, broken" in legend(ax)
    assert "cannot" not in legend(told.result.plot(told.X, statements=False))


def test_annotators_have_bars_intervals_and_diamonds():
    ax = plot_annotators(["ann", "bob"], [10, 0], [10, 4], accuracy=[0.9, np.nan])
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == [1.0, 0.0]
    reach = ax.containers[0].lines[2][0].get_segments()
    assert reach[0][0, 0] == pytest.approx(0.722, abs=1e-3)  # Wilson's interval for 10 of 10
    assert reach[0][1, 0] == pytest.approx(1)
    assert reach[1][1, 0] == pytest.approx(0.490, abs=1e-3)


def test_a_confusion_counts_known_rows_only():
    ax = plot_confusion(["a", None, "b", "b", float("nan")], [0, 0, 1, 0, 1], names=["p", "q"])
    assert [text.get_text() for text in ax.texts] == ["1", "0", "1", "1"]


def test_profiles_show_the_columns_that_differ_most():
    def cluster(name, *differences):
        return {
            "name": name,
            "profile": [{"column": f"c{k}", "difference": d} for k, d in enumerate(differences)],
        }

    ax = plot_profiles([cluster("a", 0.1, -2.0, 0.0), cluster("b", -0.1, 1.0, -0.01)], n_columns=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c1", "c0"]
    assert [text.get_text() for text in ax.texts] == ["-2.0", "+1.0", "+0.1", "-0.1"]


def test_the_objective_is_drawn_over_whole_iterations():
    ax = plot_history([3.0, 2.0])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2])
