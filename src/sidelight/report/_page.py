"""One HTML page that shows a result: no script, no request, every value escaped.

Small functions give pieces of HTML. A piece is made of texts by `_tag`, which escapes them; what is
HTML already is a `_Html`, and nothing else goes in unescaped.
"""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidelight._writing import refuse_existing, replacing
from sidelight.report._charts import plot_annotators, plot_confusion, plot_history, plot_profiles
from sidelight.report._figures import as_png, check_matplotlib, new_figure, plot_clusters, project
from sidelight.report._summary import Evidence, summarize
from sidelight.results import ClusterResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Tables and pictures of clusters stop here, with the largest ones.
_MAX_CLUSTERS = 50
# Nothing may be loaded and nothing may run, whatever the data says.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
  max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem;
  border-bottom: 1px solid #bbb; } h3 { font-size: 1rem; margin-bottom: .2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0;
  border-bottom: 1px solid #ddd; } td.n, th.n { text-align: right; white-space: nowrap; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
figcaption, .small { color: #555; font-size: .88rem; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; padding: 0; margin: 1rem 0; }
.facts li { list-style: none; } .facts b { display: block; font-size: 1.5rem; line-height: 1.2; }
code, pre { font-family: ui-monospace, monospace; font-size: .88rem; }
pre { background: #f4f4f4; padding: .6rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; }
li, p { overflow-wrap: anywhere; } td { overflow-wrap: break-word; } .long { min-width: 15rem; }
@media print { h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""


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
        What stands at the top.
    pictures : bool
        Whether to draw.
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
    if pictures:
        check_matplotlib()
    evidence = Evidence() if evidence is None else evidence
    summary = summarize(result, X, feature_names=feature_names, evidence=evidence, limit=limit)
    drawn: dict[str, _Html] = {}
    if pictures:
        if plane is None and X is not None:
            plane = project(X)
        drawn = _draw(result, summary, evidence, plane)
    page = _page(title, summary, drawn)
    with replacing(path, overwrite=overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return summary


class _Html(str):
    """A text that is HTML already."""


def _safe(content: Any) -> str:
    return content if isinstance(content, _Html) else escape(str(content))


def _tag(name: str, *content: Any, **attributes: str) -> _Html:
    told = "".join(f' {key.strip("_")}="{escape(value)}"' for key, value in attributes.items())
    return _Html(f"<{name}{told}>{''.join(map(_safe, content))}</{name}>")


def _join(parts: Iterable[Any], between: str = "\n") -> _Html:
    return _Html(between.join(map(_safe, parts)))


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> _Html:
    """A table; numbers stand to the right."""
    rows = [list(row) for row in rows]

    def column_class(k: int) -> dict[str, str]:
        if all(_is_figure(row[k]) for row in rows):
            return {"class_": "n"}
        # On a phone the table scrolls rather than squeeze sentences into one word per line.
        return {"class_": "long"} if any(len(str(row[k])) > 30 for row in rows) else {}

    classes = [column_class(k) for k in range(len(header))]
    head = _tag("tr", *(_tag("th", v, **how) for v, how in zip(header, classes, strict=True)))
    body = [
        _tag("tr", *(_tag("td", _told(v), **how) for v, how in zip(row, classes, strict=True)))
        for row in rows
    ]
    return _tag("div", _tag("table", head, *body), class_="wide")


def _told(value: Any) -> Any:
    return f"{value:,}" if isinstance(value, int) else value


def _is_figure(value: Any) -> bool:
    """Whether a cell is a number, in words too: 1,024 or 12 %, or a dash for none."""
    return str(value).strip("+−–-0123456789., %e>") == ""


def _list(items: Iterable[Any]) -> _Html:
    return _tag("ul", *(_tag("li", item) for item in items))


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def _figure_number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


# The pictures


def _draw(
    result: ClusterResult, summary: dict[str, Any], evidence: Evidence, plane: NDArray[Any] | None
) -> dict[str, _Html]:
    drawn = {}
    names = [cluster["name"] for cluster in summary["clusters"]]
    if plane is not None:
        ax = new_figure(size=(8.0, 6.5)).axes[0]
        broken = np.flatnonzero(result.violated)
        plot_clusters(plane, result.labels, side=result.side, broken=broken, names=names, ax=ax)
        drawn["clusters"] = _image(ax, "The rows in a plane, with clusters and statements.")
    if len(summary["history"]) > 1:
        ax = plot_history(summary["history"])
        drawn["history"] = _image(ax, "The objective after each iteration of the best run.")
    if summary["columns"] and summary["n_clusters"] > 1:
        caption = (
            "How far a cluster's mean lies from that of all other rows, in standard deviations of "
            "the column."
        )
        drawn["profiles"] = _image(plot_profiles(summary["clusters"][:20]), caption)
    people = sorted(summary["kept"]["by_annotator"], key=lambda row: -row["n"])[:30]
    if len(people) > 1:
        drawn["annotators"] = _image(_draw_people(people), _people_caption(people))
    if summary["truth"] is not None and summary["n_clusters"] <= _MAX_CLUSTERS:
        ax = plot_confusion(evidence.truth, result.labels, names=names)
        drawn["truth"] = _image(ax, "Rows of each given class in each cluster.")
    return drawn


def _draw_people(people: list[dict[str, Any]]) -> "Axes":
    kept = [row["kept"] for row in people]
    counts = [row["kept"] + row["broken"] for row in people]
    given = [np.nan if row["accuracy"] is None else row["accuracy"] for row in people]
    accuracy = None if np.isnan(given).all() else given
    return plot_annotators([row["annotator"] for row in people], kept, counts, accuracy=accuracy)


def _people_caption(people: list[dict[str, Any]]) -> str:
    text = "Share of each annotator's statements that the answer keeps, with a 95 % interval."
    if any(row["accuracy"] is not None for row in people):
        text += " Diamonds: the accuracy that the model estimates."
    return text


def _image(ax: "Axes", caption: str) -> _Html:
    figure = ax.figure
    data = base64.b64encode(as_png(figure)).decode("ascii")  # type: ignore[arg-type]
    image = _Html(f'<img alt="{escape(caption)}" src="data:image/png;base64,{data}">')
    return _tag("figure", image, _tag("figcaption", caption))


# The page, section by section


def _page(title: str, summary: dict[str, Any], drawn: dict[str, _Html]) -> str:
    sections = [
        _opening(title, summary),
        _clusters_section(summary, drawn),
        _statements_section(summary, drawn),
        _suspects_section(summary),
        _conflicts_section(summary),
        _truth_section(summary, drawn),
        _stability_section(summary),
        _origin_section(summary, drawn),
    ]
    head = _Html(
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    body = _tag("body", _tag("main", _join(section for section in sections if section)))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n{body}\n</html>\n'


def _opening(title: str, summary: dict[str, Any]) -> _Html:
    kept = summary["kept"]
    facts = [
        (f"{summary['n_rows']:,}", "rows"),
        (f"{len(summary['columns']):,}", "columns") if summary["columns"] else None,
        (f"{summary['n_clusters']:,}", "clusters"),
        (f"{kept['n']:,}", "statements"),
        (f"{kept['broken']:,}", "of them broken") if kept["n"] else None,
    ]
    shown = [_tag("li", _tag("b", number), what) for number, what in filter(None, facts)]
    done = f"{summary['model']} put {summary['n_rows']:,} rows into {summary['n_clusters']:,} "
    done += "clusters" if summary["n_clusters"] != 1 else "cluster"
    said = f", with the help of {kept['n']:,} statements" if kept["n"] else ", without any help"
    quality = summary["quality"]
    others = [note for note in summary["notes"] if note != quality]
    notes = _list(others) if others else ""
    judged = _tag("p", _tag("b", quality)) if quality else ""
    facts_list = _tag("ul", *shown, class_="facts")
    return _join([_tag("h1", title), judged, _tag("p", f"{done}{said}."), facts_list, notes])


# What the columns of the table of clusters are called, and what they mean.
_OPTIONAL = (
    ("confidence", "mean confidence"),
    ("membership", "mean membership"),
    ("stability", "stability over seeds"),
)
_MEANING = {
    "confidence": "Confidence: how often the name of the cluster is right, judged by statements "
    "that were held back.",
    "membership": "Membership: the model's own probability of the cluster. It says how clearly the "
    "model tells clusters apart, not how often their names are right.",
}


def _clusters_section(summary: dict[str, Any], drawn: dict[str, _Html]) -> _Html:
    # The largest ones, in their own order: a page with thousands is no page.
    by_size = sorted(summary["clusters"], key=lambda cluster: -cluster["size"])[:_MAX_CLUSTERS]
    clusters = sorted(by_size, key=lambda cluster: cluster["number"])
    n_hidden = summary["n_clusters"] - len(clusters)
    optional = [
        (key, name)
        for key, name in _OPTIONAL
        if any(cluster[key] is not None for cluster in clusters)
    ]
    header = ["cluster", "rows", "share", *(name for _, name in optional)]
    rows = [
        [
            cluster["name"],
            f"{cluster['size']:,}",
            _percent(cluster["share"]),
            *(_percent(cluster[key]) for key, _ in optional),
        ]
        for cluster in clusters
    ]
    parts: list[Any] = [_tag("h2", "The clusters"), drawn.get("clusters", ""), _table(header, rows)]
    parts += [_tag("p", _MEANING[key], class_="small") for key, _ in optional if key in _MEANING]
    if n_hidden:
        parts.append(_tag("p", f"And {n_hidden:,} smaller ones.", class_="small"))
    if summary["columns"] and summary["n_clusters"] > 1:
        note = "The mean inside against the mean of all other rows, where they differ most."
        told = [_join([_tag("b", c["name"]), ": ", _apart(c["profile"])], "") for c in clusters]
        parts += [_tag("h3", "What sets them apart"), _tag("p", note, class_="small"), _list(told)]
        parts.append(drawn.get("profiles", ""))
    parts += _texts(clusters)
    return _join(parts)


def _texts(clusters: list[dict[str, Any]]) -> list[_Html]:
    """Words and typical sentences of each cluster, where rows have texts."""
    told = [
        _join(
            [_tag("b", cluster["name"]), ": ", ", ".join(text["words"]), _list(text["sentences"])]
        )
        for cluster in clusters
        for text in cluster["texts"]
        if text["words"] or text["sentences"]
    ]
    if not told:
        return []
    note = "Words that are more common here than elsewhere, and texts nearest to the middle."
    return [_tag("h3", "What their texts say"), _tag("p", note, class_="small"), _list(told)]


def _apart(profile: list[dict[str, Any]]) -> str:
    """The three columns that differ most, in the data's own units."""
    told = [
        f"{entry['column']} {_figure_number(entry['mean'])} "
        f"against {_figure_number(entry['others'])} ({entry['difference']:+.1f} sd)"
        for entry in profile[:3]
        if abs(entry["difference"]) >= 0.2  # less is called no effect
    ]
    return "; ".join(told) or "nothing much"


def _statements_section(summary: dict[str, Any], drawn: dict[str, _Html]) -> _Html:
    side, kept = summary["side"], summary["kept"]
    title = _tag("h2", "What people said")
    if not kept["n"]:
        return _join([title, _tag("p", "Nobody said anything about these rows.")])
    by_kind = [[row["kind"], row["n"], row["kept"], row["broken"]] for row in kept["by_kind"]]
    parts: list[Any] = [
        title,
        _tag(
            "p",
            f"{kept['n']:,} statements about {side['n_rows_spoken_of']:,} of the "
            f"{side['n_rows']:,} rows. “Broken” are those that the clusters do not keep.",
        ),
        _table(["kind", "statements", "kept", "broken"], by_kind),
    ]
    people = kept["by_annotator"]
    if len(people) > 1 or people[0]["accuracy"] is not None:
        accuracy = any(row["accuracy"] is not None for row in people)
        header = ["annotator", "statements", "kept", "broken"]
        rows = [[row["annotator"], row["n"], row["kept"], row["broken"]] for row in people]
        if accuracy:
            header.append("estimated accuracy")
            rows = [[*row, _percent(p["accuracy"])] for row, p in zip(rows, people, strict=True)]
        parts += [_tag("h3", "By annotator"), _table(header, rows), drawn.get("annotators", "")]
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
        parts += [_tag("h3", "Where annotators disagree"), _table(header, told)]
    return _join(parts)


def _suspects_section(summary: dict[str, Any]) -> _Html:
    if not summary["kept"]["n"]:
        return _Html("")
    title = _tag("h2", "Statements to look at again")
    suspects = summary["suspects"]
    if not suspects:
        return _join([title, _tag("p", "None: the clusters keep everything that was said.")])
    doubts = any(row["doubt"] is not None for row in suspects)
    rows = [
        [
            row["statement"],
            " and ".join(dict.fromkeys(row["clusters"])),
            "broken" if row["broken"] else "kept, but doubtful",
            *([_percent(row["doubt"])] if doubts else []),
        ]
        for row in suspects
    ]
    header = ["statement", "the rows are in", "", *(["probably wrong"] if doubts else [])]
    note = (
        "Those that are most likely wrong come first. A broken statement may also be a hint that "
    )
    note += "the clusters are wrong there."
    return _join([title, _tag("p", note), _table(header, rows)])


def _conflicts_section(summary: dict[str, Any]) -> _Html:
    conflicts = summary["side"]["conflicts"]
    if not conflicts["n_broken"]:
        return _Html("")
    more = conflicts["n_broken"] - len(conflicts["chains"])
    items = [*conflicts["chains"], *([f"and {more:,} more"] if more else [])]
    note = "No clustering can keep all of these. Each is the shortest chain that shows it."
    return _join([_tag("h2", "Where people contradict each other"), _tag("p", note), _list(items)])


def _truth_section(summary: dict[str, Any], drawn: dict[str, _Html]) -> _Html:
    truth = summary["truth"]
    if truth is None:
        return _Html("")
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
        "score",
        f"all {truth['n_rows']:,} rows",
        f"the {truth['n_unannotated']:,} rows nobody spoke of",
    ]
    title = _tag("h2", "Against the given classes")
    return _join([title, _table(header, rows), drawn.get("truth", "")])


def _stability_section(summary: dict[str, Any]) -> _Html:
    stability = summary["stability"]
    if stability is None:
        return _Html("")
    text = (
        f"With {stability['n_fits']} other seeds the adjusted Rand index with this answer is "
        f"{stability['mean']:.3f} on average and {stability['min']:.3f} at worst (1 is the same "
        "answer, 0 is chance)."
    )
    return _join([_tag("h2", "Stability over seeds"), _tag("p", text)])


def _origin_section(summary: dict[str, Any], drawn: dict[str, _Html]) -> _Html:
    parameters = summary["parameters"] or {}
    versions = ", ".join(f"{name} {number}" for name, number in summary["versions"].items())
    parts = [
        _tag("h2", "Where this comes from"),
        drawn.get("history", ""),
        _tag(
            "p",
            f"{summary['model']} with ",
            _tag("code", ", ".join(f"{key}={value!r}" for key, value in parameters.items())),
            f"; objective {summary['objective']:.6g} after {len(summary['history']):,} iterations; "
            f"seed {summary['seed']}; {versions}.",
        ),
    ]
    if summary["command"]:
        parts += [_tag("p", "To repeat it:"), _tag("pre", summary["command"])]
    return _join(parts)
