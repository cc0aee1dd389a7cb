"""The page in a real browser: the Chromium of the machine, a server on loopback."""

import math
import re

import pytest

import web_browser
from sidelight.store import Store
from sidelight.web import Settings, create_app
from web_browser import (
    AXE,
    RULES,
    Served,
    Server,
    cut,
    free_port,
    picture,
    press_on,
    tab_to,
    violations,
    watched,
)
from web_table import write_things, write_wines

REASON = web_browser.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = web_browser.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser):
    """Pages of people of their own: no cookie is shared."""
    contexts = []

    def make(width=1440, height=900, **how):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **how))
        return watched(contexts[-1].new_page())

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A workbench in this process with a small project and two runs."""
    folder = tmp_path_factory.mktemp("served")
    app = create_app(Settings(folder / "data", workers=0))
    served = Served(app)
    bench = served.bench
    served.owner = bench.store.people.add("ann", "owner")
    table = write_wines(folder / "wines.csv")
    project = bench.create_project(table, name="wines", id="id", drop=["grower"])
    served.project = project.id
    fit(bench, project.id, n_clusters=2)
    bench.say(project.id, served.owner, kind="label", rows=[0, 2], class_="Barolo")
    bench.say(project.id, served.owner, kind="label", rows=[60, 64], class_="Grignolino")
    bench.say(project.id, served.owner, kind="must", rows=[0, 60])
    fit(bench, project.id, n_clusters=3)
    yield served
    served.stop()


def fit(bench, project, **body):
    bench.start_job(project, "fit", {"model": "PCKMeans", **body}, None)
    work(bench)


def work(bench):
    """What a worker does with the next job, in this process."""
    from sidelight.web._pool import told
    from sidelight.web._work import run_job

    job = bench.store.jobs.claim("test")
    made = run_job(bench.store, bench.folder, job._asdict(), lambda progress, message: None)
    bench.store.jobs.end(job.id, "done", message=told(made))


def answer_shown(page):
    """Answer the question on the screen by its growers, with one key; returns the rows' ids."""
    page.wait_for_selector(".pair-grid, .one")
    if page.locator(".one").count():
        ids = [page.inner_text(".one caption")]
        page.keyboard.press("1")
    else:
        ids = page.locator(".pair-head [role=columnheader]:not(.name)").all_inner_texts()
        growers = page.locator(".pair-grid [role=row]", has_text="grower").locator("[role=cell]")
        first, second = growers.all_inner_texts()
        page.keyboard.press("m" if first == second else "c")
    page.wait_for_function(
        "ids => document.querySelector('.last')?.innerText.includes(ids + ':')",
        arg=" and ".join(ids),
    )
    return tuple(ids)


def test_an_afternoon_by_keyboard_alone(new_page, tmp_path):
    server = Server(tmp_path / "data", workers=1)
    page = new_page()
    try:
        page.goto(server.link)
        page.wait_for_selector("text=There is no project yet")
        press_on(page, "a[href='/import']")
        tab_to(page, "input[type=file]")
        # The dialog of the system opens here; its outcome is all that a page sees of it.
        page.set_input_files("input[type=file]", write_wines(tmp_path / "wines.csv"))
        page.wait_for_selector("text=No problems were found")
        picture(page, "import")
        press_on(page, "button[type=submit]")
        page.wait_for_selector(".pair-grid")
        asked = {answer_shown(page) for _ in range(9)}
        assert len(asked) == 9
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("text=Taken back")
        answer_shown(page)
        page.keyboard.press("s")
        page.wait_for_selector("text=Put off")
        page.keyboard.press("u")
        page.wait_for_selector("text=Can't tell.")
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        page.wait_for_selector("text=All answers are saved")
        picture(page, "queue")
        page.wait_for_selector("nav a[href$='/runs']")
        press_on(page, "nav a[href$='/runs']")
        # Fitted by itself after ten answers; a fresh installation compiles first.
        page.wait_for_selector("th a[href*='run=1']", timeout=240_000)
        press_on(page, "tbody button.link")
        page.wait_for_selector("text=the answer")
        label_a_cluster_and_take_it_back(page)
        press_on(page, "nav a[href$='/export']")
        tab_to(page, "a[download='clusters.csv']")
        with page.expect_download() as found:
            page.keyboard.press("Enter")
        lines = found.value.path().read_text(encoding="utf-8").splitlines()
        assert len(lines) == 179
        assert "cluster_name" in lines[0]
    finally:
        server.stop()
    assert page.problems == []
    store = Store(tmp_path / "data" / "workbench.db")
    kinds = {one.kind for one in store.statements(1, retracted=False)}
    assert kinds & {"must", "cannot"}
    assert "unsure" in kinds
    assert "label" in kinds
    store.close()


