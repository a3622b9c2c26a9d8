"""Log: one JSON line for each validation, in the run folder, and the learning curves that it draws."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from nbfnet.errors import MissingExtraError, RunFolderError
from nbfnet.graph.atomic import check_can_be_replaced, replacing
from nbfnet.regular_files import is_special
from nbfnet.strict_json import strict_json
from nbfnet.training.checkpoint import write_error

FILE = "log.jsonl"
Entry = dict[str, Any]  # of a validation: epoch, loss, valid metrics, seconds


class _Required(BaseModel):
    """What a line must have."""

    epoch: float
    loss: float | None  # null is what is not a number
    valid: dict[str, float | None]
    training_seconds: float
    validation_seconds: float


class Log:
    """Appends lines; what was written after the checkpoint that a training resumes from is cut off first."""

    def __init__(self, folder: Path, length: int) -> None:
        self._file = folder / FILE
        check_can_be_replaced(self._file)  # whoever gave the folder away must not decide what else is written
        with self._file.open("ab") as file:
            if file.tell() < length:
                what = f"it has {file.tell()} bytes, the checkpoint was written when it had {length}"
                raise RunFolderError(self._file, what, "restore it from a copy, or train again in another folder")
            file.truncate(length)

    def append(self, entry: Entry) -> int:
        """Write a line; returns the length of the log in bytes."""
        try:
            with self._file.open("ab") as file:
                file.write(strict_json(entry).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())  # before a checkpoint that counts these bytes
                return file.tell()
        except OSError as error:
            raise write_error(self._file, error) from None


def read_log(folder: Path) -> list[Entry]:
    """The lines of a log; one that was cut off while it was written is left out.

    Raises:
        RunFolderError: it is damaged.
    """
    file = folder / FILE
    if is_special(file):
        raise RunFolderError(file, "it is a pipe or a device", "restore it from a copy, or train again")
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [_read_line(file, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(file: Path, number: int, line: bytes) -> Entry:
    try:
        entry: Entry = json.loads(line)
        _Required.model_validate(entry, strict=True)
    except (ValueError, RecursionError):
        what = f"line {number} is not that of a validation"
        raise RunFolderError(file, what, "restore it from a copy, or train again in another folder") from None
    valid = {name: _number(value) for name, value in entry["valid"].items()}
    return entry | {"loss": _number(entry["loss"]), "valid": valid}


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def describe_entry(entry: Entry) -> str:
    """A validation in one line."""
    metrics = "  ".join(f"{name} {value:.4f}" for name, value in entry["valid"].items() if name != "mr")
    return f"epoch {entry['epoch']:.4g}  loss {entry['loss']:.4f}  {metrics}"


CURVES = "curves.png"


def require_matplotlib() -> None:
    """Say before hours of work that the picture cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("a picture of the learning curves", "matplotlib", "plot")


def curves_of(log: Sequence[Entry]) -> Any:
    """The loss and the metrics of every validation, as a matplotlib figure."""
    require_matplotlib()
    from matplotlib.figure import Figure

    class Curves(Figure):
        def _repr_png_(self) -> bytes:  # a notebook shows it without pyplot
            drawn = BytesIO()
            self.savefig(drawn, format="png")
            return drawn.getvalue()

    figure = Curves(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([entry["epoch"] for entry in log], [entry["loss"] for entry in log], marker="o", markersize=3)
    left.set(title="loss", xlabel="epoch")
    for name in ("mrr", "hits@1", "hits@10", "auroc", "ap"):
        points = [(entry["epoch"], entry["valid"][name]) for entry in log if name in entry["valid"]]
        if points:
            right.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
    right.set(title="validation", xlabel="epoch")
    if right.lines:
        right.legend()
    return figure


def draw_curves(folder: Path) -> Path:
    """Draw the learning curves of a run folder into it."""
    figure = curves_of(read_log(folder))
    with replacing(folder / CURVES) as partial:
        figure.savefig(partial, format="png", dpi=150)
    return folder / CURVES
