"""How long ``sidelight ask`` takes from an answer to the next question on the screen.

    python -m benchmarks.ask_latency --rows 100000 --answers 80

CPU time of the whole process, so that other work on the machine does not count; the clock
beside it does count it. People wait for the best next question for an eighth of a second at
most, and then get one that was kept ready.
"""

import argparse
import io
import time

import numpy as np
from rich.console import Console

from sidelight.cli._asking import PATIENCE, Interview, Rows
from sidelight.cli._asking.terminal import screen
from sidelight.datasets import make_gaussian_mixture
from sidelight.query import Asker
from sidelight.tables import as_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--answers", type=int, default=80)
    options = parser.parse_args()
    sample = make_gaussian_mixture(
        10, options.rows, options.columns, max_variance=0.5, random_state=0
    )
    for patience in (None, PATIENCE):
        print(f"patience {patience}: {measure(sample, options.answers, patience)}", flush=True)


def measure(sample, n_answers: int, patience: float | None) -> str:
    import pandas as pd

    rows = Rows(as_table(pd.DataFrame(sample.X).rename(columns=str)), None)
    console = Console(file=io.StringIO(), width=100, height=40)
    start = time.process_time()
    cpu, clock = [], []
    with Interview(lambda: Asker(sample.X, refit=None, random_state=0), patience=patience) as talk:
        question = talk.question()
        first = time.process_time() - start
        for _ in range(n_answers):
            before = time.process_time(), time.perf_counter()
            talk.answer(question, answer_of(question, sample.y))
            question = talk.question()
            console.print(screen(rows, question, talk.progress, console))
            cpu.append(time.process_time() - before[0])
            clock.append(time.perf_counter() - before[1])
            if patience is not None:  # a person looks at the question before the next key
                talk.wait()
    return (
        f"first question after {first:.1f} s of CPU; then CPU {in_words(cpu)}; clock "
        f"{in_words(clock)}"
    )


def answer_of(question, y):
    if question.kind == "label":
        return f"c{y[question.rows[0]]}"
    i, j = question.rows
    return "must" if y[i] == y[j] else "cannot"


def in_words(seconds) -> str:
    p50, p95 = np.quantile(seconds, [0.5, 0.95])
    return f"median {p50:.3f}, 95 % {p95:.3f}, longest {max(seconds):.3f} s"


if __name__ == "__main__":
    main()
