"""nbfnet rules: the relation patterns that a network relies on."""

from __future__ import annotations

import pytest

import nbfnet as package


@pytest.fixture(scope="module")
def chains(tmp_path_factory, small_config):
    """Eight chains a -first-> b -second-> c, each closed by a -both-> c: one rule explains every 'both'."""
    folder = tmp_path_factory.mktemp("data") / "chains"
    folder.mkdir()
    rows = []
    for i in range(8):
        rows += [(f"a{i}", "first", f"b{i}"), (f"b{i}", "second", f"c{i}"), (f"a{i}", "both", f"c{i}")]
    rows += [("a8", "first", "b8"), ("b8", "second", "c8")]  # the pattern holds here, 'both' does not
    (folder / "train.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    (folder / "valid.txt").write_text("a8\tboth\tc8\n")
    run = folder.parent / "run"
    package.train(folder, run, config=small_config, epochs=0)
    return run


def test_support_and_confidence_by_hand(nbfnet, chains):
    document = nbfnet("rules", chains, "both", "--train-only", "--json").document
    assert document["relation"] == "both"
    (rule,) = document["rules"]  # no other path of two edges leads from a to c once the fact is hidden
    assert rule["query"] == "both"
    assert rule["body"] == [{"relation": "first", "inverse": False}, {"relation": "second", "inverse": False}]
    assert (rule["support"], rule["explained"]) == (8, 8)
    assert (rule["pairs"], rule["confidence"], rule["exact"]) == (9, pytest.approx(8 / 9), True)
    assert rule["lift"] == pytest.approx(8 / 9 / (8 / 64))  # eight facts among eight heads and eight tails
    assert rule["text"] == "both(x, y) <- first(x, z), second(z, y)   support 8/8, confidence 0.889, lift 7.1"


def test_so_many_facts_are_explained(nbfnet, chains):
    (rule,) = nbfnet("rules", chains, "both", "--predictions", 3, "--train-only", "--json").document["rules"]
    assert (rule["support"], rule["explained"]) == (3, 3)
    (rule,) = nbfnet("rules", chains, "first", "--train-only", "--json").document["rules"]
    assert (rule["support"], rule["explained"]) == (8, 9)  # the ninth has no other path
    assert [part["relation"] for part in rule["body"]] == ["both", "second"]
    assert [part["inverse"] for part in rule["body"]] == [False, True]
    assert (rule["pairs"], rule["confidence"]) == (8, 1.0)


def test_the_text(nbfnet, chains):
    lines = nbfnet("rules", chains, "both", "--train-only").out.splitlines()
    assert lines == [
        "Rules for both",
        "both(x, y) <- first(x, z), second(z, y)   support 8/8, confidence 0.889, lift 7.1",
    ]


def test_where_nothing_explains_a_relation(nbfnet, small_config, tmp_path):
    rows = [(f"a{i}", "alone", f"b{i}") for i in range(40)]
    package.train(package.read(rows), tmp_path / "run", config=small_config, epochs=0)
    lines = nbfnet("rules", tmp_path / "run", "alone").out.splitlines()
    assert lines == ["Rules for alone", "none: no path leads from the one end of its facts to the other"]
    assert nbfnet("rules", tmp_path / "run", "alone", "--json").document == {"relation": "alone", "rules": []}


def test_python_finds_the_same(nbfnet, things_run):
    document = nbfnet("rules", things_run.folder.path, "has part", "--json").document
    assert [rule["text"] for rule in document["rules"]] == [str(rule) for rule in things_run.rules("has part")]
    other = nbfnet("rules", things_run.folder.path, "has part", "--predictions", 4, "--seed", 5, "--json").document
    assert {rule["explained"] for rule in other["rules"]} == {4}


def test_on_other_facts(nbfnet, chains, tmp_path):
    """Two of the three chains of another graph are closed."""
    rows = [(f"u{i}", "first", f"v{i}") for i in range(3)] + [(f"v{i}", "second", f"w{i}") for i in range(3)]
    rows += [("u0", "both", "w0"), ("u1", "both", "w1")]
    file = tmp_path / "other.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows))
    (rule,) = nbfnet("rules", chains, "both", "--facts", file, "--json").document["rules"]
    assert (rule["support"], rule["explained"], rule["pairs"]) == (2, 2, 3)
    assert rule["confidence"] == pytest.approx(2 / 3)
    file.write_text("a\tunheard of\tb\n")
    nbfnet("rules", chains, "both", "--facts", file).assert_refused("other.tsv", "'unheard of'")


@pytest.fixture(scope="module")
def two_ways(tmp_path_factory, small_config):
    """Ten links 'both', six over 'first' and 'second', four over 'left' and 'right', which are always right."""
    folder = tmp_path_factory.mktemp("data")
    rows = []
    for i in range(10):
        one, two = ("first", "second") if i < 6 else ("left", "right")
        rows += [(f"a{i}", one, f"b{i}"), (f"b{i}", two, f"c{i}"), (f"a{i}", "both", f"c{i}")]
    rows += [row for i in range(10, 13) for row in ((f"a{i}", "first", f"b{i}"), (f"b{i}", "second", f"c{i}"))]
    (folder / "train.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    (folder / "valid.txt").write_text("a10\tboth\tc10\n")
    package.train(folder, folder / "run", config=small_config, epochs=0)
    return folder / "run"


def test_least_support_and_order(nbfnet, two_ways):
    found = {
        order: nbfnet("rules", two_ways, "both", "--train-only", "--sort", order, "--json").document["rules"]
        for order in ("support", "confidence", "lift")
    }
    figures = {order: [(rule["support"], rule["confidence"]) for rule in rules] for order, rules in found.items()}
    assert figures["support"] == [(6, pytest.approx(6 / 9)), (4, 1.0)]
    assert figures["confidence"] == figures["lift"] == figures["support"][::-1]
    assert [rule["lift"] for rule in found["lift"]] == pytest.approx([1 / 0.1, 6 / 9 / 0.1])
    assert found["support"] == nbfnet("rules", two_ways, "both", "--train-only", "--json").document["rules"]
    some = nbfnet("rules", two_ways, "both", "--train-only", "--min-support", 5, "--json").document["rules"]
    assert some == found["support"][:1]
    none = nbfnet("rules", two_ways, "both", "--train-only", "--min-support", 7)
    assert none.out.splitlines() == ["Rules for both", "none has a support of 7; lower --min-support"]
    nbfnet("rules", two_ways, "both", "--train-only", "--min-support", 0).assert_refused("--min-support")
    nbfnet("rules", two_ways, "both", "--train-only", "--sort", "length").assert_refused("--sort", "'lift'")


def test_an_edge_list_needs_no_relation(nbfnet, friends_run, things_run):
    edge, path = friends_run.graph.relations[0], friends_run.folder.path
    document = nbfnet("rules", path, "--json").document
    assert document["relation"] == edge
    assert document == nbfnet("rules", path, edge, "--json").document
    names = [repr(name) for name in things_run.graph.relations]
    nbfnet("rules", things_run.folder.path).assert_refused("no relation was named", *names[:20])


def test_mistakes(nbfnet, chains, tmp_path):
    nbfnet("rules", chains, "bothh").assert_refused("did you mean 'both'")
    nbfnet("rules", chains, "both", "--predictions", 0).assert_refused("--predictions")
    nbfnet("rules", tmp_path, "both").assert_refused("run folder")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """The rule that closes the chains, learned by DRUM."""
    folder = tmp_path_factory.mktemp("data") / "chains"
    folder.mkdir()
    rows = []
    for i in range(30):
        rows += [(f"a{i}", "first", f"b{i}"), (f"b{i}", "second", f"c{i}"), (f"a{i}", "both", f"c{i}")]
        rows += [(f"b{i}", "other", f"c{(i + 1) % 30}")]
    (folder / "train.txt").write_text("".join("\t".join(row) + "\n" for row in rows[:-4]))
    (folder / "valid.txt").write_text("a0\tboth\tc0\n")
    (folder / "test.txt").write_text("a1\tboth\tc1\n")
    config = {"model": {"kind": "drum", "lstm": 8, "layers": 2, "rank": 1}, "training": {"learning_rate": 0.05}}
    package.train(folder, folder.parent / "run", config=config, epochs=30, progress=False)
    return folder.parent / "run"


def test_learned_rules_in_every_format(nbfnet, learned):
    document = nbfnet("rules", learned, "both", "--json").document
    rule = document["rules"][0]
    assert rule["text"] == "first(X, Z) and second(Z, Y) => both(X, Y)"
    assert rule["body"] == [{"relation": "first", "inverse": False}, {"relation": "second", "inverse": False}]
    assert (rule["support"], rule["pairs"], rule["confidence"]) == (29, 29, 1.0)
    assert rule["weight"] > 0.9
    assert nbfnet("rules", learned, "both", "--format", "json").document == document
    title, first, *_ = nbfnet("rules", learned, "both", "--most", 1).out.splitlines()
    assert title == "Rules for both"
    assert first.endswith("first(X, Z) and second(Z, Y) => both(X, Y)   support 29, confidence 1.000")
    header, row, *_ = nbfnet("rules", learned, "both", "--format", "csv").out.splitlines()
    assert header == "rule,weight,support,pairs,confidence,exact"
    assert row.startswith('"first(X, Z) and second(Z, Y) => both(X, Y)",')
    comment, clause, *_ = nbfnet("rules", learned, "both", "--format", "datalog").out.splitlines()
    assert comment.startswith("% weight 0.9")
    assert clause == "both(X, Y) :- first(X, Z), second(Z, Y)."


def test_learned_rules_of_heads(nbfnet, learned):
    rule = nbfnet("rules", learned, "both", "--asked", "head", "--json").document["rules"][0]
    assert rule["text"] == "second(Z, X) and first(Y, Z) => both(Y, X)"


def test_learned_rules_answer_by_themselves(nbfnet, learned):
    document = nbfnet("rules", learned, "both", "--most", 1, "--answer", "a7", "--json").document
    assert document["answers"] == {"c7": pytest.approx(document["rules"][0]["weight"])}
    lines = nbfnet("rules", learned, "both", "--most", 1, "--answer", "a7").out.splitlines()
    assert lines[0] == "By 1 rules for both"
    assert lines[-1].split() == [f"{document['answers']['c7']:.4g}", "c7"]
    nothing = nbfnet("rules", learned, "both", "--most", 1, "--answer", "c7").out.splitlines()
    assert nothing[-1] == "none: no rule leads anywhere from there"


def test_mined_rules_in_other_formats(nbfnet, chains):
    clause = nbfnet("rules", chains, "both", "--train-only", "--format", "datalog").out.splitlines()[1]
    assert clause == "both(X, Y) :- first(X, Z), second(Z, Y)."
    header = nbfnet("rules", chains, "both", "--train-only", "--format", "csv").out.splitlines()[0]
    assert header == "rule,support,explained,confidence,lift,pairs,exact"


def test_options_of_the_other_kind_of_rules(nbfnet, chains, learned):
    nbfnet("rules", chains, "both", "--sort", "weight").assert_refused("no learned rules", "model.kind=drum")
    nbfnet("rules", chains, "both", "--answer", "a1").assert_refused("no learned rules")
    nbfnet("rules", learned, "both", "--sort", "lift").assert_refused("no lift")
    nbfnet("rules", learned, "both", "--answer", "a77").assert_refused("'a77'")
    nbfnet("rules", learned, "bothh").assert_refused("did you mean 'both'")


def test_other_commands_take_such_a_run(nbfnet, learned):
    metrics = nbfnet("evaluate", learned, "--json").document["metrics"]
    assert metrics["mrr"] == 1.0
    answers = nbfnet("predict", learned, "--head", "a1", "--relation", "both", "-k", 1, "--json").document
    assert answers["answers"][0]["tail"] == "c1"
    explained = nbfnet("explain", learned, "a1", "both", "c1", "--json").document
    assert [edge["relation"] for edge in explained["paths"][0]["edges"]] == ["first", "second"]
    assert nbfnet("info", learned).code == 0
