"""Downloads: they resume after an interruption, and are put in place only once their checksum is right."""

from __future__ import annotations

import http.client
import logging
import shutil
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nbfnet.errors import DatasetError
from nbfnet.graph.atomic import alone_in, flush_to_disk, replacing
from nbfnet.graph.datasets.linqs import convert_linqs
from nbfnet.graph.datasets.registry_entry import Checksum, RegistryEntry
from nbfnet.progress import stage


class PartialFile:
    """The bytes that have arrived so far, and the server's mark of the version they belong to."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.mark_path = target.with_name(target.name + ".part.version")

    def size(self) -> int:
        """How many bytes can be kept: none without a mark, which alone tells whether the file has changed."""
        is_file = self.path.is_file() and not self.path.is_symlink()  # a link would be written through
        return self.path.stat().st_size if is_file and self.mark() else 0

    def mark(self) -> str:
        """The entity tag or the date that the server gave for these bytes."""
        return self.mark_path.read_text(encoding="latin-1") if self.mark_path.exists() else ""

    def begin(self, mark: str) -> None:
        """Start over with no bytes, of the version with this mark."""
        self.discard()
        self.path.touch()
        if mark:
            self.mark_path.write_text(mark, encoding="latin-1")

    def discard(self) -> None:
        """Forget everything that has arrived."""
        self.path.unlink(missing_ok=True)
        self.mark_path.unlink(missing_ok=True)

    def move_into_place(self) -> None:
        """Become the target, once all bytes are on the disk."""
        flush_to_disk(self.path)
        self.path.replace(self.target)
        self.mark_path.unlink(missing_ok=True)


CHUNK = 1 << 18  # bytes
TIMEOUT = 30.0  # seconds without a byte before the connection counts as dropped
WAITS = [0.5, 2.0, 5.0]  # seconds before each new try; a try that brought bytes begins with the first again

Advance = Callable[[int, int | None], object]  # told the bytes that are there, and all there will be if known

_PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers of a server that is only busy


def download(url: str, target: Path, checksum: Checksum, *, largest: int = 1_000_000_000) -> None:
    """Fetch a file, verify it, and move it into place in one step.

    What has arrived so far is kept as ``target.part``: the next call resumes there, unless the file has
    changed on the server meanwhile. The target never exists half-written, whatever interrupts the download.

    Raises:
        DatasetError: the file cannot be fetched or written, has more than ``largest`` bytes, or the wrong checksum.
    """
    partial = PartialFile(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _shown(target) as advance:
            resumed = partial.size() > 0
            _fetch(url, partial, advance, largest)
            got = checksum.of(partial.path)
            if resumed and got != checksum.digest:
                partial.discard()  # what was there from before may be damaged: once more, from the first byte
                _fetch(url, partial, advance, largest)
                got = checksum.of(partial.path)
        if got != checksum.digest:
            partial.discard()
            what = f"it has the wrong {checksum.algorithm} checksum: expected {checksum.digest}, got {got}"
            remedy = "it has changed, or was damaged on its way; try again, or get it from elsewhere"
            raise DatasetError(what, file=url, remedy=remedy)
        partial.move_into_place()
    except OSError as error:
        remedy = "check the folder and its free space"
        raise DatasetError(f"cannot be written: {error}", file=target, remedy=remedy) from error


def _fetch(url: str, partial: PartialFile, advance: Advance, largest: int) -> None:
    """Bring the partial file to its full length, trying again while the connection drops."""
    failures = 0
    while True:
        before = partial.size()
        try:
            return _fetch_once(url, partial, advance, largest)
        except _NothingLeftError:
            return None
        except _DroppedError as dropped:
            failures = 1 if partial.size() > before else failures + 1
            if failures > len(WAITS):
                remedy = "check the connection and try again; what has arrived is kept and resumed"
                raise DatasetError(f"could not be fetched: {dropped}", file=url, remedy=remedy) from dropped
            time.sleep(WAITS[failures - 1])


class _DroppedError(Exception):
    """The connection failed in a way that another try may fix."""


class _NothingLeftError(Exception):
    """The server has no byte beyond those that are there: an earlier call was interrupted after the last."""


def _fetch_once(url: str, partial: PartialFile, advance: Advance, largest: int) -> None:
    """One request: the rest of the file where the server agrees, else the whole of it."""
    there = partial.size()
    headers = {"User-Agent": "nbfnet", "Accept-Encoding": "identity"}
    if there:
        headers |= {"Range": f"bytes={there}-", "If-Range": partial.mark()}
    with _open(urllib.request.Request(url, headers=headers)) as response:
        if response.status != 206:
            partial.begin(_version_mark(response))
            there = 0
        elif _first_byte(response) != there:
            partial.discard()
            raise _DroppedError("the server sent another part of the file than it was asked for")
        total = None if response.length is None else there + response.length
        _check_size(url, partial, total or 0, largest)
        _check_space(url, partial, total, there)
        with partial.path.open("ab") as file:
            advance(there, total)
            while chunk := _read(response):
                file.write(chunk)
                there += len(chunk)
                _check_size(url, partial, there, largest)
                advance(there, total)
    if total is not None and there < total:
        raise _DroppedError(f"the connection closed after {there:,} of {total:,} bytes")


@contextmanager
def _open(request: urllib.request.Request) -> Iterator[http.client.HTTPResponse]:
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            raise _NothingLeftError from error
        if error.code in _PASSING:
            raise _DroppedError(f"the server answered {error.code} {error.reason}") from error
        what = f"cannot be fetched: the server answered {error.code} {error.reason}"
        remedy = "the file may have moved; get it from elsewhere"
        raise DatasetError(what, file=request.full_url, remedy=remedy) from error
    except (OSError, http.client.HTTPException) as error:
        raise _DroppedError(str(error) or type(error).__name__) from error
    with response:
        yield response


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _DroppedError(str(error) or type(error).__name__) from error


def _first_byte(response: http.client.HTTPResponse) -> int:
    """Where a partial answer begins: 7 in ``Content-Range: bytes 7-99/100``; -1 when it does not say."""
    stated = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(stated) if stated.isdigit() else -1


def _version_mark(response: http.client.HTTPResponse) -> str:
    """What an ``If-Range`` header may hold: a strong entity tag, or else the date of the last change."""
    tag: str = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


def _check_size(url: str, partial: PartialFile, size: int, largest: int) -> None:
    """Refuse a file that grows without end, or is far larger than the published one, before it fills the disk."""
    if size > largest:
        partial.discard()
        what = f"it has more than {largest:,} bytes, so it is not the file that was published"
        raise DatasetError(what, file=url, remedy="get it from elsewhere")


def _check_space(url: str, partial: PartialFile, total: int | None, there: int) -> None:
    free = shutil.disk_usage(partial.target.parent).free
    if total is not None and total - there > free:
        what = f"it needs {total - there:,} bytes more, but {partial.target.parent} has only {free:,} free"
        raise DatasetError(what, file=url, remedy="make room there and try again")


@contextmanager
def _shown(target: Path) -> Iterator[Advance]:
    """Tell how much has arrived."""
    with stage(f"fetching {target.parent.name}/{target.name}") as report:
        yield lambda there, total: report(there / total if total else 0.0, f", {there / 1e6:.1f} MB")


_log = logging.getLogger(__name__)


def fetch(entry: RegistryEntry, folder: Path) -> None:
    """Download what a data folder still lacks of a dataset; of several processes one does, and the others wait.

    Raises:
        DatasetError: a needed file could not be had.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "check the folders above it, and the free space"
        raise DatasetError(f"cannot be made: {error}", file=folder, remedy=remedy) from error
    with alone_in(folder, wait=True):
        if entry.missing(folder):
            _fetch_files(entry, folder)


def _fetch_files(entry: RegistryEntry, folder: Path) -> None:
    for file in entry.files:
        target = folder / file.target
        if target.exists():
            continue
        try:
            download(file.url, target, file.checksum, largest=file.largest)
        except DatasetError as error:
            if file.target in entry.needs or entry.layout not in ("triplets", "inductive"):
                raise
            # Names to display, or a split that nobody reads.
            _log.warning("continuing without %s: %s", target, error)
    if entry.layout == "edges":
        _convert(folder / entry.files[0].target, folder / entry.location)
    elif entry.layout == "wikikg90m":
        _unpack(folder / entry.files[0].target, entry.needs, folder)


def _convert(archive: Path, edges: Path) -> None:
    convert_linqs(archive, edges)
    archive.unlink()


def _unpack(archive: Path, members: Iterable[str], folder: Path) -> None:
    """Take the needed members out of a zip archive, whose other members are many times larger."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in members:
                with (
                    opened.open(member) as source,
                    replacing(folder / member) as partial,
                    partial.open("wb") as target,
                ):
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        remedy = "check the free space, or delete the archive and try again"
        raise DatasetError(f"cannot be unpacked: {error}", file=archive, remedy=remedy) from error
    archive.unlink()
