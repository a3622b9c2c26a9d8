"""WorkerPool: a bounded number of threads that compute, and a bounded number of requests that wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from nbfnet.serve.refusals import TooBusyError, TookTooLongError
from nbfnet.serve.settings import Limits

Result = TypeVar("Result")


class WorkerPool:
    """Computations beside the event loop, so that a slow one never holds up what needs no computation.

    Each worker computes with one thread: two questions at the same time are answered sooner than one after the other
    with two threads each.
    """

    def __init__(self, limits: Limits, workers: int) -> None:
        self._limits, self._most = limits, workers + limits.waiting
        self._threads = ThreadPoolExecutor(workers, "nbfnet-worker", initializer=lambda: torch.set_num_threads(1))
        self.in_flight = 0  # computed or waiting; only the event loop changes it

    async def run(self, compute: Callable[[], Result]) -> Result:
        """The result of a computation, in a worker.

        Raises:
            TooBusyError: too many requests wait already.
            TookTooLongError: the time is up. A computation that waits is cancelled; one that runs keeps its worker, and
                counts as in flight, until it has ended.
        """
        if self.in_flight >= self._most:
            raise TooBusyError(self._limits)
        self.in_flight += 1
        future = asyncio.wrap_future(self._threads.submit(compute))
        future.add_done_callback(self._ended)
        done, _ = await asyncio.wait([future], timeout=self._limits.seconds)
        if not done:
            future.cancel()
            raise TookTooLongError(self._limits)
        return future.result()

    def _ended(self, future: asyncio.Future[Result]) -> None:
        self.in_flight -= 1
        if not future.cancelled():
            future.exception()  # retrieved, also where nobody waits any more

    def close(self) -> None:
        """Take no more work; what runs may end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
