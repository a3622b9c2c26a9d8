"""Progress of long work on standard error; silent unless switched on.

Once a stage of the work has taken a second, it is a bar on a terminal, and a line that changes in a notebook. Elsewhere
it is one line per minute.
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
    shown = _as_bar if sys.stderr.isatty() else _in_notebook if _is_notebook() else _as_lines
    with shown(text, poll) as report:
        yield report


@contextmanager
def _as_bar(text: str, poll: Callable[[], float] | None) -> Iterator[Report]:
    bar = _bar()
    task = bar.add_task(text, total=None if poll is None else 1.0)  # without a total the bar only shows that it runs

    def watch(done: threading.Event) -> None:
        if done.wait(_DELAY_SECONDS):
            return
        with bar:
            while not done.wait(0.2):
                if poll is not None:
                    bar.update(task, completed=poll())

    with _watched(watch):
        yield lambda share, note="": bar.update(task, completed=share, total=1.0, description=f"{text}{note}")


@contextmanager
def _in_notebook(text: str, poll: Callable[[], float] | None) -> Iterator[Report]:
    state = _State(text, poll)

    def watch(done: threading.Event) -> None:
        width, wait = 0, _DELAY_SECONDS
        while not done.wait(wait):
            line = _visible(state.line())
            sys.stderr.write(f"\r{line:<{width}}")
            sys.stderr.flush()
            width, wait = max(width, len(line)), 0.5
        if width:
            sys.stderr.write(f"\r{'':<{width}}\r")

    with _watched(watch):
        yield state


@contextmanager
def _as_lines(text: str, poll: Callable[[], float] | None) -> Iterator[Report]:
    state = _State(text, poll)

    def watch(done: threading.Event) -> None:
        global _next_line
        while not done.wait(max(0.0, _next_line - time.monotonic())):
            if time.monotonic() < _next_line:  # another stage wrote the line
                continue
            _next_line = time.monotonic() + _LINE_SECONDS
            write_line(state.line())

    with _watched(watch):
        yield state


@contextmanager
def _watched(watch: Callable[[threading.Event], None]) -> Iterator[None]:
    """Show the work of a block from a thread of its own, which is told when it is done."""
    done = threading.Event()
    watcher = threading.Thread(target=watch, args=(done,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


class _State:
    """How far a stage is, in one line; it takes reports."""

    def __init__(self, text: str, poll: Callable[[], float] | None) -> None:
        self.text, self.poll, self.begin = text, poll, time.monotonic()
        self.last: tuple[float | None, str] = (None, "")  # the share done, and what there is to say about it
        self.before: float | None = None  # the share that was done when the stage began, such as by an epoch before

    def __call__(self, share: float, note: str = "") -> None:
        if self.before is None:
            self.begin, self.before = time.monotonic(), share
        self.last = share, note

    def line(self) -> str:
        share, note = (self.poll(), "") if self.poll is not None else self.last
        return f"{self.text}{_in_words(share, note, time.monotonic() - self.begin, self.before or 0.0)}"


def _is_notebook() -> bool:
    return type(sys.stderr).__module__.startswith("ipykernel")


def _in_words(share: float | None, note: str, seconds: float, before: float) -> str:
    """Such as '  41%  loss 0.412  about 12 min left'; of work that tells no share, how long it has taken.

    ``before`` is the share that was done when the seconds began.
    """
    if not share or share <= before:
        return f"{f'  {share:.0%}' if share else ''}{note}  {seconds / 60:.0f} min so far"
    left = seconds * (1 - min(share, 1.0)) / (share - before) / 60
    return f"  {share:.0%}{note}  {f'about {left:.0f} min' if left >= 1 else 'less than a minute'} left"


def write_line(line: str) -> None:
    """A line on standard error, with nothing in it that a terminal would obey."""
    if sys.stderr is not None:
        sys.stderr.write(_visible(line) + "\n")
        sys.stderr.flush()


def _visible(line: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)  # a file's name may hold anything


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
