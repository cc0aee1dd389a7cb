import numpy as np
import pytest
from scipy import sparse

from sidelight import SideInformation
from sidelight.exceptions import DataError
from sidelight.report import new_figure, plot_clusters, project


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
