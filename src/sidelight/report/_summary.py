"""A result as plain data: the contents of a report."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sidelight.exceptions import DataError
from sidelight.report._colours import align_clusters, colours_of
from sidelight.report._statements import NOT_TOLD, summarize_side
from sidelight.results import ClusterResult
from sidelight.side import KINDS

Floats = NDArray[np.float64]

# A statement that is more likely wrong than right is called suspect.
PROBABLY_WRONG = 0.5


class Evidence(NamedTuple):
    """Optional contents of a report, besides the result.

    ``probabilities`` has a row per row and a column per cluster; where it is missing, the result's
    own membership is asked, if X is what the model saw. ``confidence`` is, for each row, how
    probably the name of its cluster is right, judged by statements that were held back (NaN where
    the cluster has no name): see `sidelight.select.Calibration`. ``truth`` holds given classes,
    None where unknown; ``stability`` holds the labels of fits with other seeds; ``quality`` says in
    a sentence how good the result is, by statements that were held back; ``notes`` are sentences
    about what was done, and ``command`` repeats it. ``texts`` has for each cluster a list of
    dicts, one for each column of texts: ``column``, ``words`` and typical ``sentences``.
    ``held_out`` has the figures behind ``quality`` (`sidelight.select.HeldOut`); ``before`` the
    clusters of the same rows without statements; ``markers`` for each cluster the features that
    set it apart, as `rank_features` finds them.

    Examples
    --------
    >>> from sidelight import BayesianMixture
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = BayesianMixture(2, random_state=0).fit(X)
    >>> Evidence.of(model, X, notes=["Four rows."]).probabilities.shape[0]
    4
    """

    probabilities: Any = None
    confidence: Any = None
    truth: Any = None
    stability: Sequence[ArrayLike] = ()
    quality: str | None = None
    notes: Sequence[str] = ()
    command: str | None = None
    texts: Sequence[Sequence[dict[str, Any]]] = ()
    held_out: Any = None
    before: Any = None
    markers: Sequence[Sequence[dict[str, Any]]] = ()

    @classmethod
    def of(cls, model: Any, X: Any, **more: Any) -> "Evidence":
        """The probabilities of a fitted model, if it has some; X as it saw the data."""
        probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        return cls(probabilities=probabilities, **more)


def summarize(
    result: ClusterResult,
    X: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    evidence: Evidence | None = None,
    limit: int = 20,
) -> dict[str, Any]:
    """A result as plain data: texts, numbers, lists and dicts, ready for JSON.

    Parameters
    ----------
    result : ClusterResult
        What a model leaves in ``result_``.
    X : array or sparse matrix of shape (n_samples, n_features), optional
        The data in the units that readers know, for the clusters' profiles.
    feature_names : sequence of str, optional
        Names of the columns; by default a data frame's own, or x0, x1, … .
    evidence : Evidence, optional
        What else is known: probabilities, truth, other seeds.
    limit : int
        How many suspect statements and conflicts to list.

    Returns
    -------
    dict
        ``model``, ``parameters``, ``seed``, ``threads``, ``versions``, ``command``, ``quality``,
        ``held_out``, ``notes``; ``before``: the rows that statements moved, None where unknown;
        ``n_rows``, ``columns``, ``n_clusters``, ``objective``, ``history``; ``clusters`` (name,
        size, share, colour, membership, confidence, stability, profile, markers and texts of each;
        colour −1 is grey); ``side`` (see `summarize_side`); ``kept`` (statements kept and broken,
        by kind and by annotator),
        ``suspects``, ``truth`` and ``stability``, the last two None where nothing was given.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans
    >>> X = np.array([[0.0, 3.0], [0.1, 3.1], [5.0, 3.1], [5.1, 3.0]])
    >>> result = PartitionLevelKMeans().fit(X, ["low", None, "high", None]).result_
    >>> summary = summarize(result, X, feature_names=["length", "width"])
    >>> [(c["name"], c["size"], c["profile"][0]["column"]) for c in summary["clusters"]]
    [('high', 2, 'length'), ('low', 2, 'length')]
    """
    evidence = Evidence() if evidence is None else evidence
    columns = _feature_names(X, feature_names)
    sure = _memberships(result, X, evidence.probabilities)
    return {
        **{key: result.provenance.get(key) for key in ("model", "parameters", "seed", "threads")},
        "versions": dict(result.provenance.get("versions", {})),
        "command": evidence.command,
        "quality": evidence.quality,
        "held_out": _held_out(evidence.held_out),
        "before": _before(result, evidence.before),
        "notes": list(dict.fromkeys([*evidence.notes, *result.advice])),
        "n_rows": len(result.labels),
        "columns": columns,
        "n_clusters": len(result.cluster_names),
        "objective": result.objective,
        "history": np.asarray(result.history, dtype=np.float64).tolist(),
        "clusters": _clusters(result, X, columns, evidence, sure),
        "side": summarize_side(result.side, limit=limit),
        "kept": _kept(result),
        "suspects": _suspects(result, sure, limit),
        "truth": _truth(result, evidence.truth),
        "stability": _stability(result, evidence.stability),
    }


def _held_out(found: Any) -> dict[str, Any] | None:
    """The figures of statements that were held back, if any could be."""
    if found is None or not found.n_statements:
        return None
    names = ("n_statements", "share_right", "standard_error", "chance", "ceiling")
    told = {name: getattr(found, name) for name in names}
    told["standard_error"] = _number(told["standard_error"])
    return {**told, "n_folds": getattr(found, "n_folds", 0)}


def _before(result: ClusterResult, labels: Any) -> dict[str, Any] | None:
    """How many rows the statements have moved to another cluster."""
    if labels is None:
        return None
    matched = align_clusters(labels, result.labels)
    moved = int((matched != result.labels).sum())
    return {"n_clusters": len(np.unique(matched)), "n_moved": moved}


def suspect_rows(result: ClusterResult) -> NDArray[Any]:
    """The rows of suspect statements: those that the answer breaks or that are probably wrong.

    Parameters
    ----------
    result : ClusterResult
        What a model leaves in ``result_``.

    Returns
    -------
    ndarray of bool, one per row

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans
    >>> model = PartitionLevelKMeans(side_weight=0.01, random_state=0)
    >>> result = model.fit(np.array([[0.0], [9.0], [9.1], [9.2]]), ["a", "b", "b", "a"]).result_
    >>> suspect_rows(result)
    array([False, False, False,  True])
    """
    suspect = is_suspect(result)
    rows = np.zeros(len(result.labels), dtype=bool)
    said = result.side.statements
    rows[said.i[suspect]] = True
    rows[said.j[suspect & (said.j >= 0)]] = True
    return rows


def is_suspect(result: ClusterResult) -> NDArray[np.bool_]:
    """For each statement whether the answer breaks it, or it is probably wrong."""
    suspect = _is_broken(result)
    if result.verdict.error is not None:
        suspect = suspect | (result.verdict.error > PROBABLY_WRONG)
    return suspect


def _is_broken(result: ClusterResult) -> NDArray[np.bool_]:
    return result.violated & result.side.statements.binding


def own_membership(result: ClusterResult, probabilities: ArrayLike) -> Floats:
    """For each row the probability of the cluster that it is in, as the model sees it.

    It says how clearly the model tells clusters apart, not how often their names are right.

    Parameters
    ----------
    result : ClusterResult
        The partition.
    probabilities : array of shape (n_samples, n_clusters)
        As ``predict_proba`` gives them.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> result = PartitionLevelKMeans(2, random_state=0).fit([[0.0], [5.0]]).result_
    >>> own_membership(result, [[0.9, 0.1], [0.2, 0.8]]).tolist()
    [0.9, 0.8]
    """
    given = np.asarray(probabilities, dtype=np.float64)
    shape = (len(result.labels), len(result.cluster_names))
    if given.shape != shape:
        raise DataError(
            f"probabilities have shape {given.shape}; {shape[0]} rows in {shape[1]} clusters "
            f"need {shape}."
        )
    return given[np.arange(shape[0]), result.labels]


class _Memberships(NamedTuple):
    """The probability of each row's own cluster, and those of all clusters for annotated rows."""

    own: Floats
    annotated: NDArray[np.int64]
    shares: Floats

    def of(self, rows: NDArray[np.int64]) -> Floats:
        """The probabilities of some annotated rows."""
        return self.shares[np.searchsorted(self.annotated, rows)]


