"""Progress: a bar on a terminal after a while, elsewhere a line a minute."""

from __future__ import annotations

import io
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


def test_a_notebook_shows_one_line_that_changes(monkeypatch):
    class OutStream(io.StringIO):  # as the kernel of a notebook has it
        __module__ = "ipykernel.iostream"

    stream = OutStream()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.stage("count\x07ing") as advance:
        advance(0.25, "  loss 1")
        time.sleep(0.8)
        advance(0.5)
        time.sleep(0.6)
    first, second, *_, cleared, end = stream.getvalue().split("\r")[1:]
    assert first.startswith("count\\x07ing  25%  loss 1")
    assert second.strip().startswith("count\\x07ing")
    assert "50%" in stream.getvalue() and "\n" not in stream.getvalue()
    assert (cleared.strip(), end) == ("", "")


def test_short_work_shows_nothing(watch, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 60)

    def work():
        with progress.stage("looking"):
            pass

    assert watch(work) == "the end"


@pytest.mark.parametrize("closed", [False, True])
def test_nothing_in_the_first_minute_where_there_is_no_terminal(capsys, monkeypatch, closed):
    if closed:
        monkeypatch.setattr(sys, "stderr", None)
    with progress.stage("reading") as advance:
        time.sleep(0.2)
        advance(0.5)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def every_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute takes a tenth of a second."""
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.1)
    progress.show_progress(True)


@pytest.mark.usefixtures("every_moment")
def test_lines_where_there_is_no_terminal(capsys):
    with progress.stage("epoch 3/20") as advance:
        advance(0.4)
        advance(0.41, "  loss 0.412")
        time.sleep(0.35)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert 1 <= len(lines) <= 3
    assert set(lines) == {"epoch 3/20  41%  loss 0.412  less than a minute left"}


@pytest.mark.usefixtures("every_moment")
def test_a_line_of_polled_work_and_one_of_unknown_length(capsys):
    with progress.stage("reading a\x1b[2Jb", poll=lambda: 0.5):
        time.sleep(0.15)
    with progress.stage("splitting"):
        time.sleep(0.15)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reading a\\x1b[2Jb  50%  less than a minute left"
    assert lines[-1] == "splitting  0 min so far"


@pytest.mark.usefixtures("every_moment")
def test_short_stages_share_the_minute(capsys):
    begin = time.monotonic()
    for number in range(10):
        with progress.stage(f"stage {number}") as advance:
            advance(1.0)
            time.sleep(0.02)
    assert len(capsys.readouterr().err.splitlines()) <= 1 + (time.monotonic() - begin) / 0.1


@pytest.mark.parametrize(
    ("share", "seconds", "words"),
    [
        (0.41, 500, "  41%  about 12 min left"),
        (0.5, 90, "  50%  about 2 min left"),
        (0.99, 60, "  99%  less than a minute left"),
        (1.0, 60, "  100%  less than a minute left"),
        (0.0, 240, "  4 min so far"),
        (None, 61, "  1 min so far"),
    ],
)
def test_the_time_left_in_words(share, seconds, words):
    assert progress._in_words(share, "", seconds, 0.0) == words


def test_the_time_left_counts_from_what_was_done_before():
    assert progress._in_words(0.6, "", 600, 0.5) == "  60%  about 40 min left"
    assert progress._in_words(0.5, "", 60, 0.5) == "  50%  1 min so far"


@pytest.mark.usefixtures("every_moment")
def test_no_line_when_switched_off(capsys):
    progress.show_progress(False)
    with progress.stage("reading"):
        time.sleep(0.25)
    assert capsys.readouterr() == ("", "")
