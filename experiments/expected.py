"""A few cells with the values they must give, to 1e-6: `expected.csv` beside each experiment.

The tests run them again. After a change that is meant to change results, record them anew with
`python -m experiments --paper NAME --record`, and say so in the changelog.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.runner import Outcome, load
from experiments.tables import read_csv, write_csv


def read(folder: Path, paper: str) -> list[Outcome]:
    """The recorded cells; which columns are values and which the cell, their prefix says."""
    outcomes = []
    for row in read_csv(folder / paper / "expected.csv"):
        parsed = {name: _parsed(text) for name, text in row.items() if text != ""}
        values = {n.removeprefix("value:"): v for n, v in parsed.items() if n.startswith("value:")}
        cell = {name: value for name, value in parsed.items() if not name.startswith("value:")}
        outcomes.append(Outcome(cell, values))
    return outcomes


def record(folder: Path, paper: str) -> None:
    """Run the cells that the experiment names for this and write them down."""
    experiment = load(folder, paper)
    rows = []
    for cell in experiment.recorded:
        values = {f"value:{name}": float(value) for name, value in experiment.run(cell).items()}
        rows.append(cell | values)
    write_csv(rows, folder / paper / "expected.csv")


def _parsed(text: str) -> object:
    # Numbers as JSON has them: 100 and 100.0 are different cells, as they are in the cache.
    try:
        return json.loads({"True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text
