"""Which model, and how many clusters: the one that does best by statements held back."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.base import clone

from sidelight._random import draw_seed
from sidelight._wording import counted
from sidelight.blocks import active_client
from sidelight.exceptions import SidelightError
from sidelight.metrics import adjusted_rand
from sidelight.select._candidates import (
    Candidate,
    classifiers,
    from_name,
    numbers_of_clusters,
    our_models,
    unsupervised,
    with_numbers,
)
from sidelight.select._fits import Partition, fit_partition, takes_statements
from sidelight.select._folds import SideKFold, held_out_masks
from sidelight.select._held_out import HeldOut, Masks, all_statements
from sidelight.select._scores import Judgement, judge, judging_weight
from sidelight.side import Agreement, SideInformation, dyadic_error

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

# How many numbers of clusters, the best of clusterings without statements, our models try.
SHORTLIST = 3
# Standard errors of a difference below which two candidates tie.
TIE = 1.0
# Ties go to the candidate most like the default model, which averages instead of choosing. Share of
# the best ARI among clusterings without statements, 23 tables, 100 pairs, three draws and another
# three: see docs/results/selection, "Ties by the default model".
WITNESS = "DiscriminativeClustering"
# Rows on which partitions are compared: an adjusted Rand index is then known to about .01.
SAMPLE = 5_000
NOT_FINISHED = "not finished"


class Compared(NamedTuple):
    """One line of a comparison.

    ``behind`` is the difference to the best score in standard errors of that difference,
    ``seconds`` the CPU time of all fits of the candidate, ``n_statements`` what it can use.

    Examples
    --------
    >>> from sidelight.select import Compared
    >>> Compared("KMeans", 3, 0.91, 0.03, 0.0, 0.2, 0, "chosen").model
    'KMeans'
    """

    model: str
    n_clusters: int | None
    score: float
    standard_error: float
    behind: float
    seconds: float
    n_statements: int
    remark: str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models compared by held-out statements; made by `compare`.

    Parameters
    ----------
    rows : list of Compared
        One per candidate, the best score first. ``pandas.DataFrame(rows)`` is a table.
    models : list of estimators
        The candidate of each row, not fitted.
    choice : Compared
        The line that is chosen.
    model : estimator
        The chosen model, not fitted.
    reason : str
        Why it was chosen, in a sentence.
    estimate : HeldOut
        How good a choice made in this way is, by statements that neither the fit nor the choice
        has seen.
    notes : list of str
        What was left out, or could not be decided.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.select import compare
    >>> from sidelight.side import sample_pairs
    >>> truth = np.arange(90) % 3
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9.0 * np.eye(3)[truth, :2]
    >>> side = sample_pairs(truth, 60, random_state=0)
    >>> found = compare(X, side=side, models=["PCKMeans"], n_clusters=range(2, 6), random_state=0)
    >>> found.choice.model, found.choice.n_clusters
    ('PCKMeans', 3)
    >>> found.model.fit(X, side=side).n_clusters_
    3
    """

    rows: list[Compared]
    models: list[Any]
    choice: Compared
    model: Any
    reason: str
    estimate: HeldOut
    notes: list[str]

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} candidates; {self.reason})"

    def in_words(self) -> str:
        """The table, the choice and its reason as a text for a terminal."""
        width = max(len("model"), *(len(row.model) for row in self.rows))
        lines = [f"{'model':{width}s}    K  score           seconds  statements"]
        for row in self.rows:
            if row.remark == NOT_FINISHED:  # the notes count them
                continue
            k = "-" if row.n_clusters is None else str(row.n_clusters)
            told = "-"
            if row.score == row.score:
                told = f"{row.score:.3f}"
                told += "" if np.isnan(row.standard_error) else f" ± {row.standard_error:.3f}"
            lines.append(
                f"{row.model:{width}s} {k:>4s}  {told:14s} {row.seconds:8.2f} "
                f"{row.n_statements:11,d}  {row.remark}".rstrip()
            )
        return "\n".join([*lines, "", self.reason, self.estimate.in_words(), *self.notes])


