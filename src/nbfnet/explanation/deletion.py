"""The logit of a prediction without some facts of the graph, for many sets of facts at once.

Without an edge into y, a node v has another h^(t)_v only if dist(y, v) < t, and that matters to the answer only if
dist(v, answer) <= T - t. These rows, the *cone* of a deletion, are computed again. All others are what they were on the
whole graph, and are read from there. The cones of many deletions make one graph: a copy of every node of every cone,
whose in-edges come from copies of the same cone, or from the nodes themselves.

PNA divides every node's degree by a mean over the graph, which a deletion changes, and with it every row. A change of
less than a thousandth is left out; where it is larger, as in a small graph, all rows are computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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

_SMALL = 1e-3  # a share of the mean log-degree
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
        local = [i for i, some in enumerate(slots) if self._is_local(some)]
        logits = np.empty(len(slots))
        with torch.no_grad():
            if local:
                some = [slots[i] for i in local]
                representation = torch.stack([direction.represent(some) for direction in self._directions]).sum(0)
                found = self.network.score_function(representation, self._directions[0].query)
                logits[local] = found.double().numpy()
            for i in set(range(len(slots))).difference(local):
                logits[i] = self._score(slots[i])
        return logits

    def facts(self, path: Sequence[int]) -> frozenset[int]:
        """The slots of every copy of a path's edges, and of their inverses."""
        csr, slots = self.graph.csr, list(path)
        found = self._edges.slots(csr.source[slots], csr.relation[slots], csr.target[slots][:, None])
        return frozenset(found.tolist())

    def _is_local(self, slots: Int64) -> bool:
        """Whether only cones are computed without these edges."""
        if not self._directions:
            return False
        node, lost = np.unique(self.graph.csr.target[slots], return_counts=True)
        degree = self.graph.csr.degree[node]
        change = (np.log1p(degree) - np.log1p(degree - lost)).sum() / self.graph.num_nodes
        return bool(change <= _SMALL * self.graph.mean_log_degree)

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
        self._whole = self._pass()

    def represent(self, deleted: Sequence[Int64]) -> Tensor:
        """(deletion, dim) of the target, without the edges in the slots of each deletion."""
        half = (len(deleted) + 1) // 2
        if half < len(deleted) and len(deleted) * self.graph.num_nodes > _NODES_TOGETHER:
            return torch.cat([self.represent(deleted[:half]), self.represent(deleted[half:])])
        cones = _Cones.of(self.graph.csr, deleted, self._distance, self.network.config.layers)
        if half < len(deleted) and cones.num_edges > _NODES_TOGETHER:
            return torch.cat([self.represent(deleted[:half]), self.represent(deleted[half:])])
        edges, origin = cones.graph()
        copies = MessageGraph(edges, self.graph.device, mean_log_degree=self.graph.mean_log_degree)
        frontier = self.network.frontier(
            copies,
            cones.places_of(self.source),
            np.full(len(deleted), self.relation),
            (np.arange(len(deleted) + 1), cones.places_of(self.target)),
            background_given=True,
            changed=cones.changed(),
            origin=origin,
        )
        rows = evaluate_rows(self.relations, self.network.iterations(), frontier, backgrounds=lambda _: self._whole)
        return rows.index_select(0, frontier.target_rows())

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
    """Copies of the nodes whose representations each deletion changes. A node's key is deletion * |V| + node."""

    csr: RelationalCSR
    key: Int64  # (copy,)
    copy: Int32  # (key,) the copy, -1 where there is none
    slot: Int64  # (deleted edge,) deletion by deletion
    deletion: Int64  # (deleted edge,)

    @classmethod
    def of(cls, csr: RelationalCSR, deleted: Sequence[Int64], distance: Int32, iterations: int) -> _Cones:
        """Breadth-first from the ends of the deleted edges, as far as the answer, at a distance (node,), needs it."""
        copy = np.full(len(deleted) * csr.num_nodes, -1, dtype=np.int32)
        slot = np.concatenate(deleted) if deleted else np.zeros(0, dtype=np.int64)
        deletion = np.repeat(np.arange(len(deleted)), [len(slots) for slots in deleted])
        owner, node, count = deletion, csr.target[slot], 0
        keys: list[Int64] = []
        for t in range(1, iterations + 1):
            key = owner * csr.num_nodes + node
            key = key[(distance[node] <= iterations - t) & (copy[key] < 0)]
            copy[key] = np.arange(len(key))  # of equal ones, the last is kept
            key = key[copy[key] == np.arange(len(key))]
            copy[key] = np.arange(count, count + len(key))
            keys.append(key)
            count += len(key)
            reached, node = np.divmod(key, csr.num_nodes)
            edge, out = expand_ranges(csr.transpose.indptr[node], csr.transpose.indptr[node + 1])
            owner, node = reached[edge], csr.transpose.target[out]
        return cls(csr, np.concatenate(keys), copy, slot, deletion)

    @property
    def num_edges(self) -> int:
        """The in-edges of all copies, but for the deleted ones."""
        return int(self.csr.degree[self.key % self.csr.num_nodes].sum())

    def places_of(self, node: int) -> Int32:
        """(deletion,) where a node stands in the graph of the copies: behind them, unless it has a copy."""
        copy = self.copy[node :: self.csr.num_nodes]
        return np.where(copy < 0, len(self.key) + node, copy).astype(np.int32)

    def changed(self) -> tuple[Int64, Int32]:
        """Where each deletion's begin, and the copies that a deleted edge ends in."""
        copy = self._changed()
        num_deletions = len(self.copy) // self.csr.num_nodes
        return np.searchsorted(self.deletion[copy >= 0], np.arange(num_deletions + 1)), copy[copy >= 0]

    def graph(self) -> tuple[RelationalCSR, Int64]:
        """The in-edges of every copy without the deleted ones, and the node that each stands for.

        Behind the copies stand the nodes themselves, without edges: what they are is known.
        """
        csr = self.csr
        deletion, node = np.divmod(self.key, csr.num_nodes)
        owner, slot = expand_ranges(csr.indptr[node], csr.indptr[node + 1])
        begin = np.cumsum(csr.degree[node]) - csr.indptr[node + 1]  # where slot 0 of each copy would be
        keep, changed = np.ones(len(slot), dtype=np.bool_), self._changed()
        keep[begin[changed[changed >= 0]] + self.slot[changed >= 0]] = False
        owner, slot = owner[keep], slot[keep]
        source = csr.source[slot]
        copy = self.copy[deletion[owner] * csr.num_nodes + source]
        indptr = np.zeros(len(node) + csr.num_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=len(node) + csr.num_nodes), out=indptr[1:])
        edges = RelationalCSR(
            len(node) + csr.num_nodes,
            csr.num_relations,
            indptr,
            np.where(copy < 0, len(node) + source, copy).astype(np.int32),
            csr.relation[slot],
            csr.edge[slot],
        )
        return edges, np.concatenate([node, np.arange(csr.num_nodes)])

    def _changed(self) -> Int32:
        """(deleted edge,) the copy that it ends in, -1 where there is none."""
        copy: Int32 = self.copy[self.deletion * self.csr.num_nodes + self.csr.target[self.slot]]
        return copy
