"""A network that belongs to no graph: ULTRA's weights imported, then asked on graphs whose relations it never saw."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from nbfnet.config import ModelConfig
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.run import Run, universal
from nbfnet.training import run_folder

pytestmark = pytest.mark.usefixtures("one_thread")

FAMILY = (
    "ann\tmother of\tbob\nbob\tfather of\tcid\nann\tgrandmother of\tcid\n"
    "eve\tmother of\tfay\nfay\tmother of\tgus\neve\tgrandmother of\tgus\n"
    "ida\tmother of\tjim\njim\tfather of\tkim\n"
)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A small network under ULTRA's names."""
    torch.manual_seed(1)
    config = ModelConfig(dim=8, layers=3, aggregate="sum", edges="relational", hidden=(8,))
    places = {"relation_network.": "relation_model.", "score_function.": "entity_model.", "layers.": "entity_model."}
    tensors = {}
    for name, tensor in NeuralBellmanFordNetwork(config, 0).state_dict().items():
        ours = next(place for place in places if name.startswith(place))
        theirs = places[ours] + (name if ours == "layers." else name.removeprefix(ours))
        theirs = theirs.replace("edges.mlp", "relation_projection").replace("edges.relation", "relation")
        tensors[theirs] = tensor
    file = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_file(tensors, file)
    return file


