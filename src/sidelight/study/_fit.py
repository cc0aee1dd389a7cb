"""From a table to an answer, and the comparison of models on a table."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from sidelight.exceptions import LostClassWarning, SidelightError
from sidelight.side import SideInformation
from sidelight.study._answer import Answer
from sidelight.study._build import build, reseeded
from sidelight.study._gather import usable_by
from sidelight.study._judge import beside, best_of_ours, compared, hold_out
from sidelight.study._open import Nobody, Progress, open_study

if TYPE_CHECKING:
    from sidelight.select import Comparison


def fit(
    data: Any,
    model: Any = "DiscriminativeClustering",
    *,
    side: Any = (),
    labels: str | None = None,
    id: str | None = None,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    text_model: str = "auto",
    impute: str | None = None,
    scale: str | None = None,
    n_clusters: int | Literal["held-out"] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    use_what_fits: bool = False,
    truth: str | None = None,
    stability: int = 0,
    folds: int | Literal["auto"] = "auto",
    beside_others: bool = False,
    time_limit: float | None = None,
    use_rep: str | None = None,
    pairs_key: str | None = None,
    skip_unknown: bool = False,
    self_pairs: Literal["raise", "drop", "keep"] = "raise",
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> "Answer":
    """Cluster a table with the help of statements.

    Parameters
    ----------
    data : path, data frame or Table
        The rows: a file as `sidelight.tables.read_table` reads it, or a data frame of pandas,
        polars or pyarrow.
    model : str, class or model, default="DiscriminativeClustering"
        A name of `sidelight.models.model_names`, or a model, which is copied and not changed.
        "best" is the choice of `compare`, and the notes say why.
    side : path, SideInformation, or several of them
        What people know about the rows.
    labels : str, optional
        Column with the classes that are known, empty elsewhere.
    id : str, optional
        Column with the row ids that the statements use; cells (.h5ad) have their names.
    columns, drop, one_hot, text, text_model, impute
        How the table becomes a matrix: see `prepare`.
    scale : {"standard", "minmax", "none"}, optional
        See `prepare`; by default "standard", and "none" for cells.
    n_clusters : int or "held-out", optional
        The number of clusters, or its upper limit where a model has one. "held-out" is the number
        with which the model does best by statements held back.
    parameters : dict, optional
        Further parameters of the model, by name.
    seed : int, default=0
        Seed of all random numbers, unless the model has one.
    use_what_fits : bool
        Whether to leave out statements of kinds that the model cannot use, with a note. Otherwise
        they are an `UnsupportedStatementError`.
    truth : str, optional
        Column with true classes, to compare with; the model does not see it.
    stability : int
        Number of fits with other seeds to compare with.
    folds : int or "auto", default="auto"
        How often to fit without a part of the statements, by which the quality of the answer is
        measured and its probabilities are calibrated. "auto": 5, above 10,000 rows 3, above 100,000
        none, and none for fewer than 20 statements. 0 for none.
    beside_others : bool
        Whether to `compare` the model with others; the notes name one that is better by more than
        two standard errors.
    time_limit : float, optional
        Seconds after which a comparison begins no further fit.
    use_rep : str, optional
        What to cluster cells by (.h5ad): a key of ``obsm``, or "X".
    pairs_key : str, optional
        Key of ``uns`` with statements that an .h5ad file holds.
    skip_unknown : bool
        Whether to leave out statements of files about rows that the table does not have; the notes
        count them. Otherwise they are an `UnknownRowsError`.
    self_pairs : {"raise", "drop", "keep"}, default="raise"
        What to do with pairs of a row and itself in files.
    reading : dict, optional
        How the file is read, if the detection is wrong: ``sep``, ``decimal``, ``sheet`` as in
        `sidelight.tables.read_table`.
    progress : object, optional
        Its method ``stage(description)`` is a context around each step, and the fit reports to it
        as to a callback of scikit-learn.

    Returns
    -------
    Answer

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> people = pd.DataFrame({"who": ["ann", "bob", "cy", "di"], "age": [31, 33, 68, 71],
    ...                        "known": ["young", None, "old", None]})
    >>> answer = study.fit(people, "PartitionLevelKMeans", id="who", labels="known")
    >>> answer
    Answer(PartitionLevelKMeans: 4 rows in 2 clusters; 0 of 2 statements broken)
    >>> answer.to_frame()[["who", "cluster_name"]].values.tolist()
    [['ann', 'young'], ['bob', 'young'], ['cy', 'old'], ['di', 'old']]
    """
    best = isinstance(model, str) and model == "best"
    if best and parameters:
        raise SidelightError(
            f'model="best" is not known yet, and parameters are given ({", ".join(parameters)}); '
            "name the model that they are for."
        )
    estimator: Any = None
    if not best:
        estimator = build(model, n_clusters=n_clusters, parameters=parameters, seed=seed)
    told: Progress = Nobody() if progress is None else progress
    opened = open_study(
        data, side, told, labels=labels, id=id, truth=truth, columns=columns, drop=drop,
        one_hot=one_hot, text=text, text_model=text_model, impute=impute, scale=scale,
        use_rep=use_rep, pairs_key=pairs_key, skip_unknown=skip_unknown, self_pairs=self_pairs,
        reading=reading,
    )  # fmt: skip
    X, known, notes = opened.prepared.X, opened.known, list(opened.prepared.notes)
    comparison = None
    if best or beside_others:
        candidates = ["default"] if estimator is None else [estimator, "default"]
        number = None if n_clusters == "held-out" else n_clusters
        how = {"n_clusters": number, "time_limit": time_limit, "random_state": seed}
        comparison = compared(X, known, told, models=candidates, **how)
        if estimator is None:
            estimator, why = best_of_ours(comparison)
        else:
            why = beside(comparison, type(estimator).__name__)
        notes += [*why, *comparison.notes]
    if use_what_fits:
        known, left_out = usable_by(known, estimator)
        notes += left_out
    others = [reseeded(estimator, seed + k) for k in range(1, stability + 1)]
    with told.stage(f"fitting {type(estimator).__name__}"):
        if progress is not None:
            estimator.set_callbacks(progress)
        notes += fit_with(estimator, X, known)
        notes += estimator.result_.advice
    with told.stage("fitting with other seeds"):
        for other in others:
            fit_with(other, X, known)
    with told.stage("fitting without a part of the statements"):
        held_out, judgement = hold_out(estimator, X, known, folds)
    return Answer(
        estimator,
        table=opened.table,
        ids=opened.ids,
        prepared=opened.prepared,
        notes=[*judgement, *notes],
        held_out=held_out,
        truth=None if truth is None else opened.table.labels(truth),
        stability=[other.labels_ for other in others],
        comparison=comparison,
        quality=judgement[0] if judgement else None,
        origin={"id": id, "use_rep": use_rep},
    )


def compare(
    data: Any,
    models: Any = "default",
    *,
    side: Any = (),
    labels: str | None = None,
    id: str | None = None,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    text_model: str = "auto",
    impute: str | None = None,
    scale: str | None = None,
    n_clusters: Any = None,
    n_splits: int = 5,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
    use_rep: str | None = None,
    pairs_key: str | None = None,
    skip_unknown: bool = False,
    self_pairs: Literal["raise", "drop", "keep"] = "raise",
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> "Comparison":
    """Compare models on a table by held-out statements.

    Parameters
    ----------
    data, side, labels, id, columns, drop, one_hot, text, text_model, impute, scale, use_rep, \
