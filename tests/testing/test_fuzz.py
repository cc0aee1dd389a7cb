"""The fuzz suite: a small share of it for every model, and that it finds what is broken."""

import itertools
import warnings

import numpy as np
import pytest

from sidelight import PartitionLevelKMeans
from sidelight.models import find_model, model_names
from sidelight.testing import fuzz

# Fits of models that grow forests or learn metrics cost ten times as much.
FEWER = {"DiscriminativeClustering": 8}


@pytest.mark.parametrize("name", model_names())
def test_hostile_data_break_no_model(name):
    report = fuzz(find_model(name), seed=0, n=FEWER.get(name, 40))
    assert report.n_fits > report.refused.total()


def test_the_same_seed_draws_the_same_cases():
    one, two = (fuzz(PartitionLevelKMeans, 3, n=30) for _ in range(2))
    assert one == two
    assert one.refused != fuzz(PartitionLevelKMeans, 4, n=30).refused


def test_seconds_end_a_run_and_first_begins_it_later():
    assert fuzz(PartitionLevelKMeans, seconds=0.0).n_fits == 0
    assert fuzz(PartitionLevelKMeans, seconds=60.0, n=2, first=5).n_fits == 2


# A model that breaks the contract must be found: each breaks one clause.


class _Broken(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        super().fit(X, y, side=side, sample_weight=sample_weight)
        self.spoil(X)
        return self


class _Shifted(_Broken):
    def spoil(self, X):
        self.labels_ = self.labels_ + 1


class _Endless(_Broken):
    def spoil(self, X):
        self.objective_ = np.inf


class _Rising(_Broken):
    def spoil(self, X):
        self.history_ = np.append(self.history_[-1] - 1.0, self.history_)


class _Elsewhere(_Broken):
    def spoil(self, X):
        self.objective_ += 1.0


class _Namesakes(_Broken):
    def spoil(self, X):
        self.cluster_names_ = np.array(["a"] * self.n_clusters_, dtype=object)


class _Careless(_Broken):
    def spoil(self, X):
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X += 1


class _Noisy(_Broken):
    def spoil(self, X):
        warnings.warn("overflow encountered in something", RuntimeWarning, stacklevel=1)


class _Wordless(_Broken):
    def spoil(self, X):
        raise ValueError("no")


class _Numpys(_Broken):
    def spoil(self, X):
        np.empty(0).max()


class _Crashing(_Broken):
    def spoil(self, X):
        raise IndexError("index 7 is out of bounds for axis 0 with size 3")


class _Drifting(_Broken):
    count = itertools.count()

    def spoil(self, X):
        self.history_ = self.history_ + 1e-12 * next(self.count)


class _Deaf(_Broken):
    def spoil(self, X):
        self.result_.verdict.kept[:] = ~self.result_.verdict.kept


class _Fewer(PartitionLevelKMeans):
    def fit(self, X, y=None, *, side=None, sample_weight=None):
        wanted, self.n_clusters = self.n_clusters, 1
        super().fit(X, y, side=side, sample_weight=sample_weight)
        self.n_clusters = wanted
        return self


class _Outside(PartitionLevelKMeans):
    def predict(self, X):
        return super().predict(X) + self.n_clusters_


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        (_Shifted, "labels_ are not 0"),
        (_Endless, "not finite"),
        (_Rising, "history_ is not monotone"),
        (_Elsewhere, "objective_ is not the last of history_"),
        (_Namesakes, "cluster_names_"),
        (_Careless, "an input has changed"),
        (_Noisy, "RuntimeWarning: overflow"),
        (_Wordless, "ValueError: no"),
        (_Numpys, "ValueError: zero-size array"),
        (_Crashing, "IndexError: index 7"),
        (_Drifting, "the same seed gives other bits"),
        (_Deaf, "verdict: "),
        (_Fewer, "another number of clusters than asked for"),
        (_Outside, "predict gives labels outside"),
    ],
)
def test_a_broken_model_is_found_and_the_line_repeats_it(model, fault):
    with pytest.raises(AssertionError, match=fault) as caught:
        fuzz(model, seed=0, n=30)
    lines = str(caught.value).splitlines()
    at = next(k for k, line in enumerate(lines) if fault in line)
    call = lines[at + 1].strip().split("   #")[0]
    assert call.startswith(f"sidelight.testing.fuzz({model.__name__}, 0, first=")
    with pytest.raises(AssertionError, match=fault):
        eval(call.removeprefix("sidelight.testing."), {"fuzz": fuzz, model.__name__: model})
