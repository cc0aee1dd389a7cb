"""How fast the workbench's page is, in the Chromium of the machine.

    python -m benchmarks.page_speed --rows 100000,1000000

Each figure is a time by the browser's clock, so the load of the machine is printed beside it.
Pixels are read back after each drawing: what is measured has been drawn. The targets: 50 ms from a
key to the next question (95 of 100), .3 s for new colours and 6 frames a second while panning at
100,000 points, 4 s until the first map of a million rows.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from sidelight.web import Settings, create_app
from sidelight.web._rows import plane

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from web_browser import Served, launch, watched, why_not

ANSWERS = """async (n) => {
  const shown = () => document.querySelector('.pair-head, .one caption')?.innerText;
  const frame = () => new Promise(requestAnimationFrame);
  const found = [];
  for (let k = 0; k < n; k++) {
    while (!shown()) await frame();
    await new Promise((done) => setTimeout(done, 400));
    const before = shown(), begun = performance.now();
    dispatchEvent(new KeyboardEvent('keydown', {key: 'u', bubbles: true}));
    do { await frame(); } while (shown() === before || !shown());
    found.push(performance.now() - begun);
  }
  return found;
}"""
FIRST = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  while (!(window.sidelightMap?.n > 0 && document.querySelector('.legend li'))) await frame();
  const map = window.sidelightMap;
  map.paint();
  map.gl.readPixels(0, 0, 1, 1, map.gl.RGBA, map.gl.UNSIGNED_BYTE, new Uint8Array(4));
  return performance.now();
}"""
RECOLOUR = """async (n) => {
  const frame = () => new Promise(requestAnimationFrame);
  const map = window.sidelightMap, found = [];
  for (let k = 0; k < n; k++) {
    const frames = map.frames, begun = performance.now();
    document.querySelector('.legend input').click();
    while (map.frames === frames) await frame();
    map.gl.readPixels(0, 0, 1, 1, map.gl.RGBA, map.gl.UNSIGNED_BYTE, new Uint8Array(4));
    found.push(performance.now() - begun);
  }
  return found;
}"""
PAN = """async ([n, moving]) => {
  const map = window.sidelightMap, begun = performance.now();
  for (let k = 0; k < n; k++) {
    map.pan(k % 2 ? 7 : -7, 3, moving);
    map.paint();
    map.gl.readPixels(0, 0, 1, 1, map.gl.RGBA, map.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }
  return n / ((performance.now() - begun) / 1000);
}"""


def project_of(bench, n_rows: int) -> int:
    """A project with a run, made without the import of a file."""
    from pyarrow import parquet, table

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, n_rows).astype(np.int32)
    X = rng.normal(size=(n_rows, 6)) + 4 * rng.normal(size=(8, 6))[labels]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.parquet"
        parquet.write_table(table({f"x{k}": X[:, k] for k in range(6)}), path)
        files = {"rows": bench.folder.put(path.read_bytes(), ".parquet")}
    files |= {"X": bench.folder.put_array(X), "layout": bench.folder.put_array(plane(X))}
    words = {"must": "same kind", "cannot": "different kind", "unsure": "can't tell"}
    config = {
        **{"files": files, "id": None, "show": [], "how": {}, "layout": "pca", "words": words},
        **{"features": [f"x{k}" for k in range(6)], "notes": [], "source": "made.parquet"},
    }
    project = bench.store.create_project(f"{n_rows:,} rows", n_rows=n_rows, config=config).id
    clusters = [
        {"number": k, "name": f"cluster {k}", "size": int(np.sum(labels == k)), "colour": k}
        for k in range(8)
    ]
    bench.store.add_run(
        project,
        model="made",
        parameters={},
        seed=0,
        at_event=0,
        labels_file=bench.folder.put_array(labels),
        scores={"clusters": clusters, "verdict": bench.folder.put(b"[]", ".json")},
        versions={},
    )
    return project


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--answers", type=int, default=40)
    options = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        served = Served(create_app(Settings(folder, workers=0)))
        owner = served.bench.store.people.add("ann", "owner")
        browser = launch(playwright)
        for n_rows in map(int, options.rows.split(",")):
            project = project_of(served.bench, n_rows)
            page = watched(browser.new_page(viewport={"width": 1440, "height": 900}))
            page.set_default_timeout(300_000)
            served.login(page, owner)
            page.goto(f"{served.url}/p/{project}/map")
            print(f"{n_rows:,} rows: first map {page.evaluate(FIRST) / 1000:.2f} s ({load()})")
            recolours = page.evaluate(RECOLOUR, 10)
            print(f"{n_rows:,} rows: recolour median {np.median(recolours):.0f} ms ({load()})")
            for moving, words in (
                (True, "panning"),
                (False, "panning, every point in every frame"),
            ):
                rate = page.evaluate(PAN, [30, moving])
                print(f"{n_rows:,} rows: {words} {rate:.1f} frames/s ({load()})")
            page.goto(f"{served.url}/p/{project}/queue")
            times = page.evaluate(ANSWERS, options.answers)
            print(
                f"{n_rows:,} rows: key to next question median {np.median(times):.0f} ms, "
                f"p95 {np.quantile(times, 0.95):.0f} ms ({load()})",
                flush=True,
            )
            page.close()
        browser.close()
        served.stop()


if __name__ == "__main__":
    main()
