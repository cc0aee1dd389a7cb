"""The population search: who breeds, what a child gets, who survives."""

import time
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sidelight.blocks import as_blocks
from sidelight.models._fitting import Deadline
from sidelight.models._population import (
    Plan,
    crossover,
    evolve,
    mutated,
    signatures,
    survivors,
)


class Point(NamedTuple):
    """A solution in one dimension: the nearer to 7, the better."""

    genes: float
    counts: np.ndarray

    @property
    def objective(self):
        return -abs(self.genes - 7.0)


class Problem(NamedTuple):
    rows: object


def start(problem, common, value):
    return Point(value, np.array([value, 0.0]))


def breed(problem, common, one, two, known, rng):
    common.append((one, two, len(known)))
    value = (one + two) / 2 + rng.normal()
    return Point(value, np.array([value, 0.0]))


def search(seed=0, seen=None, **changes):
    plan = {"n_init": 4, "n_generations": 6, "population_size": 10, "n_jobs": None}
    plan = Plan(**{"deadline": Deadline(np.inf), **plan, **changes})
    starts = [(float(v),) for v in (1, 2, 3, 4)]
    problem = Problem(as_blocks(np.zeros((3, 1))))
    return evolve(
        problem, [] if seen is None else seen, plan, start=start, starts=starts, breed=breed,
        rng=np.random.default_rng(seed),
    )  # fmt: skip


def test_the_best_is_kept_and_the_history_never_falls():
    found = search()
    assert len(found.history) == 7
    assert (np.diff(found.history) >= 0).all()
    assert found.history[-1] == found.population[0].objective > found.history[0]
    scores = [member.objective for member in found.population]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 4


def test_the_answer_depends_on_the_seed_and_not_on_threads():
    assert search(seed=1).population[0].genes == search(seed=1, n_jobs=3).population[0].genes
    assert search(seed=1).population[0].genes != search(seed=2).population[0].genes


def test_children_know_the_solutions_that_there_are():
    seen = []
    search(seen=seen, n_generations=1)
    assert [known for _, _, known in seen] == [4] * 6


def test_larger_tournaments_have_better_parents():
    def mean_parent(tournament):
        seen = []
        search(seen=seen, n_generations=1, population_size=2_004, tournament=tournament)
        return np.mean([[one, two] for one, two, _ in seen])

    assert mean_parent(1) == pytest.approx(2.5, abs=0.1)  # the mean of all
    assert mean_parent(2) == pytest.approx(3.125, abs=0.1)  # 4 with 7/16, 3 with 5/16, …


def test_when_the_time_is_over_one_start_is_made_all_the_same():
    found = search(deadline=Deadline(time.monotonic() - 1.0))
    assert [member.genes for member in found.population] == [1.0]
    assert len(found.history) == 1


def test_crossover_pairs_the_nearest_centres_but_for_those_that_are_not_free():
    one = np.array([[0.0], [10.0], [20.0], [30.0]])
    two = np.array([[0.5], [30.5], [10.5], [20.5]])
    seen = set()
    for seed in range(50):
        child = crossover(one, two, np.arange(4), np.random.default_rng(seed))
        assert_array_equal(np.round(child - one, 1) % 0.5, 0.0)
        assert (np.abs(child - one) <= 0.5).all()
        seen.add(tuple((child != one)[:, 0]))
    assert len(seen) > 8  # each pair by a coin of its own
    child = [crossover(one, two, np.array([0, 1]), np.random.default_rng(s))[2] for s in range(20)]
    assert set(np.concatenate(child)) == {20.0, 10.5}


def test_mutation_moves_one_centre_to_a_row():
    rows = as_blocks(np.array([[100.0], [200.0]]))
    centers = np.arange(5.0)[:, None]
    for seed in range(10):
        child = mutated(rows, centers, np.random.default_rng(seed))
        changed = np.flatnonzero(child != centers)
        assert len(changed) == 1
        assert child[changed[0], 0] in (100.0, 200.0)
    assert_array_equal(centers, np.arange(5.0)[:, None])


class Solution(NamedTuple):
    objective: float
    counts: np.ndarray


def test_clones_are_removed_before_the_best_survive():
    cases = [(1, [2, 3]), (5, [1, 4]), (5, [4, 1]), (5, [2, 3])]
    population = [Solution(objective, np.array(counts)) for objective, counts in cases]
    kept = survivors(population, 3)
    assert [(s.objective, s.counts.tolist()) for s in kept] == [
        (5, [1, 4]),
        (5, [2, 3]),
        (1, [2, 3]),
    ]
    assert_array_equal(signatures(population)[2], [5, 1, 4])
