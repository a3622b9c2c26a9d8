"""Whole explanations: what they say about the network, checked against the network itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import torch

import nbfnet
from nbfnet.config import ModelConfig
from nbfnet.errors import ExplanationError, QueryError
from nbfnet.explanation.deletion import Deletion
from nbfnet.explanation.edge_importance import edge_importance
from nbfnet.explanation.explainer import explain
from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.top_paths import DistinctEdges
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

# A diamond with a shortcut, a loop, a copied fact, a relation both ways, and an island.
EDGES = [(0, 0, 1), (1, 1, 2), (0, 1, 3), (3, 0, 2), (0, 0, 1), (2, 0, 2), (1, 0, 3), (3, 0, 1), (2, 1, 4), (5, 0, 6)]
NAMES = list("abcdefg")


@pytest.fixture
def graph(make_graph: Callable[..., Graph]) -> Graph:
    return make_graph(NAMES, ["r", "s"], EDGES)


def score(network: NeuralBellmanFordNetwork, graph: Graph, head: int, relation: int, tail: int) -> float:
    """The logit, on a graph made afresh."""
    query = (torch.tensor([part]) for part in (head, relation))
    with torch.no_grad():
        return network.score(MessageGraph(graph.csr), *query, torch.tensor([[tail]])).item()


def without(graph: Graph, facts: set[tuple[int, int, int]]) -> Graph:
    """The graph read again without every copy of some facts."""
    triplets = graph.triplets
    rows = [row for row in zip(triplets.head, triplets.relation, triplets.tail, strict=True) if row not in facts]
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    return Graph(graph.name, graph.kind, graph.entities, graph.relations, Triplets.of(*columns))


def logistic(logit: float) -> float:
    return float(torch.tensor(logit, dtype=torch.float64).sigmoid())


def check(
    explanation: Explanation, network: NeuralBellmanFordNetwork, graph: Graph, query: tuple[int, int, int]
) -> None:
    """Every claim of an explanation."""
    head, _, tail = query
    before = score(network, graph, *query)
    assert explanation.probability == pytest.approx(logistic(before))
    assert len({path.edges for path in explanation.paths}) == len(explanation.paths)
    gone: set[tuple[int, int, int]] = set()
    for path in explanation.paths:
        assert not {edge.ids for edge in path.edges} <= gone  # a path of nothing but facts that are listed already
        without_those_above = score(network, without(graph, gone), *query)
        gone |= {edge.ids for edge in path.edges}
        beyond = without_those_above - score(network, without(graph, gone), *query)
        assert path.added_drop == pytest.approx(beyond, abs=1e-9)
        assert path.edges[0].nodes[0][0] == head
        assert path.edges[-1].nodes[1][0] == tail
        assert all(first.nodes[1] == second.nodes[0] for first, second in pairwise(path.edges))
        assert sum(path.importance) == pytest.approx(path.weight)
        after = score(network, without(graph, {edge.ids for edge in path.edges}), *query)
        assert path.deletion_drop == pytest.approx(before - after, abs=1e-9)
    assert explanation.joint_drop == pytest.approx(before - score(network, without(graph, gone), *query), abs=1e-9)
    assert explanation.asked == ("tail" if query[1] < 2 else "head")


@pytest.mark.parametrize("aggregate", ["sum", "pna", "max"])
@pytest.mark.parametrize("query", [(0, 0, 2), (0, 3, 2), (2, 1, 0), (4, 2, 0), (0, 1, 1)])
def test_an_explanation_is_true(
    graph: Graph, make_network: Callable[..., Any], query: tuple[int, int, int], aggregate: str
) -> None:
    network = make_network(4, aggregate=aggregate, layers=4, seed=2)
    explanation = explain(network, graph, MessageGraph(graph.csr), *query, k=50, beam=1000)
    assert len(explanation.paths) >= 3
    check(explanation, network, graph, query)


def test_fewer_paths_are_the_first_of_more(graph: Graph, make_network: Callable[..., Any]) -> None:
    network, messages = make_network(4, layers=4, seed=2), MessageGraph(graph.csr)
    every = explain(network, graph, messages, 0, 0, 2, k=9).paths
    assert len(every) >= 4
    for k in range(1, len(every)):
        assert explain(network, graph, messages, 0, 0, 2, k=k).paths == every[:k]


def test_an_inverse_query_is_its_fact_asked_backwards(graph: Graph, make_network: Callable[..., Any]) -> None:
    explanation = explain(make_network(4), graph, MessageGraph(graph.csr), 2, 3, 0)
    assert explanation.query.to_dict() == {"head": "a", "relation": "s", "tail": "c", "inverse": True}
    assert str(explanation.query) == "c <-s- a"


def test_a_copied_fact_is_one_edge_with_the_importance_of_both(graph: Graph, make_network: Callable[..., Any]) -> None:
    network, messages = make_network(4, aggregate="sum", layers=2), MessageGraph(graph.csr)
    paths = explain(network, graph, messages, 0, 0, 2, k=50).paths
    texts = [str(path) for path in paths]
    assert texts.count("a -r-> b -s-> c") == 1
    importance, csr = edge_importance(network, messages, 0, 0, 2), graph.csr
    copies = np.flatnonzero((csr.source == 0) & (csr.relation == 0) & (csr.target == 1))
    last = np.flatnonzero((csr.source == 1) & (csr.relation == 1) & (csr.target == 2))
    expected = importance[0, copies].sum() + importance[1, last].sum()
    assert len(copies) == 2
    assert paths[texts.index("a -r-> b -s-> c")].weight == pytest.approx(expected)


def test_distinct_edges_of_a_graph_full_of_copies() -> None:
    random = np.random.default_rng(0)
    head, relation, tail = random.integers(0, [[4], [2], [4]], (3, 60))
    csr = RelationalCSR.from_triplets(Triplets.of(head, relation, tail), 4, 2)
    importance = random.normal(size=(3, 60))
    distinct = DistinctEdges.of(csr, importance)
    expected: dict[tuple[int, int, int], Any] = {}
    for slot, edge in enumerate(zip(csr.source, csr.relation, csr.target, strict=True)):
        expected[edge] = expected.get(edge, 0) + importance[:, slot]
    found = distinct.csr
    edges = list(zip(found.source, found.relation, found.target, strict=True))
    assert len(edges) == len(expected) < 60
    for i, edge in enumerate(edges):
        np.testing.assert_allclose(distinct.importance[:, i], expected[edge])
        slot = int(distinct.slot[i])
        assert (csr.source[slot], csr.relation[slot], csr.target[slot]) == edge


def test_source_and_answer_may_be_the_same(graph: Graph, make_network: Callable[..., Any]) -> None:
    network = make_network(4)
    explanation = explain(network, graph, MessageGraph(graph.csr), 2, 0, 2, k=50)
    check(explanation, network, graph, (2, 0, 2))
    loops = [str(path) for path in explanation.paths if len(path.edges) == 1]
    assert loops in (["c -r-> c"], ["c <-r- c"])  # one fact, whichever way it is read


def test_an_answer_that_no_path_leads_to(graph: Graph, make_network: Callable[..., Any]) -> None:
    network = make_network(4)
    explanation = explain(network, graph, MessageGraph(graph.csr), 0, 0, 6)
    assert explanation.paths == ()
    assert explanation.probability == pytest.approx(logistic(score(network, graph, 0, 0, 6)))


def test_an_undirected_graph_and_a_symmetric_network(
    make_graph: Callable[..., Graph], make_network: Callable[..., Any]
) -> None:
    edges = [(0, 0, 1), (2, 0, 1), (2, 0, 3), (0, 0, 3), (3, 0, 3), (1, 0, 0)]
    graph = make_graph(NAMES[:4], ["edge"], edges, "homogeneous")
    network = make_network(1, symmetric=True, seed=4)
    explanation = explain(network, graph, MessageGraph(graph.csr), 0, 0, 2, k=10)
    assert {str(path) for path in explanation.paths} == {"a -edge- b -edge- c", "a -edge- d -edge- c"}
    before = score(network, graph, 0, 0, 2)
    for path in explanation.paths:
        facts = {
            fact for head, _, tail in (edge.ids for edge in path.edges) for fact in ((head, 0, tail), (tail, 0, head))
        }
        after = score(network, without(graph, facts), 0, 0, 2)
        assert path.deletion_drop == pytest.approx(before - after, abs=1e-9)


def test_a_hidden_fact_is_no_explanation(graph: Graph, make_network: Callable[..., Any]) -> None:
    csr = graph.csr
    direct = np.flatnonzero(((csr.source == 0) & (csr.target == 3)) | ((csr.source == 3) & (csr.target == 0)))
    shown = explain(make_network(4), graph, MessageGraph(csr), 0, 1, 3, k=50)
    hidden = explain(make_network(4), graph, MessageGraph(csr.hide(direct)), 0, 1, 3, k=50)
    assert "a -s-> d" in [str(path) for path in shown.paths]
    assert all(len(path.edges) > 1 for path in hidden.paths)
    assert hidden.paths


@pytest.mark.parametrize("query", [(7, 0, 0), (0, 4, 1), (0, 0, -1)])
def test_ids_out_of_range_are_refused(
    graph: Graph, make_network: Callable[..., Any], query: tuple[int, int, int]
) -> None:
    with pytest.raises(QueryError):
        explain(make_network(4), graph, MessageGraph(graph.csr), *query)


def test_no_paths_cannot_be_asked_for(graph: Graph, make_network: Callable[..., Any]) -> None:
    with pytest.raises(ExplanationError, match="at least 1"):
        explain(make_network(4), graph, MessageGraph(graph.csr), 0, 0, 2, k=0)


def test_deletion_of_nothing_and_of_everything(graph: Graph, make_network: Callable[..., Any]) -> None:
    network, messages = make_network(4), MessageGraph(graph.csr)
    deletion = Deletion(network, messages, "knowledge", (0, 0, 2))
    nothing, everything = deletion.logits_without([[], range(graph.csr.num_edges)])
    assert nothing == pytest.approx(deletion.logit())
    empty = Graph("empty", "knowledge", graph.entities, graph.relations, Triplets.empty())
    assert everything == pytest.approx(score(network, empty, 0, 0, 2))
    assert deletion.logits_without([]).shape == (0,)


def test_names_of_the_embedded_graph() -> None:
    dataset = nbfnet.load("world")
    torch.manual_seed(0)
    graph = dataset.train
    network = NeuralBellmanFordNetwork(ModelConfig(dim=8, layers=3, edges="independent"), graph.csr.num_relations)
    query = tuple(graph.entities.id(name) for name in ("Paris", "Germany"))
    explanation = explain(network, graph, MessageGraph(graph.csr), query[0], graph.relations.id("in country"), query[1])
    assert len(explanation.paths) == 5
    facts = set(
        zip(graph.triplets.head.tolist(), graph.triplets.relation.tolist(), graph.triplets.tail.tolist(), strict=True)
    )
    assert all(edge.ids in facts for path in explanation.paths for edge in path.edges)
    assert all(str(path).startswith("Paris ") and str(path).endswith(" Germany") for path in explanation.paths)


SCRIPT = """
import json, sys, warnings
import torch, nbfnet
from nbfnet.config import ModelConfig
from nbfnet.explanation.explainer import explain
from nbfnet.graph.reading.read import read
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
warnings.simplefilter("ignore")
graph = read(sys.argv[1])
torch.manual_seed(0)
network = NeuralBellmanFordNetwork(ModelConfig(dim=8, layers=3), graph.csr.num_relations).double()
print(json.dumps(explain(network, graph, MessageGraph(graph.csr), 0, 0, 2, k=20).to_dict()))
"""


@pytest.mark.skipif(not native_available(), reason="compares with the compiled extension")
def test_without_the_extension_explanations_are_the_same(tmp_path: Any) -> None:
    file = tmp_path / "facts.tsv"
    file.write_text("".join(f"{NAMES[h]}\t{'rs'[r]}\t{NAMES[t]}\n" for h, r, t in EDGES))
    documents = []
    for native in ("0", "1"):
        environment = {**os.environ, "NBFNET_NATIVE": native}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(file)], env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        documents.append(json.loads(run.stdout))
    plain, compiled = documents
    assert len(plain["paths"]) == len(compiled["paths"]) >= 3
    for one, other in zip(plain["paths"], compiled["paths"], strict=True):
        assert one["weight"] == pytest.approx(other["weight"], abs=1e-9)
        assert one["deletion_drop"] == pytest.approx(other["deletion_drop"], abs=1e-9)
        assert one["edges"] == other["edges"]


def test_the_order_by_weight_is_the_papers(graph: Graph, make_network: Callable[..., NeuralBellmanFordNetwork]) -> None:
    """The k simple paths with the greatest sums of edge importances, whatever their deletion does."""
    network = make_network(graph.num_relation_ids)
    messages = MessageGraph(graph.message_csr)
    distinct = DistinctEdges.of(messages.csr, edge_importance(network, messages, 0, 1, 2))
    best: list[float] = []
    csr, importance = distinct.csr, distinct.importance

    def extend(path: list[int], node: int, seen: set[int]) -> None:
        if node == 2:  # the best ascending iterations for its edges
            steps = combinations(range(len(importance)), len(path))
            best.append(max(sum(importance[t, e] for t, e in zip(times, path, strict=True)) for times in steps))
            return
        for edge in np.flatnonzero(csr.source == node).tolist():
            target = int(csr.target[edge])
            if target not in seen and len(path) < len(importance):
                extend([*path, edge], target, seen | {target})

    extend([], 0, {0})
    found = explain(network, graph, messages, 0, 1, 2, k=4, beam=1000, order="weight")
    assert [path.weight for path in found.paths] == pytest.approx(sorted(best, reverse=True)[:4])
    assert sum(path.added_drop for path in found.paths) == pytest.approx(found.joint_drop)
    whole = score(network, graph, 0, 1, 2)
    for path in found.paths:
        facts = {edge.ids for edge in path.edges}
        assert path.deletion_drop == pytest.approx(whole - score(network, without(graph, facts), 0, 1, 2), abs=1e-9)
    facts = {edge.ids for path in found.paths for edge in path.edges}
    assert found.joint_drop == pytest.approx(whole - score(network, without(graph, facts), 0, 1, 2), abs=1e-9)
