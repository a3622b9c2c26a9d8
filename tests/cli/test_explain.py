"""nbfnet explain: the paths behind a prediction."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

HUB, PART = "北京 市", "has part"


@pytest.fixture
def run(sigmoid_run):
    return sigmoid_run.folder.path


class Page(HTMLParser):
    """Counts what is open: a page that was cut off does not close its elements."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_document(nbfnet, run, sigmoid_run):
    facts = {
        (sigmoid_run.graph.entities[u], sigmoid_run.graph.relations[q], sigmoid_run.graph.entities[v])
        for u, q, v in zip(*(c.tolist() for c in columns(sigmoid_run.graph.triplets)), strict=True)
    }
    target = "Zoë, née X"
    document = nbfnet("explain", run, HUB, "next to", target, "-k", 4, "--json").document
    assert set(document) == {"query", "asked", "probability", "joint_drop", "paths"}
    assert document["asked"] == "tail"
    assert document["query"] == {"head": HUB, "relation": "next to", "tail": target, "inverse": False}
    assert 1 <= len(document["paths"]) <= 4
    assert document["joint_drop"] == pytest.approx(sum(path["added_drop"] for path in document["paths"]))
    assert document["paths"][0]["added_drop"] == document["paths"][0]["deletion_drop"]
    for path in document["paths"]:
        assert set(path) == {"weight", "deletion_drop", "added_drop", "edges"}
        assert 1 <= len(path["edges"]) <= 2
        at = HUB
        for edge in path["edges"]:
            assert set(edge) == {"head", "relation", "tail", "inverse"}
            assert (edge["head"], edge["relation"], edge["tail"]) in facts
            start, end = (edge["tail"], edge["head"]) if edge["inverse"] else (edge["head"], edge["tail"])
            assert start == at
            at = end
        assert at == target


def columns(triplets):
    return triplets.head, triplets.relation, triplets.tail


def test_the_probability_is_that_of_predict(nbfnet, run, sigmoid_run):
    answers = nbfnet(
        "predict", run, "--head", HUB, "--relation", "next to", "--exclude-known", "-k", 99, "--json"
    ).document
    for answer in answers["answers"][::5]:
        explained = nbfnet("explain", run, HUB, "next to", answer["tail"], "-k", 1, "--json").document
        assert explained["probability"] == answer["probability"]


def test_a_predicted_head_has_the_probability_of_predict(nbfnet, run):
    """Asking for the head is another question than asking for the tail, with a probability of its own."""
    predicted = nbfnet("predict", run, "--relation", PART, "--tail", "a,b", "--exclude-known", "-k", 99, "--json")
    different = 0
    for answer in predicted.document["answers"][::5]:
        link = (answer["head"], PART, "a,b")
        document = nbfnet("explain", run, *link, "--asked", "head", "-k", 1, "--json").document
        assert document["probability"] == pytest.approx(answer["probability"], rel=1e-6)
        assert document["asked"] == "head"
        assert document["query"] == {"head": answer["head"], "relation": PART, "tail": "a,b", "inverse": True}
        for path in document["paths"]:
            edge = path["edges"][0]
            assert (edge["tail"] if edge["inverse"] else edge["head"]) == "a,b"  # paths begin where the question does
        other = nbfnet("explain", run, *link, "--asked", "tail", "-k", 1, "--json").document
        different += other["probability"] != document["probability"]
    assert different


def test_the_question_is_shown(nbfnet, run, tmp_path):
    link, shown = (HUB, "next to", "Zoë, née X"), f"asked: ? -next to-> {'Zoë, née X'}"
    file = tmp_path / "head.svg"
    out = nbfnet("explain", run, *link, "--asked", "head", "--picture", file).out.splitlines()
    assert out[0].startswith(f"{HUB} -next to-> Zoë, née X   probability ")
    assert out[1] == f"  {shown}"
    assert shown.replace(">", "&gt;") in file.read_text(encoding="utf-8")
    out = nbfnet("explain", run, *link).out.splitlines()
    assert out[1] == f"  asked: {HUB} -next to-> ?"
    assert re.fullmatch(r"  [+-]\d+\.\d{3} if (all \d|both) paths are deleted together", out[-1])
    nbfnet("explain", run, *link, "--asked", "both").assert_refused("--asked", "'tail'", "'head'")


