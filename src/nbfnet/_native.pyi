"""What the compiled extension offers (native/module.cpp)."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Float = TypeVar("Float", np.float32, np.float64)

def counting_sort(keys: npt.NDArray[np.int32], indptr: npt.NDArray[np.int64], order: npt.NDArray[np.int64]) -> None: ...
def edges_fit(
    indptr: npt.NDArray[np.int64],
    source_index: npt.NDArray[np.int32],
    relation: npt.NDArray[np.int32],
    num_sources: int,
    num_relations: int,
    threads: int,
) -> bool: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def choose_instruction_set(name: str) -> None: ...
def pooled_bytes(size: int) -> npt.NDArray[np.uint8]: ...
def relational_spmm_forward(
    source: npt.NDArray[Float],
    edge_representation: npt.NDArray[Float],
    boundary: npt.NDArray[Float],
    indptr: npt.NDArray[np.int64],
    source_index: npt.NDArray[np.int32],
    relation: npt.NDArray[np.int32],
    weight: npt.NDArray[Float] | None,
    out: npt.NDArray[Float],
    message: str,
    aggregate: str,
    threads: int,
) -> None: ...
def relational_spmm_backward(
    grad_out: npt.NDArray[Float],
    out: npt.NDArray[Float],
    source: npt.NDArray[Float],
    edge_representation: npt.NDArray[Float],
    boundary: npt.NDArray[Float],
    indptr: npt.NDArray[np.int64],
    source_index: npt.NDArray[np.int32],
    relation: npt.NDArray[np.int32],
    weight: npt.NDArray[Float] | None,
    grad_source: npt.NDArray[Float],
    grad_edge_representation: npt.NDArray[Float],
    grad_boundary: npt.NDArray[Float],
    grad_weight: npt.NDArray[Float] | None,
    message: str,
    aggregate: str,
    threads: int,
) -> None: ...
def beam_search(
    indptr: npt.NDArray[np.int64],
    source: npt.NDArray[np.int32],
    importance: npt.NDArray[np.float64],
    distance: npt.NDArray[np.int32],
    start: int,
    answer: int,
    beam: int,
    count: int,
    threads: int,
) -> tuple[list[float], list[list[int]]]: ...
def bellman_ford(
    semiring: int,
    begin: npt.NDArray[np.int64],
    source: npt.NDArray[np.int32],
    weight: npt.NDArray[np.float64],
    out_begin: npt.NDArray[np.int64],
    target: npt.NDArray[np.int32],
    out_weight: npt.NDArray[np.float64],
    factor: npt.NDArray[np.float64],
    uniform: float,
    rank: npt.NDArray[np.int32],
    sources: npt.NDArray[np.int32],
    iterations: int,
    until_convergence: bool,
    tolerance: float,
    threads: int,
    scores: npt.NDArray[np.float64],
) -> bool: ...
def multiply_rows(
    begin: npt.NDArray[np.int64],
    source: npt.NDArray[np.int32],
    weight: npt.NDArray[np.float64],
    x: npt.NDArray[np.float64],
    product: npt.NDArray[np.float64],
) -> None: ...
