"""Beginning or resuming a training: what is checked before the first step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from nbfnet.config import Config, make_config
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import ConfigError, RunFolderError, TrainingError
from nbfnet.evaluation.evaluator import negative_pairs
from nbfnet.graph.atomic import remove_stale_drafts
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.training.batches import make_batches
from nbfnet.training.checkpoint import FILE
from nbfnet.training.defaults import Choice, choose, tables_of
from nbfnet.training.fine_tuning import SCRATCH, choose_start, fine_tuning, first_network
from nbfnet.training.log import read_log
from nbfnet.training.memory_estimate import check_memory
from nbfnet.training.run_folder import MANIFEST, MAY_CHANGE, SHIPPED, UNIVERSAL, RunFolder


def begin(
    path: Path,
    dataset: Dataset,
    *tables: Mapping[str, Any],
    start_from: str | Path | None = None,
    team: Team = ALONE,
    **origin: str,
) -> tuple[RunFolder, Config, list[Choice]]:
    """A new run folder, with the defaults for the dataset overruled by the tables of a configuration.

    ``start_from`` is a run whose network it begins with, and whose model it has; 'scratch' begins with random
    parameters, and None leaves that to the dataset.
    ``origin`` says where it comes from, for its manifest: the source that was named, the command.
    What was chosen, and not stated, is given with its reasons.

    Raises:
        ConfigError: the configuration is wrong.
        RunFolderError: the folder holds a run already.
        GraphFormatError: the folder exists already, or cannot be written.
        TrainingError: the dataset cannot be learned.
    """
    require_new(path, team, "train")
    stated = make_config(*tables)
    start = [choose_start(dataset, stated)] if start_from is None else []
    if any(choice.value == UNIVERSAL for choice in start):
        start_from = SHIPPED  # even where the user has a folder of that name
    first = None if start_from is None or str(start_from) == SCRATCH else RunFolder.open(Path(start_from))
    given, tuning = ({}, []) if first is None else fine_tuning(first, dataset, stated)
    chosen = {choice.key: choice for choice in (*choose(dataset, make_config(given, *tables)), *tuning)}
    config = make_config(tables_of(chosen.values()), given, _to_the_end(tables), *tables)
    check_device(config.training.device)
    check_dataset(dataset, config)
    network = None if first is None else first_network(first, dataset, config)
    if team.leads:
        begun = None if first is None else {"began_with": first.name}
        RunFolder.create(path, dataset, config, network, begun, **origin)
    team.wait()
    return RunFolder.open(path), config, [*start, *(choice for choice in chosen.values() if choice.is_in(config))]


def require_new(path: Path, team: Team, command: str) -> None:
    """Refuse a folder that holds a run already; all of a team look before its leader makes the folder."""
    exists = (path / MANIFEST).exists()
    team.wait()
    if exists:
        remedy = f"resume it with 'nbfnet {command} --resume' (resume=True in Python), or choose another folder"
        raise RunFolderError(path, "this run exists already", remedy)


def resume(path: Path, dataset: Dataset, *tables: Mapping[str, Any]) -> tuple[RunFolder, Config]:
    """An existing run folder; tables may change only what does not change the steps taken so far.

    Raises:
        ConfigError: the configuration is wrong.
        RunFolderError: the folder is not one of this dataset, or its configuration is another.
    """
    folder = RunFolder.open(path)
    if folder.manifest["dataset"].get("fingerprint") != fingerprint(dataset):
        learned = folder.manifest["dataset"].get("name")
        remedy = (
            "give the graph that it was begun with, read in the same way (--seed and --paper-split, --types, "
            "--skip-bad-lines), or begin in another folder"
        )
        raise RunFolderError(path, f"this training was begun with another graph ({learned})", remedy)
    folder.dataset()  # a run whose own data are gone or damaged could be trained, but never opened again
    return folder, resumed_config(folder, *tables)


def resumed_config(folder: RunFolder, *tables: Mapping[str, Any]) -> Config:
    """The configuration that a training continues with.

    Raises:
        ConfigError: the configuration is wrong.
        RunFolderError: it would change the steps taken so far, or there is nothing to resume from.
    """
    path, before = folder.path, folder.config()
    remove_stale_drafts(path)  # of a process that was killed just after it had made the folder
    config = make_config(before.model_dump(mode="json"), _to_the_end(tables), *tables)
    if changed := _changed_keys(before, config):
        remedy = "leave them out, or begin in another folder"
        raise RunFolderError(path, f"a resumed training cannot change {', '.join(changed)}", remedy)
    log = read_log(path)
    if log and config.training.hours is None and config.training.epochs < log[-1]["epoch"]:
        what = f"it has done {log[-1]['epoch']:.4g} epochs, and is asked for {config.training.epochs} in all"
        raise RunFolderError(path, what, "ask for more, or begin in another folder")
    if not (path / FILE).exists() and folder.manifest["metrics"]:
        raise RunFolderError(path, f"it has no {FILE} to resume from", "begin in another folder")
    check_device(config.training.device)
    return config


def stated_config(path: Path | None, *tables: Mapping[str, Any]) -> Config:
    """What the tables state, on top of what a run folder that is resumed states; without a graph's defaults."""
    before = [] if path is None else [RunFolder.open(path).config().model_dump(mode="json")]
    return make_config(*before, *tables)


