"""Compiled core of nbfnet. Arrays in and out. Every entry checks its arguments once."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

def counting_sort(
    keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def pooled_bytes(size: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def choose_instruction_set(name: str) -> None: ...
def default_threads() -> int: ...
def bellman_ford(
    semiring: int,
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    uniform: float,
    rank: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    iterations: int,
    until_convergence: bool,
    tolerance: float,
    threads: int,
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> bool: ...
def multiply_rows(
    begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def beam_search(
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    importance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    distance: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: int,
    answer: int,
    beam: int,
    count: int,
    threads: int,
) -> tuple[list[float], list[list[int]]]: ...

class GraphArrays:
    def __init__(
        self,
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        relation: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def relations(self) -> int: ...

class RowPlan:
    @property
    def queries(self) -> int: ...
    @property
    def families(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def edges(self) -> int: ...
    def rows(self, iteration: int) -> int: ...
    def begin(self, iteration: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def node(self, iteration: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def target_row(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def plan_rows(
    graph: GraphArrays,
    iterations: int,
    families: int,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    family: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    frontier: bool,
    threads: int,
) -> RowPlan: ...
def row_edges(
    plan: RowPlan, graph: GraphArrays, iteration: int, relations: int
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
]: ...

class FusedOptions:
    def __init__(
        self, message: str, aggregate: str, layer_norm: bool, shortcut: bool, wants_zero_gradient: bool, threads: int
    ) -> None: ...

@overload
def fused_forward(
    plan: RowPlan,
    graph: GraphArrays,
    iteration: int,
    options: FusedOptions,
    previous: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    edge_representation: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    zero: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    edge_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def fused_forward(
    plan: RowPlan,
    graph: GraphArrays,
    iteration: int,
    options: FusedOptions,
    previous: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    edge_representation: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    query: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    zero: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    edge_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def fused_backward(
    plan: RowPlan,
    graph: GraphArrays,
    iteration: int,
    options: FusedOptions,
    previous: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    edge_representation: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    zero: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    edge_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    grad_out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    grad_previous: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    grad_edge_representation: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None, None), order="C", device="cpu")
    ],
    grad_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    grad_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    grad_norm_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    grad_norm_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    grad_query: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    grad_zero: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    grad_edge_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")] | None,
) -> None: ...
@overload
def fused_backward(
    plan: RowPlan,
    graph: GraphArrays,
    iteration: int,
    options: FusedOptions,
    previous: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    edge_representation: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    norm_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    query: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    zero: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    edge_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    grad_out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    grad_previous: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    grad_edge_representation: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")
    ],
    grad_weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    grad_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    grad_norm_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    grad_norm_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    grad_query: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    grad_zero: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    grad_edge_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None,
) -> None: ...
