"""Graphs for the tests of path methods: small random ones, and the benchmark graphs where they are at hand."""

from contextlib import contextmanager

import numpy as np
import pytest

from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.native import native
from nbfnet.semiring.weighted_edges import WeightedEdges


@pytest.fixture(scope="session")
def make_edges():
    """Edges from lists of heads and tails; both ways if not directed."""

    def make(num_nodes, heads, tails, weights=None, directed=True):
        heads, tails = list(heads), list(tails)
        weights = None if weights is None else list(weights)
        if not directed:
            heads, tails = heads + tails, tails + heads
            weights = None if weights is None else weights * 2
        triplets = Triplets.of(heads, np.zeros(len(heads)), tails, weights)
        return WeightedEdges.of(RelationalCSR.from_triplets(triplets, num_nodes, 1))

    return make


@pytest.fixture(scope="session")
def random_edges(make_edges):
    """Random edges with self loops, multi-edges, nodes without edges and a few hubs."""

    def make(seed, num_nodes, num_edges, weighted=True, directed=True):
        generator = np.random.default_rng(seed)
        heads = (num_nodes * generator.random(num_edges) ** 2).astype(int)
        tails = (num_nodes * generator.random(num_edges) ** 1.5).astype(int)
        weights = generator.integers(1, 9, num_edges) / 8 if weighted else None
        return make_edges(num_nodes, heads, tails, weights, directed)

    return make


@pytest.fixture(scope="session")
def use_instruction_set():
    """Within a ``with`` block, the loops compiled for one instruction set; without the extension there are none."""

    @contextmanager
    def use(name):
        if native is None:
            yield
            return
        before = native.instruction_set()
        native.choose_instruction_set(name)
        try:
            yield
        finally:
            native.choose_instruction_set(before)

    return use


@pytest.fixture(params=native.instruction_sets() if native else ["none"])
def instruction_set(request, use_instruction_set):
    """The same for a whole test, once for each instruction set that the machine has."""
    with use_instruction_set(request.param):
        yield


@pytest.fixture(scope="session")
def benchmark_graph(data_folder):
    """A benchmark graph by name, read plainly."""
    nodes = {"cora": 2708, "citeseer": 3327, "pubmed": 19717}

    def read(name):
        if name in nodes:
            head, tail = np.loadtxt(data_folder / name / "edges.txt", dtype=np.int64).T
            triplets = Triplets.of(head, np.zeros(len(head)), tail)
            entities, relations = Vocabulary.numbered(nodes[name]), Vocabulary.of(["edge"], role="relation")
            return Graph(name, "homogeneous", entities, relations, triplets)
        with (data_folder / name / "train.txt").open(encoding="utf-8") as file:
            facts = [line.rstrip("\n").split("\t") for line in file]
        entities = Vocabulary.of(dict.fromkeys(name for head, _, tail in facts for name in (head, tail)))
        relations = Vocabulary.of(dict.fromkeys(relation for _, relation, _ in facts), role="relation")
        columns = [
            vocabulary.ids(column)
            for vocabulary, column in zip((entities, relations, entities), zip(*facts, strict=True), strict=True)
        ]
        return Graph(name, "knowledge", entities, relations, Triplets.of(*columns))

    return read