def label_a_cluster_and_take_it_back(page):
    """On the map: choose a cluster, label its rows, undo all of it as one step, and do it again."""
    press_on(page, "nav a[href$='/map']")
    press_on(page, ".legend button")
    page.wait_for_selector("text=Say of these rows")
    tab_to(page, "input[list=classes]")
    page.keyboard.type("light")
    press_on(page, ".actions button.main")
    page.wait_for_selector("text=/rows? labelled light\\./")
    page.keyboard.press("z")
    page.wait_for_selector("text=/Taken back: .* labelled light/")
    tab_to(page, "input[list=classes]")
    press_on(page, ".actions button.main")
    page.wait_for_selector("text=/rows? labelled light\\./")


def test_two_people_at_once_are_blind_to_each_other(served, new_page):
    owner = served.login(new_page(), served.owner)
    owner.goto(f"{served.url}/p/{served.project}/people")
    owner.click("text=Make a link")
    link = owner.input_value("input[readonly]")
    bob = new_page(390, 844)
    bob.goto(link)
    bob.fill("input[name=name]", "bob")
    bob.click("button")
    bob.wait_for_selector(".card")
    bob.goto(f"{served.url}/p/{served.project}/queue")
    owner.goto(f"{served.url}/p/{served.project}/queue")
    theirs, mine = set(), set()
    for _ in range(4):
        for page, asked in ((owner, mine), (bob, theirs)):
            asked.add(answer_shown(page))
    assert len(mine) == len(theirs) == 4
    assert not mine & theirs
    owner.wait_for_selector(".here:has-text('bob')")
    assert bob.locator(".here").count() == 0  # annotators are not told who else is there
    bob.wait_for_function("() => document.querySelector('.figures dd').innerText === '4'")
    assert bob.locator("nav a").all_inner_texts() == ["Queue", "Statements"]
    picture(bob, "phone")
    for screen in ("map", "runs", "people", "export"):
        bob.goto(f"{served.url}/p/{served.project}/{screen}")
        bob.wait_for_selector("text=is not for your role")
    bob.goto(f"{served.url}/p/{served.project}/statements")
    bob.wait_for_selector("tbody tr")
    assert set(bob.locator("tbody td:nth-child(2)").all_inner_texts()) == {"bob"}
    assert owner.problems == bob.problems == []


def test_two_tabs_of_one_person_are_not_asked_the_same(served, new_page):
    first = served.login(new_page(), served.owner)
    second = watched(first.context.new_page())
    asked = []
    for page in (first, second):
        page.goto(f"{served.url}/p/{served.project}/queue")
        asked.append({answer_shown(page) for _ in range(3)})
    assert not asked[0] & asked[1]


def test_the_words_on_the_buttons_are_the_projects_own(served, new_page):
    page = served.login(new_page(), served.owner)
    page.goto(f"{served.url}/p/{served.project}/queue")
    page.click("text=Words")
    page.fill("label:has-text('belong together') input", "same grower")
    page.click("dialog button[type=submit]")
    page.wait_for_selector("dialog", state="detached")
    assert served.bench.store.project(served.project).config["words"]["must"] == "same grower"
    assert page.problems == []


def test_a_killed_server_loses_nothing_that_was_typed(new_page, tmp_path):
    port = free_port()
    table = write_wines(tmp_path / "wines.csv")
    words = (table, "--id", "id", "--drop", "grower")
    server = Server(tmp_path / "data", *words, port=port)
    page = new_page()
    try:
        page.goto(server.link)
        page.goto(f"{server.url}/p/1/queue")
        page.wait_for_selector(".pair-grid")
        asked = {answer_shown(page) for _ in range(2)}
        page.wait_for_selector("text=All answers are saved")
        server.kill()
        asked |= {answer_shown(page) for _ in range(3)}
        page.wait_for_selector("text=3 answers not sent yet")
        page.wait_for_selector("text=The line is down")
        server = Server(tmp_path / "data", port=port)
        page.wait_for_selector("text=All answers are saved")
        asked |= {answer_shown(page) for _ in range(2)}
        page.wait_for_selector("text=All answers are saved")
    finally:
        server.stop()
    assert len(asked) == 7
    store = Store(tmp_path / "data" / "workbench.db")
    said = store.statements(1, retracted=False)
    assert {tuple(sorted((f"w{one.i}", f"w{one.j}"))) for one in said} == {
        tuple(sorted(pair)) for pair in asked
    }
    store.close()


