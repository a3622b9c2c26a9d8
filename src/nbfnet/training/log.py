"""Log: one JSON line for each validation, in the run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbfnet.training.tensor_file import write_error

FILE = "log.jsonl"


class Log:
    """Appends lines; what was written after the state that a training goes on from is cut off first."""

    def __init__(self, folder: Path, length: int) -> None:
        self._file = folder / FILE
        with self._file.open("ab") as file:
            file.truncate(length)

    def append(self, entry: Mapping[str, Any]) -> int:
        """Write a line; returns the length of the log in bytes."""
        try:
            with self._file.open("ab") as file:
                file.write(json.dumps(entry).encode() + b"\n")
                return file.tell()
        except OSError as error:
            raise write_error(self._file, error) from None


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a log; one that was cut off while it was written is left out."""
    file = folder / FILE
    lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]
