"""The HTML page: complete, self-contained, and safe whatever the data says."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.report.browser import Browser, find_browser

from sidelight import PartitionLevelKMeans, SideInformation
from sidelight.exceptions import SidelightError
from sidelight.report import Evidence, _figures
from sidelight.results import Verdict
from sidelight.select import HeldOut

VOID = {"meta", "img", "br", "input"}
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
    assert page.tags.count("svg") == 2  # rows, objective
    assert len([value for name, value in page.attributes if name == "aria-label"]) == 2


def script_of(html):
    return re.search(r"<script>(.*?)</script>", html, re.S)[1]


def test_nothing_is_loaded_and_only_our_script_can_run(told, tmp_path):
    path = tmp_path / "page.html"
    told.result.report(path, told.X)
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert not {"link", "iframe", "object", "img"} & set(page.tags)
    assert not {name for name, _ in page.attributes if name.startswith("on")}
    assert not {"src", "href"} & {name for name, _ in page.attributes}
    policy = next(value for _, value in page.attributes if "default-src" in str(value))
    digest = base64.b64encode(hashlib.sha256(script_of(html).encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert "url(" not in html
    assert "@import" not in html


def test_without_pictures_there_is_no_script(told, tmp_path):
    told.result.report(tmp_path / "page.html", told.X, pictures=False)
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert not {"script", "svg"} & set(page.tags)


def data_of(path):
    html = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="map-data">(.*?)</script>', html, re.S)[1])


def test_the_drawing_has_every_row_and_statement_with_doubts(told, tmp_path):
    path = tmp_path / "page.html"
    told.result.report(path, told.X)
    html, data = path.read_text(encoding="utf-8"), data_of(path)
    dots = re.search(r'<g class="now".*?</g>', html, re.S)[0]
    assert dots.count("h0") == len(data["rows"]) == 30
    assert sorted(data["rows"]) == [f"r{k:02d}" for k in range(30)]
    said = {
        (data["rows"][a], data["rows"][b] if b >= 0 else data["classes"][-1 - b], sign, doubt)
        for a, b, sign, _, doubt in data["said"]
    }
    assert ("r11", "a", 1, 1) in said  # broken
    assert ("r00", "a", 1, 0) in said
    assert ("r02", "r03", -1, 1) in said
    assert len(said) == 6


def test_before_and_after_share_colours_and_the_difference_is_counted(told, tmp_path):
    path = tmp_path / "page.html"
    before = np.array([5, 7, 9])[told.result.labels]  # the same clusters by other numbers
    before[0] = 7
    told.result.report(path, told.X, evidence=Evidence(before=before))
    html = path.read_text(encoding="utf-8")

    def colours(name):
        group = re.search(rf'<g class="{name}".*?</g>', html, re.S)[0]
        found = re.findall(r'style="--k:(.*?)" d="(.*?)"', group)
        return {dot: colour for colour, dots in found for dot in dots.split("M")[1:]}

    now, then = colours("now"), colours("before")
    assert now.keys() == then.keys()
    assert sum(now[dot] != then[dot] for dot in now) == 1
    assert "The statements moved 1 row (3\N{NO-BREAK SPACE}%)" in html


def test_the_quality_stands_first_with_its_meaning(told, tmp_path):
    path = tmp_path / "page.html"
    held = HeldOut(120, 0.91, 0.03, 0.55, n_folds=5)
    told.result.report(path, told.X, evidence=Evidence(held_out=held, quality=held.in_words()))
    text = " ".join(" ".join(Page(path.read_text(encoding="utf-8")).text).split())
    start = text.index("91 % of 120 statements that were held back were right (± 3 points).")
    assert text.index("rows without statements in the fit") < text.index("The clusters")
    assert start < text.index("The model was fitted 5 times")


def test_all_right_is_not_without_error(told, tmp_path):
    path = tmp_path / "page.html"
    told.result.report(path, evidence=Evidence(held_out=HeldOut(24, 1.0, 0.0, 0.36, n_folds=5)))
    assert "(95 % interval: 86 to 100 %)" in path.read_text(encoding="utf-8")


def test_clusters_beyond_the_colours_are_grey_and_the_page_says_so(tmp_path):
    X = np.repeat(np.arange(30.0), 3)[:, None]
    X[-2:] = 0  # the last cluster is the smallest
    result = PartitionLevelKMeans(30, n_init=1, random_state=0).fit(X).result_
    summary = result.report(tmp_path / "page.html", X)
    colours = [cluster["colour"] for cluster in summary["clusters"]]
    assert sorted(colours) == [*[-1] * 6, *range(24)]
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The 24 largest clusters have colours of their own; the other 6 are grey." in html
    assert "var(--grey)" in html


@pytest.mark.parametrize("n", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_page_of_many_rows_is_small(tmp_path, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) + 8.0 * rng.integers(0, 3, n)[:, None]
    rows = rng.permutation(n)[:20_000].tolist()
    index = np.char.add("\N{SNOWMAN}" * 30, np.arange(n).astype(str))
    side = SideInformation.from_columns(
        "must", index[rows[::2]].tolist(), index[rows[1::2]].tolist(), index=index
    )
    labels = (X.mean(axis=1) // 6).clip(0, 2).astype(np.int64)
    small = PartitionLevelKMeans(3, random_state=0).fit(X[:100]).result_
    verdict = Verdict.of(side, labels, clusters=np.zeros((1, 0)))
    result = replace(small, labels=labels, side=side, verdict=verdict)
    path = tmp_path / "page.html"
    result.report(path, X)
    assert path.stat().st_size < 700_000
    data = data_of(path)
    assert len(data["rows"]) == 6_000
    assert len(data["said"]) >= 1_500
    assert f"6,000 of {n:,} rows are drawn" in path.read_text(encoding="utf-8")


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
    assert page.tags.count("script") == 2 * pictures
    assert page.tags.count("style") == 1
    assert page.tags.count("img") == 0
    assert "onerror" not in dict(page.attributes)
    assert html.count("</script>") == 2 * pictures
    assert "<script>" in " ".join(page.text)  # the column's name, as text
    assert html.count("&lt;script&gt;") >= 6


def test_a_page_without_statements_and_data_is_short_and_true(tmp_path):
    result = PartitionLevelKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0]]).result_
    result.report(tmp_path / "page.html")
    text = " ".join(Page((tmp_path / "page.html").read_text(encoding="utf-8")).text)
    assert "There are no statements about these rows." in text
    assert "What sets them apart" not in text


def test_nothing_is_overwritten_unless_asked(told, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(SidelightError, match="overwrite=True"):
        told.result.report(path, told.X)
    assert path.read_text() == "mine"
    told.result.report(path, told.X, pictures=False, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_the_page_needs_no_matplotlib_and_pictures_say_what_to_install(told, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SidelightError, match="pip install matplotlib"):
        told.result.plot(told.X)
    with pytest.raises(SidelightError, match="umap-learn"):
        _figures.project(told.X, method="umap")
    summary = told.result.report(tmp_path / "page.html", told.X)
    assert summary["n_clusters"] == 3


@pytest.fixture
def browser(tmp_path):
    if find_browser() is None:
        pytest.skip("no Chromium on this machine")
    found = Browser(tmp_path / "profile")
    yield found
    found.close()


def test_a_browser_finds_text_where_the_data_has_tags(browser, tmp_path):
    evil_report(tmp_path / "page.html", pictures=True)
    browser.open(tmp_path / "page.html")
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    assert browser.evaluate("document.querySelectorAll('img, main script').length") == 0
    assert EVIL in browser.evaluate("document.querySelector('h1').textContent")


POINT = """(function () {
  var data = JSON.parse(document.getElementById("map-data").textContent), all = [];
  document.querySelectorAll(".now path").forEach(function (path) {
    var dots = path.getAttribute("d").split("M").slice(1);
    dots.forEach(function (at) { all.push(at.split(/[ h]/)); });
  });
  var at = all[data.rows.indexOf(%s)], box = document.querySelector("svg").getBoundingClientRect();
  return [box.left + at[0] / 1000 * box.width, box.top + at[1] / 700 * box.height];
})()"""


def test_pointing_at_a_row_shows_its_name_and_statements(told, browser, tmp_path):
    told.result.report(tmp_path / "page.html", told.X)
    browser.open(tmp_path / "page.html", 1024, 1600)
    assert browser.evaluate("document.querySelectorAll('.lines *').length") == 0
    browser.move_to(*browser.evaluate(POINT % '"r12"'))
    assert browser.evaluate("document.querySelector('.tip').textContent") == (
        "r12 · b\nnot with r01 (ann)"
    )
    assert browser.evaluate("document.querySelector('.lines line').className.baseVal") == "apart"
    browser.move_to(1, 1)
    assert browser.evaluate("document.querySelectorAll('.lines *').length") == 0
    choose = "(function(v){var s=document.querySelector('select');s.value=v;"
    choose += (
        "s.dispatchEvent(new Event('change'));return document.querySelectorAll('.lines *').length})"
    )
    assert browser.evaluate(choose + "('@ann')") == 3
    assert browser.evaluate(choose + "('?')") == 1
    assert browser.evaluate(choose + "('doubt')") == 2
    assert browser.evaluate("document.querySelectorAll('.lines .doubt').length") == 2


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_page_fits_screens_of_any_width(told, browser, tmp_path, width):
    evidence = Evidence.of(
        told.model, told.X, truth=["x"] * 15 + ["y"] * 15, stability=[told.result.labels],
        held_out=HeldOut(120, 0.91, 0.03, 0.55, n_folds=5),
    )  # fmt: skip
    told.result.report(tmp_path / "page.html", told.X, evidence=evidence)
    browser.open(tmp_path / "page.html", width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.media(scheme="dark")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 28)"
    browser.media("print")
    assert (
        browser.evaluate("getComputedStyle(document.querySelector('.controls')).display") == "none"
    )


@pytest.mark.parametrize("width", [1024, 390])
def test_many_clusters_with_long_names_fit_too(browser, tmp_path, width):
    names = [f"a rather long name, of class number {k}" for k in range(30)]
    X = np.repeat(np.arange(30.0), 3)[:, None] + np.zeros(4)
    result = PartitionLevelKMeans(random_state=0).fit(X, np.repeat(names, 3)).result_
    columns = [f"a_name_without_any_blank_that_goes_on_and_on_{k}" for k in range(4)]
    evidence = Evidence(truth=np.repeat(names, 3).tolist(), notes=["x" * 300])
    result.report(tmp_path / "page.html", X, feature_names=columns, evidence=evidence)
    browser.open(tmp_path / "page.html", width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_the_largest_of_many_clusters_are_shown(tmp_path):
    X = np.arange(120.0)[:, None]
    result = PartitionLevelKMeans(60, n_init=1, random_state=0).fit(X).result_
    result.report(tmp_path / "page.html", X, evidence=Evidence(truth=list(range(120))))
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "And 10 smaller ones." in page.text
