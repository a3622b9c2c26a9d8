"""Checkpoint: the state of a training, so that it resumes exactly there, in a file of tensors; never a pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from nbfnet.errors import RunFolderError
from nbfnet.graph.atomic import replacing
from nbfnet.regular_files import is_special
from nbfnet.strict_json import strict_json

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
    text = strict_json(description)
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
    except (OSError, SafetensorError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
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


FILE = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")
_AVERAGE = "average"


@dataclass
class Progress:
    """The counters of a training. Its random numbers come from these alone, so they are its random state too."""

    epoch: int = 0  # complete ones
    batch: int = 0  # complete ones of the running epoch
    step: int = 0  # in all
    loss_sum: float = 0.0  # over the links since the last validation
    links: int = 0
    seconds: float = 0.0  # of work, over all processes that took turns
    log_bytes: int = 0  # of the log that belong to this state
    best: dict[str, Any] = field(default_factory=dict)  # the best validation, and since which step none was better
    plan: dict[str, Any] = field(default_factory=dict)  # of a budget, see Plan


def save_checkpoint(
    folder: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    *,
    average: nn.Module | None = None,
    training: str | None,
) -> None:
    """Write the state of a training, which has this id, with the moving average of its network, if there is one.

    Raises:
        RunFolderError: it cannot be written; the checkpoint before it is still there.
    """
    tensors = dict(network.state_dict())
    for name, parameter in network.named_parameters():
        for moment in _MOMENTS if progress.step else ():
            tensors[f"{moment}/{name}"] = optimizer.state[parameter][moment]
    if average is not None:
        tensors.update({f"{_AVERAGE}/{name}": mean for name, mean in average.state_dict().items()})
    write_tensors(folder / FILE, tensors, {"training": training, **asdict(progress)})


def load_checkpoint(
    folder: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    average: nn.Module | None = None,
    training: str | None,
) -> Progress:
    """Set a network, its optimizer and its moving average to the state that was saved; the beginning if none was.

    Raises:
        RunFolderError: the checkpoint is damaged, or of another training.
    """
    file = folder / FILE
    if not file.exists():
        return Progress()
    tensors, description = read_tensors(file)
    try:
        if description.pop("training", None) != training:
            raise LookupError("its id is another")
        names = {entry.name for entry in fields(Progress)}
        if not names - {"plan"} <= set(description) <= names:  # checkpoints of an older release have no plan
            raise LookupError("it has no counters")
        progress = Progress(**description)
        network.load_state_dict({name: tensors[name] for name in network.state_dict()})
        if average is not None:
            average.load_state_dict({name: tensors[f"{_AVERAGE}/{name}"] for name in average.state_dict()})
        if progress.step:
            for name, parameter in network.named_parameters():
                optimizer.state[parameter] = _adam_state(tensors, name, parameter, progress.step)
    except (TypeError, LookupError, RuntimeError) as error:
        remedy = "restore it from a copy, or begin in another folder"
        raise RunFolderError(file, f"it is not of this training: {error}", remedy) from None
    return progress


def read_progress(folder: Path) -> Progress:
    """How far the training of a folder is; the beginning if it has no checkpoint.

    Raises:
        RunFolderError: the checkpoint is damaged.
    """
    if not (folder / FILE).exists():
        return Progress()
    _, description = read_tensors(folder / FILE)
    names = {entry.name for entry in fields(Progress)}
    return Progress(**{name: value for name, value in description.items() if name in names})


def _adam_state(tensors: dict[str, Tensor], name: str, parameter: Tensor, step: int) -> dict[str, Tensor]:
    state = {moment: tensors[f"{moment}/{name}"].to(parameter.device) for moment in _MOMENTS}
    return {"step": torch.tensor(float(step)), **state}
