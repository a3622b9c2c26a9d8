"""Bring a known dataset into a data folder: download its files, unpack or convert its archive."""

from __future__ import annotations

import logging
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

from nbfnet.errors import DownloadError
from nbfnet.graph.atomic import alone_in, replacing
from nbfnet.graph.datasets.download import download
from nbfnet.graph.datasets.linqs import convert_linqs
from nbfnet.graph.datasets.registry_entry import RegistryEntry

_log = logging.getLogger(__name__)


def fetch(entry: RegistryEntry, folder: Path) -> None:
    """Download what a data folder still lacks of a dataset; of several processes one does, and the others wait.

    Raises:
        DownloadError: a needed file could not be had.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{folder} cannot be made: {error}\n  what to do: check the folders above it, and the space"
        raise DownloadError(what) from error
    with alone_in(folder, wait=True):
        if entry.missing(folder):
            _fetch(entry, folder)


def _fetch(entry: RegistryEntry, folder: Path) -> None:
    for file in entry.files:
        target = folder / file.target
        if target.exists():
            continue
        try:
            download(file.url, target, file.checksum, largest=file.largest)
        except DownloadError as error:
            if file.target in entry.needs or entry.layout not in ("triplets", "inductive"):
                raise
            # Names to display, or a split that nobody reads.
            _log.warning("going on without %s: %s", target, error)
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
        raise DownloadError(
            f"{archive} cannot be unpacked: {error}\n"
            "  what to do: check the space on the disk, or delete the archive and try again"
        ) from error
    archive.unlink()
