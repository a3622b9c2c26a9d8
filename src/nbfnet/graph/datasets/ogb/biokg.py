"""ogbl-biokg: drugs, diseases, proteins, functions and side effects, in OGB's folder ``ogbl_biokg``."""

from __future__ import annotations

import csv
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.datasets.ogb.plain_load import load_plain
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.graph.vocabulary import Vocabulary

_ENDING = "_entidx2name.csv.gz"


class TypedEntities:
    """The entities of every type, in the alphabetical order of the types.

    An entity is named ``type:name``, for a disease and a side effect may share a name; its label is the name.
    """

    def __init__(self, names: dict[str, list[str]]) -> None:
        self.names = names
        self.type_ids = {kind: index for index, kind in enumerate(names)}
        self.counts: Int64 = np.array([len(of_type) for of_type in names.values()], dtype=np.int64)  # (type,)
        self.offsets: Int64 = np.cumsum(self.counts) - self.counts  # (type,) the id of the first of each

    @classmethod
    def read(cls, mapping: Path) -> TypedEntities:
        """Read the tables ``TYPE_entidx2name.csv.gz`` of a folder."""
        files = sorted(mapping.glob("*" + _ENDING))
        if not files:
            raise GraphFormatError(f"holds no *{_ENDING} file", file=mapping, remedy="get the dataset again")
        return cls({file.name.removesuffix(_ENDING): read_names(file) for file in files})

    def vocabulary(self) -> Vocabulary:
        """All entities, the types one after the other."""
        named = [(f"{kind}:{name}", name) for kind, of_type in self.names.items() for name in of_type]
        return Vocabulary.of((name for name, _ in named), labels=dict(named))

    def types(self) -> EntityTypes:
        """The type of each entity."""
        of_entity = np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)
        return EntityTypes(Vocabulary.of(self.names, role="entity type"), of_entity)


def read_names(file: Path) -> list[str]:
    """The names of a table ``index,name`` with one line of heading, by index."""
    names: dict[int, str] = {}
    try:
        with gzip.open(file, "rt", encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            for index, name in rows:
                names[int(index)] = name
    except FileNotFoundError as error:
        raise GraphFormatError("is missing", file=file, remedy="get the dataset again, with all its files") from error
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        what = f"is not a table of an index and a name: {error}"
        raise GraphFormatError(what, file=file, remedy="get the dataset again") from error
    if sorted(names) != list(range(len(names))):
        what = f"should number its {len(names):,} names from 0 without a gap"
        raise GraphFormatError(what, file=file, remedy="get the dataset again")
    return [names[index] for index in range(len(names))]


@dataclass(frozen=True, eq=False)
class GivenNegatives:
    """Wrong heads and wrong tails for each link (u, q, v), as ids of the dataset's entities."""

    head: Int32  # (query, negative) to rank u among, given q and v
    tail: Int32  # (query, negative) to rank v among, given u and q


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
        return GraphFormatError(what, file=self.file, remedy="get the dataset again")
