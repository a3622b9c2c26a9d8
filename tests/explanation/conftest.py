"""What tests of explanations share: small graphs, random networks, and the two beam searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from nbfnet.config import ModelConfig
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.kernels.backend import backend_for
from nbfnet.model.network import NeuralBellmanFordNetwork

Edge = tuple[int, int, int]


@pytest.fixture(autouse=True, scope="session")
def _warn_before_the_tests() -> None:
    """Where the extension was not built, the one warning about it is shown here, and fails no test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        backend_for(torch.device("cpu"), torch.float32, "distmult", "sum")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def make_csr() -> Callable[[int, int, list[Edge]], RelationalCSR]:
    """The edges (head, relation, tail) as they are, without inverses."""

    def make(num_nodes: int, num_relations: int, edges: list[Edge]) -> RelationalCSR:
        head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
        return RelationalCSR.from_triplets(Triplets.of(head, relation, tail), num_nodes, num_relations)

    return make


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., Graph]:
    """A graph of named entities and relations, numbered in the order of the lists."""

    def make(entities: list[str], relations: list[str], edges: list[Edge], kind: str = "knowledge") -> Graph:
        head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
        return Graph(
            "small",
            kind,
            Vocabulary.of(entities),
            Vocabulary.of(relations, role="relation"),
            Triplets.of(head, relation, tail),
        )

    return make


@pytest.fixture(scope="session")
def make_network() -> Callable[..., NeuralBellmanFordNetwork]:
    """A network in float64 whose every parameter is random: the same for the same seed."""

    def make(num_relations: int, *, seed: int = 0, **options: Any) -> NeuralBellmanFordNetwork:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            settings = {"dim": 8, "layers": 3, "hidden": (16,), **options}
            network = NeuralBellmanFordNetwork(ModelConfig.model_validate(settings), num_relations).double()
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.3)
        return network

    return make
