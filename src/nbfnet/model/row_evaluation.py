"""The rows of a frontier, iterated and scored: compiled as a whole where the operators are known, else composed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nbfnet.kernels.backend import backend_for
from nbfnet.kernels.fused_iteration import fused_iteration
from nbfnet.model.frontier import Frontier
from nbfnet.model.iteration import BellmanFordIteration
from nbfnet.model.linear_iteration import LinearIteration
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.query_relations import QueryRelations
from nbfnet.model.score import RuleScore, Score
from nbfnet.operators.registry import aggregates, messages

Iteration = BellmanFordIteration | LinearIteration


@dataclass(frozen=True, eq=False)
class Boundary:
    """h^(0): a query's embedding at its source, the zero row at every other node."""

    query: Tensor  # (query, dim)
    zero: Tensor  # (dim,)


@dataclass(frozen=True, eq=False)
class Background:
    """What a network computes for the queries of a relation with no source anywhere."""

    representation: Tensor  # (iteration, node, dim) b^(1) .. b^(T)
    logits: Tensor  # (node,)


Backgrounds = Callable[[int], Background]  # of a relation


def evaluate_background(
    relations: QueryRelations,
    layers: Sequence[Iteration],
    score: Score | RuleScore,
    graph: MessageGraph,
    relation: int,
) -> Background:
    """The background of every node. It serves all queries of the relation as long as the network does not learn."""
    frontier = Frontier.of_background(graph, relation, len(layers))
    steps = []
    for t, rows in enumerate(iterate_rows(relations, layers, frontier), start=1):
        steps.append(torch.empty_like(rows).index_copy_(0, torch.from_numpy(frontier.plan.node(t)).long(), rows))
    return Background(torch.stack(steps), score(steps[-1], relations.of(torch.tensor([relation]))[0]))


def evaluate_rows(
    relations: QueryRelations,
    layers: Sequence[Iteration],
    frontier: Frontier,
    edge_weights: Sequence[Tensor] | None = None,
    backgrounds: Backgrounds | None = None,
) -> Tensor:
    """h^(T) of every row of the last iteration, (row, dim).

    ``edge_weights`` holds a weight (edge,) for each iteration, which multiplies the messages; only compiled iterations
    take them. ``backgrounds`` fills in what a frontier leaves to the caller.
    """
    *_, last = iterate_rows(relations, layers, frontier, edge_weights, backgrounds)
    return last


def iterate_rows(
    relations: QueryRelations,
    layers: Sequence[Iteration],
    frontier: Frontier,
    edge_weights: Sequence[Tensor] | None = None,
    backgrounds: Backgrounds | None = None,
) -> Iterator[Tensor]:
    """h^(1) .. h^(T) of the rows of each iteration."""
    query = relations.of(torch.from_numpy(frontier.relation))
    family = relations.context_of(torch.from_numpy(frontier.family_relation))
    boundary = Boundary(query, relations.zero)
    fused = is_fused(layers[0], query)
    rows: Tensor = query[torch.from_numpy(frontier.first_rows())]
    for t, layer in enumerate(layers, start=1):
        representation = layer.edges(family)
        weight = None if edge_weights is None else edge_weights[t - 1]
        if isinstance(layer, LinearIteration):
            rows = linear_step(layer, frontier, t, rows, representation, weight, fused=fused)
        elif fused:
            rows = fused_step(layer, frontier, t, rows, representation, boundary, weight)
        else:
            rows = composed_step(layer, frontier, t, rows, representation, boundary)
        if backgrounds is not None:
            fill_background(rows, frontier, t, backgrounds)
        yield rows


def fill_background(rows: Tensor, frontier: Frontier, iteration: int, backgrounds: Backgrounds) -> None:
    """Write b^(t) into the rows that a frontier lists but does not compute."""
    begin, node = frontier.plan.begin(iteration), frontier.plan.node(iteration)
    for family, relation in enumerate(frontier.family_relation.tolist()):
        a, b = begin[frontier.plan.queries + family : frontier.plan.queries + family + 2].tolist()
        known = torch.from_numpy(node[a:b] if frontier.origin is None else frontier.origin[node[a:b]])
        torch.index_select(backgrounds(relation).representation[iteration - 1], 0, known, out=rows[a:b])


