"""The frontier: exactly the rows that matter are planned, and they give the scores and gradients of all rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from nbfnet.config import TrainingConfig
from nbfnet.distributed import ALONE
from nbfnet.graph.graph import Graph
from nbfnet.graph.loading import load
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES, use_backend
from nbfnet.model.frontier import Frontier
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available
from nbfnet.training.batches import make_batches
from nbfnet.training.step import Optimization

pytestmark = pytest.mark.skipif(not native_available(), reason="plans are made by the compiled extension")

Rows = set[tuple[int, int]]  # (iteration, node)
EDGES_WORTH_A_ROW = 12  # of native/row_plan.hpp


# ---- what the plan claims


def digraph(csr: RelationalCSR) -> nx.DiGraph:
    graph = nx.DiGraph(zip(csr.source.tolist(), csr.target.tolist(), strict=True))
    graph.add_nodes_from(range(csr.num_nodes))
    return graph


def needed_rows(csr: RelationalCSR, source: int, targets: set[int] | None, iterations: int) -> Rows:
    """dist(u, v) <= t and dist(v, nearest target) <= T - t, for t >= 1; no targets: every node is one."""
    graph = digraph(csr)
    first = nx.single_source_shortest_path_length(graph, source, cutoff=iterations)
    if targets is None:
        away = dict.fromkeys(range(csr.num_nodes), 0)
    else:
        away = nx.multi_source_dijkstra_path_length(graph.reverse(), targets) if targets else {}
    return {
        (t, v) for v in first for t in range(1, iterations + 1) if first[v] <= t <= iterations - away.get(v, iterations)
    }


def needed_background(
    csr: RelationalCSR,
    queries: list[tuple[Rows, set[int] | None]],
    iterations: int,
    sources: list[int],
) -> Rows:
    """Every (t, v) that a row of a query, a target, or another row of the background reads, and no query computes."""
    found: Rows = set()

    def read(t: int, v: int) -> None:
        if t > 0 and (t, v) not in found:
            found.add((t, v))
            read_inputs(t, v, set(), None)

    def read_inputs(t: int, v: int, own: Rows, source: int | None) -> None:
        for x in [v, *csr.source[csr.indptr[v] : csr.indptr[v + 1]].tolist()]:
            if (t - 1, x) not in own and not (t == 1 and x == source):
                read(t - 1, x)

    for (own, targets), source in zip(queries, sources, strict=True):
        for t, v in own:
            read_inputs(t, v, own, source)
        for v in range(csr.num_nodes) if targets is None else targets:
            if (iterations, v) not in own:
                read(iterations, v)
    return found


def work(csr: RelationalCSR, rows: Rows) -> float:
    return sum(EDGES_WORTH_A_ROW + csr.degree[v] for _, v in rows)


def num_rows(frontier: Frontier) -> int:
    return sum(frontier.plan.rows(t) for t in range(1, frontier.plan.iterations + 1))


def planned(frontier: Frontier, group: int) -> Rows:
    rows: Rows = set()
    for t in range(1, frontier.plan.iterations + 1):
        begin = frontier.plan.begin(t)
        nodes = frontier.plan.node(t)[begin[group] : begin[group + 1]].tolist()
        assert len(set(nodes)) == len(nodes)
        degrees = frontier.graph.csr.degree[nodes]
        assert (np.diff(degrees) >= 0).all()  # rows of one degree stand together
        rows |= {(t, v) for v in nodes}
    return rows


@st.composite
def sparse_graphs(draw: st.DrawFn) -> tuple[int, int, list[tuple[int, int, int]]]:
    """(nodes, relations, edges): mostly long and thin, so that a frontier is worth its while; some hubs and cliques."""
    nodes, relations = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.sampled_from(["random", "chain", "triangles", "tree", "hub", "clique", "islands"]))
    if shape == "random":
        count = draw(st.integers(0, 2 * nodes))
        pairs = rng.integers(0, nodes, (count, 2))
    elif shape == "chain":
        pairs = np.array([(v, v + 1) for v in range(nodes - 1)])
    elif shape == "triangles":  # neighbours at the same distance
        pairs = np.array([(v, v + step) for v in range(nodes - 2) for step in (1, 2)])
    elif shape == "tree":
        pairs = np.array([(rng.integers(v), v) for v in range(1, nodes)])
    elif shape == "hub":
        pairs = np.array([(0, v) for v in range(nodes)])
    elif shape == "clique":
        nodes = min(nodes, 8)
        pairs = np.array(list(product(range(nodes), repeat=2)))
    else:
        heads = rng.integers(0, nodes, nodes)
        pairs = np.stack([heads, np.minimum(heads + rng.integers(0, 3, nodes), nodes - 1)], axis=1)
    pairs = pairs.reshape(-1, 2)
    if draw(st.booleans()):
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    repeated = draw(st.integers(0, 3))
    pairs = np.concatenate([pairs, pairs[:repeated]])
    kinds = rng.integers(0, relations, len(pairs))
    return nodes, relations, [(int(u), int(r), int(v)) for (u, v), r in zip(pairs, kinds, strict=True)]


@hypothesis.settings(deadline=None, derandomize=True, max_examples=100)
@hypothesis.given(data=st.data(), graph_parts=sparse_graphs(), iterations=st.integers(1, 7), dependent=st.booleans())
def test_the_plan_holds_the_rows_that_are_needed_and_no_other(
    make_graph: Callable[..., MessageGraph],
    data: st.DataObject,
    graph_parts: tuple[int, int, list[tuple[int, int, int]]],
    iterations: int,
    dependent: bool,
) -> None:
    graph = make_graph(*graph_parts)
    nodes, relations, _ = graph_parts
    queries = sorted(
        data.draw(st.sets(st.tuples(st.integers(0, relations - 1), st.integers(0, nodes - 1)), min_size=1, max_size=4))
    )
    source, relation = [u for _, u in queries], [r for r, _ in queries]
    targets = None
    if data.draw(st.booleans()):
        targets = [draw_targets(data, graph.csr, u, iterations) for u in source]
    check_plan(graph, source, relation, targets, iterations, dependent)


@pytest.mark.parametrize("iterations", range(1, 8))
def test_a_neighbour_as_far_as_the_target_is_read_from_the_background(
    make_graph: Callable[..., MessageGraph], iterations: int
) -> None:
    """The target is reached at the last iteration only, and so is the neighbour: before, it has its background."""
    triangles = [(v, 0, v + step) for v in range(60) for step in (1, 2)]
    graph = make_graph(63, 1, triangles)
    check_plan(graph, [0], [0], [[2 * iterations]], iterations, True)


def check_plan(
    graph: MessageGraph,
    source: list[int],
    relation: list[int],
    targets: list[list[int]] | None,
    iterations: int,
    dependent: bool,
) -> None:
    """The plan is what the oracle says, or all rows where these cost no more; whatever the number of threads.

    An iteration that needs almost all rows of a query, but the last one, has all of them.
    """
    frontiers = [plan_of(graph, source, relation, targets, iterations, dependent, threads) for threads in (1, 2, 3)]

    frontier = frontiers[0]
    families = [frontier.family_of(r) for r in relation]
    assert len(set(families)) == (len(set(relation)) if dependent else 1)
    everything = {(t, v) for t in range(1, iterations + 1) for v in range(graph.num_nodes)}
    total = 0.0
    for family in set(families):
        members = [q for q, f in enumerate(families) if f == family]
        wanted = [set(targets[q]) if targets is not None else None for q in members]
        sources = [source[q] for q in members]
        own = [needed_rows(graph.csr, u, ends, iterations) for u, ends in zip(sources, wanted, strict=True)]
        background = needed_background(graph.csr, list(zip(own, wanted, strict=True)), iterations, sources)
        cost = sum(work(graph.csr, rows) for rows in [*own, background])
        dense = len(members) * work(graph.csr, everything)
        if cost < dense:
            own = [with_almost_full_iterations(graph.csr, rows, iterations) for rows in own]
            assert [planned(frontier, q) for q in members] == own
            assert planned(frontier, len(source) + family) == background
        else:
            assert all(planned(frontier, q) == everything for q in members)
            assert planned(frontier, len(source) + family) == set()
        total += sum(work(graph.csr, rows) for rows in [*own, background]) if cost < dense else dense
    assert frontier.plan.edges + EDGES_WORTH_A_ROW * num_rows(frontier) == total
    if targets is not None:
        check_target_rows(frontier, targets, families)
    for other in frontiers[1:]:
        assert [planned(other, g) for g in range(len(source) + len(set(families)))] == [
            planned(frontier, g) for g in range(len(source) + len(set(families)))
        ]
        assert other.target_rows().tolist() == frontier.target_rows().tolist()


def with_almost_full_iterations(
    csr: RelationalCSR, rows: set[tuple[int, int]], iterations: int
) -> set[tuple[int, int]]:
    completed = set(rows)
    for t in range(1, iterations):
        every = {(t, v) for v in range(csr.num_nodes)}
        if work(csr, rows & every) >= 0.9 * work(csr, every):
            completed |= every
    return completed


def draw_targets(data: st.DataObject, csr: RelationalCSR, source: int, iterations: int) -> list[int]:
    """Some nodes that the source reaches in time, or one iteration too late, and some from anywhere."""
    distances = nx.single_source_shortest_path_length(digraph(csr), source, cutoff=iterations + 1)
    reached = sorted(distances, key=lambda v: (-distances[v], v))
    near, anywhere = st.sampled_from(reached), st.integers(0, csr.num_nodes - 1)
    return [*data.draw(st.lists(near, max_size=3)), *data.draw(st.lists(anywhere, max_size=2))]


def plan_of(
    graph: MessageGraph,
    source: list[int],
    relation: list[int],
    targets: list[list[int]] | None,
    iterations: int,
    dependent: bool,
    threads: int,
) -> Frontier:
    torch.set_num_threads(threads)
    ends = None
    if targets is not None:
        begin = np.cumsum([0, *(len(nodes) for nodes in targets)], dtype=np.int64)
        ends = begin, np.array([v for nodes in targets for v in nodes], dtype=np.int32)
    return Frontier.make(
        graph,
        np.array(source, dtype=np.int32),
        np.array(relation, dtype=np.int64),
        ends,
        iterations=iterations,
        dependent=dependent,
        frontier=True,
    )


def check_target_rows(frontier: Frontier, targets: list[list[int]], families: list[int]) -> None:
    """A target stands in a row of its query, or of its query's background, with its own node."""
    last = frontier.plan.iterations
    node, begin = frontier.plan.node(last), frontier.plan.begin(last)
    rows = iter(frontier.target_rows().tolist())
    for query, nodes in enumerate(targets):
        for v in nodes:
            row = next(rows)
            assert node[row] == v
            group = int(np.searchsorted(begin, row, side="right")) - 1
            own = v in node[begin[query] : begin[query + 1]]
            assert group == (query if own else len(targets) + families[query])


