"""HG-means: a population of k-means solutions.   D. Gribel and T. Vidal, "HG-means: a scalable
hybrid genetic algorithm for minimum sum-of-squares clustering", Pattern Recognition 88, 2019.

Minimises  J = sum_i |x_i - m_z(i)|²

Paper            Here
Pi_min, Pi_max   n_init, population_size
n_it             n_generations times (population_size - n_init)
alpha            the same, inherited: the mean of the parents and U(-0.2, 0.2), within 0 and 1

The generations are those of _population.py, which AnnotatedGaussianMixture has too; the local
search is the loop of _lloyd.py. Departures from the paper:
- Where k-means ends, single rows still move if J falls once the centres have followed
  (relocation.py); relocate=False leaves that out. With many columns plain k-means has so many local
  minima that no generation left them: on counts of 2,000 genes the search ended above 100 starts.
- Children of one generation are made of the same parents, so that they can be made at once.
- The first member starts by k-means++, or from the means of labelled classes; labels bind nothing.
"""

import time
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._validation import Integral, Interval, Real
from sidelight.exceptions import SidelightError
from sidelight.models import _population as population
from sidelight.models._centers import cluster_sizes
from sidelight.models._fitting import STARTS, Deadline, Task
from sidelight.models._fitting import budget as fewer
from sidelight.models._kmeans.family import CenterModel, Given, Plan, Seeds, run_start
from sidelight.models._kmeans.relocation import Relocation
from sidelight.models._kmeans.seeds import label_seeds
from sidelight.models._lloyd import EXACT_UP_TO, Penalty, Problem, Run, Theta, iterate, one_of_many

Floats = NDArray[np.float64]

_DRIFT = 0.2  # of alpha, from parents to children
# Of members of large data, which need not be exact, and of the search for the best of them. Chosen
# on three data sets of 30,000 rows, with eight or ten clusters: J rose by 2e-7 of itself at most.
_LEAST_FALL = 1e-4
_LEAST_GAIN = 1e-5


