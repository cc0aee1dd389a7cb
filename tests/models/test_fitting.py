"""What the fits of all models share: starts, callbacks, ``init`` and warnings."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sidelight import BayesianMixture, PartitionLevelKMeans
from sidelight.exceptions import DataError
from sidelight.models._fitting import (
    Task,
    best_of_starts,
    given_labels,
    n_starts,
    race,
    warn,
    warn_fewer_clusters,
    warn_not_converged,
)

X = np.array([[0.0], [0.2], [1.0], [1.2], [7.0], [7.2]])


class Toy(CallbackSupportMixin, BaseEstimator):
    """Starts that cost what they are given, in three steps each."""

    def __init__(self, costs=(), n_init=4, init="random"):
        self.costs = costs
        self.n_init = n_init
        self.init = init

    @with_callbacks
    def fit(self, X=None, y=None):
        self.tried_, self.steps_ = [], []

        def work(problem, common, start, each_iteration):
            self.tried_.append(start)
            self.steps_.append([each_iteration() for _ in range(3)].count(False))
            return start, self.costs[start]

        starts = range(len(self.costs))
        self.best_ = best_of_starts(self, work, None, None, starts, cost=lambda found: found[1])
        return self


class Racing(Toy):
    """The same starts, of which one goes on for two steps more."""

    @with_callbacks
    def fit(self, X=None, y=None):
        self.tried_, self.went_on_ = [], []

        def begin(problem, common, start, each_iteration):
            self.tried_.append(start)
            each_iteration()
            return start, self.costs[start]

        def go_on(problem, common, found, each_iteration):
            self.went_on_.append(found)
            each_iteration(), each_iteration()
            return found[0], found[1] - 1.0

        starts = range(len(self.costs))
        self.best_ = race(self, begin, go_on, None, None, starts, cost=lambda found: found[1])
        return self


class Watch:
    """A callback that writes down what ends, and stops after one of them."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.stop_after, self.seen = stop_after, []

    def setup(self, *args, **kwargs):
        pass

    def teardown(self, *args, **kwargs):
        pass

    def on_fit_begin(self, *args, **kwargs):
        pass

    def on_fit_end(self, *args, **kwargs):
        pass

    def on_fit_task_begin(self, *args, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.seen.append(context.task_name)
        return self.stop_after is not None and self.seen.count(self.stop_after) == 1


def test_the_cheapest_start_is_kept_and_the_first_of_equals():
    model = Toy((3.0, 1.0, 2.0, 1.0)).fit()
    assert model.best_ == (1, 1.0)
    assert model.tried_ == [0, 1, 2, 3]


def test_only_the_cheapest_of_a_race_goes_on_and_the_first_of_equals():
    watch = Watch()
    model = Racing((3.0, 1.0, 2.0, 1.0)).set_callbacks(watch).fit()
    assert model.tried_ == [0, 1, 2, 3]
    assert model.went_on_ == [(1, 1.0)]
    assert model.best_ == (1, 0.0)
    short = ["iteration", "start"]
    assert watch.seen[:-1] == short * 4 + ["iteration", *short]


def test_a_callback_that_stops_a_race_ends_it():
    model = Racing((3.0, 1.0)).set_callbacks(Watch("start")).fit()
    assert (model.tried_, model.went_on_, model.best_) == ([0], [], (0, 3.0))


def test_callbacks_see_the_steps_in_the_starts_in_the_fit():
    watch = Watch()
    Toy((1.0, 2.0)).set_callbacks(watch).fit()
    start = ["iteration"] * 3 + ["start"]
    assert watch.seen[:8] == start + start
    assert len(watch.seen) == 9  # the fit itself comes last


@pytest.mark.parametrize(
    ("after", "tried", "steps"), [("start", [0], [3]), ("iteration", [0, 1], [2, 3])]
)
def test_a_callback_that_stops_a_start_ends_the_fit_and_one_that_stops_a_step_is_heard(
    after, tried, steps
):
    model = Toy((2.0, 1.0)).set_callbacks(Watch(after)).fit()
    assert model.tried_ == tried
    assert model.steps_ == steps


def test_a_task_that_fails_does_not_end():
    watch = Watch()
    model = Toy((1.0,)).set_callbacks(watch)

    @with_callbacks
    def fit(self):
        with Task.of_fit(self, 1), pytest.raises(ZeroDivisionError), Task.of_fit(self).part("it"):
            raise ZeroDivisionError

    fit(model)
    assert "it" not in watch.seen


def test_a_given_start_is_tried_once():
    assert n_starts(PartitionLevelKMeans(2, n_init=7), 9) == 7
    assert n_starts(PartitionLevelKMeans(2, n_init=7, init=np.zeros((2, 1))), 9) == 1


def test_given_labels_come_from_arrays_and_from_fitted_models():
    fitted = PartitionLevelKMeans(2, random_state=0).fit(X)
    assert given_labels([0, 1, -1], 3, 2).tolist() == [0, 1, -1]
    assert given_labels(fitted, 6, 2, X=X).tolist() == fitted.labels_.tolist()
    assert given_labels(fitted, 2, 2, X=X[[4, 0]]).tolist() == fitted.labels_[[4, 0]].tolist()
    with pytest.raises(NotFittedError):
        given_labels(PartitionLevelKMeans(2), 6, 2, X=X)


@pytest.mark.parametrize(
    ("init", "n_clusters", "message"),
    [
        ([0, 1], 2, r"shape \(2,\).*each of the 3 rows"),
        ([0.0, 1.0, 1.0], 2, "type float64"),
        ([0, 1, 2], 2, "from 0 to 2; for n_components=2 give 0 to 1, and -1 where it is unknown"),
        ([0, 1, -2], None, "from -2 to 1; give 0 or more, and -1 where it is unknown"),
    ],
)
def test_labels_that_cannot_be_a_start_are_refused_with_what_is_allowed(init, n_clusters, message):
    with pytest.raises(DataError, match=message):
        given_labels(init, 3, n_clusters, limit="n_components")


@pytest.mark.parametrize("model", [PartitionLevelKMeans(2), BayesianMixture(2)])
def test_minus_one_is_a_row_that_the_model_places_itself(model):
    init = np.array([0, 0, 0, -1, 1, -1])
    found = model.set_params(init=init, random_state=0).fit_predict(X)
    assert found[3] == found[2]
    assert found[5] == found[4]
    assert found[3] != found[5]


class _Run:
    converged, n_iter = False, 5


def test_warnings_point_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn("one")
        PartitionLevelKMeans(3, random_state=0).fit(np.zeros((4, 1)))
    assert [w.filename for w in seen] == [__file__, __file__]
    assert all(w.category is ConvergenceWarning for w in seen)


def test_warnings_are_for_runs_that_the_limit_ended_and_for_clusters_that_are_missing():
    with pytest.warns(ConvergenceWarning, match="after max_iter=5 iterations; raise it"):
        warn_not_converged(_Run, 5, "raise it")
    warn_not_converged(_Run, 6, "raise it")
    with pytest.warns(ConvergenceWarning, match="found 1 cluster where 2 were asked for: why"):
        warn_fewer_clusters(1, 2, "why")
    warn_fewer_clusters(2, 2)
