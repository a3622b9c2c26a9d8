"""Typed, frozen configurations; a key that nobody knows is an error."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ModelConfig(BaseModel):
    """The design space of a Neural Bellman-Ford Network; the defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dim: int = Field(32, ge=1)  # d, of every representation
    layers: int = Field(6, ge=1, le=100)  # T, the number of Bellman-Ford iterations
    message: str = "distmult"  # a registered MESSAGE
    aggregate: str = "pna"  # a registered AGGREGATE
    edges: Literal["dependent", "independent"] = "dependent"  # W_r q + b_r, or b_r
    layer_norm: bool = True
    shortcut: bool = True
    hidden: tuple[int, ...] = (64,)  # the hidden layers of the score
    learned_zero: bool = False  # INDICATOR with a learned embedding for nodes that are not the source
    symmetric: bool = False  # undirected graphs: score h(u, v) + h(v, u)
    frontier: Literal["auto", "off"] = "auto"  # compute only the rows that matter, or all
