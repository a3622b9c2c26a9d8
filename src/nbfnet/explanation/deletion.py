"""The logit of a prediction without some facts of the graph, for many sets of facts at once.

Without an edge into y, a node v has another h^(t)_v only if dist(y, v) < t, and that matters to the answer only if
dist(v, answer) <= T - t. These rows, the *cone* of a deletion, are computed again. All others are what they were on the
whole graph, and are read from there. The cones of many deletions make one graph: a copy of every node of every cone,
whose in-edges come from copies of the same cone, or from the nodes themselves.

PNA divides every node's degree by a mean over the graph, which a deletion changes, and with it every row. Where that
matters, as in a small graph, the deletion is *wide*: every node is in its cone. In a large graph it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nbfnet.explanation.top_paths import distance_to
from nbfnet.graph.graph import Kind
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.model.query_relations import QueryRelations
from nbfnet.model.row_evaluation import Background, evaluate_rows, iterate_rows
from nbfnet.sampling.query_edges import QueryEdges
from nbfnet.sampling.sorted_keys import expand_ranges

Query = tuple[int, int, int]  # source, relation, target

_SMALL = 2e-3  # a change of the mean log-degree; logits change by less than that share of a drop
_NODES_TOGETHER = 1 << 22  # of all deletions that are computed together, and as many edges


class Deletion:
    """The logits of one prediction on a graph, as it is and without some facts."""

    def __init__(self, network: NeuralBellmanFordNetwork, graph: MessageGraph, kind: Kind, query: Query) -> None:
        self.network, self.graph, self.query = network, graph, query
        self._edges = QueryEdges(graph.csr, kind, "triplet")
        self._directions: list[_Direction] = []
        if _has_cones(network, graph):
            source, relation, target = query
            with torch.no_grad():
                relations = network.query_relations(graph, torch.tensor([relation]))
                self._directions.append(_Direction(network, graph, relations, source, relation, target))
                if network.config.symmetric:
                    self._directions.append(_Direction(network, graph, relations, target, relation, source))

    def logit(self) -> float:
        """The logit on the whole graph."""
        return float(self.logits_without_facts([frozenset()])[0])

    def logits_without(self, paths: Sequence[Sequence[int]]) -> Float64:
        """(path,) the logit without each path alone; a path is the slots of its edges.

        Every copy of a path's edges is deleted, and their inverses: the same facts, read the other way.
        """
        return self.logits_without_facts([self.facts(path) for path in paths])

    def logits_without_facts(self, deleted: Sequence[frozenset[int]]) -> Float64:
        """(set,) the logit without all edges in some slots, for each set of slots."""
        slots = [np.array(sorted(facts), dtype=np.int64) for facts in deleted]
        with torch.no_grad():
            if not (self._directions and slots):
                return np.array([self._score(some) for some in slots], dtype=np.float64)
            representation = torch.stack([direction.represent(slots) for direction in self._directions]).sum(0)
            logits: Tensor = self.network.score_function(representation, self._directions[0].query)
        found: Float64 = logits.double().numpy()
        return found

    def facts(self, path: Sequence[int]) -> frozenset[int]:
        """The slots of every copy of a path's edges, and of their inverses."""
        csr, slots = self.graph.csr, list(path)
        found = self._edges.slots(csr.source[slots], csr.relation[slots], csr.target[slots][:, None])
        return frozenset(found.tolist())

    def _score(self, slots: Int64) -> float:
        """The logit without the edges in some slots, from the beginning."""
        view = MessageGraph(self.graph.csr.hide(slots), self.graph.device)
        source, relation, target = (torch.tensor([part], device=view.device) for part in self.query)
        return float(self.network.score(view, source, relation, target[:, None]))


def _has_cones(network: NeuralBellmanFordNetwork, graph: MessageGraph) -> bool:
    """Whether a network's rows are planned and kept, and a deleted edge leaves what it knows of the relations alone."""
    config = network.config
    if config.frontier == "off" or not network.plans_rows(graph):
        return False
    size = config.layers * graph.num_nodes * config.width * network.like.element_size()
    has_rows = config.kind == "nbfnet" and size <= network.memory_limit
    return has_rows and config.edges not in ("factorised", "alternating")


