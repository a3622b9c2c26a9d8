"""Work on a cluster by Ray Data: workers that open what they need once, and then do one piece of work after the other.

Not to be confused with ``distributed``, the processes of torchrun that compute together and wait for each other: these
know nothing of each other, and another one does the work of one that dies.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nbfnet.errors import MissingExtraError, NbfnetError, TeamError

Work = Callable[[Any], Any]
_RESTARTS = 20  # of a worker that dies
_RETRIES = 5  # of a piece of work whose worker died: it may be what kills it
_LONGEST_FOLDER = 40  # characters of the folder for Ray's sockets, whose names must stay below 108
_QUIET = {
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # of its compiled part, which writes to standard error by itself
    "RAY_DEDUP_LOGS": "1",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # nothing is shown, such as: that a worker died, and is started again
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or Ray warns that it will be so in the future
}
# Who knows it may use a cluster that this process starts. Without it Ray would write one to the user's home folder.
_SECRET = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@dataclass(frozen=True)
class RayWorkers:
    """Where work is done: on a cluster that runs already, or on one of this machine alone that ends with the work."""

    count: int | None = None  # None: as many as the cluster has cores for
    threads: int = 1  # of each worker
    address: str | None = None  # of a running cluster: 'auto' or 'host:port'; None: RAY_ADDRESS, or this machine

    def map(self, open_work: Callable[[], Work], items: Sequence[Any]) -> Iterator[Any]:
        """The result of each item, in the order in which they are done.

        Args:
            open_work: is called once in each worker, and gives the function that does the work. It is sent to the
                workers: paths in it must lead to the same files there.
            items: pieces of work. One is done again if its worker dies, so doing it twice must do no harm.

        Raises:
            MissingExtraError: Ray is not installed.
            TeamError: the cluster cannot be reached, or its workers keep dying.
            NbfnetError: what a worker raised.
        """
        if not items:
            return
        with self._connected() as ray:
            rows = [{"item": pickle.dumps(item)} for item in items]
            dataset = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
                _Worker,
                fn_constructor_args=(pickle.dumps(open_work), self.threads),
                compute=ray.data.ActorPoolStrategy(size=min(self._count(ray), len(rows))),
                num_cpus=self.threads,
                max_restarts=_RESTARTS,
                max_task_retries=_RETRIES,
            )
            try:
                for row in dataset.iter_rows():
                    result = pickle.loads(row["result"])
                    if row["failed"]:
                        raise result
                    yield result
            except ray.exceptions.RayError as error:
                raise TeamError(f"the workers of Ray have stopped: {_last_line(error)}") from None

    def _count(self, ray: Any) -> int:
        return self.count or max(1, int(ray.cluster_resources().get("CPU", 1)) // self.threads)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        with ExitStack() as stack:
            stack.enter_context(_environment(_QUIET))
            options = self._of_this_machine(stack) if address == "local" else {}
            ray = import_ray()  # it reads the environment once
            stack.callback(ray.shutdown)
            try:
                _check_reachable(address)
                with _signals_kept(), warnings.catch_warnings(), _standard_error_closed():
                    warnings.simplefilter("ignore")
                    ray.init(address, logging_level=logging.CRITICAL, log_to_driver=False, **options)
            except (OSError, RuntimeError, ValueError, OverflowError, ray.exceptions.RayError) as error:
                remedy = (
                    "start one with 'ray start --head', give this process its token (RAY_AUTH_MODE=token), or leave "
                    "out --address and RAY_ADDRESS to use this machine"
                )
                raise TeamError(f"no Ray cluster can be used at {address!r} ({_last_line(error)}): {remedy}") from None
            yield ray

    def _of_this_machine(self, stack: ExitStack) -> dict[str, Any]:
        """How Ray is started here; what it and the workers write goes to a folder that is removed with it."""
        folder = stack.enter_context(_short_folder())
        # Workers end without tidying up, so their temporary files are there too.
        stack.enter_context(_environment({"TMPDIR": str(folder), **_SECRET}))
        cores = max(usable_cores(), (self.count or 1) * self.threads)
        return {"num_cpus": cores, "include_dashboard": False, "_temp_dir": str(folder)}


def usable_cores() -> int:
    """How many cores of this machine the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_ray() -> None:
    """Refuse to begin without Ray.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec("ray") is None:
        raise _missing()


def _missing() -> MissingExtraError:
    return MissingExtraError("the engine ray", "ray[data]", "distributed")


def import_ray() -> Any:
    """Ray, which says nothing of its own from now on.

    Raises:
        MissingExtraError: it is not installed, or not with what Ray Data needs.
    """
    try:
        with _environment(_QUIET), _signals_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray: Any = importlib.import_module("ray")
            importlib.import_module("ray.data")
            ray.data.DataContext.get_current().enable_progress_bars = False
    except ImportError:
        raise _missing() from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return ray


def _check_reachable(address: str) -> None:
    """Refuse a machine that does not answer: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


class _Worker:
    """Does one piece of work after the other; the first one opens what all of them need."""

    def __init__(self, open_work: bytes, threads: int) -> None:
        self._open_work, self._threads = open_work, threads
        self._work: Work | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Errors that a user can cause are results too: they arrive as they are, and no worker restarts for them."""
        try:
            if self._work is None:
                self._work = self._open()
            return {"failed": False, "result": pickle.dumps(self._work(pickle.loads(row["item"])))}
        except (NbfnetError, OSError, MemoryError) as error:
            return {"failed": True, "result": pickle.dumps(error)}

    def _open(self) -> Work:
        import torch  # not in the process that starts the workers, if it does without

        torch.set_num_threads(self._threads)
        open_work: Callable[[], Work] = pickle.loads(self._open_work)
        return open_work()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM."""
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _standard_error_closed() -> Iterator[None]:
    """The compiled part of Ray says there which log level it was told."""
    before = os.dup(2)
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _short_folder() -> Iterator[Path]:
    """A folder for temporary files, with a short name."""
    usual = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="nbfnet-ray-", dir=usual if len(usual) <= _LONGEST_FOLDER else "/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _last_line(error: Exception) -> str:
    """What an error comes to; those of Ray begin with where it was."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
