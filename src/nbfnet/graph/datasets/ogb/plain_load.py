"""Reading what ``torch.save`` wrote as plain data: tensors, integer arrays, numbers and text, no more."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nbfnet.errors import GraphFormatError


def load_plain(file: Path) -> Any:
    """The contents of a ``.pt`` file, which cannot run code while it is read.

    Raises:
        GraphFormatError: the file is not there, is damaged, or holds anything but plain data.
    """
    import torch  # heavy, and only this function needs it

    if not file.is_file():
        raise GraphFormatError("is missing", file=file, remedy="get the dataset again, with all its files")
    try:
        with torch.serialization.safe_globals(_integer_arrays()):
            return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # The message of torch says how to load such a file all the same: nobody should be led to do that.
        named = str(error).partition("GLOBAL ")[2].split(" ")[0]
        raise GraphFormatError(
            f"was refused: it holds {named or 'something'} where only integers and text may be",
            file=file,
            remedy="do not open it with anything else; get the dataset again from its publisher",
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise GraphFormatError(f"is damaged: {error}", file=file, remedy="get the dataset again") from error


def _integer_arrays() -> list[Callable[..., object] | tuple[Callable[..., object], str]]:
    """What rebuilds NumPy's integer arrays and numbers, under the names that old and new releases give it."""
    rebuild_array = np.zeros(0, dtype=np.int64).__reduce__()[0]
    rebuild_number = np.int64(0).__reduce__()[0]
    assert callable(rebuild_array)
    assert callable(rebuild_number)
    dtypes = {type(np.dtype(code)) for code in np.typecodes["AllInteger"] + "?"}
    return [
        np.ndarray,
        bytes,  # the contents of an empty array
        *dtypes,
        (_integer_dtype, "numpy.dtype"),
        *((rebuild_array, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")),
        *((rebuild_number, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
    ]


def _integer_dtype(code: str, *_: object) -> np.dtype[Any]:
    """`numpy.dtype`, for integers and truth values alone: an array of objects could hold anything."""
    dtype = np.dtype(str(code), copy=True)  # a copy, for its byte order is set next
    if dtype.kind not in "iub":
        raise pickle.UnpicklingError(f"GLOBAL numpy.dtype({code!r}) is not an integer")
    return dtype