def lasso(page, radius=0.49):
    """Draw around the whole map."""
    box = page.locator(".map-box canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x + radius * box["width"], y)
    page.mouse.down()
    for k in range(1, 41):
        angle = 2 * math.pi * k / 40
        page.mouse.move(
            x + radius * box["width"] * math.cos(angle),
            y + radius * box["height"] * 1.35 * math.sin(angle),
        )
    page.mouse.up()


def test_a_lasso_labels_its_rows_and_undo_takes_all_of_them_back(served, new_page):
    page = served.login(new_page(), served.owner)
    page.goto(f"{served.url}/p/{served.project}/map")
    page.wait_for_selector(".legend li")
    counted = served.bench.store.count_statements
    before = counted(served.project)
    page.keyboard.press("l")
    lasso(page, 0.17)
    page.wait_for_selector("text=drawn on the map")
    picture(page, "map")
    few = int(re.match(r"\d+", page.inner_text(".map-side strong"))[0])
    lasso(page, 0.48)  # a new drawing takes the place of the old one
    page.wait_for_selector(".map-side strong:has-text('178 rows')")
    n = int(re.match(r"\d+", page.inner_text(".map-side strong"))[0])
    # The rows under the lasso, less those with a label.
    page.select_option("[aria-label='How it joins the selection']", "intersect")
    page.select_option("[aria-label='Which rows']", "unlabelled")
    page.click("form[aria-label='Choose rows'] button")
    page.wait_for_selector("text=keep only: without a label")
    chosen = int(re.match(r"\d+", page.inner_text(".map-side strong"))[0])
    said = served.bench.store.statements(served.project, retracted=False)
    assert chosen == n - len({one.i for one in said if one.kind == "label"}) < n == 178
    assert 0 < few < chosen
    page.fill("input[list=classes]", "everybody")
    page.click(".actions button.main")
    page.wait_for_selector(f"text={chosen} rows labelled everybody.")
    assert counted(served.project)["label"] == before["label"] + chosen
    page.locator(".map-box canvas").focus()
    page.keyboard.press("z")
    page.wait_for_selector("text=/Taken back: .* everybody/")
    assert counted(served.project) == before
    page.fill("input[list=classes]", "the crowd")
    page.click("text=Keep under this name")
    page.wait_for_selector("button:has-text('the crowd')")
    assert [one["name"] for one in served.bench.store.selections(served.project)] == ["the crowd"]
    page.keyboard.press("Escape")
    assert page.problems == []


def test_the_legend_hides_and_before_and_after_show_what_moved(served, new_page):
    page = served.login(new_page(), served.owner)
    page.goto(f"{served.url}/p/{served.project}/map")
    page.wait_for_selector(".legend li")
    page.wait_for_function("() => window.sidelightMap?.frames > 0")

    def drawn():
        page.wait_for_timeout(100)
        return page.evaluate(
            """() => { const map = window.sidelightMap; map.paint();
            const gl = map.gl, w = gl.drawingBufferWidth, h = gl.drawingBufferHeight;
            const p = new Uint8Array(4 * w * h);
            gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
            let n = 0; for (let k = 3; k < p.length; k += 4) n += p[k] > 0; return n; }"""
        )

    everything = drawn()
    assert everything > 0
    page.uncheck(".legend li:first-child input")
    assert 0 < drawn() < everything
    page.click("text=Hide all")
    assert drawn() == 0
    page.click("text=Show all")
    page.select_option("label:has-text('Since run') select", index=1)
    page.wait_for_selector("text=/rows? changed/")
    page.click("text=List them")
    page.wait_for_selector("text=moved between runs")
    assert "before=" in page.url


def test_doubtful_statements_are_resolved_one_at_a_time(served, new_page):
    bench, project = served.bench, served.project
    page = served.login(new_page(), served.owner)
    page.goto(f"{served.url}/p/{project}/statements?view=conflicts")
    page.wait_for_selector("text=/[0-9]+ contradictions?/")
    page.goto(f"{served.url}/p/{project}/statements?view=doubtful")
    page.wait_for_selector(".resolver h2")
    first = page.inner_text(".resolver h2")
    before = sum(bench.store.count_statements(project).values())
    picture(page, "resolver")
    page.keyboard.press("r")
    page.wait_for_selector(f"text=Taken back: {first}")
    assert sum(bench.store.count_statements(project).values()) == before - 1
    page.goto(f"{served.url}/p/{project}/statements")
    page.fill("label:has-text('Contains') input", first)
    page.click(f"tr.away:has-text('{first}') button")
    page.wait_for_selector(f"tr.away:has-text('{first}')", state="detached")
    assert sum(bench.store.count_statements(project).values()) == before


def test_pictures_long_texts_and_texts_from_right_to_left_are_shown(served, new_page, tmp_path):
    table = write_things(tmp_path / "things.csv")
    page = served.login(new_page(), served.owner)
    page.goto(f"{served.url}/import")
    page.set_input_files("input[type=file]", table)
    page.wait_for_selector("text=No problems were found")
    assert page.input_value("[aria-label='What photo is for']") == "image"
    assert page.input_value("[aria-label='What id is for']") == "id"
    page.click("button[type=submit]")
    page.wait_for_selector(".pair-grid img")
    loaded = """() => [...document.querySelectorAll('.pair-grid img')].filter(
        (one) => one.complete && one.naturalWidth === 12).length === 2"""
    page.wait_for_function(loaded)
    named = page.locator(".pair-grid [role=row]", has_text="שם").locator("bdi").nth(1)
    assert named.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert page.locator(".pair-grid .long .prose").count() == 2
    picture(page, "pictures")
    page.keyboard.press("m")
    page.wait_for_selector("text=Same kind.")
    page.wait_for_function(loaded)  # the next pictures were there before the question
    at = page.url.rsplit("/", 1)[0]
    page.goto(f"{at}/map")
    page.select_option("[aria-label='Which rows']", "all")
    page.click("form[aria-label='Choose rows'] button")
    page.wait_for_selector(".rows-table img")
    # What cannot be shown is said.
    number = int(at.rsplit("/", 1)[1])
    config = served.bench.store.project(number).config
    served.bench.store.update_project(number, config={**config, "images": ["photo", "description"]})
    page.goto(f"{at}/queue")
    page.wait_for_selector("text=/No picture/")
    served.bench.store.update_project(number, archived=True)
    assert page.problems == []


def test_models_are_compared_and_runs_are_measured(served, new_page):
    bench, project = served.bench, served.project
    page = served.login(new_page(), served.owner)
    truth = {"Barolo": range(4, 40, 4), "Grignolino": range(66, 100, 4)}
    said = [
        bench.say(project, served.owner, kind="label", rows=list(rows), class_=name)
        for name, rows in truth.items()
    ]
    fit(bench, project, n_clusters=2, automatic=True)
    page.goto(f"{served.url}/p/{project}/runs")
    page.wait_for_selector("text=No models were compared yet")
    page.fill("section[aria-label='Which model'] input", "3")
    page.click("button:has-text('Compare models')")
    page.wait_for_selector("button:has-text('Comparing')")
    queued = bench.store.jobs.all(project, states=("queued",))
    assert [job.body["n_clusters"] for job in queued] == [3]
    bench.store.jobs.end(queued[0].id, "cancelled")
    few = {"models": ["PCKMeans", "SeededKMeans", "KMeans"], "n_clusters": 3}
    bench.start_job(project, "compare", few, None)
    work(bench)
    page.wait_for_selector(".models tbody tr")
    rows = page.locator(".models tbody tr").all_inner_texts()
    assert len(rows) == 3
    assert all(re.search(r"0\.\d{3} ± 0\.\d{3}|1\.000", row) for row in rows)
    assert page.locator(".models .badge", has_text="chosen").count() == 1
    picture(page, "runs", full_page=True)
    page.locator(".models button").first.click()  # only our own models can be fitted here
    page.wait_for_selector("text=waits for a worker")
    (job,) = bench.store.jobs.all(project, states=("queued",))
    assert job.body["model"] in ("PCKMeans", "SeededKMeans")
    bench.store.jobs.end(job.id, "cancelled")
    page.locator("tbody tr", has_text="by itself").locator("button:has-text('Measure')").click()
    page.wait_for_selector("button:has-text('Measure')[disabled]")
    work(bench)
    page.wait_for_selector("tr:has-text('by itself') >> text=/of \\d+, chance/")
    for event in said:
        bench.retract(project, served.owner, event=event.id)
    assert page.problems == []


def test_people_show_agreement_and_are_asked_what_the_owner_says(served, new_page):
    bench, project = served.bench, served.project
    cat = bench.store.people.add("cat", "annotator")
    bench.say(project, cat, kind="label", rows=[0, 2, 60], class_="Barolo")
    page = served.login(new_page(), served.owner)
    page.goto(f"{served.url}/p/{project}/people")
    row = page.locator("tr", has_text="ann and cat")
    row.wait_for()
    assert row.locator("td").all_inner_texts() == ["3", "2 (67 %)"]
    for chooser, value in (
        ("[aria-label='Questions for cat']", "label"),
        ("label:has-text('second person') select", "0.1"),
    ):
        with page.expect_response("**/asking"):
            page.select_option(chooser, value)
    page.reload()
    page.wait_for_selector("tr:has-text('ann and cat')")
    assert page.input_value("[aria-label='Questions for cat']") == "label"
    assert page.input_value("label:has-text('second person') select") == "0.1"
    assert bench.asking_rules(project) == {"kinds": {str(cat.id): ["label"]}, "second": 0.1}
    picture(page, "people")
    bench.change_asking(project, kinds=None, second=0.0)
    assert page.problems == []


SCREENS = {
    "/": ".card",
    "/import": "input[type=file]",
    "{at}/queue": ".answers",
    "{at}/map": ".legend li",
    "{at}/statements": "tbody tr",
    "{at}/statements?view=conflicts": ".chain",
    "{at}/statements?view=doubtful": ".resolver td",
    "{at}/runs": ".contingency",
    "{at}/people": "tbody tr",
    "{at}/export": ".export-list",
}


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed; 'make client' does it")
def test_no_screen_has_a_barrier(served, new_page):
    # Without motion, or colours would be read on their way from light to dark.
    page = served.login(new_page(reduced_motion="reduce"), served.owner)
    at = f"/p/{served.project}"
    found = {}

    def look(name):
        """All rules in light; of the dark, what depends on colours."""
        for scheme, rules in (("light", RULES), ("dark", ("color-contrast",))):
            page.emulate_media(color_scheme=scheme)
            if wrong := violations(page, rules):
                found[name, scheme] = wrong

    for path, sign in {**SCREENS, "/p/99/map": "text=This project cannot be opened"}.items():
        page.goto(served.url + path.format(at=at))
        page.wait_for_selector(sign)
        look(path)
    page.goto(f"{served.url}{at}/queue")
    page.wait_for_selector(".answers")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    look("keys")
    assert found == {}


@pytest.fixture(scope="module")
def long_names(served, tmp_path_factory):
    """A project whose people, rows, classes and clusters have long names, some from the right."""
    bench = served.bench
    table = write_things(tmp_path_factory.mktemp("long") / "things.csv")
    drop = ["id", "photo", "description", "שם"]
    name = "Things of the second drawer, sorted by hand, with all that is known of them " * 2
    project = bench.create_project(table, name=name[:200], id="שם", drop=drop, images=["photo"]).id
    eve = bench.store.people.add("Maximiliane-Theodora von und zu Hohenstein-Wolkenburg", "editor")
    fit(bench, project, n_clusters=2)
    bench.say(project, eve, kind="label", rows=[0, 2], class_="a class with quite a long name")
    bench.say(project, served.owner, kind="label", rows=[0, 3], class_="ספרים")
    bench.say(project, served.owner, kind="must", rows=[0, 3])
    fit(bench, project, n_clusters=3)
    yield project, table
    bench.store.update_project(project, archived=True)
    bench.store.people.change(eve.id, disabled=True)


@pytest.mark.parametrize("width", [1024, 390])
def test_nothing_is_cut(served, long_names, new_page, width):
    page = served.login(new_page(width), served.owner)
    found = {}
    project, table = long_names
    for path, sign in SCREENS.items():
        page.goto(served.url + path.format(at=f"/p/{project}"))
        page.wait_for_selector(sign)
        if path == "/import":
            page.set_input_files(sign, table)
            page.wait_for_selector("text=No problems were found")
        if path == "{at}/map":
            page.locator(".legend button").first.click()
            page.wait_for_selector(".rows-table")
        if path == "{at}/people":
            page.click("text=Make a link")
            page.wait_for_selector("input[readonly]")
        if wrong := cut(page):
            found[path] = wrong
    assert found == {}
    assert page.problems == []
