from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import related_rows
from sidelight import SideInformation
from sidelight.exceptions import SideInformationError
from strategies import sides


def exists_colouring(side, n_clusters):
    together, apart = related_rows(side)
    if (together & apart).any():
        return False
    for colours in product(range(n_clusters), repeat=side.n_samples):
        same = np.equal.outer(colours, colours)
        if not (together & ~same).any() and not (apart & same).any():
            return True
    return False


@given(sides(max_rows=6), st.integers(1, 3))
def test_the_answer_is_right_and_carries_its_proof(side, n_clusters):
    found = side.feasible(n_clusters)
    together, apart = related_rows(side)
    if found.answer == "yes":
        same = np.equal.outer(found.colouring, found.colouring)
        assert found.colouring.shape == (side.n_samples,)
        assert set(found.colouring) <= set(range(n_clusters))
        assert not (together & ~same).any()
        assert not (apart & same).any()
    else:
        # On six rows nothing is too hard to decide.
        assert found.answer == "no"
        assert not exists_colouring(side, n_clusters)
        if not (together & apart).any():
            rows = found.witness
            clique = (
                len(rows) > n_clusters and apart[np.ix_(rows, rows)][~np.eye(len(rows), dtype=bool)]
            )
            ring = n_clusters == 2 and len(rows) % 2 and apart[rows, np.roll(rows, 1)]
            assert np.all(clique) or np.all(ring)


def test_a_clique_shows_that_there_are_too_few_clusters():
    pairs = [(i, j) for i in range(5) for j in range(i)]
    side = SideInformation.from_pairs(cannot=pairs, must=[(0, 7)], n_samples=9)
    assert side.feasible(5).answer == "yes"
    found = side.feasible(4)
    assert found.answer == "no"
    assert found.witness.tolist() == [0, 1, 2, 3, 4]
    assert found.reason == "no: 5 rows are all kept apart from each other (0, 1, 2, 3, 4)"


def test_an_odd_ring_cannot_be_split_in_two():
    ring = [(k, (k + 1) % 7) for k in range(7)]
    side = SideInformation.from_pairs(cannot=ring, n_samples=8)
    found = side.feasible(2)
    assert found.answer == "no"
    assert sorted(found.witness) == list(range(7))
    assert side.feasible(3).answer == "yes"


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_a_chain_of_200_000_cannot_links_is_coloured(n_clusters):
    n = 200_000
    links = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    side = SideInformation.from_pairs(cannot=links, n_samples=n)
    found = side.feasible(n_clusters)
    assert found.answer == "yes"
    assert not side.violated(found.colouring).any()


def test_a_long_strip_is_peeled_from_its_ends():
    n = 4000  # each row apart from the next three: only the ends have fewer than four neighbours
    links = [np.stack([np.arange(n - d), np.arange(d, n)], axis=1) for d in (1, 2, 3)]
    side = SideInformation.from_pairs(cannot=np.concatenate(links), n_samples=n)
    found = side.feasible(4)
    assert found.answer == "yes"
    assert not side.violated(found.colouring).any()
    assert side.feasible(3).answer == "no"


def test_large_cliques_are_found_and_coloured():
    side = SideInformation.from_pairs(
        cannot=np.stack(np.triu_indices(300, k=1), axis=1), n_samples=310
    )
    assert side.feasible(299).witness.tolist() == list(range(300))
    assert side.feasible(300).answer == "yes"


def test_what_nobody_can_tell_is_called_unknown():
    # Grötzsch's graph has no triangle and needs four colours.
    outer = [(k, (k + 1) % 5) for k in range(5)]
    spokes = [(5 + k, (k + d) % 5) for k in range(5) for d in (1, 4)]
    hub = [(10, 5 + k) for k in range(5)]
    side = SideInformation.from_pairs(cannot=outer + spokes + hub, n_samples=11)
    assert side.feasible(3).answer == "unknown"
    assert side.feasible(4).answer == "yes"


def test_more_classes_than_clusters_is_seen_without_listing_pairs():
    side = SideInformation.from_labels(np.arange(3000), index=np.arange(3000) + 7)
    found = side.feasible(2)
    assert found.answer == "no"
    assert found.reason == "no: 3 rows are all kept apart from each other (7, 8, 9)"
    assert side[:300].feasible(300).answer == "yes"


def test_contradictions_are_feasible_for_no_number_of_clusters():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 1)], n_samples=2)
    assert side.feasible(9).answer == "no"
    assert "0 and 1 are kept apart" in side.feasible(9).reason
    assert side.feasible(9).witness.tolist() == [0, 1]


def test_excluded_classes_count():
    side = SideInformation.from_columns(
        ["label", "label", "not_label", "not_label"],
        [0, 1, 2, 2],
        class_=["a", "b", "a", "b"],
        n_samples=3,
    )
    assert side.feasible(2).answer == "no"
    assert side.feasible(3).answer == "yes"


@pytest.mark.parametrize("seed", range(3))
def test_a_large_sparse_graph_is_coloured(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 20_000)
    i, j = rng.integers(0, 20_000, (2, 60_000))
    apart = truth[i] != truth[j]
    side = SideInformation.from_pairs(cannot=np.stack([i, j], axis=1)[apart], n_samples=20_000)
    found = side.feasible(4)
    if found.answer == "yes":
        assert not side.violated(found.colouring).any()
    assert side.feasible(6).answer == "yes"
    assert not side.violated(side.feasible(6).colouring).any()


@pytest.mark.parametrize("n_clusters", [0, -1, 2.5, None])
def test_the_number_of_clusters_has_to_be_one(n_clusters):
    with pytest.raises(SideInformationError, match="whole number from 1"):
        SideInformation.empty(3).feasible(n_clusters)
