"""A small table for tests of the workbench: two groups, two towns."""

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
