"""One update of the relation representations through the entities where relations meet."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.kernels.meeting_means import ROLES, Meetings, meeting_means


class RelationUpdate(nn.Module):
    """x_s <- x_s + ReLU(LayerNorm(W [x_s, m_1 + x^(0)_s, .., m_k + x^(0)_s] + b)), where m are ``meeting_means``.

    A message from relation r to relation s that meet at an entity v is M x_r + N (x_r * h_v), whose matrices M and N,
    parts of W, are those of the kind of the meeting; s takes the mean of them. Without entity representations h_v a
    message is M x_r. LayerNorm and the shortcut x_s can be left out.
    """

    def __init__(self, config: ModelConfig, *, with_entities: bool) -> None:
        super().__init__()
        features = ROLES * ROLES * (2 if with_entities else 1)
        self.linear = nn.Linear((1 + features) * config.dim, config.dim)
        self.layer_norm = nn.LayerNorm(config.dim) if config.layer_norm else None
        self.shortcut = config.shortcut

    def forward(
        self,
        relation: Tensor,
        boundary: Tensor,
        meetings: Meetings,
        hidden: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """(query, relation, dim) of the representations x and the boundary x^(0), both (query, relation, dim).

        ``hidden`` (query, row, dim) and ``place`` (node,) are those of ``meeting_means``.
        """
        received = meeting_means(relation, hidden, meetings, place) + boundary[:, :, None]
        updated: Tensor = self.linear(torch.cat([relation, received.flatten(2)], dim=2))
        if self.layer_norm is not None:
            updated = self.layer_norm(updated)
        updated = torch.relu(updated)
        return updated + relation if self.shortcut else updated
