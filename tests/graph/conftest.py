"""Graphs by name: what tests of reading and writing compare."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.native import native

# nbfnet.graph.relational_csr as a module: the one place that chooses between the extension and plain NumPy.
csr_module = importlib.import_module("nbfnet.graph.relational_csr")

Named = list[tuple[str, ...]]


def named(graph: Graph, triplets: Triplets | None = None) -> Named:
    """The triplets of a graph (or others, numbered as in it) as (head, relation, tail), or with a weight."""
    triplets = graph.triplets if triplets is None else triplets
    columns: list[list[object]] = [
        [graph.entities[i] for i in triplets.head.tolist()],
        [graph.relations[i] for i in triplets.relation.tolist()],
        [graph.entities[i] for i in triplets.tail.tolist()],
    ]
    if triplets.weight is not None:
        columns.append(triplets.weight.tolist())
    return list(zip(*columns, strict=True))


def multiset(triplets: Triplets) -> Counter[tuple[int, int, int, float]]:
    """Edges with how often each is there, weights included."""
    columns = (triplets.head, triplets.relation, triplets.tail, triplets.weight_or_ones())
    return Counter(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture(scope="session", name="named")
def named_function() -> Callable[..., Named]:
    return named


@pytest.fixture(scope="session", name="multiset")
def multiset_function() -> Callable[[Triplets], Counter[tuple[int, int, int, float]]]:
    return multiset


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Write a file of a name and content into a fresh folder."""

    def write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(scope="module", params=["compiled", "pure"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test with the compiled extension and without it."""
    if request.param == "compiled" and native is None:
        pytest.skip("the compiled extension was not built, or NBFNET_NATIVE=0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csr_module, "native", native if request.param == "compiled" else None)
        yield request.param


@pytest.fixture(scope="session")
def small_graph() -> Graph:
    """Five entities, one of them isolated, a self loop, a multi-edge and an edge that is there twice."""
    from nbfnet.graph.vocabulary import Vocabulary

    triplets = Triplets.of([0, 0, 1, 2, 3, 0], [0, 1, 0, 1, 0, 0], [1, 1, 2, 2, 0, 1], np.arange(1, 7) / 4)
    return Graph(
        "small",
        "knowledge",
        Vocabulary.of(["a", "b", "c", "d", "alone"]),
        Vocabulary.of(["likes", "knows"], role="relation"),
        triplets,
    )
