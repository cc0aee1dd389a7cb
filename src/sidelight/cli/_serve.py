"""``sidelight serve``: from a table to the workbench's page."""

from pathlib import Path
from typing import Annotated

import typer

from sidelight._reading import refuse_missing
from sidelight.cli._options import (
    Columns,
    Decimal,
    Drop,
    Id,
    Imputed,
    Labels,
    OneHot,
    Scaled,
    Sep,
    Sheet,
    Side,
    Text,
    TextModel,
    reading,
)
from sidelight.exceptions import SidelightError


def serve(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="A table to work on; without it, existing projects."),
    ] = None,
    side: Side = None,
    labels: Labels = None,
    id: Id = None,
    columns: Columns = None,
    drop: Drop = None,
    one_hot: OneHot = None,
    text: Text = None,
    text_model: TextModel = "auto",
    impute: Imputed = None,
    scale: Scaled = None,
    sep: Sep = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    picture: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with pictures to show: paths below the folder of --data-root, or "
            "data:image/… (may be repeated).",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the project.")] = None,
    data_root: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder for projects and answers."),
    ] = Path("sidelight-data"),
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="postgresql://… for a team; by default a file in the folder."
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address to listen on; by default only this machine."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Host name that others use (may be repeated)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Processes that fit models.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler that runs the fits.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Work on the 178 wines of 'sidelight demo'.")
    ] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Open the workbench: questions, answers, clusters and exports in a browser.

    It prints a link that logs you in, and says who else can reach it. Every answer is
    saved. Stop with Ctrl-C, and run the command again to continue.
    """
    if demo and data is not None:
        raise SidelightError(f"--demo brings its own table; leave {data} out.")
    for path in [*([data] if data else []), *(side or [])]:
        refuse_missing(path, SidelightError)
    try:
        from sidelight.web import Settings
        from sidelight.web import serve as serve_workbench
    except ModuleNotFoundError as error:
        raise SidelightError(
            f"the workbench needs {error.name}: pip install 'sidelight[workbench]'."
        ) from None
    names = [host.strip("[]"), *(allow_host or [])]
    extra = tuple(f"[{known}]" if ":" in known else known.lower() for known in names)
    more = {} if workers is None else {"workers": workers}
    settings = Settings(data_root, store=store, dask=dask, hosts=(*Settings.hosts, *extra), **more)
    if demo:
        data, id, name = _wines(data_root), "wine", name or "wines"
    opened = None
    if open_page:
        import webbrowser

        opened = webbrowser.open
    how = {
        "columns": columns,
        "drop": [*(drop or []), *(picture or [])] or None,
        "images": picture or (),
        "one_hot": one_hot,
        "text": text,
        "text_model": text_model if text else None,
        "impute": impute,
        "scale": scale,
    }
    serve_workbench(
        settings,
        table=data,
        side=side or (),
        name=name,
        id=id,
        labels=labels,
        host=host,
        port=port,
        tell=typer.echo,
        opened=opened,
        reading=reading(sep, decimal, sheet),
        **{key: value for key, value in how.items() if value},
    )


def _wines(folder: Path) -> Path:
    """The demo's table as a file."""
    from sidelight.datasets import load

    wine = load("wine")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "wines.csv"
    lines = [",".join(["wine", *wine.feature_names])]
    lines += [",".join([f"w{k + 1}", *map(str, row)]) for k, row in enumerate(wine.X.tolist())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
