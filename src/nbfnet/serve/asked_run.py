"""AskedRun: a run as the API asks it, on its own graph or on the graph of a what-if session, in plain data."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Literal

import numpy as np

from nbfnet.explanation.explainer import explain_named
from nbfnet.explanation.explanation import Asked
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse
from nbfnet.prediction.asking import Wanted, ask
from nbfnet.prediction.predictor import Predictor
from nbfnet.run import Run
from nbfnet.serve.command_lines import explain_command, predict_command
from nbfnet.serve.documents import (
    Document,
    entity_document,
    explanation_document,
    fact_document,
    relation_document,
    type_of,
)
from nbfnet.serve.edited_graph import edited, ids_of
from nbfnet.serve.name_search import NameSearch
from nbfnet.serve.refusals import RefusedError
from nbfnet.serve.sessions import Edits, Fact
from nbfnet.serve.settings import Limits

_BYTES_OF_EDGE, _BYTES_OF_EDITED = 120, 512 << 20  # what an edited graph takes, about, and what all may take
Side = Literal["head", "tail"]  # which end of a relation is asked


class AskedRun:
    """Everything that is computed for a request. Its methods may run in several threads at the same time."""

    def __init__(self, run: Run, limits: Limits) -> None:
        self._path = run.folder.path
        self.predictor = run.predictor
        self.graph: Graph = self.predictor.graph
        self._has_relations = self.graph.kind != "homogeneous"
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
        return {
            "query": {role: _given(graph, role, name) for role, name in answers.query().items()},
            "asked": answers.asked,
            "answers": listed,
            "more_known": answers.more_known,
            "what_if": bool(edits),
            "command": predict_command(self._path, answers, wanted, needs_relation=self._has_relations),
        }

    def explain(self, head: str, relation: str | None, tail: str, k: int, asked: Asked, edits: Edits) -> Document:
        """The paths behind a prediction, hop by hop, and grouped by their relation pattern."""
        predictor = self._on(edits)
        explanation = explain_named(predictor.members[0], head, relation, tail, k=k, asked=asked)
        return {
            **explanation_document(predictor.graph, explanation),
            "known": predictor.is_known(*explanation.query.ids),
            "what_if": bool(edits),
            "command": explain_command(self._path, explanation, needs_relation=self._has_relations),
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
            "entity": entity_document(graph, node),
            "facts": [
                {
                    "relation": relation_document(graph, relation),
                    "asked": "tail" if outward or graph.kind == "homogeneous" else "head",
                    "other": entity_document(graph, other),
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
            return [{**relation_document(graph, r), "facts": count} for r, count in enumerate(counts)]
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
                ways.append({**relation_document(graph, r), **way})
        return sorted(ways, key=lambda way: (not way["sensible"], way["asked"] == "head", -way["facts"]))

    def find(self, query: str, limit: int) -> list[Document]:
        """Entities by what a person types."""
        found = self.search.find(query, limit) if query.strip() else self.search.best_known(limit)
        return [entity_document(self.graph, node) for node in found]

    def canonical(self, head: str, relation: str | None, tail: str) -> tuple[Fact, bool]:
        """A fact by the names that the graph has for its parts, and whether the graph has it; entities may be new.

        Raises:
            UnknownNameError: the relation is unknown, or a label stands for several entities.
            RefusedError: no relation was named, and there are several.
        """
        graph = self.graph
        if relation is None and graph.kind == "homogeneous":
            relation = graph.relations[0]
        if relation is None:
            raise RefusedError(422, "no_relation", "name the relation of the fact")
        named = graph.relations[graph.relations.find(relation)]
        entities = graph.entities
        ends = [entities[entities.id(name)] if entities.knows(name) else name for name in (head, tail)]
        if graph.kind == "homogeneous":
            ends.sort()  # an edge has no direction, and must not be there twice
        fact = (ends[0], named, ends[1])
        known = all(end in graph.entities for end in ends) and self.predictor.is_known(*ids_of(graph, fact))
        return fact, known

    def facts(self, edits: Edits) -> Document:
        """The edits of a session, with labels."""
        graph = self._graph_of(edits)
        return {
            "added": [fact_document(graph, *ids_of(graph, fact)) for fact in edits.added],
            "removed": [fact_document(graph, *ids_of(graph, fact)) for fact in edits.removed],
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


def _given(graph: Graph, role: str, name: str) -> Document:
    if role == "relation":
        return relation_document(graph, graph.relations.id(name))
    return entity_document(graph, graph.entities.id(name))
