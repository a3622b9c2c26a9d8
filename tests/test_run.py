"""The facade: names in, names out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pandas as pd
import pytest

import nbfnet
from nbfnet.config import read_toml
from nbfnet.errors import ConfigError, EvaluationError, RunFolderError
from nbfnet.graph.graph import Dataset
from nbfnet.training.run_folder import RunFolder

HUB = "北京 市"


@pytest.mark.parametrize("start", ["nbfnet; nbfnet.paths, nbfnet.read, nbfnet.load", "nbfnet.cli.paths"])
def test_what_needs_no_network_does_not_import_torch(start):
    code = f"import sys, {start}; print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


def test_the_package_alone_is_light():
    """Ctrl-C is caught once it is loaded: that must not take long."""
    code = "import sys, nbfnet; print({'numpy', 'duckdb', 'torch', 'rich'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def test_everything_promised_is_there():
    assert {name for name in nbfnet.__all__ if not hasattr(nbfnet, name)} == set()
    assert set(nbfnet.__all__) <= set(dir(nbfnet))
    with pytest.raises(AttributeError, match="'nothing'"):
        nbfnet.nothing  # noqa: B018


def test_from_a_list_of_facts_to_an_explained_answer(small_config):
    facts = [(f"drug {i}", "treats", f"disease {i % 7}") for i in range(30)]
    facts += [(f"drug {i}", "treats", f"disease {(i + 1) % 7}") for i in range(30)]
    facts += [(f"disease {i}", "like", f"disease {(i + 1) % 7}") for i in range(7)]
    run = nbfnet.train(nbfnet.read(facts), config=small_config)
    assert run.config.model.dim == 8
    answers = run.predict("drug 1", "treats", k=3)
    assert [a.rank for a in answers if not a.known] == [1, 2, 3]
    assert {a.name for a in answers if a.known} == {"disease 1", "disease 2"}
    explanation = run.explain("drug 1", "treats", answers[0].name)
    assert (explanation.query.head, explanation.query.tail) == ("drug 1", answers[0].name)
    assert run.rules("like", predictions=5)
    assert 0 < run.evaluate().metrics.to_dict()["mrr"] <= 1
    assert repr(run) == f"<Run {str(run.folder.path)!r}: graph, asked on 67 facts>"
    shutil.rmtree(run.folder.path.parent)


def test_a_folder_that_is_opened_again_answers_the_same(things_run):
    again = nbfnet.Run.open(things_run.folder.path)
    asked = [("Zoë, née X", "has part", None), (None, "next to", "a,b"), (HUB, None, "a,b")]
    for query in asked:
        assert again.predict(*query, k=99) == things_run.predict(*query, k=99)
    assert again.evaluate().to_dict()["metrics"] == things_run.evaluate().to_dict()["metrics"]
    explained = again.explain(HUB, "has part", "leaf 3").to_dict()
    assert explained == things_run.explain(HUB, "has part", "leaf 3").to_dict()
    assert [str(rule) for rule in again.rules("next to")] == [str(rule) for rule in things_run.rules("next to")]


def test_evaluate_asks_the_split(things_run, friends_run):
    test, valid = things_run.evaluate(), things_run.evaluate("valid")
    assert (test.split, test.overall.links) == ("test", len(things_run.dataset.test))
    assert (valid.split, valid.overall.links) == ("valid", len(things_run.dataset.valid))
    assert valid.metrics.to_dict()["mrr"] == things_run.folder.manifest["metrics"]["valid"]["mrr"]
    assert things_run.evaluate(sample=2).overall.links == 2
    assert set(friends_run.evaluate().metrics.to_dict()) == {"auroc", "ap"}


def test_on_another_graph_answers_change_at_once_and_as_if_built_for_it(sigmoid_run, tmp_path):
    old = sigmoid_run.graph
    named = [
        (old.entities[u], old.relations[q], old.entities[v])
        for u, q, v in zip(
            old.triplets.head.tolist(), old.triplets.relation.tolist(), old.triplets.tail.tolist(), strict=True
        )
    ]
    updated = nbfnet.read(
        [*named[3:], ("newcomer", "has part", "leaf 3"), (HUB, "next to", "newcomer")], name="updated"
    )
    moved = sigmoid_run.on(updated)
    # From scratch: a run folder made for the updated graph, with the same weights.
    dataset = Dataset("updated", moved.graph, sigmoid_run.dataset.valid.take([]), sigmoid_run.dataset.test.take([]))
    fresh = RunFolder.create(tmp_path / "fresh", dataset, sigmoid_run.config)
    network, epoch = sigmoid_run.folder.network_and_epoch(sigmoid_run.dataset)
    fresh.write_network(network, epoch)
    fresh.update(metrics=sigmoid_run.folder.manifest["metrics"])
    rebuilt = nbfnet.Run.open(fresh.path)
    for query in [
        (HUB, "next to", None),
        (None, "has part", "leaf 3"),
        ("newcomer", None, "leaf 3"),
        ("newcomer", "next to", None),
    ]:
        answers = moved.predict(*query, k=999)
        assert answers == rebuilt.predict(*query, k=999)
        if "newcomer" not in query:
            before = {a.name: a.probability for a in sigmoid_run.predict(*query, k=999)}
            assert any(before.get(a.name) != a.probability for a in answers)
    assert moved.predict(HUB, "next to", k=999) != sigmoid_run.predict(HUB, "next to", k=999)
    assert (
        moved.explain("newcomer", "has part", "leaf 3").to_dict()
        == rebuilt.explain("newcomer", "has part", "leaf 3").to_dict()
    )
    # What it was learned from is as before.
    assert sigmoid_run.predict(HUB, "next to") == nbfnet.Run.open(sigmoid_run.folder.path).predict(HUB, "next to")
    assert moved.on(old).predict(HUB, "next to", k=999) == sigmoid_run.predict(HUB, "next to", k=999)


def test_a_relation_that_was_never_seen_is_named(things_run):
    with pytest.raises(EvaluationError, match="unknown relation 'next too'; did you mean 'next to'"):
        things_run.on(nbfnet.read([("a", "next too", "b")]))
    with pytest.raises(EvaluationError, match="homogeneous"):
        things_run.on(nbfnet.read([("a", "b")]))


def test_another_graph_keeps_the_types_that_were_learned(small_config, tmp_path):
    facts = [(f"e{i}", f"r{i % 2}", f"e{i * 7 % 40}") for i in range(120)]
    (tmp_path / "types.tsv").write_text("".join(f"e{i}\t{'even' if i % 2 == 0 else 'odd'}\n" for i in range(120)))
    (tmp_path / "facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    graph = nbfnet.read(tmp_path / "facts.tsv", types=tmp_path / "types.tsv")
    run = nbfnet.train(graph, tmp_path / "run", config=small_config, epochs=0)
    moved = run.on(nbfnet.read(facts[:60]))
    assert {answer.name for answer in moved.predict("e1", "r1", types=["even"], k=99)} == {
        name for name in moved.graph.entities if int(name[1:]) % 2 == 0
    }


def test_a_graph_of_fewer_relations_is_welcome(things_run):
    run = things_run.on(nbfnet.read([("p", 'größer "als"', "q"), ("q", 'größer "als"', "r")]))
    assert {a.name for a in run.predict("p", "has part")} == {"q", "r"}
    assert [a.name for a in run.predict("p", 'größer "als"', k=9) if a.known] == ["q"]
    assert {a.name for a in run.predict("p", None, "q")} == set(things_run.graph.relations)


def test_configurations_and_seeds(things, small_config, tmp_path):
    toml = tmp_path / "small.toml"
    toml.write_text("[model]\ndim = 8\nlayers = 1\nhidden = []\n[training]\nepochs = 3\nseed = 7\n")
    assert read_toml(toml)["training"]["seed"] == 7
    graph = nbfnet.read([(f"e{i}", f"r{i % 2}", f"e{i * 7 % 40}") for i in range(120)])
    runs = {
        "file": nbfnet.train(graph, tmp_path / "file", config=toml, epochs=0),
        "text": nbfnet.train(graph, tmp_path / "text", config=str(toml), epochs=0, seed=7),
        "other": nbfnet.train(graph, tmp_path / "other", config=toml, epochs=0, seed=8),
    }
    assert [run.config.training.seed for run in runs.values()] == [7, 7, 8]
    assert runs["file"].config.training.epochs == 0
    prints = [run.folder.manifest["dataset"]["fingerprint"] for run in runs.values()]
    assert prints[0] == prints[1] != prints[2]  # the seed draws the split too
    weights = [(run.folder.path / "model.safetensors").read_bytes() for run in runs.values()]
    assert weights[0] == weights[1] != weights[2]
    toml.write_text("[model]\ndimm = 8\n")
    with pytest.raises(ConfigError, match=r"small\.toml.*dimm"):
        nbfnet.train(graph, config=toml)
    with pytest.raises(RunFolderError, match="exists already"):
        nbfnet.train(things, tmp_path / "file", config=small_config)


def test_train_takes_graphs_datasets_and_paths(things, small_config):
    by_path = nbfnet.train(things, config=small_config, epochs=0)
    by_name = nbfnet.train(str(things), config=small_config, epochs=0)
    by_dataset = nbfnet.train(nbfnet.load(things), config=small_config, epochs=0)
    prints = {run.folder.manifest["dataset"]["fingerprint"] for run in (by_path, by_name, by_dataset)}
    assert len(prints) == 1
    for run in (by_path, by_name, by_dataset):
        shutil.rmtree(run.folder.path.parent)


def test_no_fact_of_the_user_comes_back_as_a_discovery(things_run, things):
    """Whatever part of the split a fact is in, an answer that is one says so."""
    given = [line.split("\t") for part in ("train", "valid", "test") for line in lines_of(things / f"{part}.txt")]
    facts = {tuple(fact) for fact in given}
    known = 0
    for head, relation in {(head, relation) for head, relation, _ in facts}:
        for answer in things_run.predict(head, relation, k=99):
            assert answer.known == ((head, relation, answer.name) in facts)
            known += answer.known
    assert known == len(facts)
    train_only = nbfnet.Run.open(things_run.folder.path, train_only=True)
    trained = {tuple(line.split("\t")) for line in lines_of(things / "train.txt")}
    answers = train_only.predict(HUB, "has part", k=99, any_type=True)
    assert {a.name for a in answers if a.known} == {t for h, r, t in trained if (h, r) == (HUB, "has part")}


def lines_of(file):
    return file.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize("name", ["things_run", "friends_run"])
def test_predict_and_explain_give_the_same_probability(request, name):
    run = request.getfixturevalue(name)
    relation = run.graph.relations[0]
    for entity in list(run.graph.entities)[:6]:
        asked = [({"head": entity, "relation": relation}, "tail"), ({"tail": entity, "relation": relation}, "head")]
        for query, role in asked:
            answers = run.predict(**query, k=2)
            assert len(answers) >= 2
            for answer in answers:
                link = {**query, role: answer.name}
                explanation = run.explain(link["head"], relation, link["tail"], k=1, asked=role)
                assert explanation.probability == pytest.approx(answer.probability, abs=1e-9)
                assert explanation.asked == role


def test_train_takes_what_read_takes(small_config, tmp_path):
    rows = [(f"drug {i}", "treats", f"disease {i % 7}") for i in range(60)]
    rows += [(f"disease {i}", "like", f"disease {(i + 1) % 7}") for i in range(7)]
    table = pd.DataFrame(rows, columns=["head", "relation", "tail"])
    types = {name: name.split()[0] for row in rows for name in (row[0], row[2])}
    runs = [nbfnet.train(source, config=small_config, types=types, progress=False) for source in (rows, table)]
    assert runs[0].dataset.train.types is not None
    assert runs[0].history == [{**entry, **times(runs[0], i)} for i, entry in enumerate(runs[1].history)]
    heard = []
    folder = tmp_path / "run"
    nbfnet.train(rows, folder, config=small_config, epochs=1, progress=False, callback=heard.append)
    run = nbfnet.train(rows, folder, config=small_config, epochs=3, resume=True, progress=False, callback=heard.append)
    assert [entry["epoch"] for entry in heard] == [1, 2, 3] == [entry["epoch"] for entry in run.history]
    with pytest.raises(nbfnet.NbfnetError, match="needs the folder"):
        nbfnet.train(rows, resume=True)


def times(run, i):
    return {key: value for key, value in run.history[i].items() if key.endswith("seconds")}


def test_progress_of_a_training_is_shown_unless_it_is_not_wanted(small_config, capsys):
    rows = [(f"a{i}", "r", f"b{i % 7}") for i in range(60)]
    nbfnet.train(rows, config=small_config)
    assert "epoch 1  loss" in capsys.readouterr().err
    nbfnet.train(rows, config=small_config, progress=False)
    assert capsys.readouterr().err == ""


def test_many_queries_and_scored_links(things_run):
    queries = [(HUB, "has part", None), ("?", "next to", "a,b"), (HUB, None, "a,b")]
    many = things_run.predict_many(queries, k=2)
    assert [answers.asked for answers in many] == ["tail", "head", "relation"]
    assert many[0] == things_run.predict(HUB, "has part", k=2)
    frame = pd.DataFrame({"head": [HUB, HUB], "relation": ["has part", "next to"]})
    assert things_run.predict_many(frame, k=2)[0] == many[0]
    assert things_run.predict_many(frame, k=2).to_pandas()["query"].max() == 2
    for wrong in ([(HUB, "has part", None, None)], pd.DataFrame({"who": [HUB], "relation": ["has part"]})):
        with pytest.raises(nbfnet.NbfnetError, match="head, relation and tail"):
            things_run.predict_many(wrong)
    scored = things_run.score([(HUB, "next to", "bell\x07ring"), (HUB, "has part", "alone 3")])
    assert [link.known for link in scored] == [True, False]
    answers = {a.name: a for a in things_run.predict(HUB, "has part", k=99)}
    assert scored[1].probability == pytest.approx(answers["alone 3"].probability, abs=1e-9)
    assert scored.to_pandas()["tail"].tolist() == ["bell\x07ring", "alone 3"]


def test_evaluation_with_baselines_and_links_of_ones_own(things_run):
    result = things_run.evaluate(baselines=True)
    assert set(result.baselines) == {"katz", "ppr", "distance", "relation frequency"}
    assert result.to_pandas()["scorer"].tolist()[0] == "this network"
    asked = things_run.evaluate(queries=[(HUB, "has part", "alone 3")])
    assert asked.overall.links == 1
    assert "mrr" in repr(result)


def test_several_runs_and_more_facts(things_run, sigmoid_run):
    both = nbfnet.Run.open(things_run.folder.path, sigmoid_run.folder.path)
    answers = {a.name: a.probability for a in both.predict(HUB, "has part", k=99)}
    each = [{a.name: a.probability for a in run.predict(HUB, "has part", k=99)} for run in (things_run, sigmoid_run)]
    assert answers == pytest.approx({name: (each[0][name] + each[1][name]) / 2 for name in each[0]})
    more = things_run.with_facts([("newcomer", "next to", HUB)])
    assert {a.name for a in more.predict("newcomer", "next to") if a.known} == {HUB}
    with pytest.raises(nbfnet.NbfnetError, match="unheard of"):
        things_run.with_facts([("newcomer", "unheard of", HUB)])


def test_rules_as_a_table(things_run):
    rules = things_run.rules("has part", predictions=5, min_support=2, sort="confidence")
    table = rules.to_pandas()
    assert table["support"].min() >= 2
    assert table["text"].tolist() == [rule.to_dict()["text"] for rule in rules]


def test_everything_is_shown_in_a_notebook_and_as_plain_data(things_run):
    result = things_run.evaluate(baselines=True)
    shown = {
        "answers": things_run.predict(HUB, "has part", k=2),
        "many": things_run.predict_many([(HUB, "has part", None)], k=2),
        "links": things_run.missing_links(3, minutes=0.1),
        "explanation": things_run.explain(HUB, "has part", "a,b"),
        "rules": things_run.rules("has part", predictions=5),
        "result": result,
    }
    for name, thing in shown.items():
        assert json.loads(json.dumps(thing.to_dict())), name
        assert len(thing.to_pandas()), name
        assert "object at 0x" not in repr(thing), name
        page = parse(thing._repr_html_())
        assert page.findall(".//table") or page.tag == "table", name
    rows = [[cell.text for cell in row] for row in parse(result._repr_html_()).iter("tr")]
    assert rows[0][1:] == list(result.metrics.to_dict())
    assert [row[0] for row in rows[1:]] == ["this network", "katz", "ppr", "distance", "relation frequency"]
    assert float(rows[1][2]) == pytest.approx(result.metrics.mrr, abs=1e-4)
    assert shown["rules"].to_dict()["relation"] == "has part"
    assert shown["links"].how["scored"] > 0


def parse(page):
    return ElementTree.fromstring(f"<page>{page}</page>")


def test_the_learning_curve_is_a_figure(things_run):
    figure = things_run.learning_curve()
    assert [axes.get_title() for axes in figure.axes] == ["loss", "validation"]
    assert figure.axes[0].lines[0].get_ydata().tolist() == [entry["loss"] for entry in things_run.history]
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_training_in_steps_as_commands_take_them(things, small_config, tmp_path):
    begun = nbfnet.Run.begin(tmp_path / "run", things, small_config, {"training": {"epochs": 2, "seed": 5}})
    assert begun.history == []
    heard = []
    begun.train(listener=heard.append)
    assert heard == begun.history and len(heard) == 2
    assert begun.folder.manifest["calibration"]["epoch"] == begun.folder.manifest["metrics"]["epoch"]
    asked = begun.predict(HUB, "has part", k=5)
    assert asked == nbfnet.Run.open(tmp_path / "run").predict(HUB, "has part", k=5)
    # The seed and all else come from the folder; a folder that is not there yet is begun.
    resumed = nbfnet.Run.resume(tmp_path / "run", things, {"training": {"epochs": 3}}).train()
    assert (len(resumed.history), resumed.config.training.seed) == (3, 5)
    fresh = nbfnet.Run.resume(tmp_path / "new", things, small_config, {"training": {"epochs": 3, "seed": 5}}).train()
    assert [entry["loss"] for entry in fresh.history] == [entry["loss"] for entry in resumed.history]


def test_a_resumed_training_has_the_seed_of_its_folder(small_config, tmp_path):
    rows = [(f"a{i}", "r", f"b{i % 7}") for i in range(60)]
    nbfnet.train(rows, tmp_path / "run", config=small_config, seed=7, progress=False)
    run = nbfnet.train(rows, tmp_path / "run", epochs=2, resume=True, progress=False)
    assert (run.config.training.seed, len(run.history)) == (7, 2)


def test_whoever_extends_it_finds_the_parts_at_the_top():
    from torch import nn

    assert issubclass(nbfnet.Message, nn.Module) and issubclass(nbfnet.Aggregate, nn.Module)

    @nbfnet.register_message("test of the top")
    class Mine(nbfnet.Message):
        def forward(self, source_rows, edge_rows):
            return source_rows

    try:
        config = nbfnet.config.ModelConfig(message="test of the top", dim=4, layers=1)
        network = nbfnet.NeuralBellmanFordNetwork(config, 2)
        assert any(isinstance(module, Mine) for module in network.modules())
    finally:
        from nbfnet.operators.registry import messages

        del messages._classes["test of the top"]


def test_the_public_interface_is_all_that_is_listed():
    assert set(dir(nbfnet)) == {*nbfnet.__all__, "__version__"}
