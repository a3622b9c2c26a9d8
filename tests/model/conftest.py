"""What tests of the model share: ugly graphs, networks with every parameter random, comparison of gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import backend_for
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork

Edge = tuple[int, int, int]

UGLY_GRAPHS: dict[str, tuple[int, int, list[Edge]]] = {
    "one node": (1, 2, []),
    "one loop": (1, 2, [(0, 1, 0)]),
    "no edge": (4, 2, []),
    "multi-edges": (3, 2, [(0, 0, 1), (0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 2), (1, 1, 2), (2, 0, 2)]),
    "hub": (9, 3, [(v, v % 3, 0) for v in range(1, 9)] + [(0, v % 3, v) for v in range(1, 9)] + [(0, 0, 0)]),
    "islands": (9, 2, [(0, 0, 1), (1, 1, 0), (3, 0, 4), (4, 1, 5), (5, 0, 3), (7, 1, 7)]),
    "chain": (12, 2, [(v, v % 2, v + 1) for v in range(11)]),
    "both ways": (12, 2, [(v, 0, v + 1) for v in range(11)] + [(v + 1, 1, v) for v in range(11)]),
}


@pytest.fixture(autouse=True, scope="session")
def _warn_before_the_tests() -> None:
    """Where the extension was not built, the one warning about it is shown here, and fails no test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        backend_for(torch.device("cpu"), torch.float32, "distmult", "sum")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small tensors are slower on many threads; tests that are about threads set their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def make_graph() -> Callable[[int, int, list[Edge]], MessageGraph]:
    """A graph of (nodes, relations, edges)."""

    def make(num_nodes: int, num_relations: int, edges: list[Edge]) -> MessageGraph:
        head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
        return MessageGraph(RelationalCSR.from_triplets(Triplets.of(head, relation, tail), num_nodes, num_relations))

    return make


@pytest.fixture(params=UGLY_GRAPHS)
def ugly_graph(request: pytest.FixtureRequest, make_graph: Callable[..., MessageGraph]) -> MessageGraph:
    return make_graph(*UGLY_GRAPHS[request.param])


@pytest.fixture(scope="session")
def make_network() -> Callable[..., NeuralBellmanFordNetwork]:
    """A network in float64 whose every parameter is random: the same for the same seed."""

    def make(num_relations: int, *, seed: int = 0, operators: dict[str, Any] | None = None, **options: Any) -> Any:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            settings = {"dim": 8, "layers": 3, "hidden": (16,), **options}
            network = NeuralBellmanFordNetwork(ModelConfig(**settings), num_relations, **(operators or {})).double()
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.3)
        return network

    return make


class _Representation(nn.Module):
    """In the place of the score: the pair representation itself."""

    def forward(self, representation: Tensor, query: Tensor) -> Tensor:
        return representation


@pytest.fixture(scope="session")
def represent() -> Callable[..., Tensor]:
    """h_q(u, v), (query, candidate, dim), of targets (query, candidate), just as ``score`` computes it."""

    def ask(network: NeuralBellmanFordNetwork, *query: Any) -> Tensor:
        score, network.score_function = network.score_function, _Representation()
        try:
            return network.score(*query)
        finally:
            network.score_function = score

    return ask


@pytest.fixture(scope="session")
def gradients() -> Callable[[NeuralBellmanFordNetwork, Tensor], dict[str, Tensor]]:
    """The gradients of a loss that treats every score differently, of every parameter that it depends on."""

    def of(network: NeuralBellmanFordNetwork, scores: Tensor) -> dict[str, Tensor]:
        network.zero_grad()
        weight = torch.linspace(-1, 1, scores.numel(), dtype=scores.dtype).view_as(scores)
        (scores.sigmoid() * weight + scores * 0.1).sum().backward()
        return {
            name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in network.named_parameters()
        }

    return of


@pytest.fixture(scope="session")
def assert_same() -> Callable[..., None]:
    """Scores and gradients agree to a tolerance relative to the largest number of each tensor."""

    def check(got: Any, expected: Any, tolerance: float = 1e-10, what: str = "scores") -> None:
        if isinstance(expected, dict):
            assert got.keys() == expected.keys()
            for name in expected:
                check(got[name], expected[name], tolerance, name)
            return
        assert got.shape == expected.shape, what
        if expected.numel():
            scale = max(expected.abs().max().item(), 1e-3)
            difference = (got.double() - expected.double()).abs().max().item()
            assert difference <= tolerance * scale, f"{what} differ by {difference / scale:.3g} of {scale:.3g}"

    return check
