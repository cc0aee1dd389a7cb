"""Hostile data and statements, drawn from a seed, for any estimator: `sidelight.testing.fuzz`.

A case is a pure function of (seed, number), so that a finding is repeated by one line.
"""

import linecache
import pickle
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from sidelight.exceptions import SidelightError
from sidelight.results import ClusterResult
from sidelight.side import KINDS, SideInformation
from sidelight.testing._contract import expect_agreement, expect_told

_NAMES = [
    "a",
    "b",
    "",
    " ",
    "=1+1",
    "3",
    3,
    3.5,
    -7,
    True,
    False,
    "ünï 中",
    "x" * 200,
    "new 1",
    "0",
]
_WEIGHTS = [0.0, 1e-300, 1e-9, 0.5, 1.0, 1.0, 1.0, 7.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e160, 1e300]
_SCALES = [0.0, 1e-300, 1e-160, 1e-30, 1e-8, 1e8, 1e30, 1e100, 1e125, 1e155, 1e300]
_NUMBERS = [0.0, 1e-12, 0.01, 0.5, 0.9, 1.0, 2.0, 100.0, 1e6, 1e15]
# Parameters that decide how long a fit takes are always drawn, and from small numbers.
_SHORT = {
    "n_init": (1, 2),
    "max_iter": (1, 3, 50),
    "n_generations": (0, 1, 2),
    "population_size": (None, None, 2, 4),
    "batch_size": (None, None, None, 1, 7),
    "height": (2, 3),
}
# They are about machines, seeds and streams, or have a meaning of their own.
_LEFT_ALONE = {"random_state", "n_jobs", "max_time", "total_samples", "verbose"}


Warnings = list[warnings.WarningMessage]


class Case(NamedTuple):
    """One fit: an estimator that is set up, and what is handed to it."""

    estimator: Any
    X: Any
    y: Any
    side: SideInformation | None


@dataclass
class FuzzReport:
    """Report of a run of `fuzz`.

    Attributes
    ----------
    n_fits : int
        The number of cases, those that were refused included.
    refused : Counter
        How often each kind of error was raised, by its type and the beginning of its message.
    findings : dict
        What broke the contract: for each kind of fault the lines of Python that repeat it.

    Examples
    --------
    >>> from sidelight.testing import FuzzReport
    >>> FuzzReport().n_fits
    0
    """

    n_fits: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.n_fits:,} fits, {self.refused.total():,} refused"]
        for fault, calls in self.findings.items():
            more = f"   # and {len(calls) - 1} more" if len(calls) > 1 else ""
            lines += [f"- {fault}", f"    {calls[0]}{more}"]
        return "\n".join(lines)


def fuzz(
    factory: Callable[[], Any],
    seed: int = 0,
    *,
    n: int | None = None,
    seconds: float | None = None,
    first: int = 0,
) -> FuzzReport:
    """Fit an estimator to hostile data and statements, and check our contract.

    Few rows, one column, duplicates, ties, constant columns, huge and tiny numbers, float32 and
    sparse matrices; statements of all kinds that contradict each other, with odd names, extreme
    weights, several annotators and vocabularies; more clusters than rows; other parameters.

    A fit may refuse with a `SidelightError` or a ValueError that is a sentence. Else ``labels_``
    are 0 … n_clusters_ − 1, names differ, ``objective_`` is finite and the last of ``history_``,
    which is monotone; ``result_`` agrees; warnings name the classes without a cluster; ``predict``
    works; no input has changed; there is no warning but a UserWarning with a sentence; and the same
    seed gives the same bits.

    Parameters
    ----------
    factory : callable
        Returns an unfitted estimator: its class, or a function without arguments.
    seed : int
        The seed of all cases.
    n : int, optional
        The number of cases; 100 if neither it nor ``seconds`` is given.
    seconds : float, optional
        The time limit in seconds: no case begins later.
    first : int
        The number of the first case.

    Returns
    -------
    FuzzReport

    Raises
    ------
    AssertionError
        If anything broke the contract, with a line of Python for each kind of fault.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.testing import fuzz
    >>> fuzz(PartitionLevelKMeans, seed=1, n=5).n_fits
    5
    """
    report = FuzzReport()
    end = None if seconds is None else time.monotonic() + seconds
    n = 100 if n is None and seconds is None else n
    number = first
    while (n is None or number < first + n) and (end is None or time.monotonic() < end):
        case = _draw(factory(), np.random.default_rng([seed, number]))
        name = getattr(factory, "__name__", "factory")
        call = f"sidelight.testing.fuzz({name}, {seed}, first={number}, n=1)"
        fault = _fault(case, report.refused, thorough=number % 3 == 0)
        if fault is not None:
            report.findings.setdefault(fault, []).append(call)
        report.n_fits += 1
        number += 1
    if report.findings:
        raise AssertionError(str(report))
    return report


