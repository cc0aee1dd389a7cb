"""Progress on stderr for steps longer than two seconds, and only in a terminal."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Timer
from typing import Any

# A shorter wait needs no message; in the first fit of an installation numba compiles for longer.
_PATIENCE = 2.0
COMPILING = "compiling, once per installation: this takes some seconds"


class Stages:
    """Bars for the steps of a command, shown from the third second on.

    It is also a callback as scikit-learn takes them (``model.set_callbacks(stages)``): the bar of a
    fit then follows the tasks that the model reports.

    Parameters
    ----------
    patience : float
        After how many seconds to show anything.
    console : rich console, optional
        Where to write; by default stderr, and nothing if that is not a terminal.
    """

    def __init__(self, *, patience: float = _PATIENCE, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True) if console is None else console
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._patience = patience
        self._visible = console.is_terminal
        self._task: Any = None

    def __enter__(self) -> "Stages":
        self._timer = Timer(self._patience, self._bars.start)
        self._timer.daemon = True
        self._listening = ExitStack()
        if self._visible:
            self._timer.start()
            self._listen()
        return self

    def _listen(self) -> None:
        """Show a message while kernels are compiled: a first fit takes seconds longer."""
        from sidelight._kernels.compiling import when_compiling

        self._listening.enter_context(when_compiling(lambda: self._bars.console.print(COMPILING)))

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        if self._visible:
            self._timer.cancel()
            self._timer.join()
        if self._bars.live.is_started:
            self._bars.stop()

    @contextmanager
    def stage(self, description: str) -> Iterator[None]:
        """One step, with a bar that moves to and fro unless a fit reports how far it is."""
        self._task = self._bars.add_task(description, total=None, count="")
        try:
            yield
        finally:
            self._bars.remove_task(self._task)
            self._task = None

    def count(self, done: int, total: int, what: str) -> None:
        """Show how many parts of the step are done; ``what`` is the last one."""
        self._bars.update(self._task, total=total, completed=done, count=what)

    # scikit-learn's protocol of callbacks

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A model begins its work, or a part of it."""
        if context.parent is None and context.max_subtasks:
            self._bars.update(self._task, total=context.max_subtasks)

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """A part is done; the parts of the whole move the bar, their parts are counted."""
        parent = context.parent
        if parent is None:
            return False
        if parent.parent is None:
            self._bars.update(self._task, advance=1)
        else:
            self._bars.update(self._task, count=f"{context.task_name} {context.task_id + 1:,}")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""
