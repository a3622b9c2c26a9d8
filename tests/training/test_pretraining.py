"""Several graphs learned together: their batches, their validation, and a run that belongs to none of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import nbfnet
from nbfnet.config import TrainingConfig, make_config
from nbfnet.distributed import ALONE
from nbfnet.errors import ConfigError, QueryError, RunFolderError, TrainingError
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.inverse import invert
from nbfnet.graph.loading import load
from nbfnet.model.message_graph import MessageGraph
from nbfnet.run import Run
from nbfnet.training.batches import make_batches, mix_batches
from nbfnet.training.checkpoint import read_tensors
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.step import Optimization
from nbfnet.training.validation import Validation, share_links

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = {
    "model": {"dim": 4, "layers": 2, "hidden": [4]},
    "training": {"batch_size": 16, "negatives": 4, "epochs": 2, "batches_per_epoch": 3},
}


@pytest.fixture(scope="module")
def graphs(small):
    """Two graphs, of three relations and of two."""
    facts = [(f"x{i}", "pq"[i % 2], f"x{(3 * i + 1) % 11}") for i in range(40)]
    return [load(small.knowledge), load(nbfnet.read(facts, name="other"))]


def test_an_epoch_has_the_batches_of_every_graph(graphs):
    config = TrainingConfig(batch_size=16, negatives=4, batches_per_epoch=3, seed=5)
    trains = [dataset.train for dataset in graphs]
    mixed, alone = mix_batches(trains, config), [make_batches(graph, config) for graph in trains]
    assert mixed.length == sum(part.length for part in alone)
    orders = []
    for epoch in range(3):
        batches = [mixed.batch(epoch, number) for number in range(mixed.length)]
        orders.append([batch.graph for batch in batches])
        for graph, part in enumerate(alone):
            own = [batch for batch in batches if batch.graph == graph]
            expected = [part.batch(epoch, number) for number in range(part.length)]
            assert sorted(b.target.tolist() for b in own) == sorted(b.target.tolist() for b in expected)
    assert len({tuple(order) for order in orders}) > 1
    again = mix_batches(trains, config)  # any order of asking gives the same batches
    assert np.array_equal(again.batch(2, 1).target, mixed.batch(2, 1).target)
    assert mixed.batch(0, 0).take(slice(0, 2)).graph == mixed.batch(0, 0).graph


def test_one_graph_is_not_mixed(graphs):
    config = TrainingConfig()
    assert type(mix_batches([graphs[0].train], config)) is type(make_batches(graphs[0].train, config))


@pytest.mark.parametrize("edges", ["relational", "alternating"])
def test_a_step_is_taken_on_the_graph_of_its_batch(edges, graphs):
    """The gradients are those of an optimization on that graph alone."""
    config = make_config({"model": {"edges": edges, "aggregate": "sum"}}, TINY)
    trains = [dataset.train for dataset in graphs]
    for loss in ("binary", "softmax"):
        training = config.training.model_copy(update={"loss": loss})
        torch.manual_seed(0)
        network = nbfnet.NeuralBellmanFordNetwork(config.model, 0)
        together = Optimization(network, trains, training, ALONE)
        mixed = mix_batches(trains, training)
        seen = set()
        for number in range(mixed.length):
            batch = mixed.batch(0, number)
            seen.add(batch.graph)
            loss_together = together.compute_gradients(batch)
            gradients = [parameter.grad.clone() for parameter in network.parameters()]
            alone = Optimization(network, trains[batch.graph], training, ALONE)
            assert alone.compute_gradients(dataclasses.replace(batch, graph=0)) == loss_together
            for got, parameter in zip(gradients, network.parameters(), strict=True):
                torch.testing.assert_close(got, parameter.grad)
        assert seen == {0, 1}


@pytest.mark.parametrize("edges", ["relational", "alternating"])
def test_relations_meet_by_some_facts_of_a_batch(edges, graphs):
    """Messages still pass over all facts but its own; how many facts relations meet by differs by batch."""
    config = make_config({"model": {"edges": edges, "aggregate": "sum"}}, TINY)
    trains = [dataset.train for dataset in graphs]
    torch.manual_seed(0)
    network = nbfnet.NeuralBellmanFordNetwork(config.model, 0)
    mixed = mix_batches(trains, config.training)
    losses, counts = {}, set()
    for least in (1.0, 1 - 1e-12, 0.05):
        training = config.training.model_copy(update={"relation_sample": least})
        optimization = Optimization(network, trains, training, ALONE)
        losses[least] = [optimization.compute_gradients(mixed.batch(0, number)) for number in range(mixed.length)]
        assert optimization.compute_gradients(mixed.batch(0, 1)) == losses[least][1]
    assert losses[1.0] == losses[1 - 1e-12]
    assert all(one != other for one, other in zip(losses[1.0], losses[0.05], strict=True))
    for number in range(20):
        batch = mixed.batch(number, 0)
        graph = trains[batch.graph]
        some = optimization._some_facts(graph.message_csr, batch)
        counts.add(some.num_edges / graph.message_csr.num_edges)
        edges = set(zip(some.source.tolist(), some.relation.tolist(), some.target.tolist(), strict=True))
        assert edges == {(t, int(invert(r, graph.num_relations)), h) for h, r, t in edges}
        assert some.relations.num_edges <= graph.message_csr.relations.num_edges
    assert min(counts) < 0.25 and max(counts) > 0.75


def test_hard_negatives_fit_the_relation_and_are_wrong(graphs):
    graph = graphs[0].train
    config = TrainingConfig(batch_size=16, negatives=8, hard_negatives=0.5)
    edges = set(zip(graph.csr.source.tolist(), graph.csr.relation.tolist(), graph.csr.target.tolist(), strict=True))
    tails = {r: {t for _, q, t in edges if q == r} for r in range(graph.num_relation_ids)}
    epochs, differing = make_batches(graph, config), 0
    for number in range(epochs.length):
        batch = epochs.batch(0, number)
        for u, q, candidates in zip(batch.source.tolist(), batch.relation.tolist(), batch.target.tolist(), strict=True):
            answer, hard, easy = candidates[0], candidates[1:5], candidates[5:]
            assert (u, q, answer) in edges
            assert not any((u, q, node) in edges for node in [*hard, *easy])
            fitting = tails[q] - {t for h, r, t in edges if (h, r) == (u, q)}
            assert not fitting or set(hard) <= fitting
            differing += not set(easy) <= fitting
    assert differing


def test_metrics_are_means_over_graphs(graphs):
    torch.manual_seed(0)
    network = nbfnet.NeuralBellmanFordNetwork(make_config({"model": {"edges": "relational"}}, TINY).model, 0).eval()
    validation = Validation(graphs, "cpu", ALONE)
    found = validation.metrics(network, validation.links)
    each = [
        evaluate(NetworkScorer(network, dataset.train.message_csr), dataset, "valid").metrics.to_dict()
        for dataset in graphs
    ]
    assert found["mrr"] == pytest.approx((each[0]["mrr"] + each[1]["mrr"]) / 2)
    assert validation.metrics(network, 0) == {}


@pytest.mark.parametrize(
    ("available", "wanted", "expected"),
    [([10], 7, [7]), ([100, 3, 100], 60, [28, 3, 29]), ([0, 5], 9, [0, 5]), ([2, 2], 0, [0, 0]), ([], 3, [])],
)
def test_links_are_shared_out(available, wanted, expected):
    assert share_links(available, wanted) == expected


def test_a_pretrained_run_belongs_to_no_graph(graphs, tmp_path, small):
    heard = []
    run = Run.pretrain(tmp_path / "run", graphs, TINY, listener=heard.append)
    assert [entry["epoch"] for entry in heard] == [1, 2]
    assert run.relational and not run.dataset.train.num_nodes
    manifest = run.folder.manifest
    assert [graph["name"] for graph in manifest["learned_from"]] == ["knowledge", "other"]
    assert manifest["calibration"]["fitted_on"].endswith("of 2 graphs, known facts removed")
    answers = run.on([("a", "likes", "b"), ("b", "likes", "c")]).predict("a", "likes")
    assert {answer.name for answer in answers} == {"b", "c"}
    assert run.evaluate(facts=small.knowledge).metrics.mrr > 0


def test_it_resumes_as_if_it_had_not_stopped(graphs, tmp_path, monkeypatch):
    Run.pretrain(tmp_path / "whole", graphs, TINY)
    original, steps = Optimization.compute_gradients, []

    def stops(self, batch):
        steps.append(batch.graph)
        if len(steps) == 4:
            raise KeyboardInterrupt
        return original(self, batch)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Optimization, "compute_gradients", stops)
        Run.pretrain(tmp_path / "parts", graphs, TINY)
    Run.pretrain(tmp_path / "parts", graphs, TINY, resume=True)
    for file in ("model.safetensors", "checkpoint.safetensors"):
        whole, parts = (read_tensors(tmp_path / name / file)[0] for name in ("whole", "parts"))
        assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_what_cannot_be_resumed(graphs, tmp_path):
    once = {**TINY, "training": {**TINY["training"], "epochs": 1}}
    Run.pretrain(tmp_path / "run", graphs, once)
    with pytest.raises(RunFolderError, match="exists already"):
        Run.pretrain(tmp_path / "run", graphs, once)
    with pytest.raises(RunFolderError, match="begun with other graphs"):
        Run.pretrain(tmp_path / "run", graphs[::-1], once, resume=True)
    with pytest.raises(RunFolderError, match="begun with other held-out graphs"):
        Run.pretrain(tmp_path / "run", graphs, once, held_out=graphs[:1], resume=True)
    with pytest.raises(RunFolderError, match=r"cannot change training\.negatives"):
        Run.pretrain(tmp_path / "run", graphs, once, {"training": {"negatives": 5}}, resume=True)


def test_what_cannot_be_learned_together(graphs, tmp_path, small):
    with pytest.raises(TrainingError, match="it has no relations"):
        Run.pretrain(tmp_path / "run", [graphs[0], load(small.homogeneous)], TINY)
    with pytest.raises(ConfigError, match="belongs to the relations of one graph"):
        Run.pretrain(tmp_path / "run", graphs, TINY, {"model": {"edges": "dependent"}})
    assert not (tmp_path / "run").exists()


def test_held_out_graphs_are_validated_and_not_learned(graphs, tmp_path):
    run = Run.pretrain(tmp_path / "run", graphs[:1], TINY, held_out=graphs[1:])
    dataset = graphs[1]
    network = run.folder.network(run.dataset)
    found = evaluate(NetworkScorer(network, dataset.train.message_csr), dataset, "valid").metrics.to_dict()
    assert run.folder.manifest["metrics"]["valid"] == pytest.approx(found)
    alone = Run.pretrain(tmp_path / "alone", graphs[:1], TINY)
    after = [read_tensors(r.folder.path / "checkpoint.safetensors")[0] for r in (run, alone)]
    assert all(torch.equal(after[0][name], after[1][name]) for name in after[0])


def test_fine_tuning_begins_with_the_network_of_a_run(graphs, tmp_path):
    pretrained = Run.pretrain(tmp_path / "pretrained", graphs, TINY)
    options = {"training": {"epochs": 1}, "model": {"edges": "relational"}}
    tuned = Run.begin(tmp_path / "tuned", graphs[0], options, start_from=tmp_path / "pretrained")
    assert tuned.config.model.model_dump() == pretrained.config.model.model_dump()
    assert tuned.config.training.loss == pretrained.config.training.loss == "softmax"
    first = tuned.folder.network(tuned.dataset).state_dict()
    expected = pretrained.folder.network(pretrained.dataset).state_dict()
    assert all(torch.equal(first[name], expected[name]) for name in expected)
    tuned.train()
    assert RunFolder.open(tmp_path / "tuned").manifest["metrics"]
    entities = graphs[0].train.entities
    assert Run.open(tmp_path / "tuned").predict(entities[0], "r1").answers  # it belongs to that graph now
    fresh = Run.begin(tmp_path / "fresh", graphs[0], {"model": tuned.config.model.model_dump(mode="json")})
    assert fresh.folder.id != tuned.folder.id


@pytest.mark.parametrize("edges", ["relational", "factorised"])
@pytest.mark.parametrize("inverse", [False, True])
def test_what_a_network_makes_of_the_relations_becomes_parameters(edges, inverse, graphs, tmp_path):
    tables = {"model": TINY["model"] | {"edges": edges, "inverse_edges": inverse}, "training": TINY["training"]}
    pretrained = Run.pretrain(tmp_path / "pretrained", graphs, tables)
    tuned = Run.begin(tmp_path / "tuned", graphs[0], {"training": {"epochs": 1}}, start_from=tmp_path / "pretrained")
    assert tuned.config.model.edges == "pairwise"
    graph, fewer = (MessageGraph(csr) for csr in (graphs[0].train.csr, graphs[0].train.csr.hide(np.arange(40))))
    source, relation = torch.arange(6), torch.tensor([0, 1, 2, 3, 1, 0])
    before, after = (run.folder.network(run.dataset) for run in (pretrained, tuned))
    with torch.no_grad():
        torch.testing.assert_close(
            after.score_all(graph, source, relation), before.score_all(graph, source, relation), atol=1e-5, rtol=1e-5
        )
        # Of a graph with other facts it takes the facts, and not how their relations meet.
        other = MessageGraph(dataclasses.replace(fewer.csr, whole=None))
        assert torch.equal(after.score_all(fewer, source, relation), after.score_all(other, source, relation))
    tuned.train()
    learned = read_tensors(tmp_path / "tuned" / "checkpoint.safetensors")[0]["relation_network.scaled"]
    assert not torch.equal(learned, after.relation_network.scaled)


def test_the_network_that_a_training_begins_with_is_kept_if_none_is_better(tmp_path):
    steps = {"epochs": 2, "batches_per_epoch": 1, "batch_size": 4, "validation_sample": 20, "learning_rate": 10.0}
    tuned = Run.begin(tmp_path / "tuned", "world", {"training": steps}, start_from="universal")
    first = tuned.folder.network(tuned.dataset).state_dict()
    tuned.train()
    assert [entry["epoch"] for entry in tuned.history] == [0, 1, 2]
    assert tuned.folder.manifest["metrics"]["epoch"] == 0  # such a rate destroys it
    kept = tuned.folder.network(tuned.dataset).state_dict()
    assert all(torch.equal(kept[name], first[name]) for name in first)
    resumed = Run.resume(tmp_path / "tuned", "world").train()
    assert len(resumed.history) == 3  # it is not validated again


def test_fine_tuning_that_cannot_be(graphs, tmp_path):
    Run.pretrain(tmp_path / "pretrained", graphs, TINY)
    with pytest.raises(ConfigError, match=r"so model\.dim cannot change"):
        Run.begin(tmp_path / "run", graphs[0], {"model": {"dim": 8}}, start_from=tmp_path / "pretrained")
    Run.begin(tmp_path / "bound", graphs[0], TINY)
    with pytest.raises(TrainingError, match="belongs to the relations of knowledge"):
        Run.begin(tmp_path / "run", graphs[1], start_from=tmp_path / "bound")
    Run.begin(tmp_path / "same relations", graphs[0], start_from=tmp_path / "bound")
    with pytest.raises(QueryError, match="this network is for any graph; train it on one"):
        Run.open(tmp_path / "pretrained").train()
    with pytest.raises(RunFolderError, match="there is no such folder"):
        Run.begin(tmp_path / "run", graphs[0], start_from=tmp_path / "none")


def test_a_team_takes_the_same_steps(commands, small, tmp_path):
    sizes = [*small.options, "--set", "training.batches_per_epoch=3", "--epochs", "1"]
    for name, run in (("alone", commands.run), ("team", lambda *arguments: commands.run_team(2, *arguments)[0])):
        ended = run("pretrain", small.knowledge, small.inductive, "-o", tmp_path / name, *sizes)
        assert ended.code == 0, ended.err
    alone, team = (read_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("alone", "team"))
    for name, tensor in alone.items():
        torch.testing.assert_close(team[name], tensor, atol=1e-4, rtol=1e-3, msg=lambda m, n=name: f"{n}: {m}")
