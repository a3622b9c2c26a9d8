"""The citation graphs of LINQS (Cora, CiteSeer, PubMed): from the published archive to a file of edges."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from nbfnet.errors import GraphFormatError
from nbfnet.graph.atomic import replacing

# Where the papers and the citations are, by the ends of the names of the archive's files.
_PLAIN = (".content", ".cites")
_PUBMED = (".NODE.paper.tab", ".DIRECTED.cites.tab")


def convert_linqs(archive: Path, edges: Path) -> None:
    """Write a line ``node TAB node`` for every citation, in the archive's order.

    Papers are numbered from 0 in the order of the file that describes them. CiteSeer cites some papers that
    it does not describe: they get the next numbers, in the order they are met.
    """
    with _opened(archive) as opened:
        members = {
            member.name: member
            for member in opened.getmembers()
            if member.isfile() and not PurePosixPath(member.name).name.startswith("._")  # left by an archiver
        }
        for layout in (_PLAIN, _PUBMED):
            papers, citations = ([name for name in members if name.endswith(end)] for end in layout)
            if len(papers) == len(citations) == 1:
                break
        else:
            raise GraphFormatError(
                "holds no citation graph",
                file=archive,
                remedy="give LINQS's archive of Cora, CiteSeer or PubMed, as it was published",
            )
        pubmed = layout is _PUBMED
        numbers: dict[bytes, int] = {}
        for _, line in _lines(opened, members[papers[0]], skip=2 if pubmed else 0):
            numbers.setdefault(line.split(b"\t", 1)[0], len(numbers))
        with replacing(edges) as partial, partial.open("w", encoding="ascii", newline="\n") as file:
            for position, line in _lines(opened, members[citations[0]], skip=2 if pubmed else 0):
                pair = _pubmed_pair(line) if pubmed else line.split()
                if len(pair) != 2:
                    raise GraphFormatError(
                        "is not a citation of one paper by another",
                        file=f"{archive}: {citations[0]}",
                        line=position,
                        text=line.decode("utf-8", "replace"),
                    )
                one, other = (numbers.setdefault(paper, len(numbers)) for paper in pair)
                file.write(f"{one}\t{other}\n")


def _opened(archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(archive, "r:gz")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise GraphFormatError(f"cannot be opened as a .tgz archive: {error}", file=archive) from error


def _lines(opened: tarfile.TarFile, member: tarfile.TarInfo, *, skip: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a member that are not empty, with their line numbers, after some lines of heading."""
    stream = opened.extractfile(member)
    assert stream is not None  # only of files, and `member` is one
    with stream:
        for position, line in enumerate(stream, 1):
            stripped = line.rstrip(b"\r\n")
            if position > skip and stripped:
                yield position, stripped


def _pubmed_pair(line: bytes) -> list[bytes]:
    """``33824<TAB>paper:19127292<TAB>|<TAB>paper:17363749`` without the number and the prefixes."""
    return [field.removeprefix(b"paper:") for field in line.split(b"\t") if field.startswith(b"paper:")]
