"""RDF N-Triples through pyoxigraph (extra ``rdf``)."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nbfnet.errors import GraphFormatError, MissingExtraError
from nbfnet.graph.reading.findings import FEW, Finding, Origin, counted
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.opening import lines_of, open_bytes
from nbfnet.graph.reading.triplet_table import TripletTable
from nbfnet.progress import stage

Triple = tuple[str, str, str]
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def read_ntriples(table: TripletTable, part: str, path: Path, *, skip_bad_lines: bool = False) -> dict[str, str]:
    """Append an N-Triples file to the table; returns the readable labels that its rdfs:label triples give.

    IRIs are named by their text, blank nodes by '_:id', literals by their value.
    """
    names: dict[str, list[str]] = {"head": [], "relation": [], "tail": []}
    labels: dict[str, str] = {}
    lines: list[int] = []
    with stage(f"reading {path.name}"):
        for line, (head, relation, tail) in _triples(table, path, skip_bad_lines):
            if relation == RDFS_LABEL:
                if tail.strip(BLANKS):
                    labels.setdefault(head, tail.strip(BLANKS))
                continue
            for role, name in (("head", head), ("relation", relation), ("tail", tail)):
                names[role].append(name)
            lines.append(line)
    if not names["head"]:
        raise GraphFormatError("the file has no triple", file=path, remedy="give at least one triple")
    table.begin(part, tuple(names), Origin(str(path), lambda rows: tuple(lines[row] for row in rows)))
    table.insert_columns(part, [np.array(column, dtype=object) for column in names.values()])
    return labels


def _triples(table: TripletTable, path: Path, skip_bad_lines: bool) -> Iterator[tuple[int, Triple]]:
    """Parse line by line, as the format is defined: so a bad line is known by its number and can be skipped."""
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtraError("reading N-Triples", "pyoxigraph", "rdf") from None
    bad: list[int] = []
    with open_bytes(path) as stream:
        for number, line in enumerate(lines_of(stream, path), start=1):
            try:
                for triple in pyoxigraph.parse(line.removeprefix(BOM_UTF8), pyoxigraph.RdfFormat.N_TRIPLES):
                    yield number, _names(triple)
            except (SyntaxError, ValueError) as error:
                if not skip_bad_lines:
                    raise GraphFormatError(
                        f"not an N-Triples line that makes an edge ({error})",
                        file=path,
                        line=number,
                        text=line.decode("utf-8", "backslashreplace").rstrip("\r\n"),
                        remedy="write <subject> <predicate> <object> . or leave bad lines out with --skip-bad-lines",
                    ) from None
                bad.append(number)
    table.skipped += len(bad)
    if bad:
        what = f"{counted(len(bad), 'bad line')}: not N-Triples that make an edge"
        remedy = "write <subject> <predicate> <object> . or leave them out with --skip-bad-lines"
        table.findings.append(Finding("bad lines", what, str(path), tuple(bad[:FEW]), len(bad), remedy, "note"))


def _names(triple: Any) -> Triple:
    head, relation, tail = (_name(term) for term in (triple.subject, triple.predicate, triple.object))
    if not tail.strip(BLANKS) and relation != RDFS_LABEL:
        raise ValueError("the literal is empty")
    return head, relation, tail


def _name(term: Any) -> str:
    kind = type(term).__name__
    if kind == "Triple":
        raise ValueError("a triple about a triple is not an edge between two entities")
    text = str(term) if kind == "BlankNode" else term.value
    assert isinstance(text, str)
    return text
