"""Published strategies as generators: each yields a pair of rows and is sent the answer.

An answer is True (together), False (apart) or None (not known: the two are kept apart, and the
question is not repeated). What a strategy has found stands on its board.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from sidelight.query._structure import Floats, Ints

Steps = Generator[tuple[int, int], bool | None, None]


class Board:
    """What a strategy knows: answers about pairs, and groups of rows or a partition."""

    def __init__(self, X: Floats, seed: int) -> None:
        self.X = X
        self.rng = np.random.default_rng(seed)
        self.seed = seed % 2**31
        self.known: dict[tuple[int, int], bool | None] = {}
        self.labels: Ints = np.zeros(len(X), dtype=np.int64)
        self.groups: list[list[int]] = []  # rows that belong together; different groups do not
        self.fitted: tuple[int, Ints] | None = None  # clusters, and the answers they were made from

    def ask(self, i: int, j: int) -> Generator[tuple[int, int], bool | None, bool | None]:
        """Ask unless it is known."""
        key = (min(i, j), max(i, j))
        if key not in self.known:
            self.known[key] = yield key
        return self.known[key]

    def find_group(self, row: int, order: Any) -> Generator[tuple[int, int], bool | None, bool]:
        """Ask a row against one row of each group in turn; put it where it belongs, or apart."""
        for k in order:
            if (yield from self.ask(row, self.groups[k][0])):
                self.groups[k].append(row)
                return True
        return False


def k_means(X: Floats, n_clusters: int, seed: int) -> Ints:
    """Labels by scikit-learn's k-means; equal rows may leave fewer clusters."""
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(min(n_clusters, len(X)), n_init=3, random_state=seed).fit(X)
    return np.asarray(np.unique(found.labels_, return_inverse=True)[1])


def medoid(X: Floats, rows: Ints) -> int:
    """The row nearest to the mean of some rows."""
    return int(rows[np.argmin(((X[rows] - X[rows].mean(axis=0)) ** 2).sum(axis=1))])


# COBRA and COBRAS


def cobra(board: Board, n_super: int) -> Steps:
    """Merge the nearest super-instances, asking about their medoids, until all pairs are known."""
    cell = k_means(board.X, n_super, board.seed)
    parts = [np.flatnonzero(cell == k) for k in range(cell.max() + 1)]
    board.labels = cell
    yield from _merge(board, parts, list(range(len(parts))))


def _merge(board: Board, parts: list[Ints], cluster: list[int]) -> Steps:
    """Ask about pairs of super-instances, nearest first; cluster: IN/OUT.

    One pass is enough: two clusters that were known apart are so after any merge.
    """
    reps = np.array([medoid(board.X, rows) for rows in parts])
    apart = _known_apart(board, reps.tolist(), cluster)
    first, second = np.triu_indices(len(parts), 1)
    far = ((board.X[reps[first]] - board.X[reps[second]]) ** 2).sum(axis=1)
    for at in np.argsort(far, kind="stable"):
        a, b = cluster[int(first[at])], cluster[int(second[at])]
        if a == b or frozenset((a, b)) in apart:
            continue
        if (yield from board.ask(int(reps[first[at]]), int(reps[second[at]]))):
            cluster[:] = [a if k == b else k for k in cluster]
            apart = {frozenset(a if k == b else k for k in pair) for pair in apart}
            _write(board, parts, cluster)
        else:
            apart.add(frozenset((a, b)))


def _known_apart(board: Board, reps: list[int], cluster: list[int]) -> set[frozenset[int]]:
    """Pairs of clusters between which an answer was not "together"."""
    of_row = dict(zip(reps, cluster, strict=True))
    return {
        frozenset((of_row[i], of_row[j]))
        for (i, j), said in board.known.items()
        if said is not True and i in of_row and j in of_row
    }


def _write(board: Board, parts: list[Ints], cluster: list[int]) -> None:
    labels = np.empty(len(board.X), dtype=np.int64)
    for rows, k in zip(parts, cluster, strict=True):
        labels[rows] = k
    board.labels = np.unique(labels, return_inverse=True)[1]


def cobras(board: Board) -> Steps:
    """Split the largest super-instance as far as answers say, merge, and again.

    The board shows the last state in which everything was merged.
    """
    parts: list[Ints] = [np.arange(len(board.X))]
    cluster = [0]
    whole: set[bytes] = set()  # equal rows, which cannot be split
    while True:
        splittable = [
            k for k, rows in enumerate(parts) if len(rows) > 1 and rows.tobytes() not in whole
        ]
        if not splittable:
            return
        largest = max(splittable, key=lambda k: len(parts[k]))
        rows = parts[largest]
        level = yield from _split_level(board, rows)
        cell = k_means(board.X[rows], 2**level, board.seed)
        if cell.max() == 0:
            whole.add(rows.tobytes())
            continue
        del parts[largest], cluster[largest]
        top = max(cluster, default=-1) + 1
        new = [rows[cell == k] for k in range(cell.max() + 1)]
        parts += new
        cluster += range(top, top + len(new))
        shown = board.labels.copy()
        merging = _merge(board, parts, cluster)
        try:
            pair = next(merging)
            while True:
                board.labels = shown  # not before all is merged
                answer = yield pair
                pair = merging.send(answer)
        except StopIteration:
            _write(board, parts, cluster)


