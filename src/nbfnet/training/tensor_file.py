"""Tensors with a JSON description in one safetensors file, checked when read; never a pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from nbfnet.errors import RunFolderError
from nbfnet.graph.atomic import replacing
from nbfnet.regular_files import is_special

KEY = "nbfnet"  # one entry alone: several are written in any order, and equal files should have equal bytes


def write_tensors(file: Path, tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> None:
    """Write a file that appears whole, or leaves the one before it.

    Raises:
        RunFolderError: it cannot be written, because the disk is full for example.
    """
    try:
        with replacing(file) as partial:
            partial.write_bytes(pack_tensors(tensors, description))
    except OSError as error:
        raise write_error(file, error) from None


def pack_tensors(tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> bytes:
    """The content of such a file.

    Not safetensors' own ``save_file``: what that writes only its owner may read, and when it is killed it leaves a
    file of a random name behind.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(description)
    packed: bytes = save(plain, metadata={KEY: json.dumps([text, _checksum(plain, text)])})
    return packed


def read_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description.

    Raises:
        RunFolderError: the file is missing, damaged or not one of these.
    """
    try:
        if is_special(file):
            raise ValueError("it is a pipe or a device")
        content = file.read_bytes()  # once: safetensors' own reader opens it twice, and it may be replaced in between
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        text, checksum = json.loads(header["__metadata__"][KEY])
        if checksum != _checksum(tensors, text):
            raise ValueError("its checksum is wrong")
        return tensors, json.loads(text)
    except (OSError, SafetensorError, LookupError, ValueError, TypeError, AttributeError) as error:
        what = "it is missing" if isinstance(error, FileNotFoundError) else f"it is damaged: {error}"
        raise RunFolderError(file, what, "train again, or restore the folder from a copy") from None


def write_error(file: Path, error: OSError) -> RunFolderError:
    """What to say when a file of a run folder cannot be written."""
    reason = error.strerror or error
    remedy = "check the free space and the permissions; what was written before is intact: continue with --resume"
    return RunFolderError(file, f"cannot be written: {reason}", remedy)


def _checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
