"""The files of a store: arrays and JSON, each with its size and its checksum, mapped when they are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from nbfnet.graph.workspace import release_pages
from nbfnet.regular_files import is_special

MANIFEST = "store.json"
_ALGORITHM = "blake2b"
_OPTIONAL = ("weight.npy", "labels.json")  # read where they are


class StoreFiles:
    """The files of a store that is being written, with their sizes and checksums."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: dict[str, dict[str, Any]] = {}

    def save(self, name: str, array: npt.NDArray[Any]) -> None:
        """One array."""
        self._write(name, lambda stream: np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False))
        release_pages(array)

    def save_columns(
        self, place: str, columns: dict[str, npt.DTypeLike], length: int, parts: Iterator[dict[str, Any]]
    ) -> None:
        """Several arrays that are given in parts and are never in memory as a whole, each in a file of its own."""
        with ExitStack() as stack:
            writers = {}
            for column, dtype in columns.items():
                name = f"{place}/{column}.npy"
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                stream = _Hashing(stack.enter_context((self.folder / name).open("wb")))
                _write_header(stream, dtype, length)
                writers[name] = column, dtype, stream
            for part in parts:
                for column, dtype, stream in writers.values():
                    stream.write(np.ascontiguousarray(part[column], dtype=dtype).view(np.uint8).data)
        for name, (_, _, stream) in writers.items():
            self.written[name] = {"bytes": stream.size, _ALGORITHM: stream.digest.hexdigest()}

    def save_json(self, name: str, document: object) -> None:
        """One JSON document."""
        self._write(name, lambda stream: stream.write(json.dumps(document).encode()))

    def _write(self, name: str, write: Callable[[Any], object]) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (self.folder / name).open("wb") as file:
            stream = _Hashing(file)
            write(stream)
        self.written[name] = {"bytes": stream.size, _ALGORITHM: stream.digest.hexdigest()}


class _Hashing:
    """A file to write to that takes the checksum of what is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.size, self.digest = file, 0, hashlib.blake2b(digest_size=16)

    def write(self, content: bytes | memoryview) -> int:
        self.size += len(content)
        self.digest.update(content)
        return self.file.write(content)


def _write_header(stream: Any, dtype: npt.DTypeLike, length: int) -> None:
    """What an array of one dimension begins with in a file."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(stream, header)


def checksum(manifest: dict[str, Any]) -> str:
    """Of the manifest itself."""
    text = json.dumps({key: value for key, value in manifest.items() if key != "checksum"}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def check_files(folder: Path, manifest: dict[str, Any], *, content: bool) -> None:
    """Compare the manifest and the files with their checksums; of large files only the size, unless all is asked."""
    if "files" not in manifest and "checksum" not in manifest:
        return  # written before stores had checksums
    if manifest.get("checksum") != checksum(manifest):
        raise ValueError(f"{MANIFEST} is not what was written")
    for name, written in manifest["files"].items():
        if is_special(folder / name):
            raise ValueError(f"{name} is a pipe or a device, not a file")
        size = (folder / name).stat().st_size
        if size != written["bytes"]:
            raise ValueError(f"{name} has {size:,} bytes, {written['bytes']:,} were written")
        if content or name.endswith(".json"):
            with (folder / name).open("rb") as stream:
                digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
            if digest != written[_ALGORITHM]:
                raise ValueError(f"{name} is not what was written: its checksum is wrong")
    for name in _OPTIONAL:
        stray = next(
            (path for path in folder.rglob(name) if path.relative_to(folder).as_posix() not in manifest["files"]), None
        )
        if stray is not None:
            raise ValueError(f"{stray.relative_to(folder)} was not written with the others")


def map_array(file: Path, dtype: npt.DTypeLike, length: int | None = None) -> npt.NDArray[Any]:
    """Map an array, which must be of the type and length that it was written with."""
    if is_special(file):
        raise ValueError(f"{file.name} is a pipe or a device")
    array: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    if array.dtype != np.dtype(dtype) or array.ndim != 1 or length not in (None, len(array)):
        wanted = "" if length is None else f"{length} "
        raise ValueError(f"{file.name} has {array.dtype} of shape {array.shape}, expected {wanted}{np.dtype(dtype)}")
    return array
