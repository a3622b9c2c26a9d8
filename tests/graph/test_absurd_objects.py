"""Python values that nobody means, and files that unpack to far more than they are."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import numpy as np
import pytest

from nbfnet import paths
from nbfnet.errors import DatasetError, GraphFormatError, NbfnetError, UnknownNameError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.leakage import report_leakage
from nbfnet.graph.loading import load
from nbfnet.graph.reading.read import read
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

EDGES = [("a", "r", "b"), ("b", "r", "c")]


@pytest.mark.parametrize("weight", [10**400, -(10**400), float("inf"), float("nan")])
def test_weights(weight):
    with pytest.raises(GraphFormatError, match="the weight is not a finite number"):
        read([("a", "r", "b", weight)])


def test_names():
    with pytest.raises(GraphFormatError, match="row 1: the tail cannot be a name"):
        read([("a", "r", 10**5000)])
    long = "a" * 3_000_000
    graph = read([(long, "r", "b")])
    assert graph.entities[0] == long
    with pytest.raises(UnknownNameError) as error:
        graph.entities.find("b" * 3_000_000)
    assert len(str(error.value)) < 5_000
    for name in (5, None):
        with pytest.raises(UnknownNameError):
            paths.katz(read(EDGES), name)


@pytest.mark.parametrize("labels", [{1: 2}, {"a": 2}, {"a": None}, {b"a": "b"}])
def test_labels(labels):
    with pytest.raises(GraphFormatError, match="is not text"):
        Vocabulary.of(["a"], labels=labels)


@pytest.mark.parametrize("value", [10**400, "x", None, 1e308, float("nan")])
def test_parameters_of_methods(value):
    graph = read([*EDGES, ("c", "r", "a")])
    with pytest.raises(NbfnetError):
        paths.katz(graph, "a", selection=paths.EdgeSelection(weights={"r": value}))
    if not isinstance(value, str) and value is not None:
        with pytest.raises(NbfnetError):
            paths.katz(graph, "a", beta=value)


def test_one_line_that_unpacks_to_hundreds_of_megabytes(tmp_path: Path):
    file = tmp_path / "small.txt.gz"
    with gzip.open(file, "wb", compresslevel=1) as stream:
        for _ in range(100):
            stream.write(b"a" * 1_000_000)
    assert file.stat().st_size < 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(GraphFormatError, match="line 1: the line is longer than two million bytes"):
        read(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 50_000  # kilobytes


def test_a_leakage_report_whose_keys_would_not_fit_into_64_bits():
    """Of 2^23 nodes and 64 bits, relations whose numbers are 2^18 apart would have the same keys."""
    nodes, relations = 2**23, 2**19
    fact, link = (5, 1, 7), (5, 1 + 2**18, 7)
    train = Triplets.of(*zip(fact, (nodes - 1, 0, nodes - 2), strict=True))
    graph = Graph(
        "large", "knowledge", Vocabulary.numbered(nodes), Vocabulary.numbered(relations, role="relation"), train
    )
    test = Triplets.of(*zip(link, fact, strict=True))
    report = report_leakage(Dataset("large", graph, Triplets.empty(), test))
    assert (report.test_in_train, report.test_pair_in_train) == (1, 2)


def test_negatives_that_cannot_be_numbered(monkeypatch):
    from nbfnet.sampling.known_answers import KnownAnswers
    from nbfnet.sampling.negatives import StrictNegatives

    known = KnownAnswers.of(read(EDGES), read(EDGES).triplets)
    monkeypatch.setattr(KnownAnswers, "num_rows", 2**62)
    with pytest.raises(DatasetError, match="64 bits"):
        StrictNegatives(known)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("labels", value) for value in (5, 1.5, True, ["a"], b"x", object(), np.array([1]))),
        *(("types", value) for value in (5, ("a", "b"))),
        *(("columns", value) for value in (5, [1], b"x", True)),
        *((name, value) for name in ("delimiter", "encoding", "name") for value in (5, b"x", ["a"], np.array([1]))),
        *((name, value) for name in ("header", "skip_bad_lines", "directed") for value in ("no", 5, [], {})),
    ],
)
def test_an_option_of_a_wrong_type(tmp_path, option, value):
    (tmp_path / "g.tsv").write_text("a\tr\tb\n")
    for source in ([("a", "r", "b")], tmp_path / "g.tsv"):
        with pytest.raises(GraphFormatError, match=f"^{option}=.* is a ") as error:
            read(source, **{option: value})
        assert error.value.remedy
    if option != "name":
        with pytest.raises(GraphFormatError, match=f"^{option}=.* is a "):
            load(tmp_path / "g.tsv", **{option: value})


def test_an_option_that_does_not_exist(tmp_path):
    (tmp_path / "g.tsv").write_text("a\tr\tb\n")
    for reader in (read, load):
        with pytest.raises(GraphFormatError, match=r"no option 'delimeter'[\s\S]*delimiter"):
            reader(tmp_path / "g.tsv", delimeter=",")


@pytest.mark.parametrize("source", [5, None, b"x", {}, object()])
def test_what_is_neither_a_graph_nor_a_path(source, tmp_path):
    with pytest.raises(GraphFormatError, match=r"cannot read a graph|there is no edge") as error:
        load(source)
    assert error.value.remedy
    if source is not None:
        with pytest.raises(GraphFormatError, match="not a path"):
            load(tmp_path, test_graph=source)


def test_a_test_graph_of_a_python_object(tmp_path):
    with pytest.raises(GraphFormatError, match="a test graph is stated for a Python object"):
        load(EDGES, test_graph=tmp_path)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", None, [1]])
def test_a_seed_that_is_not_a_number(seed, tmp_path):
    (tmp_path / "g.tsv").write_text("".join(f"a{i}\tr\tb{i}\n" for i in range(50)))
    with pytest.raises(DatasetError, match="seed"):
        load(tmp_path / "g.tsv", seed=seed)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
def test_a_missing_label_or_type_is_not_a_name(missing):
    graph = read(EDGES, labels={"a": missing, "b": "Bee"}, types={"a": missing, "b": "letter"})
    assert graph.entities.labels == {"b": "Bee"}
    assert list(graph.types.names) == ["letter"]
