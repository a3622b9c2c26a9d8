"""Whether a tensor has the shape that a function states."""

from __future__ import annotations

from torch import Tensor

from nbfnet.errors import NbfnetError, OperatorError

Shape = tuple[int | None, ...]  # None stands for any size


def check_shape(name: str, tensor: Tensor, shape: Shape, error: type[NbfnetError] = OperatorError) -> None:
    """Refuse a tensor of another shape, by the error that suits the caller's user."""
    if tensor.dim() != len(shape) or any(e not in (None, g) for g, e in zip(tensor.shape, shape, strict=True)):
        expected = ", ".join("any" if size is None else str(size) for size in shape)
        raise error(f"{name} has the shape {tuple(tensor.shape)}, expected ({expected})")