# ---- the same scores and gradients


@pytest.fixture(scope="module")
def long_graph(make_graph: Callable[..., MessageGraph]) -> MessageGraph:
    """Mostly long and thin, with a hub, self loops, multi-edges, islands and lonely nodes; some edges are hidden."""
    rng = np.random.default_rng(1)
    edges = [(v, int(rng.integers(3)), v + 1) for v in range(50)]
    edges += [(v + 1, int(rng.integers(3)), v) for v in range(0, 50, 4)]
    edges += [(50, int(rng.integers(3)), v) for v in range(52, 60)] + [(v, 2, 50) for v in range(52, 56)]
    edges += [(7, 1, 7), (9, 0, 10), (9, 0, 10), (50, 0, 50), (60, 0, 61), (61, 1, 60), (20, 2, 3)]
    whole = make_graph(70, 3, edges)
    return MessageGraph(whole.csr.hide(np.array([3, 17, 40])))


# Repeated queries, two relations for one source, a source in an island, and one without edges.
SOURCE = torch.tensor([0, 5, 5, 5, 48, 60, 65, 0])
RELATION = torch.tensor([0, 1, 2, 1, 2, 0, 0, 0])
# Repeated targets, the source itself, near ones, unreachable ones.
TARGET = torch.tensor(
    [
        [0, 2, 2, 69],
        [5, 6, 7, 5],
        [7, 9, 60, 66],
        [8, 8, 8, 8],
        [50, 52, 3, 49],
        [61, 60, 0, 62],
        [65, 1, 2, 66],
        [3, 1, 69, 0],
    ]
)


