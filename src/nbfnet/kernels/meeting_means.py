"""Messages between relations that pass through the entities where they meet, in O(incidences), pairs never listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

from nbfnet.kernels import memory
from nbfnet.kernels.backend import backend_for
from nbfnet.native import native

ROLES = 2  # of an entity in a fact: head, tail


@dataclass(frozen=True, eq=False)
class Incidences:
    """The distinct (entity, relation) pairs of one role, by entity and by relation."""

    relation: Tensor  # (pair,) of each entity in turn
    of_node: Tensor  # (node + 1,) where those of each entity begin
    node: Tensor  # (pair,) of each relation in turn
    of_relation: Tensor  # (relation + 1,) where those of each relation begin


@dataclass(frozen=True, eq=False)
class Meetings:
    """Where relations meet: the incidences of the heads, and those of the tails."""

    heads: Incidences
    tails: Incidences

    @property
    def roles(self) -> tuple[Incidences, Incidences]:
        """Both, in the order of the features."""
        return self.heads, self.tails

    @cached_property
    def in_order(self) -> Tensor:
        """(node,) the places of entities that are in order."""
        return torch.arange(len(self.heads.of_node) - 1, device=self.heads.of_node.device)

    @cached_property
    def arrays(self) -> Any:
        """The same incidences for the compiled extension."""
        assert native is not None
        by_node = [array for role in self.roles for array in (role.of_node.numpy(), role.relation.int().numpy())]
        return native.MeetingArrays(len(self.heads.of_relation) - 1, *by_node)


def meeting_means(relation: Tensor, hidden: Tensor | None, meetings: Meetings, place: Tensor | None = None) -> Tensor:
    """The means of what each relation s receives, by the roles a of the sender and b of s at the entity.

        g_a(v) = mean of x_r over the relations r that have v in the role a
        mean of g_a(v), and of g_a(v) * h_v, over the entities v that s has in the role b

    Each relation counts once at an entity, and each entity once at a relation; a mean of nothing is zero. This is the
    sum, over all entities v and all pairs (r, s) that meet there, of x_r or x_r * h_v with the weight
    1 / (relations that v is in the role a of) / (entities that s has in the role b), without listing the pairs.

    Args:
        relation: (query, relation, dim) x_r.
        hidden: (query, row, dim) h_v; None leaves out the products.
        meetings: the incidences.
        place: (node,) the row of each entity in ``hidden``; None: they are in order.

    Returns:
        (query, relation, feature, dim), for each b the features of a = head, a = tail, then those with h_v.
    """
    if backend_for(relation.device, relation.dtype, "distmult", "mean") == "cpu":
        apply: Callable[..., Tensor] = _MeetingMeans.apply
        return apply(relation, hidden, meetings, meetings.in_order if place is None else place)
    if hidden is not None and place is not None:
        hidden = hidden.index_select(1, place)
    return _plain(relation, hidden, meetings)


def _plain(relation: Tensor, hidden: Tensor | None, meetings: Meetings) -> Tensor:
    """The same in plain PyTorch, the specification: a row holds a relation, or an entity, of all queries."""
    queries, relations, dim = relation.shape
    rows = relation.transpose(0, 1).flatten(1)
    at_entities = [_mean(rows, role.relation, role.of_node) for role in meetings.roles]
    if hidden is not None:
        own = hidden.transpose(0, 1).flatten(1)
        at_entities += [gathered * own for gathered in at_entities]
    means = [_mean(entities, role.node, role.of_relation) for role in meetings.roles for entities in at_entities]
    return torch.stack(means, dim=1).view(relations, len(means), queries, dim).permute(2, 0, 1, 3)


def _mean(rows: Tensor, index: Tensor, begin: Tensor) -> Tensor:
    """The mean of rows[index[begin[i]:begin[i + 1]]] for each i; zero where there are none."""
    return embedding_bag(index, rows, begin, mode="mean", include_last_offset=True)


class _MeetingMeans(torch.autograd.Function):
    """As one compiled call; what entities gather is computed again on the way back."""

    @staticmethod
    def forward(ctx: Any, relation: Tensor, hidden: Tensor | None, meetings: Meetings, place: Tensor) -> Tensor:
        relation, hidden = relation.contiguous(), None if hidden is None else hidden.contiguous()
        ctx.meetings, ctx.place, ctx.threads = meetings, place, torch.get_num_threads()
        ctx.save_for_backward(relation, hidden)
        queries, relations, dim = relation.shape
        features = ROLES if hidden is None else 2 * ROLES
        out = memory.empty((queries, relations, ROLES * features, dim), relation.dtype)
        meetings.arrays.forward(_array(relation), _array(hidden), place.numpy(), out.numpy(), ctx.threads)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        saved: tuple[Tensor, Tensor | None] = ctx.saved_tensors
        relation, hidden = saved
        gradients = [None if each is None else memory.empty(tuple(each.shape), each.dtype) for each in saved]
        arrays = (_array(relation), _array(hidden), ctx.place.numpy(), grad.contiguous().numpy())
        ctx.meetings.arrays.backward(*arrays, *(_array(gradient) for gradient in gradients), ctx.threads)
        return gradients[0], gradients[1], None, None


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().numpy()
