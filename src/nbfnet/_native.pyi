"""What the compiled extension offers (native/module.cpp)."""

import numpy as np
import numpy.typing as npt

def counting_sort(keys: npt.NDArray[np.int32], indptr: npt.NDArray[np.int64], order: npt.NDArray[np.int64]) -> None: ...
