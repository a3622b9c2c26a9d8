"""Ugly graphs and values for them: what every kernel must get right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor


@dataclass
class Inputs:
    """The arguments of a relational SpMM."""

    source: Tensor
    edge_representation: Tensor
    boundary: Tensor
    indptr: Tensor
    source_index: Tensor
    relation: Tensor
    weight: Tensor | None

    def tensors(self) -> tuple[Tensor | None, ...]:
        return tuple(vars(self).values())

    def differentiable(self) -> list[Tensor]:
        return [t for t in self.tensors() if t is not None and t.is_floating_point()]

    def in_double(self) -> Inputs:
        """The same numbers, to be computed with in float64."""
        return replace(
            self, **{n: t.double() for n, t in vars(self).items() if t is not None and t.is_floating_point()}
        )

    def with_gradient(self) -> Inputs:
        """The same numbers in fresh leaves that ask for gradients."""
        fresh = {
            name: t.detach().clone().requires_grad_()
            for name, t in vars(self).items()
            if t is not None and t.is_floating_point()
        }
        return replace(self, **fresh)


@dataclass
class Edges:
    num_rows: int
    num_sources: int
    num_relations: int
    edges: list[tuple[int, int, int]]  # (source, relation, row)


def _random_edges(rows: int, sources: int, relations: int, count: int, seed: int) -> list[tuple[int, int, int]]:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(n, (count,), generator=generator).tolist() for n in (sources, relations, rows)]
    return list(zip(*columns, strict=True))


GRAPHS: dict[str, Edges] = {
    "random": Edges(20, 20, 4, _random_edges(20, 20, 4, 90, 0)),
    "mostly empty rows": Edges(60, 60, 3, _random_edges(10, 60, 3, 30, 1)),
    # As many relations as keep plain float32 sums of their edges' gradients within 1e-5.
    "hub": Edges(30, 30, 13, [(i % 30, i % 13, 7) for i in range(2000)] + _random_edges(30, 30, 13, 40, 2)),
    "large": Edges(3000, 3000, 7, _random_edges(3000, 3000, 7, 20_000, 5)),
    "self loops": Edges(9, 9, 2, [(v, v % 2, v) for v in range(9)] * 2 + [(0, 1, 8)]),
    "multi-edges": Edges(5, 5, 3, [(1, 2, 3)] * 7 + [(1, 0, 3), (4, 1, 3), (4, 1, 3), (3, 0, 1)]),
    "no edges": Edges(6, 6, 2, []),
    "one node": Edges(1, 1, 1, [(0, 0, 0), (0, 0, 0)]),
    "more rows than sources": Edges(40, 7, 3, _random_edges(40, 7, 3, 100, 3)),
    "fewer rows than sources": Edges(5, 50, 3, _random_edges(5, 50, 3, 100, 4)),
}


@pytest.fixture
def graph_names() -> list[str]:
    return [name for name in GRAPHS if name != "large"]


@pytest.fixture
def make_inputs() -> Callable[..., Inputs]:
    """Inputs on one of the graphs.

    ``values`` is 'spread' (no row's deviation is tiny against its mean: E[m^2] - E[m]^2 would lose the digits
    that a comparison in float32 needs), 'tied' (many exactly equal messages) or 'normal'.
    """

    def make(
        graph: str,
        dim: int,
        *,
        queries: int = 2,
        dtype: torch.dtype = torch.float64,
        values: str = "spread",
        shared: bool = False,
        weighted: bool = False,
        seed: int = 0,
    ) -> Inputs:
        which, generator = GRAPHS[graph], torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            normal = torch.randn(*shape, generator=generator, dtype=torch.float64)
            if values == "tied":
                return (2 * normal).round().clamp(-2, 2) / 2
            return normal.clamp(-1.5, 1.5) if values == "spread" else normal

        edges = sorted(which.edges, key=lambda edge: edge[2])
        tails = torch.tensor([v for _, _, v in edges], dtype=torch.int64)
        degree = torch.bincount(tails, minlength=which.num_rows)
        boundary = draw(queries, which.num_rows, dim)
        weight = 0.5 + torch.rand(len(edges), generator=generator, dtype=torch.float64) / 2 if weighted else None
        if weight is not None and values == "tied":
            weight = weight.round()
        return Inputs(
            draw(queries, which.num_sources, dim).to(dtype),
            draw(1 if shared else queries, which.num_relations, dim).to(dtype),
            (boundary + 8 if values == "spread" else boundary).to(dtype),
            torch.cat([torch.zeros(1, dtype=torch.int64), degree.cumsum(0)]),
            torch.tensor([x for x, _, _ in edges], dtype=torch.int32),
            torch.tensor([r for _, r, _ in edges], dtype=torch.int32),
            None if weight is None else weight.to(dtype),
        )

    return make


@pytest.fixture(autouse=True)
def num_threads() -> Iterator[Callable[[int], None]]:
    """Sets PyTorch's number of threads for one test; small as the graphs are, one is best."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch.set_num_threads
    torch.set_num_threads(before)
