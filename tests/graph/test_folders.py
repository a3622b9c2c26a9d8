"""Folders of splits: read as they are laid out, and written so that reading gives the same dataset."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError, NbfnetError, WriteError
from nbfnet.graph.folder_writing import write_folder
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.loading import load
from nbfnet.graph.reading.folders import find_part, has_inductive_twin, read_folder, read_inductive
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.read import read
from nbfnet.graph.splits import split
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

Write = Callable[[str, bytes | str], Path]
Named = Callable[..., list[tuple[Any, ...]]]


# Reading.


def test_three_files_make_a_dataset(write: Write, named: Named) -> None:
    folder = write("d/train.txt", "a\tr\tb\nb\ts\tc\n").parent
    write("d/valid.txt", "a\ts\tc\n")
    write("d/test.txt", "x\tr\ta\n")
    dataset = read_folder(folder, "mine")
    assert (dataset.name, dataset.kind, dataset.split) == ("mine", "knowledge", "as given")
    assert named(dataset.train) == [("a", "r", "b"), ("b", "s", "c")]
    assert named(dataset.train, dataset.valid) == [("a", "s", "c")]
    assert named(dataset.train, dataset.test) == [("x", "r", "a")]
    assert list(dataset.train.entities) == ["a", "b", "c", "x"]  # x is an isolated node of the training graph
    assert dataset.train.csr.degree[3] == 0


@pytest.mark.parametrize(
    "names",
    [
        ("train.tsv", "valid.tsv", "test.tsv"),
        ("train.txt.gz", "valid.csv", "test.csv.gz"),
        ("train.parquet", "valid.nt", "test.pq"),
        ("train.txt", "valid.nt", "test.nt"),
        ("train.nt.gz", "valid.txt", "test.parquet"),
    ],
)
def test_parts_may_be_of_any_format(names: tuple[str, ...], write: Write, named: Named, tmp_path: Path) -> None:
    rows = [("http://x/a", "http://x/r", "http://x/b"), ("http://x/b", "http://x/r", "http://x/c")]
    for name in names:
        stem = name.removesuffix(".gz")
        if stem.endswith((".parquet", ".pq")):
            (tmp_path / "d").mkdir(exist_ok=True)
            pd.DataFrame(rows).rename(columns=str).to_parquet(tmp_path / "d" / name)
            continue
        if stem.endswith(".nt"):
            content = "".join(f"<{h}> <{r}> <{t}> .\n" for h, r, t in rows)
        else:
            content = "".join(("," if stem.endswith(".csv") else "\t").join(row) + "\n" for row in rows)
        write(f"d/{name}", gzip.compress(content.encode()) if name.endswith(".gz") else content)
    dataset = read_folder(tmp_path / "d", "d")
    for part in (dataset.train.triplets, dataset.valid, dataset.test):
        assert named(dataset.train, part) == rows


def test_valid_and_test_may_be_missing(write: Write) -> None:
    dataset = read_folder(write("d/train.txt", "a\tr\tb\n").parent, "d")
    assert (len(dataset.train.triplets), len(dataset.valid), len(dataset.test)) == (1, 0, 0)


def test_finding_a_part(write: Write) -> None:
    folder = write("d/train.tsv", "a\tr\tb\n").parent
    assert find_part(folder, "train") == folder / "train.tsv"
    assert find_part(folder, "test") is None
    assert find_part(folder / "missing", "train") is None
    (folder / "test.txt").mkdir()
    assert find_part(folder, "test") is None


@pytest.mark.parametrize(("train", "test"), [("a\tr\tb\t0.5\n", "a\tr\tb\n"), ("a\tr\tb\n", "a\tr\tb\t0.5\n")])
def test_each_part_has_its_own_weights(train: str, test: str, write: Write, named: Named) -> None:
    """Facts are often weighted where the links to predict are not: that must not lose the weights."""
    folder = write("d/train.txt", train).parent
    write("d/valid.txt", train)
    write("d/test.txt", test)
    dataset = read_folder(folder, "d")
    for text, part in ((train, dataset.train.triplets), (train, dataset.valid), (test, dataset.test)):
        cells = text.split()
        assert named(dataset.train, part) == [(*cells[:3], *map(float, cells[3:]))]


def test_side_files_of_a_folder(write: Write) -> None:
    folder = write("d/train.txt", "a\tr\tb\n").parent
    write("d/valid.txt", "b\tr\ta\n")
    write("d/entity_names.txt", "a\tAlpha\nalone\tAlone\n")
    write("d/relation_names.tsv", "r\tis related to\n")
    write("d/entity_types.txt", "b\tletter\nalone\tloner\n")
    write("d/entities.txt", "b\r\nalone\r\nwith \u2028 and \x0c and \x85\r\n\r\na\r\n")
    graph = read_folder(folder, "d").train
    assert list(graph.entities) == ["a", "b", "alone", "with \u2028 and \x0c and \x85"]
    assert [graph.entities.label(i) for i in range(3)] == ["Alpha", "b", "Alone"]
    assert graph.relations.label(0) == "is related to"
    assert graph.types is not None
    assert [graph.types.names[t] if t >= 0 else None for t in graph.types.of_entity] == [None, "letter", "loner", None]


def test_options_reach_every_part(write: Write, named: Named) -> None:
    folder = write("d/train.txt", "x;y;1\na;b;2\n").parent
    write("d/test.txt", "x;y;1\nb;a;3\n")
    dataset = read_folder(folder, "d", delimiter=";", header=True, columns=("tail", "head", "weight"))
    assert named(dataset.train) == [("b", "edge", "a", 2.0)]
    assert named(dataset.train, dataset.test) == [("a", "edge", "b", 3.0)]
    assert dataset.kind == "homogeneous"


def test_an_inductive_pair(write: Write, named: Named) -> None:
    folder = write("x/train.txt", "a\tr\tb\nb\ts\tc\n").parent
    assert not has_inductive_twin(folder)
    write("x/valid.txt", "a\ts\tc\n")
    write("x/test.txt", "never\tread\tthis\n")
    write("x_ind/train.txt", "y\ts\tz\nz\tr\ty\n")  # s comes first here
    write("x_ind/valid.txt", "stranger\tr\ty\nz\ts\tnew\ny\tunseen\tz\nalone there\tr\ty\n")
    write("x_ind/test.txt", "y\tr\tnew\n")
    write("x_ind/entity_names.txt", "y\tYpsilon\n")
    write("x_ind/entities.txt", "alone there\n")
    write("x/entities.txt", "alone here\n")
    assert has_inductive_twin(folder)
    dataset = read_inductive(folder, "x")
    assert dataset.kind == "inductive"
    assert named(dataset.train) == [("a", "r", "b"), ("b", "s", "c")]
    assert named(dataset.train, dataset.valid) == [("a", "s", "c")]
    assert dataset.test_graph is dataset.facts_of_test
    assert dataset.test_graph is not None
    assert named(dataset.test_graph) == [("y", "s", "z"), ("z", "r", "y")]
    assert named(dataset.test_graph, dataset.test) == [("y", "r", "new")]
    assert named(dataset.test_graph, dataset.test_graph_valid) == [("z", "s", "new")]  # of known names alone
    assert list(dataset.test_graph.relations) == list(dataset.train.relations) == ["r", "s"]
    assert list(dataset.test_graph.entities) == ["y", "z", "new", "alone there"]
    assert list(dataset.train.entities) == ["a", "b", "c", "alone here"]
    assert dataset.test_graph.entities.label(0) == "Ypsilon"


@pytest.mark.parametrize("part", ["train", "test"])
def test_an_unseen_relation_of_a_test_graph_is_named_with_its_line(write: Write, part: str) -> None:
    folder = write("x/train.txt", "a\tr\tb\nb\ts\ta\n").parent
    for name in ("train", "test"):
        write(f"x_ind/{name}.txt", "y\ts\tz\n\nz\tunseen\ty\n" if name == part else "y\tr\tz\n")
    with pytest.raises(GraphFormatError, match=rf"x_ind/{part}\.txt, line 3: .*'unseen'"):
        read_inductive(folder, "x")


def test_it_is_also_where_the_separator_was_stated(write: Write) -> None:
    folder = write("x/train.txt", "a b|r|b\n").parent
    write("x_ind/train.txt", "y|r|z z\nz z|unseen|y\n")
    with pytest.raises(GraphFormatError, match=r"x_ind/train\.txt, line 2: .*'unseen'"):
        read_inductive(folder, "x", delimiter="|")


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("fb15k-237", (14_541, 237, 272_115, 17_535, 20_466)),
        ("wn18rr", (40_943, 11, 86_835, 3_034, 3_134)),
    ],
)
def test_benchmark_folders(folder: str, expected: tuple[int, ...], data_folder: Path) -> None:
    dataset = read_folder(data_folder / folder, folder)
    counts = (len(dataset.train.triplets), len(dataset.valid), len(dataset.test))
    assert (dataset.train.num_nodes, dataset.train.num_relations, *counts) == expected
    names = (data_folder / folder / "entity_names.txt").read_text(encoding="utf-8").split("\n")[0].split("\t")
    assert dataset.train.entities.label(dataset.train.entities.id(names[0])) == names[1]


@pytest.mark.parametrize("name", ["fb237_v1", "WN18RR_v4"])
def test_benchmark_pairs(name: str, data_folder: Path, named: Named) -> None:
    folder = data_folder / "inductive" / name
    dataset = read_inductive(folder, name)
    twin = folder.with_name(name + "_ind")
    lines = [len((where / f"{part}.txt").read_text().splitlines())
             for where, part in ((folder, "train"), (folder, "valid"), (twin, "train"), (twin, "test"))]  # fmt: skip
    assert dataset.test_graph is not None
    parts = (dataset.train.triplets, dataset.valid, dataset.test_graph.triplets, dataset.test)
    assert [len(part) for part in parts] == lines
    assert not set(dataset.train.entities) & set(dataset.test_graph.entities)
    rows = {part: [tuple(line.split()) for line in (twin / f"{part}.txt").read_text().splitlines()]
            for part in ("train", "test", "valid")}  # fmt: skip
    mentioned = {name for part in ("train", "test") for head, _, tail in rows[part] for name in (head, tail)}
    known = [row for row in rows["valid"] if {row[0], row[2]} <= mentioned and row[1] in dataset.train.relations]
    assert known
    assert named(dataset.test_graph, dataset.test_graph_valid) == known


# Writing.


def graph_of(
    rows: list[tuple[Any, ...]],
    *,
    extra: tuple[str, ...] = (),
    labels: dict[str, str] | None = None,
    relation_labels: dict[str, str] | None = None,
    types: dict[str, str] | None = None,
) -> Graph:
    """A graph of (head, tail), (head, relation, tail) or weighted rows, a number at the end being a weight."""
    weighted = isinstance(rows[0][-1], float)
    ends = [row[:-1] if weighted else row for row in rows]
    knowledge = len(ends[0]) == 3
    names = list(dict.fromkeys([name for row in ends for name in (row[0], row[-1])] + list(extra)))
    entities = Vocabulary.of(names, labels=labels)
    used = dict.fromkeys(row[1] if knowledge else "edge" for row in ends)
    relations = Vocabulary.of(used, role="relation", labels=relation_labels)
    entity_types = None
    if types is not None:
        kinds = Vocabulary.of(dict.fromkeys(types.values()), role="entity type")
        numbers = [kinds.id(types[name]) if name in types else -1 for name in names]
        entity_types = EntityTypes(kinds, np.array(numbers, dtype=np.int32))
    triplets = Triplets.of(
        [entities.id(row[0]) for row in ends],
        [relations.id(row[1] if knowledge else "edge") for row in ends],
        [entities.id(row[-1]) for row in ends],
        [row[-1] for row in rows] if weighted else None,
    )
    return Graph("g", "knowledge" if knowledge else "homogeneous", entities, relations, triplets, entity_types)


def dataset_of(graph: Graph) -> Dataset:
    """The graph's first edge as train, all of them as valid, the last one as test."""
    everything = graph.triplets
    train = dataclasses.replace(graph, triplets=everything.take(np.arange(max(1, len(everything) - 1))))
    return Dataset("d", train, everything, everything.take(np.arange(len(everything))[-1:]))