def _to_the_end(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A stated number of epochs is run to its end, unless a patience is stated too."""
    return {"training": {"patience": 0}} if any("epochs" in table.get("training", {}) for table in tables) else {}


def _changed_keys(before: Config, after: Config) -> list[str]:
    """The keys that differ, and that a resumed training may not change."""
    old, new = before.training.model_dump(), after.training.model_dump()
    # The steps taken so far had learning rates for a number of epochs.
    planned = {"epochs"} if before.training.schedule != "constant" else set()
    training = [f"training.{key}" for key in old if old[key] != new[key] and key not in MAY_CHANGE - planned]
    tables = [name for name in ("model", "sampling") if getattr(before, name) != getattr(after, name)]
    return [*training, *tables]


def check_device(device: str) -> None:
    """Refuse a device that is not there.

    Raises:
        ConfigError: names it.
    """
    if not has_device(device):
        raise ConfigError(
            f"training.device = {device!r}: this machine has no such device; use cpu, or cuda where there is a GPU"
        )


def has_device(device: str) -> bool:
    """Whether PyTorch can compute on a device such as 'cuda:1'."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about devices that PyTorch no longer supports
            torch.zeros(1, device=device).item()
    except Exception:  # a device that PyTorch knows by name may lack its module, its driver or the operator
        return False
    return True


def device_of(config: Config) -> str:
    """Where a trained network is asked: on the device it was trained on or, where that is not there, on the CPU."""
    return config.training.device if has_device(config.training.device) else "cpu"


def check_dataset(dataset: Dataset, config: Config) -> None:
    """Refuse what cannot be learned or validated, before a folder is made for it.

    Raises:
        TrainingError: names what is missing.
        NotEnoughMemoryError: the graph is too large to be used whole.
        DatasetError: a homogeneous graph has too few pairs without an edge.
    """
    graph = dataset.train
    check_memory(graph, config, "training on")
    if not len(graph.triplets):
        raise TrainingError(f"{graph.name}: there are no training facts; give a graph with some")
    if graph.num_nodes < 2:
        raise TrainingError(f"{graph.name}: it has a single entity, so there is nothing to tell apart")
    graph.triplets.check(graph.num_nodes, graph.num_relations)
    _check_relations(graph, "valid", dataset.valid, graph.entities)
    _check_relations(graph, "test", dataset.test, dataset.facts_of_test.entities)
    if config.sampling.hops is not None and config.model.kind != "nbfnet":
        raise ConfigError(f"sampling.hops: a network of the kind {config.model.kind!r} learns from the whole graph")
    if config.sampling.hops is not None and config.model.any_graph:
        raise ConfigError(
            f"sampling.hops: {config.model.edges} edges need the relations of the whole graph; use other model.edges"
        )
    make_batches(graph, config.training, config.sampling)
    if dataset.kind == "homogeneous":
        if config.training.loss == "softmax":
            raise ConfigError(
                "training.loss = 'softmax': it ranks the entities of a knowledge graph, and this graph is homogeneous; "
                "use 'binary'"
            )
        negative_pairs(dataset, "valid", len(dataset.valid), seed=0)


def _have_facts(graph: Graph) -> npt.NDArray[np.bool_]:
    """(relation,) whether a relation has a training fact; some facts at a time, as they may be mapped from a file."""
    found = np.zeros(graph.num_relations, dtype=np.bool_)
    for begin in range(0, len(graph.triplets), 1 << 22):
        found[graph.triplets.relation[begin : begin + (1 << 22)]] = True
    return found


def _check_relations(graph: Graph, part: str, links: Triplets, entities: Vocabulary) -> None:
    known = _have_facts(graph)[links.relation]
    if not known.all():
        unknown = sorted({graph.relations.label(r) for r in links.relation[~known].tolist()})
        shown = ", ".join(repr(name) for name in unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        first = int(np.argmin(known))
        head, tail = (entities.label(int(ends[first])) for ends in (links.head, links.tail))
        what = (
            f"{graph.name}: {np.count_nonzero(~known)} {part} links have a relation that no training fact has: "
            f"{shown}; the first is {head!r}, {graph.relations.label(int(links.relation[first]))!r}, {tail!r}"
        )
        remedy = "leave these links out, or move some of them to the training facts; no network can learn them"
        raise TrainingError(what, remedy=remedy)
