"""Checksum: what a downloaded file must hash to before anyone reads it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CHUNK = 1 << 20


@dataclass(frozen=True)
class Checksum:
    """A digest, and how it is taken.

    The digest of a *text* file is that of its lines ended by a single line feed, however the file ends them:
    some hosts serve the very same lines with carriage returns.
    """

    algorithm: Literal["sha256", "md5"]
    digest: str  # in lower-case hexadecimal
    text: bool = False

    def of(self, file: Path) -> str:
        """The digest of a file, taken the same way."""
        # md5 serves where nothing better is published: it guards against damage, not against an attacker.
        running = hashlib.new(self.algorithm, usedforsecurity=False)
        held = b""  # a carriage return at the end of a chunk, whose line feed may open the next chunk
        with file.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                chunk = held + chunk
                held = b"\r" if self.text and chunk.endswith(b"\r") else b""
                chunk = chunk[: len(chunk) - len(held)]
                running.update(chunk.replace(b"\r\n", b"\n") if self.text else chunk)
        running.update(held)
        return running.hexdigest()
