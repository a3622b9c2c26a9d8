"""Principal neighbourhood aggregation: four statistics of the messages, each in three scalings."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from nbfnet.graph.triplets import Float64
from nbfnet.operators.aggregate import Aggregate, extremum_by_row, messages_by_row, sum_by_row
from nbfnet.operators.registry import aggregates

LEAST_VARIANCE = 1e-6  # a row of equal messages has no variance, and the root no gradient there
LEAST_SCALE = 1e-2


@aggregates.register("pna")
class PNAAggregate(Aggregate):
    """AGGREGATE(M) = [mean, max, min, std] with std = sqrt(max(E[m^2] - E[m]^2, 1e-6)).

    The result is (query, row, statistic, dim): the kernel stores each statistic in one piece, and a linear
    layer on all of them is one product, its columns put in that order (see ``project``).
    """

    statistics: ClassVar[tuple[str, ...]] = ("mean", "max", "min", "std")
    num_scalers: ClassVar[int] = 3  # 1, s, 1 / s

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, statistic, dim) of messages (query, message, dim)."""
        count = messages_by_row(row, num_rows, messages)
        mean = sum_by_row(messages, row, num_rows) / count
        mean_square = sum_by_row(messages * messages, row, num_rows) / count
        largest = extremum_by_row(messages, row, num_rows, largest=True)
        smallest = extremum_by_row(messages, row, num_rows, largest=False)
        deviation = (mean_square - mean * mean).clamp(min=LEAST_VARIANCE).sqrt()
        return torch.stack([mean, largest, smallest, deviation], dim=2)

    def features(self, aggregated: Tensor, scale: Tensor) -> Tensor:
        """(query, row, 12 dim): each statistic times 1, s_v and 1 / max(s_v, 0.01).

        They are ordered (dim, statistic, scaler).
        """
        scalers = torch.stack([torch.ones_like(scale), scale, 1 / scale.clamp(min=LEAST_SCALE)], dim=-1)
        # (query, row, dim, statistic, 1) * (row, 1, 1, scaler)
        scaled = aggregated.transpose(-1, -2)[..., None] * scalers[:, None, None, :]
        return scaled.flatten(start_dim=-3)

    def feature_dim(self, dim: int) -> int:
        """Statistics times scalers times dim."""
        return len(self.statistics) * self.num_scalers * dim

    def project(self, aggregated: Tensor, scale: Tensor, weight: Tensor) -> Tensor:
        """(query, row, out) = features @ weight^T, but the 12 dim features are never made.

        The statistics are projected once for each scaler, and what comes out is scaled.
        """
        out, dim, num_statistics = weight.shape[0], aggregated.shape[-1], len(self.statistics)
        by_scaler = weight.view(out, dim, num_statistics, self.num_scalers).permute(3, 0, 2, 1)
        projected = nn.functional.linear(aggregated.flatten(-2), by_scaler.reshape(-1, num_statistics * dim))
        plain, amplified, attenuated = projected.chunk(3, dim=-1)
        return plain + scale[:, None] * amplified + attenuated / scale.clamp(min=LEAST_SCALE)[:, None]


def degree_scale(degree: Tensor, dtype: torch.dtype, mean_log_degree: float | Float64 | None = None) -> Tensor:
    """s_v = log(degree_v + 1) / mean over nodes of log(degree + 1), (node,); 1 where no node has an edge.

    ``mean_log_degree`` is that mean where the nodes are only some of the graph's, or (node,) of several graphs.
    """
    log_degree = degree.to(torch.float64).log1p()
    mean = (
        log_degree.mean()
        if mean_log_degree is None
        else torch.as_tensor(mean_log_degree, dtype=torch.float64, device=degree.device)
    )
    return torch.where(mean > 0, log_degree / mean, torch.ones_like(log_degree)).to(dtype)