def test_pictures_by_their_ending(nbfnet, run, tmp_path):
    files = [tmp_path / f"paths.{ending}" for ending in ("svg", "html", "png", "PDF")]
    options = [part for file in files for part in ("--picture", file)]
    assert nbfnet("explain", run, HUB, "next to", "Zoë, née X", *options).code == 0
    begins = [file.read_bytes()[:15] for file in files]
    assert begins[0].startswith(b"<svg ") and begins[1].startswith(b"<!doctype html>")
    assert begins[2].startswith(b"\x89PNG\r\n") and begins[3].startswith(b"%PDF-")
    odd = tmp_path / "odd.name"
    assert nbfnet("explain", run, HUB, "next to", "Zoë, née X", "--svg", odd).code == 0
    assert odd.read_bytes() == files[0].read_bytes()


@pytest.mark.parametrize("name", ["paths.gif", "paths", "paths.json", ".svg"])
def test_an_ending_without_a_format_is_refused_before_any_work(nbfnet, tmp_path, name):
    nbfnet("explain", tmp_path / "no run", "a", "b", "c", "--picture", tmp_path / name).assert_refused(
        name, ".svg, .html, .png or .pdf"
    )


def test_png_without_the_extra(nbfnet, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    for ending in ("png", "pdf"):
        nbfnet("explain", tmp_path / "no run", "a", "b", "c", "--picture", tmp_path / f"a.{ending}").assert_refused(
            f".{ending}", "'typst'", "[pictures]"
        )


def test_a_fact_is_taken_away_before_it_is_explained(nbfnet, run, things, tmp_path):
    fact = (HUB, "next to", "bell\x07ring")
    lines = (things / "train.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert lines.count("\t".join(fact)) == 1
    without = tmp_path / "without.tsv"
    kept = [line for line in lines if line != "\t".join(fact)]
    twice = tmp_path / "twice.tsv"
    without.write_text("\n".join(kept) + "\n", encoding="utf-8")
    twice.write_text("\n".join([*lines, "\t".join(fact)]) + "\n", encoding="utf-8")
    documents = [nbfnet("explain", run, *fact, "--facts", file, "--json").document for file in (without, twice)]
    assert documents[1]["probability"] == pytest.approx(documents[0]["probability"], abs=1e-6)
    for document in documents:
        for path in document["paths"]:
            assert {"head": fact[0], "relation": fact[1], "tail": fact[2], "inverse": False} not in path["edges"]
            assert {"head": fact[0], "relation": fact[1], "tail": fact[2], "inverse": True} not in path["edges"]
    predicted = nbfnet("predict", run, "--facts", without, "--head", fact[0], "--relation", fact[1], "-k", 99, "--json")
    shown = {answer["tail"]: answer["probability"] for answer in predicted.document["answers"]}
    assert documents[0]["probability"] == shown[fact[2]]


def test_text_and_drawings(nbfnet, run, tmp_path):
    svg, page = tmp_path / "new" / "paths.svg", tmp_path / "paths.html"
    page.write_text("before")
    answer = nbfnet("explain", run, HUB, "next to", "Zoë, née X", "--svg", svg, "--html", page)
    assert answer.code == 0
    assert answer.out.startswith(f"{HUB} -next to-> Zoë, née X   probability ")
    assert "if deleted" in answer.out
    assert "\x07" not in answer.out
    picture = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    assert picture.tag.endswith("svg")
    parser = Page()
    parser.feed(page.read_text(encoding="utf-8"))
    assert parser.open == []
    assert {"html", "body", "svg"} <= parser.seen
    assert HUB in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["new", "paths.html", "paths.svg"]


def test_new_facts(nbfnet, run, tmp_path):
    new = tmp_path / "new.tsv"
    new.write_text(f"newcomer\tnext to\t{HUB}\n{HUB}\t{PART}\tmore news\n", encoding="utf-8")
    nbfnet("explain", run, "newcomer", PART, "more news").assert_refused("'newcomer'")
    for option in ("--facts", "--more-facts"):
        document = nbfnet("explain", run, "newcomer", PART, "more news", option, new, "--json").document
        assert [edge["tail"] for edge in document["paths"][0]["edges"]] == [HUB, "more news"]
    new.write_text("a\tunheard of\tb\n")
    nbfnet("explain", run, "a", PART, "b", "--facts", new).assert_refused("new.tsv", "'unheard of'")


def test_where_no_path_leads(nbfnet, run):
    answer = nbfnet("explain", run, "alone 1", PART, "alone 2", "--train-only")
    assert answer.code == 0
    assert "no path leads there" in answer.out
    assert nbfnet("explain", run, "alone 1", PART, "alone 2", "--train-only", "--json").document["paths"] == []
    assert nbfnet("explain", run, "leaf 3", PART, "leaf 3", "--json").code == 0


def test_a_homogeneous_graph(nbfnet, friends_run):
    edge, path = friends_run.graph.relations[0], friends_run.folder.path
    document = nbfnet("explain", path, "a0", edge, "a2", "--json").document
    shown = nbfnet("predict", path, "--head", "a0", "-k", 99, "--json").document["answers"]
    known = {a["tail"]: a for a in shown}
    if not known["a2"]["known"]:
        assert document["probability"] == known["a2"]["probability"]
    assert all(not edge["inverse"] for path in document["paths"] for edge in path["edges"])
    nbfnet("explain", path, "a0", "likes", "a2").assert_refused("'likes'")


def test_a_homogeneous_graph_needs_no_relation(nbfnet, friends_run):
    edge, path = friends_run.graph.relations[0], friends_run.folder.path
    named = nbfnet("explain", path, "a0", edge, "a2", "--json").document
    assert nbfnet("explain", path, "a0", "a2", "--json").document == named
    asked = nbfnet("explain", path, "a0", "a2", "--asked", "head", "--json").document
    assert asked == {**named, "asked": "head"}


def test_a_knowledge_graph_needs_a_relation(nbfnet, run, sigmoid_run):
    names = [repr(name) for name in sigmoid_run.graph.relations]
    nbfnet("explain", run, HUB, "Zoë, née X").assert_refused("no relation was named", *names[:20])


def test_the_order_by_weight(nbfnet, run):
    paths = nbfnet("explain", run, HUB, "next to", "Zoë, née X", "-k", 4, "--order", "weight", "--json").document[
        "paths"
    ]
    weights = [path["weight"] for path in paths]
    assert weights == sorted(weights, reverse=True)
    others = nbfnet("explain", run, HUB, "next to", "Zoë, née X", "-k", 4, "--json").document["paths"]
    assert weights[0] >= max(path["weight"] for path in others) - 1e-6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([HUB, "next too", "a,b"], "did you mean 'next to'"),
        (["laef 20", PART, "a,b"], "did you mean 'leaf 20'"),
        ([HUB, PART, "Twin"], "'leaf 3', 'leaf 4'"),
        ([HUB, PART, "a,b", "-k", "0"], "-k"),
        ([HUB, PART, "a,b", "--beam", "0"], "--beam"),
        ([HUB, PART, "a,b", "--order", "length"], "--order"),
        ([HUB, PART], "no relation was named"),
        ([HUB], "RELATION"),
    ],
)
def test_mistakes(nbfnet, run, tmp_path, arguments, says):
    nbfnet("explain", run, *arguments, "--svg", tmp_path / "a.svg").assert_refused(says)
    assert list(tmp_path.iterdir()) == []