# Drawing a case


def _draw(estimator: Any, rng: np.random.Generator) -> Case:
    estimator = clone(estimator)
    n = int(rng.choice([1, 2, 3, 4, 6, 10, 25, 60, 150], p=_share(1, 2, 2, 2, 3, 3, 3, 2, 1)))
    parameters = _parameters(estimator, rng, n)
    similarities = dict(getattr(estimator, "takes_similarities", {}))
    given = bool(similarities) and rng.random() < 0.2
    estimator.set_params(**{**parameters, **(similarities if given else {})})
    X = _similarities(rng, n) if given else _rows(rng, n)
    if rng.random() < 0.15 and getattr(estimator, "takes_sparse", True):
        X = sparse.csr_array(X)
    accepted = tuple(getattr(estimator, "accepts", ("label",)))
    side = _side(rng, n, accepted) if rng.random() < 0.8 else None
    y = _labels(rng, n) if "label" in accepted and rng.random() < 0.25 else None
    return Case(estimator, X, y, side)


def _share(*parts: float) -> NDArray[np.float64]:
    return np.array(parts) / sum(parts)


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _parameters(estimator: Any, rng: np.random.Generator, n: int) -> dict[str, Any]:
    """A seed, a number of clusters, short loops, and now and then another value of a parameter."""
    constraints = getattr(estimator, "_parameter_constraints", {})
    drawn: dict[str, Any] = {}
    for name in sorted(estimator.get_params(deep=False)):
        if name == "n_clusters":
            drawn[name] = _pick(
                rng, [None, 1, min(n, 2), min(n, 2), min(n, 3), min(n, 5), n, n + 1]
            )
        elif name == "n_components":
            drawn[name] = _pick(rng, [1, 2, 3, 5, n + 1, 20])
        elif name == "random_state":
            drawn[name] = int(rng.integers(1000))
        elif name in _SHORT:
            drawn[name] = _pick(rng, _SHORT[name])
        elif name not in _LEFT_ALONE and rng.random() < 0.12:
            choices = _choices(constraints.get(name, ()))
            if choices:
                drawn[name] = _pick(rng, choices)
    return drawn


def _choices(constraints: Any) -> list[Any]:
    """Values that the constraints of a parameter allow: its options, numbers in its interval."""
    found: list[Any] = []
    for constraint in constraints:
        if constraint == "boolean":
            found += [False, True]
        elif hasattr(constraint, "options"):
            found += sorted(constraint.options, key=str)
        elif hasattr(constraint, "left"):
            found += [v for v in (*_NUMBERS, 1, 2, 3) if constraint.is_satisfied_by(v)]
    return found


