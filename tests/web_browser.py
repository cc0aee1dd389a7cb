"""A Chromium of the machine, a server on loopback, and steps by keyboard, for tests of the page."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "src" / "sidelight" / "web" / "static" / "client" / "index.html"
AXE = ROOT / "client" / "node_modules" / "axe-core" / "axe.min.js"
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
START = (
    "import sys; from sidelight.cli import main; sys.argv = ['sidelight', 'serve', *sys.argv[1:]];"
    "main()"
)


def find_chromium():
    """The browser: an environment variable, else the first that is on the path."""
    named = os.environ.get("SIDELIGHT_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return named or next((path for name in names if (path := shutil.which(name))), None)


def why_not():
    """What is missing for tests in a browser, or None."""
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        return "the package playwright is not installed (pip install 'sidelight[dev]')"
    if find_chromium() is None:
        return "no Chromium on this machine; install one, or name it in SIDELIGHT_CHROMIUM"
    if not CLIENT.exists():
        return "the page is not built; 'make client' builds it"
    return None


def launch(playwright):
    return playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))


class Server:
    """``sidelight serve`` in a process."""

    def __init__(self, folder, *words, port=0, workers=0):
        told = [*map(str, words), "--data-root", str(folder), "--port", str(port)]
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", START, *told, "--workers", str(workers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if "Data and answers are in" in line:
                break
        else:
            raise AssertionError("".join(lines))
        self.link = re.search(r"http://\S+", lines[0])[0]
        self.url = self.link.split("/login")[0]
        # The rest of what it prints is read, or a full pipe would stop it.
        self._reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self._reader.start()

    def kill(self):
        self.process.kill()
        self._end()

    def stop(self):
        self.process.terminate()
        self._end()

    def _end(self):
        self.process.wait(30)
        self._reader.join(10)
        self.process.stdout.close()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Served:
    """The application in a thread of this process: tests reach behind its back."""

    def __init__(self, app):
        import uvicorn

        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.bench = app.state.bench
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)

    def stop(self):
        self._server.should_exit = True
        self._thread.join(20)
        self._listener.close()

    def login(self, page, person):
        """Log a page in as somebody."""
        token = self.bench.store.people.new_token("login", person=person.id, lasts=600)
        page.goto(f"{self.url}/login?token={token}")
        return page


def watched(page):
    """Collect errors of the page and requests that leave the host."""
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if re.match(r"(http://127\.0\.0\.1:|data:|blob:)", request.url)
            else page.problems.append(f"left the host: {request.url}")
        ),
    )
    page.set_default_timeout(60_000)
    return page


def tab_to(page, selector, most=120):
    """Press Tab until an element has the focus: it can be reached without a pointer."""
    page.wait_for_selector(selector)
    for _ in range(most):
        if page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{selector} cannot be reached with Tab")


def press_on(page, selector, key="Enter"):
    tab_to(page, selector)
    page.keyboard.press(key)


RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def violations(page, rules=RULES):
    """What axe-core finds on the page, in words; the script comes from node_modules."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: rules}).then(r => r.violations.map(v => "
        "v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | ')))",
        list(rules),
    )
    return found


CUT = r"""() => {
  const wrong = [], wide = document.documentElement.clientWidth, range = document.createRange();
  const say = (one, why) => wrong.push(
    `${why}: ${one.tagName.toLowerCase()} ${(one.innerText || one.value || '').slice(0, 50)}`);
  const shown = (one) => one.getClientRects().length && !one.closest('.hidden, .skip')
    && (one.offsetWidth ?? 2) > 1 && !one.closest('thead')?.matches('.stacked > *');
  // What scrolls sideways cuts at its own edge.
  const edges = (one) => {
    for (let box = one.parentElement; box; box = box.parentElement)
      if (/auto|scroll|hidden/.test(getComputedStyle(box).overflowX)) {
        const { left, right } = box.getBoundingClientRect();
        return [Math.max(0, left), Math.min(wide, right)];
      }
    return [0, wide];
  };
  if (document.documentElement.scrollWidth > wide) wrong.push('the page is wider than the window');
  for (const one of document.querySelectorAll(
      'button, .button, a, input, select, h1, h2, h3, th, dt, dd, label')) {
    if (!shown(one) || one.closest('.rows-table')) continue;
    const box = one.getBoundingClientRect(), [left, right] = edges(one);
    if (box.left < left - 1 || box.right > right + 1) say(one, 'cut');
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!shown(node.parentElement)) continue;
    for (const word of node.data.matchAll(/[\p{L}\p{N}]{2,14}/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = [...range.getClientRects()].filter((r) => r.width).map((r) => Math.round(r.top));
      if (new Set(tops).size > 1) say(node.parentElement, `'${word[0]}' is broken`);
    }
  }
  return wrong;
}"""


def cut(page):
    """Controls and headings beyond an edge, and short words that are broken, in words.

    The table of a selection's rows scrolls in both directions and is left out.
    """
    return page.evaluate(CUT)


def picture(page, name, **how):
    """Keep a picture of the page for the docs, if a folder for them is named."""
    folder = os.environ.get("SIDELIGHT_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"workbench-{name}.png", **how)
