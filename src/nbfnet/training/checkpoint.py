"""Checkpoint: the state of a training, so that it resumes exactly there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nbfnet.errors import RunFolderError
from nbfnet.training.tensor_file import read_tensors, write_tensors

FILE = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")


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


def save_checkpoint(
    folder: Path, network: nn.Module, optimizer: torch.optim.Adam, progress: Progress, *, training: str | None
) -> None:
    """Write the state of a training, which has this id.

    Raises:
        RunFolderError: it cannot be written; the checkpoint before it is still there.
    """
    tensors = dict(network.state_dict())
    for name, parameter in network.named_parameters():
        for moment in _MOMENTS if progress.step else ():
            tensors[f"{moment}/{name}"] = optimizer.state[parameter][moment]
    write_tensors(folder / FILE, tensors, {"training": training, **asdict(progress)})


def load_checkpoint(folder: Path, network: nn.Module, optimizer: torch.optim.Adam, *, training: str | None) -> Progress:
    """Set a network and its optimizer to the state that was saved; the beginning if none was.

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
        if set(description) != {entry.name for entry in fields(Progress)}:
            raise LookupError("it has no counters")
        progress = Progress(**description)
        network.load_state_dict({name: tensors[name] for name in network.state_dict()})
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
