"""One measurement in this process: `python -m benchmarks.worker ORDER ANSWER` (see harness)."""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.harness import Case, load


def main() -> None:
    """Do what ORDER (JSON) says and leave the figures in the file ANSWER."""
    order = json.loads(sys.argv[1])
    # A run cut short by max_iter says so; in a benchmark that is the intention.
    warnings.simplefilter("ignore")
    case = next(c for c in load(Path(order["path"])).CASES if c.name == order["case"])
    mode, n = order["mode"], order["rows"]
    if order["cpu_limit"] is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (order["cpu_limit"], order["cpu_limit"] + 5))
    if mode == "warm":
        answer = _warm(case, n, order["repeats"], order["seconds"])
    else:
        answer = _cold(case, n, mode.split()[1])
    Path(sys.argv[2]).write_text(json.dumps(answer))


def _warm(case: Case, n: int, repeats: int, seconds: float) -> dict[str, Any]:
    """As many turns as were asked for, or as begin within `seconds`."""
    start = time.perf_counter()
    data = case.data(n)
    _warm_up(case)
    answer: dict[str, Any] = {"run": [], "baseline": [], "run_n_iter": [], "baseline_n_iter": []}
    answer |= {"score": {}, "extra_mb": None}
    if case.iterations is not None:
        # The difference of two calls is small; touching memory for the first time would hide it.
        _timed(case, "baseline", data, 0)
        _first_call(case, data, answer)
    for seed in range(repeats):
        if seed and time.perf_counter() - start > seconds:
            break
        # Taking turns, and turning the order, spreads a slow spell of the machine over both.
        for who in ("baseline", "run") if seed % 2 else ("run", "baseline"):
            if seed == 0 and who == "run" and case.iterations is None:
                cpu, fitted = _first_call(case, data, answer)
                if case.score is not None:
                    answer["score"] = dict(case.score(data, fitted))
            else:
                cpu, fitted = _timed(case, who, data, seed)
            answer[who].append(cpu)
            answer[f"{who}_n_iter"].append(getattr(fitted, "n_iter_", None))
    return answer


def _first_call(case: Case, data: Any, answer: dict[str, Any]) -> tuple[float, Any]:
    """The first call of ours, before which nothing but the data and a small fit took memory."""
    ready = case.prepare(data)
    before = _resident()
    _reset_peak()
    cpu, fitted = _call(case.run, ready, 0, **_longest(case))
    if case.memory:
        answer["extra_mb"] = max(0.0, (_peak() - before) / 1e6)
    return cpu, fitted


def _cold(case: Case, n: int, who: str) -> dict[str, Any]:
    data = case.data(n)
    return {"cpu": _timed(case, who, data, 0)[0]}


def _warm_up(case: Case) -> None:
    small = case.data(case.warm_up_rows)
    for call in (case.run, case.baseline):
        call(case.prepare(small), 0, **_longest(case))


def _longest(case: Case) -> dict[str, int]:
    return {} if case.iterations is None else {"max_iter": case.iterations[1]}


def _timed(case: Case, who: str, data: Any, seed: int) -> tuple[float, Any]:
    """What one call returned, and its CPU seconds (of one iteration, if the case asks for that)."""
    call = getattr(case, who)
    if case.iterations is None:
        return _call(call, case.prepare(data), seed)
    few, many = case.iterations
    short, fitted_short = _call(call, case.prepare(data), seed, max_iter=few)
    long, fitted_long = _call(call, case.prepare(data), seed, max_iter=many)
    more = fitted_long.n_iter_ - fitted_short.n_iter_
    if more <= 0:
        raise RuntimeError(f"{who} converged within {few} iterations: use harder data")
    if long <= short:
        raise RuntimeError(f"{who} took no longer for {more} more iterations: use more rows")
    return (long - short) / more, fitted_long


def _call(call: Any, data: Any, seed: int, **options: Any) -> tuple[float, Any]:
    start = time.process_time()
    fitted = call(data, seed, **options)
    return time.process_time() - start, fitted


# Resident memory. Linux can reset its high-water mark, which leaves out the making of the data;
# elsewhere the mark of the whole process so far is the best there is, and an upper bound.


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {field} in /proc/self/status")


def _resident() -> int:
    try:
        return _status("VmRSS")
    except OSError:
        return _peak()


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("the peak of resident memory cannot be reset here", file=sys.stderr)


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
