"""Opening what a user names as SOURCE."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nbfnet.cli.output import report_note
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import SourceOptions, open_source
from nbfnet.graph.reading.read import kind_of_file

_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}  # separators that are hard to type in a shell
_TINY = 10  # facts; of fewer, one that shares nothing with the others says little


def open_graph(
    source: str,
    delimiter: str | None,
    header: bool | None,
    columns: str | None,
    skip_bad_lines: bool,
    names: Path | None,
    types: Path | None,
) -> Graph | Dataset:
    """Read what a user named as SOURCE, as the options say, and tell what of it may surprise."""
    options: SourceOptions = {
        "delimiter": None if delimiter is None else _WORDS.get(delimiter, delimiter),
        "header": header,
        "columns": None if columns is None else columns.split(","),
        "skip_bad_lines": skip_bad_lines,
        "labels": names,
        "types": types,
    }
    opened = open_source(source, **options)
    graph = opened.train if isinstance(opened, Dataset) else opened
    if graph.skipped_lines:
        report_note(f"{graph.skipped_lines:,} bad {'line' if graph.skipped_lines == 1 else 'lines'} skipped")
    is_text = isinstance(opened, Graph) and kind_of_file(Path(source)) == "text"
    if header is None and is_text and _may_begin_with_a_header(graph):
        report_note("no word of the first line stands in another: if it names the columns, give --header")
    return opened


def _may_begin_with_a_header(graph: Graph) -> bool:
    """Whether the first fact's relation and both its ends stand nowhere else, in a graph that is not tiny."""
    facts = graph.triplets
    if graph.kind != "knowledge" or len(facts) < _TINY:
        return False
    relation, ends = facts.relation[0], [facts.head[0], facts.tail[0]]
    lonely = np.count_nonzero(np.isin(facts.head, ends) | np.isin(facts.tail, ends)) == 1
    return bool(lonely and np.count_nonzero(facts.relation == relation) == 1)
