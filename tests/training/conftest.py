"""Small datasets made by hand, trainings of a moment, and what two trainings must have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.training.checkpoint import read_tensors
from nbfnet.training.loop import train
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import begin, resume


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    """Everything here is small."""


def make_triplets(rows: Any) -> Triplets:
    return Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)


def make_graph(num_nodes, num_relations, rows, kind="knowledge", types=None):
    relations = Vocabulary.of([f"relation {r}" for r in range(num_relations)], role="relation")
    if types is not None:
        names = Vocabulary.of([f"type {t}" for t in range(max(types) + 1)], role="entity type")
        types = EntityTypes(names, np.array(types, dtype=np.int32))
    return Graph("tiny", kind, Vocabulary.numbered(num_nodes), relations, make_triplets(rows), types)


def random_rows(seed, num_nodes, num_relations, count):
    """Facts with multi-edges and self loops; every relation has one."""
    rows = np.random.default_rng(seed).integers([num_nodes, num_relations, num_nodes], size=(count - 3, 3))
    return [[0, num_relations - 1, 1], [2, 0, 2], [0, num_relations - 1, 1], *rows.tolist()]


@pytest.fixture
def graph_of():
    return make_graph


@pytest.fixture
def dataset_of():
    def dataset_of(graph, valid=None, test=None):
        return Dataset("tiny", graph, valid or Triplets.empty(), test or Triplets.empty())

    return dataset_of


@pytest.fixture
def rows_of():
    return random_rows


@pytest.fixture
def knowledge():
    """16 entities, 2 relations, 25 / 6 / 5 links."""
    rows = random_rows(1, 16, 2, 36)
    return Dataset("tiny", make_graph(16, 2, rows[:25]), make_triplets(rows[25:31]), make_triplets(rows[31:]))


@pytest.fixture
def homogeneous():
    """14 nodes, 20 / 5 / 4 edges, with a self loop and a duplicate."""
    rows = random_rows(2, 14, 1, 29)
    graph = make_graph(14, 1, rows[:20], kind="homogeneous")
    return Dataset("tiny", graph, make_triplets(rows[20:25]), make_triplets(rows[25:]))


SMALL = {
    "model": {"dim": 4, "layers": 2, "hidden": [4]},
    "training": {"batch_size": 8, "negatives": 3, "epochs": 3},
}


@pytest.fixture
def learn() -> Callable[..., RunFolder]:
    """Train a small network, or go on in a folder that exists; keywords are keys of the training, or 'model'."""

    def learn(path: Path, dataset: Dataset, listener=lambda entry: None, model=None, **training) -> RunFolder:
        tables = [{"model": model or {}, "training": training}]
        if path.exists():
            folder, config = resume(path, dataset, *tables)
        else:
            folder, config, _ = begin(path, dataset, SMALL, *tables)
        train(folder, dataset, config, listener=listener)
        return RunFolder.open(path)

    return learn


def without_times(folder: Path) -> list[dict[str, Any]]:
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in entry.items() if not key.endswith("seconds")} for entry in entries]


@pytest.fixture
def outcome() -> Callable[[Path], dict[str, Any]]:
    """All that a training must give bit by bit: parameters, moments, counters, log, metrics; not the times."""

    def outcome(folder: Path) -> dict[str, Any]:
        tensors, progress = read_tensors(folder / "checkpoint.safetensors")
        timed = ("seconds", "log_bytes")  # a time with more digits makes a longer log
        manifest = json.loads((folder / "manifest.json").read_text())
        return {
            "model": (folder / "model.safetensors").read_bytes(),
            "checkpoint": {name: (str(t.dtype), t.numpy().tobytes()) for name, t in tensors.items()},
            "progress": {key: value for key, value in progress.items() if key not in timed},
            "metrics": manifest["metrics"],
            "log": without_times(folder),
        }

    return outcome
