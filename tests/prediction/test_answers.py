"""Answers as they are printed, written and shown in notebooks."""

from __future__ import annotations

from xml.etree import ElementTree

from nbfnet.prediction.answers import Answer, Answers, AnswersOfMany

ANSWERS = Answers(
    "a<b>",
    "r & s",
    None,
    (Answer(1, "x", "<script>", 0.987, True, 4.3), Answer(2, "y\u2028", "y\u2028", 0.01, False, -4.5)),
)


def test_the_document_of_a_query():
    assert ANSWERS.to_dict() == {
        "query": {"head": "a<b>", "relation": "r & s"},
        "asked": "tail",
        "answers": [
            {"rank": 1, "tail": "x", "label": "<script>", "probability": 0.987, "score": 4.3, "known": True},
            {"rank": 2, "tail": "y\u2028", "probability": 0.01, "score": -4.5, "known": False},
        ],
        "more_known": 0,
    }
    heads = Answers(None, "r", "t", ANSWERS.answers)
    assert heads.to_dict()["query"] == {"relation": "r", "tail": "t"}
    assert heads.to_dict()["answers"][0]["head"] == "x"
    assert Answers("h", None, "t", ANSWERS.answers).to_dict()["answers"][1]["relation"] == "y\u2028"


def test_a_sequence():
    assert len(ANSWERS) == 2
    assert ANSWERS[0].name == "x"
    assert [a.rank for a in ANSWERS] == [1, 2]
    assert [a.rank for a in ANSWERS[1:]] == [2]


def test_text_and_table():
    assert str(ANSWERS).splitlines()[0] == "(a<b>, r & s, ?)"
    assert "98.7%" in str(ANSWERS)
    table = ElementTree.fromstring(ANSWERS._repr_html_())  # every name is escaped, every element closed
    assert table.find("caption").text == "(a<b>, r & s, ?)"
    assert [cell.text for cell in table.findall("tr")[1]] == [None, "<script>", "98.7%", "known"]


def test_as_a_table_for_pandas():
    table = AnswersOfMany([ANSWERS, Answers(None, "r", "t", ANSWERS.answers[1:])]).to_pandas()
    assert table["query"].tolist() == [1, 1, 2]
    assert table["asked"].tolist() == ["tail", "tail", "head"]
    assert table["answer"].tolist() == ["x", "y\u2028", "y\u2028"]
    assert ANSWERS.to_pandas()["score"].tolist() == [4.3, -4.5]
