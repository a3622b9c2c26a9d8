"""A sequence of strings in two flat arrays, so that millions of names can be stored and memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
import numpy.typing as npt


class PackedNames(Sequence[str]):
    """Names as UTF-8 bytes laid end to end; name i is ``bytes[offsets[i]:offsets[i + 1]]``."""

    def __init__(
        self, offsets: npt.NDArray[np.int64], text: npt.NDArray[np.uint8], order: npt.NDArray[np.int32] | None = None
    ) -> None:
        self.offsets = offsets  # (name + 1,)
        self.text = text  # (byte,)
        self.order = order  # (name,) the names' numbers in the order of their bytes, where that is known

    @classmethod
    def pack(cls, names: Iterable[str]) -> PackedNames:
        """Pack any strings; lone surrogates, which UTF-8 cannot hold, are kept by escaping them."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(name) for name in encoded], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._decode(self.encoded(index % len(self)))

    def encoded(self, index: int) -> bytes:
        """The UTF-8 bytes of a name."""
        return self.text[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        text, bounds = self.text.tobytes(), self.offsets.tolist()
        for begin, end in pairwise(bounds):
            yield self._decode(text[begin:end])

    @staticmethod
    def _decode(encoded: bytes) -> str:
        return encoded.decode("utf-8", "surrogatepass")


class NumberedNames(Sequence[str]):
    """The names '0', '1', ... 'n - 1' of nodes that only have numbers, in no memory at all."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [str(i) for i in range(self.length)[index]]
        return str(range(self.length)[index])


class NumberedIds(Mapping[str, int]):
    """From the names '0', '1', ... to their numbers, in no memory either."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __getitem__(self, name: object) -> int:
        # Only the one way to write a number counts: not '01', '+1', ' 1' or digits of other scripts.
        if isinstance(name, str) and len(name) < 20 and name.isascii() and name.isdecimal():
            number = int(name)
            if number < self.length and str(number) == name:
                return number
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NumberedNames(self.length))

    def __len__(self) -> int:
        return self.length
