"""networkx and PyTorch Geometric graphs as named edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError


@dataclass(frozen=True, eq=False)
class NamedEdges:
    """One array for each role of an edge, nodes that no edge may mention, and types by name."""

    columns: dict[str, npt.NDArray[Any]]
    nodes: Iterable[str] = ()
    types: dict[str, str] | None = None


def from_networkx(graph: Any) -> NamedEdges:
    """Edges with a ``relation`` attribute make a knowledge graph; ``weight`` is taken where edges have it."""
    nodes = [str(node) for node in graph.nodes]
    _check_nodes(nodes)
    edges = list(graph.edges(data=True))
    columns: dict[str, list[Any]] = {
        "head": [str(u) for u, _, _ in edges],
        "tail": [str(v) for _, v, _ in edges],
    }
    for role in ("relation", "weight"):
        if any(role in data for _, _, data in edges):
            columns[role] = [data.get(role, 1.0 if role == "weight" else None) for _, _, data in edges]
    arrays = {role: np.fromiter(values, dtype=object, count=len(edges)) for role, values in columns.items()}
    return NamedEdges(arrays, nodes)


def from_pyg_data(data: Any) -> NamedEdges:
    """``edge_type`` makes a knowledge graph; an undirected graph, stored both ways, keeps each edge once."""
    if getattr(data, "edge_index", None) is None:
        raise GraphFormatError("the Data object has no edge_index", remedy="give a graph with at least one edge")
    head, tail = _array(data.edge_index)
    columns = {"head": head, "tail": tail}
    for role, attribute in (("relation", "edge_type"), ("weight", "edge_weight")):
        if getattr(data, attribute, None) is not None:
            columns[role] = _array(getattr(data, attribute))
    if "relation" not in columns and data.is_undirected():
        columns = {role: values[head <= tail] for role, values in columns.items()}
    return NamedEdges(columns, [str(node) for node in range(data.num_nodes)])


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
    return NamedEdges({role: np.array(names, dtype=object) for role, names in parts.items()}, types, types)


def _array(tensor: Any) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _check_nodes(nodes: list[str]) -> None:
    """Nodes become names: each needs a text of its own, where networkx would tell 1 from '1'."""
    seen: set[str] = set()
    for node in nodes:
        if node in seen or not node.strip(" "):
            what = f"two nodes are both written {node!r}" if node in seen else "a node has an empty name"
            raise GraphFormatError(what, remedy="rename the nodes, for example with networkx.relabel_nodes")
        seen.add(node)
