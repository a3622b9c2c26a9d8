"""Progress of long work, shown on standard error once it has taken a second; silent unless switched on."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY_SECONDS = 1.0
_shown = False


def show_progress(shown: bool) -> None:
    """Switch progress bars on or off for this process; the command line switches them on."""
    global _shown
    _shown = shown


@contextmanager
def progress_shown(shown: bool) -> Iterator[None]:
    """Switch progress bars on or off within a block."""
    before = _shown
    show_progress(shown)
    try:
        yield
    finally:
        show_progress(before)


def leads() -> bool:
    """Whether this process talks to the user: alone, or the first of those that ``torchrun`` started."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


class Report(Protocol):
    """Takes the share done, 0 to 1, and what there is to say about it."""

    def __call__(self, share: float, note: str = "") -> None:
        """Show it."""


def _ignore(share: float, note: str = "") -> None:
    pass


@contextmanager
def stage(text: str, *, poll: Callable[[], float] | None = None) -> Iterator[Report]:
    """A bar for one stage of work; yields a function that takes the share done, 0 to 1.

    ``poll`` is for work inside one blocking call: it is asked for the share done a few times a second.
    """
    if not (_shown and sys.stderr is not None and sys.stderr.isatty()):
        yield _ignore
        return
    bar = _bar()
    task = bar.add_task(text, total=None if poll is None else 1.0)  # without a total the bar only shows that it goes on
    done = threading.Event()

    def watch() -> None:
        if done.wait(_DELAY_SECONDS):
            return
        with bar:
            while not done.wait(0.2):
                if poll is not None:
                    bar.update(task, completed=poll())

    def report(share: float, note: str = "") -> None:
        bar.update(task, completed=share, total=1.0, description=f"{text}{note}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield report
    finally:
        done.set()
        watcher.join()


def _bar() -> Progress:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=10),  # so that all of it, the time left above all, fits into 80 columns
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
    )
    return progress.Progress(*columns, console=Console(stderr=True), transient=True)
