"""The registry: known datasets by name, where they are on this machine, and whether they are right."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from nbfnet.errors import DatasetError, UnknownNameError
from nbfnet.graph.datasets.benchmarks import benchmarks
from nbfnet.graph.datasets.registry_entry import RegistryEntry, Statistics

__all__ = [
    "RegistryEntry",
    "cache_folder",
    "check_statistics",
    "data_folders",
    "find_dataset",
    "known_datasets",
    "locate",
]


@cache
def known_datasets() -> dict[str, RegistryEntry]:
    """Every known dataset by its name."""
    return {entry.name: entry for entry in benchmarks()}


def find_dataset(name: str) -> RegistryEntry:
    """The dataset of that name; upper and lower case count as equal.

    Raises:
        UnknownNameError: there is none; the closest names are suggested.
    """
    known = known_datasets()
    entry = known.get(name.casefold())
    if entry is None:
        raise UnknownNameError("dataset", name, known)
    return entry


def locate(entry: RegistryEntry, *, download: bool = True) -> Path:
    """The folder or the file of a dataset, downloaded into the user's cache folder where it is nowhere yet.

    For an inductive dataset this is the folder to learn from, which has that to test on beside it.

    Raises:
        DatasetError: it is not there; names the places looked at and what to do.
    """
    if entry.layout == "embedded":
        return _embedded(entry)
    for folder in data_folders():
        if not entry.missing(folder):
            return folder / entry.location
    if not (download and entry.files):
        raise DatasetError(f"the dataset {entry.name!r} is not on this machine\n{_advice(entry)}")
    try:
        # Most datasets are already there; what fetches one is only loaded for the others.
        from nbfnet.graph.datasets.download import fetch

        fetch(entry, cache_folder())
    except DatasetError as error:
        raise DatasetError(f"the dataset {entry.name!r} could not be downloaded: {error}\n{_advice(entry)}") from error
    return cache_folder() / entry.location


def check_statistics(entry: RegistryEntry, counts: Statistics) -> None:
    """Compare what was read with what the paper states; counts that one side does not have are not compared.

    Raises:
        DatasetError: they disagree.
    """
    differences = entry.statistics.differences(counts)
    if differences:
        what = f"what was read as {entry.name!r} is not the dataset of the paper: {'; '.join(differences)}"
        remedy = "delete the files, so that they are downloaded again, or give the path of your folder"
        raise DatasetError(what, remedy=remedy)


def data_folders() -> list[Path]:
    """Where datasets are looked for, in order: the folder ``$NBFNET_DATA``, then the user's cache folder."""
    given = os.environ.get("NBFNET_DATA")
    if not given:
        return [cache_folder()]
    try:
        folders = [Path(given).expanduser()]
    except RuntimeError:
        raise DatasetError(f"NBFNET_DATA is {given!r}: there is no such user; give the path of a folder") from None
    with suppress(DatasetError):
        folders.append(cache_folder())
    return folders


def cache_folder() -> Path:
    """Where downloads go: ``$XDG_CACHE_HOME/nbfnet``, or ``~/.cache/nbfnet``."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The standard says that a relative path there is to be ignored.
    try:
        return (base if base.is_absolute() else Path.home() / ".cache") / "nbfnet"
    except RuntimeError:
        raise DatasetError(
            "this user has no home folder to keep datasets in: set XDG_CACHE_HOME or NBFNET_DATA to a folder"
        ) from None


def _embedded(entry: RegistryEntry) -> Path:
    package = Path(__file__).parent
    missing = entry.missing(package)
    if missing:
        what = f"the dataset {entry.name!r} should be inside the package, but {', '.join(missing)} is not"
        raise DatasetError(what, remedy="install nbfnet again")
    return package / entry.location


def _advice(entry: RegistryEntry) -> str:
    """Where it was looked for, and how to get it there by hand."""
    lines = []
    for folder in data_folders():
        missing = entry.missing(folder)
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        lines.append(f"  looked in: {folder} (missing: {', '.join(missing[:3])}{more})")
    if not os.environ.get("NBFNET_DATA"):
        lines.append("  not looked in: $NBFNET_DATA, which is not set")
    if entry.by_hand:
        lines.append(f"  what to do: {entry.by_hand} into {cache_folder() / entry.location}")
    else:
        lines.append("  what to do: let it be downloaded, or put its files in place yourself:")
        lines.extend(f"    {file.url} as {cache_folder() / file.target}" for file in entry.files)
    lines.append(f"    or set NBFNET_DATA to a folder of your own that has it at {entry.location}")
    return "\n".join(lines)