def _memberships(result: ClusterResult, X: Any, given: Any) -> _Memberships | None:
    """As given, or as the model computes them from the data of the fit; None where neither is."""
    said = result.side.statements
    annotated = np.unique(np.concatenate([said.i, said.j[said.j >= 0]]))
    if given is not None:
        return _Memberships(
            own_membership(result, given),
            annotated,
            np.asarray(given, dtype=np.float64)[annotated],
        )
    ask = result.verdict.membership
    if ask is None or X is None or not ask.is_about(X):
        return None
    own, shares = ask.of_rows(X, result.labels, annotated)
    return _Memberships(own, annotated, shares)


# Clusters


def _feature_names(X: Any, given: Sequence[str] | None) -> list[str]:
    if X is None:
        return []
    n_columns = np.shape(X)[1]
    if given is None:
        given = getattr(X, "columns", None)
    names = [f"x{k}" for k in range(n_columns)] if given is None else [str(name) for name in given]
    if len(names) != n_columns:
        raise DataError(f"{len(names)} feature_names for {n_columns} columns; give one each.")
    return names


def _clusters(
    result: ClusterResult,
    X: Any,
    columns: list[str],
    evidence: Evidence,
    given: _Memberships | None,
) -> list[dict[str, Any]]:
    sizes = result.sizes.tolist()
    n_rows = max(len(result.labels), 1)
    member = None if given is None else _means(given.own, result)
    sure = None if evidence.confidence is None else _means(np.asarray(evidence.confidence), result)
    stable = _cluster_stability(result, evidence.stability) if len(evidence.stability) else None
    profiles = [[]] * len(sizes) if X is None else _profiles(result, X, columns)
    colours = colours_of(sizes).tolist()
    return [
        {
            "number": k,
            "name": str(result.cluster_names[k]),
            "size": size,
            "share": size / n_rows,
            "colour": colours[k],
            "membership": None if member is None else _number(member[k]),
            "confidence": None if sure is None else _number(sure[k]),
            "stability": None if stable is None else float(stable[k]),
            "profile": profiles[k],
            "markers": [dict(told) for told in evidence.markers[k]] if evidence.markers else [],
            "texts": [dict(told) for told in evidence.texts[k]] if len(evidence.texts) else [],
        }
        for k, size in enumerate(sizes)
    ]


