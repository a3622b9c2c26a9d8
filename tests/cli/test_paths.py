"""``nbfnet paths``: closest nodes by name, best paths, and which relations are followed."""

import re

import networkx
import pytest

LINES = ["a\tr\tb", "b\tr\tc", "c\ts\td", "a\ts\td", "x\tr\ty"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "letters.tsv"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return str(path)


def test_the_document(file, nbfnet):
    assert nbfnet("paths", file, "--method", "distance", "--from", "a", "--json").document == {
        "method": "distance",
        "from": "a",
        "scores": [{"node": "b", "score": 1.0}, {"node": "d", "score": 1.0}, {"node": "c", "score": 2.0}],
        "path": None,
    }


def test_the_path_is_a_walk_of_facts(file, nbfnet):
    document = nbfnet("paths", file, "--method", "distance", "--from", "c", "--to", "a", "--json").document
    assert [score["node"] for score in document["scores"]] == ["a"]
    at = "c"
    for step in document["path"]:
        assert f"{step['head']}\t{step['relation']}\t{step['tail']}" in LINES
        before, after = (step["tail"], step["head"]) if step["inverse"] else (step["head"], step["tail"])
        assert before == at
        at = after
    assert at == "a"
    assert len(document["path"]) == document["scores"][0]["score"] == 2


def test_pagerank_equals_networkx(file, nbfnet):
    document = nbfnet("paths", file, "--method", "ppr", "--alpha", "0.7", "--from", "a", "-k", "9", "--json").document
    graph = networkx.MultiGraph([(line.split("\t")[0], line.split("\t")[2]) for line in LINES])
    wanted = networkx.pagerank(graph, alpha=0.7, personalization={"a": 1}, tol=1e-12, max_iter=1000)
    got = {score["node"]: score["score"] for score in document["scores"]}
    assert got == pytest.approx({node: wanted[node] for node in ("b", "c", "d")}, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "reached"),
    [
        (["--directed"], {"b", "c", "d"}),
        (["--only", "s"], {"d", "c"}),
        (["--only", "s", "--directed"], {"d"}),
        (["--inverse", "r", "--directed"], {"d"}),
        (["--inverse", "s"], {"b", "c"}),
    ],
)
def test_relations_that_are_followed(file, nbfnet, options, reached):
    document = nbfnet("paths", file, "--method", "distance", "--from", "a", "--json", *options).document
    assert {score["node"] for score in document["scores"]} == reached


def test_a_relation_weighs_what_is_said(file, nbfnet):
    document = nbfnet(
        "paths", file, "--method", "distance", "--from", "a", "--to", "d", "--weight", "s=5", "--json"
    ).document
    assert document["scores"] == [{"node": "d", "score": 5.0}]


def test_several_sources(file, nbfnet):
    documents = nbfnet("paths", file, "--method", "katz", "--from", "a", "--from", "x", "--json").document
    assert [one["from"] for one in documents] == ["a", "x"]


def test_for_people(file, nbfnet):
    out = nbfnet("paths", file, "--method", "distance", "--from", "d", "--to", "b").out
    assert "graph distance from d" in out
    assert "d <-s- a" in out or "d <-s- c" in out
    assert "no path" in nbfnet("paths", file, "--method", "widest", "--from", "a", "--to", "x").out
    assert "the node itself" in nbfnet("paths", file, "--method", "distance", "--from", "a", "--to", "a").out
    unlimited = nbfnet("paths", file, "--method", "widest", "--from", "a", "--weight", "s=inf")
    assert re.search(r"unlimited +d", unlimited.out), (unlimited.out, unlimited.err)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--method", "distance", "--from", "aa"], ["unknown entity 'aa'", "'a'"]),
        (["--method", "distanse", "--from", "a"], ["unknown method", "'distance'"]),
        (["--method", "katz", "--beta", "9", "--from", "a"], ["does not converge", "less than"]),
        (["--method", "ppr", "--alpha", "1.5", "--from", "a"], ["alpha"]),
        (["--method", "ppr", "--beta", "0.1", "--from", "a"], ["--beta", "katz"]),
        (["--method", "distance", "--from", "a", "--only", "q"], ["unknown relation"]),
        (["--method", "distance", "--from", "a", "--weight", "s"], ["RELATION=NUMBER"]),
        (["--method", "distance", "--from", "a", "--weight", "s=-1"], ["cycle"]),
        (["--method", "reliable", "--from", "a", "--weight", "s=2"], ["from 0 to 1"]),
        (["--from", "a"], ["--method"]),
    ],
)
def test_mistakes(file, nbfnet, arguments, parts):
    nbfnet("paths", file, *arguments).assert_refused(*parts)
