"""The candidates of a comparison: our models by their tags, clusterers and classifiers."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sidelight.exceptions import SideInformationError, SidelightError
from sidelight.models import find_model, model_names, model_tags
from sidelight.select._fits import takes_statements
from sidelight.side import CANNOT, KINDS, LABEL, MUST, SideInformation, usable_kinds

Ints = NDArray[np.int64]

# Numbers of clusters that are tried by default.
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
# With fewer of either kind, statements do not decide the number of clusters.
FEWEST_PAIRS = 10
# A class with fewer labels would be missing in some fold of a classifier.
FEWEST_LABELS = 5
# Our models from the cheapest on (400 rows, ten clusters: .01 to 2.5 seconds of CPU). The order,
# and not measured time, settles ties, so that the choice is the same on every machine.
CHEAPEST_FIRST = (
    *("SeededKMeans", "ConstrainedKMeans", "StructuralEntropyClustering", "StructuralEntropyTree"),
    *("PartitionLevelKMeans", "COPKMeans", "PCKMeans", "LCVQE", "MPCKMeans", "CVQE", "HMRFKMeans"),
    *("BayesianMixture", "AnnotatedGaussianMixture", "DiscriminativeClustering"),
    "MarkovAggregation",
)
# Models whose work grows with the square of the rows.
SQUARE, MOST_ROWS_OF_SQUARE = ("MarkovAggregation",), 2_000


class Candidate(NamedTuple):
    """One estimator that takes part; K is None where it finds or has its own number."""

    name: str
    estimator: Any
    n_clusters: int | None
    n_used: int  # statements that it can use

    @property
    def full_name(self) -> str:
        """With the number of clusters, if it was given one."""
        return self.name if self.n_clusters is None else f"{self.name}, K={self.n_clusters}"


def decides_k(side: SideInformation) -> str | None:
    """Why statements cannot decide the number of clusters, and what to ask; None if they can.

    Labels count by the pairs that they imply.
    """
    said = side.canonical
    labels = said.class_code[(said.kind == LABEL) & (said.vocabulary == side.leading_vocabulary)]
    sizes = np.bincount(labels)
    same = int((sizes * (sizes - 1) // 2).sum())
    n_must = int((said.kind == MUST).sum()) + same
    n_cannot = int((said.kind == CANNOT).sum()) + len(labels) * (len(labels) - 1) // 2 - same
    if n_must >= FEWEST_PAIRS and n_cannot >= FEWEST_PAIRS:
        return None
    lacking = {"must-links": FEWEST_PAIRS - n_must, "cannot-links": FEWEST_PAIRS - n_cannot}
    wanted = " and ".join(f"{n} {kind}" for kind, n in lacking.items() if n > 0)
    return (
        f"{n_must} must-links and {n_cannot} cannot-links (including those implied by labels) "
        f"cannot decide the number of clusters. Ask for {wanted} more, or labels of two classes."
    )


def numbers_of_clusters(
    n_clusters: Any, side: SideInformation, n_rows: int
) -> tuple[list[int], str | None]:
    """The numbers to try, ascending, and a sentence where statements cannot decide on one."""
    undecided = decides_k(side)
    if n_clusters is None:
        n_classes = len(side.labelled_classes)
        if n_classes >= 2:
            return [n_classes], None
        if undecided is not None:
            return [], undecided
        return [k for k in GRID if k < n_rows], None
    asked = [n_clusters] if isinstance(n_clusters, (int, np.integer)) else list(n_clusters)
    if not asked or any(int(k) != k or not 1 <= k <= n_rows for k in asked):
        raise SidelightError(
            f"n_clusters is {n_clusters!r}; give a whole number from 1 to {n_rows:,} (the rows), "
            "several of them, or None."
        )
    numbers = sorted({int(k) for k in asked})
    if len(numbers) > 1 and undecided is not None:
        raise SideInformationError(undecided, advice="Or give one number of clusters.")
    return numbers, undecided


def _clusterings(seed: int) -> dict[str, Any]:
    """K-means, Ward and a mixture with diagonal covariances, without a number of clusters."""
    from sklearn.cluster import AgglomerativeClustering, KMeans
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(covariance_type="diag", reg_covar=1e-3, n_init=2, random_state=seed)
    return {
        "KMeans": KMeans(n_init=5, random_state=seed),
        "Ward": AgglomerativeClustering(),
        "GaussianMixture": mixture,
    }


def _classifiers(seed: int) -> dict[str, Any]:
    """From the cheapest on."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    kinds: list[Any] = [
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LogisticRegression(max_iter=2000),
        SVC(C=10.0),
        HistGradientBoostingClassifier(random_state=seed),
    ]
    return {type(kind).__name__: kind for kind in kinds}


