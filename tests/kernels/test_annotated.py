"""Every move's gain against recomputing the objective from its definition."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaincc, gammaln

from oracles_annotated import annotated_objective
from sidelight._kernels import annotated as kernels
from sidelight._kernels import annotated_moves as moves
from sidelight.blocks import as_blocks
from sidelight.models._centers import plus_plus
from sidelight.models._gaussian.search import Problem, Search, kmeans, sums_of_squares
from sidelight.models._gaussian.statements import Annotations
from sidelight.side import SideInformation


def from_python(part):
    """A part of a kernel, which only kernels can call, as a function."""
    return numba.njit(lambda *arguments: part(*arguments))


move_gains, move_row = from_python(kernels.move_gains), from_python(kernels.move_row)
joint_gain, try_together = from_python(moves.joint_gain), from_python(moves.try_together)
swap_chains, move_chunklets = from_python(moves.swap_chains), from_python(moves.move_chunklets)
gather_chain, is_known = from_python(moves.gather_chain), from_python(moves.is_known)
sweep, move_together = from_python(moves.sweep), from_python(moves.move_together)
objective = from_python(kernels.objective)

VARIANTS = [
    ("bernoulli", None),
    ("bernoulli", 0.8),
    ("bernoulli", {"ann": 0.3, None: 1.0}),
    ("sbm", None),
    ("sbm", 0.9),
    ("sbm", 1.0),
]
SETTINGS = [("spherical", 1.0), ("diag", 1.0), ("spherical", 0.0), ("diag", 0.5)]


WEIGHTS = ([0.0, 0.5, 1.0, 1.0, 2.5], [0.0, 1.0, 1.0, 2.0])  # the second are looked up in tables


def statements(n, n_statements, weights, rng):
    """All kinds, two annotators and nobody, two vocabularies, weights, repetitions, self pairs."""
    kind = rng.choice(["must", "cannot", "label", "not_label"], n_statements)
    labels = np.isin(kind, ["label", "not_label"])
    j = rng.integers(n, size=n_statements).astype(object)
    j[labels] = None
    class_ = rng.choice(["a", "b", "c", "d", "e"], n_statements).astype(object)
    vocabulary = rng.choice([None, None, "mine"], n_statements).astype(object)
    class_[~labels] = None
    vocabulary[~labels] = None
    return SideInformation.from_columns(
        kind,
        rng.integers(n, size=n_statements),
        j,
        class_=class_,
        weight=rng.choice(weights, n_statements),
        annotator=rng.choice(["ann", "bob", None], n_statements),
        vocabulary=vocabulary,
        n_samples=n,
        self_pairs="keep",
    )


class Case:
    def __init__(self, seed, annotation_model, accuracy, covariance_type, variance_prior, n=40):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 3)) + 100.0
        self.side = statements(n, 60, WEIGHTS[seed % 2], rng)
        self.n_clusters = 4
        self.options = {"annotation_model": annotation_model, "accuracy": accuracy}
        said = Annotations.of(self.side, 4, annotation_model, accuracy)
        problem = Problem.of(as_blocks(self.X), 4, covariance_type, said)
        start = plus_plus(problem.rows, None, np.empty((0, 3)), 4, rng)
        sse = sums_of_squares(problem, *kmeans(problem, start))
        self.problem = problem.with_model(variance_prior, sse)
        labels = rng.integers(4, size=n).astype(np.int32)
        labels[:8] = [0, 1, 2, 3] * 2
        self.search = Search(self.problem, labels, rng.permutation(len(said.annotated)))
        model = self.problem.model
        self.options |= {
            "diagonal": covariance_type == "diag",
            "prior_weight": variance_prior,
            "prior_variance": model.variance,
            "floor": model.floor,
        }

    def defined(self):
        """The objective of the labels as they are now, from its definition."""
        said = self.problem.annotations
        labels = self.search.labels.astype(np.int64)
        labels[said.annotated] = self.search.state.labels
        columns = zip(
            said.column_vocabulary, said.column_class, self.search.cluster_of, strict=True
        )
        cluster_of = {(int(v), int(c)): int(k) for v, c, k in columns}
        return annotated_objective(
            self.X, self.side, labels, self.n_clusters, cluster_of, **self.options
        )

    def kept(self):
        return objective(self.problem.model, self.search.state, self.search.layers)

    def fixed(self):
        search = self.search
        return search.rows, search.cluster_of, search.model

    def work(self):
        search = self.search
        return search.margin, search.state, search.layers, search.scratch


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("covariance_type", "variance_prior"), SETTINGS)
@pytest.mark.parametrize(("annotation_model", "accuracy"), VARIANTS, ids=str)
def test_gain_of_every_single_move_is_the_difference_of_the_definition(
    annotation_model, accuracy, covariance_type, variance_prior, seed
):
    case = Case(seed, annotation_model, accuracy, covariance_type, variance_prior)
    search = case.search
    before = case.defined()
    assert search.value == pytest.approx(before, abs=1e-9)
    rng = np.random.default_rng(seed)
    for i in rng.permutation(len(search.order))[:12]:
        for to in range(case.n_clusters):
            own = search.state.labels[i]
            move_gains(*case.fixed(), search.state, i, search.layers, search.scratch)
            gain = search.scratch.gain[to]
            if to == own:
                continue
            move_row(*case.fixed(), search.state, i, to, search.layers)
            after = case.defined()
            assert gain == pytest.approx(after - before, abs=1e-9)
            assert case.kept() == pytest.approx(after, abs=1e-9)
            before = after


@pytest.mark.parametrize(("covariance_type", "seed"), [("spherical", 1), ("diag", 2)])
@pytest.mark.parametrize(("annotation_model", "accuracy"), VARIANTS, ids=str)
def test_gain_of_rows_that_move_together_is_the_difference_of_the_definition(
    annotation_model, accuracy, covariance_type, seed
):
    case = Case(seed, annotation_model, accuracy, covariance_type, 1.0)
    search, scratch = case.search, case.search.scratch
    rng = np.random.default_rng(2)
    before = case.defined()
    for size in (1, 2, 5, 12):
        members = rng.choice(len(search.order), size, replace=False)
        shift = rng.integers(1, case.n_clusters, size)
        scratch.members[:size] = members
        scratch.goes_to[members] = (search.state.labels[members] + shift) % case.n_clusters
        gain = joint_gain(*case.fixed(), size, search.state, search.layers, scratch)
        told = try_together(*case.fixed(), -1e9, size, *case.work())
        after = case.defined()
        assert told == gain == pytest.approx(after - before, abs=1e-9)
        assert case.kept() == pytest.approx(after, abs=1e-9)
        assert (scratch.goes_to == -1).all()
        before = after


def test_rows_that_would_leave_a_cluster_too_small_stay_together():
    case = Case(0, "bernoulli", None, "spherical", 0.0)
    search, scratch = case.search, case.search.scratch
    members = np.flatnonzero(search.state.labels == 0)
    extra = int(search.state.counts[0]) - len(members)
    assert extra < 2 <= len(members)
    scratch.members[: len(members)] = members
    scratch.goes_to[members] = 1
    before = search.state.labels.copy()
    assert try_together(*case.fixed(), -1e9, len(members), *case.work()) == 0.0
    assert_array_equal(search.state.labels, before)


@pytest.mark.parametrize(("annotation_model", "accuracy"), VARIANTS, ids=str)
def test_sweeps_and_compound_moves_gain_what_they_say(annotation_model, accuracy):
    case = Case(3, annotation_model, accuracy, "spherical", 1.0)
    search, said = case.search, case.problem.annotations
    fixed = (*case.fixed()[1:], 1e-10)
    work = case.work()
    chunks = (said.chunk_span, said.chunk_rows)
    steps = [
        lambda: sweep(search.rows, search.order, *fixed, np.inf, *work)[:2],
        lambda: swap_chains(search.rows, search.order, *fixed, True, 256, *work),
        lambda: swap_chains(search.rows, search.order, *fixed, False, 256, *work),
        lambda: move_chunklets(search.rows, *chunks, *fixed, *work),
        lambda: move_together(search.rows, search.order, *chunks, *fixed, 256, *work),
    ]
    n_moves = 0
    for step in (*steps[1:], *steps):
        before = case.defined()
        gain, moved = step()
        assert gain >= 0
        assert case.defined() - before == pytest.approx(gain, abs=1e-8)
        assert case.kept() == pytest.approx(case.defined(), abs=1e-8)
        n_moves += moved
    assert n_moves > 5


@pytest.mark.parametrize(("annotation_model", "accuracy"), VARIANTS, ids=str)
def test_climb_ends_where_no_move_gains_and_at_once_where_it_is_known(annotation_model, accuracy):
    def climb(known):
        case = Case(5, annotation_model, accuracy, "spherical", 1.0)
        search, said = case.search, case.problem.annotations
        chunks = (said.chunk_span, said.chunk_rows)
        work = case.work()
        value, n_tests = moves.climb(
            search.rows, search.order, *chunks, known, *case.fixed()[1:], search.value, 1e-9, 1.0,
            256, *work,
        )  # fmt: skip
        assert n_tests > 0
        fixed = (*case.fixed()[1:], 1e-9)
        further = sweep(search.rows, search.order, *fixed, np.inf, *work)[1]
        further += move_together(search.rows, search.order, *chunks, *fixed, 256, *work)[1]
        assert value == pytest.approx(case.defined(), abs=1e-8) or further
        return value, further, np.sort(search.state.counts)

    value, further, sizes = climb(np.zeros((0, 5)))
    assert further == 0
    end = np.concatenate([[value], sizes])[None, :]
    assert climb(end)[:2] == (value, 0)
    # A start that is known is an end.
    case = Case(5, annotation_model, accuracy, "spherical", 1.0)
    known = np.concatenate([[case.search.value], np.sort(case.search.state.counts)])[None, :]
    assert is_known(known, *known_of(case))
    assert not is_known(known + 1.0, *known_of(case))


def known_of(case):
    return case.search.value, case.search.state.counts, np.zeros(case.n_clusters)


def test_tables_say_what_the_functions_say():
    rng = np.random.default_rng(0)
    for weight in (1.0, 0.5):
        side = SideInformation.from_pairs(
            must=np.column_stack([np.arange(15), rng.integers(20, 40, 15)]),
            cannot=np.column_stack([np.arange(15), rng.integers(20, 40, 15)]),
            n_samples=40,
            weight=weight,
        )
        blocks = Annotations.of(side, 3, "sbm", None)
        x = np.arange(1.0, 61.0)
        people = Annotations.of(side, 3, "bernoulli", None)
        if weight == 1.0:
            assert_allclose(blocks.layers.x_log_x_of[1:], x * np.log(x))
            agreed = np.arange(31.0)
            expected = gammaln(agreed + 2) + gammaln(30 - agreed + 1)
            expected += np.log(betaincc(agreed + 2, 30 - agreed + 1, 0.5))
            assert_allclose(people.term_of[people.term_span[-2] :], expected)
        else:
            assert len(blocks.layers.x_log_x_of) == len(people.term_of) == 0


@pytest.mark.parametrize(("annotation_model", "accuracy"), VARIANTS, ids=str)
def test_no_step_of_a_local_search_lowers_the_definition(annotation_model, accuracy):
    case = Case(4, annotation_model, accuracy, "spherical", 1.0, n=80)
    search = case.search
    values = [case.defined()]
    for _ in range(4):
        for step in (search._relocate, search.settle, search._move_together):
            step()
            values.append(case.defined())
            assert search.value == pytest.approx(values[-1], abs=1e-8)
    assert (np.diff(values) > -1e-8).all()
    assert values[-1] > values[0]


def test_kempe_chain_keeps_the_statements_that_hold():
    X = np.zeros((6, 1))
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2), (2, 3)], n_samples=6)
    said = Annotations.of(side, 3, "bernoulli", None)
    problem = Problem.of(as_blocks(X), 3, "spherical", said).with_model(1.0, np.array([3.0]))
    search = Search(problem, np.array([0, 0, 1, 0, 2, 2], dtype=np.int32), np.arange(4))
    scratch = search.scratch

    def chain(start, with_cannot, limit=256):
        scratch.seen[:] = 0
        n, same = gather_chain(
            search.rows, search.state, start, 0, 1, with_cannot, limit, 1, scratch
        )
        return n, sorted(scratch.members[: min(n, 4)].tolist()), same

    assert chain(0, False) == (2, [0, 1], False)
    assert chain(0, True) == (4, [0, 1, 2, 3], False)
    assert chain(0, True, limit=2)[0] == 3
    search.state.labels[2] = 2  # the cannot-links hold, but not between clusters 0 and 1
    assert chain(0, False) == chain(0, True) == (2, [0, 1], True)
