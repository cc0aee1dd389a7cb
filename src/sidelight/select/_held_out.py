"""Fits without some statements, judged by these."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sidelight.exceptions import SideInformationError
from sidelight.results import ClusterResult
from sidelight.select._calibration import Calibration, Judged, fit_temperature
from sidelight.select._folds import SideKFold, hold_out
from sidelight.side import LABEL, MUST, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class HeldOut(NamedTuple):
    """What fits without some of the statements say about these.

    Attributes
    ----------
    n_statements : int
        How many statements were held out, over all folds.
    share_right : float
        The share of them, by weight, that the fits kept without having seen them.
    standard_error : float
        Of ``share_right``, over groups of rows that must-links tie together; NaN for one group.
    chance : float
        The share that would be right if the rows' clusters had nothing to do with the statements:
        the same clusters, dealt to the held-out rows at random.
    calibration : Calibration or None
        A temperature for the model's probabilities; None where it has none, or for fewer than 20
        held-out statements.
    n_folds : int
        The fits.

    Examples
    --------
    >>> from sidelight.select import HeldOut
    >>> HeldOut(120, 0.91, 0.03, 0.55, None, 5).in_words()
    'Of 120 statements held back, 91% ± 3% were right (chance 55%).'
    """

    n_statements: int
    share_right: float
    standard_error: float
    chance: float
    calibration: Calibration | None
    n_folds: int

    def in_words(self) -> str:
        """One sentence."""
        if not self.n_statements:
            return "No statement could be held back: every fold cuts through all of them."
        error = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:.0%}"
        return (
            f"Of {self.n_statements:,} statements held back, {self.share_right:.0%}{error} were "
            f"right (chance {self.chance:.0%})."
        )


class _Fold(NamedTuple):
    right: Floats  # weight that is kept, for each held-out statement
    weight: Floats
    by_chance: Floats
    row: Ints  # a row of each statement, which tells its group
    judged: Judged | None


def cross_validate_statements(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    side: SideInformation | None = None,
    n_splits: int = 5,
    random_state: Any = 0,
) -> HeldOut:
    """Hold back statements fold by fold, fit without them, and see which are right.

    Every fit sees all rows of X: only statements are held back. Folds are those of `SideKFold`.

    Parameters
    ----------
    model : estimator
        A model of sidelight; it is cloned, not changed.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,), optional
        Partial labels, joined to ``side``.
    side : SideInformation, optional
        The statements.
    n_splits : int, default=5
        The number of folds, and of fits.
    random_state : int, Generator or RandomState, default=0
        Source of the folds.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.select import cross_validate_statements
    >>> X = np.repeat([[0.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> y = np.repeat(["low", "high"], 20)
    >>> model = PartitionLevelKMeans(2, random_state=0)
    >>> cross_validate_statements(model, X, y, n_splits=4).in_words()
    'Of 40 statements held back, 100% ± 0% were right (chance 50%).'
    """
    if y is not None:
        labels = SideInformation.from_labels(y)
        side = labels if side is None else side + labels
    if side is None:
        raise SideInformationError("there are no statements to hold back; give side, or y.")
    rows, fold = SideKFold(n_splits, random_state=random_state).folds(side)
    found = []
    for k in range(int(fold.max()) + 1):
        kept, held = hold_out(side, rows[fold == k])
        fitted = clone(model).set_params(**_number_of_clusters(model, side)).fit(X, side=kept)
        found.append(_judge(fitted, X, held))
    tied = side.only(kind="must")
    return _summary(found, tied)


def _number_of_clusters(model: Any, side: SideInformation) -> dict[str, int]:
    """The number that the whole fit would have: a fold may lack a class."""
    asked = model.get_params(deep=False).get("n_clusters", 0)
    if asked is not None or model.finds_k:
        return {}
    said = side.statements
    return {"n_clusters": len(np.unique(said.class_code[said.kind == LABEL]))}


def _judge(fitted: Any, X: Any, held: SideInformation) -> _Fold:
    """Which held-out statements a fit keeps, and how probable it takes them to be."""
    said = held.statements
    said = said.take(said.binding)
    result: ClusterResult = fitted.result_.gathered()
    labels, n_clusters = result.labels, len(result.cluster_names)
    home = _clusters_of_classes(result, held)[said.vocabulary, said.class_code]
    of_i = labels[said.i]
    # A share of clusters stands for chance: how often any row would be in that one, or any two
    # rows in one.
    share = np.bincount(labels[_rows_of(said)], minlength=n_clusters) / max(len(said.i), 1)
    share = share / max(share.sum(), 1e-300)
    together = float((share**2).sum())
    agree = np.where(said.is_pair, of_i == labels[said.j], of_i == home)
    likely = np.where(said.is_pair, together, np.where(home >= 0, share[home], 0.0))
    right = np.where(said.sign > 0, agree, ~agree)
    by_chance = np.where(said.sign > 0, likely, 1.0 - likely)
    judged = None
    if fitted.gives_probabilities:
        label, pair = said.kind == LABEL, said.is_pair
        judged = Judged(
            _probabilities(fitted, X, said.i[label]),
            home[label],
            np.where(np.isin(of_i[label], result.verdict.clusters), of_i[label], -1),
            _probabilities(fitted, X, said.i[pair]),
            _probabilities(fitted, X, said.j[pair]),
            said.kind[pair] == MUST,
        )
    return _Fold(right * said.weight, said.weight, by_chance * said.weight, said.i, judged)


def _clusters_of_classes(result: ClusterResult, held: SideInformation) -> Ints:
    """The cluster of each class of ``held`` in each vocabulary, -1 where the fit knows of none."""
    known = result.side
    clusters = np.full((len(held.vocabularies) + 1, len(held.classes) + 1), -1, dtype=np.int64)
    if not known.classes:
        return clusters
    # Names are compared with their types: class 3 is not class "3".
    class_code = {(type(name), name): c for c, name in enumerate(known.classes)}
    vocabulary = {(type(name), name): v for v, name in enumerate(known.vocabularies)}
    codes = [class_code.get((type(name), name), -1) for name in held.classes]
    has = np.flatnonzero(np.array(codes, dtype=np.int64) >= 0)
    told = [vocabulary.get((type(name), name)) for name in held.vocabularies]
    for v, there in enumerate([*told, -1]):
        if there is not None:
            clusters[v, has] = result.verdict.clusters[there, np.array(codes)[has]]
    return clusters


def _rows_of(said: Any) -> Ints:
    return np.unique(np.concatenate([said.i, said.j[said.j >= 0]]))


def _probabilities(fitted: Any, X: Any, rows: Ints) -> Floats:
    if not len(rows):
        return np.empty((0, fitted.n_clusters_))
    taken = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return np.asarray(fitted.predict_proba(taken))


def _summary(found: list[_Fold], tied: SideInformation) -> HeldOut:
    right, weight, by_chance, row = (
        np.concatenate([getattr(fold, name) for fold in found])
        for name in ("right", "weight", "by_chance", "row")
    )
    judged = [fold.judged for fold in found if fold.judged is not None]
    total = weight.sum()
    if not total:
        return HeldOut(0, np.nan, np.nan, np.nan, None, len(found))
    share = float(right.sum() / total)
    # Statements of one group stand and fall together: groups are what varies.
    _, group = np.unique(tied.groups()[row], return_inverse=True)
    n_groups = int(group.max()) + 1
    away = np.bincount(group, right - share * weight)
    error = np.nan
    if n_groups > 1:
        error = float(np.sqrt(n_groups / (n_groups - 1) * (away**2).sum()) / total)
    return HeldOut(
        len(row), share, error, float(by_chance.sum() / total), fit_temperature(judged), len(found)
    )
