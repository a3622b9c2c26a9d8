"""Queries that do not fit are refused at the boundary, by an error that says what was got and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from nbfnet.errors import NbfnetError, QueryError
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork

Ask = Callable[[NeuralBellmanFordNetwork, MessageGraph, Tensor, Tensor], Tensor]

CHAIN = (5, 4, [(0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 3, 4)])
SOURCE, RELATION, TARGET = torch.tensor([0, 1]), torch.tensor([0, 3]), torch.tensor([[1, 2, 4], [0, 0, 3]])
ASK: dict[str, Ask] = {
    "score": lambda network, graph, source, relation: network.score(graph, source, relation, TARGET),
    "score_all": lambda network, graph, source, relation: network.score_all(graph, source, relation),
    "pair": lambda network, graph, source, relation: network.pair_representation(graph, source, relation),
}


@pytest.fixture
def graph(make_graph: Callable[..., MessageGraph]) -> MessageGraph:
    return make_graph(*CHAIN)


@pytest.fixture(params=[False, True], ids=["directed", "symmetric"])
def network(request: pytest.FixtureRequest, make_network: Callable[..., Any]) -> NeuralBellmanFordNetwork:
    made: NeuralBellmanFordNetwork = make_network(4, symmetric=request.param)
    return made


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize(
    ("source", "relation", "message"),
    [
        (torch.tensor([0, 5]), RELATION, "source holds the id 5, expected 0 to 4"),
        (torch.tensor([-1, 0]), RELATION, "source holds the id -1, expected 0 to 4"),
        (torch.tensor([0, 2**40]), RELATION, f"source holds the id {2**40}, expected 0 to 4"),
        (SOURCE, torch.tensor([0, 4]), "relation holds the id 4, expected 0 to 3"),
        (SOURCE, torch.tensor([-7, 1]), "relation holds the id -7, expected 0 to 3"),
        (SOURCE, torch.tensor([1]), r"relation has the shape \(1,\), expected \(2\)"),
        (SOURCE, torch.tensor([[1], [2]]), r"relation has the shape \(2, 1\), expected \(2\)"),
        (SOURCE[:, None], RELATION, r"source has the shape \(2, 1\), expected \(any\)"),
        (torch.tensor(0), torch.tensor(0), r"source has the shape \(\), expected \(any\)"),
        (SOURCE.double(), RELATION, "source holds torch.float64, expected ids as torch.int64"),
        (SOURCE.bool(), RELATION, r"source holds torch.bool, expected ids"),
        (SOURCE, RELATION.float(), "relation holds torch.float32, expected ids"),
        (SOURCE.to("meta"), RELATION, "source is on the device 'meta', the network on 'cpu'"),
    ],
)
def test_sources_and_relations(
    network: NeuralBellmanFordNetwork, graph: MessageGraph, ask: Ask, source: Tensor, relation: Tensor, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        ask(network, graph, source, relation)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (torch.tensor([[1, 2], [5, 0]]), "target holds the id 5, expected 0 to 4"),
        (torch.tensor([[1, 2], [-1, 0]]), "target holds the id -1, expected 0 to 4"),
        (torch.tensor([1, 2]), r"target has the shape \(2,\), expected \(2, any\)"),
        (torch.tensor([[1, 2]]), r"target has the shape \(1, 2\), expected \(2, any\)"),
        (torch.zeros(2, 1, 1).long(), r"target has the shape \(2, 1, 1\), expected \(2, any\)"),
        (torch.zeros(2, 1), "target holds torch.float32, expected ids"),
        (torch.zeros(2, 1, device="meta").long(), "target is on the device 'meta'"),
    ],
)
def test_targets(network: NeuralBellmanFordNetwork, graph: MessageGraph, target: Tensor, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        network.score(graph, SOURCE, RELATION, target)


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize("relations", [3, 5, 8])
def test_a_graph_of_other_relations(
    make_network: Callable[..., Any], graph: MessageGraph, ask: Ask, relations: int
) -> None:
    with pytest.raises(QueryError, match=f"the graph has 4 relations .*, the network {relations}"):
        ask(make_network(relations), graph, SOURCE, SOURCE)


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_a_graph_on_another_device(make_network: Callable[..., Any], graph: MessageGraph, ask: Ask) -> None:
    elsewhere = MessageGraph(graph.csr, "meta")
    with pytest.raises(QueryError, match="the graph is on the device 'meta', the network on 'cpu'"):
        ask(make_network(4), elsewhere, SOURCE, RELATION)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_any_integers_are_ids(network: NeuralBellmanFordNetwork, graph: MessageGraph, dtype: torch.dtype) -> None:
    asked = network.score(graph, SOURCE.to(dtype), RELATION.to(dtype), TARGET.to(dtype))
    assert torch.equal(asked, network.score(graph, SOURCE, RELATION, TARGET))
    assert torch.equal(
        network.score_all(graph, SOURCE.to(dtype), RELATION.to(dtype)), network.score_all(graph, SOURCE, RELATION)
    )


def test_ids_need_not_be_contiguous(network: NeuralBellmanFordNetwork, graph: MessageGraph) -> None:
    wide = torch.stack([SOURCE, RELATION], dim=1)
    asked = network.score(graph, wide[:, 0], wide[:, 1], TARGET.T.contiguous().T)
    assert torch.equal(asked, network.score(graph, SOURCE, RELATION, TARGET))


def test_no_query_and_no_candidate(network: NeuralBellmanFordNetwork, graph: MessageGraph) -> None:
    none = SOURCE[:0]
    assert network.score_all(graph, none, none).shape == (0, 5)
    assert network.score(graph, none, none, TARGET[:0]).shape == (0, 3)
    assert network.score(graph, SOURCE, RELATION, TARGET[:, :0]).shape == (2, 0)


def test_low_precision_is_refused_or_right(
    make_network: Callable[..., Any], graph: MessageGraph, assert_same: Callable[..., None]
) -> None:
    """Autocast would hand bfloat16 to code that reads float32: never silently."""
    network = make_network(4).float()
    expected = network.score_all(graph, SOURCE, RELATION)
    with torch.autocast("cpu", torch.bfloat16):
        try:
            got = network.score_all(graph, SOURCE, RELATION)
        except NbfnetError as refusal:
            assert "bfloat16" in str(refusal)
        else:
            assert_same(got, expected, 0.05)
