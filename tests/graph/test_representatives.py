"""Representatives of rows: cells of near rows, their masses, and annotated rows apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sidelight import SideInformation
from sidelight.blocks import BLOCK_ROWS, as_blocks
from sidelight.graph import _representatives, representatives


def some(n=2000, n_features=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features)) + 8 * rng.integers(3, size=(n, 1))
    side = SideInformation.from_pairs(must=rng.integers(n, size=(20, 2)), n_samples=n)
    return X, side


def cells_of(X, tree):
    """The cell of each row, from the definition of the tree."""
    found = []
    for row in X:
        node = 0
        while node >= 0:
            below = float(np.dot(tree.normal[node], row)) <= tree.offset[node]
            node = int(tree.child[node, 0 if below else 1])
        found.append(-1 - node)
    return np.array(found)


@pytest.mark.parametrize("n_cells", [1, 2, 50, 300])
def test_masses_and_means_are_those_of_the_cells(n_cells):
    X, side = some()
    rows = side.annotated_rows
    found = representatives(as_blocks(X), side, n_cells, seed=0)
    assert found.mass.sum() == len(X)
    assert len(found.X) <= n_cells + len(rows)
    assert_array_equal(found.annotated, rows)
    assert_array_equal(found.X[found.place], X[rows])
    assert_array_equal(found.mass[found.place], 1.0)
    if n_cells * 10 >= len(X):  # the sample is all of the rows
        cells = np.delete(np.arange(len(found.X)), found.place)
        assert_allclose(found.mass[cells] @ found.X[cells], np.delete(X, rows, axis=0).sum(axis=0))


def test_statements_are_about_the_points_of_their_rows():
    X, side = some()
    found = representatives(as_blocks(X), side, 50, seed=0)
    rows = np.full(len(found.X), -1)
    rows[found.place] = found.annotated
    pairs = np.sort(rows[found.side.must], axis=1)
    assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, side.must.tolist()))


def test_rows_fall_into_the_cell_that_the_planes_say():
    X, _ = some()
    grown = _representatives._grown(X, 40)
    assert grown.n_cells == 40
    assert_array_equal(cells_of(X, grown.tree), grown.cell)


def test_a_cell_is_smaller_than_its_parts_of_the_data():
    X, _ = some(4000)
    cell = _representatives._grown(X, 200).cell
    means = np.stack([X[cell == c].mean(axis=0) for c in range(200)])
    inside = ((X - means[cell]) ** 2).sum()
    # The best that 200 cells in three dimensions can do is near 200^(-2/3) = 0.03.
    assert inside < 0.06 * ((X - X.mean(axis=0)) ** 2).sum()
    assert np.bincount(cell).max() < 5 * len(X) / 200


def test_points_stand_in_the_order_of_their_first_rows():
    X, side = some(2 * BLOCK_ROWS)
    found = representatives(as_blocks(X), side, 50, seed=0)
    grown_from = np.delete(np.arange(len(X)), side.annotated_rows)
    near = ((X[grown_from[0]] - found.X) ** 2).sum(axis=1)
    assert near[:2].min() < 9.0
    assert_array_equal(np.diff(found.place) > 0, True)


def test_equal_rows_are_one_point_and_annotated_rows_may_be_all():
    X = np.repeat([[0.0, 1.0], [5.0, 1.0]], 30, axis=0)
    found = representatives(as_blocks(X), SideInformation.empty(60), 20, seed=0)
    assert_array_equal(found.X, [[0.0, 1.0], [5.0, 1.0]])
    assert_array_equal(found.mass, [30.0, 30.0])
    everyone = SideInformation.from_labels(np.zeros(60, dtype=int))
    found = representatives(as_blocks(X), everyone, 20, seed=0)
    assert_array_equal(found.X, X)
    assert_array_equal(found.mass, 1.0)


def test_rows_without_statements_are_found_where_a_draw_misses_them():
    X, _ = some(200)
    y = np.zeros(200, dtype=int)
    y[[37, 150]] = -1
    found = representatives(as_blocks(X), SideInformation.from_labels(y), 2, seed=0)
    cells = np.delete(np.arange(len(found.X)), found.place)
    assert_array_equal(found.X[cells], X[[37, 150]])
    assert_array_equal(found.mass, 1.0)


def test_far_from_the_origin_rows_are_told_apart():
    X, side = some()
    moved = representatives(as_blocks(X + 1e6), side, 50, seed=0)
    assert_allclose(moved.X - 1e6, representatives(as_blocks(X), side, 50, seed=0).X, atol=1e-3)


def test_single_precision_has_the_same_masses():
    X, side = some()
    X = X.astype(np.float32)
    one = representatives(as_blocks(X), side, 50, seed=0)
    other = representatives(as_blocks(X.astype(np.float64)), side, 50, seed=0)
    assert_array_equal(one.mass, other.mass)


def test_masses_of_very_many_rows_are_estimated_from_a_share_of_them(monkeypatch):
    X, side = some(3 * BLOCK_ROWS)
    exact = representatives(as_blocks(X), side, 20, seed=0)
    monkeypatch.setattr(_representatives, "_COUNTED", 8_000)
    found = representatives(as_blocks(X), side, 20, seed=0)
    assert_array_equal(found.X, exact.X)
    assert_array_equal(found.place, exact.place)
    assert_array_equal(found.mass[found.place], 1.0)
    assert_allclose(found.mass.sum(), len(X))
    cells = np.delete(np.arange(len(found.X)), found.place)
    wrong = found.mass[cells] / exact.mass[cells] - 1.0
    assert 0.01 < np.sqrt((wrong**2).mean()) < 0.1  # 400 rows of each cell: about 1 / 20
    assert abs(wrong.mean()) < 0.03


def test_the_share_is_the_same_rows_whatever_the_chunks(monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(_representatives, "_COUNTED", 8_000)
    X, side = some(3 * BLOCK_ROWS)
    expected = representatives(as_blocks(X), side, 20, seed=0)
    for rows in (BLOCK_ROWS, 10_007, len(X)):
        chunked = as_blocks(da.from_array(X, chunks=(rows, 3)))
        assert_array_equal(representatives(chunked, side, 20, seed=0).mass, expected.mass)


def test_a_cell_that_the_share_misses_has_the_rows_of_its_sample(monkeypatch):
    X, side = some(3 * BLOCK_ROWS)
    monkeypatch.setattr(_representatives, "_COUNTED", 1)
    monkeypatch.setattr(_representatives, "_COUNTED_PER_CELL", 1)
    found = representatives(as_blocks(X), side, 200, seed=0)
    assert found.mass.min() >= 1.0
    assert_allclose(found.mass.sum(), len(X))


@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_the_share_does_not_follow_the_order_of_the_rows(seed):
    row = np.arange(100_000)
    drawn = _representatives._uniform(row, seed)
    assert 0.0 <= drawn.min() < drawn.max() < 1.0
    assert_array_equal(drawn[500:600], _representatives._uniform(row[500:600], seed))
    for period in (2, 7, 10, 64, 1_000):
        of = np.bincount(row % period, drawn < 0.1, minlength=period)
        n = len(row) / period
        chi2 = ((of - 0.1 * n) ** 2).sum() / (0.09 * n)
        assert abs(chi2 - period) < 5 * np.sqrt(2 * period)  # five deviations
    other = _representatives._uniform(row, seed + 1)
    assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.016
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.016
