"""Training, evaluation and prediction on samples of a graph."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch

from nbfnet import available_memory
from nbfnet.config import ModelConfig, SamplingConfig, TrainingConfig, make_config
from nbfnet.errors import ConfigError, EvaluationError, NotEnoughMemoryError, RunFolderError
from nbfnet.evaluation.drawn_candidates import SampledScorer, evaluate_drawn
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.conversion import convert
from nbfnet.graph.datasets.ogb import TailCandidates
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import open_source
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.run import Run
from nbfnet.sampling.query_edges import QueryEdges
from nbfnet.sampling.query_sampler import QuerySampler
from nbfnet.training.batches import make_batches
from nbfnet.training.run_folder import RunFolder

V, R = 60, 4


def graph_of(seed=0, edges=220, kind="knowledge") -> Graph:
    generator = np.random.default_rng(seed)
    ends = (V * generator.random((2, edges)) ** 2).astype(int)
    relation = generator.integers(0, R, edges) if kind == "knowledge" else np.zeros(edges)
    names = Vocabulary.numbered(V), Vocabulary.numbered(R if kind == "knowledge" else 1, role="relation")
    return Graph("g", kind, *names, Triplets.of(ends[0], relation, ends[1]))


def dataset_of() -> Dataset:
    graph = graph_of(edges=260)
    parts = [graph.triplets.take(np.arange(a, b)) for a, b in ((0, 220), (220, 240), (240, 260))]
    return Dataset("d", dataclasses.replace(graph, triplets=parts[0]), parts[1], parts[2])


def network_of(**options) -> NeuralBellmanFordNetwork:
    torch.manual_seed(0)
    return NeuralBellmanFordNetwork(ModelConfig(dim=8, layers=3, hidden=(8,), **options), 2 * R).eval()


@pytest.mark.parametrize("aggregate", ["pna", "sum"])
def test_a_sample_of_everything_gives_the_scores_of_the_whole_graph(aggregate) -> None:
    graph, network = graph_of(), network_of(aggregate=aggregate)
    generator = np.random.default_rng(1)
    connected = np.unique(np.concatenate([graph.triplets.head, graph.triplets.tail]))
    source = torch.from_numpy(generator.choice(connected, 5)).long()
    relation = torch.from_numpy(generator.integers(0, 2 * R, 5))
    target = torch.from_numpy(generator.choice(connected, (5, 7))).long()
    whole = NetworkScorer(network, graph.message_csr).score(source, relation, target)
    for hops in (8, 10):
        sampled = SampledScorer(network, graph, SamplingConfig(hops=hops, neighbours=None))
        torch.testing.assert_close(sampled.score(source, relation, target), whole, rtol=1e-4, atol=1e-5)


def test_a_query_scores_the_same_in_any_batch() -> None:
    graph, network = graph_of(), network_of()
    scorer = SampledScorer(network, graph, SamplingConfig(hops=2, neighbours=3))
    source, relation = torch.tensor([0, 5, 9]), torch.tensor([1, 6, 1])
    target = torch.tensor([[1, 2, 3], [9, 0, 4], [11, 30, 2]])
    together = scorer.score(source, relation, target)
    for i in range(3):
        one = scorer.score(source[i : i + 1], relation[i : i + 1], target[i : i + 1])[0]
        torch.testing.assert_close(one, together[i], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hiding", ["triplet", "pair"])
def test_the_asked_fact_is_not_in_its_sample(hiding) -> None:
    graph = graph_of()
    facts = graph.triplets.take(np.arange(20))
    target = np.concatenate([facts.tail[:, None], np.full((20, 2), 7, dtype=np.int32)], axis=1)
    sample = QuerySampler(graph, 2, None, hiding).sample(facts.head, facts.relation, target)
    left = QueryEdges(sample.csr, graph.kind, hiding)
    assert not len(left.slots(sample.source, facts.relation, sample.target))
    seen = QuerySampler(graph, 2, None).sample(facts.head, facts.relation, target)
    assert seen.csr.num_edges > sample.csr.num_edges


def test_batches_do_not_depend_on_what_was_made_before() -> None:
    graph, config = graph_of(), TrainingConfig(batch_size=16, negatives=4, seed=3, batches_per_epoch=4)
    sampling = SamplingConfig(hops=2, neighbours=3)
    in_order, out_of_order = make_batches(graph, config, sampling), make_batches(graph, config, sampling)
    expected = {key: in_order.batch(*key) for key in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]}
    assert in_order.length == 4
    for key in [(1, 1), (0, 2), (1, 0), (0, 0), (0, 3), (0, 1)]:
        batch = out_of_order.batch(*key)
        np.testing.assert_array_equal(batch.target, expected[key].target)
        np.testing.assert_array_equal(batch.sample.csr.source, expected[key].sample.csr.source)
        np.testing.assert_array_equal(batch.sample.node[batch.sample.target], batch.target)


def test_negatives_are_never_facts() -> None:
    graph = graph_of()
    facts = set(zip(*(part.tolist() for part in (graph.csr.source, graph.csr.relation, graph.csr.target)), strict=True))
    batches = make_batches(graph, TrainingConfig(batch_size=32, negatives=20), SamplingConfig(hops=1))
    for number in range(batches.length):
        batch = batches.batch(0, number)
        for u, q, (answer, *others) in zip(
            batch.source.tolist(), batch.relation.tolist(), batch.target.tolist(), strict=True
        ):
            assert (u, q, answer) in facts
            assert not any((u, q, other) in facts for other in others)


@pytest.mark.parametrize(
    ("kind", "training", "what"),
    [
        ("homogeneous", {}, "homogeneous"),
        ("knowledge", {"loss": "softmax"}, "softmax"),
        ("knowledge", {"hours": 1.0}, "hours"),
    ],
)
def test_what_cannot_be_sampled_is_refused(kind, training, what) -> None:
    with pytest.raises(ConfigError, match=what):
        make_batches(graph_of(kind=kind), TrainingConfig(**training), SamplingConfig(hops=2))


@pytest.mark.parametrize("model", [{"kind": "drum"}, {"edges": "relational"}, {"edges": "alternating"}])
def test_other_networks_are_refused(model, tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"sampling\.hops"):
        Run.begin(tmp_path / "run", dataset_of(), {"model": model, "sampling": {"hops": 2}})
    assert not (tmp_path / "run").exists()


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'sampling\.hops'"):
        make_config({"sampling": {"hop": 2}})


def test_ranks_against_drawn_candidates_are_those_of_the_scores() -> None:
    dataset, network = dataset_of(), network_of()
    sampled = SampledScorer(network, dataset.train, SamplingConfig(hops=10, neighbours=None))
    whole = NetworkScorer(network, dataset.train.message_csr)
    one = evaluate_drawn(sampled, dataset, "test", 30, seed=4)
    assert one.metrics.mrr == pytest.approx(evaluate_drawn(whole, dataset, "test", 30, seed=4).metrics.mrr, abs=1e-9)
    assert one.overall.links == 20
    assert "30 drawn" in one.protocol
    few = evaluate_drawn(sampled, dataset, "test", 30, sample=5)
    assert few.sample is not None and (few.sample.links, few.sample.of) == (5, 20)
    with pytest.raises(EvaluationError, match="not all entities"):
        sampled.score_all(torch.tensor([0]), torch.tensor([0]))


def test_given_tails_are_ranked_as_the_challenge_does(tmp_path) -> None:
    dataset, network = dataset_of(), network_of()
    generator = np.random.default_rng(2)
    links, count = dataset.valid, 12
    answer = generator.integers(0, count + 1, len(links))
    table = generator.integers(0, V, (len(links), count + 1))
    table[np.arange(len(links)), answer] = links.tail
    given = TailCandidates(table, answer, V, tmp_path / "candidates.npy")
    scorer = SampledScorer(network, dataset.train, SamplingConfig(hops=10, neighbours=None))
    result = evaluate_drawn(scorer, dataset, "valid", 30, given_tails=given)
    scores = scorer.score(*(torch.from_numpy(part).long() for part in (links.head, links.relation, table))).numpy()
    own = scores[np.arange(len(links)), answer]
    others = np.delete(scores, answer + (count + 1) * np.arange(len(links))).reshape(len(links), count)
    rank = 1 + (others > own[:, None]).sum(axis=1) + 0.5 * (others == own[:, None]).sum(axis=1)
    assert result.overall.tail.mrr == pytest.approx((1 / rank).mean())
    assert result.ogb == {"mrr": pytest.approx(np.where(rank <= 10, 1 / rank, 0).mean())}
    assert "12 given" in result.protocol


SETTINGS = {
    "model": {"dim": 8, "layers": 2, "hidden": (8,)},
    "training": {"epochs": 2, "batch_size": 16, "negatives": 4, "batches_per_epoch": 5},
    "sampling": {"hops": 2, "neighbours": 4, "candidates": 20},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sampled")
    convert(dataset_of, folder / "store", memory=256 << 20)
    return folder / "store"


@pytest.fixture(scope="module")
def run(store, tmp_path_factory):
    return Run.begin(tmp_path_factory.mktemp("run") / "run", open_source(store), SETTINGS).train()


def test_a_resumed_training_takes_the_same_steps(run, store, tmp_path) -> None:
    one = {**SETTINGS, "training": {**SETTINGS["training"], "epochs": 1}}
    Run.begin(tmp_path / "run", open_source(store), one).train()
    resumed = Run.resume(tmp_path / "run", open_source(store), SETTINGS).train()
    for name, tensor in run.folder.network(run.dataset).state_dict().items():
        torch.testing.assert_close(resumed.folder.network(run.dataset).state_dict()[name], tensor, rtol=0, atol=0)
    for before, after in zip(run.history, resumed.history, strict=True):
        assert (before["loss"], before["valid"]) == (after["loss"], after["valid"])


def test_another_sampling_cannot_be_resumed(run, store) -> None:
    changed = {**SETTINGS, "sampling": {"hops": 1}}
    with pytest.raises(Exception, match="cannot change sampling"):
        Run.resume(run.folder.path, open_source(store), changed)


def test_a_run_is_evaluated_and_asked_on_samples(run) -> None:
    opened = Run.open(run.folder.path)
    result = opened.evaluate("valid")
    assert result.metrics.to_dict() == pytest.approx(opened.folder.manifest["metrics"]["valid"])
    with pytest.raises(EvaluationError, match="--baselines"):
        opened.evaluate(baselines=True)
    graph = opened.graph
    head, relation, tail = (int(getattr(graph.triplets, part)[0]) for part in ("head", "relation", "tail"))
    answers = opened.predict(str(head), str(relation), k=5)
    assert len({answer.name for answer in answers}) == len(list(answers))
    known = {answer.name for answer in answers if answer.known}
    assert str(tail) in known
    assert str(head) not in {answer.name for answer in answers if not answer.known}
    score = opened.score([(str(head), str(relation), str(tail))])[0]
    listed = next(answer for answer in answers if answer.name == str(tail))
    assert (score.known, score.probability) == (True, pytest.approx(listed.probability))
    asked = opened.predict(None, str(relation), str(tail), k=3, exclude_known=True)
    assert not any(answer.known for answer in asked)
    chosen = opened.predict(str(head), str(relation), candidates=["3", "4"], exclude_known=True)
    assert {answer.name for answer in chosen} <= {"3", "4"}
    assert opened.predict(str(head), None, str(tail), k=2)


# A run that samples a store refers to it.


@pytest.fixture
def copies(run, store, tmp_path):
    """A copy of the run and of its store, apart from each other, and nothing where the store was."""
    shutil.copytree(run.folder.path, tmp_path / "runs" / "run")
    shutil.copytree(store, tmp_path / "stores" / "mine")
    manifest = json.loads((tmp_path / "runs" / "run" / "manifest.json").read_text())
    RunFolder.open(tmp_path / "runs" / "run").update(
        store={**manifest["store"], "folder": str(tmp_path / "nowhere" / "store")}
    )
    return tmp_path / "runs" / "run", tmp_path / "stores" / "mine"


def test_a_run_refers_to_the_store_that_it_samples(run, store) -> None:
    assert not (run.folder.path / "data").exists()
    assert run.folder.manifest["store"]["folder"] == str(store.resolve())
    opened = Run.open(run.folder.path)
    assert opened.dataset.stored == run.dataset.stored
    assert "facts_csr" in opened.graph.__dict__


def test_a_store_that_has_moved_is_found_by_its_fingerprint(copies, monkeypatch) -> None:
    folder, store = copies
    with pytest.raises(RunFolderError, match="which is not there") as caught:
        Run.open(folder)
    assert "NBFNET_STORES" in str(caught.value)
    monkeypatch.setenv("NBFNET_STORES", f"{folder}:{store.parent}")
    assert Run.open(folder).dataset.stored.folder == store.resolve()
    monkeypatch.delenv("NBFNET_STORES")
    beside = store.rename(folder.parent / "store beside it")
    assert Run.open(folder).dataset.stored.folder == beside.resolve()


def test_another_store_in_its_place_is_not_taken(copies) -> None:
    folder, store = copies
    shutil.rmtree(store)
    other = dataclasses.replace(dataset_of(), test=Triplets.empty())
    convert(lambda: other, folder.parent / "other", memory=256 << 20)
    (folder.parent / "broken").mkdir()
    (folder.parent / "broken" / "store.json").write_text("[")
    RunFolder.open(folder).update(
        store={**RunFolder.open(folder).manifest["store"], "folder": str(folder.parent / "other")}
    )
    with pytest.raises(RunFolderError, match="which is not there"):
        Run.open(folder)


def test_an_edited_reference_is_refused(copies) -> None:
    folder, _ = copies
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("nowhere", "elsewhere"))
    with pytest.raises(RunFolderError, match="'store' was edited"):
        Run.open(folder)


# Memory.


def test_a_graph_that_does_not_fit_is_refused_before_the_work(store, run, tmp_path, monkeypatch) -> None:
    whole = {key: table for key, table in SETTINGS.items() if key != "sampling"}
    trained = Run.begin(tmp_path / "whole", open_source(store), whole).train()
    monkeypatch.setattr(available_memory, "available_memory", lambda: 10_000)
    for work in (
        lambda: Run.begin(tmp_path / "run", open_source(store), whole),
        lambda: trained.evaluate(),
        lambda: Run.open(tmp_path / "whole").predict("0", "1"),
    ):
        with pytest.raises(NotEnoughMemoryError, match=r"needs about \d+ KB of memory, and 10 KB can be had") as caught:
            work()
        assert "sampling.hops=2" in str(caught.value)
    assert not (tmp_path / "run").exists()
    assert Run.open(run.folder.path).evaluate("valid").overall.links == 20
    for work in (lambda: run.explain("0", "1", "2"), lambda: run.rules("1"), lambda: run.missing_links()):
        with pytest.raises(NotEnoughMemoryError, match="the whole graph") as caught:
            work()
        assert "--facts" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"), [("16GB", 16 << 30), ("1.5g", 3 << 29), (" 500 MiB ", 500 << 20), ("7", 7), ("2kb", 2048)]
)
def test_sizes(text, size) -> None:
    assert available_memory.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "0", "1e9", "1 potato", "nan", "1GBB"])
def test_what_is_not_a_size(text) -> None:
    with pytest.raises(ConfigError, match="not an amount of memory"):
        available_memory.parse_size(text)
