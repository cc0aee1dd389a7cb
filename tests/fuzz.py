"""``make fuzz``: every model on hostile data for a while; ends with 1 if anything is found."""

import argparse
import sys

from sidelight.models import find_model, model_names
from sidelight.testing import fuzz


def main() -> int:
    """Share the time among the models, and print what each was found to do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all models together")
    parser.add_argument("--n", type=int, help="fits of each model, whatever time they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", action="append", help="a model (several times); by default all")
    told = parser.parse_args()
    models = told.model or model_names()
    found = False
    for name in models:
        seconds = None if told.n else told.seconds / len(models)
        try:
            report = fuzz(find_model(name), told.seed, n=told.n, seconds=seconds)
        except AssertionError as error:
            found, report = True, error
        print(f"{name}: {report}", flush=True)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
