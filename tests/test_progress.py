"""Progress bars: on a terminal, after a while, and nowhere else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from nbfnet import progress

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses a terminal as Unix has them")

Watch = Callable[[Callable[[], object]], str]


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0.05)
    progress.show_progress(True)
    yield
    progress.show_progress(False)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Do some work while standard error is a terminal; gives what that has shown, and a last word."""
    import pty

    def watch(work: Callable[[], object]) -> str:
        terminal, end = pty.openpty()
        with os.fdopen(end, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            work()
            stream.write("the end")
            stream.flush()
            shown = b""
            while not shown.endswith(b"the end"):  # a terminal hands over what it has, not all that was written
                shown += os.read(terminal, 65536)
        os.close(terminal)
        return shown.decode()

    return watch


def test_a_bar_of_polled_work(watch):
    def work():
        with progress.stage("reading [/bold] :smile:", poll=lambda: 0.42):
            time.sleep(0.8)

    shown = watch(work)
    assert "reading [/bold] :smile:" in shown
    assert "42%" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back


def test_a_bar_of_work_that_tells_its_share(watch):
    def work():
        with progress.stage("counting") as advance:
            advance(0.25)
            time.sleep(0.8)

    assert "25%" in watch(work)


def test_work_of_unknown_length_shows_no_share(watch):
    def work():
        with progress.stage("splitting"):
            time.sleep(0.8)

    shown = watch(work)
    assert "splitting" in shown
    assert "%" not in shown


def test_the_bar_goes_when_the_work_is_interrupted(watch):
    def work():
        with pytest.raises(KeyboardInterrupt), progress.stage("writing"):
            time.sleep(0.5)
            raise KeyboardInterrupt

    shown = watch(work)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


def test_short_work_shows_nothing(watch, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 60)

    def work():
        with progress.stage("looking"):
            pass

    assert watch(work) == "the end"


@pytest.mark.parametrize("closed", [False, True])
def test_nothing_where_there_is_no_terminal(capsys, monkeypatch, closed):
    if closed:
        monkeypatch.setattr(sys, "stderr", None)
    with progress.stage("reading") as advance:
        time.sleep(0.2)
        advance(0.5)
    assert capsys.readouterr() == ("", "")
