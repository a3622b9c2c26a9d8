"""networkx and PyTorch Geometric graphs as named edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.columns import Columns
from nbfnet.graph.reading.findings import Finding
from nbfnet.graph.reading.names import BLANKS


@dataclass(frozen=True, eq=False)
class NamedEdges:
    """One array for each column, nodes that no edge may mention, and types by name."""

    roles: Columns
    arrays: Sequence[npt.NDArray[Any]]
    nodes: Iterable[str] = ()
    types: dict[str, str] | None = None
    names: Sequence[str] = ()  # of columns that have some
    by_position: bool = False  # whether nothing but the columns' order says their roles
    directed: bool | None = None  # whether edges without a relation have a direction, where that is known

    def direction_note(self, file: str) -> Finding:
        """What became of the direction of edges that have no relation."""
        if self.directed:
            what, remedy = "the graph is directed: its edges are facts of the one relation 'edge'", "directed=False"
        else:
            what, remedy = "the graph is undirected: its edges have no direction", "directed=True"
        return Finding("direction", what, file, (), len(self.arrays[0]), f"{remedy} reads it the other way", "note")


def from_networkx(graph: Any) -> NamedEdges:
    """Edges with an attribute ``relation``, ``label``, ``type`` or ``key``, or keys that are text, have relations.

    ``weight`` is taken where edges have it. A directed graph stays directed.
    """
    nodes = [str(node).strip(BLANKS) for node in graph.nodes]
    _check_nodes(nodes)
    edges = list(graph.edges(data=True, keys=True)) if graph.is_multigraph() else list(graph.edges(data=True))
    attributes = [edge[-1] for edge in edges]
    columns: dict[str, list[Any]] = {"head": [str(edge[0]) for edge in edges], "tail": [str(edge[1]) for edge in edges]}
    name = next((name for name in _RELATION_NAMES if all(name in data for data in attributes)), _RELATION_NAMES[0])
    if any(name in data for data in attributes):
        columns["relation"] = [data.get(name) for data in attributes]
    elif graph.is_multigraph() and all(isinstance(key, str) for _, _, key, _ in edges):
        columns["relation"] = [key for _, _, key, _ in edges]
    if any("weight" in data for data in attributes):
        columns["weight"] = [data.get("weight", 1.0) for data in attributes]
    arrays = [np.fromiter(values, dtype=object, count=len(edges)) for values in columns.values()]
    return NamedEdges(tuple(columns), arrays, nodes, directed=graph.is_directed())


_RELATION_NAMES = ("relation", "label", "type", "key")


def from_pyg_data(data: Any, directed: bool | None) -> NamedEdges:
    """``edge_type`` makes relations; a symmetric graph, stored both ways, is undirected and keeps each edge once.

    Unless it is to be ``directed``: then it keeps both.
    """
    if getattr(data, "edge_index", None) is None:
        raise GraphFormatError("the Data object has no edge_index", remedy="give a graph with at least one edge")
    head, tail = _array(data.edge_index)
    columns = {"head": head, "tail": tail}
    for role, attribute in (("relation", "edge_type"), ("weight", "edge_weight")):
        if getattr(data, attribute, None) is not None:
            columns[role] = _array(getattr(data, attribute))
    undirected = data.is_undirected()
    if "relation" not in columns and undirected and not directed:
        columns = {role: values[head <= tail] for role, values in columns.items()}
    nodes = [str(node) for node in range(data.num_nodes)]
    return NamedEdges(tuple(columns), list(columns.values()), nodes, directed=not undirected)


def from_hetero_data(data: Any) -> NamedEdges:
    """Node i of type T is named 'T:i', and an edge type (S, r, T) is the relation r, or 'S r T' where r is shared."""
    parts: dict[str, list[str]] = {"head": [], "relation": [], "tail": []}
    short = [relation for _, relation, _ in data.edge_types]
    for source, relation, target in data.edge_types:
        heads, tails = _array(data[source, relation, target].edge_index)
        name = relation if short.count(relation) == 1 else f"{source} {relation} {target}"
        parts["head"] += [f"{source}:{i}" for i in heads]
        parts["relation"] += [name] * len(heads)
        parts["tail"] += [f"{target}:{i}" for i in tails]
    types = {f"{kind}:{i}": kind for kind in data.node_types for i in range(data[kind].num_nodes)}
    return NamedEdges(tuple(parts), [np.array(names, dtype=object) for names in parts.values()], types, types)


def _array(tensor: Any) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _check_nodes(nodes: list[str]) -> None:
    """Nodes become names: each needs a text of its own, where networkx would tell 1 from '1'."""
    seen: set[str] = set()
    for node in nodes:
        if node in seen or not node:
            what = f"two nodes are both written {node!r}" if node in seen else "a node has an empty name"
            raise GraphFormatError(what, remedy="rename the nodes, for example with networkx.relabel_nodes")
        seen.add(node)
