"""``docs/algorithm.py`` explains the paper in plain PyTorch: an independent oracle of the network, and it learns."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from nbfnet.config import ModelConfig
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.loading import load
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.training.loss import link_loss

FILE = Path(__file__).parents[2] / "docs" / "algorithm.py"
NAMES = {
    "query.weight": "indicator.query.weight",
    r"relation.(\d+)": r"layers.\1.edges.relation_linear",
    r"update.(\d+)": r"layers.\1.linear",
    r"norm.(\d+)": r"layers.\1.layer_norm",
    "score": "score_function.mlp",
}


@pytest.fixture(scope="module")
def algorithm() -> ModuleType:
    spec = importlib.util.spec_from_file_location("algorithm", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both(algorithm: ModuleType, num_relations: int, dim: int, layers: int) -> tuple[Any, NeuralBellmanFordNetwork]:
    """The network of the page and that of the package, with the same random parameters."""
    torch.manual_seed(3)
    page = algorithm.NBFNet(2 * num_relations, dim, layers, hidden=dim)
    for parameter in page.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    ours = NeuralBellmanFordNetwork(ModelConfig(dim=dim, layers=layers, hidden=(dim,)), 2 * num_relations)
    named = dict(page.state_dict())
    for theirs, name in NAMES.items():
        named = {re.sub(f"^{theirs}", name, key): value for key, value in named.items()}
    ours.load_state_dict(named)
    return page, ours.eval()


def test_it_imports_nothing_of_the_package() -> None:
    imported = [node for node in ast.walk(ast.parse(FILE.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    assert {str(node.module).partition(".")[0] for node in imported} == {"pathlib", "torch"}


@pytest.mark.parametrize("seed", range(4))
def test_the_same_parameters_give_the_same_scores(algorithm: ModuleType, seed: int) -> None:
    """On graphs with self loops, multi-edges and isolated nodes."""
    random = np.random.default_rng(seed)
    nodes, relations, count = 30, 3, 60
    rows = random.integers([nodes - 3, relations, nodes - 3], size=(count, 3))
    rows[0, 2], rows[1] = rows[0, 0], rows[2]
    graph = Graph(
        "random",
        "knowledge",
        Vocabulary.numbered(nodes),
        Vocabulary.numbered(relations, role="relation"),
        Triplets.of(*rows.T),
    )
    page, ours = both(algorithm, relations, 8, 3)
    u = torch.from_numpy(random.integers(nodes, size=5))
    q = torch.from_numpy(random.integers(2 * relations, size=5))
    expected = NetworkScorer(ours, graph.message_csr).score_all(u, q)
    with torch.no_grad():
        got = page(algorithm.both_ways(torch.from_numpy(rows), relations), nodes, u, q).T
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_the_world_is_read_as_the_package_reads_it(algorithm: ModuleType) -> None:
    splits, num_nodes, num_relations = algorithm.read_world()
    world = load("world")
    assert (num_nodes, num_relations) == (world.train.num_nodes, world.train.num_relations)
    for got, expected in (
        (splits["train"], world.train.triplets),
        (splits["valid"], world.valid),
        (splits["test"], world.test),
    ):
        np.testing.assert_array_equal(got.numpy(), np.stack([expected.head, expected.relation, expected.tail], axis=1))


def test_the_loss_is_the_same(algorithm: ModuleType) -> None:
    logits = torch.randn(6, 9)
    torch.testing.assert_close(algorithm.loss_of(logits[:, 0], logits[:, 1:]), link_loss(logits, 0.5))


def test_it_learns(algorithm: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """A few steps: the loss falls below that of a network that knows nothing, log 2."""
    torch.manual_seed(0)
    splits, num_nodes, num_relations = algorithm.read_world()
    few = splits["train"][splits["train"][:, 0] < 300]
    edges = algorithm.both_ways(few, num_relations)
    network = algorithm.NBFNet(2 * num_relations, dim=8, num_layers=2, hidden=8)
    algorithm.train(network, edges, num_nodes, steps=20, batch_size=4)
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 2 and losses[-1] < 0.69
    mrr, hits = algorithm.evaluate(network, edges, edges, edges[:3], num_nodes)
    assert 0 < mrr <= 1 and 0 <= hits <= 1