def _membership(labels: NDArray[Any], n_clusters: int) -> Any:
    """Clusters by rows, ones."""
    n_rows = len(labels)
    place = (np.asarray(labels), np.arange(n_rows))
    return sparse.coo_array((np.ones(n_rows), place), shape=(n_clusters, n_rows)).tocsr()


def _means(values: Floats, result: ClusterResult) -> Floats:
    n_clusters = len(result.cluster_names)
    sums = np.bincount(result.labels, values, minlength=n_clusters)
    return sums / np.maximum(result.sizes, 1)


def _profiles(result: ClusterResult, X: Any, columns: list[str]) -> list[list[dict[str, Any]]]:
    """For each cluster all columns, those that set it apart most first."""
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    n_rows = X.shape[0]
    if n_rows != len(result.labels):
        raise DataError(f"X has {n_rows} rows; the result has {len(result.labels)}.")
    sizes = result.sizes[:, None].astype(np.float64)
    sums = _membership(result.labels, len(sizes)) @ X
    sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    total = sums.sum(axis=0)
    mean = sums / np.maximum(sizes, 1)
    others = (total - sums) / np.maximum(n_rows - sizes, 1)
    others = np.where(n_rows > sizes, others, mean)  # a single cluster has nothing to differ from
    deviation = _deviations(X, total / n_rows)
    difference = (mean - others) / np.where(deviation > 0, deviation, 1.0)
    order = np.argsort(-np.abs(difference), axis=1, kind="stable")
    return [
        [
            {
                "column": columns[c],
                "difference": float(difference[k, c]),
                "mean": float(mean[k, c]),
                "others": float(others[k, c]),
            }
            for c in order[k].tolist()
        ]
        for k in range(len(sizes))
    ]


def _deviations(X: Any, mean: Floats) -> Floats:
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        return np.sqrt(np.maximum(squares - mean**2, 0))
    return np.asarray(X.std(axis=0))


# Statements


def _kept(result: ClusterResult) -> dict[str, Any]:
    """Statements kept and broken, by kind and by annotator."""
    from sidelight.metrics import statement_scores

    def rows(by: Any) -> list[dict[str, Any]]:
        return [
            {
                "kind": group.kind,
                "annotator": NOT_TOLD if group.annotator is None else str(group.annotator),
                "n": group.n_statements,
                "kept": group.n_satisfied,
                "broken": group.n_violated,
            }
            for group in statement_scores(
                result.side, result.labels, by=by, violated=result.violated
            )
        ]

    accuracy = {
        NOT_TOLD if name is None else str(name): float(value)
        for name, value in (result.verdict.accuracy or {}).items()
    }
    by_annotator = rows(["annotator"])
    for row in by_annotator:
        row["accuracy"] = accuracy.get(row["annotator"])
    return {
        "n": result.side.n_statements,
        "broken": int(_is_broken(result).sum()),
        "by_kind": rows(["kind"]),
        "by_annotator": by_annotator,
    }


