"""Data with a known truth: the papers' examples, and blobs of any size for benchmarks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._random import as_generator
from sidelight.exceptions import DataError

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]

# Rows to which the centres are added at a time, so that no second array of X's size is made.
_BLOCK = 16_384

_MERGED_CENTERS = np.array([[0.0, -6.0], [-2.0, 0.0], [2.0, 0.0], [0.0, 6.0]])
_VIEW_CENTERS = np.array([[-3.0, -3.0], [3.0, -3.0], [-3.0, 3.0], [3.0, 3.0]])


class GaussianSample(NamedTuple):
    """Rows, the component of each, and the parameters they were drawn from.

    Examples
    --------
    >>> from sidelight.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(3, 200, 2, random_state=0)
    >>> sample.X.shape, sample.means.shape
    ((200, 2), (3, 2))
    """

    X: Floats
    y: Ints
    weights: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    covariances: npt.NDArray[np.float64]

    @property
    def parameters(
        self,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """(weights, means, covariances), as `sidelight.metrics.mixture_divergence` takes them."""
        return self.weights, self.means, self.covariances


class Documents(NamedTuple):
    """Counts of words as a CSR array, the topic of each text, and how likely its words are.

    Examples
    --------
    >>> from sidelight.datasets import make_documents
    >>> texts = make_documents(20, 50, 3, random_state=0)
    >>> texts.X.shape, len(texts.y)
    ((20, 50), 20)
    """

    X: sparse.csr_array
    y: Ints
    topics: npt.NDArray[np.float64]


class MergedGaussians(NamedTuple):
    """Four Gaussians in three classes, with partial labels (-1 unknown).

    Examples
    --------
    >>> from sidelight.datasets import make_merged_gaussians
    >>> sample = make_merged_gaussians(random_state=0)
    >>> sorted(set(sample.components.tolist())), sorted(set(sample.y.tolist()))
    ([0, 1, 2, 3], [0, 1, 2])
    """

    X: Floats
    y: Ints
    components: Ints
    labels: Ints


class TwoViews(NamedTuple):
    """Four Gaussians that make two classes in two ways.

    Examples
    --------
    >>> from sidelight.datasets import make_two_views
    >>> sample = make_two_views(random_state=0)
    >>> len(set(zip(sample.horizontal.tolist(), sample.vertical.tolist())))
    4
    """

    X: Floats
    components: Ints
    horizontal: Ints
    vertical: Ints


def make_gaussian_mixture(
    n_clusters: int,
    n_samples: int = 200,
    n_features: int = 10,
    *,
    max_variance: float = 5.0,
    random_state: Any = None,
) -> GaussianSample:
    """Overlapping spherical Gaussians, each of its own size (SSC-IPA, Section 5).

    The coordinates of the means are uniform on [-1, 1], the variances uniform on (0,
    ``max_variance``], and each row comes from a component that is drawn uniformly.

    Parameters
    ----------
    n_clusters : int
        The paper uses 2, 4 and 6.
    n_samples : int, default=200
    n_features : int, default=10
    max_variance : float, default=5.0
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    GaussianSample
        ``X``, ``y`` and the true ``weights``, ``means`` and ``covariances`` (spherical variances,
        one per component). A component may happen to have no row.

    References
    ----------
    D. Gribel, M. Gendreau, T. Vidal, "Semi-supervised clustering with inaccurate pairwise
    annotations".

    Examples
    --------
    >>> from sidelight.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(4, random_state=0)
    >>> sample.X.shape, sample.means.shape, sample.covariances.shape
    ((200, 10), (4, 10), (4,))
    """
    _check_counts(n_clusters=n_clusters, n_samples=n_samples, n_features=n_features)
    _check_positive(max_variance=max_variance)
    rng = as_generator(random_state)
    means = rng.uniform(-1, 1, size=(n_clusters, n_features))
    variances = max_variance * (1 - rng.random(n_clusters))  # in (0, max]: never a point mass
    y = rng.integers(n_clusters, size=n_samples)
    noise = rng.standard_normal((n_samples, n_features))
    X = means[y] + np.sqrt(variances)[y, None] * noise
    return GaussianSample(X, y, np.full(n_clusters, 1 / n_clusters), means, variances)


def make_concentric_circles(
    n_per_circle: int = 60,
    *,
    radii: Sequence[float] = (0.5, 7.0, 15.0),
    noise: float = 0.3,
    random_state: Any = None,
) -> tuple[Floats, Ints]:
    """Circles around one another in the plane (CoMaC, Figure 1).

    Angles are uniform; both coordinates get Gaussian noise.

    Parameters
    ----------
    n_per_circle : int, default=60
    radii : sequence of float, default=(0.5, 7, 15)
    noise : float, default=0.3
        Standard deviation.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_per_circle * len(radii), 2)
        Circle after circle.
    y : ndarray of int
        The circle of each row.

    References
    ----------
    S. Steger, B. Geiger, M. Smieja, "Semi-supervised clustering via Markov chain aggregation".

    Examples
    --------
    >>> from sidelight.datasets import make_concentric_circles
    >>> X, y = make_concentric_circles(random_state=0)
    >>> X.shape, y[[0, 60, 120]].tolist()
    ((180, 2), [0, 1, 2])
    """
    _check_counts(n_per_circle=n_per_circle, n_circles=len(radii))
    rng = as_generator(random_state)
    y = np.repeat(np.arange(len(radii)), n_per_circle)
    angle = rng.uniform(0, 2 * np.pi, size=len(y))
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.asarray(radii, dtype=np.float64)[y, None] * circle
    return X + noise * rng.standard_normal(X.shape), y


def make_merged_gaussians(n_samples: int = 400, *, random_state: Any = None) -> MergedGaussians:
    """Four Gaussians whose middle two are one class (SS-DPGMM, Section 3.1).

    The partial labels are those of the paper: 5 % of the bottom cluster and of the top cluster,
    and 10 % of the two middle clusters together, which share one label. An unsupervised model
    finds four clusters; the labels say that there are three.

    Parameters
    ----------
    n_samples : int, default=400
        At least 4. The four components get equal shares.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    MergedGaussians
        ``X`` of shape (n_samples, 2); ``y``, the class: 0 bottom, 1 middle, 2 top;
        ``components``, 0 to 3; ``labels``, ``y`` where it is known and -1 elsewhere.

    Notes
    -----
    The paper shows the data in a figure and gives no parameters. Here the centres are (0, -6),
    (-2, 0), (2, 0) and (0, 6), with unit covariances.

    References
    ----------
    A. Echraibi, J. Flocon-Cholet, S. Gosselin, S. Vaton, "Bayesian mixture models for
    semi-supervised clustering".

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.datasets import make_merged_gaussians
    >>> sample = make_merged_gaussians(random_state=0)
    >>> np.unique(sample.labels, return_counts=True)[1].tolist()  # unknown, bottom, middle, top
    [370, 5, 20, 5]
    """
    rng = as_generator(random_state)
    X, components = _four_gaussians(_MERGED_CENTERS, n_samples, rng)
    y = np.array([0, 1, 1, 2])[components]
    labels = np.full(n_samples, -1)
    for label, share in ((0, 0.05), (1, 0.10), (2, 0.05)):
        rows = np.flatnonzero(y == label)
        told = rng.choice(rows, size=max(1, round(share * len(rows))), replace=False)
        labels[told] = label
    return MergedGaussians(X, y, components, labels)


def make_two_views(n_samples: int = 400, *, random_state: Any = None) -> TwoViews:
    """Four Gaussians in a square, which two clusters can cut in two ways (SS-DPGMM, Section 3.2).

    Only side information tells which cut is meant: draw it from one of the two views with
    `sidelight.side.sample_labels`.

    Parameters
    ----------
    n_samples : int, default=400
        At least 4. The four components get equal shares.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    TwoViews
        ``X`` of shape (n_samples, 2); ``components``, 0 to 3; ``horizontal``, 0 below and 1 above;
        ``vertical``, 0 left and 1 right.

    Notes
    -----
    The paper shows the data in a figure and gives no parameters. Here the centres are (±3, ±3),
    with unit covariances.

    References
    ----------
    A. Echraibi, J. Flocon-Cholet, S. Gosselin, S. Vaton, "Bayesian mixture models for
    semi-supervised clustering".

    Examples
    --------
    >>> from sidelight.datasets import make_two_views
    >>> sample = make_two_views(random_state=0)
    >>> float((sample.horizontal == sample.vertical).mean())
    0.5
    """
    X, components = _four_gaussians(_VIEW_CENTERS, n_samples, as_generator(random_state))
    return TwoViews(X, components, components // 2, components % 2)


def make_blobs(
    n_samples: int,
    n_features: int = 16,
    n_clusters: int = 10,
    *,
    separation: float = 4.0,
    weights: npt.ArrayLike | None = None,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> GaussianSample:
    """Gaussian blobs that overlap, of any size, for benchmarks.

    Parameters
    ----------
    n_samples : int
        A million rows of 16 columns take less than a second and no memory besides ``X``.
    n_features : int, default=16
    n_clusters : int, default=10
    separation : float, default=4.0
        Root mean squared distance between two centres, in standard deviations of a blob.
    weights : array-like of shape (n_clusters,), optional
        Chances of the blobs, equal by default; they are divided by their sum.
    dtype : {float64, float32}, default=float64
        Of ``X``.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    GaussianSample
        Rows in random order. The components have unit variance, ``covariances`` is all ones.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.datasets import make_blobs
    >>> sample = make_blobs(1000, n_clusters=3, dtype=np.float32, random_state=0)
    >>> sample.X.shape, sample.X.dtype.name, len(np.unique(sample.y))
    ((1000, 16), 'float32', 3)
    """
    _check_counts(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise DataError(f"dtype is {np.dtype(dtype)}; it must be float64 or float32.")
    chances = _as_chances(weights, n_clusters)
    rng = as_generator(random_state)
    spread = separation / np.sqrt(2 * n_features)
    means = spread * rng.standard_normal((n_clusters, n_features))
    y = np.searchsorted(np.cumsum(chances[:-1]), rng.random(n_samples), side="right")
    X = rng.standard_normal((n_samples, n_features), dtype=dtype)
    centers = means.astype(dtype)
    for start in range(0, n_samples, _BLOCK):
        X[start : start + _BLOCK] += centers[y[start : start + _BLOCK]]
    return GaussianSample(X, y, chances, means, np.ones(n_clusters))


def make_documents(
    n_samples: int = 1000,
    n_words: int = 2000,
    n_clusters: int = 8,
    *,
    length: float = 60.0,
    background: float = 0.5,
    random_state: Any = None,
) -> Documents:
    """Texts of several topics, as counts of words, such as postings to newsgroups.

    Words are as frequent as in a language (Zipf). A topic uses each word more or less often than
    that, by a factor from Gamma(0.3) with mean 1; lengths of texts vary by Gamma(2).

    Parameters
    ----------
    n_samples : int, default=1000
    n_words : int, default=2000
    n_clusters : int, default=8
        The number of topics.
    length : float, default=60.0
        The mean length of a text. A few have no word at all if texts are short.
    background : float, default=0.5
        The share of words that all topics have in common: 0 is easy, 1 impossible.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    Documents
        ``X`` in CSR form, ``y`` and the true ``topics`` of shape (n_clusters, n_words).

    Examples
    --------
    >>> from sidelight.datasets import make_documents
    >>> texts = make_documents(100, 500, 3, random_state=0)
    >>> texts.X.shape, texts.X.format, texts.topics.shape
    ((100, 500), 'csr', (3, 500))
    """
    _check_counts(n_samples=n_samples, n_words=n_words, n_clusters=n_clusters)
    _check_positive(length=length)
    if not 0 <= background <= 1:
        raise DataError(f"background is {background}; it must be between 0 and 1.")
    rng = as_generator(random_state)
    common = 1.0 / np.arange(1, n_words + 1)
    own = common * rng.gamma(0.3, 1 / 0.3, size=(n_clusters, n_words))
    common, own = common / common.sum(), own / own.sum(axis=1, keepdims=True)
    topics = background * common + (1.0 - background) * own
    y = rng.integers(n_clusters, size=n_samples)
    lengths = rng.poisson(length * rng.gamma(2.0, 0.5, size=n_samples))
    words, texts = [], []
    for k in range(n_clusters):
        mine = np.repeat(np.flatnonzero(y == k), lengths[y == k])
        words.append(rng.choice(n_words, size=len(mine), p=topics[k]))
        texts.append(mine)
    where = np.concatenate(texts), np.concatenate(words)
    ones = np.ones(len(where[0]))
    X = sparse.coo_array((ones, where), shape=(n_samples, n_words)).tocsr()
    return Documents(X, y, topics)


def _four_gaussians(
    centers: npt.NDArray[np.float64], n_samples: int, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Equal shares of four unit Gaussians in the plane, in random order."""
    if n_samples < 4:
        raise DataError(f"n_samples is {n_samples}; four components need at least 4 rows.")
    components = rng.permutation(np.arange(n_samples) % 4)
    return centers[components] + rng.standard_normal((n_samples, 2)), components


def _as_chances(weights: npt.ArrayLike | None, n_clusters: int) -> npt.NDArray[np.float64]:
    if weights is None:
        return np.full(n_clusters, 1 / n_clusters)
    chances = np.asarray(weights, dtype=np.float64)
    if chances.shape != (n_clusters,) or not (chances >= 0).all() or not chances.sum() > 0:
        raise DataError(
            f"weights must be {n_clusters} numbers, none negative and not all 0; got {weights!r}."
        )
    return np.asarray(chances / chances.sum())


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise DataError(f"{name} is {value}; it must be at least 1.")


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise DataError(f"{name} is {value}; it must be positive.")
