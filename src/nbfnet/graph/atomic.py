"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def check_is_new(folder: Path) -> None:
    """Refuse a folder that holds something, and a file: nothing is ever overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise GraphFormatError("this exists already", file=folder, remedy="remove it, or choose another folder")


@contextmanager
def alone_in(folder: Path, *, wait: bool) -> Iterator[None]:
    """Keep other processes out that ask the same of a folder; the lock ends with its process, however that ends.

    Raises:
        BlockingIOError: another process is within, and this one does not wait.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A draft beside the wanted folder, moved into its place when everything in it is written.

    When the block fails nothing is left: neither the draft nor the folders above it that had to be made.
    """
    check_is_new(folder)
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_drafts_of_the_killed(folder)
        with (
            tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as outer,
            alone_in(Path(outer), wait=False),
        ):
            draft = Path(outer) / "draft"
            draft.mkdir()
            yield draft
            draft.replace(folder)
    except OSError as error:
        is_file = isinstance(error, FileExistsError)  # where a folder above it should be
        reason = f"{error.filename} is a file" if is_file else error.strerror or error
        remedy = "check its space and permissions, or choose another folder"
        raise GraphFormatError(f"cannot be written: {reason}", file=folder, remedy=remedy) from None
    finally:
        for parent in made:
            with suppress(OSError):  # it is not empty: the folder is there
                parent.rmdir()


def _remove_drafts_of_the_killed(folder: Path) -> None:
    """A draft that no process holds was left by one that was killed."""
    for left in folder.parent.glob(f".{glob.escape(folder.name)}-????????"):
        with suppress(OSError), alone_in(left, wait=False):
            if (left / "draft").is_dir():
                shutil.rmtree(left)
