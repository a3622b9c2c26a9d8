"""Opening what a user names as SOURCE or RUN."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nbfnet.cli.options import Reading
from nbfnet.cli.output import report_note
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import open_source
from nbfnet.graph.reading.findings import Finding

if TYPE_CHECKING:
    from nbfnet.run import Run

_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}  # separators that are hard to type in a shell


def open_graph(source: str, reading: Reading) -> Graph | Dataset:
    """Read what a user named as SOURCE, as the options say, and tell what of it may surprise."""
    opened = read_source(source, reading)
    skipped = (opened.train if isinstance(opened, Dataset) else opened).skipped_lines
    if skipped:
        report_note(f"{skipped:,} bad {'line' if skipped == 1 else 'lines'} skipped")
    for finding in findings_of(opened):
        if finding.severity == "important":
            report_note(str(finding))
    return opened


def read_source(source: str, reading: Reading, *, skip_bad_lines: bool = False) -> Graph | Dataset:
    """Read what a user named as SOURCE, as the options say."""
    return open_source(
        source,
        test_graph=reading.test_graph,
        delimiter=None if reading.delimiter is None else _WORDS.get(reading.delimiter, reading.delimiter),
        header=reading.header,
        columns=None if reading.columns is None else reading.columns.split(","),
        encoding=reading.encoding,
        skip_bad_lines=reading.skip_bad_lines or skip_bad_lines,
        directed=reading.directed or None,
        labels=reading.names,
        types=reading.types,
    )


def findings_of(opened: Graph | Dataset) -> list[Finding]:
    """What was odd about a source, test graph included."""
    graphs = [opened] if isinstance(opened, Graph) else [opened.train, opened.test_graph]
    return [finding for graph in graphs if graph is not None for finding in graph.findings]


def open_run(
    runs: Sequence[Path], facts: Path | None = None, more_facts: Path | None = None, *, train_only: bool = False
) -> Run:
    """The run folders that a user named, asked on the facts that the options say."""
    from nbfnet.run import Run  # PyTorch takes a second to load

    run = Run.open(*runs, train_only=train_only)
    run = run if facts is None else run.on(facts)
    return run if more_facts is None else run.with_facts(more_facts)
