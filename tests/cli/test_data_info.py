"""nbfnet data info: the numbers of the paper, and of any graph a user may have."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# entities, relations, train, valid, test (tab:kg_statistics)
KNOWLEDGE = {
    "fb15k-237": (14_541, 237, 272_115, 17_535, 20_466),
    "wn18rr": (40_943, 11, 86_835, 3_034, 3_134),
}
# relations; entities, train and valid queries; entities, queries and facts of the test graph (tab:inductive_statistics)
INDUCTIVE = {
    "fb15k-237-v1": (180, 1_594, 4_245, 489, 1_093, 205, 1_993),
    "fb15k-237-v2": (200, 2_608, 9_739, 1_166, 1_660, 478, 4_145),
    "fb15k-237-v3": (215, 3_668, 17_986, 2_194, 2_501, 865, 7_406),
    "fb15k-237-v4": (219, 4_707, 27_203, 3_352, 3_051, 1_424, 11_714),
    "wn18rr-v1": (9, 2_746, 5_410, 630, 922, 188, 1_618),
    "wn18rr-v2": (10, 6_954, 15_262, 1_838, 2_757, 441, 4_011),
    "wn18rr-v3": (11, 12_078, 25_901, 3_097, 5_084, 605, 6_327),
    "wn18rr-v4": (9, 3_861, 7_940, 934, 7_084, 1_429, 12_334),
}
# nodes, edges, train, valid, test (tab:homo_statistics), and the edges without duplicates and self loops
HOMOGENEOUS = {
    "cora": (2_708, 5_429, 4_614, 271, 544, 5_278),
    "citeseer": (3_327, 4_732, 4_022, 236, 474, 4_552),
    "pubmed": (19_717, 44_338, 37_687, 2_216, 4_435, 44_324),
}
COUNTS = ("entities", "relations", "train", "valid", "test")


def counts(document):
    return tuple(document[key] for key in COUNTS)


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_knowledge_graphs_of_the_paper(nbfnet, data_folder, name):
    document = nbfnet("data", "info", name, "--json").document
    assert (document["name"], document["kind"]) == (name, "knowledge")
    assert counts(document) == KNOWLEDGE[name]
    assert "test_graph" not in document
    assert document["leakage"]["test_in_train"] == 0


@pytest.mark.parametrize("name", INDUCTIVE)
def test_inductive_splits_of_the_paper(nbfnet, data_folder, name):
    relations, entities, train, valid, *test_graph = INDUCTIVE[name]
    document = nbfnet("data", "info", name, "--json").document
    assert (document["name"], document["kind"]) == (name, "inductive")
    assert counts(document) == (entities, relations, train, valid, test_graph[1])
    assert document["test_graph"] == dict(zip(("entities", "queries", "facts"), test_graph, strict=True))


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_homogeneous_graphs_of_the_paper(nbfnet, data_folder, name):
    nodes, edges, train, valid, test, honest_edges = HOMOGENEOUS[name]
    document = nbfnet("data", "info", name, "--json").document
    assert (document["name"], document["kind"]) == (name, "homogeneous")
    assert counts(document) == (nodes, 1, train, valid, test)
    assert document["edges"] == edges
    honest = document["honest_split"]
    assert honest["edges"] == honest_edges
    assert honest["train"] + honest["valid"] + honest["test"] == honest_edges
    assert (honest["train"], honest["valid"]) == (85 * honest_edges // 100, 5 * honest_edges // 100)


def test_names_of_datasets_may_be_in_upper_case(nbfnet):
    assert nbfnet("data", "info", "WORLD", "--json").document["name"] == "world"


def test_two_columns(nbfnet, edges):
    pairs = [tuple(line.split()) for line in edges.read_text().splitlines()]
    undirected = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
    document = nbfnet("data", "info", edges, "--json").document
    assert (document["name"], document["kind"], document["edges"]) == ("edges", "homogeneous", 500)
    assert counts(document) == (len({node for pair in pairs for node in pair}), 1, 425, 25, 50)
    assert document["honest_split"]["edges"] == len(undirected)


def test_three_columns(nbfnet, triplets):
    rows = [line.split("\t") for line in triplets.read_text().splitlines()]
    document = nbfnet("data", "info", triplets, "--json").document
    assert (document["name"], document["kind"], document["relations"]) == ("graph", "knowledge", 5)
    assert document["entities"] == len({row[i] for row in rows for i in (0, 2)})
    assert document["train"] + document["valid"] + document["test"] == 600
    assert "edges" not in document
    assert "honest_split" not in document
    assert document["leakage"]["test_pair_in_train"] == 0


def test_four_columns_are_triplets_with_a_weight(nbfnet, triplets, tmp_path):
    weighted = tmp_path / "weighted.csv"
    rows = [line.split("\t") for line in triplets.read_text().splitlines()]
    weighted.write_text("".join(f"{h},{r},{t},{i / 4}\n" for i, (h, r, t) in enumerate(rows)))
    plain, document = (nbfnet("data", "info", path, "--json").document for path in (triplets, weighted))
    assert counts(document) == counts(plain)


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".nt"])
def test_every_format_tells_the_same(nbfnet, triplets, tmp_path, suffix):
    rows = [line.split("\t") for line in triplets.read_text().splitlines()]
    path = tmp_path / f"other{suffix}"
    match suffix:
        case ".csv":
            path.write_text("subject,predicate,object\n" + "".join(",".join(row) + "\n" for row in rows))
        case ".tsv.gz":
            path.write_bytes(gzip.compress(triplets.read_bytes()))
        case ".parquet":
            columns = dict(zip(("head", "relation", "tail"), map(list, zip(*rows, strict=True)), strict=True))
            pq.write_table(pa.table(columns), path)
        case ".nt":
            path.write_text("".join("".join(f"<http://x/{cell}> " for cell in row) + ".\n" for row in rows))
    document = nbfnet("data", "info", path, "--json").document
    assert document["name"] == "other"
    assert counts(document) == counts(nbfnet("data", "info", triplets, "--json").document)


def test_stated_separator_header_and_columns(nbfnet, tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text("what|whom|who\n" + "".join(f"r{i % 2}|b{i % 9}|a{i}\n" for i in range(100)))
    stated = ("--delimiter", "|", "--columns", "relation,tail,head")
    document = nbfnet("data", "info", path, *stated, "--header", "--json").document
    assert (document["entities"], document["relations"]) == (109, 2)
    document = nbfnet("data", "info", path, *stated, "--no-header", "--json").document
    assert (document["entities"], document["relations"]) == (111, 3)


@pytest.mark.parametrize(("word", "character"), [("tab", "\t"), ("\\t", "\t"), ("space", " "), ("comma", ",")])
def test_separators_that_have_a_word(nbfnet, tmp_path, word, character):
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"a{i}{character}b{i}\n" for i in range(30)))
    assert nbfnet("data", "info", path, "--delimiter", word, "--json").document["entities"] == 60


@pytest.mark.parametrize(
    ("content", "kind", "entities", "edges"),
    [
        ("a\tr\tb\n", "knowledge", 2, 1),
        ("a\tr\ta\n", "knowledge", 1, 1),
        ("aspirin\ttreats\theadache\naspirin\tinhibits\tCOX-1\nibuprofen\tinhibits\tCOX-1\n", "knowledge", 4, 3),
        ("a b\n", "homogeneous", 2, 1),
        ("a a\n", "homogeneous", 1, 1),
        ("a b\nb a\n" * 30, "homogeneous", 2, 60),
    ],
)
def test_a_graph_too_small_to_split_is_described_all_the_same(nbfnet, tmp_path, content, kind, entities, edges):
    path = tmp_path / "tiny.txt"
    path.write_text(content)
    document = nbfnet("data", "info", path, "--json").document
    assert (document["kind"], document["entities"]) == (kind, entities)
    assert document["train"] + document["valid"] + document["test"] == edges
    if edges < 20:
        assert document["split"].startswith("none")
        assert (document["valid"], document["test"]) == (0, 0)
    shown = nbfnet("data", "info", path)
    assert shown.code == 0
    assert f"tiny ({kind})" in shown.out


def test_folders(nbfnet, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.tsv").write_text("a\tr\tb\nb\ts\tc\n")
    assert counts(nbfnet("data", "info", folder, "--json").document) == (3, 2, 2, 0, 0)
    (folder / "valid.csv").write_text("a,r,c\n")
    (folder / "test.txt.gz").write_bytes(gzip.compress(b"c\tr\tlonely\nb\ts\tc\n"))
    (folder / "entity_types.txt").write_text("a\tletter\nc\tletter\nb\tdigit\n")
    document = nbfnet("data", "info", folder, "--json").document
    assert (document["name"], document["split"]) == ("mine", "as given")
    assert counts(document) == (4, 2, 2, 1, 2)
    assert document["types"] == ["letter", "digit"]
    assert document["leakage"]["test_in_train"] == 1
    assert document["type_names"] == {"letter": 2, "digit": 1}
    assert document["relation_names"] == {"r": 3, "s": 2}
    shown = nbfnet("data", "info", folder).out
    assert "types of entities: letter (2), digit (1)\n" in shown
    assert "relations: r (3), s (2)\n" in shown


@pytest.mark.parametrize("written", [".", "./", "../mine", "../mine/", "../mine/."])
def test_a_folder_however_it_is_written(nbfnet, tmp_path, monkeypatch, written):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.txt").write_text("a\tr\tb\n")
    monkeypatch.chdir(folder)
    document = nbfnet("data", "info", written, "--json").document
    assert (document["name"], document["train"]) == ("mine", 1)


@pytest.mark.parametrize("written", ["{folder}", "."])
def test_pairs_of_inductive_folders(nbfnet, inductive, monkeypatch, written):
    monkeypatch.chdir(inductive)
    pair = (written.format(folder=inductive), "--test-graph", "../pair_ind")
    document = nbfnet("data", "info", *pair, "--json").document
    assert (document["name"], document["kind"]) == ("pair", "inductive")
    assert counts(document) == (20, 3, 79, 7, 5)
    assert document["test_graph"] == {"entities": 10, "facts": 39, "queries": 5}
    assert "test graph's facts" in nbfnet("data", "info", *pair).out


def test_a_folder_beside_a_folder_is_not_read_unasked(nbfnet, inductive):
    """X_ind beside X says nothing about X: it is named, and read only on request."""
    answer = nbfnet("data", "info", inductive, "--json")
    assert (answer.document["kind"], answer.document["test"]) == ("knowledge", 0)
    assert f"--test-graph {inductive}_ind" in answer.err
    assert "--test-graph" not in nbfnet("data", "info", inductive, "--test-graph", f"{inductive}_ind").err


def test_an_inductive_pair_without_valid(nbfnet, inductive):
    (inductive / "valid.txt").unlink()
    document = nbfnet("data", "info", inductive, "--test-graph", f"{inductive}_ind", "--json").document
    assert (document["kind"], document["valid"], document["test"]) == ("inductive", 0, 5)


def test_a_folder_of_edges(nbfnet, edges, tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    edges.rename(folder / "edges.txt")
    document = nbfnet("data", "info", folder, "--json").document
    assert (document["name"], document["kind"], document["edges"]) == ("net", "homogeneous", 500)


def test_leaks_are_named(nbfnet, tmp_path):
    folder = tmp_path / "leaky"
    folder.mkdir()
    friends = [(f"p{i}", f"p{i + 1}") for i in range(20)]
    lines = [f"{a}\tfriend of\t{b}\n{b}\tfriend of\t{a}\n{a}\tknows\t{b}\n{b}\tis known to\t{a}\n" for a, b in friends]
    (folder / "train.txt").write_text("".join(lines))
    (folder / "test.txt").write_text("p0\tfriend of\tp1\np1\tknows\tp0\np0\tknows\tp7\n")
    leakage = nbfnet("data", "info", folder, "--json").document["leakage"]
    assert [leakage[f"test_{key}"] for key in ("links", "in_train", "reversed_in_train", "pair_in_train")] == [
        3,
        1,
        2,
        2,
    ]
    assert leakage["symmetric"] == [{"relation": "friend of", "share": 1.0}]
    assert leakage["near_inverse"] == [{"first": "knows", "second": "is known to", "overlap": 1.0}]
    shown = nbfnet("data", "info", folder).out.splitlines()
    assert "100%  friend of" in shown
    assert "100%  knows and is known to" in shown


def test_bad_lines_are_counted_where_they_are_skipped(nbfnet, triplets):
    with triplets.open("a") as stream:
        stream.write("too few\ne1\tr1\te2\te3\te4\n\tr1\te2\n")
    nbfnet("data", "info", triplets).assert_refused("line 601", "--skip-bad-lines")
    answer = nbfnet("data", "info", triplets, "--skip-bad-lines", "--json")
    assert answer.document["skipped_lines"] == 3
    assert "3 bad lines skipped" in answer.err
    assert "3 bad lines skipped" in nbfnet("data", "info", triplets, "--skip-bad-lines").err
    assert "skipped" not in nbfnet("data", "info", "world", "--skip-bad-lines").err


def test_readable_names_and_types_from_files(nbfnet, triplets, tmp_path):
    names, types = tmp_path / "names.txt", tmp_path / "types.txt"
    names.write_text("e1\tone\ne2\ttwo\n")
    types.write_text("e1\tthing\n")
    answer = nbfnet("data", "info", triplets, "--names", names, "--types", types, "--json")
    assert answer.document["types"] == ["thing"]


def test_names_that_would_be_markup_elsewhere_are_shown_as_they_are(nbfnet, tmp_path):
    path = tmp_path / "[bold]:smile:.tsv"
    odd = ["[red]r[/red]", ":smile:", "tab\\t", "\x1b[31mred", "\x7f\x9b31m"]
    path.write_text("".join(f"a{i}\t{name}\tb{i}\nb{i}\t{name}\ta{i}\n" for i in range(9) for name in odd))
    answer = nbfnet("data", "info", path, "--json")
    document = answer.document
    assert not set(answer.out) & {"\x1b", "\x7f", "\x9b"}
    assert document["name"] == "[bold]:smile:"
    assert {relation["relation"] for relation in document["leakage"]["symmetric"]} == set(odd)
    shown = nbfnet("data", "info", path).out
    assert "[bold]:smile: (knowledge)" in shown
    for name in odd[:3]:
        assert f"100%  {name}\n" in shown
    assert "\x1b" not in shown
    assert r"100%  \x1b[31mred" in shown


def test_text_and_json_agree(nbfnet, triplets):
    document = nbfnet("data", "info", triplets, "--json").document
    words = dict(line.split() for line in nbfnet("data", "info", triplets).out.splitlines()[1:6])
    assert words == {key: f"{document[key]:,}" for key in COUNTS}


def test_a_long_relation_stays_on_one_line(nbfnet, tmp_path):
    relation = "/very/long" * 30
    path = tmp_path / "graph.tsv"
    path.write_text("".join(f"a{i}\t{relation}\tb{i}\nb{i}\t{relation}\ta{i}\n" for i in range(9)))
    assert f"100%  {relation}" in nbfnet("data", "info", path).out.splitlines()


def test_json_is_one_document_whatever_the_graph_is_called(nbfnet, triplets, tmp_path):
    odd = tmp_path / 'quo"te\\ \n.tsv'
    triplets.rename(odd)
    assert json.loads(nbfnet("data", "info", odd, "--json").out)["name"] == 'quo"te\\ \n'


@pytest.mark.parametrize(
    ("header", "facts", "noted"),
    [
        ("who,what,whom", 20, "line 1: 'who, what, whom' was taken as a header; --no-header reads it as a fact"),
        ("Ana,knows,Bob", 21, None),
        ("Ana,what,whom", 21, None),
        (
            "Ana,property,whom",
            21,
            "line 1: 'Ana, property, whom' was read as a fact; if it names the columns, give --header",
        ),
        ("person,relation,other", 20, "'person, relation, other' was taken as a header"),
        ("head,relation,tail", 20, None),
    ],
)
def test_a_first_line_that_may_be_a_header_is_noted(nbfnet, tmp_path, header, facts, noted):
    file = tmp_path / "people.csv"
    file.write_text("\n".join([header, *(f"Ana,{'likes' if i % 2 else 'knows'},Person {i}" for i in range(20))]))
    answer = nbfnet("data", "info", file, "--json")
    assert sum(answer.document[part] for part in ("train", "valid", "test")) == facts
    assert noted in answer.err if noted else answer.err == ""
    assert nbfnet("data", "info", file, "--header").err == ""
    assert nbfnet("data", "info", file, "--no-header").err == ""
    columns = zip(*(line.split(",") for line in file.read_text().splitlines()), strict=True)
    pq.write_table(pa.table(dict(zip(("head", "relation", "tail"), columns, strict=True))), tmp_path / "people.parquet")
    assert nbfnet("data", "info", tmp_path / "people.parquet").err == ""


def test_at_most_thirty_relations_are_listed(nbfnet, tmp_path):
    file = tmp_path / "many.tsv"
    file.write_text("".join(f"a{i}\tr{i % 35}\ta{i + 1}\n" for i in range(350)))
    line = next(line for line in nbfnet("data", "info", file).out.splitlines() if line.startswith("relations: "))
    assert line.count("(10)") == 30
    assert line.endswith(" ... and 5 more")
    assert len(nbfnet("data", "info", file, "--json").document["relation_names"]) == 35
