"""Pre-training: one network for any graph, learned from several graphs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbfnet.config import Config, make_config
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import ConfigError, RunFolderError, TrainingError
from nbfnet.graph.graph import Dataset
from nbfnet.training.batches import make_batches
from nbfnet.training.run_folder import RunFolder, described
from nbfnet.training.start import check_device, require_new, resumed_config

PRETRAINING: dict[str, Any] = {
    "model": {
        "dim": 32,  # of 64, a step takes 2.3 times as long
        "layers": 6,
        "message": "distmult",
        "aggregate": "pna",  # a step takes 1.5 times as long as of sum, and learns more in the same time
        "edges": "relational",
        "hidden": [64],
    },
    "training": {
        "batch_size": 32,
        "batches_per_epoch": 500,  # of each graph: a large one does not crowd out the others
        # On two small graphs, held-out MRR .56 after as much work as the binary loss takes to .50.
        "loss": "softmax",
        "negatives": 256,  # of the binary loss, if that is chosen
        "hard_negatives": 0.5,
        "temperature": 1.0,
        "hiding": "triplet",
        # Without it, held-out MRR .40 after 1,043 steps and .36 after 2,085; with it, .54 and .56.
        "relation_sample": 0.1,
        "learning_rate": 1e-3,
        "schedule": "cosine",
        "average": 0.999,
        "validation_sample": 1000,  # of all graphs together
    },
}


def begin_pretraining(
    path: Path,
    datasets: Sequence[Dataset],
    held_out: Sequence[Dataset],
    *tables: Mapping[str, Any],
    team: Team = ALONE,
    **origin: str,
) -> tuple[RunFolder, Config]:
    """A new run folder for several graphs; the network will belong to none of them.

    Raises:
        ConfigError: the configuration is wrong, or that of a network that belongs to its relations.
        RunFolderError: the folder holds a run already.
        GraphFormatError: the folder exists already, or cannot be written.
        TrainingError: a graph cannot be learned.
    """
    require_new(path, team, "pretrain")
    config = make_config(PRETRAINING, *tables)
    check_device(config.training.device)
    if not config.model.any_graph:
        raise ConfigError(
            f"model.edges = {config.model.edges!r}: such a network belongs to the relations of one graph; "
            "pre-training needs 'relational', 'factorised' or 'alternating'"
        )
    for dataset in [*datasets, *held_out]:
        _check(dataset, config)
    if team.leads:
        count = f"{len(datasets)} graphs" if len(datasets) > 1 else datasets[0].name
        learned = {"learned_from": described(datasets), "held_out": described(held_out)}
        RunFolder.create(path, Dataset.nothing(f"pre-trained on {count}"), config, None, learned, **origin)
    team.wait()
    return RunFolder.open(path), config


def resume_pretraining(
    path: Path, datasets: Sequence[Dataset], held_out: Sequence[Dataset], *tables: Mapping[str, Any]
) -> tuple[RunFolder, Config]:
    """An existing run folder; tables may change only what does not change the steps taken so far.

    Raises:
        ConfigError: the configuration is wrong.
        RunFolderError: the folder is not one of these graphs, or its configuration is another.
    """
    folder = RunFolder.open(path)
    for key, given in (("learned_from", datasets), ("held_out", held_out)):
        if folder.manifest.get(key) != described(given):
            names = ", ".join(graph["name"] for graph in folder.manifest.get(key) or []) or "none"
            remedy = f"give the same graphs in the same order ({names}), or begin in another folder"
            which = "with other graphs" if key == "learned_from" else "with other held-out graphs"
            raise RunFolderError(path, f"this pre-training was begun {which}", remedy)
    return folder, resumed_config(folder, *tables)


def _check(dataset: Dataset, config: Config) -> None:
    """Refuse what cannot be learned, before a folder is made."""
    if dataset.kind == "homogeneous":
        what = f"{dataset.name}: it has no relations, and how relations meet is what is learned"
        raise TrainingError(
            what, remedy="leave it out, or read its edges as facts of one relation, with their direction"
        )
    make_batches(dataset.train, config.training)
