"""A network with relational edges against an oracle: both networks written out in plain PyTorch, edge by edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm, linear

from nbfnet.config import ModelConfig
from nbfnet.errors import QueryError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import with_inverses
from nbfnet.graph.reading.read import read
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]
NODES, RELATIONS = 14, 3
SOURCE, RELATION = torch.tensor([0, 5, 5, 13, 0]), torch.tensor([1, 4, 0, 2, 1])
Network = Callable[..., NeuralBellmanFordNetwork]
Edge = tuple[int, int, int]
FOR_ANY_GRAPH = ["relational", "factorised", "alternating"]


def facts() -> list[Edge]:
    """Multi-edges and self loops among them; node 13 and the inverse ids are never a head."""
    random = np.random.default_rng(3)
    drawn = random.integers([NODES - 1, RELATIONS, NODES - 1], size=(20, 3)).tolist()
    return [(h, r, t) for h, r, t in [*drawn, drawn[0], (4, 1, 4)]]


@pytest.fixture(scope="module")
def graph() -> MessageGraph:
    both = with_inverses(Triplets.of(*np.array(facts(), dtype=np.int32).T), RELATIONS)
    return MessageGraph(RelationalCSR.from_triplets(both, NODES, 2 * RELATIONS))


def iterate(
    layers: Any, edges: list[Edge], representations: list[Tensor], start: Tensor, aggregate: str, options: ModelConfig
) -> Tensor:
    """(node, dim): the iterations of one query, message by message; representations are those of each layer."""
    hidden = start
    for layer, w in zip(layers, representations, strict=True):
        received = [[start[v]] for v in range(len(start))]
        for x, r, v in edges:
            received[v].append(hidden[x] * w[r])
        together = [torch.stack(messages) for messages in received]
        reduce = {"sum": lambda m: m.sum(0), "mean": lambda m: m.mean(0), "max": lambda m: m.amax(0)}[aggregate]
        both = torch.cat([hidden, torch.stack([reduce(messages) for messages in together])], dim=1)
        new = linear(both, layer.linear.weight, layer.linear.bias)
        if options.layer_norm:
            new = layer_norm(new, new.shape[1:], layer.layer_norm.weight, layer.layer_norm.bias)
        hidden = new.relu() + hidden if options.shortcut else new.relu()
    return hidden


def oracle(network: NeuralBellmanFordNetwork, source: int, relation: int) -> Tensor:
    """(node,) the logits of every node."""
    options = network.config
    edges = facts() + [(t, r + RELATIONS, h) for h, r, t in facts()]
    meetings = {
        (r, kind, s)
        for h, r, t in edges
        for head, s, tail in edges
        for kind, meets in enumerate((h == head, t == tail, h == tail, t == head))
        if meets
    }
    assert network.relation_network is not None
    start = torch.zeros(2 * RELATIONS, options.dim, dtype=torch.float64)
    start[relation] = 1
    second: Any = network.relation_network.layers
    kinds = [layer.edges.relation.weight for layer in second]
    known = iterate(second, sorted(meetings), kinds, start, options.aggregate, options)
    query = known[relation]
    if options.inverse_edges:
        known = torch.stack([known[(r + RELATIONS) % (2 * RELATIONS)] for r in range(2 * RELATIONS)])
    layers: Any = network.layers
    w = []
    for layer in layers:
        first, _, last = layer.edges.mlp
        w.append(linear(linear(known, first.weight, first.bias).relu(), last.weight, last.bias))
    nowhere = torch.zeros_like(query) if network.indicator.zero is None else network.indicator.zero
    begin = torch.stack([query if v == source else nowhere for v in range(NODES)])
    hidden = iterate(layers, edges, w, begin, options.aggregate, options)
    return network.score_function.mlp(torch.cat([hidden, query.expand_as(hidden)], dim=1))[:, 0]


def make(make_network: Network, **options: Any) -> NeuralBellmanFordNetwork:
    return make_network(0, **{"edges": "relational", "aggregate": "sum", "dim": 6, **options})


OPTIONS: list[dict[str, Any]] = [
    {},
    {"inverse_edges": True},
    {"aggregate": "max", "shortcut": False},
    {"aggregate": "mean", "layer_norm": False, "learned_zero": True},
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("frontier", ["auto", "off"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_and_gradients(
    options: dict[str, Any],
    frontier: str,
    backend: str,
    graph: MessageGraph,
    make_network: Network,
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
) -> None:
    network = make(make_network, **options, frontier=frontier)
    queries = list(zip(SOURCE.tolist(), RELATION.tolist(), strict=True))
    expected = torch.stack([oracle(network, *query) for query in queries])
    expected_gradients = gradients(network, expected)
    assert all(value.any() for name, value in expected_gradients.items() if "relation_network" in name)
    with use_backend(backend):  # type: ignore[arg-type]
        scores = network.score_all(graph, SOURCE, RELATION)
        assert_same(scores, expected)
        assert_same(gradients(network, scores), expected_gradients)
        target = torch.stack([torch.randperm(NODES, generator=torch.Generator().manual_seed(q)) for q in range(5)])
        some = network.score(graph, SOURCE, RELATION, target[:, :4])
        assert_same(some, expected.gather(1, target[:, :4]))
        whole = torch.cat([some, network.score(graph, SOURCE, RELATION, target[:, 4:])], dim=1)
        in_order = whole.gather(1, target.argsort(dim=1))
        assert_same(gradients(network, in_order), expected_gradients)
        with torch.no_grad():
            assert_same(network.score_all(graph, SOURCE, RELATION), expected)


@pytest.mark.parametrize("aggregate", ["sum", "pna"])
def test_compiled_and_plain_agree(
    aggregate: str,
    graph: MessageGraph,
    make_network: Network,
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
) -> None:
    network = make(make_network, aggregate=aggregate)
    plain = network.score_function(
        network.pair_representation(graph, SOURCE, RELATION),
        network.query_relations(graph, RELATION).of(RELATION)[:, None],
    )
    compiled = network.score_all(graph, SOURCE, RELATION)
    assert_same(compiled, plain)
    assert_same(gradients(network, compiled), gradients(network, plain))


def test_a_batch_in_parts_is_the_same(
    graph: MessageGraph,
    make_network: Network,
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
) -> None:
    """The relations of the whole batch are represented once, and their gradients add up over the parts."""
    network = make(make_network)
    scores = network.score_all(graph, SOURCE, RELATION)
    expected = gradients(network, scores)
    target = torch.arange(NODES).expand(len(SOURCE), -1)
    network.memory_limit = 1
    assert_same(network.score_all(graph, SOURCE, RELATION), scores)
    assert_same(gradients(network, network.score_all(graph, SOURCE, RELATION)), expected)
    assert_same(gradients(network, network.score(graph, SOURCE, RELATION, target)), expected)


def test_edge_weights_have_the_slope_of_a_difference(graph: MessageGraph, make_network: Network) -> None:
    """What explanations follow: only messages between entities are weighed, whatever the relations are made of."""
    network, target = make(make_network), torch.tensor([[3]])
    query = SOURCE[1:2], RELATION[1:2], target
    weights = [torch.ones(graph.csr.num_edges, dtype=torch.float64, requires_grad=True) for _ in network.layers]
    network.score(graph, *query, edge_weights=weights).sum().backward()
    assert weights[0].grad is not None
    edge, step = int(weights[0].grad.abs().argmax()), 1e-6
    moved = []
    for sign in (1, -1):
        changed = [w.detach().clone() for w in weights]
        changed[0][edge] += sign * step
        moved.append(network.score(graph, *query, edge_weights=changed).item())
    assert weights[0].grad[edge].item() == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("edges", FOR_ANY_GRAPH)
def test_names_and_numbers_of_relations_do_not_matter(
    edges: str, make_network: Network, assert_same: Callable[..., None]
) -> None:
    """The same facts with the relations renamed and renumbered, and one more that has no fact among the queries."""
    named = [(f"e{h}", "abc"[r], f"e{t}") for h, r, t in facts()]
    again = [(h, {"a": "x", "b": "y", "c": "z"}[r], t) for h, r, t in named]
    first, second = read(named), read(sorted(again, key=lambda fact: fact[1], reverse=True))
    network = make(make_network, edges=edges)

    def scores(graph: Graph, relation: str) -> dict[str, float]:
        source, asked = torch.tensor([graph.entities.id("e5")]), torch.tensor([graph.relations.id(relation)])
        logits = network.score_all(MessageGraph(graph.message_csr), source, asked)[0]
        return dict(zip(graph.entities, logits.tolist(), strict=True))

    before, after = scores(first, "b"), scores(second, "y")
    names = sorted(before)
    assert names == sorted(after)
    assert_same(torch.tensor([after[name] for name in names]), torch.tensor([before[name] for name in names]))


@pytest.mark.parametrize("edges", FOR_ANY_GRAPH)
def test_a_relation_without_a_fact_and_a_graph_of_one_relation(edges: str, make_network: Network) -> None:
    network = make(make_network, edges=edges)
    lonely = MessageGraph(RelationalCSR.from_triplets(Triplets.of([0, 1], [0, 2], [1, 0]), 3, 4))
    for graph in (lonely, MessageGraph(read([("a", "b"), ("b", "c")]).message_csr)):
        every = torch.arange(graph.num_relations)
        scores = network.score_all(graph, torch.zeros_like(every), every)
        assert scores.isfinite().all()
        with pytest.raises(QueryError, match="relation holds the id"):
            network.score_all(graph, torch.tensor([0]), torch.tensor([graph.num_relations]))


def test_parameters_do_not_depend_on_the_graph() -> None:
    config = ModelConfig(dim=64, layers=6, aggregate="sum", edges="relational", hidden=(128,))
    counts = NeuralBellmanFordNetwork(config, 474).parameter_counts()
    assert counts == NeuralBellmanFordNetwork(config, 2).parameter_counts()
    assert counts["total"] == 168_705  # as ULTRA has
    assert counts["indicator"] == 0
    assert counts["relations"] == 6 * (4 * 64 + 128 * 64 + 64 + 2 * 64)
