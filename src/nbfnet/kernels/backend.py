"""Which implementation serves an iteration: 'reference' (plain PyTorch, anywhere) or 'cpu' (one compiled call).

'auto' takes the kernel where there is one. Any other choice is an order: what cannot be obeyed is an error.
The environment variable NBFNET_BACKEND sets the choice a process starts with.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import torch

from nbfnet.errors import BackendError
from nbfnet.native import native_available

Choice = Literal["auto", "reference", "cpu"]
Backend = Literal["reference", "cpu"]

KERNEL_DTYPES = (torch.float32, torch.float64)
KERNEL_MESSAGES = ("transe", "distmult", "rotate")
KERNEL_AGGREGATES = ("sum", "mean", "max", "pna")

_choice: str = os.environ.get("NBFNET_BACKEND", "auto")
_warned = False


@contextmanager
def use_backend(choice: Choice) -> Iterator[None]:
    """Choose the backend within a ``with`` block.

    Raises:
        BackendError: there is no such backend.
    """
    global _choice
    _check_choice(choice)
    before, _choice = _choice, choice
    try:
        yield
    finally:
        _choice = before


def backend_for(device: torch.device, dtype: torch.dtype, message: str | None, aggregate: str | None) -> Backend:
    """The backend that serves operators of these registered names (None: a user's own) on such tensors.

    Raises:
        BackendError: the backend was chosen by name, and cannot.
    """
    _check_choice(_choice)
    if _choice == "reference":
        return "reference"
    obstacle = _obstacle(device, dtype, message, aggregate)
    if _choice == "cpu":
        if obstacle is not None:
            raise BackendError(f"the backend 'cpu' was chosen, but {obstacle}: choose 'auto' or 'reference'")
        return "cpu"
    if device.type == "cpu" and not native_available():
        _warn_once()
    return "reference" if obstacle else "cpu"


def _obstacle(device: torch.device, dtype: torch.dtype, message: str | None, aggregate: str | None) -> str | None:
    if not native_available():
        return "the compiled extension is not there (not built, or turned off by NBFNET_NATIVE=0)"
    if device.type != "cpu":
        return f"the tensors are on the device '{device}'"
    if dtype not in KERNEL_DTYPES:
        return f"it knows float32 and float64, not {str(dtype).removeprefix('torch.')}"
    if message not in KERNEL_MESSAGES:
        return f"it does not know the message {message or 'of your own'!r}"
    if aggregate not in KERNEL_AGGREGATES:
        return f"it does not know the aggregate {aggregate or 'of your own'!r}"
    return None


def _check_choice(choice: str) -> None:
    if choice not in get_args(Choice):
        known = ", ".join(repr(name) for name in get_args(Choice))
        raise BackendError(f"unknown backend {choice!r} (from use_backend or NBFNET_BACKEND): choose one of {known}")


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "nbfnet runs without its compiled extension: results are the same, but message passing on the "
            "CPU is about a hundred times slower. Install nbfnet with a C++ compiler at hand to build it.",
            stacklevel=2,
        )
