"""What annotators who do not help do to the result: `python -m benchmarks.query_hostile`.

The chains alone with the default share of audits; ARI before the first answer, and as shown after
50, 75 and 100 answers; "!" where the answers are not believed. The last lines have the worst loss.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.queries import HARD, SIX, load
from sidelight.metrics import adjusted_rand
from sidelight.query import Asker, Oracle, Question

MARKS = (50, 75, 100)


def guesses(y: Any, seed: int) -> Callable[[Question], Any]:
    """Answers that know nothing of the rows."""
    rng = np.random.default_rng(900 + seed)
    names = sorted(set(np.asarray(y).tolist()))

    def answer(question: Question) -> Any:
        if question.kind == "pair":
            return ("must", "cannot")[rng.integers(2)]
        return names[rng.integers(len(names))]

    return answer


ANNOTATORS: dict[str, Callable[[Any, int], Callable[[Question], Any]]] = {
    "guesses": guesses,
    "always wrong": lambda y, seed: Oracle(y, wrong=1.0, random_state=seed),
    "10 % wrong": lambda y, seed: Oracle(y, wrong=0.1, random_state=seed),
    "right": lambda y, seed: Oracle(y, random_state=seed),
}


def run(asker: Asker, y: Any, annotator: Callable[[Question], Any]) -> list[tuple[float, bool]]:
    """ARI as shown, and whether the answers are believed, at every mark."""
    found = []
    for k in range(1, MARKS[-1] + 1):
        question = asker.ask()[0]
        asker = asker.answer(question, annotator(question))
        if k in MARKS:
            found.append((adjusted_rand(y, asker.labels), asker.trusted))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join((*SIX, *HARD[:6])))
    parser.add_argument("--kinds", default="pair")
    parser.add_argument("--seeds", default="3,4")
    given = parser.parse_args()
    changes: dict[tuple[str, int], list[float]] = defaultdict(list)
    for seed in (int(s) for s in given.seeds.split(",")):
        for name in given.sets.split(","):
            X, y = load(name)
            kinds = tuple(given.kinds.split("+"))
            first = Asker(X, kinds=kinds, refit=None, random_state=seed)
            before = adjusted_rand(y, first.labels)
            for who, make in ANNOTATORS.items():
                found = run(first, y, make(y, seed))
                for mark, (ari, _) in zip(MARKS, found, strict=True):
                    changes[who, mark].append(ari - before)
                shown = " ".join(f"{ari:.2f}{'' if sure else '!'}" for ari, sure in found)
                print(f"{name:<13} {seed} {who:<13} {before:.2f} -> {shown}", flush=True)
    for (who, mark), some in sorted(changes.items()):
        print(
            f"{who:<13} {mark:>3}: mean {np.mean(some):+.3f}, worst {min(some):+.3f} of {len(some)}"
        )


if __name__ == "__main__":
    main()