def _suspects(
    result: ClusterResult, given: _Memberships | None, limit: int
) -> list[dict[str, Any]]:
    """The statements that are most likely wrong, with their rows, most suspect first."""
    side, said = result.side, result.side.statements
    suspect = np.flatnonzero(is_suspect(result))
    if not len(suspect):
        return []
    doubt = _doubt(result, given)
    # Without probabilities: first those whose annotator is contradicted most, then light ones.
    judged = np.bincount(said.annotator + 1, said.binding)
    broken = np.bincount(said.annotator + 1, _is_broken(result))
    unreliable = (broken / np.maximum(judged, 1))[said.annotator + 1]
    keys = (suspect, said.weight[suspect], -unreliable[suspect], -np.nan_to_num(doubt[suspect]))
    names = result.cluster_names
    found = []
    for k in suspect[np.lexsort(keys)][:limit].tolist():
        rows = [int(row) for row in (said.i[k], said.j[k]) if row >= 0]
        found.append(
            {
                "statement": side.describe(k),
                "kind": KINDS[said.kind[k]],
                "annotator": (*map(str, side.annotators), NOT_TOLD)[said.annotator[k]],
                "rows": [side.row_name(row) for row in rows],
                "clusters": [str(names[result.labels[row]]) for row in rows],
                "broken": not result.verdict.kept[k],
                "doubt": None if np.isnan(doubt[k]) else float(doubt[k]),
            }
        )
    return found


def _doubt(result: ClusterResult, given: _Memberships | None) -> Floats:
    """How improbable each statement is: by the model, else by the clusters' probabilities."""
    side, said = result.side, result.side.statements
    if result.verdict.error is not None:
        return result.verdict.error
    doubt = np.full(side.n_statements, np.nan)
    if given is None:
        return doubt
    pair = np.flatnonzero(said.is_pair)
    together = np.einsum("nk,nk->n", given.of(said.i[pair]), given.of(said.j[pair]))
    doubt[pair] = np.where(said.sign[pair] > 0, 1 - together, together)
    label = np.flatnonzero(said.is_class)
    if len(label):
        cluster = result.verdict.clusters[said.vocabulary[label], said.class_code[label]]
        shares = given.of(said.i[label])
        member = np.where(cluster >= 0, shares[np.arange(len(label)), cluster], 0.0)
        doubt[label] = np.where(said.sign[label] > 0, 1 - member, member)
    return np.clip(doubt, 0, 1)


# Against a truth, and over seeds


def _truth(result: ClusterResult, truth: Any) -> dict[str, Any] | None:
    """Scores against given classes, and how classes and clusters meet."""
    if truth is None:
        return None
    from sidelight.metrics import score

    scores = score(truth, result.labels, side=result.side, unknown=None)
    classes, table = confusion(truth, result.labels, len(result.cluster_names))
    return {
        "classes": classes,
        "confusion": table.tolist(),
        "n_rows": scores.n_rows,
        "n_unannotated": scores.n_unannotated,
        "all_rows": {name: _number(value) for name, value in scores.all_rows.items()},
        "unannotated": {name: _number(value) for name, value in scores.unannotated.items()},
    }


def confusion(truth: Any, labels: NDArray[Any], n_clusters: int) -> tuple[list[str], NDArray[Any]]:
    """The classes of the known rows, sorted, and for each how many rows lie in which cluster."""
    values = np.asarray(truth, dtype=object)
    known = np.flatnonzero([value is not None and value == value for value in values])
    texts = np.array([str(value) for value in values[known]], dtype=object)
    classes, codes = np.unique(texts.astype(str), return_inverse=True)
    labels = np.asarray(labels)[known]
    counts = np.bincount(codes * n_clusters + labels, minlength=len(classes) * n_clusters)
    return classes.tolist(), counts.reshape(len(classes), n_clusters)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _stability(result: ClusterResult, others: Sequence[ArrayLike]) -> dict[str, Any] | None:
    """How similar the answers of other seeds are."""
    if not len(others):
        return None
    from sidelight.metrics import adjusted_rand

    agreement = [float(adjusted_rand(result.labels, labels)) for labels in others]
    return {
        "n_fits": len(others),
        "agreement": agreement,
        "mean": float(np.mean(agreement)),
        "min": min(agreement),
        "n_clusters": [len(np.unique(np.asarray(labels))) for labels in others],
    }


def _cluster_stability(result: ClusterResult, others: Sequence[ArrayLike]) -> Floats:
    """For each cluster its mean Jaccard index with the most similar cluster of each other fit."""
    n_clusters, found = len(result.cluster_names), []
    mine = _membership(result.labels, n_clusters)
    for labels in others:
        codes = np.unique(np.asarray(labels), return_inverse=True)[1]
        theirs = _membership(codes, int(codes.max()) + 1)
        shared = (mine @ theirs.T).toarray()
        union = result.sizes[:, None] + np.bincount(codes)[None, :] - shared
        found.append((shared / np.maximum(union, 1)).max(axis=1))
    return np.asarray(np.mean(found, axis=0))