def compare(
    X: Any,
    y: Any = None,
    *,
    side: SideInformation | None = None,
    models: Any = "default",
    n_clusters: Any = None,
    n_splits: int = 5,
    time_limit: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    asked: Any = None,
    audit: Any = None,
) -> Comparison:
    """Compare models by held-out statements, and choose one.

    Every model is fitted without the statements of each fold (`SideKFold`) and judged by these:
    the mean of two F-scores over pairs of rows, with must and with cannot as the positive answer.
    Candidates that use no statements are fitted once and judged by the same statements.

    A pair of rows in two folds is judged by both fits, half each: each has seen no statement about
    one of its rows, so the answer does not follow from what it has seen. The estimate leaves such
    pairs out, because statements about the other row make them easier.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,), optional
        Partial labels, joined to ``side``.
    side : SideInformation, optional
        The statements.
    models : "default" or a sequence of names, classes and estimators, default="default"
        The candidates. By default our models that can use all statements, clusterings without
        statements (k-means, Ward, mixtures), and classifiers if every class has five labels. Any
        clusterer, classifier or pipeline of scikit-learn can be given. Default candidates of
        scikit-learn may be given by their names in the table ("KMeans"); "default" in a list stands
        for all default candidates.
    n_clusters : int or sequence of int, optional
        The number of clusters, or those to try. By default that of the labelled classes; without
        labels, numbers from 2 to 20 for clusterings without statements, and the best three of
        these for models that need one. With fewer than ten must-links or ten cannot-links no
        number is chosen.
    n_splits : int, default=5
        The number of folds.
    time_limit : float, optional
        Seconds after which no further fit begins. The notes name unfinished candidates.
    random_state : int, Generator or RandomState, optional
        Source of folds and of the models' seeds.
    n_jobs : int, optional
        Fits at a time, as joblib takes it. With a Dask client they run on its workers.
    progress : callable, optional
        Called with the fits done, all fits, and a name after each of them.
    asked, audit : array, optional
        How statements were asked for: see `cross_validate_statements`.

    Returns
    -------
    Comparison

    Notes
    -----
    A difference below one standard error is a tie. The error is that of the difference of two
    candidates on the same statements. Among candidates that tie with the best score, the one most
    similar to the clusters of `DiscriminativeClustering` is chosen (adjusted Rand index, fold by
    fold): if statements cannot separate candidates, an average over many clusterings is the better
    judge. It is fitted for that even if it is not a candidate, unless the time is up.

    The estimate is nested: for each fold the other folds choose a candidate, and this fold judges
    it. The fits are the same, so it costs nothing. The compared fits have seen statements of the
    fold; the scores used for the choice have not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sidelight.select import compare
    >>> truth = np.arange(90) % 3
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9.0 * np.eye(3)[truth, :2]
    >>> y = np.where(np.arange(90) < 30, truth, -1)
    >>> found = compare(X, y, models=[KMeans(n_init=3), "ConstrainedKMeans"], random_state=0)
    >>> found.choice.model, found.rows[1].remark
    ('KMeans', 'tie with KMeans, K=3: not decidable with 30 statements')
    """
    side = all_statements(y, side)
    seed = draw_seed(random_state)
    run = _Run(
        X, side, n_splits, seed, time_limit, n_jobs, progress, judging_weight(side, asked, audit)
    )
    notes = _run_all(run, models, n_clusters, seed)
    done = [entry for entry in run.entries if entry.judgements is not None]
    if not done:
        why = "; ".join(f"{e.candidate.full_name}: {e.remark}" for e in run.entries[:5])
        raise SidelightError(f"no candidate could be judged ({why or 'there are none'}).")
    witness = run.witness(seed) if len(done) > 1 else None
    chosen, behind = choose(done, witness)
    n_judged = run.n_judged
    lines = _lines(run.entries, chosen, behind, n_judged)
    return Comparison(
        [line for line, _ in lines],
        [entry.candidate.estimator for _, entry in lines],
        next(line for line, entry in lines if entry is chosen),
        clone(chosen.candidate.estimator),
        _reason(chosen, behind, n_judged),
        nested_estimate(done, side, witness),
        notes,
    )