def assert_same(got: Dataset, expected: Dataset, named: Named) -> None:
    assert got.kind == expected.kind
    for part in ("train", "valid"):
        pick = (lambda d: d.train.triplets) if part == "train" else (lambda d: d.valid)
        assert named(got.train, pick(got)) == named(expected.train, pick(expected))
    assert named(got.facts_of_test, got.test) == named(expected.facts_of_test, expected.test)
    assert_same_graph(got.train, expected.train, named)
    if expected.test_graph is not None and got.test_graph is not None:
        assert named(got.test_graph) == named(expected.test_graph)
        assert_same_graph(got.test_graph, expected.test_graph, named)
        extra = (got.test_graph_valid, expected.test_graph_valid)
        assert named(got.test_graph, extra[0]) == named(expected.test_graph, extra[1])


def assert_same_graph(got: Graph, expected: Graph, named: Named) -> None:
    assert sorted(got.entities) == sorted(expected.entities)
    assert set(got.relations) == set(expected.relations)
    for here, there in ((got.entities, expected.entities), (got.relations, expected.relations)):
        labels = {name: label for name, label in there.labels.items() if name in there}
        assert {name: label for name, label in here.labels.items() if name in here} == labels
    assert types_of(got) == types_of(expected)


def types_of(graph: Graph) -> dict[str, str] | None:
    if graph.types is None:
        return None
    pairs = zip(graph.entities, graph.types.of_entity.tolist(), strict=True)
    return {name: graph.types.names[t] for name, t in pairs if t >= 0}


