"""Ctrl-C is heard in the middle of a long fit, and listening changes nothing."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sidelight import MarkovAggregation, StructuralEntropyClustering, StructuralEntropyTree
from sidelight.models import _graph_base as graph_base
from sidelight.models._entropy import search as entropy_search
from sidelight.models._markov import search as markov_search

# The kernel that merges modules used to run for all of the time without a break.
LONG_FIT = """
import numpy as np
from sidelight import StructuralEntropyClustering
from sidelight._kernels import merging
from sidelight.models._entropy import search

search._PORTION //= 10
kernel = merging.merge_modules

def told(*arguments):
    print("portion", flush=True)
    return kernel(*arguments)

merging.merge_modules = told
X = np.random.default_rng(0).normal(size=(60_000, 2))
StructuralEntropyClustering(5, refine=False, random_state=0).fit(X)
print("done", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no signal to send")
def test_an_interrupt_ends_a_fit_of_60000_rows_long_before_its_end():
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "portion\n"
        assert process.stdout.readline() == "portion\n"
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in errors
    assert "done" not in told
    assert told.count("portion") < 150  # of 190


# A thread sends the signal once the fit has used a second, far from its checks of the data.
IN_THE_MIDDLE = """
import os, signal, threading, time
import numpy as np
import sidelight

model = sidelight.{model}
X = np.random.default_rng(0).normal(size=(200_000, 8))
model.fit(X[:500])  # kernels are compiled
began = time.process_time()

def interrupt():
    global sent
    while time.process_time() < began + 1.0:
        time.sleep(0.01)
    sent = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    model.fit(X)
    print("done")
except KeyboardInterrupt:
    print(time.process_time() - sent)
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no signal to send")
@pytest.mark.parametrize(
    "model",
    [
        "PartitionLevelKMeans(60, n_init=20, random_state=0)",
        "BayesianMixture(20, random_state=0)",
        "StructuralEntropyClustering(5, random_state=0)",
    ],
)
def test_an_interrupt_in_the_middle_of_a_fit_ends_it_within_two_seconds_of_work(model):
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_THE_MIDDLE.format(model=model)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.stdout, child.stderr
    assert "done" not in child.stdout
    assert float(child.stdout) < 2.0


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 3)) + 3.0 * rng.integers(3, size=(300, 1))


@pytest.mark.parametrize(
    "model",
    [
        StructuralEntropyClustering(4, refine=False, random_state=0),
        StructuralEntropyTree(4, random_state=0),
        MarkovAggregation(4, chain="dense", n_init=2, random_state=0),
        MarkovAggregation(4, chain="sparse", beta=0.3, n_init=2, random_state=0),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_portions_of_any_size_give_the_same_bits(model, X, monkeypatch):
    y = np.where(np.arange(300) < 40, np.arange(300) % 3, -1)
    whole = model.fit(X, y)
    labels, history = whole.labels_, whole.history_
    for portion in (1, 5_000):
        monkeypatch.setattr(entropy_search, "_PORTION", portion)
        monkeypatch.setattr(entropy_search, "_NODES", portion)
        monkeypatch.setattr(graph_base, "_PORTION", portion)
        monkeypatch.setattr(markov_search, "_PORTION", portion)
        again = model.fit(X, y)
        assert_array_equal(again.labels_, labels)
        assert_array_equal(again.history_, history)