pairs_key, skip_unknown, self_pairs, reading
        The table and what people know about it: see `fit`.
    models : "default" or a sequence of names, classes and estimators, default="default"
        The candidates: see `sidelight.select.compare`.
    n_clusters : int or sequence of int, optional
        The number of clusters, or those to try.
    n_splits : int, default=5
        The number of folds.
    time_limit : float, optional
        Seconds after which no further fit begins.
    n_jobs : int, optional
        Fits at a time.
    seed : int, default=0
        Seed of all random numbers.
    progress : object, optional
        As in `fit`; its method ``count(done, total, name)``, if any, is called after each fit.

    Returns
    -------
    sidelight.select.Comparison

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> table = pd.DataFrame({"x": [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3],
    ...                       "known": ["low"] * 4 + ["high"] * 4})
    >>> found = study.compare(table, ["SeededKMeans", "ConstrainedKMeans"], labels="known",
    ...                       n_splits=2)
    >>> found.choice.model, found.choice.score
    ('SeededKMeans', 1.0)
    """
    told: Progress = Nobody() if progress is None else progress
    opened = open_study(
        data, side, told, labels=labels, id=id, columns=columns, drop=drop, one_hot=one_hot,
        text=text, text_model=text_model,
        impute=impute, scale=scale, use_rep=use_rep, pairs_key=pairs_key, skip_unknown=skip_unknown,
        self_pairs=self_pairs, reading=reading,
    )  # fmt: skip
    return compared(
        opened.prepared.X, opened.known, told, models=models, n_clusters=n_clusters,
        n_splits=n_splits, time_limit=time_limit, n_jobs=n_jobs, random_state=seed,
    )  # fmt: skip


def fit_with(model: Any, X: NDArray[Any], known: SideInformation) -> list[str]:
    """Fit the model; returns its warnings as sentences, unless its result has them as advice."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, side=known)
    told = dict.fromkeys(
        str(w.message) for w in caught if not issubclass(w.category, LostClassWarning)
    )
    return [f"{text[:1].upper()}{text[1:]}" for text in told]