# The fits


class Judged(NamedTuple):
    """The fit of a fold, judged by the statements about rows of the fold.

    ``inside`` judges those about no other rows, for the estimate; ``pairs`` has those across its
    border too, half each, for the choice. ``labels`` are the clusters of some rows.
    """

    inside: Judgement
    pairs: Agreement
    labels: Ints


class Entry:
    """A candidate and its results."""

    def __init__(self, candidate: Candidate, order: int) -> None:
        self.candidate, self.order = candidate, order
        self.folds: dict[int, Judged] = {}
        self.found: list[int] = []
        self.seconds, self.remark = 0.0, NOT_FINISHED
        self.judgements: list[Judged] | None = None

    @property
    def judged(self) -> list[Judged]:
        """The judgements of all folds; only for those that are finished."""
        assert self.judgements is not None
        return self.judgements

    @property
    def n_clusters(self) -> int:
        """As given, or as most folds found it."""
        given = self.candidate.n_clusters
        return int(np.median(self.found)) if given is None else given

    def agreement(self, folds: Sequence[int] | None = None) -> Agreement:
        """Over all folds, or some."""
        chosen = range(len(self.judged)) if folds is None else folds
        return Agreement.joined([self.judged[k].pairs for k in chosen])

    def alike(self, other: "Entry", folds: Sequence[int]) -> float:
        """Mean adjusted Rand index with another candidate, fold by fold."""
        found = [adjusted_rand(other.judged[k].labels, self.judged[k].labels) for k in folds]
        return float(np.mean(found))

    def line(self, behind: float, remark: str) -> Compared:
        """As a line of the table."""
        k, score, error = self.candidate.n_clusters, float("nan"), float("nan")
        if self.judgements is not None:
            found = self.agreement()
            k, score, error = self.n_clusters, found.score, found.standard_error()
        used = self.candidate.n_used
        return Compared(self.candidate.name, k, score, error, behind, self.seconds, used, remark)


