"""AskedRun: a run as the API asks it, on its own graph or on the graph of a what-if session, in plain data."""

from __future__ import annotations

import shlex
import threading
from collections import OrderedDict
from typing import Any, Literal

import numpy as np

from nbfnet.errors import UnknownNameError
from nbfnet.explanation.explainer import explain_named
from nbfnet.explanation.explanation import Asked, Explanation
from nbfnet.explanation.path import PathEdge
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse
from nbfnet.prediction.answers import Answers
from nbfnet.prediction.asking import Wanted, ask
from nbfnet.prediction.predictor import Predictor
from nbfnet.run import Run
from nbfnet.serve.edited_graph import edited, ids_of
from nbfnet.serve.name_search import NameSearch
from nbfnet.serve.refusals import RefusedError
from nbfnet.serve.sessions import Edits, Fact
from nbfnet.serve.settings import Limits

Document = dict[str, Any]
_BYTES_OF_EDGE, _BYTES_OF_EDITED = 120, 512 << 20  # what an edited graph takes, about, and what all may take
Side = Literal["head", "tail"]  # which end of a relation is asked


class AskedRun:
    """Everything that is computed for a request. Its methods may run in several threads at the same time."""

    def __init__(self, run: Run, limits: Limits) -> None:
        self.run = run
        self.predictor = run.predictor
        self.graph: Graph = self.predictor.graph
        self.search = NameSearch(self.graph)
        self._edited: OrderedDict[Edits, Predictor] = OrderedDict()
        bytes_of_graph = _BYTES_OF_EDGE * (self.graph.csr.num_edges + self.graph.num_nodes)
        self._most_edited = max(2, min(limits.edited_graphs, _BYTES_OF_EDITED // max(1, bytes_of_graph)))
        self._lock = threading.Lock()

    def predict(
        self, head: str | None, relation: str | None, tail: str | None, wanted: Wanted, edits: Edits
    ) -> Document:
        """The best answers to a query, as ``nbfnet predict --json`` gives them, with types and labels."""
        predictor = self._on(edits)
        answers = ask(predictor, head, relation, tail, wanted)
        graph = predictor.graph
        listed = [
            {
                "rank": answer.rank,
                "name": answer.name,
                "label": answer.label,
                "type": None if answers.asked == "relation" else type_of(graph, graph.entities.id(answer.name)),
                "probability": answer.probability,
                "score": answer.score,
                "known": answer.known,
            }
            for answer in answers
        ]
        given = {role: self._given(graph, role, name) for role, name in answers.query().items()}
        return {
            "query": given,
            "asked": answers.asked,
            "answers": listed,
            "more_known": answers.more_known,
            "what_if": bool(edits),
            "command": self._predict_command(answers, wanted),
        }

    def explain(self, head: str, relation: str | None, tail: str, k: int, asked: Asked, edits: Edits) -> Document:
        """The paths behind a prediction, hop by hop, and grouped by their relation pattern."""
        predictor = self._on(edits)
        explanation = explain_named(predictor.members[0], head, relation, tail, k=k, asked=asked)
        graph, query = predictor.graph, explanation.query
        return {
            "query": self._edge(graph, query),
            "asked": explanation.asked,
            "known": predictor.is_known(*query.ids),
            "probability": explanation.probability,
            "joint_drop": explanation.joint_drop,
            "paths": [
                {
                    "weight": path.weight,
                    "deletion_drop": path.deletion_drop,
                    "added_drop": path.added_drop,
                    "effect": path.effect,
                    "sentence": str(path),
                    "pattern": _pattern(path.edges),
                    "edges": [
                        {**self._edge(graph, edge), "importance": importance}
                        for edge, importance in zip(path.edges, path.importance, strict=True)
                    ],
                }
                for path in explanation.paths
            ],
            "patterns": _patterns(explanation),
            "what_if": bool(edits),
            "command": shlex.join(self._explain_command(explanation)),
        }

    def entity(self, name: str, limit: int, edits: Edits) -> Document:
        """An entity with its known facts, those with its most common relations first."""
        graph = self._graph_of(edits)
        node = graph.entities.find(name)
        begin, end = graph.csr.indptr[node : node + 2].tolist()
        sources, relations = graph.csr.source[begin:end], graph.csr.relation[begin:end]
        # The row of a node holds what flows into it: an edge under an inverse relation is a fact from this node.
        facts, seen = [], set()
        for source, relation in zip(sources.tolist(), relations.tolist(), strict=True):
            outward = graph.kind != "homogeneous" and is_inverse(relation, graph.num_relations)
            key = (base(relation, graph.num_relations), source, outward)
            if key not in seen:
                seen.add(key)
                facts.append(key)
        facts.sort(key=lambda fact: (fact[0], not fact[2]))
        return {
            "entity": describe(graph, node),
            "facts": [
                {
                    "relation": _name_and_label(graph.relations, relation),
                    "asked": "tail" if outward or graph.kind == "homogeneous" else "head",
                    "other": describe(graph, other),
                }
                for relation, other, outward in facts[:limit]
            ],
            "count": len(facts),
        }

    def relations(self, entity: str | None, edits: Edits) -> list[Document]:
        """The relations; for an entity, each way it can be asked, those that make sense for it first.

        A way makes sense if the entity's type, or without types the entity itself, is on that side of some fact.
        """
        graph = self._graph_of(edits)
        if entity is None:
            counts = np.bincount(graph.triplets.relation, minlength=graph.num_relations).tolist()
            return [{**_name_and_label(graph.relations, r), "facts": count} for r, count in enumerate(counts)]
        node = graph.entities.find(entity)
        begin, end = graph.csr.indptr[node : node + 2].tolist()
        own = np.bincount(graph.csr.relation[begin:end], minlength=graph.num_relation_ids)
        possible = self.predictor.possible if node < self.graph.num_nodes else None  # a new entity has no type
        sides: tuple[Side, ...] = ("tail",) if graph.kind == "homogeneous" else ("tail", "head")
        ways: list[Document] = []
        for r in range(graph.num_relations):
            for side in sides:
                # A fact of this node as head flows into it by the inverse.
                inwards = invert(r, graph.num_relations) if side == "tail" and len(sides) == 2 else r
                sensible = bool(own[inwards]) if possible is None else bool(possible.mask(inwards)[node])
                way = {"asked": side, "facts": int(own[inwards]), "sensible": sensible}
                ways.append({**_name_and_label(graph.relations, r), **way})
        return sorted(ways, key=lambda way: (not way["sensible"], way["asked"] == "head", -way["facts"]))

    def find(self, query: str, limit: int) -> list[Document]:
        """Entities by what a person types."""
        found = self.search.find(query, limit) if query.strip() else self.search.best_known(limit)
        return [describe(self.graph, node) for node in found]

    def canonical(self, head: str, relation: str | None, tail: str, *, new_entities: bool) -> tuple[Fact, bool]:
        """A fact by the names that the graph has for its parts, and whether the graph has it.

        Raises:
            UnknownNameError: the relation is unknown, or an entity, where none may be new.
        """
        graph = self.graph
        if relation is None and graph.kind == "homogeneous":
            relation = graph.relations[0]
        if relation is None:
            raise RefusedError(422, "no_relation", "name the relation of the fact")
        named = graph.relations[graph.relations.find(relation)]
        ends = []
        for name in (head, tail):
            try:
                ends.append(graph.entities[graph.entities.find(name)])
            except UnknownNameError:
                if not new_entities:
                    raise
                ends.append(name)
        fact = (ends[0], named, ends[1])
        known = all(end in graph.entities for end in ends) and self.predictor.is_known(*ids_of(graph, fact))
        return fact, known

    def facts(self, edits: Edits) -> Document:
        """The edits of a session, with labels."""
        graph = self._graph_of(edits)
        return {
            "added": [self._fact(graph, fact) for fact in edits.added],
            "removed": [self._fact(graph, fact) for fact in edits.removed],
        }

    def _on(self, edits: Edits) -> Predictor:
        """The predictor on a session's graph; those that were asked last stay in memory."""
        if not edits:
            return self.predictor
        with self._lock:
            found = self._edited.get(edits)
            if found is not None:
                self._edited.move_to_end(edits)
                return found
        made = edited(self.predictor, edits)
        with self._lock:
            self._edited[edits] = made
            while len(self._edited) > self._most_edited:
                self._edited.popitem(last=False)
        return made

    def _graph_of(self, edits: Edits) -> Graph:
        return self._on(edits).graph

    def _given(self, graph: Graph, role: str, name: str) -> Document:
        if role == "relation":
            return _name_and_label(graph.relations, graph.relations.id(name))
        return describe(graph, graph.entities.id(name))

    def _fact(self, graph: Graph, fact: Fact) -> Document:
        head, relation, tail = ids_of(graph, fact)
        return {
            "head": describe(graph, head),
            "relation": _name_and_label(graph.relations, relation),
            "tail": describe(graph, tail),
        }

    def _edge(self, graph: Graph, edge: PathEdge) -> Document:
        head, relation, tail = edge.ids
        return {
            "head": describe(graph, head),
            "relation": _name_and_label(graph.relations, relation),
            "tail": describe(graph, tail),
            "inverse": edge.inverse,
            "directed": edge.directed,
        }

    def _predict_command(self, answers: Answers, wanted: Wanted) -> str:
        parts = ["nbfnet", "predict", str(self.run.folder.path)]
        for role, name in answers.query().items():
            if not (role == "relation" and self.graph.kind == "homogeneous"):
                parts += [f"--{role}", name]
        parts += ["-k", str(wanted.k)]
        parts += ["--exclude-known"] * wanted.exclude_known + ["--any-type"] * wanted.any_type
        return shlex.join([*parts, *(part for name in wanted.types for part in ("--type", name))])

    def _explain_command(self, explanation: Explanation) -> list[str]:
        query = explanation.query
        link = (
            [query.head, query.tail] if self.graph.kind == "homogeneous" else [query.head, query.relation, query.tail]
        )
        parts = ["nbfnet", "explain", str(self.run.folder.path), *link, "-k", str(max(1, len(explanation.paths)))]
        return [*parts, "--asked", "head"] if explanation.asked == "head" else parts


def describe(graph: Graph, node: int) -> Document:
    """An entity: its name, what a person reads, its type, and how many facts it has."""
    return {
        "name": graph.entities[node],
        "label": graph.entities.label(node),
        "type": type_of(graph, node),
        "facts": int(graph.csr.degree[node]),
    }


def type_of(graph: Graph, node: int) -> str | None:
    """The type of an entity, if it has one."""
    if graph.types is None or graph.types.of_entity[node] < 0:
        return None
    return graph.types.names[int(graph.types.of_entity[node])]


def _name_and_label(names: Any, index: int) -> Document:
    return {"name": names[index], "label": names.label(index)}


def _pattern(edges: tuple[PathEdge, ...]) -> str:
    return " ".join(edge.arrow for edge in edges)


def _patterns(explanation: Explanation) -> list[Document]:
    """The paths by their relation pattern, in the order of the first path of each."""
    groups: dict[str, list[int]] = {}
    for number, path in enumerate(explanation.paths):
        groups.setdefault(_pattern(path.edges), []).append(number)
    return [
        {
            "pattern": pattern,
            "edges": [
                {"relation": edge.label, "inverse": edge.inverse, "directed": edge.directed}
                for edge in explanation.paths[members[0]].edges
            ],
            "paths": members,
            "added_drop": sum(explanation.paths[number].added_drop for number in members),
        }
        for pattern, members in groups.items()
    ]