ABC = [("a", "r", "b"), ("b", "s", "c"), ("a", "r", "c"), ("c", "s", "c")]
GRAPHS = {
    "plain": graph_of(ABC),
    "weighted": graph_of([(*row, weight) for row, weight in zip(ABC, (0.1, 5e-324, 1e308, 0.0), strict=True)]),
    "homogeneous": graph_of([("a", "b"), ("b", "c"), ("c", "c")]),
    "homogeneous weighted": graph_of([("a", "b", 0.5), ("b", "c", 1 / 3)]),
    "numbers": graph_of([("1", "2"), ("2", "3"), ("3", "1")]),
    "weighted numbers": graph_of([("1", "2", 1.0), ("2", "3", 2.0)]),
    "isolated": graph_of(ABC, extra=("alone", "alone\u2028too", "#")),
    "isolated homogeneous": graph_of([("a", "b"), ("b", "c")], extra=("alone",)),
    "labels": graph_of(ABC, labels={"a": "Alpha, the first", "c": '"C"'}, relation_labels={"r": "is like"}),
    "types": graph_of(ABC, types={"a": "drug", "c": "gene, or protein"}, extra=("alone",)),
    "types of none": graph_of(ABC, types={}),
    "header": graph_of([("head", "relation", "tail"), ("a", "r", "b")]),
    "header in another order": graph_of([("tail", "relation", "head"), ("a", "r", "b")]),
    "header of a homogeneous graph": graph_of([("source", "target"), ("a", "b")]),
    "words over numbers": graph_of([("x", "r", "y"), ("1", "s", "2"), ("3", "s", "4")]),
    "words over numbers, homogeneous": graph_of([("x", "y"), ("1", "2")]),
    "a relation like a title": graph_of([("a", "property", "b"), ("c", "r", "d")]),
    "comment": graph_of([("# a", "r", "b"), ("% c", "r", "d"), ("#", "r", "e")]),
    "comment of a homogeneous graph": graph_of([("# Nodes: 5", "b"), ("%", "d")]),
    "mark": graph_of([("\ufeffa", "r", "b"), ("a", "r", "b")], extra=("alone",), labels={"\ufeffa": "x"}),
    "blanks": graph_of([("\u2028", "\x85", "\u200b"), ("a\u00a0a", "r  r", "b b"), ("\x1c", "\x1d", "\x0b")]),
    "blanks, homogeneous": graph_of([("\x1c", "\x1d"), ("\u2003", "\u3000")]),
    "a first fact like a header": graph_of([("x", "q", "y"), *[(f"e{i}", "r", f"e{i + 1}") for i in range(30)]]),
    "a first edge like a header": graph_of([("x", "y"), *[(f"e{i}", f"e{i + 1}") for i in range(30)]]),
    "numbers at the end": graph_of([(f"e{i}", f"e{i + 1}", str(i)) for i in range(30)]),
    "relations that look like entities": graph_of([(f"e{i % 2}", f"r{i}", f"r{i + 1}") for i in range(30)]),
    "quotes": graph_of([('"', '"r', "b"), ("'a'", 's"', '"x" y'), ("a, b", "r,s", "c;d")]),
    "spaces": graph_of([("a b", "r s", "c d"), ("e f g", "h", "i")]),
    "control characters": graph_of([("a\x01b", "r\x02", "\x03"), ("c", "r", "d")]),
    "long": graph_of([("x" * 200_000, "r", "y"), ("y", "r", "z")]),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_what_is_written_is_read_back(graph: Graph, tmp_path: Path, named: Named) -> None:
    dataset = dataset_of(graph)
    write_folder(dataset, tmp_path / "made" / "here")
    if graph.types is not None and not types_of(graph):
        return  # a type for no entity leaves nothing to write
    assert_same(read_folder(tmp_path / "made" / "here", "d"), dataset, named)


def test_plain_files_have_no_header(tmp_path: Path) -> None:
    """Other tools read train.txt as plain triplets."""
    write_folder(dataset_of(GRAPHS["plain"]), tmp_path / "d")
    assert (tmp_path / "d" / "train.txt").read_bytes() == b"a\tr\tb\nb\ts\tc\na\tr\tc\n"
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["test.txt", "train.txt", "valid.txt"]


names = (
    st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\t\n\r\0") | st.sampled_from("a#% \ufeff\"'1"),
        min_size=1,
        max_size=4,
    )
    .map(lambda name: name.strip(BLANKS))
    .filter(bool)
)
odd = st.sampled_from(["head", "relation", "tail", "source", "target", "link", "weight", "1", "23", "# x", "nan"])
name = names | odd


