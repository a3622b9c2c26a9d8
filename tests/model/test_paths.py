"""From paths to the compiled frontier: a network whose update changes nothing computes the paper's path formulation.

With DistMult and sum, for example, h_v is the sum over all paths to v of the product of their edges (plus_times).
The oracle walks every path, edge by edge. Every way to compute the same must agree with it, forward and back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES, use_backend
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

ITERATIONS, DIM = 3, 4
BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]


@dataclass(frozen=True)
class Semiring:
    """What the oracle does along a path and over paths, and the operators that ought to do the same."""

    message: str
    aggregate: str
    along: Callable[[Tensor, Tensor], Tensor]
    over: Callable[[Tensor], Tensor]  # of (path, query, dim)
    statistic: int | None = None  # which of PNA's is looked at
    shares: bool = False  # mean: every row divides by the number of its messages


def complex_product(a: Tensor, b: Tensor) -> Tensor:
    both = torch.complex(*a.chunk(2, dim=-1)) * torch.complex(*b.chunk(2, dim=-1))
    return torch.cat([both.real, both.imag], dim=-1)


def largest(paths: Tensor) -> Tensor:
    return paths.amax(0)


def smallest(paths: Tensor) -> Tensor:
    return paths.amin(0)


def total(paths: Tensor) -> Tensor:
    return paths.sum(0)


SEMIRINGS = {
    "plus_times": Semiring("distmult", "sum", torch.mul, total),
    "complex plus_times": Semiring("rotate", "sum", complex_product, total),
    "random walk": Semiring("distmult", "mean", torch.mul, total, shares=True),
    "max_times": Semiring("distmult", "max", torch.mul, largest),
    "min_times": Semiring("distmult", "min", torch.mul, smallest),
    "max_plus": Semiring("transe", "max", torch.add, largest),
    "min_plus": Semiring("transe", "min", torch.add, smallest),
    "max_times of pna": Semiring("distmult", "pna", torch.mul, largest, statistic=1),
    "min_plus of pna": Semiring("transe", "pna", torch.add, smallest, statistic=2),
}


def paths_to(graph: MessageGraph, node: int, length: int) -> Iterator[list[tuple[int, int]]]:
    """Every path of at most so many edges that ends in a node, as its edges (head, relation), the last one first."""
    yield []
    if length > 0:
        csr = graph.csr
        for slot in range(csr.indptr[node], csr.indptr[node + 1]):
            head, relation = int(csr.source[slot]), int(csr.relation[slot])
            for rest in paths_to(graph, head, length - 1):
                yield [(head, relation), *rest]


def enumerate_paths(graph: MessageGraph, boundary: Tensor, edges: list[Tensor], semiring: Semiring) -> Tensor:
    """(query, node, dim): over all paths from any node x to v, boundary_x along each iteration's edges (relation, dim).

    A path of L edges takes the last L of the iterations: the boundary joins at every one.
    """
    representations = []
    for node in range(graph.num_nodes):
        values = []
        for path in paths_to(graph, node, ITERATIONS):
            nodes = [node, *(head for head, _ in path)]
            value = boundary[:, nodes[-1]]
            for step, (_, relation) in enumerate(reversed(path)):
                value = semiring.along(value, edges[ITERATIONS - len(path) + step][relation])
            if semiring.shares:
                # The first node of a path of full length passes on its boundary before anything was divided.
                dividing = nodes if len(path) < ITERATIONS else nodes[:-1]
                value = value / math.prod(int(graph.csr.degree[v]) + 1 for v in dividing)
            values.append(value)
        representations.append(semiring.over(torch.stack(values)))
    return torch.stack(representations, dim=1)


def linear_network(semiring: Semiring, num_relations: int, learned_zero: bool) -> NeuralBellmanFordNetwork:
    """A network whose update takes what was aggregated as it is: W = [0, 1], b = 0, and ReLU sees nothing negative."""
    torch.manual_seed(11)
    config = ModelConfig(
        dim=DIM,
        layers=ITERATIONS,
        message=semiring.message,
        aggregate=semiring.aggregate,
        edges="independent",
        layer_norm=False,
        shortcut=False,
        learned_zero=learned_zero,
    )
    network = NeuralBellmanFordNetwork(config, num_relations).double()

    def positive(parameter: Tensor) -> None:
        parameter.uniform_(0.5, 1.5)
        if semiring.message == "rotate":
            parameter[..., DIM // 2 :] *= 0.1  # small angles: products stay in the first quadrant

    with torch.no_grad():
        positive(network.indicator.query.weight)
        if network.indicator.zero is not None:
            positive(network.indicator.zero)
        for layer in network.layers:
            positive(layer.edges.relation.weight)
            layer.linear.bias.zero_()
            layer.linear.weight.zero_()
            for i in range(DIM):
                column = i if semiring.statistic is None else (i * 4 + semiring.statistic) * 3
                layer.linear.weight[i, DIM + column] = 1
    return network


def queries_of(graph: MessageGraph) -> tuple[Tensor, Tensor]:
    source = torch.tensor(sorted({0, graph.num_nodes // 2, graph.num_nodes - 1}))
    return source, source % graph.num_relations


def every_way(
    network: NeuralBellmanFordNetwork, graph: MessageGraph, semiring: Semiring, represent: Callable[..., Tensor]
) -> Iterator[tuple[str, Callable[[], Tensor]]]:
    """(query, node, dim) by message passing called by hand, by the plain network, and by the planned one."""
    source, relation = queries_of(graph)
    every_node = torch.arange(graph.num_nodes).expand(len(source), -1)

    def by_hand() -> Tensor:
        boundary = network.indicator(source, relation, graph.num_nodes)
        hidden = boundary
        for layer in network.layers:
            hidden = relational_spmm(
                hidden,
                layer.edges.relation.weight[None],
                boundary,
                graph.indptr,
                graph.source_index,
                graph.relation,
                message=semiring.message,
                aggregate=semiring.aggregate,
            )
            hidden = hidden if semiring.statistic is None else hidden[:, :, semiring.statistic]
        return hidden

    def one_target_at_a_time() -> Tensor:
        columns = [represent(network, graph, source, relation, node[:, None]) for node in every_node.T]
        return torch.cat(columns, dim=1)

    yield "relational_spmm", by_hand
    yield "pair_representation", lambda: network.pair_representation(graph, source, relation)
    yield "score", lambda: represent(network, graph, source, relation, every_node)
    yield "score, one target", one_target_at_a_time


@pytest.mark.parametrize("learned_zero", [False, True], ids=["zero", "learned zero"])
@pytest.mark.parametrize("semiring", SEMIRINGS.values(), ids=SEMIRINGS)
def test_every_way_sums_over_the_same_paths(
    ugly_graph: MessageGraph,
    represent: Callable[..., Tensor],
    assert_same: Callable[..., None],
    semiring: Semiring,
    learned_zero: bool,
) -> None:
    network = linear_network(semiring, ugly_graph.num_relations, learned_zero)
    source, relation = queries_of(ugly_graph)
    boundary = network.indicator(source, relation, ugly_graph.num_nodes)
    edges = [layer.edges.relation.weight for layer in network.layers]
    learned = [p for name, p in network.named_parameters() if "indicator" in name or "edges" in name]
    truth = enumerate_paths(ugly_graph, boundary, edges, semiring)
    weight = torch.randn_like(truth)
    slopes = torch.autograd.grad((truth * weight).sum(), learned, allow_unused=True, materialize_grads=True)
    backends = BACKENDS if semiring.aggregate in KERNEL_AGGREGATES else ["reference", "auto"]
    for backend in backends:
        with use_backend(backend):
            for name, way in every_way(network, ugly_graph, semiring, represent):
                got = way()
                found = torch.autograd.grad((got * weight).sum(), learned, allow_unused=True, materialize_grads=True)
                assert_same(got, truth, 1e-10, f"{backend} {name}")
                for one, other in zip(found, slopes, strict=True):
                    assert_same(one, other, 1e-10, f"{backend} {name}, gradient")
    network.float()
    for backend in backends:
        with use_backend(backend), torch.no_grad():
            for name, way in every_way(network, ugly_graph, semiring, represent):
                assert_same(way(), truth, 1e-5, f"{backend} {name} in float32")


class Scores(nn.Module):
    """A network's scores as a function of its parameters."""

    def __init__(self, network: NeuralBellmanFordNetwork, *queries: Any) -> None:
        super().__init__()
        self.network, self.queries = network, queries

    def forward(self) -> Tensor:
        return self.network.score(*self.queries)


