"""What the compiled extension offers (native/module.cpp)."""

import numpy as np
import numpy.typing as npt

def counting_sort(
    keys: npt.NDArray[np.int32], indptr: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> None: ...
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
