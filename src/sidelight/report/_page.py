"""One HTML page that shows a result: no request, every value escaped, one script of our own.

The page is complete without the script, which only shows details of a row under the pointer. The
page's policy allows it by its hash, so that nothing else can run, whatever the data contain.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight._html import Html, join, safe, tag, whole
from sidelight._writing import refuse_existing, replacing
from sidelight.report._colours import COLOURS, align_clusters
from sidelight.report._figures import project
from sidelight.report._map import Drawn, draw_map
from sidelight.report._summary import Evidence, is_suspect, summarize
from sidelight.results import ClusterResult

# Tables and cards of clusters stop here, with the largest ones.
_MAX_CLUSTERS = 50
_HEAT_CLUSTERS, _HEAT_COLUMNS = 12, 12
_FIXED = "\N{NO-BREAK SPACE}"  # no line ends between a number and its sign


def write_report(
    result: ClusterResult,
    path: str | PathLike[str],
    X: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    evidence: Evidence | None = None,
    plane: NDArray[Any] | None = None,
    title: str = "Clusters",
    pictures: bool = True,
    limit: int = 20,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write one HTML page about a result, which needs no other file and no network.

    Parameters
    ----------
    result : ClusterResult
        What a model leaves in ``result_``.
    path : str or path
        The file.
    X : array or sparse matrix of shape (n_samples, n_features), optional
        The data in the units that readers know, for profiles and the picture.
    feature_names : sequence of str, optional
        Names of the columns; by default a data frame's own, or x0, x1, … .
    evidence : Evidence, optional
        What else is known; ``Evidence.of(model, X)`` asks the model.
    plane : array of shape (n_samples, 2), optional
        Where to draw the rows; by default the first two principal components of X. Give
        ``project(scaled)`` where the clustering saw scaled data.
    title : str
        The heading of the page.
    pictures : bool
        Whether to draw the rows in a plane, and the objective.
    limit : int
        How many suspect statements and conflicts to list.
    overwrite : bool
        Whether a file of that name may be replaced.

    Returns
    -------
    dict
        The summary that the page shows (see `summarize`).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans
    >>> X = np.array([[0.0, 3.0], [0.1, 3.1], [5.0, 3.1], [5.1, 3.0]])
    >>> result = PartitionLevelKMeans().fit(X, ["low", None, "high", None]).result_
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> summary = write_report(result, path, X, feature_names=["length", "width"])
    >>> "length" in path.read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    refuse_existing(path, overwrite=overwrite)
    evidence = Evidence() if evidence is None else evidence
    summary = summarize(result, X, feature_names=feature_names, evidence=evidence, limit=limit)
    drawn = None
    if pictures and (plane is not None or X is not None):
        before = None
        if evidence.before is not None:
            before = align_clusters(evidence.before, result.labels)
        plane = project(X) if plane is None else np.asarray(plane)
        drawn = draw_map(result, plane, doubtful=is_suspect(result), before=before)
    page = _page(title, summary, drawn, pictures=pictures)
    with replacing(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(page.encode("utf-8", "replace"))
    return summary


# Pieces


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, stack: bool = True) -> Html:
    """A table; numbers stand to the right. On a phone each row becomes a block of lines."""
    cells = [list(row) for row in rows]
    numeric = [all(_is_figure(row[k]) for row in cells) for k in range(len(header))]
    how = [{"class_": "n"} if is_number else {} for is_number in numeric]
    head = tag("tr", *(tag("th", v, **c) for v, c in zip(header, how, strict=True)))
    body = [
        tag(
            "tr",
            *(
                tag("td", _told(v), data_label=h, **c)
                for v, h, c in zip(row, header, how, strict=True)
            ),
        )
        for row in cells
    ]
    return tag(
        "table", tag("thead", head), tag("tbody", *body), class_="stack" if stack else "plain"
    )


def _told(value: Any) -> Any:
    return f"{value:,}" if isinstance(value, int) else value


def _is_figure(value: Any) -> bool:
    """Whether a cell is a number, in words too: 1,024 or 12 %, or a dash for none."""
    return not isinstance(value, Html) and str(value).strip(f"+−–-0123456789., %e>{_FIXED}") == ""


def _list(items: Iterable[Any]) -> Html:
    return tag("ul", *(tag("li", item) for item in items))


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    number = "> 99" if 0.995 <= share < 1 else f"{100 * share:.0f}"
    return f"{number} %".replace(" ", _FIXED)


def _figure_number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _colour(cluster: dict[str, Any]) -> str:
    return f"--k:var(--c{cluster['colour']})" if cluster["colour"] >= 0 else "--k:var(--grey)"


def _named(cluster: dict[str, Any]) -> Html:
    return join([tag("span", class_="swatch", style=_colour(cluster)), cluster["name"]], "")


# The page, section by section


@cache
def _asset(name: str) -> str:
    return files("sidelight.report").joinpath(name).read_text(encoding="utf-8")


def _page(title: str, summary: dict[str, Any], drawn: Drawn | None, *, pictures: bool) -> str:
    sections = [
        _opening(title, summary),
        _clusters_section(summary, drawn),
        _statements_section(summary),
        _suspects_section(summary),
        _conflicts_section(summary),
        _truth_section(summary),
        _stability_section(summary),
        _origin_section(summary, pictures=pictures),
    ]
    palette = "".join(f"--c{k}:{colour};" for k, colour in enumerate(COLOURS))
    style = f":root{{{palette}}}\n{_asset('page.css')}"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    script = Html("")
    if drawn is not None:
        code = _asset("page.js")
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode("ascii")
        policy += f"; script-src 'sha256-{digest}'"
        script = join([drawn.data, Html(f"<script>{code}</script>")])
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{safe(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(title)}</title><style>{style}</style>"
    )
    body = tag("body", tag("main", join(part for part in sections if part)), script)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n{body}\n</html>\n'


def _opening(title: str, summary: dict[str, Any]) -> Html:
    kept = summary["kept"]
    facts = [
        (f"{summary['n_rows']:,}", "rows"),
        (f"{len(summary['columns']):,}", "columns") if summary["columns"] else None,
        (f"{summary['n_clusters']:,}", "clusters"),
        (f"{kept['n']:,}", "statements") if kept["n"] else None,
        (f"{kept['broken']:,}", "of them broken") if kept["n"] else None,
    ]
    shown = [tag("li", tag("b", number), what) for number, what in filter(None, facts)]
    done = f"{summary['model']} put {_count(summary['n_rows'], 'row')} into "
    done += _count(summary["n_clusters"], "cluster")
    said = f", with the help of {_count(kept['n'], 'statement')}" if kept["n"] else ", without help"
    others = [note for note in summary["notes"] if note != summary["quality"]]
    notes = Html("")
    if others:
        notes = tag("details", tag("summary", "Notes"), _list(others), open="")
    parts = [tag("h1", title), _quality(summary), tag("p", f"{done}{said}.", class_="lead")]
    return tag("header", *parts, tag("ul", *shown, class_="facts"), notes)


def _quality(summary: dict[str, Any]) -> Html:
    """How good it is, first of all, and what the figure means."""
    found = summary["held_out"]
    if found is None:
        return tag("p", summary["quality"], class_="panel") if summary["quality"] else Html("")
    error = found["standard_error"]
    give = "" if error is None else f" (± {100 * error:.0f} points)"
    if error is not None and error < 0.005:  # all right, or all wrong: no error shows, yet there is
        low, high = _interval(found["share_right"], found["n_statements"])
        give = f" (95 % interval: {100 * low:.0f} to {100 * high:.0f} %)"
    told = f"of {_count(found['n_statements'], 'statement')} that were held back were right{give}. "
    told += f"By chance it would be {_percent(found['chance'])}."
    if found["ceiling"] is not None:
        told += f" The annotators themselves are right in about {_percent(found['ceiling'])}."
    meaning = (
        f"The model was fitted {found['n_folds']} times, each time without a part of the "
        "statements, and the clusters were judged by that part. So the figure says how well the "
        "clusters fit what people know about rows without statements in the fit. A wrong statement "
        "counts against the clusters too. By chance: the share for clusters of the same sizes "
        "whose rows are drawn at random."
    )
    return tag(
        "section",
        tag("b", _percent(found["share_right"])),
        tag("p", told),
        tag("p", meaning, class_="small"),
        class_="panel quality",
    )


# Names and meanings of the optional columns of the table of clusters.
_OPTIONAL = (
    ("confidence", "confidence"),
    ("membership", "membership"),
    ("stability", "stability"),
)
_MEANING = {
    "confidence": "Confidence: how often the name of the cluster is right, judged by statements "
    "that were held back; the mean over its rows.",
    "membership": "Membership: the model's own probability of the cluster. It says how clearly the "
    "model tells clusters apart, not how often their names are right.",
    "stability": "Stability: how much of the cluster is found again with other seeds.",
}


def _clusters_section(summary: dict[str, Any], drawn: Drawn | None) -> Html:
    # The largest ones, in their own order: a page with thousands of clusters is too long to read.
    by_size = sorted(summary["clusters"], key=lambda cluster: -cluster["size"])[:_MAX_CLUSTERS]
    clusters = sorted(by_size, key=lambda cluster: cluster["number"])
    n_hidden = summary["n_clusters"] - len(clusters)
    optional = [
        (key, name)
        for key, name in _OPTIONAL
        if any(cluster[key] is not None for cluster in clusters)
    ]
    notes = [_MEANING[key] for key, _ in optional]
    n_grey = sum(cluster["colour"] < 0 for cluster in summary["clusters"])
    if n_grey:
        notes.append(
            f"The {len(COLOURS)} largest clusters have colours of their own; the other {n_grey:,} "
            "are grey."
        )
    if n_hidden:
        notes.append(f"And {n_hidden:,} smaller ones.")
    table = tag("div", _legend(clusters, optional), class_="tall")
    shown = table if drawn is None else _map(summary, drawn, table)
    parts = [tag("h2", "The clusters"), shown, *(tag("p", n, class_="small") for n in notes)]
    parts += _apart(summary, clusters)
    return join(parts)


def _legend(clusters: list[dict[str, Any]], optional: list[tuple[str, str]]) -> Html:
    # Columns without room on a phone, or beside the map, are marked; the cards have them.
    how = {key: "n extra" if key in ("membership", "stability") else "n" for key, _ in optional}
    head = [tag("th", "cluster"), tag("th", "rows", class_="n"), tag("th", "share", class_="n")]
    head += [tag("th", name, class_=how[key]) for key, name in optional]
    rows = [
        tag(
            "tr",
            tag("td", _named(cluster)),
            tag("td", f"{cluster['size']:,}", class_="n"),
            tag("td", _percent(cluster["share"]), class_="n"),
            *(tag("td", _percent(cluster[key]), class_=how[key]) for key, _ in optional),
            data_k=str(cluster["number"]),
        )
        for cluster in clusters
    ]
    return tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="legend")


def _map(summary: dict[str, Any], drawn: Drawn, legend: Html) -> Html:
    controls = []
    if drawn.people or drawn.n_unnamed:
        options = [tag("option", "none", value="")]
        if drawn.n_doubtful:
            told = f"all, the {drawn.n_doubtful:,} doubtful ones"
            options.append(tag("option", told, value="doubt"))
        options += [tag("option", name, value=f"@{name}") for name in drawn.people]
        if drawn.n_unnamed:
            options.append(tag("option", "people without a name", value="?"))
        controls.append(tag("label", "Statements of ", tag("select", *options)))
    if summary["before"] is not None:
        for value, text in (("now", "with statements"), ("before", "without")):
            checked = ' checked=""' if value == "now" else ""
            radio = Html(f'<input type="radio" name="when" value="{value}"{checked}>')
            controls.append(tag("label", radio, f" {text}"))
    caption = "Point at a row to see its name and the statements about it"
    if drawn.people or drawn.n_unnamed:
        caption += ": lines go to rows that belong together, dashed ones to rows that do not, "
        caption += "rings are labels, red is doubtful"
    if drawn.n_shown < summary["n_rows"]:
        caption += f"; {drawn.n_shown:,} of {summary['n_rows']:,} rows are drawn"
    figure = tag(
        "figure",
        tag("div", *controls, class_="controls", hidden="") if controls else "",
        drawn.svg,
        tag("figcaption", f"{caption}.", _moved(summary)),
    )
    return tag("div", figure, legend, class_="map")


def _moved(summary: dict[str, Any]) -> str:
    before = summary["before"]
    if before is None:
        return ""
    share = before["n_moved"] / max(summary["n_rows"], 1)
    return (
        f" The statements moved {_count(before['n_moved'], 'row')} ({_percent(share)}) to another "
        f"cluster; without them the model finds {_count(before['n_clusters'], 'cluster')}."
    )


def _apart(summary: dict[str, Any], clusters: list[dict[str, Any]]) -> list[Html]:
    """The differences between clusters: a card for each, and a table of all."""
    of_genes = any(cluster["markers"] for cluster in clusters)
    of_columns = bool(summary["columns"]) and summary["n_clusters"] > 1 and not of_genes
    of_texts = any(text["words"] or text["sentences"] for c in clusters for text in c["texts"])
    if not (of_genes or of_columns or of_texts):
        return []
    notes = []
    if of_genes:
        notes.append(
            "Genes that are higher in the cluster than in all other cells, by a rank test: the "
            "shares of cells that have them, inside and outside."
        )
    if of_columns:
        notes.append(
            "The mean inside beside the mean of all other rows, where they differ most; bars are "
            "in standard deviations of the column."
        )
    if of_texts:
        notes.append("Words that are more common here than elsewhere, and typical texts.")
    reach = max((abs(e["difference"]) for c in clusters for e in c["profile"][:4]), default=1.0)
    cards = [_card(cluster, reach, of_columns=of_columns) for cluster in clusters]
    parts = [tag("h2", "What sets them apart"), tag("p", " ".join(notes), class_="small")]
    parts.append(tag("div", *cards, class_="cards"))
    if of_columns:
        parts.append(_heat_of_profiles(clusters))
    return parts


def _card(cluster: dict[str, Any], reach: float, *, of_columns: bool) -> Html:
    told = f"{_count(cluster['size'], 'row')}, {_percent(cluster['share'])}"
    for key, name in _OPTIONAL:
        if cluster[key] is not None:
            told += f" · {name} {_percent(cluster[key])}"
    parts: list[Any] = [tag("h3", cluster["name"]), tag("p", told)]
    if cluster["markers"]:
        genes = [
            join(
                [
                    tag("b", gene["feature"]),
                    f" {_percent(gene['inside'])} inside, {_percent(gene['outside'])} outside",
                ],
                "",
            )
            for gene in cluster["markers"]
        ]
        parts.append(_list(genes))
    if of_columns:
        # Less than a fifth of a standard deviation is called no effect.
        entries = [e for e in cluster["profile"][:4] if abs(e["difference"]) >= 0.2]
        parts.append(tag("ul", *(_lean(entry, reach) for entry in entries)))
        if not entries:
            parts.append(tag("p", "Nothing much."))
    for text in cluster["texts"]:
        if text["words"]:
            parts.append(tag("p", tag("b", ", ".join(text["words"]))))
        parts += [tag("blockquote", sentence) for sentence in text["sentences"]]
    return tag("article", *parts, class_="card", style=_colour(cluster))


def _lean(entry: dict[str, Any], reach: float) -> Html:
    """A column with a bar to the right or to the left of the middle."""
    difference = entry["difference"]
    half = 50 * min(abs(difference) / max(reach, 1e-9), 1)
    start, side = (50.0, "var(--up)") if difference > 0 else (50 - half, "var(--down)")
    bar = tag("i", style=f"--x:{start:.0f}%;--w:{half:.0f}%;--side:{side}")
    means = f"{_figure_number(entry['mean'])}, others {_figure_number(entry['others'])}"
    small = tag("small", f"{means} ({difference:+.1f} sd)")
    return tag(
        "li", tag("span", entry["column"]), tag("span", bar, class_="lean"), small, class_="profile"
    )


def _heat_of_profiles(clusters: list[dict[str, Any]]) -> Html:
    """Columns by clusters: differences in standard deviations, for the columns that differ most."""
    largest = sorted(clusters, key=lambda cluster: -cluster["size"])[:_HEAT_CLUSTERS]
    shown = sorted(largest, key=lambda cluster: cluster["number"])
    of = [{entry["column"]: entry["difference"] for entry in c["profile"]} for c in shown]
    most = {column: max(abs(cluster[column]) for cluster in of) for column in of[0]}
    columns = sorted(most, key=lambda column: -most[column])[:_HEAT_COLUMNS]
    reach = max([most[column] for column in columns], default=1.0) or 1.0

    def cell(value: float) -> Html:
        side = "var(--up)" if value > 0 else "var(--down)"
        style = f"--v:{abs(value) / reach:.2f};--side:{side}"
        return tag("td", f"{round(value, 1) + 0.0:+.1f}", style=style)

    head = tag("tr", tag("th", ""), *(tag("th", _named(cluster)) for cluster in shown))
    body = [tag("tr", tag("th", c), *(cell(cluster[c]) for cluster in of)) for c in columns]
    title = "All clusters side by side"
    if len(clusters) > len(shown):
        title += f", for the {len(shown)} largest clusters"
    note = "Differences of means in standard deviations of the column."
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="heat")
    return tag("div", tag("h3", title), tag("p", note, class_="small"), table, class_="wide")


def _statements_section(summary: dict[str, Any]) -> Html:
    side, kept = summary["side"], summary["kept"]
    title = tag("h2", "What people said")
    if not kept["n"]:
        return join([title, tag("p", "There are no statements about these rows.")])
    by_kind = [[row["kind"], row["n"], row["kept"], row["broken"]] for row in kept["by_kind"]]
    parts: list[Any] = [
        title,
        tag(
            "p",
            f"{_count(kept['n'], 'statement')} about {side['n_rows_in_statements']:,} of the "
            f"{side['n_rows']:,} rows. A statement is broken if the clusters contradict it.",
        ),
        _table(["kind", "statements", "kept", "broken"], by_kind, stack=False),
        *_people(kept["by_annotator"]),
    ]
    if side["disagreements"]:
        told = [
            [
                " and ".join(d["annotators"]),
                d["n_both"],
                d["n_differ"],
                "; ".join(d["examples"][:1]),
            ]
            for d in side["disagreements"]
        ]
        header = ["annotators", "both judged", "differ on", "for example"]
        parts += [tag("h3", "Where annotators disagree"), _table(header, told)]
    return join(parts)


def _people(people: list[dict[str, Any]]) -> list[Html]:
    """The number of statements of each annotator, and the share that the clusters keep."""
    if len(people) < 2 and people[0]["accuracy"] is None:
        return []
    with_accuracy = any(row["accuracy"] is not None for row in people)
    header = ["annotator", "statements", "broken", "kept, with a 95 % interval"]
    header += ["estimated accuracy"] if with_accuracy else []
    rows = []
    for row in sorted(people, key=lambda row: -row["n"])[:_MAX_CLUSTERS]:
        told = row["kept"] + row["broken"]
        share = row["kept"] / told if told else 0.0
        low, high = _interval(share, told)
        bar = tag("span", tag("i"), class_="bar", style=f"--w:{100 * share:.0f}%")
        words = f"{_percent(share)} ({100 * low:.0f} to {100 * high:.0f} %)" if told else "–"
        cells: list[Any] = [row["annotator"], row["n"], row["broken"], join([words, bar], "")]
        rows.append([*cells, _percent(row["accuracy"])] if with_accuracy else cells)
    more = len(people) - len(rows)
    found = [tag("h3", "By annotator"), _table(header, rows)]
    return [*found, tag("p", f"And {more:,} more.", class_="small")] if more else found


def _interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's interval of 95 %."""
    n, z2 = max(n, 1), 1.96**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = float(np.sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n)) / (1 + z2 / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _suspects_section(summary: dict[str, Any]) -> Html:
    if not summary["kept"]["n"]:
        return Html("")
    title = tag("h2", "Statements to look at again")
    suspects = summary["suspects"]
    if not suspects:
        return join([title, tag("p", "None: the clusters keep everything that was said.")])
    doubts = any(row["doubt"] is not None for row in suspects)
    rows = [
        [
            row["statement"],
            " and ".join(dict.fromkeys(row["clusters"])),
            tag("span", "broken" if row["broken"] else "kept, but doubtful", class_="doubt"),
            *([_percent(row["doubt"])] if doubts else []),
        ]
        for row in suspects
    ]
    header = ["statement", "the rows are in", "", *(["probably wrong"] if doubts else [])]
    note = (
        "Those that are most likely wrong come first. A broken statement may also be a hint that "
        "the clusters are wrong there."
    )
    return join([title, tag("p", note), _table(header, rows)])


def _conflicts_section(summary: dict[str, Any]) -> Html:
    conflicts = summary["side"]["conflicts"]
    if not conflicts["n_broken"]:
        return Html("")
    more = conflicts["n_broken"] - len(conflicts["chains"])
    items = [*conflicts["chains"], *([f"and {more:,} more"] if more else [])]
    note = "No clustering can keep all of these. Each line is the shortest chain that shows why."
    return join([tag("h2", "Where people contradict each other"), tag("p", note), _list(items)])


def _truth_section(summary: dict[str, Any]) -> Html:
    truth = summary["truth"]
    if truth is None:
        return Html("")
    names = {"nmi": "normalised mutual information", "ari": "adjusted Rand index",
             "pairwise_f": "pairwise F"}  # fmt: skip
    rows = [
        [names.get(name, name), *(f"{v:.3f}" if v is not None else "–" for v in pair)]
        for name, pair in (
            (name, (truth["all_rows"][name], truth["unannotated"][name]))
            for name in truth["all_rows"]
        )
    ]
    header = [
        "",
        f"all {truth['n_rows']:,} rows with a class",
        f"the {truth['n_unannotated']:,} rows without statements",
    ]
    title = tag("h2", "Against the given classes")
    return join([title, _table(header, rows, stack=False), _confusion(summary)])


def _confusion(summary: dict[str, Any]) -> Html:
    """Rows of each class in each cluster, darker for a larger share of the class."""
    truth, clusters = summary["truth"], summary["clusters"]
    if max(len(clusters), len(truth["classes"])) > _MAX_CLUSTERS:
        return Html("")
    head = tag("tr", tag("th", ""), *(tag("th", _named(cluster)) for cluster in clusters))
    body = [
        tag(
            "tr",
            tag("th", name),
            *(tag("td", f"{n:,}", style=f"--v:{n / max(sum(row), 1):.2f}") for n in row),
        )
        for name, row in zip(truth["classes"], truth["confusion"], strict=True)
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="heat")
    note = tag("p", "Rows of each given class in each cluster.", class_="small")
    # Few clusters fit on a phone too.
    return tag("div", note, table, class_="wide" if len(clusters) > 5 else "scroll")


def _stability_section(summary: dict[str, Any]) -> Html:
    stability = summary["stability"]
    if stability is None:
        return Html("")
    text = (
        f"With {stability['n_fits']} other seeds the adjusted Rand index with this answer is "
        f"{stability['mean']:.3f} on average and {stability['min']:.3f} at worst (1 is the same "
        "answer, 0 is chance)."
    )
    return join([tag("h2", "Stability over seeds"), tag("p", text)])


def _origin_section(summary: dict[str, Any], *, pictures: bool) -> Html:
    parameters = summary["parameters"] or {}
    versions = ", ".join(f"{name} {number}" for name, number in summary["versions"].items())
    parts = [
        tag("h2", "Where this comes from"),
        _history(summary["history"]) if pictures else "",
        tag(
            "p",
            f"{summary['model']} with ",
            tag("code", whole(", ".join(f"{key}={value!r}" for key, value in parameters.items()))),
            f"; objective {summary['objective']:.6g} after {len(summary['history']):,} iterations; "
            f"seed {summary['seed']}; {versions}.",
        ),
    ]
    if summary["command"]:
        parts += [tag("p", "To repeat it:"), tag("pre", whole(summary["command"]))]
    return join(parts)


def _history(history: list[float]) -> Html:
    """The objective after each iteration, as a line."""
    values = np.asarray(history, dtype=np.float64)
    if len(values) < 2 or not np.isfinite(values).all():
        return Html("")
    places = np.unique(np.linspace(0, len(values) - 1, 300).astype(int))
    low, high = values.min(), values.max()
    y = 10 + 80 * (high - values[places]) / ((high - low) or 1.0)
    x = 400 * places / (len(values) - 1)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    drawn = [
        Html(f'<polyline points="{line}"></polyline>'),
        tag("text", f"{values[0]:.6g}", x="0", y="104"),
        tag("text", f"{values[-1]:.6g}", x="400", y="104", text_anchor="end"),
    ]
    caption = "The objective after each iteration of the best run, from the first to the last."
    size = {"viewBox": "0 0 400 110", "class_": "history"}
    svg = tag("svg", *drawn, **size, role="img", aria_label=caption)
    return tag("figure", svg, tag("figcaption", caption), style="margin:0")