class HGMeans(CenterModel):
    """K-means by a genetic search for the lowest sum of squares.

    Use it if the sum of squares itself matters and restarts of k-means do not find its minimum, as
    with many clusters. A child gets centres from both parents, one of them moved to a row far from
    all centres. Each child is improved by k-means, and the best survive.

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters; by default the number of labelled classes.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    init : {"seeded", "k-means++", "random"}, array, or fitted model, default="seeded"
        Where the first member of the population starts; the others start by k-means++ (or from
        random rows). "seeded": the means of the labelled classes, with k-means++ for the remaining
        clusters. An array of shape (n_clusters, n_features) gives centres, one of shape
        (n_samples,) cluster numbers (−1 is unknown), and a fitted model its centres.
    n_init : int, default=10
        The number of starts, and of members that survive a generation.
    n_generations : int, default=100
        The maximum number of generations.
    population_size : int, optional
        Survivors and children together; by default twice ``n_init``.
    patience : int or "auto", default="auto"
        The search ends after this number of generations without a better solution. "auto": 10.
        Above 20,000 rows "auto" is a shorter search: 10 to 4 generations, which together have to
        gain 1e-5 of J; members end when an iteration lowers J by less than 1e-4 of it, and only the
        best of all is improved to the end. A number is the full search for any number of rows.
    relocate : bool, default=True
        Whether single rows still move after k-means has converged, if J falls when the centres are
        updated with the move. False is the paper's search.
    max_iter : int, default=300
        The maximum number of iterations of k-means for each member.
    max_time : float, optional
        The time limit in seconds. After it no member is started, except the first.
    n_jobs : int, optional
        The number of members to improve at the same time, in threads; the answer does not depend on
        it.
    random_state : int, Generator or RandomState, optional
        Source of the starts, the parents and the mutations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, then new names.
    n_clusters_ : int
        The number of clusters found; fewer than asked for only if there are too few distinct rows.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Means of the clusters, in double precision.
    population_scores_ : ndarray
        J of the members of the last population, lowest first.
    objective_ : float
        J, the sum of squared distances to the centres.
    history_ : ndarray of shape (n_iter_,)
        The lowest J after the starts and after each generation.
    n_iter_ : int
        The number of generations, plus one for the starts.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    SeededKMeans : Labels only choose the start.
    PartitionLevelKMeans : Labels count, and the data can outweigh them.

    Notes
    -----
    J = sum_i w_i |x_i - m_z(i)|², with row weights w. Labels name clusters, and give
    the first member its start; a row may leave the cluster of its label. Unless ``relocate`` is
    False, no single move of a row lowers J, even if the centres are updated with the move.

    References
    ----------
    D. Gribel and T. Vidal. HG-means: a scalable hybrid genetic algorithm for minimum sum-of-squares
    clustering. Pattern Recognition 88, 2019, 569-583.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import HGMeans
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])
    >>> HGMeans(3, random_state=0).fit_predict(X).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    accepts = ("label",)
    refuses: ClassVar[dict[str, str]] = {
        kind: "It minimises the sum of squares alone, and labels only name its clusters. "
        for kind in ("must", "cannot", "not_label")
    }
    weight_unit = "none: labels are only the start"
    repetition = "ignored"
    contradictions = "tolerated"
    scales = "As k-means, hundreds of times: once for each member of the population."
    _published: ClassVar[dict[str, Any]] = {
        "n_generations": 500,
        "patience": 50,
        "relocate": False,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CenterModel._parameter_constraints,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_generations": [Interval(Integral, 0, None, closed="left")],
        "population_size": [Interval(Integral, 2, None, closed="left"), None],
        "patience": STARTS,
        "relocate": ["boolean"],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Any = None,
        init: Any = "seeded",
        n_init: int = 10,
        n_generations: int = 100,
        population_size: int | None = None,
        patience: int | str = "auto",
        relocate: bool = True,
        max_iter: int = 300,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            random_state=random_state,
        )
        self.n_generations = n_generations
        self.population_size = population_size
        self.patience = patience
        self.relocate = relocate
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _penalty(self, given: Given) -> Penalty:
        return Relocation() if self.relocate else Penalty()

    def _seeds(self, given: Given) -> tuple[Seeds, Seeds]:
        seeds = label_seeds(given.side, given.weight, given.n_clusters)
        return seeds, seeds

    def _search(self, problem: Problem, plan: Plan, seed: int) -> Run:
        n_init, n_samples = int(self.n_init), problem.rows.n_samples
        size = 2 * n_init if self.population_size is None else self.population_size
        if size <= n_init:
            raise SidelightError(
                f"population_size={size} leaves no room for children beside n_init={n_init} "
                "survivors; give more than n_init, or None."
            )
        end = np.inf if self.max_time is None else time.monotonic() + self.max_time
        budget = population.Plan(
            n_init, self.n_generations, size, Deadline(end), self.n_jobs, tournament=2,
            patience=fewer(self.patience, n_samples, full=10, least=4, up_to=EXACT_UP_TO),
        )  # fmt: skip
        rng, member = np.random.default_rng(seed), problem
        if self.patience == "auto" and n_samples > EXACT_UP_TO:
            # Members that stop early need not move single rows either.
            member = problem._replace(penalty=Penalty())
            plan = plan._replace(loop=one_of_many(n_samples, _LEAST_FALL))
            budget = budget._replace(least_gain=_LEAST_GAIN)
        with Task.of_fit(self, self.n_generations + 1) as fit:
            found = population.evolve(
                member, plan, budget, start=_start,
                starts=list(enumerate(rng.spawn(n_init))), breed=_breed, rng=rng,
                each_generation=partial(fit.step, "generation"),
            )  # fmt: skip
        best = found.population[0]
        self.population_scores_ = np.array([-member.objective for member in found.population])
        # Members leave their labels behind, which are as long as the data.
        run = iterate(problem, Theta(best.genes.centers), self.max_iter, plan.smallest)
        history = [max(-value, run.objective) for value in found.history]
        history[-1] = run.objective
        self.population_scores_[0] = run.objective
        return run._replace(history=history, n_iter=len(history))


class Genes(NamedTuple):
    """The part that a child inherits from a parent."""

    centers: Floats
    alpha: float


class Member(NamedTuple):
    """A solution of k-means; the higher the objective, -J, the better."""

    genes: Genes
    counts: Floats
    objective: float

    @classmethod
    def of(cls, run: Run, alpha: float, problem: Problem) -> "Member":
        """From a run of k-means."""
        sizes = cluster_sizes(problem.rows, run.labels, len(run.theta.centers))
        return cls(Genes(run.theta.centers, alpha), sizes, -run.objective)


def _start(problem: Problem, plan: Plan, number: int, rng: np.random.Generator) -> Member:
    """A member from the beginning; only the first has the start that is given, or the seeds."""
    if number and not (isinstance(plan.init, str) and plan.init == "random"):
        plan = plan._replace(init="k-means++")
    return Member.of(run_start(problem, plan, (number, rng)), rng.random(), problem)


def _breed(
    problem: Problem, plan: Plan, one: Genes, two: Genes, _: Floats, rng: np.random.Generator
) -> Member:
    """A child of two parents."""
    alpha = 0.5 * (one.alpha + two.alpha) + rng.uniform(-_DRIFT, _DRIFT)
    alpha = float(np.clip(alpha, 0.0, 1.0))
    centers = population.crossover(one.centers, two.centers, np.arange(plan.n_clusters), rng)
    centers = population.reinserted(problem.rows, problem.weight, centers, alpha, rng)
    run = plan.loop(problem, Theta(centers), plan.max_iter, plan.smallest)
    return Member.of(run, alpha, problem)
