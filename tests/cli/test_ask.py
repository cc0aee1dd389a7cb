"""``sidelight ask``: by keys, over a pipe, and what becomes of the file of statements."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from sidelight import SideInformation
from sidelight.cli._app import app
from sidelight.cli._asking import Book, Interview, Rows, converse, statement, talk
from sidelight.cli._asking.rows import written
from sidelight.cli._asking.terminal import Keys, screen
from sidelight.exceptions import SideInformationError, SidelightError
from sidelight.query import Asker, Question
from sidelight.tables import read_table


@pytest.fixture(scope="module")
def table_path(tmp_path_factory):
    """Sixty flowers of three kinds, with names, numbers and a text."""
    path = tmp_path_factory.mktemp("ask") / "flowers.csv"
    rng = np.random.default_rng(0)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "length", "width", "note"])
        for k in range(60):
            x, y = rng.normal(size=2) + 8.0 * np.array([k % 3, (k % 3) ** 2])
            writer.writerow([f"f{k:02d}", round(x, 3), round(y, 3), f"seen by {'ab'[k % 2]}"])
    return path


@pytest.fixture
def table(table_path):
    found = read_table(table_path, text=["name"])
    return SimpleNamespace(rows=Rows(found, found.ids("name"), id="name"), table=found)


def kind_of(name):
    return int(str(name)[1:]) % 3


class Robot(io.StringIO):
    """Both ends of a pipe: it reads the last question that was written, and answers it."""

    def __init__(self, answer):
        super().__init__()
        self.answer, self.heard = answer, []

    def isatty(self):
        return False

    def write(self, text):
        self.heard.append(json.loads(text))
        return len(text)

    def readline(self):
        said = self.answer(self.heard[-1])
        return "" if said is None else said if isinstance(said, str) else json.dumps(said) + "\n"

    @property
    def questions(self):
        return [line for line in self.heard if "kind" in line]


def honest(question):
    names = question["names"]
    if question["kind"] == "label":
        return {"id": question["id"], "value": f"kind {kind_of(names[0])}"}
    same = kind_of(names[0]) == kind_of(names[1])
    return {"id": question["id"], "value": "must" if same else "cannot"}


@pytest.fixture
def ask(monkeypatch, table_path):
    """The command over a pipe, with a robot at the other end."""

    def call(answer, side, *more):
        robot = Robot(answer)
        monkeypatch.setattr(sys, "stdin", robot)
        monkeypatch.setattr(sys, "stdout", robot)
        words = ["ask", table_path, "--id", "name", "--side", side, "--drop", "note", *more]
        try:
            app([str(word) for word in words], standalone_mode=False)
        finally:
            monkeypatch.undo()
        return robot

    return call


def test_a_program_answers_and_the_file_is_one_that_others_read(ask, table_path, tmp_path):
    side = tmp_path / "said.csv"
    robot = ask(honest, side, "--annotator", "robot", "--budget", "12")
    assert robot.heard[-1] == {"done": "budget", "answers": 12}
    first = robot.questions[0]
    assert set(first["cells"][0]) == {"length", "width", "note"}
    assert not {"audit", "prediction", "reason", "probability", "value"} & set(first)
    ids = [f"f{k:02d}" for k in range(60)]
    known = SideInformation.read(side, index=ids)
    assert known.n_statements == 12
    assert known.annotators == ("robot",)
    assert not known.conflicts().broken.size
    # a second sitting knows what was said, and goes on
    again = ask(honest, side, "--annotator", "robot", "--budget", "3")
    assert again.questions[0]["progress"]["statements"] == 12
    asked = {tuple(sorted(q["names"])) for q in robot.questions}
    assert not asked & {tuple(sorted(q["names"])) for q in again.questions}
    assert SideInformation.read(side, index=ids).n_statements == 15


def test_the_same_answers_get_the_same_questions(ask, tmp_path):
    one, two = (ask(honest, tmp_path / f"{n}.csv", "--budget", "6") for n in "ab")
    assert one.heard == two.heard


def test_what_is_not_an_answer_is_explained_and_asked_again(ask, tmp_path):
    wrong = iter(["hm\n", "\n[1]\n", {"id": "x", "value": "must"}, {"id": 0}])

    def answer(line):
        said = next(wrong, None)
        return said if said is not None else {"id": line["id"], "value": "perhaps"}

    side = tmp_path / "said.csv"
    limit = iter(range(6))
    robot = ask(lambda line: answer(line) if next(limit, None) is not None else None, side)
    errors = [line["error"] for line in robot.heard if "error" in line]
    assert len(errors) == 6
    assert "JSON object" in errors[0]
    assert "takes 'must', 'cannot' or 'cannot_tell'" in errors[-1]
    assert len({line["id"] for line in robot.questions}) == 1
    assert robot.heard[-1]["done"] == "end of input"
    assert not side.exists()  # nothing was said


def test_a_time_that_is_no_number_is_explained_before_the_answer_is_written(ask, tmp_path):
    side = tmp_path / "said.csv"
    times = iter(["3 s", -1, 2.5])

    def answer(question):
        seconds = next(times, None)
        return None if seconds is None else {**honest(question), "seconds": seconds}

    robot = ask(answer, side)
    errors = [line["error"] for line in robot.heard if "error" in line]
    assert ["seconds is '3 s'" in errors[0], "seconds is -1" in errors[1]] == [True, True]
    assert robot.heard[-1] == {"done": "end of input", "answers": 1}
    assert len(side.read_text().splitlines()) == 2  # the head, and the third answer


def test_undo_takes_the_line_back_and_asks_again(ask, tmp_path):
    side = tmp_path / "said.jsonl"
    said = iter([honest, lambda q: {"undo": True}, honest, lambda q: {"stop": True}])
    robot = ask(lambda question: next(said)(question), side, "--only", "pairs")
    ids = [line["id"] for line in robot.questions]
    assert ids[0] == ids[2] != ids[1] == ids[3]
    assert len(side.read_text().splitlines()) == 1
    assert robot.heard[-1] == {"done": "stopped", "answers": 1}


def test_undo_without_an_answer_is_an_error_line(ask, tmp_path):
    said = iter([{"undo": True}, {"stop": True}])
    robot = ask(lambda question: next(said), tmp_path / "said.csv")
    assert "nothing to take back" in robot.heard[1]["error"]


def test_labels_only_and_known_files(ask, tmp_path):
    known = tmp_path / "known.csv"
    known.write_text("kind,i,class\nlabel,f00,kind 0\nlabel,f01,kind 1\n")
    side = tmp_path / "said.tsv"
    robot = ask(honest, side, "--only", "labels", "--known", known, "--budget", "2")
    assert {q["kind"] for q in robot.questions} == {"label"}
    assert robot.questions[0]["classes"] == ["kind 0", "kind 1"]
    assert robot.questions[0]["progress"]["statements"] == 2
    assert known.read_text().count("\n") == 3
    assert side.read_text().startswith("kind\ti\tj\tclass\tannotator\nlabel\tf")


def test_a_killed_program_has_lost_no_answer(table_path, tmp_path):
    side = tmp_path / "said.csv"
    words = ["ask", table_path, "--id", "name", "--side", side, "--drop", "note"]
    code = "from sidelight.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    try:
        for _ in range(5):
            question = json.loads(process.stdout.readline())
            process.stdin.write(json.dumps(honest(question)) + "\n")
            process.stdin.flush()
        process.stdout.readline()  # the sixth question: five answers were taken
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        process.stdin.close()
        process.stdout.close()
    index = [f"f{k:02d}" for k in range(60)]
    assert SideInformation.read(side, index=index).n_statements == 5


# By keys


@pytest.fixture
def sitting(table, tmp_path):
    """A person at a terminal who hits certain keys; what was seen, and the file."""

    def call(keys, *, kinds=("pair", "label"), lines=(), side=None, width=100, height=30):
        path = tmp_path / "said.csv"
        index = [table.rows.name(k) for k in range(60)]
        known = SideInformation.empty(60, index=index) if side is None else side
        X = np.column_stack([table.table.columns[n] for n in ("length", "width")])
        console = Console(
            file=io.StringIO(), width=width, height=height, force_terminal=True, highlight=False
        )
        typed, named = iter(keys), iter(lines)
        hand = Keys(lambda: next(typed), lambda prompt: next(named))

        def build():
            return Asker(X, side=known, kinds=kinds, refit=None, random_state=0)

        with Book(path) as book, Interview(build, n_known=known.n_statements) as interview:

            def record(question, value, seconds):
                value = question.check(value)
                names = [table.rows.name(row) for row in question.rows]
                book.add(statement(question, value, names, None))
                interview.answer(question, value, seconds)

            def take_back():
                book.take_back()
                return interview.undo()

            why = converse(
                interview, table.rows, record, take_back, console=console, keys=hand, budget=40
            )
        said = list(csv.DictReader(io.StringIO(path.read_text()))) if path.exists() else []
        return SimpleNamespace(why=why, seen=console.file.getvalue(), said=said)

    return call


def test_one_key_is_one_answer(sitting):
    found = sitting("sdcq", kinds=("pair",))
    assert found.why == "stopped"
    assert [row["kind"] for row in found.said] == ["must", "cannot", "unsure"]
    assert "Do these two belong together?" in found.seen
    assert "3 answers now, 3 in all" in found.seen


def test_unknown_keys_and_undo_are_said(sitting):
    found = sitting(["x", "\x1b[A", "u", "s", "u", "d", "\x04"], kinds=("pair",))
    assert "'x' is not one of the keys below." in found.seen
    assert "That key is not one of the keys below." in found.seen
    assert "there is no answer in this session yet" in found.seen
    assert "Your last answer is taken back" in found.seen
    assert [row["kind"] for row in found.said] == ["cannot"]


def test_classes_go_by_number_or_by_name(sitting):
    side = SideInformation.from_columns(
        "label", ["f00", "f01"], class_=["rose", 7], index=[f"f{k:02d}" for k in range(60)]
    )
    keys, lines = ["1", "n", "n", "n", "3", "n", "c", "q"], ["lily", "7", "", "must"]
    found = sitting(keys, kinds=("label",), lines=lines, side=side)
    assert [row["class"] for row in found.said] == ["rose", "lily", "7", "lily", ""]
    assert [row["kind"] for row in found.said][-1] == "unsure"
    assert "takes the name of a class" in found.seen  # "must" is not one
    assert "What is this?" in found.seen


def question(*rows):
    return Question("q", "pair" if len(rows) == 2 else "label", tuple(rows), classes=("a", "b"))


def shown(rows, asked, *, width=100, height=30, page=0):
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    progress = SimpleNamespace(
        answers=1, statements=2, clusters=3, may_stop=True, sentence="All is well."
    )
    console.print(screen(rows, asked, progress, console, page=page))
    return console.file.getvalue()


def wide_table(tmp_path, cells):
    path = tmp_path / "wide.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[f"c{k}" for k in range(len(cells[0]))], *cells])
    found = read_table(path)
    return Rows(found, None)


def test_differences_are_marked_and_the_foot_says_how_far_it_is(tmp_path):
    rows = wide_table(tmp_path, [[0, 5, "red"], [9, 5.1, "red"], [0, 9, "blue"]])
    lines = shown(rows, question(0, 1)).splitlines()
    marked = {line.split()[1] for line in lines if line.startswith("≠")}
    assert marked == {"c0"}
    assert any("you may stop" in line for line in lines)
    assert lines[-1].split()[:4] == ["s", "same", "d", "different"]
    assert {n for n, d in rows.distances(0, 2).items() if d > 1} == {"c1", "c2"}


@pytest.mark.parametrize(("width", "height"), [(100, 30), (55, 24), (36, 16), (30, 12), (12, 5)])
def test_the_screen_fits_terminals_of_any_size(tmp_path, width, height):
    rows = wide_table(tmp_path, [[k * 10 + j for j in range(40)] + ["x" * 300] for k in range(3)])
    for asked in (question(0, 2), question(1)):
        lines = shown(rows, asked, width=width, height=height).splitlines()
        assert max(map(len, lines)) <= width
        if height >= 16:
            assert len(lines) < height
            assert any("more columns" in line for line in lines)


def test_all_columns_are_on_some_page(tmp_path):
    rows = wide_table(tmp_path, [[k * j for j in range(50)] for k in range(3)])
    pages = [shown(rows, question(0, 2), page=page) for page in range(4)]
    seen = {
        word for text in pages for word in text.split() if word[0] == "c" and word[1:].isdigit()
    }
    assert seen == {f"c{k}" for k in range(50)}


def test_no_cell_moves_the_cursor(tmp_path):
    rows = wide_table(tmp_path, [[0, "a\x1b[2Jb\u202ec\nd"], [1, "[bold]x[/bold]"]])
    text = shown(rows, question(0, 1))
    assert "\x1b[2J" not in text
    assert "a\ufffd[2Jb\ufffdc d" in text
    assert "[bold]x[/bold]" in text
    assert written(None) == "–"


# The asker thinks for longer than people wait


class SlowAsker:
    """Thinks until it may go on."""

    def __init__(self, gate, answers=()):
        self.gate, self.answers, self.trusted, self.n_clusters = gate, answers, True, 2
        self.stopping = SimpleNamespace(next_ten=3.0, share=0.1, accuracy=None, n_audit=0)

    def ask(self, n):
        first = 10 * len(self.answers)
        return [Question(f"{first + k}", "pair", (first + k, first + k + 1)) for k in range(n)]

    def answer(self, question, value, **_):
        self.gate.wait(30)
        entry = SimpleNamespace(id=question.id, question=question)
        return SlowAsker(self.gate, (*self.answers, entry))

    def retract(self, answer_id):
        return SlowAsker(self.gate, tuple(a for a in self.answers if a.id != answer_id))


def test_while_the_asker_thinks_a_question_of_before_is_asked():
    gate = Event()
    with Interview(lambda: SlowAsker(gate), patience=0.01) as interview:
        first = interview.question()
        interview.answer(first, "must")
        second = interview.question()
        assert second.id == "2"  # the next that shares no row with the first
        gate.set()
        interview.answer(second, "must")
        interview.wait()
        assert interview.question().id == "20"
        assert interview.progress.answers == 2
        assert interview.undo() == second
        assert interview.undo() == first
        interview.wait()
        assert interview.question() == first


# The file


STATEMENT = {"kind": "must", "i": "a", "j": "b", "annotator": "ann"}


def test_lines_are_added_in_the_way_of_the_file(tmp_path):
    path = tmp_path / "said.csv"
    path.write_bytes(b"\xef\xbb\xbfannotator;j;i;kind;class\r\nbob;x;y;cannot;")  # no line end
    with Book(path) as book:
        book.add(STATEMENT)
        book.add({"kind": "label", "i": "=1+1", "class": 3})
    assert path.read_bytes().splitlines()[1:] == [
        b"bob;x;y;cannot;", b"ann;b;a;must;", b';;"""=1+1""";label;3'
    ]  # fmt: skip


def test_only_the_own_last_line_is_taken_back(tmp_path):
    path = tmp_path / "said.csv"
    with Book(path) as one, Book(path) as two:
        one.add(STATEMENT)
        two.add(STATEMENT | {"annotator": "bob"})
        with pytest.raises(SideInformationError, match="remove that line by hand: must,a,b,,ann"):
            one.take_back()
        two.take_back()
        one.take_back()
        assert path.read_text() == "kind,i,j,class,annotator\n"


def test_a_failed_write_leaves_whole_lines(tmp_path, monkeypatch):
    path = tmp_path / "said.csv"
    write = os.write

    def full(file, data):
        if len(data) > 5:
            return write(file, data[:5])
        raise OSError(28, "No space left on device")

    with Book(path) as book:
        book.add(STATEMENT)
        before = path.read_bytes()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(SideInformationError, match="No space left"):
            book.add(STATEMENT)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert book.n_added == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("said.parquet", None, "line by line"),
        ("folder.csv/said.csv", None, "cannot be written there"),
        ("folder.csv", "folder", "not a file that answers"),
        ("said.csv", "kind,i,j\n", "no column 'class', 'annotator'"),
    ],
)
def test_files_that_cannot_be_added_to_are_refused(tmp_path, name, content, message):
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    with pytest.raises(SidelightError, match=message):
        Book(path)
    if content == "kind,i,j\n":
        assert path.read_text() == content


def test_statements_about_rows_that_are_gone_are_refused(shell, table_path, tmp_path):
    side = tmp_path / "said.csv"
    side.write_text("kind,i,j,class,annotator\nmust,f00,f99,,\n")
    found = shell("ask", table_path, "--side", side, "--id", "name", "--drop", "note")
    assert found.returncode == 2
    assert "f99" in found.stderr


def test_the_pipe_says_nothing_else_on_its_output(table):
    said = io.StringIO()
    with Interview(lambda: SlowAsker(Event())) as interview:
        why = talk(interview, table.rows, None, None, source=io.StringIO(), target=said)
    assert why == "end of input"
    assert [set(json.loads(line)) & {"kind", "done"} for line in said.getvalue().splitlines()] == [
        {"kind"}, {"done"}
    ]  # fmt: skip


def test_files_and_names_that_make_no_sense_are_refused(shell, table_path, tmp_path):
    found = shell("ask", table_path, "--side", table_path)
    assert found.returncode == 2
    assert "give another file" in found.stderr
    found = shell("ask", table_path, "--side", tmp_path / "x.csv", "--annotator", " ")
    assert "--annotator is empty" in found.stderr
    assert not (tmp_path / "x.csv").exists()


def test_a_listener_who_goes_ends_the_conversation(table):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    with Interview(lambda: SlowAsker(Event())) as interview:
        why = talk(interview, table.rows, None, None, source=io.StringIO(), target=Gone())
    assert why == "end of input"
