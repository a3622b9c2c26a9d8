"""Entities, relations, facts and paths as plain data, each with its name and what a person reads for it."""

from __future__ import annotations

from typing import Any

from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import PathEdge
from nbfnet.graph.graph import Graph

Document = dict[str, Any]


def entity_document(graph: Graph, node: int) -> Document:
    """An entity: its name, what a person reads, its type, and how many facts it has."""
    return {
        "name": graph.entities[node],
        "label": graph.entities.label(node),
        "type": type_of(graph, node),
        "facts": int(graph.csr.degree[node]),
    }


def relation_document(graph: Graph, relation: int) -> Document:
    """A relation: its name, and what a person reads."""
    return {"name": graph.relations[relation], "label": graph.relations.label(relation)}


def fact_document(graph: Graph, head: int, relation: int, tail: int) -> Document:
    """A fact."""
    return {
        "head": entity_document(graph, head),
        "relation": relation_document(graph, relation),
        "tail": entity_document(graph, tail),
    }


def edge_document(graph: Graph, edge: PathEdge) -> Document:
    """A fact, and which way a path follows it."""
    return {**fact_document(graph, *edge.ids), "inverse": edge.inverse, "directed": edge.directed}


def explanation_document(graph: Graph, explanation: Explanation) -> Document:
    """A prediction with its paths, hop by hop, and the patterns that they belong to."""
    paths = [
        {
            "weight": path.weight,
            "deletion_drop": path.deletion_drop,
            "added_drop": path.added_drop,
            "effect": path.effect,
            "sentence": str(path),
            "pattern": _pattern(path.edges),
            "edges": [
                {**edge_document(graph, edge), "importance": importance}
                for edge, importance in zip(path.edges, path.importance, strict=True)
            ],
        }
        for path in explanation.paths
    ]
    return {
        "query": edge_document(graph, explanation.query),
        "asked": explanation.asked,
        "probability": explanation.probability,
        "joint_drop": explanation.joint_drop,
        "paths": paths,
        "patterns": _patterns(explanation),
    }


def type_of(graph: Graph, node: int) -> str | None:
    """The type of an entity, if it has one."""
    if graph.types is None or graph.types.of_entity[node] < 0:
        return None
    return graph.types.names[int(graph.types.of_entity[node])]


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
