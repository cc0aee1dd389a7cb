"""Scores of a partition by held-out statements."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SideInformationError
from sidelight.results import ClusterResult
from sidelight.select._calibration import Judged, mean_log_loss
from sidelight.select._fits import Partition
from sidelight.side import KINDS, LABEL, MUST, Agreement, SideInformation, dyadic_error

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# With that many statements asked at random, only these are judged: questions that were chosen sit
# on the boundaries of clusters and are a biased test.
ENOUGH_AUDITS = 30
# From this chance on a figure says nothing, as with labels of one class.
_NO_TEST = 0.98


class Kept(NamedTuple):
    """Held-out statements of one kind by one annotator, and the share of them that is right.

    Examples
    --------
    >>> from sidelight.select import Kept
    >>> Kept("must", "ann", 20, 0.9).share_right
    0.9
    """

    kind: str
    annotator: Any
    n_statements: int
    share_right: float


@dataclass(frozen=True)
class StatementScores:
    """Scores of a partition by held-out statements.

    Parameters
    ----------
    n_statements : int
        How many statements were judged.
    share_right : float
        The share of them, by weight, that the partition keeps.
    standard_error : float
        Of ``share_right``; statements that share a row are taken to depend on each other. NaN for
        one statement.
    chance : float
        The share that would be right if the rows' clusters had nothing to do with the statements:
        the same clusters, dealt to the held-out rows at random.
    score : float
        Mean of two F-scores over pairs of rows, with must and with cannot as the positive answer;
        labels count by the pairs that they imply. Models are compared by it.
    score_error : float
        Of ``score``, likewise.
    log_loss : float or None
        Mean negative logarithm of the probability of each statement; None without probabilities.
    ceiling : float or None
        The share of correct statements, by the accuracy of the annotators: no model can be
        expected to keep more. None where accuracies are not estimated.
    by_kind_and_annotator : tuple of Kept
        The shares of each kind and annotator.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.select import statement_scores
    >>> held = SideInformation.from_pairs(must=[(0, 1), (2, 3)], cannot=[(0, 2)], n_samples=4)
    >>> statement_scores([0, 0, 1, 0], held).in_words()
    'Of 3 statements held back, 67% ± 27% were right (chance 54%).'
    """

    n_statements: int
    share_right: float
    standard_error: float
    chance: float
    score: float = float("nan")
    score_error: float = float("nan")
    log_loss: float | None = None
    ceiling: float | None = None
    by_kind_and_annotator: tuple[Kept, ...] = ()

    @property
    def relative(self) -> float | None:
        """``share_right`` over the ceiling; above 1 a model repeats what annotators got wrong."""
        return None if not self.ceiling else self.share_right / self.ceiling

    def in_words(self) -> str:
        """One sentence."""
        if not self.n_statements:
            return "No statement could be held back: every fold cuts through all of them."
        error = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:.0%}"
        most = "" if self.ceiling is None else f"; the annotators are right in {self.ceiling:.0%}"
        told = (
            f"Of {self.n_statements:,} statements held back, {self.share_right:.0%}{error} were "
            f"right (chance {self.chance:.0%}{most})."
        )
        return told + self._doubt()

    def _doubt(self) -> str:
        """Why a high figure says little, and what to ask; "" where it says something."""
        if {kept.kind for kept in self.by_kind_and_annotator} == {"must"}:
            return " One cluster would keep all of these must-links: ask about rows that are apart."
        if self.chance < _NO_TEST:
            return ""
        return " Any answer would be right: ask about rows that are apart, or of other classes."


def statement_scores(
    result: Any,
    held_out: SideInformation,
    *,
    X: Any = None,
    accuracy: Any = None,
    known: SideInformation | None = None,
) -> StatementScores:
    """Score a partition by held-out statements.

    `sidelight.metrics.statement_scores` counts the statements of a fit that are kept; this one
    is for statements that the fit was not given.

    Parameters
    ----------
    result : ClusterResult, fitted model or array of shape (n_samples,)
        A partition of all rows. For an array, classes are matched to clusters by the labels of
        ``known``, or else of ``held_out``, which makes the scores too optimistic.
    held_out : SideInformation
        Statements about the same rows that were not used for the partition.
    X : array, data frame or sparse matrix, optional
        The data of the fit, for the log loss of models with probabilities.
    accuracy : float or dict, optional
        How often annotators are right: a number for all, or by annotator. By default what the
        model estimates, where there are two annotators at least.
    known : SideInformation, optional
        Statements that name clusters, where ``result`` is an array.

    Returns
    -------
    StatementScores

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans, SideInformation
    >>> from sidelight.select import statement_scores
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = PartitionLevelKMeans(random_state=0).fit(X, ["a", None, None, "b", None, None])
    >>> held = SideInformation.from_pairs(must=[(1, 2)], cannot=[(2, 4), (1, 5)], n_samples=6)
    >>> found = statement_scores(model, held)
    >>> found.share_right, found.score
    (1.0, 1.0)
    """
    result = getattr(result, "result_", result)
    if isinstance(result, ClusterResult):
        partition = Partition.of_result(result, X)
    else:
        partition = Partition.of_labels(result, held_out if known is None else known)
    if partition.labels.shape != held_out.shape:
        raise SideInformationError(
            f"the partition has {len(partition.labels):,} rows and the statements are about "
            f"{held_out.n_samples:,}; give statements about the same rows."
        )
    judged = judge(partition, held_out, np.ones(held_out.n_statements, dtype=bool))
    return summarize([judged], held_out, accuracy=accuracy)


class Judgement(NamedTuple):
    """One fit judged by statements that it has not seen; arrays have one entry for each."""

    statement: Ints  # the number of each among all statements
    right: Floats
    weight: Floats
    by_chance: Floats
    agreement: Agreement
    judged: Judged | None
    accuracy: dict[Any, float] | None


def judge(
    partition: Partition,
    side: SideInformation,
    held: NDArray[np.bool_],
    *,
    weight: Floats | None = None,
) -> Judgement:
    """Which held-out statements a partition keeps, and how probable it takes them to be.

    held : which statements of ``side`` to judge. weight : what their own weights are multiplied by.
    """
    held_out = side.where(held)
    factor = np.ones(held_out.n_statements) if weight is None else weight[held]
    said = held_out.statements
    binding = said.binding & (factor > 0)
    agreement = Agreement.of(held_out, partition.labels, weight=factor)
    said, factor = said.take(binding), factor[binding]
    labels = partition.labels
    home = partition.clusters_of(held_out)[said.vocabulary, said.class_code]
    of_i = labels[said.i]
    # A share of clusters stands for chance: how often any row would be in that one, or any two
    # rows in one. Rows of no cluster (−1) are in none.
    seen = labels[said.rows]
    share = np.bincount(seen[seen >= 0], minlength=partition.n_clusters) / max(len(seen), 1)
    together = float((share**2).sum())
    agree = (of_i >= 0) & np.where(said.is_pair, of_i == labels[said.j], of_i == home)
    likely = np.where(said.is_pair, together, np.where(home >= 0, np.append(share, 0.0)[home], 0.0))
    right = np.where(said.sign > 0, agree, ~agree)
    by_chance = np.where(said.sign > 0, likely, 1.0 - likely)
    weights = said.weight * factor
    judged = None
    if partition.probabilities is not None:
        judged = _by_probabilities(partition, said, home)
    return Judgement(
        np.flatnonzero(held)[binding],
        right * weights,
        weights,
        by_chance * weights,
        agreement,
        judged,
        partition.accuracy,
    )


def _by_probabilities(partition: Partition, said: Any, home: Ints) -> Judged:
    label, pair = said.kind == LABEL, said.is_pair
    of_i = partition.labels[said.i[label]]

    def probabilities(rows: Ints) -> Floats:
        if not len(rows) or partition.probabilities is None:
            return np.empty((0, partition.n_clusters))
        return partition.probabilities(rows)

    return Judged(
        probabilities(said.i[label]),
        home[label],
        np.where(np.isin(of_i, partition.clusters), of_i, -1),
        probabilities(said.i[pair]),
        probabilities(said.j[pair]),
        said.kind[pair] == MUST,
    )


def summarize(
    found: list[Judgement], side: SideInformation, *, accuracy: Any = None
) -> StatementScores:
    """The scores of all folds together; side: all statements."""
    statement, right, weight, by_chance = (
        np.concatenate([getattr(fold, name) for fold in found])
        for name in ("statement", "right", "weight", "by_chance")
    )
    total = float(weight.sum())
    if not total:
        return StatementScores(0, np.nan, np.nan, np.nan)
    said = side.statements.take(statement)
    share = float(right.sum() / total)
    agreement = Agreement.joined([fold.agreement for fold in found])
    probable = [fold.judged for fold in found if fold.judged is not None]
    return StatementScores(
        len(statement),
        share,
        dyadic_error((right - share * weight) / total, said.i, said.j),
        float(by_chance.sum() / total),
        agreement.score,
        agreement.standard_error(),
        mean_log_loss(probable) if probable else None,
        _ceiling(found, side, statement, weight, accuracy),
        _by_group(side, statement, right, weight),
    )


def judging_weight(side: SideInformation, asked: Any, audit: Any) -> Floats | None:
    """The weights of statements as a test: 1 / probability of having been asked.

    audit : which statements were asked at random; with 30 of them the others do not count.
    """
    if asked is None and audit is None:
        return None
    weight = np.ones(side.n_statements)
    if asked is not None:
        p = np.asarray(asked, dtype=np.float64)
        if p.shape != weight.shape or not ((p > 0) & (p <= 1)).all():
            raise SideInformationError(
                f"asked has shape {p.shape}; give a probability above 0 and at most 1 for each of "
                f"the {side.n_statements:,} statements."
            )
        weight = 1 / p
        weight /= weight.mean()
    if audit is not None:
        chosen = np.asarray(audit)
        if chosen.shape != weight.shape or chosen.dtype != bool:
            raise SideInformationError(
                f"audit has shape {chosen.shape} and type {chosen.dtype}; give True or False for "
                f"each of the {side.n_statements:,} statements."
            )
        if (chosen & side.statements.binding).sum() >= ENOUGH_AUDITS:
            weight = np.where(chosen, weight, 0.0)
    return weight


def _ceiling(
    found: list[Judgement], side: SideInformation, statement: Ints, weight: Floats, accuracy: Any
) -> float | None:
    """The mean accuracy of the annotators of the held-out statements."""
    code = side.statements.annotator[statement]
    if accuracy is None:
        told = [fold.accuracy for fold in found if fold.accuracy is not None]
        # The accuracy of one annotator alone cannot be told from the errors of the model.
        if not told or len(np.unique(code)) < 2:
            return None
        names = {name for each in told for name in each}
        accuracy = {n: float(np.mean([each[n] for each in told if n in each])) for n in names}
    if not isinstance(accuracy, dict):
        return float(accuracy)
    of_code = [accuracy.get(name, np.nan) for name in (*side.annotators, None)]
    known = np.array(of_code, dtype=np.float64)[code]
    if np.isnan(known).any():
        return None
    return float(np.average(known, weights=weight))


def _by_group(
    side: SideInformation, statement: Ints, right: Floats, weight: Floats
) -> tuple[Kept, ...]:
    said = side.statements.take(statement)
    base = len(side.annotators) + 1
    code = said.kind.astype(np.int64) * base + said.annotator % base  # "not told" comes last
    groups, at = np.unique(code, return_inverse=True)
    names = (*side.annotators, None)
    n, kept, all_of_it = (np.bincount(at, w) for w in (None, right, weight))
    return tuple(
        Kept(KINDS[g // base], names[g % base], int(n[k]), float(kept[k] / all_of_it[k]))
        for k, g in enumerate(groups.tolist())
    )
