"""Messy sources: what is odd is handled in the sensible way and said, with file, lines, count and a way out."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nbfnet.errors import GraphFormatError, UnknownNameError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load, open_source
from nbfnet.graph.reading.findings import Finding
from nbfnet.graph.reading.folders import read_folder
from nbfnet.graph.reading.read import read

Write = Callable[[str, bytes | str], Path]
Named = Callable[..., list[tuple[Any, ...]]]


def found(graph: Graph, kind: str) -> Finding:
    """The one finding of a kind."""
    [finding] = [finding for finding in graph.findings if finding.kind == kind]
    assert finding.remedy
    return finding


def kinds(graph: Graph) -> set[str]:
    return {finding.kind for finding in graph.findings}


def people(delimiter: str = "\t", facts: int = 20) -> list[str]:
    """Lines in which every name and relation is there more than once."""
    return [
        delimiter.join((f"p{i % 7}", ("knows", "likes")[i % 2], f"p{(3 * i + i // 7 + 1) % 7}")) for i in range(facts)
    ]


# Spaces.


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|"])
@pytest.mark.parametrize("space", [" ", "  ", "\u00a0", "\u202f", " \u00a0 "], ids=ascii)
def test_spaces_around_names_are_stripped(delimiter: str, space: str, write: Write, named: Named) -> None:
    lines = people(delimiter)
    messy = [*lines, "", delimiter.join([f"{space}p0", f"knows{space}", f"{space}p3{space}"]), f"{lines[0]}"]
    path = write("g.csv", "\n".join(messy) + "\n")
    graph = read(path, header=False)
    assert named(graph)[20] == ("p0", "knows", "p3")
    assert graph.num_nodes == 7
    finding = found(graph, "spaces")
    assert (finding.file, finding.lines, finding.count) == (str(path), (22,), 1)
    assert finding.severity == "important"
    assert finding.place == f"{path}, line 22"


def test_a_space_behind_every_comma_is_a_habit_and_no_slip(write: Write, named: Named) -> None:
    graph = read(write("g.csv", "".join(line.replace(",", ", ") + "\n" for line in people(","))), header=False)
    assert graph.num_nodes == 7
    finding = found(graph, "spaces")
    assert (finding.count, finding.lines, finding.severity) == (20, (1, 2, 3, 4, 5), "note")


def test_a_name_of_spaces_is_empty(write: Write) -> None:
    for cell in (" ", "\u00a0", " \u00a0\u2007"):
        with pytest.raises(GraphFormatError, match=r"g\.tsv, line 3: the tail is empty"):
            read(write("g.tsv", f"a\tr\tb\n\nb\tr\t{cell}\n"))


def test_spaces_around_names_of_objects_and_beside_the_graph(write: Write, named: Named) -> None:
    frame = pd.DataFrame({"head": ["a ", "b"], "relation": ["r", " r"], "tail": ["b", "a"]})
    graph = read(frame, labels={" a": "Alpha "}, types=write("t.txt", "a \tx\n b\ty\n"))
    assert named(graph) == [("a", "r", "b"), ("b", "r", "a")]
    assert graph.entities.label(0) == "Alpha"
    assert graph.types is not None
    assert graph.types.of_entity.tolist() == [0, 1]
    assert found(graph, "spaces").lines == (1, 2)


# Similar names.


def test_names_that_look_alike_are_named_and_kept_apart(write: Write) -> None:
    pairs = [("New York", "New  York"), ("Zürich", "Zu\u0308rich"), ("Paris", "PARIS"), ("a b", "a\u00a0b")]
    lines = [*people(), *(f"p1\tknows\t{first}\np2\tknows\t{second}" for first, second in pairs), "p1\tKnows\tp2"]
    graph = read(write("g.tsv", "\n".join(lines)))
    assert graph.num_nodes == 7 + 8
    entities, relations = (finding for finding in graph.findings if finding.kind == "similar names")
    assert (entities.count, entities.lines) == (4, (22, 24, 26, 28))
    assert "'New York' and 'New  York'" in entities.what
    assert (relations.count, relations.lines) == (1, (29,))
    assert "'knows' and 'Knows'" in relations.what
    assert entities.severity == "important"


def test_names_that_differ_otherwise_are_not_named(write: Write) -> None:
    graph = read(
        write("g.tsv", "\n".join([*people(), "p1\tknows\tp-2", "p1\tknows\tP 2", "p1\tknows\té", "p1\tknows\te"]))
    )
    assert "similar names" not in kinds(graph)


# Duplicates.


def test_duplicates_are_kept_and_named(write: Write, named: Named) -> None:
    lines = people()
    graph = read(write("g.tsv", "\n".join([*lines[:4], "", lines[0], *lines[4:], lines[9], lines[0]])))
    assert len(graph.triplets) == 23
    finding = found(graph, "duplicates")
    assert (finding.count, finding.lines) == (3, (6, 23, 24))


def test_a_fact_in_another_direction_or_relation_is_no_duplicate(write: Write) -> None:
    graph = read(write("g.tsv", "a\tr\tb\nb\tr\ta\na\ts\tb\n"))
    assert "duplicates" not in kinds(graph)


def test_duplicates_behind_bad_lines_keep_their_lines(write: Write) -> None:
    lines = people(",")
    path = write("g.csv", "\n".join([lines[0], "too,few", '"two\nlines",knows,p1', ",knows,p2", *lines[1:], lines[3]]))
    graph = read(path, skip_bad_lines=True)
    assert graph.skipped_lines == 2
    assert found(graph, "duplicates").lines == (25,)
    bad = [finding for finding in graph.findings if finding.kind == "bad lines"]
    assert sorted((finding.lines, finding.count) for finding in bad) == [((2,), 1), ((5,), 1)]


# Headers.


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|"])
def test_a_header_of_any_words(delimiter: str, write: Write, named: Named) -> None:
    first = delimiter.join(["who", "did what", "to whom"])
    graph = read(write("g.csv", "\n".join([first, *people(delimiter)])))
    assert named(graph) == [tuple(line.split(delimiter)) for line in people(delimiter)]
    finding = found(graph, "header")
    assert (finding.lines, finding.severity) == ((1,), "important")
    assert "'who, did what, to whom' was taken as a header" in str(finding)
    assert "--no-header" in finding.remedy
    assert len(read(write("g.csv", "\n".join([first, *people(delimiter)])), header=False).triplets) == 21


def test_a_header_of_any_words_behind_comments_and_blanks(write: Write) -> None:
    graph = read(write("g.tsv", "\n".join(["# a comment", "", "who\twhat\twhom", "", *people()])))
    assert len(graph.triplets) == 20
    assert found(graph, "header").lines == (3,)


def test_the_whole_file_is_asked_about_a_first_line(write: Write, named: Named) -> None:
    """Its words stand far below the first lines, and it is a fact."""
    many = [f"e{i % 50}\tr{i % 3}\te{(7 * i) % 50}" for i in range(1000)]
    for last in ("who\tr1\te1", "e1\twhat\te2", "e1\tr1\twhom"):
        graph = read(write("g.tsv", "\n".join(["who\twhat\twhom", *many, last])))
        assert len(graph.triplets) == 1002
        assert "header" not in kinds(graph)
    assert len(read(write("g.tsv", "\n".join(["who\twhat\twhom", *many]))).triplets) == 1000


def test_a_first_fact_whose_relation_is_a_title_stays(write: Write, named: Named) -> None:
    rows = ["house\tproperty\tgarden", *[f"house\thas\troom {i}" for i in range(12)], "garden\thas\ttree"]
    graph = read(write("g.tsv", "\n".join(rows)))
    assert named(graph)[0] == ("house", "property", "garden")
    assert "read as a fact" in found(graph, "header").what
    assert "--header" in found(graph, "header").remedy
    assert "header" not in kinds(read(write("g.tsv", "\n".join([*rows, "tree\tproperty\tleaf"]))))


def test_lines_that_all_share_nothing_have_no_header(write: Write) -> None:
    """A first line is odd only among others that are not."""
    for line in ("a{0}\tr{0}\tb{0}", "a{0}\tb{0}"):
        assert len(read(write("g.tsv", "\n".join(line.format(i) for i in range(40)))).triplets) == 40


def test_a_header_of_two_columns(write: Write) -> None:
    edges = [f"n{i % 9}\tn{(2 * i + 1) % 9}" for i in range(20)]
    assert len(read(write("g.tsv", "\n".join(["person\tfriend", *edges]))).triplets) == 20
    assert len(read(write("g.tsv", "\n".join(["n1\tfriend", *edges]))).triplets) == 21


def test_tiny_files_keep_their_first_line(write: Write) -> None:
    graph = read(write("g.tsv", "who\twhat\twhom\na\tr\tb\nb\tr\tc\n"))
    assert len(graph.triplets) == 3
    assert found(graph, "header").severity == "note"


def test_a_header_in_every_part_of_a_folder(write: Write) -> None:
    lines = people()
    folder = write("d/train.txt", "\n".join(["who\twhat\twhom", *lines])).parent
    write("d/valid.txt", "who\twhat\twhom\n" + lines[0])
    write("d/test.txt", "stranger\tknows\tp1\n" + lines[1])
    dataset = read_folder(folder, "d")
    assert (len(dataset.train.triplets), len(dataset.valid), len(dataset.test)) == (20, 1, 2)


# Columns.


def test_numbers_at_the_end_are_weights(write: Write, named: Named) -> None:
    rows = [f"n{i % 9},n{(2 * i + 1) % 9},{1 + i % 3}" for i in range(20)]
    for header, end in (([], "\n"), (["who,whom,how often"], "\r\n")):
        graph = read(write("g.csv", end.join([*header, *rows])))
        assert graph.kind == "homogeneous"
        assert named(graph)[1] == ("n1", "edge", "n3", 2.0)
        assert len(graph.triplets) == 20
        assert "--columns" in found(graph, "weights").remedy
    stated = read(write("g.csv", "\n".join(rows)), columns=("head", "relation", "tail"))
    assert stated.kind == "knowledge"
    assert "weights" not in kinds(stated)


def test_numbers_as_tails_stay_tails_and_are_named(write: Write) -> None:
    rows = [f"city {i},{('population', 'area')[i % 2]},{1000 + 7 * i}" for i in range(40)]
    graph = read(write("g.csv", "\n".join(rows)))
    assert (graph.kind, sorted(graph.relations)) == ("knowledge", ["area", "population"])
    assert "head,tail,weight" in found(graph, "numbers").remedy


def test_entities_with_numbers_for_names_are_not_news(write: Write) -> None:
    rows = [f"{1000 + i % 20}\tis a kind of\t{1000 + (3 * i + 1) % 20}" for i in range(40)]
    graph = read(write("g.tsv", "\n".join(rows)))
    assert (graph.kind, graph.num_nodes) == ("knowledge", 20)
    assert not kinds(graph) & {"weights", "numbers"}


def test_ratings_of_other_things_are_weights(write: Write) -> None:
    rows = [f"user {i % 30},film {(7 * i) % 41},{1 + i % 5}" for i in range(300)]
    assert read(write("g.csv", "\n".join(rows))).kind == "homogeneous"


def test_numbered_triplets_stay_triplets(write: Write) -> None:
    random = np.random.default_rng(0).integers([50, 4, 50], size=(200, 3))
    graph = read(write("g.txt", "".join(f"{h} {r} {t}\n" for h, r, t in random)))
    assert (graph.kind, graph.num_relations) == ("knowledge", 4)
    assert not kinds(graph) & {"weights", "numbers", "column order"}
    assert read(random).kind == "knowledge"


def test_weighted_edges_of_numbers(write: Write, named: Named) -> None:
    random = np.random.default_rng(0)
    rows = [f"{u} {v} {w:.3f}" for (u, v), w in zip(random.integers(30, size=(99, 2)), random.random(99), strict=True)]
    graph = read(write("g.txt", "\n".join(rows)))
    assert (graph.kind, graph.triplets.weight is None) == ("homogeneous", False)


@pytest.mark.parametrize("order", [("relation", "head", "tail"), ("head", "tail", "relation")])
@pytest.mark.parametrize("facts", [8, 200])
def test_a_relation_that_is_not_in_the_middle(order: tuple[str, ...], facts: int, write: Write, named: Named) -> None:
    rows = [dict(zip(("head", "relation", "tail"), line.split("\t"), strict=True)) for line in people(facts=facts)]
    path = write("g.tsv", "\n".join("\t".join(row[role] for role in order) for row in rows))
    graph = read(path)
    assert named(graph) == [(row["head"], row["relation"], row["tail"]) for row in rows]
    assert "--columns head,relation,tail" in found(graph, "column order").remedy
    assert named(read(path, columns=("head", "relation", "tail"))) == [
        tuple(row[role] for role in order) for row in rows
    ]


def test_a_relation_first_between_two_sorts_of_things(write: Write) -> None:
    rows = [f"{('treats', 'causes')[i % 2]},drug {i % 40},disease {(3 * i) % 50}" for i in range(200)]
    assert sorted(read(write("g.csv", "\n".join(rows))).relations) == ["causes", "treats"]


def test_a_last_column_of_one_value_is_no_relation(write: Write, named: Named) -> None:
    """Such as a file of questions: head, relation, question mark."""
    graph = read(write("g.tsv", "".join(f"e{i % 30}\tr{i % 20}\t?\n" for i in range(60))))
    assert (graph.num_relations, named(graph)[0]) == (20, ("e0", "r0", "?"))


def test_files_sorted_by_head_keep_their_columns(write: Write) -> None:
    """The first lines are all of one head, which has many relations."""
    rows = [f"e{i // 300}\tr{i % 25}\te{(i * 7) % 40}" for i in range(9000)]
    graph = read(write("g.tsv", "\n".join(rows)))
    assert graph.num_relations == 25
    assert "column order" not in kinds(graph)


def test_the_parts_of_a_folder_have_the_columns_of_train(write: Write, named: Named) -> None:
    turned = ["\t".join((r, h, t)) for h, r, t in (line.split("\t") for line in people(facts=40))]
    folder = write("d/train.txt", "\n".join(turned)).parent
    write("d/test.txt", "knows\tp1\tp2\nlikes\tp2\tp1\nknows\tp5\tp3\nlikes\tp1\tp1\n")
    dataset = read_folder(folder, "d")
    assert named(dataset.train, dataset.test)[0] == ("p1", "knows", "p2")


def test_columns_that_are_left_out(write: Write, named: Named) -> None:
    path = write("g.csv", "a,1999,r,b,x\nb,2001,s,a,y\n")
    stated = ("head", "_", "relation", "tail", "_")
    assert named(read(path, columns=stated)) == [("a", "r", "b"), ("b", "s", "a")]
    assert named(read([("a", 5, "r", "b", None)], columns=stated)) == [("a", "r", "b")]
    tabs = write("g.tsv", "a\t\tr\tb\t\n")
    assert named(read(tabs, columns=stated)) == [("a", "r", "b")]  # what is left out may be empty
    with pytest.raises(GraphFormatError, match="--columns, where _ leaves one out"):
        read(path)


def test_titled_columns_are_picked_from_a_wide_file(write: Write, named: Named) -> None:
    path = write("g.csv", "id,head,relation,tail,source\n1,a,r,b,web\n2,b,s,a,book\n")
    graph = read(path)
    assert named(graph) == [("a", "r", "b"), ("b", "s", "a")]
    assert "id, source" in found(graph, "skipped columns").what


WIDE = {"year": [1, 2], "tail": ["b", "a"], "relation": ["r", "s"], "head": ["a", "b"], "note": ["x", None]}


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "Arrow"])
def test_titled_columns_are_picked_from_a_table(table: Callable[[Any], Any], named: Named, write: Write) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table(WIDE), stream)
    for source in (table(WIDE), write("g.parquet", stream.getvalue())):
        graph = read(source)
        assert named(graph) == [("a", "r", "b"), ("b", "s", "a")]
        assert "year, note" in found(graph, "skipped columns").what
    with pytest.raises(GraphFormatError, match=r"got 5: a, b, c, d, e.*\n.*columns="):
        read(table(dict(zip("abcde", WIDE.values(), strict=True))))


def test_three_titled_columns_with_an_unknown_middle_one(named: Named) -> None:
    assert named(read(pd.DataFrame({"subject": ["a"], "does": ["r"], "object": ["b"]}))) == [("a", "r", "b")]
    assert named(read(pd.DataFrame({"source": ["a"], "target": ["b"], "type": ["r"]}))) == [("a", "r", "b")]


# Separators and encodings.


@pytest.mark.parametrize("delimiter", [";", "|"])
def test_semicolons_and_bars_separate(delimiter: str, write: Write, named: Named) -> None:
    rows = [("Paris, Texas", "is in", "the USA"), ("Lyon", "is in", 'the "heart" of France')]
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    assert named(read(write("g.csv", text))) == rows


def test_decimal_commas_do_not_separate(write: Write) -> None:
    with pytest.raises(GraphFormatError, match="the weight '0,5' is not a number"):
        read(write("g.csv", "a;r;b;0,5\nb;r;c;1,5\n"))


@pytest.mark.parametrize(
    ("encoding", "says"), [("latin-1", "UTF-8"), ("cp1252", "UTF-8"), ("utf-16", "binary"), ("utf-16-le", "binary")]
)
@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".tsv.gz"])
def test_other_encodings(encoding: str, says: str, suffix: str, write: Write, named: Named) -> None:
    rows = [("Zoë", "kennt", "Jürgen"), ("Jürgen", "kennt", "Åsa")]
    text = "".join(("," if ".csv" in suffix else "\t").join(row) + "\r\n" for row in rows).encode(encoding)
    path = write(f"g{suffix}", gzip.compress(text) if suffix.endswith(".gz") else text)
    assert named(read(path, encoding=encoding)) == rows
    if not suffix.endswith(".gz") or says == "UTF-8":
        with pytest.raises(GraphFormatError, match=says) as caught:
            read(path)
        assert "--encoding" in str(caught.value.remedy)


def test_an_encoding_reaches_the_files_beside(write: Write) -> None:
    folder = write("d/train.txt", "Zoë\tkennt\tJürgen\n".encode("latin-1")).parent
    write("d/entity_names.txt", "Zoë\tZoë Müller\n".encode("latin-1"))
    graph = read_folder(folder, "d", encoding="latin-1").train
    assert graph.entities.label(0) == "Zoë Müller"


# Directions.


def test_directed_edges_are_facts_of_one_relation(write: Write, named: Named) -> None:
    path = write("g.txt", "".join(f"{i} {i + 1}\n" for i in range(20)))
    graph = read(path, directed=True)
    assert (graph.kind, list(graph.relations), graph.num_relation_ids) == ("knowledge", ["edge"], 2)
    assert "direction" not in kinds(graph)
    plain = read(path)
    assert plain.kind == "homogeneous"
    assert found(plain, "direction").severity == "note"
    folder = write("d/train.txt", "a\tb\nb\tc\n").parent
    assert open_source(folder, directed=True).kind == "knowledge"


def test_edges_that_look_directed_are_important(write: Write) -> None:
    graph = read(write("g.txt", "".join(f"{i} {i + 1}\n" for i in range(20)) + "1 0\n5 4\n"))
    finding = found(graph, "direction")
    assert (finding.count, finding.severity) == (2, "important")
    both = "".join(f"{i} {i + 1}\n{i + 1} {i}\n" for i in range(20))
    assert found(read(write("g.txt", both)), "direction").severity == "note"  # an undirected graph, written both ways


def test_directed_networkx_graphs_stay_directed() -> None:
    source = nx.DiGraph([("a", "b"), ("b", "c")])
    graph = read(source)
    assert (graph.kind, list(graph.relations)) == ("knowledge", ["edge"])
    assert "directed" in found(graph, "direction").what
    assert read(source, directed=False).kind == "homogeneous"
    assert read(nx.Graph(source)).kind == "homogeneous"


@pytest.mark.parametrize("attribute", ["relation", "label", "type", "key"])
def test_networkx_relations_of_any_usual_name(attribute: str, named: Named) -> None:
    source = nx.MultiDiGraph()
    source.add_edge("a", "b", **({"key": "r"} if attribute == "key" else {attribute: "r"}))
    source.add_edge("b", "c", **({"key": "s"} if attribute == "key" else {attribute: "s"}))
    assert named(read(source)) == [("a", "r", "b"), ("b", "s", "c")]


def test_networkx_attributes_of_some_edges_are_no_relations() -> None:
    source = nx.DiGraph()
    source.add_edge("a", "b", label="r", type="x")
    source.add_edge("b", "c", type="y")
    assert sorted(read(source).relations) == ["x", "y"]


# What stands beside the graph.


def test_types_of_some_entities_and_of_strangers(write: Write) -> None:
    types = write("types.txt", "p0\tperson\nnobody\tghost\np1\tperson\nno one\tghost\n")
    graph = read(write("g.tsv", "\n".join(people())), types=types)
    without, strangers = found(graph, "entities without a type"), found(graph, "unknown entities")
    assert without.count == 5
    assert "'p" in without.what
    assert (strangers.count, strangers.lines, strangers.file) == (2, (2, 4), str(types))
    assert "'nobody', 'no one'" in strangers.what
    assert {without.severity, strangers.severity} == {"important"}


def test_labels_and_types_as_dictionaries(write: Write) -> None:
    path = write("g.tsv", "a\tr\tb\n")
    graph = read(path, types={"a": "letter", "b": "letter"}, labels={"a": "Alpha"})
    assert graph.types is not None
    assert graph.types.of_entity.tolist() == [0, 0]
    assert graph.entities.label(0) == "Alpha"
    assert "entities without a type" not in kinds(graph)
    folder = write("d/train.txt", "a\tr\tb\n").parent
    write("d/entity_types.txt", "a\tother\n")
    opened = open_source(folder, types={"a": "letter"}, labels={"b": "Beta"})
    assert isinstance(opened, Graph)
    assert opened.types is not None
    assert list(opened.types.names) == ["letter"]
    assert opened.entities.label(1) == "Beta"


def test_a_test_graph_only_where_it_is_asked_for(write: Write, named: Named) -> None:
    folder = write("x/train.txt", "a\tr\tb\nb\ts\tc\n").parent
    write("x/valid.txt", "a\ts\tc\n")
    write("x_ind/train.txt", "y\ts\tz\n")
    write("elsewhere/train.txt", "q\tr\tw\n")
    write("elsewhere/test.txt", "w\tr\tq\n")
    plain = load(folder)
    assert (plain.kind, plain.test_graph) == ("knowledge", None)
    assert "x_ind lies beside it" in found(plain.train, "test graph").what
    dataset = load(folder, test_graph=folder.with_name("elsewhere"))
    assert isinstance(dataset, Dataset)
    assert dataset.test_graph is not None
    assert named(dataset.test_graph, dataset.test) == [("w", "r", "q")]
    assert "test graph" not in kinds(dataset.train)


def test_known_datasets_have_nothing_to_mend() -> None:
    assert load("world").train.findings == ()


# Names.


def test_numbers_are_names_and_collections_are_not(named: Named) -> None:
    assert named(read([(1, 2), (2, 3.5)])) == [("1", "edge", "2"), ("2", "edge", "3.5")]
    for odd in (["x"], {"x": 1}, {"x"}, np.array([1])):
        with pytest.raises(GraphFormatError, match=rf"row 2: the tail is a {type(odd).__name__}, not a name"):
            read([("a", "r", "b"), ("a", "r", odd)])
    with pytest.raises(GraphFormatError, match="item 1 is a dict, not an edge"):
        read([("a", "r", "b"), {"head": "a", "relation": "r", "tail": "b"}])


def test_few_relations_are_listed_where_none_is_close() -> None:
    graph = read([("a", f"r{i}", "b") for i in range(20)])
    with pytest.raises(UnknownNameError, match=r"unknown relation 'zzz'; known are 'r0', 'r1'.*'r19'$"):
        graph.relations.find("zzz")
    with pytest.raises(UnknownNameError, match=r"unknown relation 'zzz'$"):
        read([("a", f"r{i}", "b") for i in range(21)]).relations.find("zzz")
    with pytest.raises(UnknownNameError, match=r"unknown entity 'zzz'$"):
        graph.entities.find("zzz")


def test_short_names_behind_a_colon() -> None:
    graph = read([("ex:Ann", "ex:nationality", "ex:France"), ("wd:Ann", "p:x:y", "a")])
    assert graph.relations[graph.relations.find("nationality")] == "ex:nationality"
    assert graph.relations[graph.relations.find("y")] == "p:x:y"
    with pytest.raises(UnknownNameError, match="'ex:Ann', 'wd:Ann'"):
        graph.entities.find("Ann")


# What is only told.


def test_marks_line_ends_comments_and_blank_lines_are_told(write: Write) -> None:
    lines = ["# made by hand", "% and so on", "", *people()[:5], "", "  ", *people()[5:]]
    graph = read(write("g.tsv", "\ufeff" + "\r\n".join(lines)))
    assert len(graph.triplets) == 20
    assert found(graph, "byte order mark").lines == (1,)
    assert found(graph, "line ends").count == 1
    assert (found(graph, "comments").count, found(graph, "comments").lines) == (2, (1, 2))
    assert (found(graph, "blank lines").count, found(graph, "blank lines").lines) == (3, (3, 9, 10))
    assert {finding.severity for finding in graph.findings} == {"note"}


def test_a_clean_file_has_no_findings(write: Write) -> None:
    assert read(write("g.tsv", "\n".join(people()))).findings == ()
    assert read(write("g.csv.gz", gzip.compress("\n".join(people(",")).encode()))).findings == ()


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ('"a","r","b"\n"a,b","r","c"\n', 2),
        ("a,r,b\r\n\r\n", 1),
        ("a,r,b", 1),
        ('a,"r\n r",b\nb,r,c\n', 2),
    ],
)
def test_ugly_but_good_files(content: str, facts: int, write: Write) -> None:
    assert len(read(write("g.csv", content)).triplets) == facts


@pytest.mark.parametrize("content", ["head,relation,tail\n", "source,target", "\n\n", "\ufeff", "a,,b\n", ",,\n"])
def test_ugly_files_without_a_fact(content: str, write: Write) -> None:
    path = write("g.csv", content)
    with pytest.raises(GraphFormatError, match=str(path)):
        read(path)


@pytest.mark.parametrize("order", [(1, 0, 2)])
def test_a_relation_at_an_end_between_two_kinds_of_entities(order, tmp_path):
    """People and companies share no name: the middle column is not the relation, because its values hardly repeat."""
    random = np.random.default_rng(0)
    rows = [(f"p{random.integers(30)}", ("works at", "likes")[i % 2], f"c{random.integers(6)}") for i in range(80)]
    file = tmp_path / "facts.tsv"
    file.write_text("".join("\t".join(row[i] for i in order) + "\n" for row in rows))
    graph = read(file)
    assert sorted(graph.relations) == ["likes", "works at"]
    assert found(graph, "column order").severity == "important"


def test_properties_with_few_values_are_read_as_they_stand(tmp_path):
    rows = [f"item {i}\tproperty {p}\t{('yes', 'no')[(i + p) % 2]}\n" for i in range(100) for p in range(20)]
    (tmp_path / "facts.tsv").write_text("".join(rows))
    assert read(tmp_path / "facts.tsv").num_relations == 20


# Line ends and marks in the middle of a file.


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"alice\tr\tbob\r\ncarol\tr\tdan\rerin\tr\tbob\r\nfay\tr\tbob\r\n", (2,)),
        (b"alice\tr\tbob\r\r\ncarol\tr\tdan\r\r\nerin\tr\tbob\r\r\nfay\tr\tbob\r\r\n", (1, 3, 5, 7)),
        (b"alice\tr\tbob\ncarol\tr\tdan\rerin\tr\tbob\nfay\tr\tbob", (2,)),
        (b"alice r bob\r\ncarol r dan\rerin r bob\r\nfay r bob\r\n", (2,)),
    ],
)
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_carriage_returns_end_lines_and_are_reported(write: Write, content: bytes, lines: tuple[int, ...], suffix: str):
    graph = read(write("g" + suffix, gzip.compress(content) if suffix.endswith("gz") else content))
    assert list(graph.entities) == ["alice", "bob", "carol", "dan", "erin", "fay"]
    [found] = [found for found in graph.findings if "without a line feed" in found.what]
    assert (found.kind, found.lines, found.count, found.severity) == ("line ends", lines, len(lines), "important")


def test_a_carriage_return_that_cuts_a_line_is_an_error_with_its_line(write: Write) -> None:
    with pytest.raises(GraphFormatError, match=r"line 3: 1 columns[\s\S]*'erin'"):
        read(write("g.tsv", b"alice\tr\tbob\r\ncarol\tr\tdan\rerin\r\nfay\tr\tbob\r\n"))


def test_a_carriage_return_in_quotes_is_part_of_a_name(write: Write) -> None:
    graph = read(write("g.csv", b'"a\rb",r,c\nd,r,e\n'))
    assert list(graph.entities) == ["a\rb", "c", "d", "e"]
    assert not graph.findings


def test_lines_after_a_lone_return_have_the_right_numbers(write: Write) -> None:
    content = b"a\tr\tb\r\n\r\nc\tr\td\re\tr\tf\r\ng\tr\th \r\n"
    found = {found.kind: found.lines for found in read(write("g.tsv", content)).findings if found.lines}
    assert found == {"line ends": (3,), "blank lines": (2,), "spaces": (5,)}


def test_a_mark_in_the_middle_is_reported_with_its_line(write: Write) -> None:
    graph = read(write("g.tsv", "\ufeffa\tr\tb\nb\tr\tc\n\ufeffa\tr\tc\n"))
    assert list(graph.entities) == ["a", "b", "c", "\ufeffa"]
    [found] = [found for found in graph.findings if "begins a name" in found.what]
    assert (found.kind, found.lines, found.severity) == ("byte order mark", (3,), "important")


def test_a_line_feed_in_quotes_is_part_of_a_name_where_lines_end_otherwise(write: Write) -> None:
    graph = read(write("g.csv", b'"#","\n","a"\r\n"b\r","c\r\nd","e"\r\n'), header=False)
    assert list(graph.entities) == ["#", "a", "b\r", "e"]
    assert list(graph.relations) == ["\n", "c\r\nd"]
