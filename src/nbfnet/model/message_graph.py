"""MessageGraph: the edges that messages pass over, as tensors on a device."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nbfnet.errors import OperatorError
from nbfnet.graph.incidence import Incidence
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64
from nbfnet.kernels.meeting_means import Incidences, Meetings
from nbfnet.native import native
from nbfnet.operators.pna import degree_scale


class MessageGraph:
    """A RelationalCSR for a network: E(v) by row, each edge with its source and its relation."""

    def __init__(
        self, csr: RelationalCSR, device: torch.device | str = "cpu", *, mean_log_degree: float | Float64 | None = None
    ) -> None:
        """``mean_log_degree`` is that of the whole graph where these are only some of its edges, or of each node."""
        self.csr, self._mean_log_degree = csr, mean_log_degree
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

    @cached_property
    def mean_log_degree(self) -> float | Float64:
        """The mean of log(degree + 1) over the nodes of the graph that each node is of."""
        if self._mean_log_degree is not None:
            return self._mean_log_degree
        return float(self.indptr.diff().double().log1p().mean())

    def scale(self, dtype: torch.dtype) -> Tensor:
        """s_v = log(degree_v + 1) / mean of log(degree + 1), (node,)."""
        if dtype not in self._scales:
            self._scales[dtype] = degree_scale(self.indptr.diff(), dtype, self.mean_log_degree)
        return self._scales[dtype]

    @cached_property
    def relations(self) -> MessageGraph:
        """The relation graph of the edges, on the same device."""
        return MessageGraph(self.csr.relations, self.device)

    @cached_property
    def meetings(self) -> Meetings:
        """Where relations meet, by the edges that are told of (``RelationalCSR.known``)."""
        known = self.csr.known
        return Meetings(self._incidences(known.heads), self._incidences(known.tails))

    def _incidences(self, found: Incidence) -> Incidences:
        of_relation, node = found.by_relation
        arrays = (found.relation, found.begin, node, of_relation)
        return Incidences(*(torch.from_numpy(array).to(self.device) for array in arrays))

    @cached_property
    def arrays(self) -> Any:
        """The same edges for the compiled extension, with their transpose.

        Raises:
            OperatorError: the rows are not what a RelationalCSR should be: made by hand, and inconsistent.
        """
        assert native is not None
        try:
            csr, transpose = self.csr, self.csr.transpose
            arrays = native.GraphArrays(
                *(np.ascontiguousarray(a) for a in (csr.indptr, csr.source, csr.relation)),
                *(np.ascontiguousarray(a) for a in (transpose.indptr, transpose.target)),
            )
        except (ValueError, TypeError, IndexError) as error:
            raise OperatorError(f"the edges of the graph do not fit together: {error}") from None
        if arrays.nodes != csr.num_nodes or arrays.relations > csr.num_relations:
            raise OperatorError(
                f"the edges of the graph have {arrays.nodes} nodes and {arrays.relations} relations, "
                f"expected {csr.num_nodes} nodes and at most {csr.num_relations} relations"
            )
        return arrays
