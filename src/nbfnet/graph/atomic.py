"""Files and folders that appear whole or not at all, and locks that end with their process."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

from nbfnet.errors import WriteError

LOCK = ".lock"  # the file in a folder that is locked to have the folder alone
_WINDOWS = os.name == "nt"  # there a locked file cannot be opened again, nor an open one replaced
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # nor wait for whoever opens a pipe


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A file to write to, which becomes the target when the block ends, and vanishes when it fails.

    The file is new, with a name that nobody can foresee (``.NAME.nbfnet-RANDOM.part``). Its content is on the disk
    before it becomes the target, so that not even a power cut leaves half of it. What a killed process left of the same
    target is removed.

    Raises:
        WriteError: the target is a symbolic link, a device or a pipe.
    """
    check_can_be_replaced(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_stale_partials(target.parent, glob.escape(target.name))
    partial, handle = _new_partial(target)
    try:
        yield partial
        os.fsync(handle)
        if _WINDOWS:
            os.close(handle)
        partial.replace(target)
        flush_to_disk(target.parent)
    finally:
        partial.unlink(missing_ok=True)
        with suppress(OSError):
            os.close(handle)


def remove_stale_partials(folder: Path, targets: str) -> None:
    """Remove what killed processes left of the files that a pattern names."""
    for stale in folder.glob(f".{targets}.nbfnet-????????.part"):
        with suppress(OSError):  # a process holds it
            handle = open_alone(stale, create=False)
            stale.unlink()
            os.close(handle)


def check_can_be_replaced(target: Path) -> None:
    """Refuse what is not a plain file where one is to be written.

    A symbolic link is not followed, because in somebody else's folder it may point to any file of the user. It is not
    replaced either, because then the file that it points to would silently stay as it was.

    Raises:
        WriteError: says what it is.
    """
    try:
        mode = target.lstat().st_mode
    except OSError:
        return  # it does not exist; anything else is said when it is written
    if stat.S_ISLNK(mode):
        remedy = f"give the file that it points to, {os.path.realpath(target)}, or another one"
        raise WriteError("this is a symbolic link, which is not written to", file=target, remedy=remedy)
    if stat.S_ISDIR(mode):
        raise WriteError("this is a folder, not a file", file=target, remedy="give the name of a file")
    if not stat.S_ISREG(mode):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        remedy = "give the name of a file, and copy it from there"
        raise WriteError(f"this is {what}, not a file", file=target, remedy=remedy)


def open_alone(file: Path, *, create: bool = True, wait: bool = False) -> int:
    """Open a plain file to read and write that no other process has opened in this way.

    The lock ends with the handle, or with the process.

    Raises:
        BlockingIOError: another process has it, and this one does not wait.
        OSError: it is a symbolic link, or cannot be opened.
    """
    while True:
        handle = os.open(file, os.O_RDWR | (os.O_CREAT if create else 0) | _NO_LINK, 0o666)
        try:
            if not ((_WINDOWS and file.name != LOCK) or lock_descriptor(handle, blocking=wait)):
                raise BlockingIOError(f"{file} is locked")
            if _is_at(handle, file):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # it was removed or replaced before it was locked


def flush_to_disk(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, would survive a power cut."""
    with suppress(OSError):  # not every file system can do it for folders, and Windows cannot open them
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _new_partial(target: Path) -> tuple[Path, int]:
    """A new file beside the target, locked as long as its handle is open."""
    while True:
        partial = target.with_name(f".{target.name}.nbfnet-{secrets.token_hex(4)}.part")
        with suppress(FileExistsError):
            handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
            # Before it is locked, another process may take it for a stale one, and remove it.
            if _WINDOWS or (lock_descriptor(handle, blocking=False) and _is_at(handle, partial)):
                return partial, handle
            os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


def check_is_new(folder: Path) -> None:
    """Refuse a folder that holds something, and a file: nothing is ever overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WriteError("this exists already", file=folder, remedy="remove it, or choose another folder")


@contextmanager
def alone_in(folder: Path, *, wait: bool) -> Iterator[None]:
    """Keep other processes out that ask the same of a folder; the lock ends with its process, however that ends.

    Raises:
        BlockingIOError: another process is within, and this one does not wait.
    """
    handle = open_alone(folder / LOCK, wait=wait)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove an open file
            (folder / LOCK).unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A draft beside the wanted folder, moved into its place when everything in it is written.

    When the block fails nothing is left: neither the draft nor the folders above it that had to be made.

    Raises:
        WriteError: the folder exists already, or cannot be written.
    """
    check_is_new(folder)
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_drafts(folder)
        with _place_for_draft(folder) as outer:
            draft = outer / "draft"
            draft.mkdir()
            yield draft
            for entry in [*draft.rglob("*"), draft]:
                flush_to_disk(entry)
            draft.replace(folder)
        flush_to_disk(folder.parent)
    except OSError as error:
        is_file = isinstance(error, FileExistsError)  # where a folder above it should be
        reason = f"{error.filename} is a file" if is_file else error.strerror or error
        remedy = "check its space and permissions, or choose another folder"
        raise WriteError(f"cannot be written: {reason}", file=folder, remedy=remedy) from None
    finally:
        for parent in made:
            with suppress(OSError):  # it is not empty: the folder is there
                parent.rmdir()


@contextmanager
def _place_for_draft(folder: Path) -> Iterator[Path]:
    """A new folder beside the wanted one, locked until the block ends."""
    with ExitStack() as stack:
        while True:
            # Another process that takes it for a stale one may remove it at the same time.
            place = tempfile.TemporaryDirectory(
                prefix=f".{folder.name}-", dir=folder.parent, ignore_cleanup_errors=True
            )
            outer = Path(stack.enter_context(place))
            with suppress(FileNotFoundError, BlockingIOError):  # another process takes it for a stale one
                stack.enter_context(alone_in(outer, wait=False))
                break
        yield outer


def remove_stale_drafts(folder: Path) -> None:
    """A draft that no process holds, or the empty place for one, was left by one that was killed."""
    for left in folder.parent.glob(f".{glob.escape(folder.name)}-????????"):
        with suppress(OSError):
            if {entry.name for entry in left.iterdir()} <= {LOCK, "draft"}:
                with alone_in(left, wait=False):
                    shutil.rmtree(left, ignore_errors=True)  # it may vanish meanwhile: its owner removes it too