@given(
    rows=st.one_of(
        st.lists(st.tuples(name, name), min_size=1, max_size=5),
        st.lists(st.tuples(name, name, name), min_size=1, max_size=5),
        st.lists(st.tuples(name, name, st.floats(0, 1e300)), min_size=1, max_size=5),
        st.lists(st.tuples(name, name, name, st.floats(0, 1e300)), min_size=1, max_size=5),
    ),
    extra=st.lists(name, max_size=2),
)
def test_any_names_survive_a_folder(
    rows: list[tuple[Any, ...]], extra: list[str], tmp_path_factory: pytest.TempPathFactory, named: Named
) -> None:
    dataset = dataset_of(graph_of(rows, extra=tuple(extra)))
    folder = tmp_path_factory.mktemp("any") / "d"
    write_folder(dataset, folder)
    assert_same(read_folder(folder, "d"), dataset, named)


@pytest.mark.parametrize("missing", [("valid",), ("test",), ("valid", "test")], ids=" and ".join)
@pytest.mark.parametrize("graph", ["weighted", "homogeneous weighted"])
def test_empty_parts(graph: str, missing: tuple[str, ...], tmp_path: Path, named: Named) -> None:
    dataset = dataclasses.replace(dataset_of(GRAPHS[graph]), **dict.fromkeys(missing, Triplets.empty()))
    write_folder(dataset, tmp_path / "d")
    again = read_folder(tmp_path / "d", "d")
    assert named(again.train) == named(dataset.train)
    for part in ("valid", "test"):
        assert named(again.train, getattr(again, part)) == named(dataset.train, getattr(dataset, part))


