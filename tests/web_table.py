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


HEBREW = "ספר ישן עם כריכה כחולה, נמצא בספרייה"
LONG = (
    "It was found in the second drawer, under a pile of letters that nobody had read since the "
    "house was sold. The cover is blue, the corners are worn, and a name stands on the first page."
)


def write_things(path, n=24):
    """Things with a picture in the cell, a long text, and names that run from right to left."""
    import base64
    import csv
    import io

    from PIL import Image

    rng = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "photo", "שם", "description", "size", "age"])
        for k in range(n):
            pixels = rng.integers(0, 60, (12, 12, 3), dtype=np.uint8)
            pixels[3:9, 3:9, k % 2 * 2] += 180
            contents = io.BytesIO()
            Image.fromarray(pixels).save(contents, "PNG")
            cell = "data:image/png;base64," + base64.b64encode(contents.getvalue()).decode()
            text = LONG.replace("blue", "red") if k % 2 else f"{LONG}\n\nIt is {k} years older."
            writer.writerow([f"thing {k}", cell, f"{HEBREW} {k}", text, k % 2 * 9 + k / 50, k])
    return path
