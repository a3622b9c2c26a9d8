"""nbfnet demo: one real run of it, read as a user reads it."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser

import pytest

import nbfnet as package

OUTPUT = "my demo"  # a space: what is printed can be pasted all the same


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def shown():
    """What the one demo printed."""
    return {}


def test_all_parts_are_there(nbfnet, here, shown, listing):
    answer = nbfnet("demo", "-o", OUTPUT)
    assert answer.code == 0, answer.err
    shown["text"], shown["files"] = answer.out, listing(here)
    lines = answer.out.splitlines()
    world = package.load("world")
    assert lines[0] == "The graph"
    assert f"{world.train.num_nodes:,} cities" in lines[1]
    facts = [line.strip() for line in lines[3:7]]
    graph = world.train.triplets
    named = {
        f"{world.train.entities[u]} -{world.train.relations[q]}-> {world.train.entities[v]}"
        for u, q, v in zip(graph.head.tolist(), graph.relation.tolist(), graph.tail.tolist(), strict=True)
    }
    assert set(facts) <= named
    begin = next(i for i, line in enumerate(lines) if line.startswith("The test"))
    table = {re.split(r"\s{2,}", line.strip())[0]: line.split()[-4:] for line in lines[begin + 2 : begin + 8]}
    assert list(table) == ["trained network", "without training", "katz", "ppr", "distance", "relation frequency"]
    mrr = [float(values[0]) for values in table.values()]
    assert mrr[0] > mrr[1] > max(mrr[2:])
    asked = [line for line in lines if line.endswith("-> ?")]
    assert lines.index("Without training, by the network for any graph") + 1 == lines.index(asked[0]) < begin
    assert [re.search("-(.*)->", line)[1] for line in asked] == [
        "in country",
        "in country",
        "time zone",
        "capital",
        "near",
        "borders",
    ]
    assert sum(line.endswith(", because") for line in lines) == 6
    assert sum(bool(re.match(r"  +\d+%  ", line)) for line in lines) == 18
    assert [path.name for path in here.iterdir()] == [OUTPUT]
    assert sorted(path.name for path in (here / OUTPUT).iterdir()) == ["explanation.html", "run"]


def test_the_drawing_is_a_whole_page(here, shown):
    text = (here / OUTPUT / "explanation.html").read_text(encoding="utf-8")
    assert f"{OUTPUT}/explanation.html" in shown["text"]
    assert text.lower().startswith("<!doctype html>")
    seen, opened = set(), []

    class Page(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.add(tag)
            if tag not in ("meta", "link", "br", "hr", "img", "input"):
                opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Page().feed(text)
    assert opened == []
    assert {"html", "head", "body", "svg"} <= seen


def test_a_second_call_goes_on_from_the_first(nbfnet, here, shown, listing, monkeypatch):
    served = []
    monkeypatch.setattr("nbfnet.cli.demo.serve", lambda run, open_: served.append((str(run), open_)))
    document = nbfnet("demo", "-o", OUTPUT, "--json", "--open").document
    assert served == [(f"{OUTPUT}/run", True)]
    assert set(document) == {"run", "metrics", "without_training", "predictions", "drawing"}
    assert document["without_training"]["query"] == document["predictions"][0]["query"]
    assert document["run"] == f"{OUTPUT}/run"
    assert listing(here) == shown["files"]  # nothing was learned again
    assert [p["query"]["relation"] for p in document["predictions"]] == [
        "in country",
        "time zone",
        "capital",
        "near",
        "borders",
    ]
    test = package.load("world").test
    for prediction in document["predictions"]:
        assert set(prediction) == {"query", "asked", "answers", "more_known", "held_out", "explanation"}
        assert len(prediction["answers"]) == 3
        explained = prediction["explanation"]
        assert explained["query"]["tail"] == prediction["answers"][0]["tail"]
        assert explained["probability"] == prediction["answers"][0]["probability"]
        assert explained["paths"]
    assert len(test) > 0
    network, *others = document["metrics"].values()
    assert all(network["mrr"] > other["mrr"] for other in others)
    for values in document["metrics"].values():
        assert f"{values['mrr']:.3f}" in shown["text"]


def test_the_commands_it_names_work(nbfnet, here, shown):
    lines = shown["text"].splitlines()
    commands = [shlex.split(line) for line in lines[lines.index("Try next") + 1 :]]
    assert [command[:2] for command in commands] == [["nbfnet", "predict"], ["nbfnet", "explain"], ["nbfnet", "train"]]
    (here / "your-own-file.tsv").write_text("".join(f"a{i}\tr\tb{i % 9}\n" for i in range(60)))
    for command in commands:
        answer = nbfnet(*command[1:])
        assert answer.code == 0, answer.err
        assert answer.out
    assert (here / "my-run" / "manifest.json").is_file()
