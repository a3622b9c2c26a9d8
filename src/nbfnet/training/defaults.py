"""Sound defaults for a graph, where nothing else is configured."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from nbfnet.config import ModelConfig
from nbfnet.graph.graph import Dataset

# With W_r q + b_r every relation has d x d parameters of its own: enough relations, and facts for each, must be there.
_MANY_RELATIONS, _FACTS_PER_RELATION = 30, 20
_FEW_JOINED = 0.05  # of the valid links
_PATIENCE, _TELLING = 5, 50  # validations, of so many links at least: fewer do not tell when to stop
_STEPS_OF_EPOCH = 64  # at least, unless that makes batches smaller than eight
_VALIDATION_EDGES = 2_000_000_000  # of all ranked queries: a validation passes over so many in some minutes


def default_config(dataset: Dataset, stated: ModelConfig) -> dict[str, Any]:
    """The configuration that the paper found for graphs like this one, as the tables of a TOML file.

    ``stated`` is the network as far as the user configured it: a wide or deep one leaves room for fewer queries.
    """
    training: dict[str, Any] = {"batch_size": _batch_size(dataset, stated)}
    if len(dataset.valid) >= _TELLING:
        training["patience"] = _PATIENCE
    if (sample := _validation_sample(dataset)) is not None:
        training["validation_sample"] = sample
    if dataset.kind == "homogeneous":
        model = {"edges": "independent", "symmetric": True}
        return {"model": model, "training": {**training, "negatives": 1, "hiding": "pair"}}
    graph = dataset.train
    dependent = graph.num_relations >= _MANY_RELATIONS and (
        len(graph.triplets) >= _FACTS_PER_RELATION * graph.num_relations
    )
    model = {"edges": "dependent" if dependent else "independent"}
    return {
        "model": model,
        "training": {**training, "hiding": _hiding(dataset), "temperature": 0.5 if dependent else 1.0},
    }


def _hiding(dataset: Dataset) -> str:
    """Training should look as asking will.

    Where other facts join the ends of valid links, training links keep such facts, and only their own triplet is
    hidden. Where none do, every edge between the ends is hidden, or the network would rely on what it will not find.
    """
    graph = dataset.train
    joined = np.isin(dataset.valid.pairs(graph.num_nodes), graph.triplets.pairs(graph.num_nodes))
    return "pair" if len(joined) and float(joined.mean()) < _FEW_JOINED else "triplet"


def _batch_size(dataset: Dataset, model: ModelConfig) -> int:
    """64 queries, fewer in a small graph, or as many as their representations fit into half of the memory."""
    of_query = 4 * model.dim * model.layers * max(1, dataset.train.num_nodes)
    memory = total_memory() // 2
    for_steps = max(8, len(dataset.train.triplets) // _STEPS_OF_EPOCH)
    return max(1, min(64, for_steps, memory // of_query))


def _validation_sample(dataset: Dataset) -> int | None:
    """None, all links, unless ranking them passes over too many edges."""
    if dataset.kind == "homogeneous":
        return None
    affordable = max(200, _VALIDATION_EDGES // (4 * max(1, len(dataset.train.triplets))))
    return affordable if affordable < len(dataset.valid) else None


def total_memory() -> int:
    """Bytes of main memory; 8 GiB where the system does not say, as Windows does not."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 8 << 30
