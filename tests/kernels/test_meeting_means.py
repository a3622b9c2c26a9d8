"""Meeting means against their definition: every pair of relations at every entity, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import use_backend
from nbfnet.kernels.meeting_means import Meetings, meeting_means
from nbfnet.model.message_graph import MessageGraph
from nbfnet.native import native, native_available

Edge = tuple[int, int, int]
BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]
INSTRUCTION_SETS = native.instruction_sets() if native is not None else []

GRAPHS: dict[str, tuple[int, int, list[Edge]]] = {
    "drawn": (9, 4, [tuple(e) for e in np.random.default_rng(0).integers([8, 3, 8], size=(25, 3)).tolist()]),
    "one loop": (1, 1, [(0, 0, 0)]),
    "a hub": (8, 3, [(0, v % 3, v) for v in range(1, 8)] * 2 + [(3, 1, 0)]),
    "no edge": (3, 2, []),
}


@pytest.fixture(autouse=True)
def _restore_threads_and_instruction_set() -> Iterator[None]:
    threads = torch.get_num_threads()
    chosen = native.instruction_set() if native is not None else None
    yield
    torch.set_num_threads(threads)
    if native is not None:
        native.choose_instruction_set(chosen)


def meetings_of(nodes: int, relations: int, edges: list[Edge]) -> Meetings:
    head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    return MessageGraph(RelationalCSR.from_triplets(Triplets.of(head, relation, tail), nodes, relations)).meetings


def oracle(edges: list[Edge], relation: Tensor, hidden: Tensor | None) -> Tensor:
    """(relation, feature, dim) of one query."""
    pairs = [{(h, r) for h, r, _ in edges}, {(t, r) for _, r, t in edges}]
    result = []
    for s in range(len(relation)):
        features = []
        for to, with_entity, of in product((0, 1), (False, True) if hidden is not None else (False,), (0, 1)):
            received = relation[s] * 0
            entities = [v for v, r in pairs[to] if r == s]
            for v, r in pairs[of]:
                if v in entities:
                    weight = 1 / (len(entities) * sum(w == v for w, _ in pairs[of]))
                    received = received + weight * (
                        relation[r] * hidden[v] if with_entity and hidden is not None else relation[r]
                    )
            features.append(received)
        result.append(torch.stack(features))
    return torch.stack(result)


def compare(name: str, dim: int, dtype: torch.dtype, *, with_hidden: bool, tolerance: float) -> None:
    nodes, relations, edges = GRAPHS[name]
    random = torch.Generator().manual_seed(dim)
    relation = torch.randn(3, relations, dim, generator=random, dtype=torch.float64)
    hidden = torch.randn(3, nodes, dim, generator=random, dtype=torch.float64) if with_hidden else None
    place = torch.randperm(nodes, generator=random)
    inputs = [each.requires_grad_() for each in (relation, hidden) if each is not None]
    in_order = [None] * 3 if hidden is None else hidden.index_select(1, place).unbind()
    expected = torch.stack([oracle(edges, x, h) for x, h in zip(relation, in_order, strict=True)])
    slope = torch.randn(expected.shape, generator=random, dtype=torch.float64)
    expected_gradients = torch.autograd.grad(expected, inputs, slope, allow_unused=True)
    given = [each.detach().to(dtype).requires_grad_() for each in inputs]
    found = meeting_means(given[0], given[1] if with_hidden else None, meetings_of(nodes, relations, edges), place)
    torch.testing.assert_close(found.double(), expected, atol=tolerance, rtol=tolerance)
    for got, wanted in zip(torch.autograd.grad(found, given, slope.to(dtype)), expected_gradients, strict=True):
        wanted = torch.zeros_like(got).double() if wanted is None else wanted
        torch.testing.assert_close(got.double(), wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("with_hidden", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_means_and_gradients(name: str, with_hidden: bool, backend: str) -> None:
    with use_backend(backend):  # type: ignore[arg-type]
        for dim in (1, 5, 32):
            compare(name, dim, torch.float64, with_hidden=with_hidden, tolerance=1e-12)


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_every_instruction_set(instruction_set: str) -> None:
    assert native is not None
    native.choose_instruction_set(instruction_set)
    for name, dim in product(GRAPHS, (1, 7, 16, 33)):
        compare(name, dim, torch.float32, with_hidden=True, tolerance=1e-5)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    meetings = meetings_of(*GRAPHS["drawn"])
    relation, hidden = torch.randn(5, 4, 8, requires_grad=True), torch.randn(5, 9, 8, requires_grad=True)
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        out = meeting_means(relation, hidden, meetings)
        found.append([out, *torch.autograd.grad(out.square().sum(), [relation, hidden])])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_no_query() -> None:
    for backend in BACKENDS:
        with use_backend(backend):  # type: ignore[arg-type]
            out = meeting_means(torch.zeros(0, 4, 6), torch.zeros(0, 9, 6), meetings_of(*GRAPHS["drawn"]))
        assert out.shape == (0, 4, 8, 6)
