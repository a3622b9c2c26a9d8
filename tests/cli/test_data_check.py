"""``nbfnet data check``: everything odd about a source, with lines and a way out, and whether it can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
LINES = [f"p{i % 7}\tr{i % 2}\tp{(3 * i + 1) % 7}\n" for i in range(14)]


def kinds(document):
    return [finding["kind"] for finding in document["findings"]]


def test_the_messy_file_of_the_guide(nbfnet):
    answer = nbfnet("data", "check", GUIDES / "messy.csv", "--json")
    document = answer.document
    assert document["source"] == str(GUIDES / "messy.csv")
    assert {"header", "spaces", "similar names", "duplicates", "byte order mark", "blank lines"} == set(kinds(document))
    keys = {"kind", "what", "file", "lines", "count", "remedy", "severity"}
    assert all(set(finding) == keys for finding in document["findings"])
    text = (GUIDES / "messy.csv").read_text(encoding="utf-8-sig").splitlines()
    by_kind = {finding["kind"]: finding for finding in document["findings"]}
    assert all(text[line - 1] == "" for line in by_kind["blank lines"]["lines"])
    stray = [i for i, line in enumerate(text, 1) if any(cell != cell.strip() for cell in line.split(";"))]
    assert by_kind["spaces"]["lines"] == stray
    again = [i for i, line in enumerate(text, 1) if line and line in text[: i - 1]]
    assert by_kind["duplicates"]["lines"] == again
    shown = nbfnet("data", "check", GUIDES / "messy.csv")
    assert (shown.code, shown.err) == (0, "")
    for finding in document["findings"]:
        assert f"{finding['severity']}: {finding['what']}" in shown.out
        assert f"what to do: {finding['remedy']}" in shown.out


def test_every_bad_line_is_listed(nbfnet, tmp_path):
    path = tmp_path / "g.tsv"
    path.write_text("".join([*LINES, "too few\n", "a\tr\n", "\tr\tb\n", "x\ty\n"]))
    answer = nbfnet("data", "check", path, "--json")
    assert answer.code == 2
    document = json.loads(answer.out)
    bad = {finding["what"].split(";")[0]: finding for finding in document["findings"] if finding["kind"] == "bad lines"}
    lines = {what: finding["lines"] for what, finding in bad.items()}
    assert lines == {
        "1 bad line: 1 columns: expected 3 (head, relation, tail)": [15],
        "2 bad lines: 2 columns: expected 3 (head, relation, tail)": [16, 18],
        "1 bad line: the head is empty": [17],
    }
    assert {finding["severity"] for finding in bad.values()} == {"important"}
    shown = nbfnet("data", "check", path)
    assert (shown.code, shown.err) == (2, "")
    assert "cannot be read as it is" in shown.out
    assert "'a\\tr'" in shown.out
    assert nbfnet("data", "check", path, "--skip-bad-lines").code == 0


def test_many_bad_lines_are_counted(nbfnet, tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("a,r,b\n" * 50 + "x,y\n" * 45)
    [finding] = [
        found
        for found in json.loads(nbfnet("data", "check", path, "--json").out)["findings"]
        if found["kind"] == "bad lines"
    ]
    assert (finding["count"], finding["lines"]) == (45, list(range(51, 71)))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"one\ncolumn\n", "only one column"),
        (b"\xff\xfea\0", "binary"),
        (b"head,relation,tail\n", "no edge"),
    ],
)
def test_what_cannot_be_read_at_all(nbfnet, tmp_path, content, says):
    path = tmp_path / "g.csv"
    path.write_bytes(content)
    answer = nbfnet("data", "check", path, "--json")
    assert answer.code == 2
    [finding] = json.loads(answer.out)["findings"]
    assert (finding["kind"], finding["severity"]) == ("cannot be read", "important")
    assert says in finding["what"]
    assert finding["remedy"]
    assert nbfnet("data", "check", path).code == 2
    assert nbfnet("data", "check", tmp_path / "gone.csv").code == 2


def test_every_part_of_a_folder_is_checked(nbfnet, tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "train.txt").write_text("".join(LINES))
    (folder / "valid.txt").write_text(f"{LINES[0]}{LINES[0]}")
    (folder / "test.txt").write_text(f" {LINES[3]}bad line\n{LINES[0]}{LINES[1]}")
    (folder / "entity_types.txt").write_text("p1\tperson\n")
    answer = nbfnet("data", "check", folder, "--json")
    assert answer.code == 2
    found = {(finding["kind"], Path(finding["file"]).name) for finding in json.loads(answer.out)["findings"]}
    assert found == {
        ("bad lines", "test.txt"),
        ("spaces", "test.txt"),
        ("duplicates", "valid.txt"),
        ("entities without a type", "entity_types.txt"),
    }


def test_a_clean_source_has_nothing(nbfnet, tmp_path):
    (tmp_path / "g.tsv").write_text("".join(LINES))
    for source in (tmp_path / "g.tsv", "world"):
        assert nbfnet("data", "check", source, "--json").document["findings"] == []
    assert "nothing odd was found" in nbfnet("data", "check", tmp_path / "g.tsv").out


def test_what_is_important_is_told_where_the_source_is_used(nbfnet, tmp_path):
    important = [
        finding
        for finding in nbfnet("data", "check", GUIDES / "messy.csv", "--json").document["findings"]
        if finding["severity"] == "important"
    ]
    for command in (["data", "info"], ["data", "split", "-o", tmp_path / "out"]):
        answer = nbfnet(*command[:2], GUIDES / "messy.csv", *command[2:])
        assert all(finding["what"] in answer.err for finding in important)
        assert "byte order mark" not in answer.err


def test_reading_options_are_those_of_the_other_commands(nbfnet, tmp_path):
    path = tmp_path / "g.csv"
    path.write_bytes("Zoë;1;kennt;Jörg\nJörg;2;kennt;Zoë\n".encode("latin-1"))
    stated = ("--encoding", "latin-1", "--columns", "head,_,relation,tail")
    assert nbfnet("data", "check", path).code == 2
    assert nbfnet("data", "check", path, *stated, "--json").document["entities"] == 2
    (tmp_path / "edges.txt").write_text("a b\nb c\nc a\n")
    assert nbfnet("data", "info", tmp_path / "edges.txt", "--directed", "--json").document["kind"] == "knowledge"


def test_a_file_in_another_encoding_is_told_so(nbfnet, tmp_path):
    """Every line of it is bad: that is said, not that nothing is left."""
    (tmp_path / "latin.csv").write_bytes("Zoë;mag;Müller\nJürgen;mag;Zoë\n".encode("latin-1") * 5)
    answer = nbfnet("data", "check", tmp_path / "latin.csv")
    assert answer.code == 2 and "not UTF-8" in answer.out and "--encoding" in answer.out
    assert nbfnet("data", "check", tmp_path / "latin.csv", "--encoding", "latin-1").code == 0
