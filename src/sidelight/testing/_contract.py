"""The checks of our contract, on data that every model can handle."""

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sidelight.blocks import as_blocks, threads
from sidelight.exceptions import LostClassWarning, SidelightError, UnsupportedStatementError
from sidelight.models import BayesianMixture, model_tags
from sidelight.results import ClusterResult
from sidelight.side import KINDS, Kind, SideInformation, usable_kinds

__all__ = [
    "check_attributes",
    "check_contradictions",
    "check_history",
    "check_inputs_untouched",
    "check_lost_classes",
    "check_names_survive",
    "check_no_side_information",
    "check_order_and_repetition",
    "check_permuted_rows",
    "check_pickle",
    "check_same_bits",
    "check_tags",
    "check_unsupported_kinds",
    "check_unsure_binds_nothing",
    "check_verdict",
    "checks",
    "verify_emission",
]

N_CLUSTERS = 3


def checks() -> list[Callable[[Any], None]]:
    """All checks, in the order of their names.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.testing import checks
    >>> for check in checks():
    ...     check(PartitionLevelKMeans(3))
    """
    return [globals()[name] for name in __all__ if name.startswith("check_")]


def check_attributes(estimator: Any) -> None:
    """The attributes after ``fit`` exist and agree with each other.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_attributes(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    side = _side(estimator, truth)
    model = _fit(estimator, X, side)
    n_clusters = model.n_clusters_
    _expect(model.labels_.shape == (len(X),), "labels_ has one entry per row")
    _expect(
        set(np.unique(model.labels_)) == set(range(n_clusters)), "labels_ are 0 … n_clusters_ - 1"
    )
    _expect(len(model.cluster_names_) == n_clusters, "every cluster has a name")
    _expect(len(set(model.cluster_names_)) == n_clusters, "names of clusters differ")
    _expect(np.isfinite(model.objective_), "objective_ is finite")
    _expect(model.n_iter_ >= 1, "n_iter_ counts from 1")
    result = model.result_
    _expect(isinstance(result, ClusterResult), "result_ is a ClusterResult")
    assert_array_equal(result.labels, model.labels_)
    _expect(result.side == side, "result_.side holds all statements")
    expect_agreement(model)
    for key in ("model", "parameters", "seed", "versions", "threads"):
        _expect(key in result.provenance, f"provenance tells the {key}")
    _expect(len(model.predict(X[:5])) == 5, "predict works on new rows")
    assert_array_equal(
        clone(estimator).set_params(**_seeded(estimator)).fit_predict(X, side=side),
        model.labels_,
        err_msg="fit_predict with side gives labels_",
    )


def check_no_side_information(estimator: Any) -> None:
    """None, an empty table and unknown labels give the plain algorithm.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_no_side_information(PartitionLevelKMeans(3))
    """
    X, _ = _data()
    plain = _fit(estimator, X, None)
    empty = _fit(estimator, X, SideInformation.empty(len(X)))
    unknown = clone(estimator).set_params(**_seeded(estimator)).fit(X, np.full(len(X), -1))
    assert_array_equal(plain.labels_, empty.labels_)
    assert_array_equal(plain.labels_, unknown.labels_)
    assert_array_equal(
        plain.labels_, plain.predict(X), err_msg="fit_predict(X) is fit(X).predict(X)"
    )
    _expect(plain.result_.violated.size == 0, "no statement, none broken")


def check_unsure_binds_nothing(estimator: Any) -> None:
    """``unsure`` and statements of weight 0 change nothing.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_unsure_binds_nothing(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    side = _side(estimator, truth)
    idle = SideInformation.from_columns(
        ["unsure", "unsure", "must", "cannot"],
        [0, 1, 2, 3],
        [5, None, 7, 8],
        weight=[1.0, 1.0, 0.0, 0.0],
        n_samples=len(X),
    )
    one, two = _fit(estimator, X, side), _fit(estimator, X, side + idle)
    assert_array_equal(one.labels_, two.labels_)
    _expect(one.objective_ == two.objective_, "the objective is the same")


def check_order_and_repetition(estimator: Any) -> None:
    """The order of statements does not matter; repeating them does as the tag says.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_order_and_repetition(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    side = _side(estimator, truth)
    shuffled = _rebuilt(side, np.random.default_rng(0).permutation(side.n_statements))
    one, two = _fit(estimator, X, side), _fit(estimator, X, shuffled)
    assert_array_equal(one.labels_, two.labels_, err_msg="the order of statements matters")
    assert_allclose(one.objective_, two.objective_, rtol=1e-9)
    wrong = _wrong(estimator, truth)
    if wrong.n_statements == 0 or estimator.contradictions == "raises":
        return
    # A statement that contradicts the data has a cost, which shows whether it counts twice.
    once = _fit(estimator, X, side + wrong).objective_
    twice = _fit(estimator, X, side + wrong + wrong).objective_
    if estimator.repetition == "ignored":
        assert_allclose(twice, once, rtol=1e-9, err_msg="repetition is not ignored")
    else:
        _expect(abs(twice - once) > 1e-9 * abs(once), "repetition adds nothing")


def check_permuted_rows(estimator: Any) -> None:
    """On separated data permuting the rows permutes the labels, up to renaming.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_permuted_rows(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    side = _side(estimator, truth)
    order = np.random.default_rng(1).permutation(len(X))
    one, two = _fit(estimator, X, side), _fit(estimator, X[order], side[order])
    score = adjusted_rand_score(one.labels_[order], two.labels_)
    _expect(score == 1.0, f"the partition depends on the order of the rows (ARI {score:.3f})")


def check_same_bits(estimator: Any) -> None:
    """The same seed gives the same bits, for one thread and for two.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_same_bits(PartitionLevelKMeans(3))
    """
    X, truth = _data(n_samples=20_000)
    side = _side(estimator, truth)
    answers = []
    for n_threads in (1, 1, 2):
        with threads(n_threads):
            answers.append(_fit(estimator, X, side))
    for other in answers[1:]:
        assert_array_equal(answers[0].labels_, other.labels_)
        assert_array_equal(answers[0].history_, other.history_)
        _expect(answers[0].objective_ == other.objective_, "the objective has the same bits")


def check_history(estimator: Any) -> None:
    """``history_`` runs in one direction, and ends at ``objective_``.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_history(PartitionLevelKMeans(3))
    """
    X, truth = _data(spread=1.0)
    for side in (None, _side(estimator, truth), _side(estimator, truth) + _wrong(estimator, truth)):
        if side is not None and estimator.contradictions == "raises":
            continue
        model = _fit(estimator, X, side)
        steps = np.diff(model.history_) * (1 if estimator.objective_sense == "max" else -1)
        _expect((steps >= 0).all(), "history_ is not monotone")
        assert_allclose(model.history_[-1], model.objective_, rtol=1e-9)


def check_tags(estimator: Any) -> None:
    """The tags of a model are true: those that no other check covers.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_tags(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    tags = model_tags(estimator)
    _expect(set(tags.accepts) <= set(KINDS) - {"unsure"}, "accepts names kinds of statement")
    _expect(not set(tags.accepts) & set(tags.refuses), "a kind is accepted and refused")
    _expect(tags.scales.endswith("."), "scales is a sentence")
    model = _fit(estimator, X, _side(estimator, truth))
    _expect(
        tags.gives_probabilities == hasattr(model, "predict_proba"),
        "gives_probabilities does not say whether there is predict_proba",
    )
    for attribute in ("statement_error_", "annotator_accuracy_"):
        _expect(
            tags.finds_errors == hasattr(model, attribute),
            f"finds_errors does not say whether fit leaves {attribute}",
        )
    free = {"n_clusters": None} if "n_clusters" in estimator.get_params() else {}
    _expect(
        tags.finds_k == _fits(clone(estimator).set_params(**free), X),
        "finds_k does not say whether the model finds the number of clusters without labels",
    )
    _expect(
        tags.takes_sparse == _fits(estimator, sparse.csr_array(X)),
        "takes_sparse does not say whether X may be a sparse matrix",
    )
    if tags.takes_similarities:
        distance2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        similar = clone(estimator).set_params(**tags.takes_similarities)
        labels = _fit(similar, np.exp(-distance2 / 2), None).labels_
        score = adjusted_rand_score(truth, labels)
        _expect(score > 0.5, f"similarities do not give back the clusters (ARI {score:.3f})")


def _fits(estimator: Any, X: Any) -> bool:
    """Whether a model can be fitted to X without statements."""
    try:
        _fit(estimator, X, None)
    except SidelightError:
        return False
    return True


def check_contradictions(estimator: Any) -> None:
    """Contradictory statements are reported or raise, as the tag says.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_contradictions(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    side = _side(estimator, truth) + _wrong(estimator, truth)
    if not len(side.conflicts().broken):
        return
    if estimator.contradictions == "raises":
        _expect_error(SidelightError, estimator, X, side)
    else:
        model = _fit(estimator, X, side)
        _expect(model.result_.violated.any(), "a broken statement is not reported")


def check_unsupported_kinds(estimator: Any) -> None:
    """A kind outside ``accepts`` raises an error that names the kind and the first statement.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_unsupported_kinds(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    usable = usable_kinds(estimator.accepts)
    for kind in (name for name in KINDS if name not in usable):
        about = {"j": [1]} if Kind.of(kind).about == "pair" else {"class_": [truth[0]]}
        side = SideInformation.from_columns(kind, [0], **about, n_samples=len(X))
        message = _expect_error(UnsupportedStatementError, estimator, X, side)
        _expect(repr(kind) in message, f"the message does not name {kind}: {message}")
        _expect(side.describe(0) in message, f"the message does not name the statement: {message}")


def check_inputs_untouched(estimator: Any) -> None:
    """``fit`` changes neither the data, nor ``y``, nor the statements, nor the parameters.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_inputs_untouched(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    y = np.where(np.arange(len(X)) < 30, truth, -1)
    side = _side(estimator, truth)
    parameters = estimator.get_params()
    before = X.copy(), y.copy(), pickle.dumps(side)
    _fit(estimator, X, side)
    if "label" in estimator.accepts:
        _fit(estimator, X, None, y)
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])
    _expect(pickle.dumps(side) == before[2], "the statements changed")
    _expect(estimator.get_params() == parameters, "the parameters changed")


def check_pickle(estimator: Any) -> None:
    """A fitted model survives pickling, its result included.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_pickle(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    model = _fit(estimator, X, _side(estimator, truth))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(model.predict(X), again.predict(X))
    assert_array_equal(model.result_.labels, again.result_.labels)
    _expect(model.result_.side == again.result_.side, "the statements are lost")


def check_names_survive(estimator: Any) -> None:
    """``cluster_names_[labels_]`` gives back the names that people used.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_names_survive(PartitionLevelKMeans(3))
    """
    if "label" not in estimator.accepts:
        return
    X, truth = _data()
    names = np.array(["ant", "bee", "cat"], dtype=object)[truth]
    y = np.where(np.arange(len(X)) < 60, names, None)
    model = clone(estimator).set_params(**_seeded(estimator)).fit(X, y)
    assert_array_equal(model.cluster_names_[model.labels_], names)
    assert_array_equal(model.cluster_names_, ["ant", "bee", "cat"])


def check_lost_classes(estimator: Any) -> None:
    """A class that people named does not vanish without a `LostClassWarning` that names it.

    Five classes for three clusters, then a class with one label among many of another class. A
    model may also refuse.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_lost_classes(PartitionLevelKMeans(3))
    """
    if "label" not in estimator.accepts:
        return
    X, truth = _data()
    unknown = [None] * (len(X) - 45)
    many = ["abcde"[row % 5] for row in range(45)]
    rare = ["rare", *("abc"[k] for k in truth[1:45])]
    for y in (many + unknown, rare + unknown):
        model = clone(estimator).set_params(**_seeded(estimator))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(X, y)
            except SidelightError:
                continue
        expect_told(model, caught)


def expect_told(model: Any, caught: list[warnings.WarningMessage]) -> None:
    """Classes that the result calls lost are those that warnings name, and the reverse."""
    told = [w.message for w in caught if isinstance(w.message, LostClassWarning)]
    lost = model.result_.lost_classes
    _expect(
        [key for warning in told for key in warning.classes] == lost,
        f"{lost} have no cluster, and the warnings name other classes",
    )
    for sentence in model.result_.advice:
        _expect(len(sentence) > 20 and sentence.endswith("."), "advice is a sentence")
    if lost:
        advice = " ".join(model.result_.advice)
        _expect(str(told[0]) in advice, "the advice of the result says something else")
        _expect(repr(lost[0][1])[:50] in str(told[0]), "the warning does not name the class")


def check_verdict(estimator: Any) -> None:
    """Names, kept and broken statements, probabilities of errors and accuracies agree.

    A label is kept exactly when its row lies in the cluster that carries the name of its class,
    in ``result_.verdict`` and in everything that reads it. On separated data a statement is
    probably wrong exactly when it is broken, and an annotator who is right has a higher accuracy
    than one who is wrong.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> check_verdict(PartitionLevelKMeans(3))
    """
    X, truth = _data()
    wrong = _wrong(estimator, truth)
    said = [_by(_side(estimator, truth), "ann"), _by(wrong, "bob")]
    if estimator.contradictions == "raises":
        said = said[:1]
    for side in (None, said[0], sum(said, SideInformation.empty(len(X)))):
        model = _fit(estimator, X, side)
        expect_agreement(model)
        if model.result_.verdict.membership is not None:
            shares = model.result_.verdict.membership.probabilities(X)
            _expect(shares.shape == (len(X), model.n_clusters_), "a probability per cluster")
            assert_allclose(shares.sum(axis=1), 1.0, err_msg="probabilities do not add up to 1")
            assert_array_equal(shares, model.predict_proba(X))
            _expect(model.result_.verdict.membership.is_about(X), "the data are not known again")
    if not wrong.n_statements or estimator.contradictions == "raises":
        return
    verdict = model.result_.verdict
    if verdict.error is not None:
        assert_array_equal(
            verdict.error > 0.5, ~verdict.kept, err_msg="probably wrong and kept, or the reverse"
        )
    if verdict.accuracy is not None:
        _expect(verdict.accuracy["ann"] > verdict.accuracy["bob"], "who is right counts for less")


def _by(side: SideInformation, annotator: str) -> SideInformation:
    """The same statements, with an annotator."""
    return _rebuilt(side, np.arange(side.n_statements), annotator)


def _rebuilt(
    side: SideInformation, order: NDArray[Any], annotator: str | None = None
) -> SideInformation:
    """Some statements of ``side`` in another order, with an annotator."""
    said = side.statements
    return SideInformation.from_columns(
        said.kind[order],
        said.i[order],
        [None if j < 0 else j for j in said.j[order]],
        class_=[None if c < 0 else side.classes[c] for c in said.class_code[order]],
        annotator=annotator,
        n_samples=side.n_samples,
    )


def expect_agreement(model: Any) -> None:
    """Everything that a fitted model says about its statements is consistent."""
    result = model.result_
    verdict, side, said = result.verdict, result.side, result.side.statements
    names = result.cluster_names
    shape = (len(side.vocabularies) + 1, len(side.classes))
    _expect(verdict.clusters.shape == shape, "a cluster for each class of each vocabulary")
    _expect(verdict.kept.shape == (side.n_statements,), "each statement is kept or broken")
    for of_class in verdict.clusters:
        found = of_class[of_class >= 0]
        _expect((found < len(names)).all(), "a class has a cluster that is not there")
        _expect(len(set(found)) == len(found), "two classes of a vocabulary share a cluster")
    # The leading vocabulary is the one with the most labels, and gives clusters their names.
    is_label = said.is_class & (said.sign > 0)
    lead = side.leading_vocabulary
    carried = {(type(n), n): k for k, n in enumerate(names.tolist())}
    for code, cluster in enumerate(verdict.clusters[lead]):
        name = side.classes[code]
        _expect(
            carried.get((type(name), name), -1) == cluster,
            f"class {name!r} is cluster {cluster}, and another one carries its name",
        )
    labels = np.asarray(result.labels)
    here = is_label & (said.vocabulary == lead)
    home = np.array([carried.get((type(n), n), -1) for n in side.classes], dtype=np.int64)
    kept = labels[said.i[here]] == home[said.class_code[here]]
    assert_array_equal(verdict.kept[here], kept, err_msg="kept is not what the names say")
    assert_array_equal(
        verdict.kept, ~side.violated(labels, clusters=verdict.clusters),
        err_msg="kept is not what the clusters of the classes say",
    )  # fmt: skip
    assert_array_equal(result.violated, ~verdict.kept)
    _expect(len(result.broken()) == int((~verdict.kept).sum()), "broken() tells other statements")
    tags = model_tags(model)
    _expect((verdict.error is not None) == tags.finds_errors, "finds_errors against the verdict")
    _expect((verdict.accuracy is not None) == tags.finds_errors, "finds_errors and accuracies")
    _expect(
        (verdict.membership is not None) == tags.gives_probabilities,
        "gives_probabilities against the verdict",
    )
    if verdict.error is not None:
        _expect((verdict.error[said.sign == 0] == 0).all(), "unsure states nothing that is wrong")
        _expect(((verdict.error >= 0) & (verdict.error <= 1)).all(), "an error is no probability")
        assert_array_equal(verdict.error, model.statement_error_)
    if verdict.accuracy is not None:
        spoke = {(*side.annotators, None)[code] for code in said.annotator}
        _expect(set(verdict.accuracy) == spoke, "an accuracy for each annotator who spoke")
        _expect(all(0 <= p <= 1 for p in verdict.accuracy.values()), "an accuracy is a share")
        _expect(verdict.accuracy == model.annotator_accuracy_, "annotator_accuracy_ differs")


# Data and statements for the checks


def verify_emission(kind: Any, X: Any, prior: Any = None) -> None:
    """Hold an emission of `BayesianMixture` to its mathematics, on rows that it can read.

    Statistics add up over rows; the posterior is the best one, which it can be only if statistics,
    posterior, expected log density and divergence agree; the divergences are divergences; and the
    bound of a fit never falls.

    Parameters
    ----------
    kind : class derived from sidelight.models.Emission
        What is verified.
    X : array of shape (n_samples, n_features)
        At least ten rows.
    prior : object, optional
        Handed to ``kind.of``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.models._emissions import EMISSIONS
    >>> from sidelight.testing import verify_emission
    >>> verify_emission(EMISSIONS["poisson"], np.random.default_rng(0).poisson(3.0, (50, 2)))
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    n = len(X)
    emission = kind.of(as_blocks(X), prior, N_CLUSTERS)
    phi = np.ascontiguousarray(np.random.default_rng(0).dirichlet(np.ones(N_CLUSTERS), n).T)
    halves = [np.ascontiguousarray(part) for part in np.array_split(phi, 2, axis=1)]
    cut = halves[0].shape[1]
    whole = emission.statistics(X, phi)
    parts = zip(
        emission.statistics(X[:cut], halves[0]), emission.statistics(X[cut:], halves[1]),
        strict=True,
    )  # fmt: skip
    for table, (a, b) in zip(whole, parts, strict=True):
        assert_allclose(a + b, table, rtol=1e-9, atol=1e-9, err_msg="statistics do not add up")
    assert_allclose(whole[0], phi.sum(axis=1), err_msg="the first statistic is not the mass")
    _expect(not emission.unreadable(X).any(), "the rows cannot be read by the emission itself")
    density = emission.log_density(X, emission.posterior(whole))
    _expect(density.shape == phi.shape, f"densities have shape {density.shape}, not {phi.shape}")
    nothing = emission.divergence(emission.prior)
    assert_allclose(nothing, 0.0, atol=1e-8, err_msg="KL(prior || prior) is not 0")
    _best_posterior(emission, X, phi, whole)
    both = emission.symmetric_divergence(emission.posterior(whole))
    assert_allclose(both, both.T, atol=1e-8, err_msg="the symmetric divergence is not symmetric")
    assert_allclose(np.diag(both), 0.0, atol=1e-8, err_msg="it is not 0 on its diagonal")
    _expect((both >= -1e-8).all(), "the symmetric divergence is negative")
    again = pickle.loads(pickle.dumps(emission))
    assert_array_equal(again.log_density(X, again.posterior(whole)), density)
    model = BayesianMixture(N_CLUSTERS, emission=kind, prior=prior, n_init=1)
    history = _fit(model.set_params(random_state=0), X, None).history_
    _expect((np.diff(history) >= 0).all(), "the bound of a fit falls")


def _best_posterior(emission: Any, X: Any, phi: Any, statistics: Any) -> None:
    """The posterior beats those of slightly different statistics, in every table of these."""

    def bound(q: Any) -> float:
        return float((phi * emission.log_density(X, q)).sum() - emission.divergence(q).sum())

    best = bound(emission.posterior(statistics))
    for table in range(len(statistics)):
        for factor in (0.9, 1.1):
            other = list(statistics)
            other[table] = factor * other[table]
            with np.errstate(all="ignore"):
                try:
                    value = bound(emission.posterior(tuple(other)))
                except (SidelightError, np.linalg.LinAlgError):
                    continue  # no rows have such statistics
            _expect(not value > best + 1e-8 * abs(best), "the posterior is not the best one")


def _data(n_samples: int = 90, spread: float = 12.0) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(42)
    truth = np.arange(n_samples) % N_CLUSTERS
    centers = spread * np.array([[0.0, 0.0], [1.0, 0.2], [0.1, 1.0]])
    return centers[truth] + rng.normal(size=(n_samples, 2)), truth


def _side(estimator: Any, truth: NDArray[Any]) -> SideInformation:
    """True statements of all kinds that the model takes."""
    n, said = len(truth), []
    if "label" in estimator.accepts:
        said.append(SideInformation.from_labels(np.where(np.arange(n) < 15, truth, -1)))
    if "not_label" in estimator.accepts:
        rows = np.arange(15, 24)
        other = (truth[rows] + 1) % N_CLUSTERS
        said.append(SideInformation.from_columns("not_label", rows, class_=other, n_samples=n))
    if "must" in estimator.accepts:
        pairs = [(i, i + N_CLUSTERS) for i in range(24, 33)]
        said.append(SideInformation.from_pairs(must=pairs, n_samples=n))
    if "cannot" in estimator.accepts:
        pairs = [(i, i + 1) for i in range(36, 45)]
        said.append(SideInformation.from_pairs(cannot=pairs, n_samples=n))
    return sum(said, SideInformation.empty(n))


def _wrong(estimator: Any, truth: NDArray[Any]) -> SideInformation:
    """One false statement, which contradicts what `_side` says about the same rows."""
    n = len(truth)
    if "label" in estimator.accepts:
        return SideInformation.from_columns(
            "label", [0], class_=[(truth[0] + 1) % N_CLUSTERS], n_samples=n
        )
    if "must" in estimator.accepts and "cannot" in estimator.accepts:
        return SideInformation.from_pairs(must=[(36, 37)], n_samples=n)
    return SideInformation.empty(n)


def _seeded(estimator: Any) -> dict[str, int]:
    return {"random_state": 0} if "random_state" in estimator.get_params() else {}


def _fit(estimator: Any, X: NDArray[Any], side: SideInformation | None, y: Any = None) -> Any:
    model = clone(estimator).set_params(**_seeded(estimator))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LostClassWarning)  # `check_lost_classes` looks at it
        return model.fit(X, y, side=side)


def _expect(condition: Any, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def _expect_error(kind: type[Exception], estimator: Any, X: Any, side: SideInformation) -> str:
    try:
        _fit(estimator, X, side)
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was expected, and nothing was raised")
