"""Check a source: everything odd about it, as a document and for people."""

from __future__ import annotations

import dataclasses
from typing import Any

from nbfnet.cli.options import Reading
from nbfnet.cli.output import print_text, print_title
from nbfnet.cli.sources import findings_of, read_source
from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.findings import Finding, counted


def check_source(source: str, reading: Reading) -> dict[str, Any]:
    """The JSON document of ``nbfnet data check``: bad lines are findings too, and the rest is read without them."""
    opened: Graph | Dataset | None = None
    try:
        opened = read_source(source, reading, skip_bad_lines=True)
        findings = findings_of(opened)
    except GraphFormatError as error:
        findings = [_of_error(_first_error(source, reading) or error, source)]
    is_readable = opened is not None
    if not reading.skip_bad_lines and any(finding.kind == "bad lines" for finding in findings):
        is_readable = False
        findings = [
            dataclasses.replace(finding, severity="important") if finding.kind == "bad lines" else finding
            for finding in findings
        ]
    findings.sort(key=lambda finding: finding.severity != "important")
    counts = {} if opened is None else _counts(opened.train if isinstance(opened, Dataset) else opened)
    documents = [finding.document() for finding in findings]
    return {"source": source, "readable": is_readable, **counts, "findings": documents}


def _first_error(source: str, reading: Reading) -> GraphFormatError | None:
    """What is wrong with the first bad line: where all lines are bad, none is left to report."""
    try:
        read_source(source, reading)
    except GraphFormatError as error:
        return error
    return None


def print_findings(document: dict[str, Any]) -> None:
    """The same for people."""
    counts = ", ".join(counted(document[many], one, many) for many, one in _COUNTED.items() if many in document)
    verdict = "can be read" if document["readable"] else "cannot be read as it is"
    print_title(f"{document['source']} {verdict}" + (f": {counts}" if counts else ""))
    for found in document["findings"]:
        finding = Finding(**found | {"lines": tuple(found["lines"])})
        print_text()
        print_text(f"{finding.severity}: {finding.what}")
        print_text(f"  where: {finding.place}")
        print_text(f"  what to do: {finding.remedy}")
    if not document["findings"]:
        print_text("nothing odd was found")


_COUNTED = {"entities": "entity", "relations": "relation", "facts": "fact"}


def _counts(graph: Graph) -> dict[str, int]:
    return dict(zip(_COUNTED, (graph.num_nodes, graph.num_relations, len(graph.triplets)), strict=True))


def _of_error(error: GraphFormatError, source: str) -> Finding:
    shown = "" if error.text is None else f"; the line reads {error.text[:120]!r}"
    lines = () if error.line is None else (error.line,)
    place = str(error.file or source)
    return Finding("cannot be read", error.what + shown, place, lines, 1, error.remedy or "", "important")
