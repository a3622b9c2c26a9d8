from __future__ import annotations

import io
import tarfile

import pytest

from nbfnet.errors import GraphFormatError
from nbfnet.graph.datasets.linqs import convert_linqs


def write_archive(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_cora_and_citeseer(tmp_path):
    archive = write_archive(
        tmp_path / "tiny.tgz",
        {
            "tiny/README": "about this",
            "tiny/._tiny.content": "left by an archiver",
            "tiny/tiny.content": "b\t0\t1\tTheory\na\t1\t0\tAgents\nmuller97\t0\t0\tTheory\n",
            # an isolated paper, a citation both ways, a self loop, papers that are described nowhere, CRLF
            "tiny/tiny.cites": "a\tb\r\nb\ta\nb\tb\nx\ta\nx\ty\n\n",
        },
    )
    convert_linqs(archive, tmp_path / "out" / "edges.txt")
    assert (tmp_path / "out" / "edges.txt").read_bytes() == b"1\t0\n0\t1\n0\t0\n3\t1\n3\t4\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["edges.txt"]


def test_pubmed(tmp_path):
    archive = write_archive(
        tmp_path / "Tiny-Diabetes.tgz",
        {
            "Tiny/data/Tiny.GRAPH.pubmed.tab": "NO_FEATURES\n",
            "Tiny/data/Tiny.NODE.paper.tab": (
                "NODE\tpaper\ncat=1,2,3:label\tnumeric:w-rat:0.0\tstring:summary\n"
                "12187484\tlabel=1\tw-rat=0.09\tsummary=w-rat\n2344352\tlabel=1\tsummary=\n"
            ),
            "Tiny/data/Tiny.DIRECTED.cites.tab": (
                "DIRECTED\tcites\nNO_FEATURES\n33824\tpaper:2344352\t|\tpaper:12187484\n33825\tpaper:2344352\t|\tpaper:2344352\n"
            ),
        },
    )
    convert_linqs(archive, tmp_path / "edges.txt")
    assert (tmp_path / "edges.txt").read_bytes() == b"1\t0\n1\t1\n"


def test_a_bad_citation_is_named_and_nothing_is_left(tmp_path):
    archive = write_archive(tmp_path / "tiny.tgz", {"t/t.content": "a\nb\n", "t/t.cites": "a\tb\na\tb\tc\n"})
    with pytest.raises(GraphFormatError, match=r"t\.cites, line 2") as raised:
        convert_linqs(archive, tmp_path / "edges.txt")
    assert "a\\tb\\tc" in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.tgz"]


@pytest.mark.parametrize(
    "files", [{}, {"t/t.content": "a\n"}, {"t/t.cites": "a\ta\n", "t/u.cites": "", "t/t.content": "a\n"}]
)
def test_an_archive_of_something_else(tmp_path, files):
    archive = write_archive(tmp_path / "tiny.tgz", files)
    with pytest.raises(GraphFormatError, match="no citation graph"):
        convert_linqs(archive, tmp_path / "edges.txt")


def test_a_file_that_is_no_archive(tmp_path):
    (tmp_path / "tiny.tgz").write_bytes(b"not a tar")
    with pytest.raises(GraphFormatError, match=r"\.tgz"):
        convert_linqs(tmp_path / "tiny.tgz", tmp_path / "edges.txt")


def test_an_archive_that_ends_too_early(tmp_path):
    archive = write_archive(tmp_path / "tiny.tgz", {"t/t.content": "a\n" * 9999, "t/t.cites": "a\ta\n" * 9999})
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(GraphFormatError):
        convert_linqs(archive, tmp_path / "edges.txt")
    assert not (tmp_path / "edges.txt").exists()