def check_exact(
    network: NeuralBellmanFordNetwork,
    graph: MessageGraph,
    queries: tuple[Tensor, Tensor, Tensor],
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
    threads: int = 1,
) -> None:
    """Frontier, all rows, and the plain algorithm agree for targets and for all nodes, forward and back."""
    source, relation, target = queries
    configuration = network.config
    network.config = configuration.model_copy(update={"frontier": "off"})
    with use_backend("reference"):
        plain = plain_scores(network, graph, source, relation)
        expected = plain.detach(), gradients(network, plain)
        chosen = plain_scores(network, graph, source, relation).gather(1, target)
        expected_chosen = chosen.detach(), gradients(network, chosen)
    for frontier, backend in product(["auto", "off"], ["auto", "reference"]):
        network.config = configuration.model_copy(update={"frontier": frontier})
        torch.set_num_threads(threads if backend == "auto" else 1)
        with use_backend(backend):
            scores = network.score_all(graph, source, relation)
            assert_same(scores.detach(), expected[0])
            assert_same(gradients(network, scores), expected[1])
            scores = network.score(graph, source, relation, target)
            assert_same(scores.detach(), expected_chosen[0])
            assert_same(gradients(network, scores), expected_chosen[1])
            assert network.has_background(graph) == (frontier == "auto" and not configuration.symmetric)
            if network.has_background(graph):
                kept = cache(partial(network.background, graph))
                with torch.no_grad():
                    assert_same(network.score_all(graph, source, relation, kept), expected[0])
                assert kept.cache_info().misses <= len(set(relation.tolist()))
    network.config = configuration