class _Run:
    """The fits of a comparison: jobs in the order of their cost, until the time is up."""

    def __init__(
        self,
        X: Any,
        side: SideInformation,
        n_splits: int,
        seed: int,
        time_limit: float | None,
        n_jobs: int | None,
        progress: Callable[[int, int, str], None] | None,
        weight: Floats | None,
    ) -> None:
        self.X, self.side, self.weight = X, side, weight
        self.rows, self.fold = SideKFold(n_splits, random_state=seed % 2**32).folds(side)
        n_folds = int(self.fold.max()) + 1
        self.masks: list[Masks] = [
            held_out_masks(side, self.rows[self.fold == k]) for k in range(n_folds)
        ]
        self.deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        self.n_jobs, self.progress = n_jobs, progress
        n, rng = side.n_samples, np.random.default_rng(seed)
        self.sample = np.sort(rng.permutation(n)[:SAMPLE]) if n > SAMPLE else np.arange(n)
        self.entries: list[Entry] = []
        self.n_done = self.n_jobs_known = 0

    @property
    def n_judged(self) -> int:
        """How many statements the choice goes by."""
        counts = self.side.statements.binding
        return int((counts if self.weight is None else counts & (self.weight > 0)).sum())

    def without_folds(self) -> None:
        """If no candidate uses statements, all of them can be judged, also those across folds."""
        fold = np.zeros(self.side.n_samples, dtype=np.int64)
        fold[self.rows] = self.fold
        of_statement = fold[self.side.statements.i]
        everything = np.ones(self.side.n_statements, dtype=bool)
        self.masks = [(everything, of_statement == k) for k in range(len(self.masks))]

    def witness(self, seed: int) -> Entry | None:
        """The default model, fitted here if it is not a candidate; None if it is not judged."""
        named = [entry for entry in self.entries if entry.candidate.name == WITNESS]
        if not named:
            numbers = {k for entry in self.entries if (k := entry.candidate.n_clusters)}
            told = with_numbers([WITNESS], list(numbers), self.side, seed, given=True)
            named = [Entry(told[0], -1)]
            self._fit(named)
        return next((entry for entry in named if entry.judgements is not None), None)

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Fit and judge some candidates."""
        new = [Entry(c, len(self.entries) + k) for k, c in enumerate(candidates)]
        self.entries += new
        self._fit(new)

    def _fit(self, new: Sequence[Entry]) -> None:
        jobs = []
        for entry in new:
            if takes_statements(entry.candidate.estimator):
                jobs += [(entry, [k]) for k in range(len(self.masks))]
            else:
                jobs.append((entry, list(range(len(self.masks)))))
        self.n_jobs_known += len(jobs)
        for number, outcome in self._outcomes(jobs):
            self._note(jobs[number][0], jobs[number][1], outcome)

    def _outcomes(self, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        calls = (
            delayed(_work)(
                number, entry.candidate.estimator, self.X, self.side,
                [self._masks(k, entry) for k in folds], self.sample, self.weight,
            )
            for number, (entry, folds) in enumerate(jobs)
            if time.monotonic() < self.deadline
        )  # fmt: skip
        if active_client() is not None:
            with parallel_config(backend="dask", scatter=[self.X]):
                yield from Parallel()(calls)
        else:
            yield from Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")(calls)

    def _masks(self, fold: int, entry: Entry) -> Masks:
        """The statements for a fit and those that judge it; no fit with statements sees both."""
        kept, held = self.masks[fold]
        return (kept & ~held, held) if takes_statements(entry.candidate.estimator) else (kept, held)

    def _note(self, entry: Entry, folds: Sequence[int], outcome: Any) -> None:
        self.n_done += 1
        if self.progress is not None:
            self.progress(self.n_done, self.n_jobs_known, entry.candidate.full_name)
        if isinstance(outcome, str):
            entry.remark = f"failed: {outcome}"
            return
        judgements, seconds, n_clusters = outcome
        entry.seconds += seconds
        entry.found.append(n_clusters)
        entry.folds |= dict(zip(folds, judgements, strict=True))
        if len(entry.folds) == len(self.masks):
            entry.judgements = [entry.folds[k] for k in range(len(self.masks))]
            entry.remark = ""


def _work(
    number: int,
    estimator: Any,
    X: Any,
    side: SideInformation,
    masks: Sequence[Masks],
    sample: Ints,
    weight: Floats | None,
) -> tuple[int, Any]:
    """One fit, judged by the statements of one fold, or of all where it uses none."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit_partition(estimator, X, side.where(masks[0][0]), side)
        found = []
        for kept, held in masks:
            partition = fitted
            if len(masks) > 1:  # the names of clusters must not depend on the fold
                partition = Partition.of_labels(fitted.labels, side.where(kept))
            inside = judge(partition, side, held, weight=weight)
            pairs = _pairs(side, fitted.labels, kept, held, weight)
            found.append(Judged(inside, pairs, fitted.labels[sample]))
    except Exception as error:  # any estimator may be given; if it fails, the others go on
        return number, f"{type(error).__name__}: {error}".splitlines()[0][:200]
    labels = fitted.labels
    return number, (found, time.process_time() - start, len(np.unique(labels[labels >= 0])))


def _pairs(
    side: SideInformation, labels: Any, kept: Mask, held: Mask, weight: Floats | None
) -> Agreement:
    """The pairs with a row in the fold; of two folds, they count half in each."""
    share = np.where(held, 1.0, 0.5) if weight is None else np.where(held, 1.0, 0.5) * weight
    near = held | ~kept
    return Agreement.of(side.where(near), labels, weight=share[near])


