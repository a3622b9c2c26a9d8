"""A graph with a session's edits, and the predictor on it: the same network, nothing is trained again."""

from __future__ import annotations

import dataclasses

import numpy as np

from nbfnet.graph.extension import with_entities
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.prediction.predictor import Predictor
from nbfnet.serve.sessions import Edits


def edited(predictor: Predictor, edits: Edits) -> Predictor:
    """The predictor on its graph with some facts more and others less; entities may be new, relations not.

    Raises:
        UnknownNameError: a relation that the graph does not have.
    """
    graph = edited_graph(predictor.graph, edits)
    member = predictor.members[0]
    return Predictor(graph, [dataclasses.replace(member, graph=graph)], background_bytes=0)


def edited_graph(graph: Graph, edits: Edits) -> Graph:
    """The graph with some facts more and others less; every copy of a removed fact is gone."""
    graph = with_entities(graph, [name for head, _, tail in edits.added for name in (head, tail)])
    kept = graph.triplets
    for removed in edits.removed:
        head, relation, tail = ids_of(graph, removed)
        is_it = (kept.head == head) & (kept.relation == relation) & (kept.tail == tail)
        if graph.kind == "homogeneous":
            is_it |= (kept.head == tail) & (kept.tail == head)
        kept = kept.take(~is_it)
    added = np.array([ids_of(graph, fact) for fact in edits.added], dtype=np.int32).reshape(-1, 3)
    return dataclasses.replace(graph, triplets=kept.concatenate(Triplets.of(*added.T)))


def ids_of(graph: Graph, fact: tuple[str, str, str]) -> tuple[int, int, int]:
    """The numbers of a fact's head, relation and tail."""
    head, relation, tail = fact
    return graph.entities.find(head), graph.relations.find(relation), graph.entities.find(tail)
