"""Without the compiled extension everything works the same, more slowly, with one warning."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from nbfnet.model.message_graph import MessageGraph
from nbfnet.native import native_available

CONFIGURATIONS: list[dict[str, Any]] = [
    {"message": "distmult", "aggregate": "pna", "edges": "dependent"},
    {"message": "transe", "aggregate": "max", "edges": "independent", "learned_zero": True, "symmetric": True},
]
LIMITS = (4 << 30, 1)  # of memory: all queries at once, and one by one

SCRIPT = """
import sys, warnings
from pathlib import Path
import torch
from safetensors.torch import load_file, save_file
from nbfnet.config import ModelConfig
from nbfnet.errors import BackendError, QueryError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

def compute(folder):
    given = load_file(folder / "given.safetensors")
    edges = Triplets.of(*given["edges"].numpy())
    graph = MessageGraph(RelationalCSR.from_triplets(edges, 40, 3))
    config = ModelConfig.model_validate_json((folder / "config.json").read_text())
    network = NeuralBellmanFordNetwork(config, 3).double()
    network.load_state_dict({n.removeprefix("param."): t for n, t in given.items() if n.startswith("param.")})
    queries, target = (given["source"], given["relation"]), given["target"]
    found = {}
    for limit in (4 << 30, 1):
        network.memory_limit = limit
        asked = {"score": network.score(graph, *queries, target), "score_all": network.score_all(graph, *queries)}
        for name, scores in asked.items():
            network.zero_grad()
            (scores.sigmoid() * given["weight." + name]).sum().backward()
            found[f"{limit} {name}"] = scores.detach()
            for parameter, p in network.named_parameters():
                found[f"{limit} {name} {parameter}"] = torch.zeros_like(p) if p.grad is None else p.grad.clone()
    save_file(found, folder / "found.safetensors")
    return network, graph, queries

assert not native_available()
torch.set_num_threads(1)
with warnings.catch_warnings(record=True) as shown:
    warnings.simplefilter("always")
    for folder in sys.argv[1:]:
        network, graph, queries = compute(Path(folder))
assert len(shown) == 1, [str(warning.message) for warning in shown]
assert "without its compiled extension" in str(shown[0].message)

for wrong in (torch.tensor([40, 0, 0]), torch.tensor([-1, 0, 0])):
    try:
        network.score_all(graph, wrong, wrong * 0)
    except QueryError:
        continue
    raise AssertionError("an id out of range was taken")
with use_backend("cpu"):
    try:
        network.score_all(graph, *queries)
    except BackendError as error:
        assert "NBFNET_NATIVE=0" in str(error)
    else:
        raise AssertionError("a backend that is not there was obeyed")
assert network.score_all(graph, queries[0][:0], queries[1][:0]).shape == (0, 40)
"""


@pytest.mark.skipif(not native_available(), reason="compares with the compiled extension")
def test_results_are_the_same_and_one_warning_is_shown(
    make_graph: Callable[..., MessageGraph],
    make_network: Callable[..., Any],
    assert_same: Callable[..., None],
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    edges = np.stack([rng.integers(0, 35, 60), rng.integers(0, 3, 60), rng.integers(0, 35, 60)])
    edges = np.concatenate([edges, edges[:, :4], [[7], [1], [7]]], axis=1)
    graph = make_graph(40, 3, [tuple(map(int, edge)) for edge in edges.T])
    expected = []
    folders = [tmp_path / str(number) for number in range(len(CONFIGURATIONS))]
    for folder, options in zip(folders, CONFIGURATIONS, strict=True):
        folder.mkdir()
        network = make_network(3, **options)
        given, results = compute_with_extension(network, graph)
        save_file({"edges": torch.from_numpy(edges).int(), **given}, folder / "given.safetensors")
        (folder / "config.json").write_text(network.config.model_dump_json())
        expected.append(results)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, folders)],
        env={**os.environ, "NBFNET_NATIVE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for folder, results in zip(folders, expected, strict=True):
        assert_same(load_file(folder / "found.safetensors"), results)


def compute_with_extension(network: Any, graph: MessageGraph) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What the other process is given, and what it ought to find."""
    source, relation = torch.tensor([0, 8, 39]), torch.tensor([0, 2, 1])
    target = torch.tensor([[1, 1, 0], [39, 8, 2], [39, 3, 4]])
    given = {"source": source, "relation": relation, "target": target}
    given |= {f"param.{name}": p.detach() for name, p in network.named_parameters()}
    expected: dict[str, Tensor] = {}
    asked = {
        "score": network.score(graph, source, relation, target),
        "score_all": network.score_all(graph, source, relation),
    }
    for name, scores in asked.items():
        given[f"weight.{name}"] = torch.linspace(-1, 1, scores.numel(), dtype=torch.float64).view_as(scores)
        network.zero_grad()
        (scores.sigmoid() * given[f"weight.{name}"]).sum().backward()
        for limit in LIMITS:
            expected[f"{limit} {name}"] = scores.detach()
            for parameter, p in network.named_parameters():
                expected[f"{limit} {name} {parameter}"] = torch.zeros_like(p) if p.grad is None else p.grad.clone()
    return given, expected
