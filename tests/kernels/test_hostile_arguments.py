"""Whatever Python hands to the compiled extension, an exception answers: never a read or a write out of bounds."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from nbfnet.errors import OperatorError, QueryError
from nbfnet.graph.relational_csr import RelationalCSR, Transpose, sort_by_key
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels import memory
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
        "changed_begin": longs(),
        "changed": ints(),
        "frontier": True,
        "background_given": False,
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
        ("changed", ints(1)),
        ("changed_begin", longs(0, 0, 0)),  # without a background that is given
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
    ("begin", "node", "complaint"),
    [
        (longs(0, 1), ints(1), "changed_begin has 2 entries"),
        (longs(0, 2, 1), ints(1), "changed_begin must rise"),
        (longs(0, 1, 2), ints(1), "changed_begin must rise"),
        (longs(0, 1, 1), ints(4), "changed holds"),
        (longs(0, 1, 1), ints(-1), "changed holds"),
    ],
)
def test_changed_nodes(begin: Any, node: Any, complaint: str) -> None:
    given = {"background_given": True}
    assert plan_rows(changed_begin=longs(0, 1, 1), changed=ints(2), **given).queries == 2
    with pytest.raises(ValueError, match=complaint):
        plan_rows(changed_begin=begin, changed=node, **given)
    with pytest.raises(ValueError, match="changed nodes need"):
        plan_rows(changed_begin=longs(0, 1, 1), changed=ints(2), frontier=False, **given)
    with pytest.raises(ValueError, match="changed nodes need"):
        plan_rows(changed_begin=longs(0, 1, 1), changed=ints(2), target_begin=longs(), target=ints(), **given)


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


def test_a_given_background_has_no_backward_pass() -> None:
    """It is not computed, so nobody could say where its gradient goes."""
    graph = graph_arrays()
    arguments = fused_inputs()
    plan = plan_rows(graph=graph, background_given=True)
    shapes = {"previous": (plan.rows(0), DIM), "query": (plan.queries, DIM)}
    arguments |= {name: np.ones(shape) for name, shape in shapes.items()}
    iteration = native.FusedIterationDouble(**arguments | {"plan": plan, "graph": graph})
    out = np.zeros((plan.rows(1), DIM))
    iteration.forward(out)
    with pytest.raises(ValueError, match="no backward pass"):
        iteration.backward(out, *(np.zeros_like(arguments[name]) for name in INPUTS if name != "scale"), None)


DIM = 4
INPUTS = ("previous", "edge_representation", "weight", "bias", "norm_weight", "norm_bias", "query", "zero", "scale")


def fused_inputs(dim: int = DIM, **changes: Any) -> dict[str, Any]:
    """Arguments of an iteration that are in order."""
    graph = graph_arrays()
    plan = plan_rows(graph=graph)
    arguments = {
        "plan": plan,
        "graph": graph,
        "iteration": 1,
        "message": "distmult",
        "aggregate": "sum",
        "layer_norm": True,
        "shortcut": True,
        "wants_zero_gradient": True,
        "threads": 1,
        "previous": np.ones((plan.rows(0), dim)),
        "edge_representation": np.ones((plan.families, RELATIONS, dim)),
        "weight": np.ones((dim, 2 * dim)),
        "bias": np.ones(dim),
        "norm_weight": np.ones(dim),
        "norm_bias": np.ones(dim),
        "query": np.ones((plan.queries, dim)),
        "zero": np.ones(dim),
        "scale": np.ones(NODES),
        "edge_weight": np.ones(EDGES),
    }
    return arguments | changes


def backward_arguments(inputs: dict[str, Any]) -> dict[str, Any]:
    learned = (*INPUTS[:-1], "edge_weight")
    gradients = {name: None if inputs[name] is None else np.zeros_like(inputs[name]) for name in learned}
    return {"grad_out": np.ones((inputs["plan"].rows(1), DIM)), **gradients}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("iteration", iteration) for iteration in (0, -1, 3, 2**40)),
        ("plan", None),
        ("graph", None),
        ("graph", graph_arrays()),
        ("message", "rotato"),
        ("aggregate", "median"),
        ("aggregate", "min"),
        ("aggregate", "pna"),  # which has more features
        ("threads", 0),
        ("threads", 10**9),
    ],
)
def test_fused_iterations(name: str, value: Any) -> None:
    native.FusedIterationDouble(**fused_inputs())
    with pytest.raises(REFUSED):
        native.FusedIterationDouble(**fused_inputs(**{name: value}))


def spoiled(right: np.ndarray) -> list[np.ndarray]:
    """Of another size, number of dimensions, type or layout."""
    other = [right[:-1], right[None], right[..., :-1], right.astype(np.float32), right.astype(np.int64), right[:0]]
    return [*other, np.concatenate([right, right]), np.repeat(right, 2, axis=-1)[..., ::2]]


@pytest.mark.parametrize("name", [*INPUTS, "edge_weight"])
def test_inputs_of_fused_iterations(name: str) -> None:
    for array in spoiled(fused_inputs()[name]):
        with pytest.raises(REFUSED):
            native.FusedIterationDouble(**fused_inputs(**{name: array}))


def test_outputs_of_fused_iterations() -> None:
    inputs = fused_inputs()
    iteration, out = native.FusedIterationDouble(**inputs), np.ones((inputs["plan"].rows(1), DIM))
    iteration.forward(out)
    for array in spoiled(out):
        with pytest.raises(REFUSED):
            iteration.forward(array)
    arguments = backward_arguments(inputs)
    iteration.backward(**arguments)
    for name, right in arguments.items():
        for array in spoiled(right):
            with pytest.raises(REFUSED):
                iteration.backward(**(arguments | {name: array}))


def test_scores_of_rows() -> None:
    def arguments(**changes: Any) -> dict[str, Any]:
        layers = [(np.ones((4, 3)), np.ones(4)), (np.ones((1, 4)), np.ones(1))]
        rows, out = np.ones((6, 3), dtype=np.float32), np.zeros(6, dtype=np.float32)
        return {"rows": rows, "layers": layers, "threads": 2, "out": out} | changes

    right = arguments()
    native.score_mlp(**right)
    assert (right["out"] == 17).all()
    first, last = right["layers"]
    layers = [
        [],
        [first],
        [last],
        [last, first],
        [first, first],
        [(first[0], last[1]), last],
        [(first[0].T, first[1]), last],
    ]
    for name, wrong in {
        "rows": [right["rows"][:5], right["rows"].astype(float)],
        "layers": layers,
        "threads": [0],
    }.items():
        for value in wrong:
            with pytest.raises(REFUSED):
                native.score_mlp(**arguments(**{name: value}))
    for out in (right["out"][:5], right["out"].astype(float), np.zeros((6, 1), dtype=np.float32)):
        with pytest.raises(REFUSED):
            native.score_mlp(**arguments(out=out))


def test_a_dim_that_cannot_be() -> None:
    for message, dim in (("rotate", 3), ("distmult", 0)):
        with pytest.raises(ValueError, match=r"even dim|0 dims"):
            native.FusedIterationDouble(**fused_inputs(dim, message=message))


def test_a_gradient_of_weights_that_are_not_there() -> None:
    for weight in (None, np.ones(EDGES)):
        inputs = fused_inputs(edge_weight=weight)
        iteration, arguments = native.FusedIterationDouble(**inputs), backward_arguments(inputs)
        iteration.backward(**arguments)
        with pytest.raises(ValueError, match="both there, or neither"):
            iteration.backward(**(arguments | {"edge_weight": np.ones(EDGES) if weight is None else None}))


def test_inputs_outlive_their_names() -> None:
    """The iteration keeps the plan, the graph and every array."""
    inputs = fused_inputs()
    expected, found = (np.ones((inputs["plan"].rows(1), DIM)) for _ in range(2))
    native.FusedIterationDouble(**inputs).forward(expected)
    iteration = native.FusedIterationDouble(
        **{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in inputs.items()}
    )
    del inputs
    gc.collect()
    blocks = [np.full(size, np.nan) for size in (4, 8, 16, 24, 32) for _ in range(50)]  # where the arrays were
    iteration.forward(found)
    assert np.array_equal(found, expected) and len(blocks) == 250


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


def meeting_arrays(**changes: Any) -> Any:
    arguments = {
        "relations": RELATIONS,
        "head_begin": longs(0, 1, 1, 3, 3),
        "head_relation": ints(2, 0, 1),
        "tail_begin": longs(0, 0, 2, 2, 3),
        "tail_relation": ints(0, 1, 2),
    }
    return native.MeetingArrays(**(arguments | changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relations", 2),
        ("relations", -1),
        ("relations", 2**40),
        ("head_begin", longs()),
        ("head_begin", longs(0, 1, 3, 3)),
        ("head_begin", longs(0, 2, 1, 3, 3)),
        ("head_begin", longs(0, 1, 1, 3, 4)),
        ("head_begin", ints(0, 1, 1, 3, 3)),
        ("head_relation", ints(2, 0)),
        ("head_relation", ints(2, 0, 3)),
        ("head_relation", ints(2, -1, 0)),
        ("tail_begin", longs(0, 0, 2, 2, 3, 3)),
        ("tail_begin", longs(-1, 0, 2, 2, 3)),
        ("tail_relation", longs(0, 1, 2)),
        ("tail_relation", None),
    ],
)
def test_meeting_arrays(name: str, value: Any) -> None:
    meeting_arrays()
    with pytest.raises(REFUSED):
        meeting_arrays(**{name: value})


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, dtype=np.float32)


FORWARD = {
    "relation": floats(2, RELATIONS, 5),
    "hidden": floats(2, NODES, 5),
    "place": longs(3, 1, 0, 2),
    "out": floats(2, RELATIONS, 8, 5),
    "threads": 1,
}
BACKWARD = {
    **{name: FORWARD[name] for name in ("relation", "hidden", "place", "threads")},
    "grad_out": floats(2, RELATIONS, 8, 5),
    "grad_relation": floats(2, RELATIONS, 5),
    "grad_hidden": floats(2, NODES, 5),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relation", floats(2, RELATIONS + 1, 5)),
        ("relation", floats(2, RELATIONS, 6)),
        ("relation", floats(3, RELATIONS, 5)),
        ("relation", floats(2, RELATIONS, 5).astype(np.float64)),
        ("hidden", floats(2, NODES - 1, 5)),
        ("hidden", floats(1, NODES, 5)),
        ("hidden", floats(2, NODES, 10)[:, :, ::2]),
        ("hidden", None),  # then there are fewer features
        ("place", longs(0, 1, 2)),
        ("place", longs(0, 1, 2, 4)),
        ("place", longs(0, 1, 2, -1)),
        ("place", longs(0, 1, 1, 2)),
        ("place", ints(0, 1, 2, 3)),
        ("threads", 0),
        ("threads", 10**6),
        ("out", floats(2, RELATIONS, 4, 5)),
        ("out", floats(1, RELATIONS, 8, 5)),
        ("grad_out", floats(2, RELATIONS, 7, 5)),
        ("grad_relation", floats(2, RELATIONS, 4)),
        ("grad_hidden", floats(2, NODES + 1, 5)),
        ("grad_hidden", None),
    ],
)
def test_meeting_means(name: str, value: Any) -> None:
    arrays = meeting_arrays()
    for method, arguments in ((arrays.forward, FORWARD), (arrays.backward, BACKWARD)):
        method(**arguments)
        if name in arguments:
            with pytest.raises(REFUSED):
                method(**(arguments | {name: value}))