class _Direction:
    """h_q(source, target) without some edges: one pass over the whole graph, and then cones."""

    def __init__(
        self,
        network: NeuralBellmanFordNetwork,
        graph: MessageGraph,
        relations: QueryRelations,
        source: int,
        relation: int,
        target: int,
    ) -> None:
        self.network, self.graph, self.relations = network, graph, relations
        self.source, self.relation, self.target = source, relation, target
        self.query = relations.of(torch.tensor([relation]))[0]  # (dim,)
        self._distance = distance_to(graph.csr, target, network.config.layers)
        self._mean_log_degree = float(graph.mean_log_degree)
        self._whole = self._pass()

    def represent(self, deleted: Sequence[Int64]) -> Tensor:
        """(deletion, dim) of the target, without the edges in the slots of each deletion."""
        half = (len(deleted) + 1) // 2
        if half < len(deleted) and len(deleted) * self.graph.num_nodes > _NODES_TOGETHER:
            return torch.cat([self.represent(deleted[:half]), self.represent(deleted[half:])])
        mean = np.array([self._mean_without(slots) for slots in deleted])
        is_wide = mean != self._mean_log_degree
        cones = _Cones.of(self.graph.csr, deleted, is_wide, self._distance, self.network.config.layers)
        if half < len(deleted) and cones.num_edges > _NODES_TOGETHER:
            return torch.cat([self.represent(deleted[:half]), self.represent(deleted[half:])])
        mean_of_copy = np.append(mean[cones.deletion], np.full(self.graph.num_nodes, self._mean_log_degree))
        frontier = self.network.frontier(
            MessageGraph(cones.edges(), self.graph.device, mean_log_degree=mean_of_copy),
            cones.places_of(self.source),
            np.full(len(deleted), self.relation),
            (np.arange(len(deleted) + 1), cones.places_of(self.target)),
            background_given=True,
            changed=cones.changed(),
            origin=np.append(cones.node, np.arange(self.graph.num_nodes)),
        )
        rows = evaluate_rows(self.relations, self.network.iterations(), frontier, backgrounds=lambda _: self._whole)
        return rows.index_select(0, frontier.target_rows())

    def _mean_without(self, slots: Int64) -> float:
        """The mean log-degree without some edges, or that of the whole graph if they hardly differ."""
        node, lost = np.unique(self.graph.csr.target[slots], return_counts=True)
        degree = self.graph.csr.degree[node]
        change = float((np.log1p(degree) - np.log1p(degree - lost)).sum()) / self.graph.num_nodes
        return self._mean_log_degree - (change if change > _SMALL * self._mean_log_degree else 0.0)

    def _pass(self) -> Background:
        """What the network computes for every node on the whole graph: what a deletion does not change."""
        source, relation = np.array([self.source], dtype=np.int32), np.array([self.relation])
        frontier = self.network.frontier(self.graph, source, relation, None)
        steps = []
        for t, rows in enumerate(iterate_rows(self.relations, self.network.iterations(), frontier), start=1):
            begin, node = frontier.plan.begin(t)[1], torch.from_numpy(frontier.plan.node(t)).long()
            step = rows.new_empty(self.graph.num_nodes, rows.shape[1])
            step[node[begin:]] = rows[begin:]  # the background first: some of its nodes have rows of the query as well
            step[node[:begin]] = rows[:begin]
            steps.append(step)
        return Background(torch.stack(steps), torch.empty(0))


@dataclass(frozen=True, eq=False)
class _Cones:
    """Copies of the nodes whose representations each deletion changes, and behind them the nodes themselves."""

    csr: RelationalCSR
    deleted: Sequence[Int64]  # the slots of each deletion
    deletion: Int64  # (copy,)
    node: Int32  # (copy,) what it is a copy of
    copy: Int32  # (deletion, node) the copy, -1 where there is none
    num_changed: int  # copies that a deletion changes at once; they come first, deletion by deletion

    @classmethod
    def of(
        cls,
        csr: RelationalCSR,
        deleted: Sequence[Int64],
        is_wide: npt.NDArray[np.bool_],
        distance: Int32,
        iterations: int,
    ) -> _Cones:
        """Breadth-first from the ends of deleted edges, as far as the answer, at a distance (node,), needs it."""
        everyone = np.arange(csr.num_nodes, dtype=np.int32)
        ends = [everyone if wide else csr.target[slots] for wide, slots in zip(is_wide, deleted, strict=True)]
        deletion, node = np.repeat(np.arange(len(ends)), [len(end) for end in ends]), np.concatenate(ends)
        copy = np.full((len(deleted), csr.num_nodes), -1, dtype=np.int32)
        found: list[tuple[Int64, Int32]] = []
        count = 0
        for t in range(1, iterations + 1):
            new = (distance[node] <= iterations - t) & (copy[deletion, node] < 0)
            deletion, node = deletion[new], node[new]
            copy[deletion, node] = np.arange(len(node))  # of equal ones, the last is kept
            last = copy[deletion, node] == np.arange(len(node))
            deletion, node = deletion[last], node[last]
            copy[deletion, node] = np.arange(count, count + len(node))
            found.append((deletion, node))
            count += len(node)
            edge, out = expand_ranges(csr.transpose.indptr[node], csr.transpose.indptr[node + 1])
            deletion, node = deletion[edge], csr.transpose.target[out]
        deletion, node = (np.concatenate(part) for part in zip(*found, strict=True))
        return cls(csr, deleted, deletion, node, copy, len(found[0][0]))

    @property
    def num_edges(self) -> int:
        """The in-edges of all copies, those that are deleted included."""
        return int(self.csr.degree[self.node].sum())

    def places_of(self, node: int) -> Int32:
        """(deletion,) where a node stands: behind the copies, unless it has one."""
        copy = self.copy[:, node]
        return np.where(copy < 0, len(self.node) + node, copy).astype(np.int32)

    def changed(self) -> tuple[Int64, Int32]:
        """Where each deletion's copies begin, of those that it changes at once, and these copies."""
        begin = np.searchsorted(self.deletion[: self.num_changed], np.arange(len(self.deleted) + 1))
        return begin, np.arange(self.num_changed, dtype=np.int32)

    def edges(self) -> RelationalCSR:
        """The in-edges of every copy but the deleted ones. The nodes themselves have none: what they are is known."""
        csr, num_nodes = self.csr, len(self.node) + self.csr.num_nodes
        owner, slot = expand_ranges(csr.indptr[self.node], csr.indptr[self.node + 1])
        keep, first = np.ones(len(slot), dtype=np.bool_), np.cumsum(csr.degree[self.node]) - csr.indptr[self.node + 1]
        for deletion, slots in enumerate(self.deleted):
            copy = self.copy[deletion, csr.target[slots]]
            keep[first[copy[copy >= 0]] + slots[copy >= 0]] = False
        owner, slot = owner[keep], slot[keep]
        copy, source = self.copy[self.deletion[owner], csr.source[slot]], csr.source[slot]
        indptr = np.zeros(num_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=num_nodes), out=indptr[1:])
        source = np.where(copy < 0, len(self.node) + source, copy).astype(np.int32)
        return RelationalCSR(num_nodes, csr.num_relations, indptr, source, csr.relation[slot], csr.edge[slot])
