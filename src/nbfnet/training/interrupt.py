"""Interrupts: SIGTERM counts as Ctrl-C does, wherever it falls, and blocks that neither of them splits."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM, as schedulers send it before they kill: what is done is saved, as after Ctrl-C."""


def raise_terminated(number: int, frame: FrameType | None) -> None:
    """The handler of SIGTERM."""
    raise Terminated


@dataclass
class Interrupts:
    """Whether Ctrl-C or SIGTERM has come, whatever became of the exception that it raised."""

    asked: type[KeyboardInterrupt] | None = None

    def raise_asked(self) -> None:
        """Raise an interrupt that has come and was lost: what was computed meanwhile may be wrong."""
        if self.asked is not None:
            raise self.asked


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Ctrl-C and SIGTERM inside the block end it by the KeyboardInterrupt of their handlers, wherever they fall.

    Compiled code may make another error of that exception, as NumPy makes a TypeError, and Python drops it where an
    object is being deleted. So it is recorded: any error that leaves the block after it counts as the interrupt, and
    one that was dropped is raised again.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}  # not who ignores a signal
    report_lost = sys.unraisablehook
    again: list[threading.Timer] = []

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            before[signal.Signals(number)](number, frame)
        except KeyboardInterrupt as raised:
            interrupts.asked = type(raised)
            raise

    def raise_again(lost: sys.UnraisableHookArgs) -> None:
        if interrupts.asked is None or not issubclass(lost.exc_type, KeyboardInterrupt):
            report_lost(lost)
            return
        number = signal.SIGTERM if issubclass(lost.exc_type, Terminated) else signal.SIGINT
        again.append(threading.Timer(0.05, _thread.interrupt_main, (number,)))  # nothing can be raised in here
        again[-1].start()

    try:
        for number in before:
            signal.signal(number, handle)
        sys.unraisablehook = raise_again
        yield interrupts
    except (Exception, SystemExit) as error:
        succeeded = isinstance(error, SystemExit) and not error.code
        if interrupts.asked is None or succeeded:
            raise
        raise interrupts.asked from error
    finally:
        for timer in again:
            timer.cancel()
        sys.unraisablehook = report_lost
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM inside the block are raised when it ends; only the main thread ever gets one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])  # to whoever handles it outside of the block, if anyone does
