"""What the operation refuses, and that its memory does not grow with edges times dim."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from nbfnet.errors import OperatorError, UnknownNameError
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.native import native

pytestmark = pytest.mark.filterwarnings("ignore:nbfnet runs without its compiled extension")


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("source", lambda t: t[:1], r"source is \(1, 20, 4\)"),
        ("source", lambda t: t[0], r"source is \(20, 4\)"),
        ("source", lambda t: t.float(), "source is .* of torch.float32, expected .* of torch.float64"),
        (
            "edge_representation",
            lambda t: t[..., :3],
            r"edge_representation is \(2, 4, 3\) .* expected \(any, any, 4\)",
        ),
        (
            "edge_representation",
            lambda t: t[[0, 1, 1]],
            "edge_representation has 3 queries, expected 2, or 1",
        ),
        ("boundary", lambda t: t[..., 0], "boundary is"),
        ("indptr", lambda t: t[1:], r"indptr is \(20,\) of torch.int64, expected \(21\)"),
        ("indptr", lambda t: t.int(), "indptr is .* of torch.int32, expected .* of torch.int64"),
        ("relation", lambda t: t[1:], r"relation is \(89,\)"),
        ("relation", lambda t: t.long(), "relation is .* of torch.int64, expected .* of torch.int32"),
        ("weight", lambda t: t[1:], r"weight is \(89,\)"),
    ],
)
def test_shapes_and_types_must_fit(make_inputs, name: str, change, complaint: str) -> None:
    inputs = make_inputs("random", 4, weighted=True)
    setattr(inputs, name, change(getattr(inputs, name)))
    with pytest.raises(OperatorError, match=complaint):
        relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")


@pytest.mark.skipif(native is None, reason="the compiled extension is not there")
@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("source_index", 3, 20),
        ("source_index", 0, -1),
        ("source_index", 5, 2**31 - 1),
        ("source_index", 5, -(2**31)),
        ("relation", 89, 4),
        ("relation", 0, -7),
        ("indptr", 0, 1),
        ("indptr", 20, 91),
        ("indptr", 3, 1000),
        ("indptr", 4, -1),
    ],
)
def test_indices_must_be_in_bounds(make_inputs, name: str, position: int, value: int) -> None:
    inputs = make_inputs("random", 4)
    getattr(inputs, name)[position] = value
    with pytest.raises(OperatorError, match="the edges do not fit"):
        relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")


@pytest.mark.skipif(native is None, reason="the compiled extension is not there")
def test_edges_need_something_to_point_to(make_inputs) -> None:
    inputs = make_inputs("random", 4)
    inputs.edge_representation = inputs.edge_representation[:, :0]
    with pytest.raises(OperatorError, match="the edges do not fit"):
        relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")


def test_operators_are_checked(make_inputs) -> None:
    inputs = make_inputs("random", 5)
    with pytest.raises(OperatorError, match="dim must be even, not 5"):
        relational_spmm(*inputs.tensors(), message="rotate", aggregate="sum")
    with pytest.raises(UnknownNameError, match="unknown message 'rotato'; did you mean 'rotate'"):
        relational_spmm(*inputs.tensors(), message="rotato", aggregate="sum")
    with pytest.raises(UnknownNameError, match="unknown aggregate 'median'"):
        relational_spmm(*inputs.tensors(), message="rotate", aggregate="median")


def test_weights_of_another_type_are_converted(make_inputs) -> None:
    inputs = make_inputs("random", 4, dtype=torch.float32, weighted=True)
    expected = relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")
    inputs.weight = inputs.weight.double().requires_grad_()
    found = relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")
    assert torch.equal(found, expected)
    found.sum().backward()
    assert inputs.weight.grad.dtype == torch.float64


MEMORY = """
import resource, torch
from nbfnet.kernels.backend import use_backend
from nbfnet.kernels.relational_spmm import relational_spmm

edges, nodes, dim = 1_000_000, 2_000, 64
source_index = torch.randint(nodes, (edges,), dtype=torch.int32)
relation = torch.randint(9, (edges,), dtype=torch.int32)
indptr = torch.arange(nodes + 1) * (edges // nodes)
source, boundary = (torch.randn(2, nodes, dim, requires_grad=True) for _ in range(2))
edge_representation = torch.randn(2, 9, dim, requires_grad=True)

def run(count):
    rows = torch.minimum(indptr, torch.tensor(count))
    out = relational_spmm(source, edge_representation, boundary, rows, source_index[:count], relation[:count],
                          message="distmult", aggregate="pna")
    out.sum().backward()

with use_backend("cpu"):
    run(1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(edges)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (2 * edges * dim * 4))
"""


@pytest.mark.skipif(native is None, reason="the compiled extension is not there")
def test_memory_does_not_grow_with_edges_times_dim() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.05  # of one (query, edge, dim) tensor