def plain_scores(network: NeuralBellmanFordNetwork, graph: MessageGraph, source: Tensor, relation: Tensor) -> Tensor:
    """f(h(u, v)), or f(h(u, v) + h(v, u)), by the plain algorithm alone."""
    hidden = network.pair_representation(graph, source, relation)
    if network.config.symmetric:
        every_node = torch.arange(graph.num_nodes)
        back = [
            network.pair_representation(graph, every_node, r.expand(graph.num_nodes))[:, u]
            for u, r in zip(source.tolist(), relation, strict=True)
        ]
        hidden = hidden + torch.stack(back)
    scores: Tensor = network.score_function(hidden, network.indicator.query(relation)[:, None])
    return scores


@pytest.mark.parametrize("edges", ["dependent", "independent"])
@pytest.mark.parametrize(("message", "aggregate"), list(product(KERNEL_MESSAGES, KERNEL_AGGREGATES)))
def test_every_operator(
    long_graph: MessageGraph,
    make_network: Callable[..., Any],
    gradients: Callable[..., Any],
    assert_same: Callable[..., None],
    message: str,
    aggregate: str,
    edges: str,
) -> None:
    network = make_network(3, message=message, aggregate=aggregate, edges=edges)
    check_exact(network, long_graph, (SOURCE, RELATION, TARGET), gradients, assert_same)