def from_name(name: str, seed: int) -> Any:
    """A clustering or a classifier of scikit-learn that takes part by default; else the name."""
    return {**_clusterings(seed), **_classifiers(seed)}.get(name, name)


def unsupervised(numbers: Iterable[int], seed: int) -> list[Candidate]:
    """K-means, Ward and a mixture with diagonal covariances for each number of clusters."""
    found = []
    for k, (name, plain) in product(numbers, _clusterings(seed).items()):
        count = _count_parameter(plain) or "n_clusters"
        found.append(Candidate(name, clone(plain).set_params(**{count: k}), k, 0))
    return found


def classifiers(side: SideInformation, numbers: Sequence[int], seed: int) -> list[Candidate]:
    """Classifiers, if every class has enough labels: then they may well be better."""
    labels = side.leading_labels
    counts = np.bincount(labels[labels >= 0])
    counts = counts[counts > 0]
    if len(counts) < 2 or counts.min() < FEWEST_LABELS or len(counts) not in numbers:
        return []
    kinds = _classifiers(seed)
    if len(counts) > 10:  # a tree for every class and step
        del kinds["HistGradientBoostingClassifier"]
    return [Candidate(name, kind, None, int(counts.sum())) for name, kind in kinds.items()]


def our_models(side: SideInformation, n_rows: int) -> list[str]:
    """Names of our models that can use every statement, the cheapest first."""
    kinds = [KINDS[code] for code in np.unique(side.canonical.kind)]
    clash = len(side.conflicts(limit=0).broken) > 0
    fit = [
        name
        for name in model_names()
        if set(kinds) <= set(model_tags(name).accepts)
        and not (clash and model_tags(name).contradictions == "raises")
        and not (name in SQUARE and n_rows > MOST_ROWS_OF_SQUARE)
    ]
    rank = {name: place for place, name in enumerate(CHEAPEST_FIRST)}
    return sorted(fit, key=lambda name: (rank.get(name, len(rank)), name))


def with_numbers(
    models: Iterable[Any],
    numbers: Sequence[int],
    side: SideInformation,
    seed: int,
    *,
    given: bool = False,
) -> list[Candidate]:
    """Each model with each number of clusters; those that find it once, unless it is given."""
    found = []
    for model in models:
        estimator = _built(model, seed)
        name = _name(estimator)
        n_used = _n_used(estimator, side)
        count = _count_parameter(estimator)
        finds = getattr(estimator, "finds_k", count is None)
        if count is None or (finds and not (given and len(numbers) == 1)):
            found.append(Candidate(name, estimator, None, n_used))
            continue
        if _has_own_number(model, count):
            found.append(Candidate(name, estimator, getattr(estimator, count), n_used))
            continue
        for k in numbers:
            found.append(Candidate(name, clone(estimator).set_params(**{count: k}), k, n_used))
    return found


def _name(estimator: Any) -> str:
    name = type(estimator).__name__
    is_ward = name == "AgglomerativeClustering" and estimator.linkage == "ward"
    return "Ward" if is_ward else name


def _built(model: Any, seed: int) -> Any:
    if isinstance(model, str):
        model = find_model(model)
    built = model() if isinstance(model, type) else clone(model)
    if "random_state" in built.get_params(deep=False) and built.random_state is None:
        built.set_params(random_state=seed)
    return built


def _count_parameter(estimator: Any) -> str | None:
    parameters = estimator.get_params(deep=False)
    if hasattr(estimator, "accepts") or hasattr(estimator, "fit_predict"):
        return next((name for name in ("n_clusters", "n_components") if name in parameters), None)
    return None


def _has_own_number(model: Any, count: str) -> bool:
    """Whether the user has set the number: a model that is not the default in this."""
    if isinstance(model, (str, type)):
        return False
    return bool(getattr(model, count) != getattr(type(model)(), count))


def _n_used(estimator: Any, side: SideInformation) -> int:
    if hasattr(estimator, "accepts"):
        kinds = usable_kinds(estimator.accepts)
        return int(side.only(kind=kinds).statements.binding.sum())
    return int((side.canonical.kind == LABEL).sum()) if takes_statements(estimator) else 0
