"""Small tables for tests of the workbench: two groups in two towns, and wines."""

import numpy as np

COLUMNS = "id,height,weight,town"


def write_table(path, n=40):
    rng = np.random.default_rng(0)
    lines = [COLUMNS]
    for k in range(n):
        x, y = rng.normal(size=2) + (8 if k % 2 else 0)
        lines.append(f"r{k},{x:.3f},{y:.3f},{'Bonn' if k % 2 else 'Rome'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


GROWERS = ("Barolo", "Grignolino", "Barbera")


def write_wines(path):
    """The 178 wines of three growers, who stand in a column of texts."""
    from sidelight.datasets import load

    wine = load("wine")
    lines = [",".join(["id", "grower", *wine.feature_names])]
    for k, (row, grower) in enumerate(zip(wine.X.tolist(), wine.y.tolist(), strict=True)):
        lines.append(",".join([f"w{k}", GROWERS[grower], *map(str, row)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
