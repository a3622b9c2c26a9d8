"""Progress of long work on standard error; silent unless switched on.

On a terminal it is a bar, once a stage of the work has taken a second; elsewhere a line a minute.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY_SECONDS = 1.0
_LINE_SECONDS = 60.0
_shown = False
_next_line = math.inf  # the time of the next line; all stages share it


def show_progress(shown: bool) -> None:
    """Switch progress on or off for this process; the command line switches it on."""
    global _shown, _next_line
    _shown, _next_line = shown, time.monotonic() + _LINE_SECONDS


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
    """One stage of work; yields a function that takes the share done, 0 to 1.

    ``poll`` is for work inside one blocking call: it is asked for the share done, on a terminal a few times a second.
    """
    if not _shown or sys.stderr is None:
        yield _ignore
        return
    with _as_bar(text, poll) if sys.stderr.isatty() else _as_lines(text, poll) as report:
        yield report


@contextmanager
def _as_bar(text: str, poll: Callable[[], float] | None) -> Iterator[Report]:
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


@contextmanager
def _as_lines(text: str, poll: Callable[[], float] | None) -> Iterator[Report]:
    begin, done = time.monotonic(), threading.Event()
    last: tuple[float | None, str] = (None, "")  # the share done, and what there is to say about it

    def watch() -> None:
        global _next_line
        while not done.wait(max(0.0, _next_line - time.monotonic())):
            if time.monotonic() < _next_line:  # another stage wrote the line
                continue
            _next_line = time.monotonic() + _LINE_SECONDS
            share, note = (poll(), "") if poll is not None else last
            _write_line(f"{text}{_in_words(share, note, time.monotonic() - begin)}")

    def report(share: float, note: str = "") -> None:
        nonlocal last
        last = share, note

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield report
    finally:
        done.set()
        watcher.join()


def _in_words(share: float | None, note: str, seconds: float) -> str:
    """Such as '  41%  loss 0.412  about 12 min left'; of work that tells no share, how long it has taken."""
    if not share:
        return f"{note}  {seconds / 60:.0f} min so far"
    left = seconds * (1 - min(share, 1.0)) / share / 60
    return f"  {share:.0%}{note}  {f'about {left:.0f} min' if left >= 1 else 'less than a minute'} left"


def _write_line(line: str) -> None:
    if sys.stderr is not None:
        visible = (c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)  # a file's name may hold anything
        sys.stderr.write("".join(visible) + "\n")
        sys.stderr.flush()


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
