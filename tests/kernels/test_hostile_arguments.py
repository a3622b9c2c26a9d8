"""Whatever Python hands to the compiled extension, an exception answers: never a read or a write out of bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from nbfnet.errors import OperatorError, QueryError
from nbfnet.graph.relational_csr import RelationalCSR, Transpose, sort_by_key
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels import memory
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.model.frontier import Frontier
from nbfnet.model.message_graph import MessageGraph
from nbfnet.native import native

if native is None:
    pytest.skip("needs the compiled extension", allow_module_level=True)

NODES, RELATIONS, EDGES = 4, 3, 5
REFUSED = (ValueError, TypeError, IndexError, MemoryError)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def longs(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def csr() -> RelationalCSR:
    head, relation, tail = np.array([(0, 0, 1), (1, 1, 2), (2, 2, 3), (0, 2, 3), (3, 0, 0)]).T
    return RelationalCSR.from_triplets(Triplets.of(head, relation, tail), NODES, RELATIONS)


def graph_arrays(**changes: Any) -> Any:
    rows = csr()
    arrays = {
        "indptr": rows.indptr,
        "source": rows.source,
        "relation": rows.relation,
        "out_indptr": rows.transpose.indptr,
        "target": rows.transpose.target,
    }
    return native.GraphArrays(**(arrays | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indptr", longs()),
        ("indptr", longs(0, 1, 2, 3)),
        ("indptr", longs(1, 1, 2, 3, 5)),
        ("indptr", longs(0, 3, 2, 3, 5)),
        ("indptr", longs(0, -1, 2, 3, 5)),
        ("indptr", longs(0, 1, 2, 3, 500)),
        ("indptr", longs(0, 1, 2, 3, 2**62)),
        ("indptr", ints(0, 1, 2, 3, 5)),
        ("indptr", np.repeat(csr().indptr, 2)[::2]),
        ("source", csr().source[:-1]),
        ("source", np.where(np.arange(EDGES) == 2, NODES, csr().source).astype(np.int32)),
        ("source", np.where(np.arange(EDGES) == 2, -1, csr().source).astype(np.int32)),
        ("source", csr().source.astype(np.int64)),
        ("source", csr().source[::-1].copy()),  # in range, but of other edges than the transpose
        ("relation", csr().relation[:-1]),
        ("relation", ints(0, 1, 2, 2, -1)),
        ("relation", ints(0, 1, 2, 2, 2**31 - 1)),
        ("relation", csr().relation.astype(np.float32)),
        ("out_indptr", longs(0, 5)),
        ("out_indptr", longs(0, 4, 3, 4, 5)),
        ("target", ints(1, 2, 3, 3, 99)),
        ("target", ints(1, 2, 3, 3, -5)),
        ("target", ints(1, 2, 3, 3)),
        ("target", ints(3, 3, 2, 1, 0)),
        ("target", None),
    ],
)
def test_graph_arrays(name: str, value: Any) -> None:
    graph_arrays()
    with pytest.raises(REFUSED):
        graph_arrays(**{name: value})


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": longs(0, 3, 2, 3, 5)},
        {"indptr": longs(0, 1, 2, 3, 4)},
        {"indptr": longs(0, 5)},
        {"source": ints(0, 1, 2, 0)},
        {"source": ints(0, 1, 2, 0, 77)},
        {"source": ints(0, 1, -2, 0, 3)},
        {"relation": ints(0, 1, 2, 2, 3)},
        {"relation": ints(0, 1, 2, 2)},
        {"num_nodes": 3},
    ],
)
def test_a_graph_made_by_hand(changes: dict[str, Any]) -> None:
    assert MessageGraph(csr()).arrays.nodes == NODES
    with pytest.raises(OperatorError, match="the edges of the graph"):
        _ = MessageGraph(replace(csr(), **changes)).arrays


def test_a_transpose_of_other_edges() -> None:
    rows = csr()
    other = rows.transpose
    rows.__dict__["transpose"] = Transpose(other.indptr, other.target[::-1].copy(), other.slot)
    with pytest.raises(OperatorError, match="not the transpose"):
        _ = MessageGraph(rows).arrays


def plan_rows(**changes: Any) -> Any:
    arguments = {
        "graph": graph_arrays(),
        "iterations": 2,
        "families": 2,
        "source": ints(0, 3),
        "family": ints(0, 1),
        "target_begin": longs(0, 1, 3),
        "target": ints(1, 2, 3),
        "frontier": True,
        "threads": 1,
    }
    return native.plan_rows(**(arguments | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graph", None),
        ("iterations", 0),
        ("iterations", -1),
        ("iterations", 127),
        ("iterations", 2**40),
        ("families", -1),
        ("families", 1),
        ("families", 2**40),
        ("source", ints(0, 4)),
        ("source", ints(-1, 0)),
        ("source", ints(0)),
        ("source", longs(0, 3)),
        ("source", ints(0, 9, 3, 9)[::2]),
        ("family", ints(0, 2)),
        ("family", ints(0, -1)),
        ("family", ints(0, 1, 1)),
        ("target_begin", longs(0, 3)),
        ("target_begin", longs(0, 2, 1)),
        ("target_begin", longs(0, 1, 4)),
        ("target_begin", longs(-5, 1, 3)),
        ("target_begin", longs()),
        ("target", ints(1, 2, 4)),
        ("target", ints(1, -2, 3)),
        ("target", ints()),
        ("threads", 0),
        ("threads", -3),
        ("threads", 10**9),
    ],
)
@pytest.mark.parametrize("frontier", [True, False])
def test_plan_rows(name: str, value: Any, frontier: bool) -> None:
    assert plan_rows(frontier=frontier).queries == 2
    with pytest.raises(REFUSED):
        plan_rows(frontier=frontier, **{name: value})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"source": longs(0, 4)}, "source holds the id 4, expected 0 to 3"),
        ({"source": longs(0, 2**32)}, "source holds the id 4294967296"),
        ({"source": longs(-1, 0)}, "source holds the id -1"),
        ({"source": np.array([0.0, 1.0])}, "source is .* of float64"),
        ({"relation": longs(0, 3)}, "relation holds the id 3, expected 0 to 2"),
        ({"relation": longs(-7, 0)}, "relation holds the id -7"),
        ({"relation": longs(0)}, "relation has 1 entries, source 2"),
        ({"targets": (longs(0, 1, 2), longs(1, 4))}, "target holds the id 4"),
        ({"targets": (longs(0, 1, 2), longs(1, 2**33))}, "target holds the id"),
        ({"targets": (longs(0, 1, 9), longs(1, 2))}, "target_begin must rise from 0 to 2"),
        ({"targets": (longs(0, 2), longs(1, 2))}, "target_begin has 2 entries, expected 3"),
        ({"iterations": 127}, "iterations is 127, expected 1 to 126"),
    ],
)
def test_frontiers(changes: dict[str, Any], complaint: str) -> None:
    arguments = {"source": longs(0, 3), "relation": longs(0, 2), "targets": (longs(0, 1, 2), ints(1, 2))}
    options = {"iterations": 2, "dependent": True, "frontier": True}
    everything = arguments | options
    Frontier.make(MessageGraph(csr()), **everything)
    with pytest.raises(QueryError, match=complaint):
        Frontier.make(MessageGraph(csr()), **(everything | changes))


def test_row_edges() -> None:
    graph = graph_arrays()
    plan = plan_rows(graph=graph)
    native.row_edges(plan, graph, 1, RELATIONS)
    for iteration in (0, -1, 3, 2**40):
        with pytest.raises(REFUSED):
            native.row_edges(plan, graph, iteration, RELATIONS)
    for relations in (-1, 0, RELATIONS - 1, 2**31, 2**62):
        with pytest.raises(ValueError, match="relations"):
            native.row_edges(plan, graph, 1, relations)
    with pytest.raises(ValueError, match="another graph"):
        native.row_edges(plan, graph_arrays(), 1, RELATIONS)
    with pytest.raises(TypeError):
        native.row_edges(None, graph, 1, RELATIONS)


@pytest.mark.parametrize("iteration", [-1, 3, 2**40])
def test_a_plan_has_only_its_own_iterations(iteration: int) -> None:
    plan = plan_rows()
    for ask in (plan.rows, plan.begin, plan.node):
        with pytest.raises(IndexError):
            ask(iteration)


def fused_options(**changes: Any) -> Any:
    arguments = {
        "message": "distmult",
        "aggregate": "sum",
        "layer_norm": True,
        "shortcut": True,
        "wants_zero_gradient": True,
        "threads": 1,
        "dim": 4,
        "relations": RELATIONS,
    }
    return native.FusedOptions(**(arguments | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("message", "rotato"),
        ("aggregate", "median"),
        ("threads", 0),
        ("threads", 10**9),
        ("dim", 0),
        ("dim", -4),
        ("dim", 2**40),
        ("relations", -1),
        ("relations", 2**40),
    ],
)
def test_fused_options(name: str, value: Any) -> None:
    fused_options()
    with pytest.raises(ValueError):
        fused_options(**{name: value})
    with pytest.raises(ValueError, match="even"):
        fused_options(message="rotate", dim=3)


def test_fused_calls() -> None:
    graph = graph_arrays()
    plan = plan_rows(graph=graph)
    block = np.zeros(4096)
    nine, eight, place = [block.ctypes.data] * 9, [block.ctypes.data] * 8, block.ctypes.data

    def both(
        plan: Any = plan,
        graph: Any = graph,
        iteration: Any = 1,
        options: Any = None,
        inputs: Any = nine,
        out: Any = place,
        gradients: Any = eight,
    ) -> None:
        options = fused_options() if options is None else options
        with pytest.raises(REFUSED):
            native.fused_forward(plan, graph, iteration, options, True, inputs, out)
        with pytest.raises(REFUSED):
            native.fused_backward(plan, graph, iteration, options, True, inputs, out, gradients)

    for iteration in (0, -1, 3, 2**40):
        both(iteration=iteration)
    both(graph=graph_arrays())
    both(options=fused_options(relations=RELATIONS - 1))
    both(inputs=nine[:-1])
    both(inputs=[])
    both(inputs=[*nine, place])
    both(inputs=[*nine[:4], 0, *nine[5:]])
    both(inputs=[-1] * 9)
    both(out=0)
    both(plan=None)
    for gradients in ([], eight[:-1], [*eight, place], [*eight[:-1], 0]):
        with pytest.raises(ValueError):
            native.fused_backward(plan, graph, 1, fused_options(), True, nine, place, gradients)


@pytest.mark.parametrize(
    ("keys", "rows", "places"),
    [
        (ints(0, 1, 3), 3, 3),
        (ints(0, -1, 2), 3, 3),
        (ints(0, 2**31 - 1), 3, 2),
        (ints(-(2**31)), 3, 1),
        (ints(0), 0, 1),
        (ints(0, 1), -1, 2),
        (ints(0, 1), 3, 1),
        (ints(0, 1), 3, 3),
        (longs(0, 2**32), 3, 2),
        (np.zeros((2, 2), np.int32), 3, 4),
        (ints(0, 1, 2, 1)[::2], 3, 2),
    ],
)
def test_counting_sort(keys: np.ndarray, rows: int, places: int) -> None:
    with pytest.raises((ValueError, TypeError)):
        native.counting_sort(keys, np.zeros(rows + 1, np.int64), np.zeros(places, np.int64))


@pytest.mark.parametrize("keys", [ints(0, 3), ints(-1, 0)])
def test_sorting_keys_that_are_not_there(keys: np.ndarray) -> None:
    with pytest.raises(ValueError):
        sort_by_key(keys, 3)


def beam_search(**changes: Any) -> Any:
    arguments = {
        "indptr": csr().indptr,
        "source": csr().source,
        "importance": np.ones((2, EDGES)),
        "distance": ints(0, 1, 1, 1),
        "start": 0,
        "answer": 3,
        "beam": 4,
        "count": 3,
        "threads": 1,
    }
    return native.beam_search(**(arguments | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("indptr", longs()),
        ("indptr", longs(0, 1, 2, 3)),
        ("indptr", longs(0, 1, 2, 3, 500)),
        ("indptr", longs(0, 3, 2, 3, 5)),
        ("indptr", longs(-9, 1, 2, 3, 5)),
        ("source", csr().source[:-1]),
        ("source", ints(0, 1, 2, 0, 99)),
        ("source", ints(0, 1, 2, 0, -1)),
        ("importance", np.ones((2, EDGES - 1))),
        ("importance", np.ones((2, EDGES + 1))),
        ("importance", np.ones(EDGES)),
        ("importance", np.ones((2, EDGES), np.float32)),
        ("importance", np.ones((2, 2 * EDGES))[:, ::2]),
        ("importance", np.full((2, EDGES), np.nan)),
        ("importance", np.full((2, EDGES), -np.inf)),
        ("distance", ints(0, 1, 1)),
        ("distance", ints(0, 1, 1, 1, 1)),
        ("start", -1),
        ("start", NODES),
        ("start", 2**40),
        ("answer", -1),
        ("answer", NODES),
        ("beam", 0),
        ("beam", -1),
        ("count", 0),
        ("threads", 0),
        ("threads", 10**9),
    ],
)
def test_beam_search(name: str, value: Any) -> None:
    assert beam_search() == ([1.0], [[3]]) or beam_search()
    with pytest.raises(REFUSED):
        beam_search(**{name: value})


def bellman_ford(**changes: Any) -> bool:
    rows = csr()
    arguments = {
        "semiring": 0,
        "begin": rows.indptr,
        "source": rows.source,
        "weight": np.ones(EDGES),
        "out_begin": rows.transpose.indptr,
        "target": rows.transpose.target,
        "out_weight": np.ones(EDGES),
        "factor": np.zeros(0),
        "uniform": 1.0,
        "rank": np.arange(NODES, dtype=np.int32),
        "sources": ints(0, 3),
        "iterations": 3,
        "until_convergence": False,
        "tolerance": 0.0,
        "threads": 1,
        "scores": np.zeros((2, NODES)),
    }
    return bool(native.bellman_ford(**(arguments | changes)))


UNWEIGHTED = {"weight": np.zeros(0), "out_weight": np.zeros(0)}
SOLVERS: dict[str, dict[str, Any]] = {
    "panels": {},
    "one lane": {"sources": ints(0), "scores": np.zeros((1, NODES))},
    "hops": {"semiring": 1, "sources": ints(0), "scores": np.zeros((1, NODES)), **UNWEIGHTED},
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("semiring", -1),
        ("semiring", 4),
        ("begin", longs()),
        ("begin", longs(0, 1, 2, 3)),
        ("begin", longs(0, 3, 2, 3, 5)),
        ("begin", longs(0, 1, 2, 3, 2**40)),
        ("begin", longs(0, 1, 2, 3, 4)),
        ("source", ints(0, 1, 2, 0)),
        ("source", ints(0, 1, 2, 0, NODES)),
        ("source", ints(0, 1, 2, 0, -1)),
        ("source", longs(0, 1, 2, 0, 3)),
        ("weight", np.ones(EDGES - 1)),
        ("weight", np.ones(EDGES + 1)),
        ("weight", np.ones(EDGES, np.float32)),
        ("out_weight", np.ones(EDGES - 1)),
        ("out_begin", longs(0, 2, 3, 4)),
        ("out_begin", longs(0, 4, 3, 4, 5)),
        ("target", ints(1, 3, 2, 3)),
        ("target", ints(1, 3, 2, 3, NODES)),
        ("target", ints(1, 3, 2, 3, -1)),
        ("factor", np.ones(NODES - 1)),
        ("factor", np.ones(NODES + 1)),
        ("rank", ints(0, 1, 2)),
        ("rank", ints(0, 1, 2, 4)),
        ("rank", ints(0, 1, 2, -1)),
        ("sources", ints(0, NODES, 1)),
        ("sources", ints(-1)),
        ("sources", ints(0, 1, 2)),
        ("iterations", -1),
        ("threads", 0),
        ("threads", -1),
        ("threads", 2**31 - 1),
        ("scores", np.zeros((2, NODES - 1))),
        ("scores", np.zeros((3, NODES))),
        ("scores", np.zeros((2, 2 * NODES))[:, ::2]),
    ],
)
def test_path_solvers(solver: str, name: str, value: Any) -> None:
    bellman_ford(**SOLVERS[solver])
    with pytest.raises(REFUSED):
        bellman_ford(**(SOLVERS[solver] | {name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("begin", longs()),
        ("begin", longs(0, 1, 2, 3)),
        ("begin", longs(0, 1, 2, 3, 6)),
        ("begin", longs(0, 3, 2, 3, 5)),
        ("source", ints(0, 1, 2, 0, 9)),
        ("source", ints(0, 1, 2, 0, -9)),
        ("source", ints(0, 1)),
        ("weight", np.ones(2)),
        ("x", np.ones(3)),
        ("x", np.ones(5)),
        ("product", np.ones(3)),
        ("product", np.ones(8)[::2]),
    ],
)
def test_multiply_rows(name: str, value: Any) -> None:
    arguments = {
        "begin": csr().indptr,
        "source": csr().source,
        "weight": np.ones(EDGES),
        "x": np.ones(NODES),
        "product": np.ones(NODES),
    }
    native.multiply_rows(**arguments)
    with pytest.raises(REFUSED):
        native.multiply_rows(**(arguments | {name: value}))


@pytest.mark.parametrize("size", [2**64 - 1, 2**64 - 63, 2**63, 2**62 + 1, 2**62, 2**60, 2**64, -1])
def test_absurd_sizes(size: int) -> None:
    """A size that overflows when it is rounded up must not become a small block under a large name."""
    with pytest.raises((MemoryError, TypeError)):
        native.pooled_bytes(size)
    assert native.pooled_bytes(100).shape == (100,)


def test_a_tensor_that_no_memory_can_hold() -> None:
    with pytest.raises((MemoryError, RuntimeError, TypeError)):
        memory.empty((2**30, 2**30), torch.float64)
    with pytest.raises((MemoryError, RuntimeError, TypeError)):
        memory.empty((2**31, 2**31, 8), torch.float64)


MALICE: list[tuple[str, Callable[[torch.Tensor], Any]]] = [
    ("source", lambda t: t[:1]),
    ("source", lambda t: t[:, :5]),
    ("source", lambda t: t[..., :3]),
    ("source", lambda t: t[0]),
    ("source", lambda t: t.float()),
    ("source", lambda t: t.bfloat16()),
    ("edge_representation", lambda t: t[..., :3]),
    ("edge_representation", lambda t: t[[0, 1, 1]]),
    ("edge_representation", lambda t: t[:0]),
    ("edge_representation", lambda t: t[:, :2]),
    ("edge_representation", lambda t: t[:, :0]),
    ("boundary", lambda t: t[:, :-1]),
    ("boundary", lambda t: t[..., 0]),
    ("boundary", lambda t: t.long()),
    ("indptr", lambda t: t[1:]),
    ("indptr", lambda t: t[:0]),
    ("indptr", lambda t: t.int()),
    ("indptr", lambda t: t + 1),
    ("indptr", lambda t: t.flip(0)),
    ("indptr", lambda t: t * 2**40),
    ("source_index", lambda t: t[1:]),
    ("source_index", lambda t: t.long()),
    ("source_index", lambda t: t + 1),
    ("source_index", lambda t: t - 1),
    ("source_index", lambda t: t[:, None]),
    ("relation", lambda t: t[:-1]),
    ("relation", lambda t: t + 1),
    ("relation", lambda t: t - 1),
    ("weight", lambda t: t[1:]),
    ("weight", lambda t: t.float()),
    ("weight", lambda t: t[:, None]),
]


@pytest.mark.parametrize("aggregate", ["sum", "pna"])
@pytest.mark.parametrize(("name", "change"), MALICE)
def test_the_operator_called_directly(
    make_inputs: Any, name: str, change: Callable[[torch.Tensor], Any], aggregate: str
) -> None:
    """``torch.ops`` leads past ``relational_spmm`` and its checks, forward and backward."""
    operator, backward = torch.ops.nbfnet.relational_spmm, torch.ops.nbfnet.relational_spmm_backward
    inputs = make_inputs("random", 4, weighted=True)
    gradient = torch.ones_like(operator(*inputs.tensors(), "transe", aggregate))
    backward(gradient, *inputs.tensors(), "transe", aggregate, True)
    setattr(inputs, name, change(getattr(inputs, name)))
    with pytest.raises(OperatorError):
        operator(*inputs.tensors(), "transe", aggregate)
    with pytest.raises(OperatorError):
        backward(gradient, *inputs.tensors(), "transe", aggregate, True)


def test_gradients_of_another_shape(make_inputs: Any) -> None:
    inputs = make_inputs("random", 4)
    gradient = torch.ones(2, 20, 4, dtype=torch.float64)
    for wrong in (gradient[:, :3], gradient[:1], gradient[..., :2], gradient[0], gradient.float(), gradient[..., None]):
        with pytest.raises(OperatorError, match="grad_out"):
            torch.ops.nbfnet.relational_spmm_backward(wrong, *inputs.tensors(), "transe", "sum", False)
    with pytest.raises(OperatorError, match="grad_out"):
        torch.ops.nbfnet.relational_spmm_backward(gradient, *inputs.tensors(), "transe", "pna", False)
    with pytest.raises(OperatorError, match="no weight"):
        torch.ops.nbfnet.relational_spmm_backward(gradient, *inputs.tensors(), "transe", "sum", True)


def test_operators_that_have_no_kernel(make_inputs: Any) -> None:
    tensors = make_inputs("random", 5).tensors()
    for message, aggregate in (("rotate", "sum"), ("rotato", "sum"), ("transe", "median"), ("", "")):
        with pytest.raises(OperatorError):
            torch.ops.nbfnet.relational_spmm(*tensors, message, aggregate)


def test_tensors_that_are_not_contiguous(make_inputs: Any) -> None:
    """The operator reads them as they are meant: a layout is not an error."""
    inputs = make_inputs("random", 4, weighted=True)
    expected = relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")
    spread = [torch.stack([t, -t], dim=-1)[..., 0] for t in inputs.tensors()]
    assert not any(t.is_contiguous() for t in spread)
    assert torch.equal(torch.ops.nbfnet.relational_spmm(*spread, "transe", "sum"), expected)


def spmm_arrays(make_inputs: Any) -> dict[str, Any]:
    names = ("source", "edge_representation", "boundary", "indptr", "source_index", "relation", "weight")
    tensors = make_inputs("random", 4, weighted=True).tensors()
    return {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("out", np.zeros((2, 20, 3))),
        ("out", np.zeros((2, 19, 4))),
        ("out", np.zeros((2, 20, 4, 4))),
        ("out", np.zeros(160)),
        ("out", np.zeros((2, 20, 4), np.float32)),
        ("out", np.zeros((2, 20, 8))[..., ::2]),
        ("source", np.zeros((1, 20, 4))),
        ("boundary", np.zeros((3, 20, 4))),
        ("boundary", np.zeros((2, 25, 4))),
        ("edge_representation", np.zeros((2, 4, 3))),
        ("relation", np.zeros(5, np.int32)),
        ("weight", np.zeros(5)),
        ("indptr", np.zeros(0, np.int64)),
        ("threads", 0),
        ("threads", 10**9),
    ],
)
def test_the_kernel_called_directly(make_inputs: Any, name: str, value: Any) -> None:
    arguments = spmm_arrays(make_inputs) | {"out": np.zeros((2, 20, 4))}
    arguments |= {"message": "transe", "aggregate": "sum", "threads": 1}
    native.relational_spmm_forward(**arguments)
    with pytest.raises(REFUSED):
        native.relational_spmm_forward(**(arguments | {name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("grad_out", np.zeros((2, 20, 3))),
        ("grad_source", np.zeros((2, 19, 4))),
        ("grad_edge_representation", np.zeros((1, 4, 4))),
        ("grad_boundary", np.zeros((2, 20, 3))),
        ("grad_weight", np.zeros(89)),
        ("weight", None),
        ("source_index", np.full(90, 20, np.int32)),
    ],
)
def test_the_kernel_called_backward(make_inputs: Any, name: str, value: Any) -> None:
    arguments = spmm_arrays(make_inputs)
    arguments |= {"grad_out": np.zeros((2, 20, 4)), "message": "transe", "aggregate": "sum", "threads": 1}
    for input_name in ("source", "edge_representation", "boundary", "weight"):
        arguments[f"grad_{input_name}"] = np.zeros_like(arguments[input_name])
    native.relational_spmm_backward(**arguments)
    with pytest.raises(REFUSED):
        native.relational_spmm_backward(**(arguments | {name: value}))
