"""read: any single source of edges, a file or a Python object, to an indexed graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import Graph
from nbfnet.graph.reading.dialect import detect_dialect
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.ntriples import read_ntriples
from nbfnet.graph.reading.objects import read_object
from nbfnet.graph.reading.option_check import check_options
from nbfnet.graph.reading.parquet import read_parquet
from nbfnet.graph.reading.records import records
from nbfnet.graph.reading.side_files import SideFile, read_labels, read_types
from nbfnet.graph.reading.text import read_text
from nbfnet.graph.reading.triplet_table import TripletTable
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.regular_files import is_special


class ReadOptions(TypedDict, total=False):
    """How to read a file of edges; what is left out is detected."""

    delimiter: str | None  # the character between columns
    header: bool | None  # whether the first line names the columns
    columns: Sequence[str] | None  # the role of each column, for example ("head", "tail", "weight")
    skip_bad_lines: bool  # leave bad lines out and count them in Graph.skipped_lines, instead of an error
    encoding: str | None  # of text that is not UTF-8, for example "latin-1"
    directed: bool | None  # whether edges without a relation keep their direction, as facts of the relation 'edge'


class SourceOptions(ReadOptions, total=False):
    """How to read a source: as a file is read, with what stands beside it."""

    labels: SideFile | None  # readable names
    types: SideFile | None  # entity types


def read(
    source: object,
    *,
    name: str | None = None,
    labels: SideFile | None = None,
    types: SideFile | None = None,
    **options: Unpack[ReadOptions],
) -> Graph:
    """Read a graph from a file or a Python object.

    Two columns are the edges of a homogeneous graph, three are head, relation, tail, four add a weight. Delimiter,
    header and columns are detected where they are not stated. What was odd about the source is in ``Graph.findings``.

    Args:
        source: a path to text (tabs, commas, semicolons, bars, spaces; ``.gz`` too), Parquet or N-Triples; or a list
            of tuples, a NumPy array, a pandas, Polars or Arrow table, a networkx graph, a PyG ``Data`` or
            ``HeteroData``.
        name: what to call the graph; the file's name if not given.
        labels: readable names, as a file of name TAB label or as a dictionary.
        types: entity types, as a file of entity TAB type or as a dictionary.
        options: what should not be detected (``ReadOptions``), and whether bad lines are skipped.

    Raises:
        GraphFormatError: names the file, the line, its text and what to do.

    >>> graph = read([("Lyon", "in country", "France"), ("France", "capital", "Paris")])
    >>> graph
    <Graph 'graph': knowledge, 3 entities, 2 relations, 2 triplets>
    """
    check_options({"name": name, "labels": labels, "types": types, **options})
    table, found, own_types = TripletTable(), {}, None
    encoding, directed = options.get("encoding"), options.get("directed")
    if isinstance(source, str | Path):
        path = Path(source)
        found = read_part(table, "train", path, **options)
        indexed = table.index(directed=directed)
        stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    else:
        _refuse_options_of_text(options, "a Python object")
        skip, columns = options.get("skip_bad_lines", False), options.get("columns")
        indexed, own_types = read_object(table, source, columns=columns, skip_bad_rows=skip, directed=directed)
        stem = "graph"
    types = types or own_types
    return Graph(
        name or stem,
        indexed.kind,
        label_entities(indexed.entities, found, labels, encoding),
        indexed.relations,
        indexed.parts["train"],
        read_types(types, indexed.entities, table.findings, encoding) if types else None,
        table.skipped,
        tuple(table.findings),
    )


def read_part(table: TripletTable, part: str, path: Path, **options: Unpack[ReadOptions]) -> dict[str, str]:
    """Append one file to a table, by the kind that its name says; returns labels found inside it."""
    check_is_file(path)
    skip_bad_lines = options.get("skip_bad_lines", False)
    kind = kind_of_file(path)
    if kind != "text":
        _refuse_options_of_text(options, path)
    if kind == "N-Triples":
        return read_ntriples(table, part, path, skip_bad_lines=skip_bad_lines)
    if kind == "Parquet":
        read_parquet(table, part, path, columns=options.get("columns"), skip_bad_lines=skip_bad_lines)
    else:
        read_text(
            table,
            part,
            path,
            delimiter=options.get("delimiter"),
            header=options.get("header"),
            columns=options.get("columns"),
            skip_bad_lines=skip_bad_lines,
            encoding=options.get("encoding"),
        )
    return {}


def _refuse_options_of_text(options: ReadOptions, source: Path | str) -> None:
    """A separator, a header or an encoding is of text alone: anywhere else it would have no effect."""
    stated = [name for name in ("delimiter", "header", "encoding") if options.get(name) is not None]
    if stated:
        raise GraphFormatError("this is not a text file", file=source, remedy=f"leave out: {', '.join(stated)}")


def kind_of_file(path: Path) -> Literal["text", "N-Triples", "Parquet"]:
    """What a file's name says that it is."""
    suffix = Path(path.name.casefold().removesuffix(".gz")).suffix
    if suffix in (".nt", ".ntriples"):
        return "N-Triples"
    return "Parquet" if suffix in (".parquet", ".pq") else "text"


def check_is_file(path: Path) -> None:
    """Refuse a path that is missing, a folder, a pipe, or not readable."""
    if is_special(path):
        remedy = "give a file; save what a pipe or a device gives to one first"
        raise GraphFormatError("this is a pipe or a device, not a file", file=path, remedy=remedy)
    try:
        with path.open("rb") as stream:
            empty = stream.read(1) == b""
    except IsADirectoryError:
        remedy = "give a file; a folder of train, valid and test is read by nbfnet.load"
        raise GraphFormatError("this is a folder, not a file", file=path, remedy=remedy) from None
    except (FileNotFoundError, NotADirectoryError):
        raise GraphFormatError("no such file", file=path, remedy="check the path") from None
    except PermissionError:
        raise GraphFormatError("permission denied", file=path, remedy="check the permissions") from None
    except (OSError, ValueError) as error:  # longer than a path can be, or with characters that no path has
        text = str(path)
        shown = text if len(text) <= 200 else text[:200] + "…"
        reason = error.strerror if isinstance(error, OSError) else error
        raise GraphFormatError(f"cannot be opened: {reason}", file=shown, remedy="give the path of a file") from None
    if empty:
        raise GraphFormatError("the file is empty", file=path, remedy="give a file with at least one edge")


def label_entities(
    entities: Vocabulary, found: dict[str, str], labels: SideFile | None, encoding: str | None = None
) -> Vocabulary:
    """Attach readable labels: those that were given first, then those found in the data."""
    merged = {**found, **(read_labels(labels, encoding) if labels else {})}
    return entities.with_labels(merged) if merged else entities


def place_of(origin: Path | str, *names: str, **options: Unpack[ReadOptions]) -> str:
    """The place of what has all these names, in words: a file's path, and the first such line where it is text.

    The options are those that the file was read with.
    """
    if not (isinstance(origin, Path) and origin.is_file() and kind_of_file(origin) == "text"):
        return str(origin)
    columns, encoding = options.get("columns"), options.get("encoding")
    delimiter = options.get("delimiter") or detect_dialect(origin, columns=columns, encoding=encoding).delimiter
    for line, _, cells in records(origin, delimiter, encoding):
        if {*names} <= {cell.strip(BLANKS) for cell in cells}:
            return f"{origin}, line {line}"
    return str(origin)
