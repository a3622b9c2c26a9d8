"""A call of relational SpMM on a graph, timed: by our backends, and as message passing libraries do it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.kernels.relational_spmm import relational_spmm

Step = Callable[..., Tensor]


class Case:
    """The inputs of a call on a graph, and the time that it takes."""

    def __init__(self, csr: RelationalCSR, queries: int, dim: int = 32, aggregate: str = "pna") -> None:
        self.queries = queries
        rows = [csr.num_nodes, csr.num_relations, csr.num_nodes]
        # Representations come out of a ReLU, so many numbers are exactly zero.
        self.inputs = [torch.randn(queries, n, dim).relu_().requires_grad_() for n in rows]
        self.edges = [torch.from_numpy(array) for array in (csr.indptr, csr.source, csr.relation)]
        statistics = [4] if aggregate == "pna" else []
        self.direction = torch.randn(queries, csr.num_nodes, *statistics, dim)

    def milliseconds(self, step: Step) -> tuple[float, float]:
        """Forward and backward, for one query."""
        begin = time.perf_counter()
        out = step(*self.inputs, *self.edges)
        middle = time.perf_counter()
        torch.autograd.grad(out, self.inputs, self.direction)
        end = time.perf_counter()
        return (middle - begin) / self.queries * 1e3, (end - middle) / self.queries * 1e3


def kernel(*tensors: Tensor, backend: Any = "cpu", message: str = "distmult", aggregate: str = "pna") -> Tensor:
    """The operation by one of our backends."""
    with use_backend(backend):
        return relational_spmm(*tensors, message=message, aggregate=aggregate)


def reference(*tensors: Tensor) -> Tensor:
    """Our own specification in plain PyTorch."""
    return kernel(*tensors, backend="reference")


def gather_scatter(
    source: Tensor, edges: Tensor, boundary: Tensor, indptr: Tensor, index: Tensor, relation: Tensor
) -> Tensor:
    """As message passing libraries do it: gather the messages, scatter them once for each statistic."""
    row = torch.arange(boundary.shape[1]).repeat_interleave(indptr.diff())
    messages = source[:, index] * edges[:, relation]
    spread = row[None, :, None].expand_as(messages)
    count = (indptr.diff() + 1)[:, None]
    mean = boundary.scatter_add(1, spread, messages) / count
    mean_square = boundary.square().scatter_add(1, spread, messages.square()) / count
    largest = boundary.scatter_reduce(1, spread, messages, "amax")
    smallest = boundary.scatter_reduce(1, spread, messages, "amin")
    deviation = (mean_square - mean.square()).clamp(min=1e-6).sqrt()
    return torch.stack([mean, largest, smallest, deviation], dim=2)


def random_graph(nodes: int, edges: int) -> RelationalCSR:
    """Edges between random nodes, 50 relations."""
    generator = np.random.default_rng(0)
    head, relation, tail = (generator.integers(n, size=edges, dtype=np.int32) for n in (nodes, 50, nodes))
    return RelationalCSR.from_triplets(Triplets(head, relation, tail), nodes, 50)
