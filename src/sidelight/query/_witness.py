"""Whether answers carry information, judged by predictions of the chains made before them.

An annotator says "must" with probability ``a + (c - a) p`` for a pair that the chains put together
with probability p. An annotator with knowledge has a < c, one who guesses a = c, one who says the
opposite a > c. Every answer multiplies the likelihood of each (a, c) on a grid, and nothing else is
kept. There are two of them: by the chains before the first answer, which no annotator can have
misled, and by the chains just before the answer, which know more. Under guesses the evidence for a
< c is a martingale, so it exceeds x nats in at most a share exp(-x) of all runs, at any time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.query._committee import Committee, Facts
from sidelight.query._structure import Floats, Ints

_RATES = np.linspace(0.025, 0.975, 20)
_LOW, _HIGH = np.meshgrid(_RATES, _RATES, indexing="ij")
# Chosen on iris, ecoli, digits, segmentation, vertebral and thyroid: after 50 to 100 answers those
# who guess had an estimated accuracy below .88, or less than 1 nat of evidence.
FIRST_JUDGED = 40  # pairs; before, every annotator counts who does not say the opposite
PROOF = 3.0  # nats of evidence that an annotator knows something
CLUE, GOOD = 1.0, 0.88  # less evidence is enough if the estimated accuracy is this high
# If neighbours say little about the classes, many answers that agree with each other are enough.
MANY, SURE, NO_CLUE = 70, 0.92, -1.0
# Nats of evidence for the opposite. Without audits every question is chosen, mostly where the first
# chains may be wrong, so honest answers contradict them too: then the 5 % level, which is PROOF.
CONTRARY = 2.5


class Witness(NamedTuple):
    """The evidence about each annotator."""

    n: Ints  # pairs, those between two labels included
    fit: NDArray[np.float64]  # (annotators, 2, rates, rates): log-likelihood of a and c

    @classmethod
    def of(cls, n_annotators: int) -> "Witness":
        size = len(_RATES)
        return cls(np.zeros(n_annotators, np.int64), np.zeros((n_annotators, 2, size, size)))

    def widened(self, n_annotators: int) -> "Witness":
        new = Witness.of(n_annotators - len(self.n))
        return Witness(np.append(self.n, new.n), np.concatenate([self.fit, new.fit]))

    def heard(self, annotator: int, chances: Floats, together: NDArray[np.bool_]) -> "Witness":
        """After some more pairs: chances (2, pairs) of "must", and whether it was said."""
        must = _LOW[..., None] + (_HIGH - _LOW)[..., None] * chances[:, None, None, :]
        n, fit = self.n.copy(), self.fit.copy()
        n[annotator] += len(together)
        fit[annotator] += np.log(np.where(together, must, 1.0 - must)).sum(axis=-1)
        return Witness(n, fit)

    def informative(self, annotator: int) -> float:
        """Evidence in nats that the annotator knows something, against guesses."""
        first, now = (_evidence(fit, _LOW < _HIGH) for fit in self.fit[annotator])
        return float(np.logaddexp(first, now) - np.log(2.0))

    def contrary(self, annotator: int) -> float:
        """Evidence in nats that the annotator says the opposite, against guesses."""
        return _evidence(self.fit[annotator, 0], _LOW > _HIGH)

    def is_credible(self, annotator: int, accuracy: float, *, is_audited: bool) -> bool:
        """Whether answers are used. Without audits, only opposite answers are excluded."""
        known = self.informative(annotator)
        limit = CONTRARY if is_audited else PROOF
        if self.contrary(annotator) - max(known, 0.0) > limit:
            return False
        n = self.n[annotator]
        if not is_audited or n < FIRST_JUDGED:
            return True
        agrees = n >= MANY and accuracy >= SURE
        if agrees and known >= NO_CLUE and self.contrary(annotator) <= 0:
            return True
        return known >= (CLUE if accuracy >= GOOD else PROOF)

    def is_proven(self, annotator: int) -> bool:
        """Whether more audits would add nothing about the annotator."""
        return self.informative(annotator) >= PROOF


def _evidence(fit: NDArray[np.float64], where: NDArray[np.bool_]) -> float:
    """Log of the mean likelihood in a region, less that of guesses."""
    return _log_mean(fit[where]) - _log_mean(np.diag(fit))


def _log_mean(logs: Floats) -> float:
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).mean()))


def spoken_pairs(facts: Facts, earlier: Facts, first: Committee) -> tuple[Ints, Ints, Ints]:
    """Pairs of rows of an answer, and whether it puts them together.

    A name is compared with two earlier names by the same annotator: of the row that the first
    chains put together with it most, and of the one that they put together with it least.
    """
    if facts.class_[0] < 0:
        return facts.i, facts.j, (facts.sign > 0).astype(np.int64)
    named = ~earlier.is_pair & (earlier.sign > 0) & (earlier.annotator == facts.annotator[0])
    named &= earlier.i != facts.i[0]
    others, names = earlier.i[named], earlier.class_[named]
    if facts.sign[0] < 0 or not len(others):
        return (np.empty(0, np.int64),) * 3
    near = first.together(np.full(len(others), facts.i[0]), others)
    ends = np.unique([int(np.argmax(near)), int(np.argmin(near))])
    same = (names[ends] == facts.class_[0]).astype(np.int64)
    return np.full(len(ends), facts.i[0]), others[ends], same