@pytest.mark.parametrize("edges", ["dependent", "independent"])
@pytest.mark.parametrize(("message", "aggregate"), list(product(KERNEL_MESSAGES, KERNEL_AGGREGATES)))
def test_gradients_are_the_slopes_of_the_scores(
    make_graph: Callable[..., MessageGraph],
    make_network: Callable[..., NeuralBellmanFordNetwork],
    message: str,
    aggregate: str,
    edges: str,
) -> None:
    """Of every parameter, against differences of the scores: empty rows, a hub, a loop, multi-edges, an island."""
    steps = [(v, v % 2, v + 1) for v in range(9)]
    graph = make_graph(16, 2, [*steps, (2, 0, 2), (1, 1, 2), (1, 1, 2), *((v, 0, 0) for v in range(4, 9)), (12, 1, 13)])
    network = make_network(
        2, message=message, aggregate=aggregate, edges=edges, dim=4, layers=3, hidden=(3,), learned_zero=True, seed=5
    )
    source, relation = torch.tensor([0, 3, 12, 15]), torch.tensor([0, 1, 1, 0])
    target = torch.tensor([[0, 3, 15], [5, 5, 2], [13, 12, 0], [15, 1, 4]])
    scores = Scores(network, graph, source, relation, target)
    names = [name for name, _ in scores.named_parameters()]

    def of(*parameters: Tensor) -> Tensor:
        result: Tensor = torch.func.functional_call(scores, dict(zip(names, parameters, strict=True)), ())
        return result

    assert torch.autograd.gradcheck(of, tuple(scores.parameters()), fast_mode=True)
