"""A step's loss and gradients, against the definitions: a dense network on a graph without the hidden edges."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from nbfnet.config import ModelConfig, TrainingConfig
from nbfnet.distributed import ALONE
from nbfnet.errors import TrainingError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.training.batches import make_batches
from nbfnet.training.step import Optimization


def edges_of(graph):
    """Every edge that messages pass over, one by one: (source, relation, target)."""
    given = graph.triplets
    facts = list(zip(given.head.tolist(), given.relation.tolist(), given.tail.tolist(), strict=True))
    if graph.kind == "homogeneous":
        loops = [(node, 0, node) for node in range(graph.num_nodes)]
        return [*facts, *((t, r, h) for h, r, t in facts), *loops]
    return [*facts, *((t, r + graph.num_relations, h) for h, r, t in facts)]


def is_hidden(edge, graph, batch, hiding):
    """The two rules of hiding, pair by pair."""
    u, _, v = edge
    queries = zip(batch.source.tolist(), batch.relation.tolist(), batch.target.tolist(), strict=True)
    for source, relation, targets in queries:
        if hiding == "pair" and any({u, v} == {source, target} for target in targets):
            return True
        if hiding == "triplet":
            twice = 2 * graph.num_relations
            back = relation if graph.kind == "homogeneous" else (relation + graph.num_relations) % twice
            if edge in ((source, relation, targets[0]), (targets[0], back, source)):
                return True
    return False


def dense_logits(network, csr, batch):
    """(query, candidate) by the plain algorithm, every node of every query."""
    graph = MessageGraph(csr)
    source, relation = torch.from_numpy(batch.source).long(), torch.from_numpy(batch.relation).long()
    target = torch.from_numpy(batch.target).long()
    rows = []
    for i in range(len(source)):
        forwards = network.pair_representation(graph, source[i : i + 1], relation[i : i + 1])[0, target[i]]
        if network.config.symmetric:
            count = len(target[i])
            back = network.pair_representation(graph, target[i], relation[i].expand(count))
            forwards = forwards + back[:, source[i]]
        query = network.indicator.query(relation[i]).expand_as(forwards)
        rows.append(network.score_function(forwards, query))
    return torch.stack(rows)


def mean_loss(logits, temperature):
    answer, negatives = logits[:, 0], logits[:, 1:]
    weight = torch.full_like(negatives, 1 / negatives.shape[1])
    if temperature is not None:
        weight = torch.exp(negatives / temperature).detach()
        weight = weight / weight.sum(dim=1, keepdim=True)
    each = -(logsigmoid(answer) + (weight * logsigmoid(-negatives)).sum(dim=1)) / (1 + weight.sum(dim=1))
    return each.mean()


def mean_softmax(logits, graph, batch):
    """Cross entropy among the nodes that are not known answers, query by query; logits (query, node)."""
    known, losses = set(edges_of(graph)), []
    queries = zip(logits, batch.source.tolist(), batch.relation.tolist(), batch.target[:, 0].tolist(), strict=True)
    for row, source, relation, answer in queries:
        others = [node for node in range(graph.num_nodes) if (source, relation, node) not in known]
        losses.append(torch.log(torch.exp(row[[answer, *others]]).sum()) - row[answer])
    return torch.stack(losses).mean()


CASES = [
    ("knowledge", "triplet", "independent", 1.0, "pna"),
    ("knowledge", "pair", "dependent", 0.5, "pna"),
    ("knowledge", "pair", "independent", None, "sum"),
    ("homogeneous", "pair", "independent", None, "pna"),
    ("homogeneous", "triplet", "independent", 2.0, "max"),
]


@pytest.mark.parametrize(("kind", "hiding", "edges", "temperature", "aggregate"), CASES)
def test_loss_and_gradients(kind, hiding, edges, temperature, aggregate, request):
    graph = request.getfixturevalue(kind).train
    model = ModelConfig(dim=4, layers=3, hidden=(5,), edges=edges, aggregate=aggregate, symmetric=kind != "knowledge")
    training = TrainingConfig(batch_size=6, negatives=3, hiding=hiding, temperature=temperature)
    torch.manual_seed(0)
    network = NeuralBellmanFordNetwork(model, graph.num_relation_ids).double()
    optimization = Optimization(network, graph, training, ALONE)
    dense = NeuralBellmanFordNetwork(model.model_copy(update={"frontier": "off"}), graph.num_relation_ids).double()
    dense.load_state_dict(network.state_dict())
    epochs, hidden_edges = make_batches(graph, training), 0
    for number in range(epochs.length):
        batch = epochs.batch(0, number)
        kept = [edge for edge in edges_of(graph) if not is_hidden(edge, graph, batch, hiding)]
        hidden_edges += len(edges_of(graph)) - len(kept)
        triplets = Triplets.of(*zip(*kept, strict=True))
        csr = RelationalCSR.from_triplets(triplets, graph.num_nodes, graph.num_relation_ids)
        loss = mean_loss(dense_logits(dense, csr, batch).view(batch.links, -1), temperature)
        dense.zero_grad()
        loss.backward()
        assert optimization.compute_gradients(batch) == pytest.approx(loss.item(), rel=1e-12)
        for (name, expected), got in zip(dense.named_parameters(), network.parameters(), strict=True):
            wanted = torch.zeros_like(expected) if expected.grad is None else expected.grad
            assert torch.allclose(got.grad, wanted, rtol=1e-8, atol=1e-12), name
    assert hidden_edges > 2 * epochs.num_links - 3  # the links themselves, both ways, at the least


SOFTMAX = [
    ("triplet", "independent", "pna", "auto"),
    ("pair", "dependent", "sum", "auto"),
    ("pair", "dependent", "pna", "off"),
]


@pytest.mark.parametrize(("hiding", "edges", "aggregate", "frontier"), SOFTMAX)
@pytest.mark.parametrize("memory_limit", [4 << 30, 10_000])  # as a whole, and in parts
def test_the_softmax_loss_and_its_gradients(knowledge, hiding, edges, aggregate, frontier, memory_limit):
    graph = knowledge.train
    model = ModelConfig(dim=4, layers=2, hidden=(5,), edges=edges, aggregate=aggregate, frontier=frontier)
    training = TrainingConfig(loss="softmax", batch_size=24, hiding=hiding)
    torch.manual_seed(0)
    network = NeuralBellmanFordNetwork(model, graph.num_relation_ids).double()
    network.memory_limit = memory_limit
    optimization = Optimization(network, graph, training, ALONE)
    dense = NeuralBellmanFordNetwork(model, graph.num_relation_ids).double()
    dense.load_state_dict(network.state_dict())
    epochs, repeated, directions = make_batches(graph, training), 0, set()
    for number in range(epochs.length):
        batch = epochs.batch(0, number)
        directions |= set((batch.relation >= graph.num_relations).tolist())
        repeated += batch.links - len(set(zip(batch.source.tolist(), batch.relation.tolist(), strict=True)))
        kept = [edge for edge in edges_of(graph) if not is_hidden(edge, graph, batch, hiding)]
        csr = RelationalCSR.from_triplets(
            Triplets.of(*zip(*kept, strict=True)), graph.num_nodes, 2 * graph.num_relations
        )
        every = np.tile(np.arange(graph.num_nodes, dtype=np.int32), (batch.links, 1))
        logits = dense_logits(dense, csr, dataclasses.replace(batch, target=every))
        loss = mean_softmax(logits, graph, batch)
        dense.zero_grad()
        loss.backward()
        assert optimization.compute_gradients(batch) == pytest.approx(loss.item(), rel=1e-12)
        for (name, expected), got in zip(dense.named_parameters(), network.parameters(), strict=True):
            wanted = torch.zeros_like(expected) if expected.grad is None else expected.grad
            assert torch.allclose(got.grad, wanted, rtol=1e-8, atol=1e-12), name
    assert repeated and directions == {False, True}  # queries that are computed once, and both directions


def test_softmax_leaves_the_constant_of_all_logits_alone(knowledge):
    """Its gradient is zero but for rounding, of which Adam would make whole steps."""
    config = TrainingConfig(batch_size=8, loss="softmax")
    network = NeuralBellmanFordNetwork(ModelConfig(dim=4, layers=2, hidden=(4,)), 4)
    optimization, epochs = Optimization(network, knowledge.train, config, ALONE), make_batches(knowledge.train, config)
    before = [parameter.detach().clone() for parameter in network.parameters()]
    for number in range(3):
        optimization.compute_gradients(epochs.batch(0, number))
        optimization.take_step()
    moved = [not torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True)]
    names = [name for name, _ in network.named_parameters()]
    assert [name for name, has in zip(names, moved, strict=True) if not has] == ["score_function.mlp.2.bias"]


def test_the_moving_average(knowledge):
    torch.manual_seed(0)
    config = TrainingConfig(batch_size=8, negatives=3, average=0.3)
    network = NeuralBellmanFordNetwork(ModelConfig(dim=4, layers=2, hidden=(4,)), 4)
    expected = [parameter.detach().clone() for parameter in network.parameters()]
    optimization, epochs = Optimization(network, knowledge.train, config, ALONE), make_batches(knowledge.train, config)
    for step, decay in enumerate((2 / 11, 3 / 12, 0.3, 0.3)):  # (1 + k) / (10 + k), until that is more than stated
        optimization.compute_gradients(epochs.batch(0, step))
        optimization.take_step()
        expected = [decay * a + (1 - decay) * p.detach() for a, p in zip(expected, network.parameters(), strict=True)]
        for mean, kept in zip(expected, optimization.result.parameters(), strict=True):
            assert torch.allclose(mean, kept, rtol=1e-5, atol=1e-7)
    assert optimization.result is not network


def test_a_step_is_adams(knowledge):
    torch.manual_seed(0)
    config = TrainingConfig(batch_size=8, negatives=3, learning_rate=0.01)
    network = NeuralBellmanFordNetwork(ModelConfig(dim=4, layers=2, hidden=(4,)), 4)
    optimization = Optimization(network, knowledge.train, config, ALONE)
    before = [parameter.detach().clone() for parameter in network.parameters()]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in before]
    epochs = make_batches(knowledge.train, config)
    for step in range(1, 4):
        optimization.compute_gradients(epochs.batch(0, step - 1))
        gradients = [parameter.grad.clone() for parameter in network.parameters()]
        optimization.take_step()
        moments = [(0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g) for (m, s), g in zip(moments, gradients, strict=True)]
        before = [
            p - 0.01 * (m / (1 - 0.9**step)) / ((s / (1 - 0.999**step)).sqrt() + 1e-8)
            for p, (m, s) in zip(before, moments, strict=True)
        ]
        for expected, parameter in zip(before, network.parameters(), strict=True):
            assert torch.allclose(parameter, expected, rtol=1e-4, atol=1e-6)


def test_a_parameter_that_is_not_a_number_stops_it(knowledge):
    config = TrainingConfig(batch_size=8, negatives=3)
    network = NeuralBellmanFordNetwork(ModelConfig(dim=4, layers=2, hidden=(4,)), 4)
    optimization = Optimization(network, knowledge.train, config, ALONE)
    batch = make_batches(knowledge.train, config).batch(0, 0)
    with torch.no_grad():
        network.score_function.mlp[0].weight[0, 0] = float("nan")
    with pytest.raises(TrainingError, match="the loss is nan"):
        optimization.compute_gradients(batch)


def test_a_step_out_of_the_range_of_numbers_stops_it(knowledge):
    network = NeuralBellmanFordNetwork(ModelConfig(dim=4, layers=2, hidden=(4,)), 4)
    optimization = Optimization(network, knowledge.train, TrainingConfig(learning_rate=1e37), ALONE)
    for parameter in network.parameters():
        parameter.data.fill_(torch.finfo(parameter.dtype).max)
        parameter.grad = -torch.ones_like(parameter)
    with pytest.raises(TrainingError, match="not finite"):
        optimization.take_step()