def score_rows(
    relations: QueryRelations,
    score: Score | RuleScore,
    frontier: Frontier,
    rows: Tensor,
    backgrounds: Backgrounds | None = None,
) -> Tensor:
    """Logits (query, node): of a query's own rows, and of its background where it has none."""
    nodes = [nodes for _, nodes in frontier.rows_by_group()]
    # Split once: the gradient of each rows[a:b] would be as large as all rows.
    rows_of = torch.split(rows, [len(group) for group in nodes])
    queries = len(frontier.relation)
    everywhere: dict[int, Tensor] = {}  # (node,) the background's logits, for the queries of each relation
    asked = np.unique(frontier.relation)
    for r, embedding in zip(asked.tolist(), relations.of(torch.from_numpy(asked)).unbind(), strict=True):
        if backgrounds is not None:
            everywhere[r] = backgrounds(r).logits
            continue
        background = queries + frontier.family_of(r)
        of_relation = score(rows_of[background], embedding)
        everywhere[r] = rows.new_zeros(frontier.graph.num_nodes).index_put((nodes[background],), of_relation)
    embeddings = relations.of(torch.from_numpy(frontier.relation)).unbind()
    # Query by query: what the score makes of the rows of one query is small enough to stay in a cache.
    own = [score(rows_of[q], embeddings[q]) for q in range(queries)]
    return torch.stack([everywhere[r].index_put((nodes[q],), own[q]) for q, r in enumerate(frontier.relation.tolist())])


def is_fused(layer: Iteration, like: Tensor) -> bool:
    """Whether an iteration on such tensors is one compiled call."""
    names = messages.name_of(layer.message), aggregates.name_of(layer.aggregate)
    return backend_for(like.device, like.dtype, *names) == "cpu"


def fused_step(
    layer: BellmanFordIteration,
    frontier: Frontier,
    iteration: int,
    rows: Tensor,
    representation: Tensor,
    boundary: Boundary,
    edge_weight: Tensor | None,
) -> Tensor:
    """One iteration as one compiled call: rows (row, dim) of the iteration before to those of this one."""
    settings, norm = layer.fused_settings(), layer.layer_norm
    return fused_iteration(
        rows,
        representation,
        layer.linear.weight,
        layer.linear.bias,
        boundary.zero if norm is None else norm.weight,
        boundary.zero if norm is None else norm.bias,
        boundary.query,
        boundary.zero,
        frontier.graph.scale(rows.dtype),
        edge_weight,
        plan=frontier.plan,
        graph=frontier.graph.arrays,
        iteration=iteration,
        settings=settings,
    )


def composed_step(
    layer: BellmanFordIteration,
    frontier: Frontier,
    iteration: int,
    rows: Tensor,
    representation: Tensor,
    boundary: Boundary,
) -> Tensor:
    """The same in plain PyTorch, for operators that no compiled iteration knows."""
    composed = frontier.composed_rows(iteration, representation.shape[1])
    previous = torch.cat([rows, boundary.zero[None]])
    everywhere = boundary.zero.expand(len(composed.node), -1)
    updated: Tensor = layer(
        previous[None],
        previous[composed.own][None],
        everywhere.index_put((composed.at_source,), boundary.query[composed.query_at_source])[None],
        composed.edges,
        representation.flatten(0, 1)[None],
        frontier.graph.scale(rows.dtype)[composed.node],
    )
    return updated[0]


def linear_step(
    layer: LinearIteration,
    frontier: Frontier,
    iteration: int,
    rows: Tensor,
    representation: Tensor,
    edge_weight: Tensor | None,
    *,
    fused: bool,
) -> Tensor:
    """An iteration of logic rules: the compiled or composed sum of the messages, and what stays where it is."""
    zero = rows.new_zeros(rows.shape[1])
    previous = torch.cat([rows, zero[None]])
    own = previous.index_select(0, frontier.own_rows(iteration))
    if fused:
        sums = fused_iteration(
            rows,
            representation,
            layer.fused_weight(rows),
            zero,
            zero,
            zero,
            rows.new_zeros(len(frontier.source), rows.shape[1]),
            zero,
            frontier.graph.scale(rows.dtype),
            edge_weight,
            plan=frontier.plan,
            graph=frontier.graph.arrays,
            iteration=iteration,
            settings=layer.fused_settings(),
        )
    else:
        edges = frontier.composed_rows(iteration, representation.shape[1]).edges
        sums = layer.sum_messages(previous[None], own[None], edges, representation.flatten(0, 1)[None])[0]
    stay = representation[:, -1].index_select(0, frontier.row_families(iteration))
    return sums + own * stay
