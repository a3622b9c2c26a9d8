"""The citation graphs of LINQS (Cora, CiteSeer, PubMed): from the published archive to a file of edges."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from nbfnet.errors import GraphFormatError
from nbfnet.graph.atomic import replacing

# How the names of the files end that describe the papers and that list the citations.
_PLAIN = (".content", ".cites")
_PUBMED = (".NODE.paper.tab", ".DIRECTED.cites.tab")
_PUBMED_HEADING = 2  # lines


def convert_linqs(archive: Path, edges: Path) -> None:
    """Write a line ``node TAB node`` for every citation, in the archive's order.

    Papers are numbered from 0 in the order of the file that describes them. CiteSeer cites some papers that
    it does not describe: they get the next numbers, in the order they are met.

    Raises:
        GraphFormatError: the archive is damaged or is not one of LINQS.
    """
    try:
        with tarfile.open(archive, "r:gz") as opened:
            pairs = _read_citations(archive, opened)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise GraphFormatError(f"cannot be read as a .tgz archive: {error}", file=archive) from error
    with replacing(edges) as partial, partial.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{one}\t{other}\n" for one, other in pairs)


def _read_citations(archive: Path, opened: tarfile.TarFile) -> list[tuple[int, int]]:
    members = {
        member.name: member
        for member in opened.getmembers()
        if member.isfile() and not PurePosixPath(member.name).name.startswith("._")  # left by an archiver
    }
    for layout in (_PLAIN, _PUBMED):
        papers, citations = ([name for name in members if name.endswith(ending)] for ending in layout)
        if len(papers) == len(citations) == 1:
            break
    else:
        raise GraphFormatError(
            "holds no citation graph",
            file=archive,
            remedy="give LINQS's archive of Cora, CiteSeer or PubMed, as it was published",
        )
    heading, split = (_PUBMED_HEADING, _pubmed_pair) if layout is _PUBMED else (0, bytes.split)
    numbers: dict[bytes, int] = {}
    for _, line in _lines(opened, members[papers[0]], heading):
        numbers.setdefault(line.split(b"\t", 1)[0], len(numbers))
    pairs = []
    for position, line in _lines(opened, members[citations[0]], heading):
        pair = split(line)
        if len(pair) != 2:
            raise GraphFormatError(
                "is not a citation of one paper by another",
                file=f"{archive}: {citations[0]}",
                line=position,
                text=line.decode("utf-8", "replace"),
            )
        one, other = (numbers.setdefault(paper, len(numbers)) for paper in pair)
        pairs.append((one, other))
    return pairs


def _lines(opened: tarfile.TarFile, member: tarfile.TarInfo, heading: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a member after its heading that are not empty, with their line numbers."""
    stream = opened.extractfile(member)
    assert stream is not None  # `member` is a file
    with stream:
        for position, line in enumerate(stream, 1):
            stripped = line.rstrip(b"\r\n")
            if position > heading and stripped:
                yield position, stripped


def _pubmed_pair(line: bytes) -> list[bytes]:
    """``33824 TAB paper:19127292 TAB | TAB paper:17363749`` without the number and the prefixes."""
    return [field.removeprefix(b"paper:") for field in line.split(b"\t") if field.startswith(b"paper:")]
