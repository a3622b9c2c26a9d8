"""Batches too large for the memory are computed in parts, to the same result; and how large they are is known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.model.parts import alternating_memory
from nbfnet.model.row_evaluation import evaluate_rows
from nbfnet.native import native_available

needs_extension = pytest.mark.skipif(not native_available(), reason="needs the compiled extension")


@pytest.fixture(scope="module")
def graph(make_graph: Callable[..., MessageGraph]) -> MessageGraph:
    """400 nodes, some without edges, 1,200 edges."""
    return random_graph(make_graph, 400, 1200)


def random_graph(make_graph: Callable[..., MessageGraph], nodes: int, edges: int) -> MessageGraph:
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, nodes - 20, (edges, 2))
    return make_graph(nodes, 3, [(int(u), int(rng.integers(3)), int(v)) for u, v in pairs])


SOURCE = torch.tensor([0, 7, 7, 9, 380, 0, 3])
RELATION = torch.tensor([0, 1, 2, 1, 0, 0, 2])
TARGET = torch.arange(7 * 3).view(7, 3) * 17


def held_while(network: NeuralBellmanFordNetwork, compute: Callable[[], Tensor]) -> tuple[Tensor, int]:
    """The result, and how many bytes of different tensors are saved for the way back, parameters left out."""
    saved: dict[int, int] = {}
    parameters = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        result = compute()
    return result, sum(saved.values())


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "symmetric"])
@pytest.mark.parametrize("backend", ["auto", "reference"])
@pytest.mark.parametrize("single", [True, False], ids=["query by query", "about three parts"])
def test_parts_give_the_same(
    graph: MessageGraph,
    make_network: Callable[..., NeuralBellmanFordNetwork],
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
    single: bool,
    backend: str,
    symmetric: bool,
) -> None:
    network = make_network(3, symmetric=symmetric, learned_zero=True)
    asked: list[Callable[[], Tensor]] = [lambda: network.score(graph, SOURCE, RELATION, TARGET)]
    if not symmetric:
        asked.append(lambda: network.score_all(graph, SOURCE, RELATION))
    for ask in asked:
        network.memory_limit = 4 << 30
        whole, held_whole = held_while(network, ask)
        expected = gradients(network, whole)
        network.memory_limit = 1 if single else held_whole // 3
        with use_backend(backend):
            parts, held_parts = held_while(network, ask)
            assert_same(parts, whole)
            assert_same(gradients(network, parts), expected)
            with torch.no_grad():
                assert_same(ask(), whole)
        assert held_parts < held_whole / 2  # of parts, only what goes in and comes out is kept


def test_one_query_is_never_split(graph: MessageGraph, make_network: Callable[..., Any]) -> None:
    network = make_network(3)
    expected = network.score_all(graph, SOURCE[:1], RELATION[:1])
    network.memory_limit = 1
    assert torch.equal(network.score_all(graph, SOURCE[:1], RELATION[:1]), expected)
    repeated = network.score_all(graph, SOURCE[:1].repeat(5), RELATION[:1].repeat(5))
    assert torch.equal(repeated, expected.expand(5, -1))


@needs_extension
@pytest.mark.parametrize("targets", [True, False], ids=["targets", "all nodes"])
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "composed"])
def test_the_estimate_is_within_a_factor_of_two(
    make_graph: Callable[..., MessageGraph], make_network: Callable[..., Any], fused: bool, targets: bool
) -> None:
    """Of what is really held for the way back; the score's own layers are not counted."""
    graph = random_graph(make_graph, 2000, 5000)
    network = make_network(3, dim=32, layers=4)
    pairs = np.unique(np.stack([RELATION.numpy(), SOURCE.numpy()], axis=1), axis=0)
    relation, source = pairs[:, 0], pairs[:, 1].astype(np.int32)
    ends = (np.arange(len(pairs) + 1) * 3, TARGET[: len(pairs)].flatten().numpy().astype(np.int32)) if targets else None
    frontier = network.frontier(graph, source, relation, ends)
    relations = network.query_relations(graph, torch.from_numpy(relation))
    estimate = frontier.memory(32, 8, with_gradient=True, fused=fused)
    with use_backend("auto" if fused else "reference"):
        result, held = held_while(network, lambda: evaluate_rows(relations, list(network.layers), frontier))
    assert 0.5 < estimate / (held + result.nbytes) < 2
    if fused:
        assert held < 1.5 * sum(frontier.plan.rows(t) for t in range(5)) * 32 * 8  # no message is ever stored
    else:
        assert held > frontier.plan.edges * 32 * 8


@needs_extension
@pytest.mark.parametrize(("nodes", "relations"), [(2000, 3), (100, 150)])
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "composed"])
def test_the_estimate_of_alternating_edges(
    make_graph: Callable[..., MessageGraph],
    make_network: Callable[..., Any],
    fused: bool,
    nodes: int,
    relations: int,
) -> None:
    """Of every relation and every node of every query, whichever are more."""
    rng = np.random.default_rng(3)
    edges = rng.integers([nodes, relations, nodes], size=(3 * nodes, 3)).tolist()
    graph, network = make_graph(nodes, relations, edges), make_network(0, edges="alternating", dim=32, layers=4)
    estimate = alternating_memory(graph, len(SOURCE), network.config, network.like, fused=fused)
    target = torch.zeros(len(SOURCE), 1, dtype=torch.long)
    with use_backend("auto" if fused else "reference"):
        _, held = held_while(network, lambda: network.score(graph, SOURCE % nodes, RELATION, target))
    last = len(SOURCE) * nodes * 32 * 8  # only some of its rows go into the score
    assert 0.5 < estimate / (held + last) < 2


@needs_extension
def test_without_gradients_two_iterations_are_held(graph: MessageGraph, make_network: Callable[..., Any]) -> None:
    network = make_network(3, dim=32, layers=6)
    frontier = network.frontier(graph, np.array([0, 7], dtype=np.int32), np.array([0, 1]), None)
    rows = [frontier.plan.rows(t) for t in range(7)]
    two_iterations = max(a + b for a, b in pairwise(rows)) * 32 * 8
    assert 0.5 < frontier.memory(32, 8, with_gradient=False, fused=True) / two_iterations < 2
