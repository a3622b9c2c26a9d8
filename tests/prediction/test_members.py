"""Several networks together, and networks on facts that they did not learn from."""

from __future__ import annotations

import random
import shutil

import pytest

import nbfnet
from nbfnet.errors import EvaluationError, NbfnetError
from nbfnet.prediction.asking import Wanted
from nbfnet.training.run_folder import RunFolder

ALL = Wanted(k=999)
HUB = "北京 市"
QUERIES = [(HUB, "has part", None), (None, "next to", HUB), ("leaf 3", 'größer "als"', None), (HUB, None, "a,b")]


@pytest.fixture(scope="session")
def shuffled_run(things, small_config, tmp_path_factory):
    """A network of another seed, from the same facts in another order: all is numbered otherwise."""
    folder = tmp_path_factory.mktemp("data") / "shuffled"
    shutil.copytree(things, folder)
    lines = (folder / "train.txt").read_text(encoding="utf-8").split("\n")[:-1]
    random.Random(5).shuffle(lines)
    (folder / "train.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run = nbfnet.train(folder, tmp_path_factory.mktemp("runs") / "shuffled", config=small_config, seed=3)
    run.folder.update(calibration=None)
    return run


@pytest.fixture(scope="session")
def fewer_run(small_config, tmp_path_factory):
    """A network that never saw 'next to'."""
    rows = [(f"x{i}", ('größer "als"', "has part")[i % 2], f"x{i * 7 % 30}") for i in range(60)]
    return nbfnet.train(nbfnet.read(rows, name="fewer"), tmp_path_factory.mktemp("runs") / "fewer", config=small_config)


def asked(*folders, facts=None, more_facts=None):
    """Runs together, on the facts that are given."""
    run = nbfnet.Run.open(*folders)
    run = run if facts is None else run.on(facts)
    return run if more_facts is None else run.with_facts(more_facts)


def by_name(answers):
    return {answer.name: (answer.probability, answer.known) for answer in answers}


def test_where_a_network_was_trained_need_not_be_where_it_is_asked(sigmoid_run, tmp_path):
    shutil.copytree(sigmoid_run.folder.path, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    folder.manifest["config"]["training"]["device"] = "cuda:77"
    folder.update(config=folder.manifest["config"])
    query = QUERIES[0]
    expected = by_name(sigmoid_run.predict(*query))
    assert by_name(nbfnet.Run.open(tmp_path / "run").predict(*query)) == expected
    moved = nbfnet.Run.open(tmp_path / "run")
    assert moved.evaluate(sample=2).metrics == sigmoid_run.evaluate(sample=2).metrics


def test_several_networks_answer_with_the_mean_of_their_probabilities(sigmoid_run, shuffled_run):
    assert list(shuffled_run.graph.relations) != list(sigmoid_run.graph.relations)
    together_run = nbfnet.Run.open(sigmoid_run.folder.path, shuffled_run.folder.path)
    other = shuffled_run.on(sigmoid_run.graph)
    for query in QUERIES:
        first, second = (by_name(run.predict(*query, k=999)) for run in (sigmoid_run, other))
        answers = together_run.ask(*query, ALL)
        together = by_name(answers)
        assert first.keys() == second.keys() == together.keys()
        for name, (probability, known) in together.items():
            assert probability == pytest.approx((first[name][0] + second[name][0]) / 2, abs=1e-12)
            assert known == first[name][1] == second[name][1]
        vocabulary = sigmoid_run.graph.relations if query[1] is None else sigmoid_run.graph.entities
        keys = [(-answer.probability, vocabulary.id(answer.name)) for answer in answers]
        assert keys == sorted(keys)


@pytest.mark.parametrize("name", ["things_run", "sigmoid_run"])
def test_a_network_beside_itself_changes_nothing(request, name):
    run = request.getfixturevalue(name)
    twice = nbfnet.Run.open(run.folder.path, run.folder.path)
    for query in QUERIES:
        assert by_name(twice.ask(*query, ALL)) == by_name(run.predict(*query, k=999))


def test_one_that_lacks_a_relation_is_told(things_run, fewer_run, friends_run):
    paths = things_run.folder.path, fewer_run.folder.path
    with pytest.raises(EvaluationError) as raised:
        asked(*paths).predictor  # noqa: B018
    assert str(paths[1]) in str(raised.value)
    assert "unknown relation 'next to'" in str(raised.value)
    # The other way round the graph has only what both know.
    assert len(asked(*paths[::-1]).predict("x0", "has part")) == 10
    for pair in ((things_run, friends_run), (friends_run, things_run)):
        with pytest.raises(EvaluationError, match="homogeneous"):
            asked(*(run.folder.path for run in pair)).predictor  # noqa: B018


def test_a_homogeneous_graph_and_a_relation_of_the_same_name(friends_run, small_config, tmp_path):
    edge = friends_run.graph.relations[0]
    rows = [(f"x{i}", edge, f"x{i * 7 % 30}") for i in range(60)]
    other = nbfnet.train(nbfnet.read(rows), tmp_path / "run", config=small_config, epochs=0)
    with pytest.raises(EvaluationError, match="homogeneous"):
        asked(friends_run.folder.path, other.folder.path).predictor  # noqa: B018


def test_facts_replace_the_graph_and_more_facts_join_it(sigmoid_run, things, tmp_path):
    path, old = sigmoid_run.folder.path, (things / "train.txt").read_text(encoding="utf-8")
    new = f"{HUB}\thas part\tbrand new\nbrand new\tnext to\tleaf 3\n"
    (tmp_path / "more.tsv").write_text(new, encoding="utf-8")
    (tmp_path / "all.tsv").write_text(old + new, encoding="utf-8")
    before = sigmoid_run.predict(HUB, "has part", k=999)
    joined = asked(path, more_facts=tmp_path / "more.tsv").ask(HUB, "has part", None, ALL)
    assert by_name(joined)["brand new"][1] is True
    assert "brand new" not in by_name(before)
    assert any(by_name(joined)[name] != entry for name, entry in by_name(before).items())
    for query in QUERIES:
        whole = asked(path, facts=tmp_path / "all.tsv").ask(*query, ALL)
        rebuilt = sigmoid_run.on(nbfnet.read(tmp_path / "all.tsv")).predict(*query, k=999)
        assert [(a.name, a.probability, a.known) for a in whole] == [(a.name, a.probability, a.known) for a in rebuilt]
    described = asked(path, facts=tmp_path / "all.tsv")
    assert described.predict("Fifth leaf", "has part").head == "leaf 5"  # readable names and types are kept
    assert len(described.predict(HUB, "has part", k=999, types=["hub"])) == 3  # not itself
    parts = asked(path, facts=tmp_path / "all.tsv", more_facts=tmp_path / "more.tsv").ask(
        "brand new", "next to", None, ALL
    )
    assert by_name(parts)["leaf 3"][1] is True


def test_mistakes_about_facts(things_run, tmp_path):
    path, file = things_run.folder.path, tmp_path / "new.tsv"
    file.write_text("a\tnext to\tb\n\nb\tnext too\tc\n")
    for options in ({"facts": file}, {"more_facts": file}):
        with pytest.raises(EvaluationError) as raised:
            asked(path, **options)
        assert f"{file}, line 3: unknown relation 'next too'; did you mean 'next to'" in str(raised.value)
    file.write_text("a b\nb c\n")
    for options in ({"facts": file}, {"more_facts": file}):
        with pytest.raises(EvaluationError, match="homogeneous"):
            asked(path, **options)
    for run, options in ((tmp_path / "gone", {}), (path, {"facts": tmp_path / "gone.tsv"})):
        with pytest.raises(NbfnetError, match="no such f"):
            asked(run, **options)
