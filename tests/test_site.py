"""The built site: without warnings, without a network, and a first result within three clicks."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("sphinx", reason="the site needs the extra docs")
ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy: a build writes beside its sources."""
    copy = tmp_path_factory.mktemp("site")
    for folder in ("docs", "examples"):
        made = shutil.ignore_patterns("_build", "gallery", "generated")
        shutil.copytree(ROOT / folder, copy / folder, ignore=made)
    shutil.copy(ROOT / "CHANGELOG.md", copy)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    run = subprocess.run(
        [*command, copy / "docs", copy / "html"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return copy / "html"


def test_a_browser_fetches_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=.(?:https?:)?//", text)
        assert not fetched, page
        assert "mathjax" not in text.lower(), page


def links(page):
    """Where a page leads, as files."""
    targets = re.findall(r'href="([^"#:]+)', page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_a_first_result_is_three_clicks_away(site):
    index = site / "index.html"
    example = site / "gallery" / "plot_1_first_result.html"
    assert site / "install.html" in links(index)
    assert example in links(index)
    (script,) = [path for path in links(example) if path.suffix == ".py"]
    assert script.read_text() == (ROOT / "examples" / script.name).read_text()


def test_no_link_is_broken(site):
    anchors = {
        page: set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))
        for page in site.rglob("*.html")
        if "_static" not in page.parts  # templates of the theme
    }
    broken = []
    for page in anchors:
        for target, anchor in re.findall(
            r'href="([^"#:?]*)(?:\?[^"#]*)?(?:#([^"]+))?"', page.read_text(encoding="utf-8")
        ):
            file = (page.parent / unquote(target)).resolve() if target else page
            if not file.exists() or (anchor and unquote(anchor) not in anchors.get(file, {anchor})):
                broken.append(f"{page.relative_to(site)}: {target}#{anchor}")
    assert not broken


def test_the_landing_page_has_pictures(site):
    pictures = re.findall(r'<img[^>]*src="([^"]+\.png)"', (site / "index.html").read_text())
    assert len(set(pictures)) >= 6
    for picture in pictures:
        assert (site / picture).stat().st_size > 5_000


def test_every_public_name_has_a_page(site):
    from sidelight import models, side

    for module in (models, side):
        for name in module.__all__:
            if callable(getattr(module, name)):
                assert (site / "api" / "generated" / f"{module.__name__}.{name}.html").exists()
