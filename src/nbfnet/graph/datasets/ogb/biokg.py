"""ogbl-biokg: drugs, diseases, proteins, functions and side effects, in OGB's folder ``ogbl_biokg``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.datasets.ogb.given import GivenNegatives
from nbfnet.graph.datasets.ogb.plain_load import load_plain
from nbfnet.graph.datasets.ogb.typed_entities import TypedEntities, read_names
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.graph.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class BioKG:
    """The dataset, and 500 given negatives for either end of each valid and test link."""

    dataset: Dataset
    valid_negatives: GivenNegatives
    test_negatives: GivenNegatives


def read_biokg(folder: Path) -> BioKG:
    """Read the folder.

    OGB numbers the entities of each type from 0; here those of each type follow those of the type before it.

    Raises:
        GraphFormatError: a file is missing or damaged, or holds ids that do not exist.
    """
    entities = TypedEntities.read(folder / "mapping")
    relations = read_names(folder / "mapping" / "relidx2relname.csv.gz")

    def split(name: str) -> _SplitFile:
        return _SplitFile(folder / "split" / "random" / f"{name}.pt", entities, len(relations))

    train = split("train").triplets()
    valid, valid_negatives = split("valid").links()
    test, test_negatives = split("test").links()
    graph = Graph(
        name="ogbl-biokg",
        kind="knowledge",
        entities=entities.vocabulary(),
        relations=Vocabulary.of(relations, role="relation"),
        triplets=train,
        types=entities.types(),
    )
    dataset = Dataset("ogbl-biokg", graph, valid, test, split="OGB's random split")
    return BioKG(dataset, valid_negatives, test_negatives)


class _SplitFile:
    """One of ``train.pt``, ``valid.pt`` and ``test.pt``: fields that are checked as they are taken."""

    def __init__(self, file: Path, entities: TypedEntities, num_relations: int) -> None:
        self.file, self.entities, self.num_relations = file, entities, num_relations
        self.fields = load_plain(file)
        if not isinstance(self.fields, dict):
            raise self._wrong(f"should hold named fields, but holds a {type(self.fields).__name__}")

    def triplets(self) -> Triplets:
        relation = self._integers("relation", dimensions=1)
        self._check_range("relation", relation, self.num_relations)
        head, tail = self._ends("head"), self._ends("tail")
        if not len(head) == len(relation) == len(tail):
            raise self._wrong(f"has {len(head):,} heads, {len(relation):,} relations and {len(tail):,} tails")
        return Triplets(head, relation.astype(np.int32), tail)

    def links(self) -> tuple[Triplets, GivenNegatives]:
        return self.triplets(), GivenNegatives(self._ends("head", "_neg"), self._ends("tail", "_neg"))

    def _ends(self, end: str, suffix: str = "") -> Int32:
        """The heads or tails of the links, (link,), or the negatives of the same types, (link, negative)."""
        field = end + suffix
        local = self._integers(field, dimensions=2 if suffix else 1)
        kinds = self._kinds(f"{end}_type", len(local))
        if suffix:
            kinds = kinds[:, None]
        self._check_range(field, local, self.entities.counts[kinds])
        ids: Int32 = np.empty(local.shape, dtype=np.int32)
        # Into int32 at once: the negatives of a split take 650 MB as they are published.
        np.add(local, self.entities.offsets[kinds], out=ids, casting="unsafe")
        return ids

    def _kinds(self, field: str, length: int) -> Int64:
        """(link,) the type of each link's head or tail."""
        names = self._take(field)
        if not isinstance(names, list) or len(names) != length:
            raise self._wrong(f"field {field!r} should be a list of {length:,} types")
        names = [str(name) for name in names]
        known = self.entities.type_ids
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise self._wrong(f"field {field!r} names the types {unknown}, but there are only {list(known)}")
        return np.fromiter((known[name] for name in names), dtype=np.int64, count=len(names))

    def _integers(self, field: str, *, dimensions: int) -> npt.NDArray[np.integer[Any]]:
        values = np.asarray(self._take(field))
        if values.dtype.kind not in "iu" or values.ndim != dimensions:
            raise self._wrong(
                f"field {field!r} should be integers in {dimensions} dimension(s), "
                f"but is {values.dtype} in {values.ndim}"
            )
        return values

    def _take(self, field: str) -> Any:
        if field not in self.fields:
            raise self._wrong(f"has no field {field!r}, only {sorted(map(str, self.fields))}")
        return self.fields[field]

    def _check_range(self, field: str, ids: npt.NDArray[np.integer[Any]], bound: int | Int64) -> None:
        outside = (ids < 0) | (ids >= bound)
        if outside.any():
            row = int(np.argwhere(outside)[0][0])
            raise self._wrong(f"field {field!r}, row {row}: id {ids[outside][0]} does not exist")

    def _wrong(self, what: str) -> GraphFormatError:
        return GraphFormatError(what, file=self.file, remedy="get the dataset anew")
