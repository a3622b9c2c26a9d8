"""NeuralLP and DRUM: linear instances, compiled and in plain PyTorch, against the classical algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nbfnet.config import make_config
from nbfnet.errors import ConfigError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.semiring import PLUS_TIMES
from nbfnet.semiring.weighted_edges import WeightedEdges

KINDS: list[dict[str, Any]] = [
    {"kind": "neurallp", "lstm": 5},
    {"kind": "drum", "lstm": 5, "rank": 1},
    {"kind": "drum", "lstm": 5, "rank": 3},
]
BACKENDS = ["auto", "reference"] if native_available() else ["reference"]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind['kind']}-{kind.get('rank', 1)}")
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture(scope="session")
def make_rules() -> Callable[..., NeuralBellmanFordNetwork]:
    """A network of rules in float64 with random parameters."""

    def make(num_relations: int, **options: Any) -> NeuralBellmanFordNetwork:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            network = NeuralBellmanFordNetwork(make_config({"model": options}).model, num_relations).double()
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.5)
        return network

    return make


def unrolled(csr: RelationalCSR, weights: Tensor) -> tuple[WeightedEdges, int]:
    """The graph of (step, node): an edge from each step to the next for every fact, and one for staying, by weight."""
    steps, n = len(weights), csr.num_nodes
    edges, weight = [], []
    for t in range(steps):
        for slot in range(csr.num_edges):
            edges.append((t * n + csr.source[slot], 0, (t + 1) * n + csr.target[slot]))
            weight.append(float(weights[t, csr.relation[slot]]))
        for v in range(n):
            edges.append((t * n + v, 0, (t + 1) * n + v))
            weight.append(float(weights[t, -1]))
    head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    triplets = Triplets(head, relation, tail, np.array(weight))
    return WeightedEdges.of(RelationalCSR.from_triplets(triplets, (steps + 1) * n, 1)), steps * n


def classical(graph: MessageGraph, weights: Tensor, source: int) -> Float64:
    """(node,) the sum over ranks of the classical plus_times sums with the weights (step, relation + 1, rank)."""
    sums = np.zeros(graph.num_nodes)
    for rank in range(weights.shape[2]):
        edges, last = unrolled(graph.csr, weights[:, :, rank])
        sums += bellman_ford(edges, [source], PLUS_TIMES, iterations=len(weights))[0, last:]
    return sums


def odds(network: NeuralBellmanFordNetwork, logits: Tensor) -> Float64:
    """The weight of the paths, of the logits."""
    found: Float64 = (logits - network.score_function.constant).exp().detach().numpy()
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_linear_instance_is_the_classical_algorithm(
    kind: dict[str, Any], backend: Any, ugly_graph: MessageGraph, make_rules: Callable[..., NeuralBellmanFordNetwork]
) -> None:
    network = make_rules(ugly_graph.num_relations, layers=3, **kind)
    queries = [(u, q) for u in range(ugly_graph.num_nodes) for q in range(ugly_graph.num_relations)]
    source, relation = (torch.tensor(ids) for ids in zip(*queries, strict=True))
    weights = network.rule_weights(relation).detach()
    expected = np.stack([classical(ugly_graph, weights[i], u) for i, (u, _) in enumerate(queries)])
    nodes = torch.arange(ugly_graph.num_nodes).expand(len(queries), -1)
    with use_backend(backend):
        every = odds(network, network.score_all(ugly_graph, source, relation))
        chosen = odds(network, network.score(ugly_graph, source, relation, nodes))
    plain = network.pair_representation(ugly_graph, source, relation).sum(dim=2).detach().numpy()
    for found in (every, chosen, plain):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-15)


def test_one_weight_for_all_steps_is_the_sum_over_paths_of_so_many_edges(
    make_graph: Callable[..., MessageGraph], make_rules: Callable[..., NeuralBellmanFordNetwork]
) -> None:
    """With a loop at each node for staying, h(T) sums the walks of exactly T edges: BF(T) - BF(T - 1)."""
    facts = [(0, 0, 1), (1, 1, 2), (2, 0, 3), (3, 1, 0), (1, 0, 3), (0, 1, 2)]
    graph, steps = make_graph(4, 2, facts), 4
    network = make_rules(2, kind="neurallp", lstm=3, layers=steps)
    network.rule_weights.forward = lambda relation: torch.tensor(  # type: ignore[method-assign, union-attr]
        [0.4, 0.25, 0.35], dtype=torch.float64
    ).expand(len(relation), steps, 3)[..., None]
    loops = [(v, 2, v) for v in range(4)]
    head, relation, tail = np.array(facts + loops, dtype=np.int32).T
    weight = np.array([0.4, 0.25, 0.35])[relation]
    csr = RelationalCSR.from_triplets(Triplets(head, relation, tail, weight), 4, 3)
    walks = [bellman_ford(WeightedEdges.of(csr), [0], PLUS_TIMES, iterations=t)[0] for t in (steps, steps - 1)]
    found = odds(network, network.score_all(graph, torch.tensor([0]), torch.tensor([0])))[0]
    np.testing.assert_allclose(found, walks[0] - walks[1], rtol=1e-6)


@pytest.mark.skipif(not native_available(), reason="the compiled extension is not there")
def test_compiled_gradients_are_those_of_plain_pytorch(
    kind: dict[str, Any],
    ugly_graph: MessageGraph,
    make_rules: Callable[..., NeuralBellmanFordNetwork],
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
) -> None:
    network = make_rules(ugly_graph.num_relations, layers=3, **kind)
    source, relation = torch.tensor([0, 0, 0]), torch.tensor([0, 1, 0])
    found = gradients(network, network.score_all(ugly_graph, source, relation))
    with use_backend("reference"):
        composed = gradients(network, network.score_all(ugly_graph, source, relation))
    plain_scores = network.score_function(network.pair_representation(ugly_graph, source, relation), source)
    plain = gradients(network, plain_scores)
    assert_same(found, plain)
    assert_same(composed, plain)


def test_weights_of_edges_have_their_gradient(
    make_graph: Callable[..., MessageGraph], make_rules: Callable[..., NeuralBellmanFordNetwork]
) -> None:
    """Explanations weigh messages; compiled and plain give the same slopes."""
    graph = make_graph(4, 2, [(0, 0, 1), (1, 1, 2), (2, 0, 3), (0, 1, 2)])
    network = make_rules(2, kind="drum", lstm=3, layers=3)
    slopes = []
    for backend in BACKENDS:
        weights = [torch.ones(4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        with use_backend(backend):  # type: ignore[arg-type]
            query = torch.tensor([0]), torch.tensor([1]), torch.tensor([[3]])
            logit = network.score(graph, *query, edge_weights=weights)[0, 0]
        slopes.append(torch.stack(torch.autograd.grad(logit, weights)))
    assert slopes[0].abs().sum() > 0.5
    for other in slopes[1:]:
        torch.testing.assert_close(slopes[0], other)


def test_its_parameters_are_the_lstm_and_a_constant() -> None:
    config = make_config({"model": {"kind": "drum", "lstm": 4, "rank": 2}}).model
    counts = NeuralBellmanFordNetwork(config, 6).parameter_counts()
    lstm = 2 * (4 * 4 * (4 + 4) + 2 * 4 * 4)  # both ways: four gates, two biases each
    assert counts["message"] == 6 * 4 + 2 * lstm + (8 + 1) * 7
    assert (counts["indicator"], counts["aggregate"], counts["score"]) == (0, 0, 1)
    assert counts["total"] == counts["message"] + 1


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"kind": "drum", "message": "transe"}, "message"),
        ({"kind": "drum", "dim": 16}, "dim"),
        ({"kind": "neurallp", "rank": 4}, "rank"),
        ({"rank": 4}, "rank"),
    ],
)
def test_keys_of_another_kind_are_refused(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} has no meaning"):
        make_config({"model": table})
