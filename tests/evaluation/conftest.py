"""Tiny datasets made by hand, a scorer that reads its scores from a table, and tables by networkx."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


class TableScorer(Scorer):
    """Scores (relation, source, node), inverse relations included."""

    def __init__(self, table):
        self.table = torch.as_tensor(table)
        self.asked = 0

    def score_all(self, source, relation):
        self.asked += len(source)
        return self.table[relation, source]


def make_triplets(rows):
    return Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)


def make_graph(num_nodes, num_relations, rows, kind="knowledge", name="tiny"):
    relations = Vocabulary.of([f"relation {r}" for r in range(num_relations)], role="relation")
    return Graph(name, kind, Vocabulary.numbered(num_nodes), relations, make_triplets(rows))


def make_dataset(num_nodes, num_relations, train, valid, test, kind="knowledge"):
    graph = make_graph(num_nodes, num_relations, train, kind)
    return Dataset("tiny", graph, make_triplets(valid), make_triplets(test))


def make_walks(graph):
    """Every fact both ways, whatever its relation; what is there twice weighs twice."""
    walks = nx.DiGraph()
    walks.add_nodes_from(range(graph.num_nodes))
    for u, v in zip(graph.triplets.head.tolist(), graph.triplets.tail.tolist(), strict=True):
        for a, b in ((u, v), (v, u)):
            weight = walks.edges[a, b]["weight"] if walks.has_edge(a, b) else 0
            walks.add_edge(a, b, weight=weight + 1)
    return walks


def score_by_networkx(graph, method):
    """Closeness (source, node) over the facts by a classical method.

    What networkx computes to 1e-12 is rounded to 1e-9 of the row's largest, so that nodes that are alike tie.
    """
    walks, nodes = make_walks(graph), range(graph.num_nodes)
    table = np.zeros((len(nodes), len(nodes)))
    if method == "katz":
        beta = 0.1 / np.abs(nx.adjacency_spectrum(walks)).max()
    for u in nodes:
        start = {v: float(v == u) for v in nodes}
        if method == "katz":
            scores = nx.katz_centrality(walks, beta, start, normalized=False, weight="weight", tol=1e-14, max_iter=99)
            scores[u] -= 1  # the path of no edge
        elif method == "ppr":
            scores = nx.pagerank(walks, personalization=start, dangling=start, tol=1e-14, max_iter=999)
        else:
            reached = nx.single_source_shortest_path_length(walks, u)
            scores = {v: -reached.get(v, np.inf) for v in nodes}
        row = np.array([scores[v] for v in nodes])
        table[u] = row if method == "distance" else np.round(row / row.max(), 9) * row.max() if row.max() > 0 else row
    return table


@pytest.fixture
def networkx_scores():
    return score_by_networkx


@pytest.fixture(autouse=True)
def one_thread():
    """Graphs of 40 nodes are done before a second thread has woken up."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def table_scorer():
    return TableScorer


@pytest.fixture
def dataset_of():
    return make_dataset


@pytest.fixture
def graph_of():
    return make_graph


@pytest.fixture
def triplets_of():
    return make_triplets


@pytest.fixture
def knowledge():
    """40 entities, the last 4 of them in no training fact; multi-edges and self loops; 3 relations of unequal size."""
    generator = np.random.default_rng(0)

    def rows(count, nodes):
        relation = generator.choice(3, size=count, p=[0.6, 0.3, 0.1])
        return np.stack([generator.integers(0, nodes, count), relation, generator.integers(0, nodes, count)], axis=1)

    train = np.concatenate([rows(70, 36), [[1, 0, 2], [1, 0, 2], [5, 1, 5]]])
    valid, test = rows(12, 40), np.concatenate([rows(20, 40), [[39, 0, 38], [39, 0, 37], [5, 1, 5]]])
    return make_dataset(40, 3, train, valid, test)


@pytest.fixture
def inductive(knowledge):
    """The same to train on, and a test graph of 15 other entities."""
    generator = np.random.default_rng(1)
    facts = np.stack(
        [generator.integers(0, 15, 30), generator.integers(0, 3, 30), generator.integers(0, 15, 30)], axis=1
    )
    test = np.stack([generator.integers(0, 15, 9), generator.integers(0, 3, 9), generator.integers(0, 15, 9)], axis=1)
    held_out = make_triplets(np.stack([generator.integers(0, high, 8) for high in (15, 3, 15)], axis=1))
    test_graph = make_graph(15, 3, facts, name="unseen")
    links = make_triplets(test)
    return Dataset("tiny-inductive", knowledge.train, knowledge.valid, links, test_graph, test_graph_valid=held_out)


@pytest.fixture
def typed(knowledge):
    """The same knowledge graph with entities of three types, and some without one."""
    names = Vocabulary.of(["city", "country", "river"], role="entity type")
    of_entity = np.random.default_rng(3).integers(-1, 3, size=40).astype(np.int32)
    # Few facts have few types on a side: most relations leave out some entities.
    train = replace(
        knowledge.train, types=EntityTypes(names, of_entity), triplets=knowledge.train.triplets.take(np.arange(12))
    )
    return replace(knowledge, train=train)


@pytest.fixture
def homogeneous():
    """30 nodes, a duplicate edge and a self loop among the links."""
    generator = np.random.default_rng(2)

    def rows(count):
        return np.stack(
            [generator.integers(0, 30, count), np.zeros(count, int), generator.integers(0, 30, count)], axis=1
        )

    return make_dataset(30, 1, rows(50), rows(10), np.concatenate([rows(12), [[3, 0, 3]]]), kind="homogeneous")
