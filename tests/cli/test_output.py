"""Names on a terminal: nothing in them moves, hides or reorders what is shown."""

from __future__ import annotations

import json

import pytest

from nbfnet.cli import output

MARKS = (
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\u200b\u2060\ufeff\x1b\x07\x85"
)


@pytest.mark.parametrize("show", ["print_text", "print_title", "report_error", "report_note", "print_table"])
def test_marks_are_shown_as_what_they_are(capsys, show):
    text = f"a{MARKS}b"
    output.print_table([(text, 1)]) if show == "print_table" else getattr(output, show)(text)
    shown = capsys.readouterr()
    both = shown.out + shown.err
    assert not set(MARKS) & set(both)
    assert r"\u202e" in both and r"\u2066" in both and r"\x1b" in both


def test_a_line_stays_one_line(capsys):
    output.print_text("a\nb")
    output.print_title("a\nb")
    output.print_table([("a\nb", "c")])
    assert capsys.readouterr().out.splitlines() == [r"a\nb", r"a\nb", r"a\nb  c"]
    output.report_error("what is wrong\n  what to do: this")
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_scripts_and_joiners_stay_as_they_are(capsys):
    names = ["שלום", "سلام", "می\u200cخواهم", "👩\u200d🔬", "北京"]
    for name in names:
        output.print_text(name)
    assert capsys.readouterr().out.splitlines() == names


def test_json_says_the_same(capsys):
    output.print_json({"name": MARKS})
    shown = capsys.readouterr().out
    assert not set(MARKS) & set(shown)
    assert json.loads(shown) == {"name": MARKS}
