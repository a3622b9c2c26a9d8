"""Log: one JSON line for each validation, in the run folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from nbfnet.errors import RunFolderError
from nbfnet.training.tensor_file import write_error

FILE = "log.jsonl"


class _Entry(BaseModel):
    """What a line must have."""

    epoch: float
    loss: float
    valid: dict[str, float]
    training_seconds: float
    validation_seconds: float


class Log:
    """Appends lines; what was written after the checkpoint that a training resumes from is cut off first."""

    def __init__(self, folder: Path, length: int) -> None:
        self._file = folder / FILE
        with self._file.open("ab") as file:
            if file.tell() < length:
                what = f"it has {file.tell()} bytes, the checkpoint was written when it had {length}"
                raise RunFolderError(self._file, what, "restore it from a copy, or train again in another folder")
            file.truncate(length)

    def append(self, entry: Mapping[str, Any]) -> int:
        """Write a line; returns the length of the log in bytes."""
        try:
            with self._file.open("ab") as file:
                file.write(json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())  # before a checkpoint that counts these bytes
                return file.tell()
        except OSError as error:
            raise write_error(self._file, error) from None


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a log; one that was cut off while it was written is left out.

    Raises:
        RunFolderError: it is damaged.
    """
    file = folder / FILE
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [_read_line(file, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(file: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
        _Entry.model_validate(entry)
        return entry
    except ValueError:
        what = f"line {number} is not that of a validation"
        raise RunFolderError(file, what, "restore it from a copy, or train again in another folder") from None