def _split_level(board: Board, rows: Ints) -> Generator[tuple[int, int], bool | None, int]:
    """How often a super-instance has to be halved until its halves belong together; at least 1."""
    level = 0
    while len(rows) > 1:
        cell = k_means(board.X[rows], 2, board.seed)
        if cell.max() == 0:
            break
        halves = [rows[cell == 0], rows[cell == 1]]
        answer = yield from board.ask(*(medoid(board.X, half) for half in halves))
        level += 1
        if answer:
            break
        rows = min(halves, key=len)
    return max(min(level, 10), 1)


# Neighbourhoods: Explore and Consolidate, MinMax, NPU


def explore(board: Board, n_clusters: int) -> Steps:
    """Farthest-first rows, until as many groups are known as there are clusters."""
    first = int(board.rng.integers(len(board.X)))
    board.groups = [[first]]
    near = ((board.X - board.X[first]) ** 2).sum(axis=1)
    while len(board.groups) < n_clusters and near.max() > 0:
        row = int(np.argmax(near))
        if not (yield from board.find_group(row, range(len(board.groups)))):
            board.groups.append([row])
        near = np.minimum(near, ((board.X - board.X[row]) ** 2).sum(axis=1))


def explore_consolidate(board: Board, n_clusters: int) -> Steps:
    """Explore, then random rows, each asked against the groups from the nearest on."""
    yield from explore(board, n_clusters)
    for row in board.rng.permutation(len(board.X)):
        if not any(row in group for group in board.groups):
            far = [_distance(board, int(row), group) for group in board.groups]
            yield from board.find_group(int(row), np.argsort(far, kind="stable"))


def _distance(board: Board, row: int, group: list[int]) -> float:
    return float(((board.X[row] - board.X[group].mean(axis=0)) ** 2).sum())


def min_max(board: Board, n_clusters: int) -> Steps:
    """Explore, then the row whose largest similarity to an asked row is smallest."""
    yield from explore(board, n_clusters)
    far = np.full(len(board.X), np.inf)
    for row in [row for group in board.groups for row in group]:
        far = np.minimum(far, ((board.X - board.X[row]) ** 2).sum(axis=1))
    tried = np.zeros(len(board.X), dtype=bool)
    tried[[row for group in board.groups for row in group]] = True
    while not tried.all():
        row = int(np.argmax(np.where(tried, -1.0, far)))
        tried[row] = True
        nearest = [
            min(float(((board.X[row] - board.X[k]) ** 2).sum()) for k in group)
            for group in board.groups
        ]
        yield from board.find_group(row, np.argsort(nearest, kind="stable"))
        far = np.minimum(far, ((board.X - board.X[row]) ** 2).sum(axis=1))


def npu(board: Board, n_clusters: int, fitted: Any) -> Steps:
    """The row whose group is most uncertain per expected question, by a forest of the clusters.

    ``fitted(board)`` gives the present clusters, from which the forest learns.
    """
    first = int(board.rng.integers(len(board.X)))
    board.groups = [[first]]
    tried = {first}
    forest = _Forest(board)
    while len(tried) < len(board.X):
        P = np.ones((len(board.X), 1))  # of one group every row is a part
        if len(board.groups) > 1:
            P = _group_shares(forest.leaves(fitted(board)), board.groups)
        entropy = -(P * np.log(np.maximum(P, 1e-12))).sum(axis=1)
        ranked = -np.sort(-P, axis=1)
        questions = np.maximum((ranked * np.arange(1, P.shape[1] + 1)).sum(axis=1), 1e-9)
        worth = entropy / questions
        worth[list(tried)] = -1.0
        row = int(board.rng.choice(np.flatnonzero(worth >= worth.max() - 1e-12)))
        tried.add(row)
        if not (yield from board.find_group(row, np.argsort(-P[row], kind="stable"))):
            board.groups.append([row])


class _Forest:
    """The leaves of all rows in a forest, which grows again only if the clusters have changed."""

    def __init__(self, board: Board) -> None:
        self._X, self._seed = board.X.astype(np.float32), board.seed
        self._last: tuple[Ints, Ints] | None = None  # clusters, and the leaves of their forest

    def leaves(self, labels: Ints) -> Ints:
        """The leaf of each row in each tree: (rows, trees)."""
        from sklearn.ensemble import RandomForestClassifier

        if self._last is None or not np.array_equal(labels, self._last[0]):
            forest = RandomForestClassifier(50, random_state=self._seed, n_jobs=1)
            self._last = labels, np.asarray(forest.fit(self._X, labels).apply(self._X))
        return self._last[1]


def _group_shares(leaf: Ints, groups: list[list[int]]) -> Floats:
    """Probability of each group for each row: mean similarity of leaves in a forest."""
    like = np.column_stack(
        [
            np.mean([(leaf == leaf[member]).mean(axis=1) for member in group], axis=0)
            for group in groups
        ]
    )
    total = like.sum(axis=1, keepdims=True)
    return np.where(total > 0, like / np.where(total > 0, total, 1.0), 1.0 / len(groups))
