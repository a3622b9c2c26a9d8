"""The compiled kernel against the reference: forward and backward, every pair of operators, ugly graphs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import torch
from torch import Tensor

from nbfnet.errors import OperatorError
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES, use_backend
from nbfnet.kernels.cpu import instruction_set
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.native import native
from nbfnet.operators.registry import aggregates, messages

pytestmark = pytest.mark.skipif(native is None, reason="the compiled extension is not there")

every_message = pytest.mark.parametrize("message", KERNEL_MESSAGES)
every_aggregate = pytest.mark.parametrize("aggregate", KERNEL_AGGREGATES)


@contextmanager
def use_instruction_set(name: str) -> Iterator[None]:
    before = instruction_set()
    native.choose_instruction_set(name)
    try:
        yield
    finally:
        native.choose_instruction_set(before)


def run(backend: str, inputs, message: str, aggregate: str, direction: Tensor | None = None) -> list[Tensor]:
    """The output, and the gradients of all inputs in a direction."""
    inputs = inputs.with_gradient()
    with use_backend(backend):
        out = relational_spmm(*inputs.tensors(), message=message, aggregate=aggregate)
    if direction is None:
        direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    out.backward(direction.to(out.dtype))
    # Gradients that nothing flows to are None for the reference (no edges), and zero for the kernel.
    leaves = inputs.differentiable()
    return [out.detach(), *(torch.zeros_like(t) if t.grad is None else t.grad for t in leaves)]


def assert_equal(
    found: list[Tensor],
    expected: list[Tensor],
    case: object = None,
    reference: Callable[[], list[Tensor]] | None = None,
) -> None:
    """Equal up to rounding: 1e-5 (float32) or 1e-10 (float64) of the largest number in each tensor.

    Where all numbers of a tensor are small because their terms cancel, up to the rounding of the reference itself.
    """
    for which, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.shape == b.shape
        if b.numel():
            error = (a - b).abs().max()
            limit = (1e-5 if a.dtype == torch.float32 else 1e-10) * b.abs().max().clamp(min=1e-30)
            if error > limit and reference is not None:
                limit = 2 * (reference()[which] - b).abs().max()
            assert error <= limit, (which, float(error), float(limit), case)


def test_every_kernel_has_an_operator_of_its_name() -> None:
    """The other way round an operator may do without: the reference serves."""
    assert set(KERNEL_MESSAGES) <= set(messages.names())
    assert set(KERNEL_AGGREGATES) <= set(aggregates.names())


@every_message
@every_aggregate
def test_kernel_equals_reference(make_inputs, graph_names, message: str, aggregate: str) -> None:
    """On every graph, in every dim, for every instruction set; float32 too is held against float64."""
    dtypes, values, weights = (torch.float32, torch.float64), ("spread", "tied"), (False, True)
    options = itertools.cycle(itertools.product(dtypes, values, weights, (False, True), (1, 2, 5)))
    for graph, dim in itertools.product(graph_names, (1, 3, 8, 32, 33, 64)):
        # Five of the 48 options at a time: in the end, each graph and each dim has seen most of them.
        for dtype, kind, weighted, shared, queries in itertools.islice(options, 5):
            inputs = make_inputs(
                graph,
                dim + dim % 2 if message == "rotate" else dim,
                queries=queries,
                dtype=dtype,
                values=kind,
                shared=shared,
                weighted=weighted,
            )
            expected = run("reference", inputs.in_double(), message, aggregate)
            for name in native.instruction_sets():
                with use_instruction_set(name):
                    found = run("cpu", inputs, message, aggregate)
                assert {t.dtype for t in found} == {dtype}
                case = (name, graph, dim, dtype, kind, weighted, shared, queries)
                assert_equal(found, expected, case, partial(run, "reference", inputs, message, aggregate))


@every_message
@every_aggregate
def test_gradients_are_derivatives(make_inputs, message: str, aggregate: str) -> None:
    inputs = make_inputs("random", 6, values="normal", weighted=True).with_gradient()
    edges = (inputs.indptr, inputs.source_index, inputs.relation)

    def function(source: Tensor, edge_representation: Tensor, boundary: Tensor, weight: Tensor) -> Tensor:
        with use_backend("cpu"):
            tensors = (source, edge_representation, boundary, *edges, weight)
            return relational_spmm(*tensors, message=message, aggregate=aggregate)

    assert torch.autograd.gradcheck(function, inputs.differentiable(), fast_mode=True)


@every_message
@every_aggregate
@pytest.mark.parametrize("weighted", [False, True])
def test_operator_obeys_the_rules_of_pytorch(make_inputs, message: str, aggregate: str, weighted: bool) -> None:
    inputs = make_inputs("random", 4, values="normal", weighted=weighted, shared=weighted).with_gradient()
    arguments = (*inputs.tensors(), message, aggregate)
    torch.library.opcheck(torch.ops.nbfnet.relational_spmm.default, arguments)


@every_aggregate
@pytest.mark.parametrize(
    ("queries", "shared", "weighted"),
    [
        (1, True, False),
        (1, False, True),
        (2, True, True),
        (3, False, False),
        (3, True, False),
        (8, True, False),
    ],
)
def test_number_of_threads_does_not_matter(
    make_inputs, num_threads, aggregate: str, queries: int, shared: bool, weighted: bool
) -> None:
    inputs = make_inputs("large", 16, queries=queries, shared=shared, weighted=weighted, values="normal")
    num_threads(1)
    alone = run("cpu", inputs, "distmult", aggregate)
    for threads in (2, 5):
        num_threads(threads)
        together, again = (run("cpu", inputs, "distmult", aggregate) for _ in range(2))
        assert torch.equal(together[0], alone[0])
        assert_equal(together, alone)
        assert all(torch.equal(a, b) for a, b in zip(together, again, strict=True))


@every_aggregate
def test_no_query_and_no_row(make_inputs, aggregate: str) -> None:
    for shared, weighted in itertools.product((False, True), repeat=2):
        nobody = make_inputs("random", 3, queries=0, shared=shared, weighted=weighted)
        found = run("cpu", nobody, "transe", aggregate)
        assert found[0].shape[:2] == (0, 20)
        assert not any(gradient.any() for gradient in found[1:])
    nowhere = make_inputs("no edges", 3)
    nowhere.boundary, nowhere.indptr = nowhere.boundary[:, :0], nowhere.indptr[:1]
    assert run("cpu", nowhere, "transe", aggregate)[0].shape[:2] == (2, 0)


def test_memory_layout_of_the_inputs_does_not_matter(make_inputs) -> None:
    inputs = make_inputs("random", 6)
    expected = run("cpu", inputs, "distmult", "pna")
    inputs.source = inputs.source.transpose(0, 1).contiguous().transpose(0, 1)
    inputs.boundary = torch.cat([inputs.boundary, inputs.boundary], dim=2)[:, :, :6]
    found = run("cpu", inputs, "distmult", "pna", direction=None)
    assert_equal(found, expected)
    constant = torch.ones(1, dtype=torch.float64).expand(expected[0].shape)  # what a sum sends back: no strides
    assert_equal(
        run("cpu", inputs, "distmult", "pna", constant),
        run("reference", inputs, "distmult", "pna", constant),
    )


def test_second_derivatives_are_refused_by_the_kernel_and_served_by_the_reference(make_inputs) -> None:
    inputs = make_inputs("random", 4, values="normal").with_gradient()
    for backend in ("cpu", "reference"):
        with use_backend(backend):
            out = relational_spmm(*inputs.tensors(), message="distmult", aggregate="sum")
        (of_source,) = torch.autograd.grad(out.square().sum(), inputs.source, create_graph=True)
        if backend == "reference":
            assert torch.autograd.grad(of_source.sum(), inputs.source)[0].any()
        else:
            with pytest.raises(OperatorError, match="no second derivatives"):
                of_source.sum().backward()


@every_aggregate
def test_what_is_not_a_number_stays_visible(make_inputs, aggregate: str) -> None:
    for place, dim in itertools.product(("source", "boundary", "edge_representation"), (1, 35)):
        inputs = make_inputs("random", dim, values="normal")
        getattr(inputs, place)[1, 2] = float("nan")
        expected = run("reference", inputs, "distmult", aggregate)[0].isnan()
        assert expected.any()
        for name in native.instruction_sets():
            with use_instruction_set(name):
                assert torch.equal(run("cpu", inputs, "distmult", aggregate)[0].isnan(), expected)


def test_large_results_equal_small_ones(make_inputs, num_threads) -> None:
    """Results of more than 32 MB are stored past the caches."""
    few, many, copies = (*(make_inputs("hub", 64, dtype=torch.float32, queries=1) for _ in range(2)), 1200)
    many.source, many.boundary = (t.expand(copies, -1, -1).contiguous() for t in (many.source, many.boundary))
    operators = (("pna", "distmult"), ("pna", "rotate"), ("sum", "transe"))
    for name, (aggregate, message) in itertools.product(native.instruction_sets(), operators):
        direction = torch.randn(1, 30, *((4, 64) if aggregate == "pna" else (64,)), dtype=torch.float64)
        with use_instruction_set(name):
            num_threads(1)
            out, of_source, of_edges, of_boundary = run("cpu", few, message, aggregate, direction)
            num_threads(2)
            large = run("cpu", many, message, aggregate, direction.expand(copies, *direction.shape[1:]))
        assert torch.equal(large[0], out.expand_as(large[0]))
        assert torch.equal(large[1], of_source.expand_as(large[1]))
        assert torch.equal(large[3], of_boundary.expand_as(large[3]))
        assert_equal([large[2] / copies], [of_edges])
