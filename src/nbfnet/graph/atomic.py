"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbfnet.errors import GraphFormatError


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path to write to, which becomes the target when the block ends, and vanishes when it fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A draft beside the wanted folder, moved into its place when everything in it is written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise GraphFormatError("this exists already", file=folder, remedy="remove it, or choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        draft.chmod(0o755)
        yield draft
        draft.replace(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