def inductive() -> Dataset:
    train = graph_of(ABC, extra=("alone here",), labels={"a": "Alpha"}, relation_labels={"s": "is so"})
    rows = [("y", "s", "z"), ("z", "r", "y")]
    unseen = graph_of(rows, extra=("new", "alone there"), labels={"y": "Ypsilon"}, types={"z": "letter"})
    order = np.array([train.relations.id(name) for name in unseen.relations], dtype=np.int32)
    facts = dataclasses.replace(unseen.triplets, relation=order[unseen.triplets.relation])
    unseen = dataclasses.replace(unseen, triplets=facts, relations=train.relations)
    test = Triplets.of([0], [0], [2])
    return Dataset("x", train, train.triplets, test, unseen, test_graph_valid=Triplets.of([2], [1], [1]))


def test_an_inductive_dataset_becomes_a_pair_of_folders(tmp_path: Path, named: Named) -> None:
    dataset = inductive()
    write_folder(dataset, tmp_path / "x")
    assert has_inductive_twin(tmp_path / "x")
    assert_same(read_inductive(tmp_path / "x", "x"), dataset, named)


@pytest.mark.parametrize("taken", ["x", "x_ind"])
def test_a_pair_is_written_both_or_not_at_all(taken: str, tmp_path: Path) -> None:
    (tmp_path / taken).mkdir()
    (tmp_path / taken / "precious").write_text("x")
    with pytest.raises(WriteError, match="exists already"):
        write_folder(inductive(), tmp_path / "x")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [taken, f"{taken}/precious"]


