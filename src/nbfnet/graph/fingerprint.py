"""A dataset's fingerprint: equal for the same links between the same names, in the same order."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.packed_names import NumberedNames
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.graph.workspace import release_pages


def fingerprint(dataset: Dataset) -> str:
    """32 hexadecimal digits over every name and every link, with its weight; a store has them written down."""
    if dataset.stored is not None:
        return dataset.stored.fingerprint
    digest = hashlib.blake2b(digest_size=16)

    def add(array: npt.NDArray[Any]) -> None:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
        release_pages(array)

    def add_names(names: Vocabulary) -> None:
        if isinstance(names.names, NumberedNames):
            add(np.array([len(names)]))
        else:
            add(names.names.offsets)
            add(names.names.text)

    def add_triplets(triplets: Triplets) -> None:
        for column in (triplets.head, triplets.relation, triplets.tail, triplets.weight):
            add(np.empty(0) if column is None else column)

    def add_graph(graph: Graph) -> None:
        digest.update(graph.kind.encode())
        add_names(graph.entities)
        add_names(graph.relations)
        add_triplets(graph.triplets)
        add(np.empty(0) if graph.types is None else graph.types.of_entity)

    for graph in (dataset.train, *([dataset.test_graph] if dataset.test_graph else [])):
        add_graph(graph)
    add_triplets(dataset.valid)
    add_triplets(dataset.test)
    if len(dataset.test_graph_valid):
        add_triplets(dataset.test_graph_valid)
    return digest.hexdigest()