@np.errstate(over="ignore", invalid="ignore")
def _rows(rng: np.random.Generator, n: int) -> NDArray[Any]:
    d = int(_pick(rng, [1, 1, 2, 2, 3, 5, 20]))
    how = _pick(rng, ["blobs", "blobs", "grid", "same", "counts", "far", "copies"])
    X = rng.normal(size=(n, d)) + 6.0 * rng.integers(3, size=(n, 1))
    if how == "grid":  # ties wherever one looks
        X = np.floor(rng.random((n, d)) * 3)
    elif how == "same":
        X = np.repeat(X[:1], n, axis=0)
    elif how == "counts":
        X = rng.poisson(2.0, size=(n, d)).astype(np.float64)
    elif how == "far":  # what matters is lost in rounding
        X = X + 10.0 ** int(rng.integers(3, 17))
    elif how == "copies":
        X = X[rng.integers(max(1, n // 3), size=n)]
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = _pick(rng, [0.0, -1.0, 1e9])
    if rng.random() < 0.15:
        X[rng.integers(n)] = _pick(rng, [0.0, 1e6, -1e12, 1e40])
    if rng.random() < 0.25:
        X = X * _pick(rng, _SCALES)
    if rng.random() < 0.1:
        X[:, rng.integers(d)] *= _pick(rng, _SCALES)
    if rng.random() < 0.15:
        X = X.astype(np.float32)
    elif rng.random() < 0.1 and np.abs(X).max() < 2**31:
        X = X.astype(np.int64)
    if rng.random() < 0.1:
        X = np.asfortranarray(X)
    if rng.random() < 0.1:
        X.flags.writeable = False
    return X


def _similarities(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Symmetric, zero or more, in parts or all zero; a few are none of that."""
    S = rng.random((n, n)) ** int(_pick(rng, [1, 4, 20]))
    least = _pick(rng, [0.0, 0.5, 1.0])
    S[least > S] = 0.0
    S = np.maximum(S, S.T)
    if rng.random() < 0.3:
        S = S * _pick(rng, _SCALES)
    if rng.random() < 0.3:
        np.fill_diagonal(S, _pick(rng, [0.0, 1.0]))
    if rng.random() < 0.05:
        S[0] = -1.0
    return S


def _side(rng: np.random.Generator, n: int, accepted: tuple[str, ...]) -> SideInformation:
    """Statements of the accepted kinds (rarely another one), true to nothing."""
    length = int(_pick(rng, [0, 1, 2, 5, 12, 30]))
    kinds = [kind for kind in KINDS if kind in accepted or kind == "unsure"]
    kinds = list(KINDS) if rng.random() < 0.05 else kinds
    kinds = list(rng.permutation(kinds)[: int(rng.integers(1, len(kinds) + 1))])
    names = [_pick(rng, _NAMES) for _ in range(int(_pick(rng, [1, 2, 3, 3, 6])))]
    said = [str(_pick(rng, kinds)) for _ in range(length)]
    weight: Any = np.ones(length)
    if rng.random() < 0.5:
        heavy = _WEIGHTS if rng.random() < 0.3 else _WEIGHTS[:-2]
        weight = np.array([_pick(rng, heavy) for _ in range(length)])

    def some(values: list[Any], share: float) -> list[Any] | None:
        if rng.random() > share:
            return None
        return [_pick(rng, values) for _ in range(length)]

    return SideInformation.from_columns(
        said,
        rng.integers(n, size=length),
        [int(rng.integers(n)) if k in KINDS[:3] else None for k in said],
        class_=[_pick(rng, names) if k in KINDS[3:] else None for k in said],
        weight=weight,
        annotator=some(["ann", "bob", None], 0.4),
        vocabulary=some(["french", "english", None], 0.2),
        n_samples=n,
        self_pairs="keep" if rng.random() < 0.3 else "drop",
    )


def _labels(rng: np.random.Generator, n: int) -> Any:
    names = _pick(rng, [[-1, 0, 1], [-1, 0, 1, 2, 5], [-1.0, 0.0, np.nan], [None, "a", "b"]])
    return np.array([_pick(rng, names) for _ in range(n)])


# Judging a fit


def _fault(case: Case, refused: Counter[str], *, thorough: bool) -> str | None:
    """The fault of a fit, in a line that is the same for the same fault; None if there is none."""
    before = _state(case)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = clone(case.estimator).fit(case.X, case.y, **_given(case))
            fault = _outcome(model, case, caught)
    except Exception as error:
        if not _is_sentence(error):
            return f"{type(error).__name__}: {_line(error)} ({_place(error)})"
        refused[re.sub(r"[0-9.+]+", "#", f"{type(error).__name__}: {_line(error)[:40]}")] += 1
        fault = None
    if _state(case) != before:
        return "an input has changed"
    if fault is None and thorough:
        fault = _repeated(case)
    return fault


def _given(case: Case) -> dict[str, Any]:
    return {} if case.side is None else {"side": case.side}


def _state(case: Case) -> list[bytes]:
    """All that was handed over and could be changed, as bytes."""
    parts = [case.X.data, case.X.indices, case.X.indptr] if sparse.issparse(case.X) else [case.X]
    said = [] if case.side is None else case.side.statements.columns
    return [pickle.dumps(case.y), *(np.asarray(part).tobytes() for part in (*parts, *said))]


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:160]


def _place(error: BaseException) -> str:
    """The file and the function in which an error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    code = trace.tb_frame.f_code
    return f"{'/'.join(code.co_filename.split('/')[-2:])}, {code.co_name}"


def _is_sentence(error: Exception) -> bool:
    """Whether an error was raised on purpose, with our own message and not numpy's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if not isinstance(error, ValueError) or trace is None:
        return False
    line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).strip()
    on_purpose = isinstance(error, SidelightError) or line.startswith("raise")
    own = "numpy" not in trace.tb_frame.f_code.co_filename.split("/")
    return on_purpose and own and len(str(error)) >= 20 and " " in str(error)


def _outcome(model: Any, case: Case, caught: Warnings) -> str | None:
    for warning in caught:
        words = " ".join(str(warning.message).split())
        if not issubclass(warning.category, UserWarning) or len(words) < 20:
            where = "/".join(warning.filename.split("/")[-2:])
            return f"{warning.category.__name__}: {words[:100]} ({where})"
    for check in (_partition, _objective, _result, _prediction):
        fault = check(model, case, caught)
        if fault is not None:
            return fault
    return None


def _partition(model: Any, case: Case, caught: Warnings) -> str | None:
    labels, n_clusters = model.labels_, model.n_clusters_
    if labels.shape != (case.X.shape[0],) or labels.dtype.kind != "i":
        return f"labels_ has shape {labels.shape} and type {labels.dtype}"
    if not np.array_equal(np.unique(labels), np.arange(n_clusters)):
        return "labels_ are not 0 … n_clusters_ - 1"
    asked = case.estimator.get_params()
    may_fall = asked.get("allow_empty", False)
    if asked.get("n_clusters") not in (None, n_clusters) and not caught and not may_fall:
        return "another number of clusters than asked for, without a warning"
    names = [(type(name), name) for name in model.cluster_names_.tolist()]
    if len(names) != n_clusters or len(set(names)) != n_clusters:
        return "cluster_names_ has another length than n_clusters_, or a name twice"
    return None


def _objective(model: Any, case: Case, caught: Warnings) -> str | None:
    history, sense = np.asarray(model.history_), getattr(model, "objective_sense", "min")
    if not np.isfinite(model.objective_) or not np.isfinite(history).all():
        return "objective_ or history_ is not finite"
    if model.n_iter_ < 1 or len(history) < 1:
        return "n_iter_ is below 1, or history_ is empty"
    if not np.isclose(history[-1], model.objective_, rtol=1e-9, atol=0):
        return "objective_ is not the last of history_"
    steps = np.diff(history) * (1 if sense == "max" else -1)
    return None if (steps >= 0).all() else "history_ is not monotone"


def _result(model: Any, case: Case, caught: Warnings) -> str | None:
    result = model.result_
    if not isinstance(result, ClusterResult) or not np.array_equal(result.labels, model.labels_):
        return "result_ is no ClusterResult, or has other labels"
    if case.y is None and result.side != (case.side or SideInformation.empty(case.X.shape[0])):
        return "result_.side has other statements"
    try:
        expect_agreement(model)
        expect_told(model, caught)
    except AssertionError as error:
        return f"verdict: {_line(error)}"
    return None


def _prediction(model: Any, case: Case, caught: Warnings) -> str | None:
    new = _new_rows(case)
    labels = np.asarray(model.predict(new))
    if labels.shape != (new.shape[0],) or labels.min() < 0 or labels.max() >= model.n_clusters_:
        return "predict gives labels outside 0 … n_clusters_ - 1"
    if not hasattr(model, "predict_proba"):
        return None
    shares = np.asarray(model.predict_proba(new))
    if shares.shape != (new.shape[0], model.n_clusters_) or not np.isfinite(shares).all():
        return "predict_proba has another shape, or is not finite"
    if not np.allclose(shares.sum(axis=1), 1.0) or shares.min() < 0:
        return "predict_proba does not sum to one"
    return None


def _new_rows(case: Case) -> Any:
    return case.X[: max(1, case.X.shape[0] // 2)]


def _repeated(case: Case) -> str | None:
    """Once more from the same seed: the same bits, or the same refusal."""
    answers = []
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = clone(case.estimator).fit(case.X, case.y, **_given(case))
                answers.append((model.labels_.tobytes(), model.history_.tobytes()))
            except ValueError as error:
                answers.append((b"", str(error).encode()))
    return None if answers[0] == answers[1] else "the same seed gives other bits"
