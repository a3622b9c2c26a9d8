"""The entities of ogbl-biokg: five types, each with its own table of names."""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import EntityTypes
from nbfnet.graph.triplets import Int64
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
            raise GraphFormatError(f"holds no *{_ENDING} file", file=mapping, remedy="get the dataset anew")
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
        raise GraphFormatError("is missing", file=file, remedy="get the dataset anew, with all its files") from error
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        what = f"is not a table of an index and a name: {error}"
        raise GraphFormatError(what, file=file, remedy="get the dataset anew") from error
    if sorted(names) != list(range(len(names))):
        what = f"should number its {len(names):,} names from 0 without a gap"
        raise GraphFormatError(what, file=file, remedy="get the dataset anew")
    return [names[index] for index in range(len(names))]
