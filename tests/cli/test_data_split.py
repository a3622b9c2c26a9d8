"""nbfnet data split: what is written is what was read, split without leaks, whole or not at all."""

from __future__ import annotations

from collections import Counter

import pytest

PARTS = ("train", "valid", "test")


def lines(folder, parts=PARTS):
    return [line for part in parts for line in (folder / f"{part}.txt").read_text(encoding="utf-8").splitlines()]


def test_the_folder_holds_the_graph(nbfnet, triplets, tmp_path):
    report = nbfnet("data", "split", triplets, "-o", tmp_path / "out", "--json").document
    assert report["folder"] == str(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["test.txt", "train.txt", "valid.txt"]
    assert Counter(lines(tmp_path / "out")) == Counter(triplets.read_text().splitlines())
    for part in PARTS:
        assert len(lines(tmp_path / "out", [part])) == report[part]
    document = nbfnet("data", "info", tmp_path / "out", "--json").document
    assert {part: document[part] for part in PARTS} == {part: report[part] for part in PARTS}
    assert (document["name"], document["split"]) == ("out", "as given")
    leakage = document["leakage"]
    assert (leakage["test_in_train"], leakage["test_reversed_in_train"], leakage["test_pair_in_train"]) == (0, 0, 0)


def test_info_of_a_graph_is_info_of_its_split(nbfnet, triplets, tmp_path):
    before = nbfnet("data", "info", triplets, "--json").document
    nbfnet("data", "split", triplets, "-o", tmp_path / "out")
    after = nbfnet("data", "info", tmp_path / "out", "--json").document
    different = {key for key in before if before[key] != after[key]}
    assert different == {"name", "split"}


def test_the_text_says_what_was_written(nbfnet, triplets, tmp_path):
    answer = nbfnet("data", "split", triplets, "-o", tmp_path / "out", "--seed", "3")
    assert answer.code == 0
    assert answer.out.startswith(f"{tmp_path / 'out'}: 540 train, 30 valid, 30 test (90:5:5")
    assert "seed 3" in answer.out
    assert "facts are listed again" in answer.err


def test_homogeneous_graphs_lose_duplicates_and_self_loops(nbfnet, edges, tmp_path):
    report = nbfnet("data", "split", edges, "-o", tmp_path / "out", "--json").document
    given = [frozenset(line.split()) for line in edges.read_text().splitlines()]
    written = [frozenset(line.split("\t")) for line in lines(tmp_path / "out")]
    assert Counter(written) == Counter({pair for pair in given if len(pair) == 2})
    document = nbfnet("data", "info", tmp_path / "out", "--json").document
    assert (document["kind"], document["edges"]) == ("homogeneous", len(written))
    assert {part: document[part] for part in PARTS} == {part: report[part] for part in PARTS}
    assert document["leakage"]["test_in_train"] == 0
    honest = nbfnet("data", "info", edges, "--json").document["honest_split"]
    assert {part: honest[part] for part in PARTS} == {part: report[part] for part in PARTS}


def test_the_papers_split_keeps_every_line(nbfnet, edges, tmp_path):
    report = nbfnet("data", "split", edges, "--paper-split", "-o", tmp_path / "out", "--json").document
    assert (report["train"], report["valid"], report["test"]) == (425, 25, 50)
    assert "as in the paper" in report["split"]
    written = Counter(line.replace("\t", " ") for line in lines(tmp_path / "out"))
    assert written == Counter(edges.read_text().splitlines())
    info = nbfnet("data", "info", edges, "--json").document
    assert {part: info[part] for part in PARTS} == {part: report[part] for part in PARTS}


def test_the_papers_split_of_a_known_graph(nbfnet, data_folder, tmp_path):
    report = nbfnet("data", "split", "citeseer", "--paper-split", "-o", tmp_path / "out", "--json").document
    document = nbfnet("data", "info", tmp_path / "out", "--json").document
    assert [report[part] for part in PARTS] == [4_022, 236, 474]
    assert [document[key] for key in ("entities", "edges", *PARTS)] == [3_327, 4_732, 4_022, 236, 474]


@pytest.mark.parametrize("source", ["triplets", "edges"])
def test_the_same_seed_gives_the_same_files(nbfnet, tmp_path, listing, source, request):
    graph = request.getfixturevalue(source)
    seeds = {"first": 5, "again": 5, "other": 6}
    for name, seed in seeds.items():
        assert nbfnet("data", "split", graph, "-o", tmp_path / name, "--seed", seed).code == 0
    written = {name: listing(tmp_path / name) for name in seeds}
    assert written["first"] == written["again"]
    assert written["first"] != written["other"]


def test_weights_names_types_and_lonely_nodes_come_along(nbfnet, tmp_path):
    graph, names, types = (tmp_path / name for name in ("graph.tsv", "names.txt", "types.txt"))
    graph.write_text("".join(f"é{i}\tr\tb{i % 7}\t{i / 8}\n" for i in range(100)))
    names.write_text("é1\tÉclair\nb2\tname with  spaces\n")
    types.write_text("é1\tcake\n")
    stated = ("--names", names, "--types", types)
    assert nbfnet("data", "split", graph, *stated, "-o", tmp_path / "out").code == 0
    assert Counter(tuple(line.split("\t")) for line in lines(tmp_path / "out")) == Counter(
        (f"é{i}", "r", f"b{i % 7}", repr(i / 8)) for i in range(100)
    )
    assert (tmp_path / "out" / "entity_names.txt").read_text(encoding="utf-8") == names.read_text()
    assert (tmp_path / "out" / "entity_types.txt").read_text(encoding="utf-8") == "é1\tcake\n"
    document = nbfnet("data", "info", tmp_path / "out", "--json").document
    assert (document["entities"], document["types"]) == (107, ["cake"])


def test_weighted_edges_stay_edges(nbfnet, tmp_path):
    graph = tmp_path / "graph.csv"
    graph.write_text("source,target,weight\n" + "".join(f"a{i},b{i},{i}.5\n" for i in range(60)))
    assert nbfnet("data", "split", graph, "-o", tmp_path / "out").code == 0
    document = nbfnet("data", "info", tmp_path / "out", "--json").document
    assert (document["kind"], document["edges"], document["entities"]) == ("homogeneous", 60, 120)


def test_labels_of_relations_come_along(nbfnet, tmp_path):
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "train.txt").write_text("".join(f"a{i}\tr\ta{i + 1}\n" for i in range(50)))
    (tmp_path / "graph" / "relation_names.txt").write_text("r\tis followed by\n")
    assert nbfnet("data", "split", tmp_path / "graph", "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "relation_names.txt").read_text() == "r\tis followed by\n"


def test_an_inductive_pair_is_written_as_a_pair(nbfnet, inductive, tmp_path, listing):
    pair = (inductive, "--test-graph", f"{inductive}_ind")
    answer = nbfnet("data", "split", *pair, "-o", tmp_path / "out")
    assert answer.code == 0
    assert "pair comes with its own split, which is kept" in answer.err
    assert listing(tmp_path / "out") == listing(inductive)
    assert listing(tmp_path / "out_ind") == listing(tmp_path / "pair_ind")


@pytest.mark.parametrize("taken", ["out", "out_ind"])
def test_an_inductive_pair_is_written_whole_or_not_at_all(nbfnet, inductive, tmp_path, listing, taken):
    (tmp_path / taken).mkdir()
    (tmp_path / taken / "precious.txt").write_text("mine")
    before = listing(tmp_path)
    pair = (inductive, "--test-graph", f"{inductive}_ind")
    nbfnet("data", "split", *pair, "-o", tmp_path / "out").assert_refused(taken, "exists already")
    assert listing(tmp_path) == before


def test_what_is_split_already_is_written_as_it_is(nbfnet, tmp_path):
    answer = nbfnet("data", "split", "world", "-o", tmp_path / "out", "--seed", "9", "--json")
    report = answer.document
    assert (report["split"], report["train"], report["valid"], report["test"]) == ("as given", 17_224, 957, 957)
    assert "world comes with its own split, which is kept" in answer.err
    before = nbfnet("data", "info", "world", "--json").document
    after = nbfnet("data", "info", tmp_path / "out", "--json").document
    assert set(after.pop("types")) == set(before.pop("types"))
    assert {key for key in before if before[key] != after[key]} == {"name"}


def test_an_empty_folder_is_filled_and_missing_ones_are_made(nbfnet, triplets, tmp_path):
    (tmp_path / "empty").mkdir()
    for output in ("empty", "one/two/three"):
        assert nbfnet("data", "split", triplets, "-o", tmp_path / output).code == 0
        assert len(lines(tmp_path / output)) == 600


def test_a_refused_output_is_refused_before_anything_is_read(nbfnet, tmp_path):
    (tmp_path / "out").write_text("a file")
    # The source does not exist either: what is told is what was looked at first.
    nbfnet("data", "split", tmp_path / "nope.tsv", "-o", tmp_path / "out").assert_refused("out", "exists already")


def test_a_name_that_text_cannot_hold_is_refused(nbfnet, tmp_path, listing):
    graph = tmp_path / "graph.csv"
    graph.write_text("".join(f'"a\n{i}",r,b{i % 5}\n' for i in range(40)))
    before = listing(tmp_path)
    nbfnet("data", "split", graph, "-o", tmp_path / "out").assert_refused("line break", "nbfnet data convert")
    assert listing(tmp_path) == before
    assert nbfnet("data", "convert", graph, "-o", tmp_path / "store").code == 0
    assert nbfnet("data", "info", tmp_path / "store", "--json").document["entities"] == 45