@pytest.mark.parametrize("iterations", range(1, 8))
@pytest.mark.parametrize("learned_zero", [False, True])
def test_every_depth(
    long_graph: MessageGraph,
    make_network: Callable[..., Any],
    gradients: Callable[..., Any],
    assert_same: Callable[..., None],
    iterations: int,
    learned_zero: bool,
) -> None:
    network = make_network(3, layers=iterations, learned_zero=learned_zero)
    check_exact(network, long_graph, (SOURCE, RELATION, TARGET), gradients, assert_same)


@pytest.mark.parametrize(("layer_norm", "shortcut"), [(True, False), (False, True), (False, False)])
def test_without_norm_or_shortcut(
    long_graph: MessageGraph,
    make_network: Callable[..., Any],
    gradients: Callable[..., Any],
    assert_same: Callable[..., None],
    layer_norm: bool,
    shortcut: bool,
) -> None:
    network = make_network(3, layer_norm=layer_norm, shortcut=shortcut, message="transe", aggregate="max")
    check_exact(network, long_graph, (SOURCE, RELATION, TARGET), gradients, assert_same)


@pytest.mark.parametrize("edges", ["dependent", "independent"])
def test_symmetric_scores(
    make_graph: Callable[..., MessageGraph],
    make_network: Callable[..., Any],
    gradients: Callable[..., Any],
    assert_same: Callable[..., None],
    edges: str,
) -> None:
    """On an undirected graph, and on one that is not: both h(u, v) and h(v, u) count."""
    steps = [(v, 0, v + 1) for v in range(18)]
    undirected = make_graph(22, 2, steps + [(v, r, u) for u, r, v in steps])
    directed = make_graph(22, 2, [*steps, (3, 1, 3), (9, 1, 2)])
    queries = torch.tensor([0, 5, 21, 5]), torch.tensor([0, 0, 1, 1]), torch.tensor([[1, 0], [7, 5], [21, 3], [2, 2]])
    network = make_network(2, symmetric=True, edges=edges)
    for graph in (undirected, directed):
        check_exact(network, graph, queries, gradients, assert_same)
    for u, v in ((0, 2), (5, 7), (21, 4)):
        there, back = (
            network.score(undirected, torch.tensor([a]), torch.tensor([0]), torch.tensor([[b]]))
            for a, b in ((u, v), (v, u))
        )
        assert_same(there, back)


def test_the_frontier_is_used(long_graph: MessageGraph) -> None:
    """The tests above would mean little if every family were computed in full."""
    pairs = sorted({(r, u) for u, r in zip(SOURCE.tolist(), RELATION.tolist(), strict=True)})
    source, relation = [u for _, u in pairs], [r for r, _ in pairs]
    for iterations, dependent in product(range(1, 8), (True, False)):
        everything = iterations * len(pairs) * long_graph.num_nodes
        ranking = plan_of(long_graph, source, relation, None, iterations, dependent, 1)
        training = plan_of(long_graph, source, relation, [[u, u + 1] for u in source], iterations, dependent, 1)
        assert num_rows(ranking) < everything
        assert num_rows(training) < 0.5 * everything
        if iterations > 1:
            backgrounds = np.diff(ranking.plan.begin(iterations))[len(pairs) :]
            assert backgrounds.any()