def _run_all(run: _Run, models: Any, n_clusters: Any, seed: int) -> list[str]:
    """Fit all candidates, cheap ones first; sentences about what was left out."""
    side, n_rows = run.side, run.side.n_samples
    numbers, undecided = numbers_of_clusters(n_clusters, side, n_rows)
    notes = [] if undecided is None or len(numbers) == 1 else [f"K is not chosen: {undecided}"]
    named = [models] if isinstance(models, str) or hasattr(models, "fit") else list(models)
    own = [model for model in named if not isinstance(model, str) or model != "default"]
    default = len(own) < len(named)
    own = [from_name(model, seed) if isinstance(model, str) else model for model in own]
    for model in own:
        if not isinstance(model, (str, type)) and not hasattr(model, "fit"):
            raise SidelightError(
                f"{model!r} is not a model; give names of models, classes, or estimators of "
                "scikit-learn."
            )
    given = n_clusters is not None
    first = [*(unsupervised(numbers, seed) if default else []), *_free(own, numbers, side, seed)]
    if not default and len(first) and all(not _needs(model) for model in own):
        run.without_folds()
    run.add(first)
    if default:
        run.add(classifiers(side, numbers, seed))
    shortlist = numbers if given or len(numbers) <= SHORTLIST else _best_numbers(run, numbers)
    rest = [model for model in own if _needs(model)] + (our_models(side, n_rows) if default else [])
    run.add(with_numbers(rest, shortlist, side, seed, given=given))
    return notes + _unfinished(run)


def _needs(model: Any) -> bool:
    return isinstance(model, (str, type)) or takes_statements(model)


def _free(
    models: Sequence[Any], numbers: Sequence[int], side: SideInformation, seed: int
) -> list[Candidate]:
    """Those that use no statements, which one fit each is enough for."""
    return with_numbers([model for model in models if not _needs(model)], numbers, side, seed)


def _unfinished(run: _Run) -> list[str]:
    late = [e for e in run.entries if e.judgements is None and e.remark == NOT_FINISHED]
    if not late:
        return []
    return [f"The time was up before {len(late)} of {len(run.entries)} candidates were judged."]


def _best_numbers(run: _Run, numbers: Sequence[int]) -> list[int]:
    """The numbers of clusters of the best clusterings without statements; all, without any."""
    done = [entry for entry in run.entries if entry.judgements is not None]
    done = [entry for entry in done if not takes_statements(entry.candidate.estimator)]
    done.sort(key=lambda entry: (-entry.agreement().score, entry.n_clusters))
    best = list(dict.fromkeys(entry.n_clusters for entry in done if entry.n_clusters in numbers))
    return sorted(best[:SHORTLIST]) or list(numbers)


# The choice


def choose(
    entries: Sequence[Entry], witness: Entry | None = None, without: int | None = None
) -> tuple[Entry, dict[int, float]]:
    """The chosen candidate, and how many standard errors each is behind the best, by order.

    Of those that tie with the best score the one most like the witness; without a witness, and
    where they are equal, the best score, then fewer clusters, then the cheaper model. ``without``
    names a fold whose statements are not to be known: scores leave it out, and partitions are
    compared in the fits that have not seen it.
    """
    n_folds = len(entries[0].judged)
    folds = [k for k in range(n_folds) if k != without]
    found = [entry.agreement(folds) for entry in entries]
    scores = np.nan_to_num([each.score for each in found], nan=-1.0)
    key = [(-s, e.n_clusters, e.order) for s, e in zip(scores, entries, strict=True)]
    place = key.index(min(key))
    best = found[place]
    behind = {}
    for entry, each, score in zip(entries, found, scores, strict=True):
        error = dyadic_error(best.moves() - each.moves(), best.i, best.j)
        gap = float(scores[place] - score)
        behind[entry.order] = gap / error if error > 0 else 0.0 if gap == 0 else np.inf
    if witness is None:
        return entries[place], behind
    blind = range(n_folds) if without is None else [without]
    tied = [k for k, entry in enumerate(entries) if behind[entry.order] < TIE]
    alike = {k: entries[k].alike(witness, blind) for k in tied}
    return entries[min(tied, key=lambda k: (-alike[k], *key[k]))], behind


def nested_estimate(
    entries: Sequence[Entry], side: SideInformation, witness: Entry | None
) -> HeldOut:
    """For each fold the choice by the other folds, judged by this one."""
    found = []
    for k in range(len(entries[0].judged)):
        chosen, _ = choose(entries, witness, without=k)
        found.append(chosen.judged[k].inside)
    return HeldOut.of(found, side)


