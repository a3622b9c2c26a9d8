"""The network against golden values: what an independent implementation computes in float64 for fixed parameters.

Those beside this test, and more of the folder that NBFNET_GOLDEN names, or of ``golden`` beside that of NBFNET_DATA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from nbfnet.config import ModelConfig
from nbfnet.graph.inverse import with_inverse_count, with_inverses
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]
EXACT = {"atol": 1e-9, "rtol": 1e-9}
NUM_NODES, NUM_RELATIONS = 23, 3
PLACES = {"query.": "indicator.query.", "mlp.": "score_function.mlp.", ".relation": ".edges.relation"}


class Golden:
    """One file: its tensors, its graph, and a network with its parameters."""

    def __init__(self, file: Path, frontier: str = "auto") -> None:
        self.values = load_file(file)
        message, aggregate, edges = file.stem.split("-")
        layers = 1 + max(int(name.split(".")[2]) for name in self.values if name.startswith("param.layers."))
        dim = self.values["param.query.weight"].shape[1]
        hidden = (len(self.values["param.mlp.0.bias"]),)
        config = ModelConfig(
            dim=dim, layers=layers, hidden=hidden, message=message, aggregate=aggregate, edges=edges, frontier=frontier
        )
        head, relation, tail = self.values["edges"].numpy().T
        num_relations = with_inverse_count(NUM_RELATIONS)
        edges_both_ways = with_inverses(Triplets.of(head, relation, tail), NUM_RELATIONS)
        self.graph = MessageGraph(RelationalCSR.from_triplets(edges_both_ways, NUM_NODES, num_relations))
        self.network = NeuralBellmanFordNetwork(config, num_relations).double()
        self.network.load_state_dict({name: self.values[f"param.{golden}"] for name, golden in self.names()})
        self.source = self.values["query_source"].long()
        self.relation = self.values["query_relation"].long()

    def names(self) -> Iterator[tuple[str, str]]:
        """Every parameter's name in the network and in the file."""
        for golden in (name.removeprefix("param.") for name in self.values if name.startswith("param.")):
            name = golden
            for theirs, ours in PLACES.items():
                if name.startswith(theirs) or theirs.startswith("."):
                    name = name.replace(theirs, ours, 1)
            yield name, golden

    def check_gradients(self, scores: Tensor) -> None:
        """The gradients of the sum of sigmoid(score), of every parameter."""
        self.network.zero_grad()
        scores.sigmoid().sum().backward()
        checked = dict(self.names())
        assert checked.keys() == {name for name, _ in self.network.named_parameters()}
        for name, parameter in self.network.named_parameters():
            expected = self.values[f"grad.{checked[name]}"]
            torch.testing.assert_close(parameter.grad, expected, **EXACT, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("backend", ["auto", *BACKENDS])
@pytest.mark.parametrize("frontier", ["auto", "off"])
def test_scores_of_all_nodes_and_gradients(golden_file: Path, frontier: str, backend: str) -> None:
    golden = Golden(golden_file, frontier)
    with use_backend(backend):
        scores = golden.network.score_all(golden.graph, golden.source, golden.relation)
        torch.testing.assert_close(scores, golden.values["scores"], **EXACT)
        golden.check_gradients(scores)


@pytest.mark.parametrize("backend", ["auto", *BACKENDS])
@pytest.mark.parametrize("frontier", ["auto", "off"])
def test_scores_of_targets_and_gradients(golden_file: Path, frontier: str, backend: str) -> None:
    golden = Golden(golden_file, frontier)
    target = torch.stack([torch.randperm(NUM_NODES, generator=torch.Generator().manual_seed(q)) for q in range(3)])
    with use_backend(backend):
        scores = golden.network.score(golden.graph, golden.source, golden.relation, target)
        torch.testing.assert_close(scores, golden.values["scores"].gather(1, target), **EXACT)
        golden.check_gradients(scores)


def test_one_target_at_a_time(golden_file: Path) -> None:
    """A single target has the smallest frontier; together their gradients are those of all."""
    golden = Golden(golden_file)
    columns = [
        golden.network.score(golden.graph, golden.source, golden.relation, torch.full((3, 1), node))
        for node in range(NUM_NODES)
    ]
    scores = torch.cat(columns, dim=1)
    torch.testing.assert_close(scores, golden.values["scores"], **EXACT)
    golden.check_gradients(scores)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pair_representations(golden_file: Path, backend: str, represent: Callable[..., Tensor]) -> None:
    golden = Golden(golden_file)
    expected = golden.values["pair_representation"]
    every_node = torch.arange(NUM_NODES).expand(3, -1)
    with use_backend(backend):
        composed = golden.network.pair_representation(golden.graph, golden.source, golden.relation)
        torch.testing.assert_close(composed, expected, **EXACT)
        planned = represent(golden.network, golden.graph, golden.source, golden.relation, every_node)
        torch.testing.assert_close(planned, expected, **EXACT)
        score = golden.network.score_function
        golden.check_gradients(score(composed, golden.network.indicator.query(golden.relation)[:, None]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("frontier", ["auto", "off"])
def test_edge_importances(golden_file: Path, frontier: str, backend: str) -> None:
    """The derivative of a logit w.r.t. a weight of 1 on each message.

    In the files the weight of iteration t acts on iteration t *and on all later ones*: their importances are the
    reversed cumulative sum, over iterations, of the derivatives w.r.t. a weight of each iteration alone.
    """
    golden = Golden(golden_file, frontier)
    if "edge_importance" not in golden.values:
        pytest.skip("the file gives no importances")
    num_edges = golden.graph.csr.num_edges
    weights = [torch.ones(num_edges, dtype=torch.float64, requires_grad=True) for _ in golden.network.layers]
    source, relation = golden.source[:1], golden.relation[:1]
    with use_backend(backend):
        target = golden.values["explain_target"].view(1, 1)
        logit = golden.network.score(golden.graph, source, relation, target, edge_weights=weights)
        by_slot = torch.autograd.grad(logit, weights)
    importance = torch.zeros(len(weights), num_edges, dtype=torch.float64)
    importance[:, torch.from_numpy(golden.graph.csr.edge)] = torch.stack(by_slot)
    cumulative = importance.flip(0).cumsum(0).flip(0)
    torch.testing.assert_close(cumulative, golden.values["edge_importance"], **EXACT)