@hypothesis.settings(deadline=None, derandomize=True, max_examples=30)
@hypothesis.given(data=st.data(), graph_parts=sparse_graphs())
def test_any_network_on_any_graph(
    make_graph: Callable[..., MessageGraph],
    make_network: Callable[..., Any],
    gradients: Callable[..., Any],
    assert_same: Callable[..., None],
    data: st.DataObject,
    graph_parts: tuple[int, int, list[tuple[int, int, int]]],
) -> None:
    graph = make_graph(*graph_parts)
    nodes, relations, edges = graph_parts
    hidden = data.draw(st.lists(st.integers(0, max(len(edges) - 1, 0)), max_size=5 if edges else 0))
    if hidden:
        graph = MessageGraph(graph.csr.hide(np.array(hidden)))
    dim = data.draw(st.sampled_from([2, 4, 10]))
    network = make_network(
        relations,
        seed=data.draw(st.integers(0, 99)),
        dim=dim,
        # LayerNorm of two numbers gives +1 and -1: its gradient is nothing but rounding.
        layer_norm=dim > 2 and data.draw(st.booleans()),
        shortcut=data.draw(st.booleans()),
        layers=data.draw(st.integers(1, 7)),
        message=data.draw(st.sampled_from(KERNEL_MESSAGES)),
        aggregate=data.draw(st.sampled_from(KERNEL_AGGREGATES)),
        edges=data.draw(st.sampled_from(["dependent", "independent"])),
        learned_zero=data.draw(st.booleans()),
        symmetric=data.draw(st.booleans()) and nodes <= 12,
    )
    queries = data.draw(
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, relations - 1)), min_size=1, max_size=5)
    )
    source, relation = torch.tensor(queries).T
    width = data.draw(st.integers(1, 4))
    drawn = [draw_targets(data, graph.csr, u, network.config.layers) for u, _ in queries]
    target = torch.tensor(
        [(nodes_of_query + [u] * width)[:width] for nodes_of_query, (u, _) in zip(drawn, queries, strict=True)]
    )
    threads = data.draw(st.integers(1, 3))
    check_exact(network, graph, (source, relation, target), gradients, assert_same, threads)


# ---- real graphs


def train(network: NeuralBellmanFordNetwork, graph: Graph, steps: int) -> None:
    """Take so many steps of a training with the paper's settings, in small batches."""
    config = TrainingConfig(batch_size=8, negatives=32, learning_rate=0.005)
    optimization, epochs = Optimization(network, graph, config, ALONE), make_batches(graph, config)
    for number in range(steps):
        optimization.compute_gradients(epochs.batch(0, number))
        optimization.take_step()


@pytest.mark.parametrize("steps", [0, 20], ids=["random", "trained"])
@pytest.mark.parametrize(("name", "edges"), [("wn18rr", "independent"), ("fb15k-237", "dependent")])
def test_real_graphs(
    data_folder: Path,
    make_network: Callable[..., Any],
    gradients: Callable[..., Any],
    name: str,
    edges: str,
    steps: int,
    assert_same: Callable[..., None],
) -> None:
    """Scores within 1e-5 and gradients within 1e-4 of all rows', and of the plain algorithm's, in float32."""
    dataset = load(name)
    graph = MessageGraph(dataset.train.csr)
    torch.manual_seed(7)
    network = NeuralBellmanFordNetwork(make_network(1, dim=32, layers=6, edges=edges).config, graph.num_relations)
    train(network, dataset.train, steps)
    rng = np.random.default_rng(7)
    fact = rng.integers(0, len(dataset.valid), 2)
    source = torch.from_numpy(dataset.valid.head[fact]).long()
    relation = torch.from_numpy(dataset.valid.relation[fact]).long()
    answer = torch.from_numpy(dataset.valid.tail[fact]).long()
    target = torch.cat([answer[:, None], torch.from_numpy(rng.integers(0, graph.num_nodes, (2, 32)))], dim=1)

    def ask(frontier: str) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        network.config = network.config.model_copy(update={"frontier": frontier})
        scores = network.score(graph, source, relation, target)
        found = gradients(network, scores)
        with torch.no_grad():
            return scores.detach(), found, network.score_all(graph, source, relation)

    expected = ask("off")
    got = ask("auto")
    assert_same(got[0], expected[0], 1e-5)
    assert_same(got[1], expected[1], 1e-4)
    assert_same(got[2], expected[2], 1e-5)
    with torch.no_grad(), use_backend("cpu"):
        assert_same(plain_scores(network, graph, source, relation), expected[2], 1e-5)

    distinct = sorted(zip(relation.tolist(), source.tolist(), strict=True))
    plan = plan_of(
        graph, [u for _, u in distinct], [r for r, _ in distinct], target.tolist(), 6, edges == "dependent", 2
    )
    assert num_rows(plan) < 6 * 2 * graph.num_nodes