def _lines(
    entries: Sequence[Entry], chosen: Entry, behind: dict[int, float], n_judged: int
) -> list[tuple[Compared, Entry]]:
    """The lines of the table with their candidates, the best first, unfinished ones last."""
    lines = []
    for entry in entries:
        away, remark = behind.get(entry.order, float("nan")), entry.remark
        if entry is chosen:
            remark = "chosen"
        elif away < TIE:
            remark = (
                f"tie with {chosen.candidate.full_name}: not decidable with {n_judged} statements"
            )
        lines.append((entry.line(away, remark), entry))

    def key(pair: tuple[Compared, Entry]) -> tuple[Any, ...]:
        score = pair[0].score
        first = pair[1] is not chosen
        return (np.isnan(score), -np.nan_to_num(score), first, pair[1].order)

    return sorted(lines, key=key)


def _reason(chosen: Entry, behind: dict[int, float], n_judged: int) -> str:
    what = f"{chosen.candidate.name} with {counted(chosen.n_clusters, 'cluster')} is chosen"
    n_ties = sum(away < TIE for away in behind.values()) - 1
    if len(behind) == 1:
        return f"{what}: it is the only candidate."
    if not n_ties:
        return f"{what}: it is the best by more than one standard error."
    count = "1 other is" if n_ties == 1 else f"{n_ties} others are"
    if behind[chosen.order] == 0:
        return (
            f"{what}: it has the best score. {count} within one standard error, which {n_judged} "
            "statements cannot tell apart."
        )
    return (
        f"{what}: its score is within one standard error of the best, and of the {n_ties + 1} "
        f"candidates that {n_judged} statements cannot tell apart it is the most like the clusters "
        f"of {WITNESS}."
    )


# The number of clusters alone


def held_out_number(
    model: Any, X: Any, y: Any = None, *, side: SideInformation | None = None
) -> tuple[int, str]:
    """The number of clusters with the best score on held-out statements.

    Parameters
    ----------
    model : model
        One of ours; its own ``n_clusters`` does not matter.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,), optional
        Partial labels, joined to ``side``.
    side : SideInformation, optional
        The statements.

    Returns
    -------
    int, str
        The number, from 2 or the labelled classes to 15 or ten more than the classes; and a
        sentence about other numbers that the statements do not tell from it, or "".

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PCKMeans
    >>> from sidelight.select import held_out_number
    >>> from sidelight.side import sample_pairs
    >>> truth = np.arange(90) % 3
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9.0 * np.eye(3)[truth, :2]
    >>> side = sample_pairs(truth, 60, random_state=0)
    >>> held_out_number(PCKMeans(n_init=5, random_state=0), X, side=side)
    (3, '')
    """
    side = all_statements(y, side)
    n_classes = len(side.labelled_classes)
    last = min(max(15, n_classes + 10), side.n_samples - 1)
    numbers, _ = numbers_of_clusters(range(max(2, n_classes), last + 1), side, side.n_samples)
    state = model.get_params(deep=False).get("random_state")
    seed = draw_seed(0 if state is None else state)
    plain = clone(model).set_params(random_state=seed)
    run = _Run(X, side, 5, seed, None, None, None, None)
    run.add([Candidate("", clone(plain).set_params(n_clusters=k), k, 0) for k in numbers])
    done = [entry for entry in run.entries if entry.judgements is not None]
    if not done:
        raise SidelightError(f"no number of clusters could be judged ({run.entries[0].remark}).")
    chosen, behind = choose(done)
    ties = [e.n_clusters for e in done if behind[e.order] < TIE and e is not chosen]
    if not ties:
        return chosen.n_clusters, ""
    told = ", ".join(map(str, sorted(ties)))
    return chosen.n_clusters, (
        f"{counted(chosen.n_clusters, 'cluster')} scored best on {run.n_judged} held-out "
        f"statements, but {told} cannot be excluded. Give more statements."
    )
