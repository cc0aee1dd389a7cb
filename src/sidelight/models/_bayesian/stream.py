"""BayesianMixture on a stream: what `partial_fit` keeps from one batch to the next.

The posteriors follow from averages over the rows, as in stochastic inference. Of the statements
about earlier rows, the memberships of the rows of each class are kept: a label in this batch
attracts and repels together with all labels before it. Pairs are about rows of one batch.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.blocks import as_blocks
from sidelight.models._bayesian.run import (
    Problem,
    Run,
    Theta,
    divergence,
    expected,
    potential_between,
)
from sidelight.models._bayesian.statements import Couplings, Memory, SomeCouplings, Strength, nats
from sidelight.models._bayesian.stochastic import Averages, StepSizes, of_batch, shares_alone
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Key = tuple[Any, Any]  # vocabulary (None: shared) and class


class Groups(NamedTuple):
    """Per class, per row of the stream: memberships of its rows times what the labels weigh.

    attract, repel and deny are in nats (see `Couplings`), votes in weights; all (classes, T).
    """

    keys: tuple[Key, ...]
    attract: Floats
    repel: Floats
    deny: Floats
    votes: Floats

    @classmethod
    def of(
        cls, side: SideInformation, strength: Strength, phi: "Shares", n_rows: float
    ) -> "Groups":
        """Of the label statements about some rows."""
        said, keys = side.canonical.take(side.canonical.is_class), tuple(side.class_columns.names)
        column = side.class_columns.find(said.vocabulary, said.class_code)
        must = nats(side, said, strength.must, "side_weight", strength.per_label)
        cannot = nats(side, said, strength.cannot, "cannot_weight", strength.per_label)
        of_rows = phi.of_rows(said.i)
        tables = []
        for sign, value in ((1, must), (1, cannot), (-1, cannot), (1, 1.0)):
            weight = np.where(said.sign == sign, said.weight * value, 0.0) / n_rows
            table = np.zeros((len(keys), of_rows.shape[1]))
            np.add.at(table, column, weight[:, None] * of_rows)
            tables.append(table)
        return cls(keys, *tables)

    def blended(self, other: "Groups", rho: float) -> "Groups":
        """A step of size rho towards another; a class that only one of them knows has 0 there."""
        place: dict[Any, int] = {}
        for v, c in (*self.keys, *other.keys):
            place.setdefault((v, type(c), c), len(place))
        keys = tuple((v, c) for v, _, c in place)
        tables = []
        for mine, theirs in zip(self[1:], other[1:], strict=True):
            table = np.zeros((len(keys), mine.shape[1]))
            for known, values, share in ((self.keys, mine, 1.0 - rho), (other.keys, theirs, rho)):
                at = np.array([place[v, type(c), c] for v, c in known], dtype=np.int64)
                table[at] += share * values
            tables.append(table)
        return Groups(keys, *tables)

    def memory(self, n_rows: float) -> Memory:
        """Effect of the groups of earlier rows on a new row."""
        tables = (n_rows * self.attract, n_rows * self.repel, n_rows * self.deny)
        return Memory.of_tables(self.keys, tables)

    def as_side(self, n_components: int) -> SideInformation:
        """The votes as labels of the components, to name these by."""
        c, k = np.nonzero(self.votes)
        return SideInformation.from_columns(
            "label",
            k,
            class_=[self.keys[j][1] for j in c],
            vocabulary=[self.keys[j][0] for j in c],
            weight=self.votes[c, k],
            n_samples=n_components,
        )


class Shares(NamedTuple):
    """Memberships of all rows: those of rows with neighbours, the others by their label."""

    labels: NDArray[np.int32]
    near: Ints
    near_phi: Floats
    n_components: int

    def of_rows(self, rows: Ints) -> Floats:
        """Memberships of some rows, (rows, T)."""
        phi = np.zeros((len(rows), self.n_components))
        phi[np.arange(len(rows)), self.labels[rows]] = 1.0
        if len(self.near):
            place = np.searchsorted(self.near, rows)
            known = np.flatnonzero(np.append(self.near, -1)[place] == rows)
            phi[known] = self.near_phi[place[known]]
        return phi


class Stream(NamedTuple):
    """All that is kept: how many rows there were, and averages over them."""

    n_rows: int
    n_batches: int
    averages: Averages
    groups: Groups

    @classmethod
    def after(
        cls, run: Run, problem: Problem, side: SideInformation, strength: Strength
    ) -> "Stream":
        """As `fit` leaves it."""
        n, T = side.n_samples, len(run.theta.weights.log)
        shares = Shares(run.labels, problem.couplings.rows, run.near_phi, T)
        averages = Averages.of(run.step.mass, run.step.statistics, n)
        return cls(n, 1, averages, Groups.of(side, strength, shares, n))


class Arrival(NamedTuple):
    """Result of a batch: labels of its rows, posteriors, and an estimate of the bound."""

    stream: Stream
    theta: Theta
    labels: NDArray[np.int32]
    bound: float


def advance(
    stream: Stream,
    problem: Problem,
    theta: Theta,
    X: Any,
    side: SideInformation,
    *,
    strength: Strength,
    potential: str,
    step_sizes: StepSizes,
    total: float | None,
) -> Arrival:
    """One step with the rows X that ``side`` is about; problem has their emission and prior.

    t counts the rows before this batch in batches of its size, so that a batch of one row moves
    little, and batches of one size count 1, 2, 3, … . ``total`` is N, by default the rows so far.
    """
    n_batch = X.shape[0]
    couplings = Couplings.of(side, strength, stream.groups.memory(stream.n_rows))
    n_own = int(np.searchsorted(couplings.rows, n_batch))
    some = _couplings_of_batch(couplings, n_own, stream, problem, theta, X)
    is_potts = potential == "potts" or not n_own
    V = None if is_potts else potential_between(problem, theta)
    alone, state = of_batch(problem, some, X)
    step = expected(alone, theta, state, V)
    own = couplings.rows[:n_own]
    state.labels[own] = state.near_phi.argmax(axis=1) if n_own else 0
    n_rows = stream.n_rows + n_batch
    n_all = float(n_rows if total is None else total)
    bound = n_all / n_batch * step.bound - divergence(problem, theta)
    rho = step_sizes(n_rows / n_batch)
    averages = stream.averages.blended(Averages.of(step.mass, step.statistics, n_batch), rho)
    shares = Shares(state.labels, own, state.near_phi, len(theta.weights.log))
    groups = stream.groups.blended(Groups.of(side, strength, shares, n_batch), rho)
    grown = Stream(n_rows, stream.n_batches + 1, averages, groups)
    return Arrival(grown, averages.theta(problem, n_all), state.labels, bound)


def _couplings_of_batch(
    couplings: Couplings, n_own: int, stream: Stream, problem: Problem, theta: Theta, X: Any
) -> SomeCouplings:
    """The rows of the batch that are coupled, to each other and to what is remembered."""
    remembered = stream.groups.memory(stream.n_rows).phi
    own = couplings.rows[:n_own]
    phi = np.empty((len(couplings.rows), len(theta.weights.log)))
    phi[:n_own] = shares_alone(problem, as_blocks(X[own]), theta)
    phi[n_own:] = remembered
    return SomeCouplings(own, np.arange(n_own), couplings, phi, couplings.sums(phi))
