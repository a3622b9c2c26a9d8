"""MessageGraph: the edges that messages pass over, as tensors on a device."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.native import native
from nbfnet.operators.pna import degree_scale


class MessageGraph:
    """A RelationalCSR for a network: E(v) by row, each edge with its source and its relation."""

    def __init__(self, csr: RelationalCSR, device: torch.device | str = "cpu") -> None:
        self.csr = csr
        self.device = torch.device(device)
        self.indptr = torch.from_numpy(csr.indptr).to(self.device)  # (node + 1,)
        self.source_index = torch.from_numpy(csr.source).to(self.device)  # (edge,)
        self.relation = torch.from_numpy(csr.relation).to(self.device)  # (edge,)
        self._scales: dict[torch.dtype, Tensor] = {}

    @property
    def num_nodes(self) -> int:
        """|V|."""
        return self.csr.num_nodes

    @property
    def num_relations(self) -> int:
        """Relation ids, inverses included."""
        return self.csr.num_relations

    def scale(self, dtype: torch.dtype) -> Tensor:
        """s_v = log(degree_v + 1) / mean of log(degree + 1), (node,)."""
        if dtype not in self._scales:
            self._scales[dtype] = degree_scale(self.indptr.diff(), dtype)
        return self._scales[dtype]

    @cached_property
    def arrays(self) -> Any:
        """The same edges for the compiled extension, with their transpose."""
        assert native is not None
        csr, transpose = self.csr, self.csr.transpose
        return native.GraphArrays(csr.indptr, csr.source, csr.relation, transpose.indptr, transpose.target)
