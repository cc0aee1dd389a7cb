"""Calibrated probabilities, from held-out statements.

Two steps. A temperature flattens the probabilities of the clusters; all statements count for it.
Where labels were held back, a line through the log-odds then turns the probability of a row's own
cluster into the probability that the *name* of the cluster is right: a mixture that puts two
classes into one cluster is certain of the cluster at any temperature.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_softmax, logit, logsumexp, softmax

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A probability of zero would have no logarithm; no statement is surer than this.
SMALLEST = 1e-12
# Fewer held-out statements say too little about a temperature: its error is above a quarter.
ENOUGH = 20


class Calibration(NamedTuple):
    """Temperature that calibrates probabilities.

    Attributes
    ----------
    temperature : float
        Probabilities become p^(1/temperature), normalised; above 1 they were too sure.
    n_statements : int
        The held-out statements that it rests on.
    log_loss, log_loss_before : float
        Mean log loss on these statements, with the temperature and without.
    line : tuple of float, optional
        (a, b): the name of a row's cluster is right with the probability expit(a + b logit(p)), p
        being that of the cluster. None for fewer than 20 held-out labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.select import Calibration
    >>> Calibration(2.0, 100, 0.5, 0.9).apply(np.array([[0.9, 0.1]])).round(2).tolist()
    [[0.75, 0.25]]
    """

    temperature: float
    n_statements: int
    log_loss: float
    log_loss_before: float
    line: tuple[float, float] | None = None

    def apply(self, probabilities: Any) -> Floats:
        """The probabilities at this temperature, (n, K); rows add up to 1."""
        return softmax(_logarithms(probabilities) / self.temperature, axis=1)

    def confidence(self, probabilities: Any, labels: Any) -> Floats:
        """For each row the probability that the name of its cluster is right, if labels allow it.

        Without held-out labels it is the probability of the row's cluster at the temperature.
        """
        own = _own(self.apply(probabilities), np.asarray(labels))
        if self.line is None:
            return own
        a, b = self.line
        return expit(a + b * _log_odds(own))


class Judged(NamedTuple):
    """Held-out statements with their probabilities.

    label_p (m, K): probabilities of the labelled rows; label_column: the cluster that carries the
    class (-1: none does), label_cluster: the cluster that the row is in, -1 if it has no name.
    pair_p, pair_q (l, K): probabilities of both rows of the pairs, and must.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.select import Judged
    >>> p, nobody = np.array([[0.9, 0.1]]), np.empty((0, 2))
    >>> Judged(p, np.array([0]), np.array([0]), nobody, nobody, np.zeros(0, bool)).n_statements
    1
    """

    label_p: Floats
    label_column: Ints
    label_cluster: Ints
    pair_p: Floats
    pair_q: Floats
    must: NDArray[np.bool_]

    @property
    def n_statements(self) -> int:
        """All of them."""
        return len(self.label_column) + len(self.must)


def fit_temperature(judged: list[Judged]) -> Calibration | None:
    """The temperature of the lowest log loss over all folds; None with fewer than 20 statements.

    A label costs -log p of its class's cluster, a must-link -log sum_k p_ik p_jk, a cannot-link
    -log(1 - the same).

    Parameters
    ----------
    judged : list of Judged
        The held-out statements of each fold.

    Returns
    -------
    Calibration or None

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.select import Judged, fit_temperature
    >>> sure, cluster = np.array([[0.99, 0.01]] * 40), np.zeros(40, dtype=int)
    >>> wrong_twice = np.where(np.arange(40) < 10, 1, 0)
    >>> fold = Judged(sure, wrong_twice, cluster, sure[:0], sure[:0], np.zeros(0, dtype=bool))
    >>> found = fit_temperature([fold])
    >>> found.confidence(sure[:1], [0]).round(2).tolist()
    [0.75]
    """
    total = sum(fold.n_statements for fold in judged)
    if total < ENOUGH:
        return None

    def loss(log_temperature: float) -> float:
        return sum(_loss(fold, float(np.exp(log_temperature))) for fold in judged) / total

    # From a twentieth to a thousand: posteriors of many columns are far too certain.
    found = minimize_scalar(loss, bounds=(-3.0, 7.0), method="bounded", options={"xatol": 1e-4})
    flattened = Calibration(float(np.exp(found.x)), total, float(found.fun), loss(0.0))
    return flattened._replace(line=_fit_line(judged, flattened))


def mean_log_loss(judged: list[Judged]) -> float:
    """The mean log loss of all statements, by the probabilities as they are; NaN without any."""
    total = sum(fold.n_statements for fold in judged)
    return sum(_loss(fold, 1.0) for fold in judged) / total if total else float("nan")


def _fit_line(judged: list[Judged], flattened: Calibration) -> tuple[float, float] | None:
    """The line through the log-odds of the lowest log loss on held-out labels in named clusters.

    It is drawn to the identity as by a few statements, and never falls.
    """
    odds, right = [], []
    for fold in judged:
        named = fold.label_cluster >= 0
        p = flattened.apply(fold.label_p[named])
        odds.append(_log_odds(_own(p, fold.label_cluster[named])))
        right.append(fold.label_cluster[named] == fold.label_column[named])
    x, sign = np.concatenate(odds), np.where(np.concatenate(right), 1.0, -1.0)
    if len(x) < ENOUGH:
        return None

    def loss(line: Floats) -> float:
        a, b = line
        return float(-log_expit(sign * (a + b * x)).sum() + 0.125 * a**2 + 0.5 * (b - 1.0) ** 2)

    found = minimize(loss, np.array([0.0, 1.0]), bounds=[(None, None), (0.0, None)])
    return float(found.x[0]), float(found.x[1])


def _own(probabilities: Floats, labels: Ints) -> Floats:
    return probabilities[np.arange(len(labels)), labels]


def _log_odds(p: Floats) -> Floats:
    return logit(np.clip(p, SMALLEST, 1 - SMALLEST))


def _logarithms(probabilities: Any) -> Floats:
    return np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), SMALLEST))


def _loss(fold: Judged, temperature: float) -> float:
    lost = 0.0
    if len(fold.label_column):
        log_p = log_softmax(_logarithms(fold.label_p) / temperature, axis=1)
        own = log_p[np.arange(len(log_p)), fold.label_column]
        lost -= np.where(fold.label_column >= 0, own, np.log(SMALLEST)).sum()
    if len(fold.must):
        p, q = (
            log_softmax(_logarithms(x) / temperature, axis=1) for x in (fold.pair_p, fold.pair_q)
        )
        same = np.minimum(logsumexp(p + q, axis=1), -SMALLEST)
        lost -= np.where(fold.must, same, np.log(-np.expm1(same))).sum()
    return float(lost)
