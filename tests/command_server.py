"""Starts commands in processes of their own without the seconds that imports take: each is forked from this one.

It reads one JSON object a line and answers each with one line: {"start": {...}} with the number of a new process,
{"poll": number} with its exit code, negative if a signal ended it, or null while it runs. It ends with its input.
"""

from __future__ import annotations

import json
import os
import resource
import runpy
import signal
import sys
import traceback
from typing import Any

import torch

from nbfnet.cli import main


def start(order: dict[str, Any]) -> int:
    """Fork a process that runs ``nbfnet`` with some arguments, or another script with them."""
    number = os.fork()
    if number == 0:
        os._exit(run(order))
    return number


def run(order: dict[str, Any]) -> int:
    """What the new process does; returns its exit code."""
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    if order["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest_file"], order["largest_file"]))
    sys.argv = [order["script"] or "nbfnet", *order["arguments"]]
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # The last of these files says that it has begun.
        for stream, path in enumerate((os.devnull, order["out"], order["err"])):
            opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC if stream else os.O_RDONLY)
            os.dup2(opened, stream)
            os.close(opened)
        runpy.run_path(order["script"], run_name="__main__") if order["script"] else main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def poll(number: int) -> int | None:
    """The exit code of a process, or None."""
    ended, status = os.waitpid(number, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def serve() -> None:
    """Until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # PyTorch imports a good deal more when an optimizer takes its first step.
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1)
    torch.optim.Adam([parameter]).step()
    for line in iter(sys.stdin.readline, ""):
        ((verb, order),) = json.loads(line).items()
        sys.stdout.write(f"{json.dumps(start(order) if verb == 'start' else poll(order))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
