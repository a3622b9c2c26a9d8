"""Progress of long work, shown on standard error once it has taken a second; silent unless switched on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_DELAY_SECONDS = 1.0
_shown = False


def show_progress(shown: bool) -> None:
    """Switch progress bars on or off for this process; the command line switches them on."""
    global _shown
    _shown = shown


@contextmanager
def stage(text: str, *, poll: Callable[[], float] | None = None) -> Iterator[Callable[[float], None]]:
    """A bar for one stage of work; yields a function that takes the share done, 0 to 1.

    ``poll`` is for work inside one blocking call: it is asked for the share done a few times a second.
    """
    console = Console(stderr=True)
    if not (_shown and console.is_terminal):
        yield lambda share: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task(text, total=None if poll is None else 1.0)  # without a total the bar only shows that it goes on
    done = threading.Event()

    def watch() -> None:
        if done.wait(_DELAY_SECONDS):
            return
        with bar:
            while not done.wait(0.2):
                if poll is not None:
                    bar.update(task, completed=poll())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda share: bar.update(task, completed=share, total=1.0)
    finally:
        done.set()
        watcher.join()