@pytest.fixture(scope="module")
def run(weights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "small"
    Run.import_ultra(weights, folder)
    return folder


@pytest.fixture
def family(tmp_path):
    file = tmp_path / "family.tsv"
    file.write_text(FAMILY)
    return file


def test_import_says_what_comes_next(nbfnet, weights, tmp_path):
    answer = nbfnet("import-ultra", weights, "-o", tmp_path / "run")
    assert answer.code == 0, answer.err
    assert "for any graph" in answer.out
    assert f"next: nbfnet predict {tmp_path / 'run'} --facts" in answer.out
    document = nbfnet("import-ultra", weights, "-o", tmp_path / "other", "--json").document
    assert document["config"]["model"]["edges"] == "relational"
    assert nbfnet("info", tmp_path / "run", "--json").document["parameters"]["total"] == document["parameters"]
    nbfnet("import-ultra", weights, "-o", tmp_path / "run").assert_refused("exists already")
    nbfnet("import-ultra", tmp_path / "none", "-o", tmp_path / "new").assert_refused("no such file")


def test_answers_on_a_graph_of_new_relations(nbfnet, run, family):
    everyone = {name for line in FAMILY.splitlines() for name in line.split("\t")[::2]}
    document = nbfnet(
        "predict", run, "--facts", family, "--head", "ida", "--relation", "grandmother of", "--json"
    ).document
    assert {answer[document["asked"]] for answer in document["answers"]} == everyone - {"ida"}
    assert all(0 < answer["probability"] < 1 for answer in document["answers"])
    assert not any(answer["known"] for answer in document["answers"])
    backwards = nbfnet(
        "predict", run, "--facts", family, "--tail", "kim", "--relation", "grandmother of", "--json"
    ).document
    assert len(backwards["answers"]) == 8
    asked = nbfnet("predict", run, "--facts", family, "--head", "ida", "--tail", "kim", "--json").document
    assert {answer["relation"] for answer in asked["answers"]} == {"mother of", "father of", "grandmother of"}


def test_a_known_fact_is_scored_as_if_it_were_not_known(run, family):
    on = Run.open(run).on(family)
    answers = on.predict("ann", "grandmother of")
    known = next(answer for answer in answers if answer.known)
    assert known.name == "cid"
    assert known.probability == pytest.approx(on.explain("ann", "grandmother of", "cid").probability)


def test_reasons_and_rules(nbfnet, run, family):
    document = nbfnet("explain", run, "ida", "grandmother of", "kim", "--facts", family, "--json").document
    reasons = [[edge["relation"] for edge in path["edges"]] for path in document["paths"]]
    assert ["mother of", "father of"] in reasons
    assert nbfnet("rules", run, "grandmother of", "--facts", family, "--json").document["relation"] == "grandmother of"


def test_evaluation_of_links_and_of_a_split(nbfnet, run, family, tmp_path, small):
    (tmp_path / "links.tsv").write_text("ida\tgrandmother of\tkim\n")
    document = nbfnet("evaluate", run, "--facts", family, "--queries", tmp_path / "links.tsv", "--json").document
    assert document["queries"] == 2
    assert 0 < document["metrics"]["mrr"] <= 1
    split = nbfnet("evaluate", run, "--facts", small.knowledge, "--json").document
    assert (split["queries"], split["split"]) == (18, "test")
    assert nbfnet("evaluate", run, "--facts", small.knowledge, "--split", "valid", "--json").document["queries"] == 16
    assert nbfnet("evaluate", run, "--facts", small.inductive, "--json").document["queries"] == 18
    (tmp_path / "links.tsv").write_text("ida\taunt of\tkim\n")
    refused = nbfnet("evaluate", run, "--facts", family, "--queries", tmp_path / "links.tsv")
    refused.assert_refused("links.tsv, line 1: unknown relation 'aunt of'", "give a fact with it")


def test_the_graph_must_be_named(nbfnet, run, family):
    for command in (
        ["predict", run, "--head", "ann", "--relation", "mother of"],
        ["explain", run, "ann", "mother of", "bob"],
        ["rules", run, "mother of"],
        ["evaluate", run],
        ["predict", run, "--more-facts", family, "--head", "ann", "--relation", "mother of"],
    ):
        nbfnet(*command).assert_refused("for any graph and has none of its own", "--facts")


def test_names_that_the_graph_does_not_have(nbfnet, run, family):
    asked = ["predict", run, "--facts", family, "--head", "ann", "--relation"]
    nbfnet(*asked, "aunt of").assert_refused("unknown relation 'aunt of'")
    nbfnet(*asked[:-2], "zoe", "--relation", "mother of").assert_refused("unknown entity 'zoe'")


def test_more_facts_may_have_new_relations(nbfnet, run, family, tmp_path):
    (tmp_path / "more.tsv").write_text("kim\tmarried to\tlou\n")
    facts = ["--facts", family, "--more-facts", tmp_path / "more.tsv"]
    document = nbfnet("predict", run, *facts, "--head", "kim", "--relation", "married to", "--json").document
    assert [answer[document["asked"]] for answer in document["answers"] if answer["known"]] == ["lou"]


def test_one_relation_one_fact_and_no_relation_at_all(nbfnet, run, tmp_path):
    file = tmp_path / "facts.tsv"
    file.write_text("a\tr\tb\n")
    document = nbfnet("predict", run, "--facts", file, "--head", "b", "--relation", "r", "--json").document
    assert [answer[document["asked"]] for answer in document["answers"]] == ["a"]
    file.write_text("a\tr\tb\nb\tr\tc\nc\tr\td\n")
    document = nbfnet("predict", run, "--facts", file, "--head", "d", "--relation", "r", "--json").document
    assert len(document["answers"]) == 3
    file.write_text("a\tb\nb\tc\nc\td\nd\ta\na\tc\n")  # a homogeneous graph
    document = nbfnet("predict", run, "--facts", file, "--head", "b", "--json").document
    assert {answer[document["asked"]] for answer in document["answers"]} == {"a", "c", "d"}
    assert nbfnet("explain", run, "b", "d", "--facts", file, "--json").document["paths"]


def test_a_homogeneous_graph_is_evaluated(nbfnet, run, small):
    assert "auroc" in nbfnet("evaluate", run, "--facts", small.homogeneous, "--json").document["metrics"]


def test_the_word_universal(nbfnet, family, tmp_path, monkeypatch):
    """It stands for the shipped network, and for a folder of that name where there is one."""
    monkeypatch.chdir(tmp_path)
    asked = ["--facts", family, "--head", "ann", "--relation", "mother of", "--json"]
    expected = nbfnet("predict", run_folder.SHIPPED, *asked).document
    assert nbfnet("predict", "universal", *asked).document == expected
    assert nbfnet("info", "universal", "--json").document["parameters"]
    assert nbfnet("explain", "universal", "ann", "mother of", "bob", "--facts", family, "--json").document["paths"]
    (tmp_path / "questions.tsv").write_text("ann\tmother of\t?\n")
    many = ["--facts", family, "--queries", tmp_path / "questions.tsv", "-o", tmp_path / "answers.csv"]
    assert nbfnet("predict", "universal", *many).code == 0
    on = universal(family)
    assert [answer.name for answer in on.predict("ann", "mother of")] == [row["tail"] for row in expected["answers"]]
    (tmp_path / "universal").mkdir()
    nbfnet("predict", "universal", *asked).assert_refused("universal: it has no manifest.json")


def test_the_shipped_network_says_what_it_learned_from():
    """The file is small, it is calibrated on graphs that it did not learn from, and world is not one of the others."""
    shipped = run_folder.RunFolder.open(run_folder.SHIPPED)
    assert sum(file.stat().st_size for file in shipped.path.rglob("*") if file.is_file()) < 2e6
    learned, held_out = ({graph["name"] for graph in shipped.manifest[key]} for key in ("learned_from", "held_out"))
    assert len(learned) >= 2 and "world" not in learned | held_out and not learned & held_out
    assert shipped.manifest["calibration"]["fitted_on"].endswith(f"of {len(held_out)} graphs, known facts removed")
    command = shipped.manifest["made_by"]["command"].split()
    assert command[:2] == ["nbfnet", "pretrain"]
    assert not any(word.startswith("/") for word in command)


def test_the_shipped_network_knows_families(nbfnet, family):
    """Relations that it has never seen, in eight facts: before all others come the child and the grandchild."""
    asked = ["--facts", family, "--head", "ida", "--relation", "grandmother of", "--exclude-known", "--json"]
    answers = nbfnet("predict", "universal", *asked).document["answers"]
    assert {answer["tail"] for answer in answers[:2]} == {"jim", "kim"}


def test_a_dataset_is_named_as_facts(nbfnet, run, tmp_path):
    asked = ["--facts", "world", "--head", "Norway", "--relation", "borders", "-k", "2", "--json"]
    assert {"Sweden", "Finland"} & {row["tail"] for row in nbfnet("predict", run, *asked).document["answers"]}
    (tmp_path / "questions.tsv").write_text("Norway\tborders\t?\n")
    many = ["--facts", "world", "--queries", tmp_path / "questions.tsv", "-o", tmp_path / "answers.csv"]
    assert nbfnet("predict", run, *many).code == 0


@pytest.mark.parametrize("edges", ["relational", "factorised", "alternating"])
def test_pretraining_then_fine_tuning(edges, nbfnet, small, family, tmp_path):
    sizes = [*small.options, "--set", f"model.edges={edges}", "--set", "training.batches_per_epoch=2", "--epochs", "1"]
    answer = nbfnet("pretrain", small.knowledge, small.inductive, "-o", tmp_path / "run", *sizes)
    assert answer.code == 0, answer.err
    assert "epoch 1  loss" in answer.err
    assert f"next: nbfnet predict {tmp_path / 'run'} --facts" in answer.out
    shown = nbfnet("info", tmp_path / "run").out
    assert "for any graph, and with none of its own" in shown
    assert "learned from: knowledge (60 facts), inductive (60 facts)" in shown
    asked = ["--head", "ida", "--relation", "grandmother of", "--json"]
    assert nbfnet("predict", tmp_path / "run", "--facts", family, *asked).document["answers"]
    why = nbfnet("explain", tmp_path / "run", "ann", "mother of", "bob", "--facts", family, "--json").document
    assert why["paths"]
    assert nbfnet("evaluate", tmp_path / "run", "--facts", family, "--json").document["queries"]
    nbfnet("pretrain", small.knowledge, "-o", tmp_path / "run", *sizes, "--resume").assert_refused("other graphs")
    resumed = nbfnet("pretrain", small.knowledge, small.inductive, "-o", tmp_path / "run", *sizes, "--resume", "--json")
    assert resumed.document["best"]["epoch"] == 1
    tuning = ["train", small.knowledge, "-o", tmp_path / "tuned", "--from", tmp_path / "run"]
    tuned = nbfnet(*tuning, "--epochs", "1", "--set", "training.schedule=constant")
    assert tuned.code == 0, tuned.err
    assert f"edges {'alternating' if edges == 'alternating' else 'pairwise'}" in tuned.err
    assert nbfnet("evaluate", tmp_path / "tuned", "--json").document["queries"] == 18
    again = [*tuning, "--epochs", "2"]
    assert nbfnet(*again, "--resume").code == 0


def test_pretraining_that_cannot_be(nbfnet, small, tmp_path):
    nbfnet("pretrain", small.homogeneous, "-o", tmp_path / "run").assert_refused("it has no relations")
    nbfnet("pretrain", tmp_path / "none", "-o", tmp_path / "run").assert_refused("none: no such file")
    both = ["--epochs", "1", "--hours", "1"]
    nbfnet("pretrain", small.knowledge, "-o", tmp_path / "run", *both).assert_refused("give one of them")
    nbfnet("pretrain", small.knowledge, "-o", tmp_path / "run", "--set", "model.edges=dependent").assert_refused(
        "belongs to the relations of one graph"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("name", "mrr", "hits"), [("wn18rr-v1", 0.6471, 0.7606), ("fb15k-237-v1", 0.4726, 0.6488)])
def test_zero_shot_metrics_of_the_authors_code(nbfnet, ultra_folder, tmp_path, name, mrr, hits):
    folder = tmp_path / "ultra"
    assert nbfnet("import-ultra", ultra_folder / "ultra_3g.safetensors", "-o", folder).code == 0
    found = nbfnet("evaluate", folder, "--facts", name, "--ties", "pessimistic", "--json").document["metrics"]
    assert found["mrr"] == pytest.approx(mrr, abs=1e-4)
    assert found["hits@10"] == pytest.approx(hits, abs=1e-4)
