"""Calibration: what it is fitted on, what it states, and that it recovers what is true."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

import nbfnet
from nbfnet.evaluation.scorer import NetworkScorer, Scorer
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.prediction.calibration import Calibration, calibrate, expected_calibration_error, sigmoid, top_k
from nbfnet.prediction.members import calibrate_run, calibration_of
from nbfnet.training.loop import train
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import resume


def test_expected_calibration_error_by_hand():
    # bin 0.0-0.1: 0.05 and 0.07 with no hit: gap 0.06; bin 0.9-1.0: 0.95 and 1.0 with one hit: gap 0.475
    probability, outcome = np.array([0.05, 0.07, 0.95, 1.0]), np.array([0.0, 0.0, 1.0, 0.0])
    assert expected_calibration_error(probability, outcome) == pytest.approx(0.5 * 0.06 + 0.5 * 0.475)
    assert expected_calibration_error(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0
    assert expected_calibration_error(np.array([0.25] * 4), np.array([1.0, 0, 0, 0])) == pytest.approx(0)


def test_sigmoid_does_not_overflow():
    with np.errstate(all="raise"):
        values = sigmoid(np.array([-1e5, -800.0, -1.0, 0.0, 1.0, 800.0, 1e5]))
    np.testing.assert_allclose(values, [0, 0, 1 / (1 + np.e), 0.5, np.e / (1 + np.e), 1, 1])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 40))
def test_top_k_is_a_stable_sort(scores, k):
    values = np.array(scores, dtype=float)
    assert top_k(values, k).tolist() == sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]


class KnownProbability(Scorer):
    """Twelve candidates get the same logits in another order for every source, 12 and above; heads get none."""

    def __init__(self, nodes, generator):
        self.logits = np.linspace(-3, 6, 12)
        self.truth = np.exp(self.logits) / np.exp(self.logits).sum()
        self.order = np.stack([generator.permutation(12) for _ in range(nodes)])  # which logit each candidate has

    def score_all(self, source, relation):
        table = torch.full((len(source), len(self.order)), -torch.inf)
        table[:, :12] = torch.from_numpy(self.logits[self.order[source.numpy()]]).float()
        table[relation == 1] = -torch.inf
        return table


def test_a_known_probability_is_recovered():
    generator, nodes = np.random.default_rng(0), 1012
    scorer = KnownProbability(nodes, generator)
    sources = np.arange(12, nodes)
    drawn = generator.choice(12, size=len(sources), p=scorer.truth)  # by logit
    answer = np.argmax(scorer.order[sources] == drawn[:, None], axis=1)
    names = Vocabulary.numbered(nodes), Vocabulary.of(["r"], role="relation")
    graph = Graph("synthetic", "knowledge", *names, Triplets.of([0], [0], [1]))
    dataset = Dataset("synthetic", graph, Triplets.of(sources, np.zeros_like(sources), answer), Triplets.empty())
    calibration = calibrate(scorer, dataset)
    shown = scorer.logits[2:]  # the ten best
    np.testing.assert_allclose(calibration.probability(shown), scorer.truth[2:], atol=3 * np.sqrt(0.25 / 1000))
    errors = calibration.description["expected_calibration_error"]
    assert errors["after"] < 0.03 < 0.3 < errors["before"]


def test_only_valid_links_count(things_run):
    dataset = things_run.dataset
    scorer = NetworkScorer(things_run.folder.network(dataset), dataset.train.message_csr)
    expected = calibrate(scorer, dataset).to_dict()
    shuffled = Triplets(dataset.test.tail[::-1], dataset.test.relation, dataset.test.head)
    for test in (Triplets.empty(), shuffled, dataset.test.concatenate(dataset.train.triplets)):
        assert calibrate(scorer, dataclasses.replace(dataset, test=test)).to_dict() == expected
    fewer = calibrate(scorer, dataclasses.replace(dataset, valid=dataset.valid.take(np.arange(2)))).to_dict()
    assert fewer != expected
    stated = dict(things_run.folder.manifest["calibration"])
    assert stated.pop("epoch") == things_run.folder.manifest["metrics"]["epoch"]
    assert stated == expected


def possible(graph, q):
    """The nodes of a type that some fact has in the asked place, and those without a type."""
    if graph.types is None:
        return list(range(graph.num_nodes))
    facts = [
        (int(v), q - graph.num_relations, int(u)) if q >= graph.num_relations else (int(u), q, int(v))
        for u, r, v in rows(graph.triplets)
        if r == q % graph.num_relations
    ]
    kinds = {int(graph.types.of_entity[tail]) for _, _, tail in facts} | {-1}
    return [v for v in range(graph.num_nodes) if int(graph.types.of_entity[v]) in kinds]


@pytest.mark.parametrize("name", ["things_run", "friends_run"])
def test_the_manifest_states_what_brute_force_finds(request, name):
    run = request.getfixturevalue(name)
    dataset, stated = run.dataset, run.folder.manifest["calibration"]
    homogeneous, count = dataset.kind == "homogeneous", dataset.train.num_relations
    links = [tuple(map(int, link)) for part in (dataset.train.triplets, dataset.valid) for link in rows(part)]
    known = {(v, q if homogeneous else q + count, u) for u, q, v in links} | set(links)
    valid = [tuple(map(int, link)) for link in rows(dataset.valid)]
    asked = [*valid, *((v, q if homogeneous else q + count, u) for u, q, v in valid)]
    scorer = NetworkScorer(run.folder.network(dataset), dataset.train.message_csr)
    logits, outcomes = [], []
    for u, q, answer in asked:
        scores = scorer.score_all(torch.tensor([u]), torch.tensor([q]))[0].tolist()
        allowed = [v for v in possible(dataset.train, q) if v != u and (v == answer or (u, q, v) not in known)]
        best = sorted(allowed, key=lambda v: (-scores[v], v))[:10]
        logits += [scores[v] for v in best]
        outcomes += [float(v == answer) for v in best]
    x, y = np.array(logits), np.array(outcomes)
    assert stated["method"] == "isotonic"
    assert f"{len(asked)} valid queries" in stated["fitted_on"]
    before = expected_calibration_error(1 / (1 + np.exp(-x)), y)
    assert stated["expected_calibration_error"]["before"] == pytest.approx(before, abs=1e-6)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    np.testing.assert_allclose(calibration_of(run.folder, stated["epoch"]).probability(x), theirs.predict(x), atol=1e-6)


def rows(triplets):
    return zip(triplets.head, triplets.relation, triplets.tail, strict=True)


def test_it_survives_the_manifest(things_run):
    calibration = calibration_of(things_run.folder, things_run.folder.manifest["metrics"]["epoch"])
    again = Calibration.read(calibration.to_dict())
    x = np.linspace(-9, 9, 301)
    np.testing.assert_array_equal(again.probability(x), calibration.probability(x))
    assert again.to_dict() == calibration.to_dict()


def test_without_valid_links_it_is_the_sigmoid(things_run):
    dataset = dataclasses.replace(things_run.dataset, valid=Triplets.empty())
    scorer = NetworkScorer(things_run.folder.network(dataset), dataset.train.message_csr)
    calibration = calibrate(scorer, dataset)
    assert calibration.to_dict() == {"method": "none", "reason": "there are no valid links"}
    x = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(Calibration.read(calibration.to_dict()).probability(x), 1 / (1 + np.exp(-x)))


def test_scores_that_are_not_finite_leave_the_sigmoid(things_run):
    dataset = things_run.dataset
    network = things_run.folder.network(dataset)
    for parameter in network.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    calibration = calibrate(NetworkScorer(network, dataset.train.message_csr), dataset)
    assert calibration.to_dict() == {"method": "none", "reason": "no score is finite"}


def test_a_very_large_undirected_graph_is_not_searched_from_every_node(friends_run, monkeypatch):
    dataset = friends_run.dataset
    scorer = NetworkScorer(friends_run.folder.network(dataset), dataset.train.message_csr)
    assert calibrate(scorer, dataset).curve is not None
    monkeypatch.setattr("nbfnet.prediction.calibration._MOST_NODES", dataset.train.num_nodes - 1)
    assert calibrate(scorer, dataset).description["method"] == "none"


def test_it_is_not_stated_while_another_process_trains(things_run, tmp_path):
    shutil.copytree(things_run.folder.path, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    folder.update(calibration=None)
    with alone_in(folder.path, wait=False):
        calibrate_run(folder, things_run.dataset)
        assert RunFolder.open(folder.path).manifest["calibration"] is None
    calibrate_run(folder, things_run.dataset)
    assert RunFolder.open(folder.path).manifest["calibration"]["method"] == "isotonic"


def test_a_better_network_drops_the_curve_of_the_one_before(things_run, tmp_path):
    shutil.copytree(things_run.folder.path, tmp_path / "run")
    dataset = things_run.dataset
    folder, config = resume(tmp_path / "run", dataset, {"training": {"epochs": 6}})
    before = folder.manifest["metrics"]["epoch"]
    train(folder, dataset, config, listener=lambda entry: None)
    assert folder.manifest["metrics"]["epoch"] > before  # or this test proves nothing
    manifest = tmp_path / "run" / "manifest.json"
    written = manifest.read_text()
    shutil.copy(things_run.folder.path / "manifest.json", manifest)
    for _ in range(2):  # what a process leaves that is killed after the network was written, and after the manifest
        [member] = nbfnet.Run.open(tmp_path / "run").predictor.members
        assert member.calibration.curve is None
        manifest.write_text(written)
    calibrate_run(folder, dataset)
    [member] = nbfnet.Run.open(tmp_path / "run").predictor.members
    fitted = member.calibration
    scorer = NetworkScorer(folder.network(dataset), dataset.train.message_csr)
    fresh = calibrate(scorer, dataset)
    np.testing.assert_array_equal(fitted.curve.x, fresh.curve.x)
    np.testing.assert_array_equal(fitted.curve.y, fresh.curve.y)
    assert fitted.description["epoch"] == folder.manifest["metrics"]["epoch"]


@pytest.mark.parametrize("name", ["things_run", "friends_run"])
def test_the_curve_never_changes_the_order(request, name):
    run = request.getfixturevalue(name)
    bare = dataclasses.replace(run, folder=RunFolder(run.folder.path, {**run.folder.manifest, "calibration": None}))
    relation = run.graph.relations[0]
    for head in list(run.graph.entities)[:12]:
        answers, raw = run.predict(head, relation, k=99), bare.predict(head, relation, k=99)
        assert [answer.name for answer in answers] == [answer.name for answer in raw]
        shown = [answer.probability for answer in answers]
        assert shown == sorted(shown, reverse=True)
        assert 0 <= min(shown) <= max(shown) <= 1
