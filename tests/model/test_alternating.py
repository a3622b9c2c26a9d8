"""Alternating edges, and factorised ones, against an oracle: entity by entity, pair of relations by pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm, linear

from nbfnet.config import ModelConfig
from nbfnet.errors import QueryError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]
Network = Callable[..., NeuralBellmanFordNetwork]
Gradients = Callable[..., dict[str, Tensor]]
Edge = tuple[int, int, int]


def both_ways(facts: list[Edge], relations: int) -> list[Edge]:
    return facts + [(t, r + relations, h) for h, r, t in facts]


def drawn() -> list[Edge]:
    facts = np.random.default_rng(3).integers([13, 3, 13], size=(20, 3)).tolist()
    return [(h, r, t) for h, r, t in [*facts, facts[0], (4, 1, 4)]]


# (nodes, relation ids, edges)
GRAPHS: dict[str, tuple[int, int, list[Edge]]] = {
    "loops, multi-edges, an isolated node": (14, 6, both_ways(drawn(), 3)),
    "a relation of one fact, one of none": (6, 6, both_ways([(0, 0, 1), (1, 0, 2), (2, 1, 3), (0, 0, 4)], 3)),
    "no inverses": (5, 3, [(0, 0, 1), (1, 1, 2), (1, 1, 2), (2, 2, 2), (3, 0, 1), (0, 2, 3)]),
    "one relation": (5, 2, both_ways([(0, 0, 1), (1, 0, 2), (2, 0, 0), (3, 0, 3)], 1)),
    "undirected": (5, 1, [(0, 0, 1), (1, 0, 0), (1, 0, 2), (2, 0, 1), (3, 0, 3)]),
    "one fact": (2, 2, [(0, 0, 1), (1, 1, 0)]),
    "no edge": (3, 2, []),
}


@pytest.fixture(params=GRAPHS)
def case(request: pytest.FixtureRequest) -> tuple[int, int, list[Edge]]:
    return GRAPHS[request.param]


def graph_of(nodes: int, relations: int, edges: list[Edge]) -> MessageGraph:
    head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    return MessageGraph(RelationalCSR.from_triplets(Triplets.of(head, relation, tail), nodes, relations))


def queries(nodes: int, relations: int) -> tuple[Tensor, Tensor]:
    """Some that share a source, some that share a relation, and one twice."""
    every = [(5 * i % nodes, 3 * i % relations) for i in range(4)] + [(nodes - 1, relations - 1), (0, 0), (0, 0)]
    source, relation = torch.tensor(every).T
    return source, relation


def normalised(new: Tensor, old: Tensor, layer: Any, options: ModelConfig) -> Tensor:
    if options.layer_norm:
        new = layer_norm(new, new.shape, layer.layer_norm.weight, layer.layer_norm.bias)
    return new.relu() + old if options.shortcut else new.relu()


def update_relations(
    layer: Any, known: list[Tensor], start: list[Tensor], hidden: list[Tensor] | None, edges: list[Edge], config: Any
) -> list[Tensor]:
    """By the definition: every pair of relations at every entity, in each combination of roles."""
    nodes = {v for h, _, t in edges for v in (h, t)}
    has = {(role, v): {r for h, r, t in edges if (h, t)[role] == v} for role in (0, 1) for v in nodes}
    new = []
    for s in range(len(known)):
        parts = [known[s]]
        for to in (0, 1):  # the role of the entity in the facts of s
            entities = sorted({(h, t)[to] for h, r, t in edges if r == s})
            for with_entity in (False, True) if hidden is not None else (False,):
                for of in (0, 1):  # its role in the facts of the other relation
                    received = torch.zeros_like(known[s])
                    for v in entities:
                        for r in has[of, v]:
                            message = known[r] * hidden[v] if with_entity and hidden is not None else known[r]
                            received = received + message / len(has[of, v]) / len(entities)
                    parts.append(received + start[s])
        new.append(
            normalised(linear(torch.cat(parts), layer.linear.weight, layer.linear.bias), known[s], layer, config)
        )
    return new


def update_entities(
    layer: Any, hidden: list[Tensor], start: list[Tensor], known: list[Tensor], edges: list[Edge], config: Any
) -> list[Tensor]:
    """Message by message."""
    if config.inverse_edges:
        half = len(known) // 2
        known = known[half:] + known[:half]
    first, _, last = layer.edges.mlp
    w = [linear(linear(x, first.weight, first.bias).relu(), last.weight, last.bias) for x in known]
    received = [[at] for at in start]
    for x, r, v in edges:
        received[v].append(hidden[x] * w[r])
    reduce = {"sum": lambda m: m.sum(0), "mean": lambda m: m.mean(0), "max": lambda m: m.amax(0)}[config.aggregate]
    together = [torch.cat([h, reduce(torch.stack(m))]) for h, m in zip(hidden, received, strict=True)]
    return [
        normalised(linear(both, layer.linear.weight, layer.linear.bias), h, layer, config)
        for both, h in zip(together, hidden, strict=True)
    ]


def oracle(
    network: NeuralBellmanFordNetwork, nodes: int, relations: int, edges: list[Edge], source: int, relation: int
) -> Tensor:
    """(node,) the logits of every node."""
    config, layers = network.config, list(network.layers)
    nothing = torch.zeros(config.dim, dtype=torch.float64)
    nowhere = nothing if network.indicator.zero is None else network.indicator.zero
    known = start = [nothing + 1 if r == relation else nothing for r in range(relations)]
    if config.edges == "factorised":
        assert network.relation_network is not None
        for update in network.relation_network.layers:  # type: ignore[union-attr]
            known = update_relations(update, known, start, None, edges, config)
        hidden = [known[relation] if v == source else nowhere for v in range(nodes)]
        begin = hidden
        for layer in layers:
            hidden = update_entities(layer, hidden, begin, known, edges, config)
    else:
        assert network.alternation is not None
        hidden = [nothing + 1 if v == source else nowhere for v in range(nodes)]
        for layer, update in zip(layers, network.alternation.updates, strict=True):
            known = update_relations(update, known, start, hidden, edges, config)
            begin = [known[relation] if v == source else nowhere for v in range(nodes)]
            hidden = update_entities(layer, hidden, begin, known, edges, config)
    return torch.stack([network.score_function.mlp(torch.cat([h, known[relation]]))[0] for h in hidden])


def make(make_network: Network, **options: Any) -> NeuralBellmanFordNetwork:
    return make_network(0, **{"edges": "alternating", "aggregate": "sum", "dim": 4, **options})


OPTIONS: list[dict[str, Any]] = [
    {},
    {"edges": "factorised"},
    {"aggregate": "max", "shortcut": False},
    {"aggregate": "mean", "layer_norm": False, "learned_zero": True},
]


def compare(
    network: NeuralBellmanFordNetwork,
    case: tuple[int, int, list[Edge]],
    backend: Any,
    gradients: Gradients,
    assert_same: Callable[..., None],
) -> None:
    nodes = case[0]
    graph, (source, relation) = graph_of(*case), queries(*case[:2])
    asked = zip(source.tolist(), relation.tolist(), strict=True)
    expected = torch.stack([oracle(network, *case, *query) for query in asked])
    expected_gradients = gradients(network, expected)
    with use_backend(backend):
        scores = network.score_all(graph, source, relation)
        assert_same(scores, expected)
        assert_same(gradients(network, scores), expected_gradients)
        target = torch.stack([torch.randperm(nodes, generator=torch.Generator().manual_seed(q)) for q in range(7)])
        some = network.score(graph, source, relation, target[:, :2])
        assert_same(some, expected.gather(1, target[:, :2]))
        whole = torch.cat([some, network.score(graph, source, relation, target[:, 2:])], dim=1)
        assert_same(gradients(network, whole.gather(1, target.argsort(dim=1))), expected_gradients)
        with torch.no_grad():
            assert_same(network.score_all(graph, source, relation), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_and_gradients(
    options: dict[str, Any],
    backend: str,
    case: tuple[int, int, list[Edge]],
    make_network: Network,
    gradients: Gradients,
    assert_same: Callable[..., None],
) -> None:
    compare(make(make_network, **options), case, backend, gradients, assert_same)


@pytest.mark.parametrize("edges", ["alternating", "factorised"])
def test_edges_that_take_the_inverse(
    edges: str, make_network: Network, gradients: Gradients, assert_same: Callable[..., None]
) -> None:
    network = make(make_network, edges=edges, inverse_edges=True)
    compare(network, GRAPHS["loops, multi-edges, an isolated node"], "auto", gradients, assert_same)


def test_every_parameter_is_learned(make_network: Network, gradients: Gradients) -> None:
    for edges in ("alternating", "factorised"):
        network, case = make(make_network, edges=edges), GRAPHS["loops, multi-edges, an isolated node"]
        found = gradients(network, network.score_all(graph_of(*case), *queries(*case[:2])))
        assert all(value.any() for value in found.values())


@pytest.mark.parametrize("aggregate", ["sum", "pna"])
def test_compiled_and_plain_agree(
    aggregate: str, case: tuple[int, int, list[Edge]], make_network: Network, gradients: Gradients, assert_same: Any
) -> None:
    network = make(make_network, aggregate=aggregate, dim=8)
    graph, query = graph_of(*case), queries(*case[:2])
    with use_backend("reference"):
        plain = network.score_all(graph, *query)
    compiled = network.score_all(graph, *query)
    assert_same(compiled, plain)
    assert_same(gradients(network, compiled), gradients(network, plain))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pair_representations_are_those_that_are_scored(
    backend: Any, make_network: Network, represent: Any, assert_same: Any
) -> None:
    network, case = make(make_network), GRAPHS["loops, multi-edges, an isolated node"]
    graph, (source, relation) = graph_of(*case), queries(*case[:2])
    target = torch.arange(case[0]).expand(len(source), -1)
    with use_backend(backend):
        assert_same(
            represent(network, graph, source, relation, target), network.pair_representation(graph, source, relation)
        )


@pytest.mark.parametrize("edges", ["alternating", "factorised"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_batch_in_parts_is_the_same(
    symmetric: bool, edges: str, make_network: Network, gradients: Gradients, assert_same: Callable[..., None]
) -> None:
    case = GRAPHS["undirected" if symmetric else "loops, multi-edges, an isolated node"]
    network, graph, query = make(make_network, edges=edges, symmetric=symmetric), graph_of(*case), queries(*case[:2])
    scores = network.score_all(graph, *query)
    expected = gradients(network, scores)
    network.memory_limit = 1
    if network.relation_network is not None:
        network.relation_network.memory_limit = 1
    assert_same(network.score_all(graph, *query), scores)
    assert_same(gradients(network, network.score_all(graph, *query)), expected)


def test_a_symmetric_score_adds_both_directions(make_network: Network, represent: Any, assert_same: Any) -> None:
    case = GRAPHS["undirected"]
    network, one_way = make(make_network, symmetric=True), make(make_network)
    graph, source, relation = graph_of(*case), torch.tensor([1]), torch.tensor([0])
    there = represent(one_way, graph, source, relation, torch.tensor([[3]]))
    back = represent(one_way, graph, torch.tensor([3]), relation, torch.tensor([[1]]))
    assert_same(represent(network, graph, source, relation, torch.tensor([[3]])), there + back)


def test_no_query_and_no_target(make_network: Network) -> None:
    network, case = make(make_network), GRAPHS["no inverses"]
    nothing = torch.zeros(0, dtype=torch.long)
    assert network.score_all(graph_of(*case), nothing, nothing).shape == (0, case[0])
    assert network.score(graph_of(*case), torch.tensor([1]), torch.tensor([0]), nothing[None]).shape == (1, 0)
    with pytest.raises(QueryError, match="relation holds the id"):
        network.score_all(graph_of(*case), torch.tensor([0]), torch.tensor([3]))


@pytest.mark.parametrize("edges", ["alternating", "factorised"])
def test_a_hidden_edge_leaves_nothing_behind(edges: str, make_network: Network, assert_same: Any) -> None:
    """A query is scored as on a graph that never had the hidden facts, so they cannot be told from what is left."""
    network = make(make_network, edges=edges)
    nodes, relations, kept = GRAPHS["a relation of one fact, one of none"]
    with_more = kept + both_ways([(2, 2, 5), (3, 1, 5)], 3)
    hidden = graph_of(nodes, relations, with_more)
    slots = np.flatnonzero(hidden.csr.edge >= len(kept))
    query = queries(nodes, relations)
    for view in (hidden.csr.hide(slots), hidden.csr.hide(slots[:2]).hide(np.flatnonzero(hidden.csr.edge >= 99))):
        edge = sorted(view.edge.tolist())
        alone = graph_of(nodes, relations, [with_more[e] for e in edge])
        assert_same(network.score_all(MessageGraph(view), *query), network.score_all(alone, *query))


def test_relations_meet_by_a_sample_of_the_facts(make_network: Network, assert_same: Any) -> None:
    """As training.relation_sample has it: hidden edges are not among them either."""
    nodes, relations, edges = GRAPHS["loops, multi-edges, an isolated node"]
    csr = graph_of(nodes, relations, edges).csr
    sample = replace(csr.keep(csr.edge % 3 > 0), whole=None)
    view = replace(csr.hide(np.arange(20)), whole=sample)
    expected = {e for e in view.edge.tolist() if e % 3}
    assert set(view.known.edge.tolist()) == expected
    assert csr.known is csr
    heads = {(edges[e][0], edges[e][1]) for e in expected}
    assert set(zip(view.known.heads.node.tolist(), view.known.heads.relation.tolist(), strict=True)) == heads


@pytest.mark.parametrize("backend", BACKENDS)
def test_edge_weights_have_the_slope_of_a_difference(backend: Any, make_network: Network) -> None:
    """What explanations follow: a message counts for what it does to its entity, and through it to the relations."""
    network, case = make(make_network), GRAPHS["loops, multi-edges, an isolated node"]
    graph = graph_of(*case)
    query = torch.tensor([5]), torch.tensor([4]), torch.tensor([[3]])
    weights = [torch.ones(graph.csr.num_edges, dtype=torch.float64, requires_grad=True) for _ in network.layers]
    with use_backend(backend):
        network.score(graph, *query, edge_weights=weights).sum().backward()
        for t, weight in enumerate(weights):
            assert weight.grad is not None
            edge, step = int(weight.grad.abs().argmax()), 1e-6
            moved = []
            for sign in (1, -1):
                changed = [w.detach().clone() for w in weights]
                changed[t][edge] += sign * step
                moved.append(network.score(graph, *query, edge_weights=changed).item())
            assert weight.grad[edge].item() == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5)


def test_the_size_of_a_graph_does_not_matter(make_network: Network, assert_same: Any) -> None:
    """Means, not sums: as many copies of a graph as one likes give the relations the same representations."""
    network, (nodes, relations, edges) = make(make_network, edges="factorised"), GRAPHS["no inverses"]
    copies = [(h + i * nodes, r, t + i * nodes) for i in range(3) for h, r, t in edges]
    asked = torch.arange(relations)
    assert network.relation_network is not None
    once = network.relation_network(graph_of(nodes, relations, edges), asked)
    assert_same(network.relation_network(graph_of(3 * nodes, relations, copies), asked), once)


@pytest.mark.parametrize("edges", ["relational", "factorised", "alternating"])
def test_what_the_relation_graph_cannot_tell_apart(edges: str, make_network: Network) -> None:
    """Relations 1 and 2 meet the others in the same ways; but half of 2's heads have relation 0, of 1's a third."""
    facts = [(0, 1, 1), (0, 2, 2), (3, 0, 4), (3, 1, 5), (6, 0, 7), (6, 2, 8), (9, 1, 10)]
    network, graph = make(make_network, edges=edges), graph_of(11, 6, both_ways(facts, 3))
    by_first, by_second = network.score(graph, torch.tensor([0]), torch.tensor([0]), torch.tensor([[1, 2]]))[0].tolist()
    assert (abs(by_first - by_second) < 1e-12) == (edges == "relational")


def test_there_is_no_background(make_network: Network) -> None:
    """The source changes the relations, and with them every entity."""
    assert not make(make_network).has_background(graph_of(*GRAPHS["no inverses"]))


def test_parameters_do_not_depend_on_the_graph() -> None:
    config = ModelConfig(dim=32, layers=6, aggregate="sum", edges="alternating", hidden=(64,))
    counts = NeuralBellmanFordNetwork(config, 474).parameter_counts()
    assert counts == NeuralBellmanFordNetwork(config, 2).parameter_counts()
    assert counts["indicator"] == 0
    assert counts["relations"] == 6 * (9 * 32 * 32 + 32 + 2 * 32)
