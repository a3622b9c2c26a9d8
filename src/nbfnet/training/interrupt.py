"""Being stopped: SIGTERM is taken as Ctrl-C is, and a stretch of work that neither cuts in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM, as schedulers send it before they kill: what is done is saved, as after Ctrl-C."""


def raise_terminated(number: int, frame: FrameType | None) -> None:
    """The handler of SIGTERM."""
    raise Terminated


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