BAD = ["a\tb", "a\nb", "a\rb", "a\0b", "a\ud800b"]


@pytest.mark.parametrize("where", ["entity", "relation", "isolated", "label", "relation label", "type"])
@pytest.mark.parametrize("bad", BAD, ids=ascii)
def test_what_no_text_file_can_hold_is_refused(where: str, bad: str, tmp_path: Path) -> None:
    graph = graph_of(
        [(bad if where == "entity" else "a", bad if where == "relation" else "r", "b"), ("b", "r", "c")],
        extra=(bad,) if where == "isolated" else (),
        labels={"b": bad} if where == "label" else None,
        relation_labels={"r": bad} if where == "relation label" else None,
        types={"b": bad} if where == "type" else None,
    )
    with pytest.raises(WriteError) as caught:
        write_folder(dataset_of(graph), tmp_path / "d")
    assert repr(bad) in str(caught.value)
    assert isinstance(caught.value, NbfnetError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [" a", "a\u00a0"], ids=ascii)
def test_spaces_around_names_are_refused_and_around_labels_left_out(bad: str, tmp_path: Path) -> None:
    """They would be stripped when the files are read."""
    with pytest.raises(WriteError, match="a space around it"):
        write_folder(dataset_of(graph_of([(bad, "r", "b"), ("b", "r", "c")])), tmp_path / "d")
    write_folder(dataset_of(graph_of([("a", "r", "b"), ("b", "r", "c")], labels={"b": bad})), tmp_path / "e")
    assert (tmp_path / "e" / "entity_names.txt").read_text() == "b\ta\n"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "train.txt").write_text("precious")
    with pytest.raises(WriteError, match="exists already"):
        write_folder(dataset_of(GRAPHS["plain"]), tmp_path / "d")
    assert (tmp_path / "d" / "train.txt").read_text() == "precious"


def test_a_split_file_survives_writing(write: Write, tmp_path: Path, named: Named) -> None:
    rows = "".join(f"n{i}\tr{i % 3}\tn{(i * 7 + 1) % 50}\t{i / 8}\n" for i in range(200))
    dataset = split(read(write("g.tsv", rows)), seed=1)
    write_folder(dataset, tmp_path / "d")
    assert_same(read_folder(tmp_path / "d", "d"), dataset, named)


def test_a_lonely_first_fact_of_a_folder_is_a_fact(tmp_path):
    """Its relation is only asked in test: a header would stand in every file."""
    facts = "".join(f"a{i % 7}\tr{i % 2}\tb{i}\n" for i in range(30))
    (tmp_path / "train.txt").write_text("x\tasked\ty\n" + facts)
    (tmp_path / "test.txt").write_text("a1\tasked\tb2\n")
    dataset = load(tmp_path)
    assert len(dataset.train.triplets) == 31 and "asked" in dataset.train.relations
    for part in ("train", "test"):
        file = tmp_path / f"{part}.txt"
        file.write_text("who\tdid what\tto whom\n" + file.read_text().partition("\n")[2])
    (tmp_path / "test.txt").write_text("who\tdid what\tto whom\na1\tr0\tb2\n")
    dataset = load(tmp_path)
    assert len(dataset.train.triplets) == 30 and "did what" not in dataset.train.relations
