"""Six members, three blocks of features times two settings, and the mean of their memberships."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sidelight.graph import query_neighbors
from sidelight.models._discriminative.features import SAME, Kernel, graph_features, unit
from sidelight.models._discriminative.run import (
    Fitted,
    Setting,
    imitate,
    log_memberships,
    minimise,
)
from sidelight.models._discriminative.statements import Terms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAREST = 5  # fitted rows whose mean is the membership of a new row by the graph


class Steps(NamedTuple):
    """Iterations: of imitation and of J for each start, then for what is kept.

    reuse : the second setting goes on from the first, and not from the start.
    large : features are stored by columns, and eigenvectors found in single precision: other
        rounding, in half of the time.
    """

    imitate: int
    compare: int
    finish: int
    reuse: bool
    large: bool = False


# With many rows starts are compared early, and the second setting goes on from the first: that
# costs .004 to .009 ARI and saves two thirds of the time.
FULL_ROWS = 2_000
FULL = Steps(40, 100, 100, False)
FAST = Steps(20, 25, 50, True)
LARGE = Steps(15, 20, 50, True, large=True)  # the first two on a sample
QUICK = Steps(15, 30, 20, True)  # for cross-fitting


class Member(NamedTuple):
    """A fitted classifier, its block of features, and its columns in the order of the committee."""

    block: str
    setting: Setting
    coef: Floats
    history: list[float]


class Committee(NamedTuple):
    """The state that `predict` needs."""

    scale: float  # of the block X
    kernel: Kernel
    fit_X: NDArray[Any]
    members: list[Member]
    by_graph: NDArray[Any]  # mean membership of the fitted rows by the graph members
    seed: int

    def memberships(self, X: NDArray[Any]) -> Floats:
        """Mean membership of rows over the members, in the metric of the fit."""
        X = X.astype(self.fit_X.dtype, copy=False)
        linear = X / X.dtype.type(self.scale)
        blocks = {"X": linear, "R": np.hstack([linear, self.kernel(X)])}
        total = np.zeros((len(X), self.by_graph.shape[1]))
        n_graph = 0
        for member in self.members:
            if member.block == "G":
                n_graph += 1
                continue
            total += np.exp(log_memberships(blocks[member.block], member.coef))
        if n_graph:
            total += n_graph * self._by_neighbors(X)
        return total / len(self.members)

    def _by_neighbors(self, X: NDArray[Any]) -> Floats:
        """Mean over the nearest fitted rows; a fitted row itself keeps its own membership."""
        found = query_neighbors(X, self.fit_X, NEAREST, random_state=self.seed)
        n_each = len(found.indices) // len(X)
        near = found.indices.reshape(len(X), n_each)
        same = found.distances.reshape(len(X), n_each) <= SAME * np.sqrt(X.shape[1])
        p = self.by_graph[near].mean(axis=1)
        twin = np.where(same, near, len(self.fit_X)).min(axis=1)
        is_twin = twin < len(self.fit_X)
        p[is_twin] = self.by_graph[twin[is_twin]]
        return p


def settings(n_clusters: int, stand_for: float = 1.0) -> list[Setting]:
    """The two settings; C grows with K, or columns without labels vanish.

    stand_for : the rows that each fitted row stands for.
    """
    more = max(1.0, n_clusters / 10)
    return [Setting(100.0 * more, 0.05 * stand_for), Setting(10.0 * more, 0.1 * stand_for)]


class Starts(NamedTuple):
    """Partitions to start from, and the rows on which they are compared.

    rows : None for all; labels : of these rows; terms : of the statements about them.
    share : of the weight of all statements.
    """

    labels: list[Ints]
    rows: Ints | None
    terms: Terms
    share: float = 1.0

    def taken(self, phi: NDArray[Any]) -> NDArray[Any]:
        """The features of the rows."""
        if self.rows is None:
            return phi
        return np.array(phi[self.rows], order="C" if phi.flags.c_contiguous else "F")

    def setting(self, of_all: Setting, n_samples: int) -> Setting:
        """The setting with which J of the rows is as J of all rows, times the share."""
        if self.rows is None:
            return of_all
        more = self.share * n_samples / len(self.rows)
        return Setting(of_all.ridge / self.share, of_all.entropy * more)


class Said(NamedTuple):
    """Memberships of the fitted rows by a committee: the mean and, for some rows, each member."""

    mean: Floats
    each: Floats  # (n_members, n_some, K)


def fit_committee(
    X: NDArray[Any],
    terms: Terms,
    starts: Starts,
    seed: int,
    steps: Steps,
    *,
    stand_for: float = 1.0,
    some: Ints | None = None,
    each_step: Callable[[], bool] | None = None,
) -> tuple[Committee, Said]:
    """Fit all members to rows in the learned metric.

    stand_for : the rows that each of them stands for; some : rows with memberships by each member.
    """
    n = len(X)
    X = X.astype(np.float64 if n <= FULL_ROWS else np.float32, copy=False)
    rng = np.random.default_rng(seed)
    kernel = Kernel.of(X, rng)
    graph = graph_features(X, terms.n_clusters, seed, single=steps.large)
    scale = unit(X)
    linear = X / X.dtype.type(scale)
    blocks = {
        "X": linear,
        "R": np.hstack([linear, kernel(X)]),
        "G": graph.columns.astype(X.dtype),
    }
    members: list[Member] = []
    total = np.zeros((n, terms.n_clusters))
    by_graph: list[Floats] = []
    each = []
    for name, phi in blocks.items():
        if steps.large:
            phi = np.asfortranarray(phi)
        for setting, fitted in _fit_block(phi, terms, starts, steps, each_step, stand_for):
            p = np.exp(log_memberships(phi, fitted.coef)).astype(np.float64)
            if name == "G":
                p = p[graph.first_twin]
            order = matched(total, p) if members else np.arange(terms.n_clusters)
            members.append(Member(name, setting, fitted.coef[:, order], fitted.history))
            total += p[:, order]
            if some is not None:
                each.append(p[some][:, order])
            if name == "G":
                by_graph.append(p[:, order])
    committee = Committee(scale, kernel, X, members, np.mean(by_graph, axis=0), seed)
    return committee, Said(total / len(members), np.array(each))


def _fit_block(
    phi: NDArray[Any],
    terms: Terms,
    starts: Starts,
    steps: Steps,
    step: Callable[[], bool] | None,
    stand_for: float,
) -> list[tuple[Setting, Fitted]]:
    """Both settings of one block, from the start with the lowest J at the first setting."""
    weak, strong = settings(terms.n_clusters, stand_for)
    some = starts.taken(phi)
    first_setting = starts.setting(weak, len(phi))

    def begin(start: Ints, setting: Setting) -> Floats:
        return _imitated(some, start, starts.terms, setting, steps.imitate)

    runs = [
        minimise(some, starts.terms, first_setting, begin(z, first_setting), steps.compare, step)
        for z in starts.labels
    ]
    best = int(np.argmin([run.objective for run in runs]))
    first = runs[best]
    if steps.reuse:
        more = minimise(phi, terms, weak, first.coef, steps.finish, step)
        of_all = starts.rows is None
        first = Fitted(more.coef, first.history + more.history[1:] if of_all else more.history)
        coef = first.coef
    else:
        coef = begin(starts.labels[best], strong)
    second = minimise(phi, terms, strong, coef, steps.finish, step)
    return [(weak, first), (strong, second)]


def _imitated(
    phi: NDArray[Any], start: Ints, terms: Terms, setting: Setting, n_steps: int
) -> Floats:
    """Coefficients that imitate a partition, as much as there are annotated rows."""
    n, K = len(phi), terms.n_clusters
    weight = max(len(terms.rows), 20, 0.02 * n) / n
    known = start >= 0
    target = np.full((n, K), 1.0 / K, dtype=phi.dtype)
    target[known] *= 0.1
    target[np.flatnonzero(known), start[known]] += 0.9
    coef = np.zeros((phi.shape[1] + 1, K))
    return imitate(phi, target, weight, setting.ridge, coef, n_steps)


def matched(total: Floats, p: Floats) -> Ints:
    """The order of columns of p that agrees most with the other members."""
    return np.asarray(linear_sum_assignment(total.T @ p, maximize=True)[1])
