"""How good the clusters are after so many answers: `make bench-queries`.

Every strategy of `sidelight.query` answers from a known truth, clean and with one answer in ten
wrong, on real tables beside the project. Rows are added to a CSV as they are ready, and what is
there is not measured again, so a run can be stopped and continued.
"""

import argparse
import csv
import os
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sidelight import query
from sidelight.metrics import adjusted_rand

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("SIDELIGHT_DATA", BESIDE))
BUDGETS = (0, 10, 25, 50, 100, 200)
SIX = ("iris", "wine", "ecoli", "glass", "digits", "kidney")
HARD = ("heart", "vertebral", "ionosphere", "user", "segmentation", "thyroid", "ecoli*", "iris*")
OTHERS = ("bank77", "yeast", "kidney-10k")
FILES = {"digits": "optdigits", "kidney": "human_kidney", "bank77": "text/bank77"}
FILES |= {"kidney-10k": FILES["kidney"]}
STANDARDISED = {"wine", "glass", "yeast", *HARD}
COLUMNS = (
    *("set", "strategy", "kinds", "wrong", "seed", "n_answers", "ari", "untouched", "own"),
    *("n_clusters", "expected_error", "true_error", "ms", "ms_p95"),
)


@cache  # the components of kidney take as long as a rival's whole curve
def load(name: str) -> tuple[Any, Any]:
    """A table as the methods were measured on it, and its classes."""
    plain = name.removesuffix("*")
    with np.load(DATA / f"{FILES.get(plain, plain)}.npz", allow_pickle=False) as file:
        parts = {key: file[key] for key in file.files}
    y = parts["y"]
    if "X" in parts:
        X = parts["X"].astype(float)
    else:
        shape = tuple(parts["shape"])
        X = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        X = X.toarray().astype(float)
    if name == "digits":
        X, y = X[3823:], y[3823:]
    if plain.startswith("kidney"):  # counts to equal depth, log1p, 30 principal components
        depth = X.sum(axis=1, keepdims=True)
        goal = np.median(depth) if name == "kidney" else 10_000.0
        X = _principal(np.log1p(X / depth * goal), 30)
    if name in STANDARDISED:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, y


def _principal(X: Any, n: int) -> Any:
    left, scale, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return left[:, :n] * scale[:n]


def _neighborhoods(X: Any, y: Any, _: Any, seed: int, *, rule: str) -> query.NeighborhoodAsker:
    n_clusters = len(np.unique(y))
    return query.NeighborhoodAsker(X, n_clusters=n_clusters, rule=rule, random_state=seed)


class Strategy(NamedTuple):
    make: Callable[[Any, Any, tuple[str, ...], int], Any]  # rows, classes, kinds, seed
    kinds: tuple[str, ...] = ("pair",)


def _asker(X: Any, y: Any, kinds: tuple[str, ...], seed: int, **settings: Any) -> query.Asker:
    return query.Asker(X, kinds=kinds, random_state=seed, **{"audit": 0.0} | settings)


STRATEGIES = {
    "asker": Strategy(_asker, ("pair", "pair+label")),
    "asker, audit": Strategy(lambda *a: _asker(*a, audit=0.1), ("pair", "pair+label")),
    "asker, no refit": Strategy(lambda *a: _asker(*a, refit=None), ("pair", "pair+label")),
    "random pairs": Strategy(lambda X, y, _, seed: query.RandomAsker(X, random_state=seed)),
    "COBRA": Strategy(lambda X, y, _, seed: query.CobraAsker(X, random_state=seed)),
    "COBRAS": Strategy(lambda X, y, _, seed: query.CobrasAsker(X, random_state=seed)),
    # These three are told the number of classes.
    "Explore-Consolidate": Strategy(lambda *a: _neighborhoods(*a, rule="consolidate")),
    "MinMax": Strategy(lambda *a: _neighborhoods(*a, rule="min-max")),
    "NPU": Strategy(lambda *a: _neighborhoods(*a, rule="npu")),
}


def run(name: str, strategy: str, kinds: str, wrong: float, seed: int) -> Iterator[tuple[Any, ...]]:
    """The rows of one curve."""
    X, y = load(name)
    asker = STRATEGIES[strategy].make(X, y, tuple(kinds.split("+")), seed)
    seconds: list[float] = []
    for before, budget in zip((0, *BUDGETS[:-1]), BUDGETS, strict=True):
        curve = query.simulate(
            asker, y, budgets=(budget - before,), wrong=wrong, random_state=1_000 + seed
        )
        asker = curve.asker
        seconds.extend(curve.seconds)
        own = adjusted_rand(y, asker.own_labels) if hasattr(asker, "own_labels") else curve.ari[-1]
        ms = 1_000 * np.array(seconds or [0.0])
        yield (
            *(name, strategy, kinds, wrong, seed, budget, curve.ari[-1], curve.ari_untouched[-1]),
            *(own, curve.n_clusters[-1], curve.expected_error[-1], curve.true_error[-1]),
            *(ms.mean(), np.quantile(ms, 0.95)),
        )


def main() -> None:
    """Measure what is missing, in an order in which a part is useful too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__)
    parser.add_argument("--sets", default=",".join((*SIX, "bank77")))
    parser.add_argument("--strategies", default=";".join(STRATEGIES))
    parser.add_argument("--kinds", default="pair,pair+label")
    parser.add_argument("--wrong", default="0.0,0.1")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("results/queries/curves.csv"))
    given = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"the tables are not here: {DATA}")
    given.results.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if given.results.exists():
        with given.results.open(encoding="utf-8", newline="") as file:
            done = {tuple(row.values())[:5] for row in csv.DictReader(file)}
    else:
        given.results.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    wrongs = [float(share) for share in given.wrong.split(",")]
    jobs = product(
        range(given.seeds), given.strategies.split(";"), given.kinds.split(","), wrongs,
        given.sets.split(","),
    )  # fmt: skip
    for seed, strategy, kinds, wrong, name in jobs:
        key = (name, strategy, kinds, str(wrong), str(seed))
        if kinds not in STRATEGIES[strategy].kinds or key in done:
            continue
        began = time.process_time()
        rows = list(run(name, strategy, kinds, wrong, seed))
        with given.results.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(
                [[f"{v:.5g}" if isinstance(v, float) and i > 5 else v for i, v in enumerate(row)]
                 for row in rows]
            )  # fmt: skip
        curve = " ".join(f"{row[6]:.3f}" for row in rows)
        print(f"{'|'.join(key)}: {curve}  ({time.process_time() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
