"""The HTML page: complete, self-contained, and safe whatever the data says."""

import os
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from sidelight import PartitionLevelKMeans, SideInformation
from sidelight.exceptions import SidelightError
from sidelight.report import Evidence, _figures

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
VOID = {"meta", "img", "br"}
EVIL = '<script>alert("x")</script>'


class Page(HTMLParser):
    """The tags, attributes and texts of a page; complains about tags that do not match."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_tells_the_whole_story(told, tmp_path):
    path = tmp_path / "page.html"
    evidence = Evidence.of(
        told.model,
        told.X,
        truth=["x"] * 15 + ["y"] * 15,
        stability=[told.result.labels],
        notes=["Columns were standardised."],
        command="sidelight fit data.csv",
    )
    verdict = replace(told.result.verdict, accuracy={"ann": 0.93, "bob": 0.41})
    result = replace(told.result, verdict=verdict)
    result.report(path, told.X, feature_names=["age", "crp", "bmi"], evidence=evidence)
    page = Page(path.read_text(encoding="utf-8"))
    text = " ".join(" ".join(page.text).split())
    for part in (
        "PartitionLevelKMeans put 30 rows into 3 clusters, with the help of 6 statements.",
        "Columns were standardised.",
        "What sets them apart",
        "r11 is 'a' (label, bob)",
        "41 %",
        "Against the given classes",
        "Stability over seeds",
        "sidelight fit data.csv",
        "scikit-learn",
    ):
        assert part in text
    assert page.tags.count("img") == 5  # clusters, profiles, annotators, confusion, objective
    assert all(dict_of["alt"] for dict_of in images(page))


def images(page):
    found = [value for name, value in page.attributes if name == "alt"]
    return [{"alt": value} for value in found]


def test_nothing_is_loaded_and_nothing_runs(told, tmp_path):
    path = tmp_path / "page.html"
    told.result.report(path, told.X)
    page = Page(path.read_text(encoding="utf-8"))
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "href") or value.startswith("data:image/png;base64,")
    policy = dict(page.attributes)["content"], dict(page.attributes)["http-equiv"]
    assert policy[1] == "Content-Security-Policy"
    assert "url(" not in path.read_text(encoding="utf-8")
    assert "@import" not in path.read_text(encoding="utf-8")


def evil_report(path, *, pictures):
    X = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 2.0], [5.1, 2.0]])
    side = SideInformation.from_columns(
        ["label", "label", "label"],
        [EVIL, "a&b", "<i>"],
        class_=[EVIL, '"><img src=x onerror=alert(1)>', EVIL],
        annotator=["<b>ann</b>", EVIL, "$x_1$"],
        index=[EVIL, "plain", "a&b", "<i>"],
    )
    result = PartitionLevelKMeans(2, side_weight=0.01, random_state=0).fit(X, side=side).result_
    evidence = Evidence(
        truth=[EVIL, EVIL, "$a$", None], notes=[EVIL], command=EVIL, stability=[result.labels]
    )
    names = ["<script>", "<style>body{}"]
    result.report(path, X, feature_names=names, evidence=evidence, title=EVIL, pictures=pictures)


@pytest.mark.parametrize("pictures", [True, False])
def test_every_value_from_the_data_is_escaped(tmp_path, pictures):
    path = tmp_path / "page.html"
    evil_report(path, pictures=pictures)
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert "script" not in page.tags
    assert page.tags.count("style") == 1
    assert "i" not in page.tags
    assert "onerror" not in dict(page.attributes)
    assert "<script>" in " ".join(page.text)  # the column's name, as text
    assert html.count("&lt;script&gt;") >= 6


def test_a_page_without_statements_and_data_is_short_and_true(tmp_path):
    result = PartitionLevelKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0]]).result_
    result.report(tmp_path / "page.html")
    text = " ".join(Page((tmp_path / "page.html").read_text(encoding="utf-8")).text)
    assert "Nobody said anything about these rows." in text
    assert "What sets them apart" not in text


def test_nothing_is_overwritten_unless_asked(told, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(SidelightError, match="overwrite=True"):
        told.result.report(path, told.X)
    assert path.read_text() == "mine"
    told.result.report(path, told.X, pictures=False, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_without_matplotlib_the_message_says_what_to_install(told, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SidelightError, match="pip install matplotlib"):
        told.result.report(tmp_path / "page.html", told.X)
    with pytest.raises(SidelightError, match="pip install matplotlib"):
        told.result.plot(told.X)
    with pytest.raises(SidelightError, match="umap-learn"):
        _figures.project(told.X, method="umap")
    summary = told.result.report(tmp_path / "page.html", told.X, pictures=False)
    assert summary["n_clusters"] == 3


def browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture
def open_page(tmp_path):
    """Open the page with evil values in a headless browser."""
    if browser() is None:
        pytest.skip("no Chromium on this machine")
    evil_report(tmp_path / "page.html", pictures=True)

    def call(*options):
        flags = [
            *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}"),
        ]
        return subprocess.run(
            [browser(), *flags, *options, (tmp_path / "page.html").as_uri()],
            capture_output=True,
            timeout=60,
            env={**os.environ, "HOME": str(tmp_path)},
        )

    return call


def test_a_browser_finds_text_where_the_data_has_tags(open_page):
    text = open_page("--dump-dom").stdout.decode()
    assert "The clusters" in text
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_browser_draws_the_page_on_a_phone(open_page, tmp_path):
    open_page("--window-size=390,1200", f"--screenshot={tmp_path / 'shot.png'}")
    assert (tmp_path / "shot.png").stat().st_size > 10_000


def test_the_largest_of_many_clusters_are_shown(tmp_path):
    X = np.arange(120.0)[:, None]
    result = PartitionLevelKMeans(60, n_init=1, random_state=0).fit(X).result_
    result.report(tmp_path / "page.html", X, evidence=Evidence(truth=list(range(120))))
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "And 10 smaller ones." in page.text
