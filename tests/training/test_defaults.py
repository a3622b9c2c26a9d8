"""What is chosen for a graph where nothing is configured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nbfnet.config import Config, ModelConfig, Publication, TrainingConfig, make_config
from nbfnet.graph.graph import Dataset
from nbfnet.graph.triplets import Triplets
from nbfnet.training.defaults import choose, default_config, tables_of
from nbfnet.training.fine_tuning import SCRATCH, choose_start, choose_tuning
from nbfnet.training.run_folder import UNIVERSAL, RunFolder


def chosen(dataset, **model):
    return make_config(default_config(dataset, Config(model=ModelConfig(**model))))


@pytest.fixture
def of_size(graph_of, dataset_of):
    """A dataset of so many relations and facts."""

    def of_size(relations, facts, valid=0, kind="knowledge", nodes=50):
        number = np.arange(facts)
        rows = np.stack([number % nodes, number % relations, number * 7 % nodes], axis=1)
        links = Triplets.of(number[:valid] % nodes, np.zeros(valid), number[:valid] * 3 % nodes)
        return dataset_of(graph_of(nodes, relations, rows, kind), links)

    return of_size


@pytest.mark.parametrize(
    ("relations", "facts", "edges", "hiding", "temperature"),
    [
        (12, 240, "dependent", "triplet", 0.5),
        (12, 239, "independent", "triplet", 1.0),  # 20 facts a relation are needed
        (11, 9000, "independent", "triplet", 1.0),
        (1, 60, "independent", "triplet", 1.0),
    ],
)
def test_a_knowledge_graph(of_size, relations, facts, edges, hiding, temperature):
    config = chosen(of_size(relations, facts))
    assert (config.model.edges, config.training.hiding, config.training.temperature) == (edges, hiding, temperature)
    assert (config.training.negatives, config.model.symmetric) == (32, False)


@pytest.mark.parametrize(("stated", "temperature"), [("dependent", 0.5), ("independent", 1.0)])
@pytest.mark.parametrize("relations", [2, 20])
def test_the_temperature_follows_the_edges_that_are_stated(of_size, relations, stated, temperature):
    assert chosen(of_size(relations, 900), edges=stated).training.temperature == temperature


@pytest.mark.parametrize(("relations", "facts"), [(2, 400), (46, 3000)])
@pytest.mark.parametrize(("joined", "hiding"), [(0, "pair"), (4, "pair"), (6, "triplet"), (90, "triplet")])
def test_hiding_follows_the_share_of_valid_links_that_a_fact_joins(
    graph_of, dataset_of, relations, facts, joined, hiding
):
    """Whatever the number of relations: 100 valid links, of which some join nodes that a fact joins, either way."""
    nodes, random = 400, np.random.default_rng(0)
    pairs = random.permutation(nodes * nodes)[: facts + 400]
    pairs = np.stack([pairs // nodes, pairs % nodes], axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]  # each unordered pair once
    used, free = pairs[: facts // 3], pairs[facts // 3 : facts // 3 + 100]
    rows = np.stack([used[:, 0], np.arange(len(used)) % relations, used[:, 1]], axis=1)
    heads = np.concatenate([used[:joined, 1], free[: 100 - joined, 0]])
    tails = np.concatenate([used[:joined, 0], free[: 100 - joined, 1]])
    dataset = dataset_of(graph_of(nodes, relations, rows), Triplets.of(heads, np.zeros(100), tails))
    assert chosen(dataset).training.hiding == hiding


def test_patience_needs_enough_valid_links(of_size):
    assert chosen(of_size(2, 600, valid=50)).training.patience == 5
    assert chosen(of_size(2, 600, valid=49)).training.patience == 0


def test_a_homogeneous_graph(homogeneous):
    config = chosen(homogeneous)
    assert (config.model.edges, config.model.symmetric) == ("independent", True)
    assert (config.training.negatives, config.training.hiding, config.training.temperature) == (1, "pair", None)
    assert config.training.validation_sample is None


def test_an_inductive_dataset_is_like_its_training_graph(of_size):
    dataset = of_size(30, 3000)
    inductive = Dataset("pair", dataset.train, dataset.valid, dataset.test, test_graph=dataset.train)
    assert chosen(inductive) == chosen(dataset)


def test_a_validation_that_would_take_hours_asks_a_sample(of_size, monkeypatch):
    assert chosen(of_size(2, 100, valid=90)).training.validation_sample is None
    monkeypatch.setattr("nbfnet.training.defaults._VALIDATION_EDGES", 4 * 100 * 250)
    assert chosen(of_size(2, 400, valid=300)).training.validation_sample == 200  # never fewer
    assert chosen(of_size(2, 400, valid=200)).training.validation_sample is None
    assert chosen(of_size(2, 100, valid=100)).training.validation_sample is None


def test_a_batch_fits_into_memory(of_size, monkeypatch):
    dataset = of_size(1, 6000)
    assert chosen(dataset).training.batch_size == 64
    query = 4 * 32 * 6 * 50  # bytes of the representations of one query's nodes
    for pages, expected in ((2 * query * 10, 10), (2 * query - 1, 1), (1, 1), (2 * query * 1000, 64)):
        sizes = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": pages}
        monkeypatch.setattr("os.sysconf", sizes.__getitem__)
        assert chosen(dataset).training.batch_size == expected
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 2 * query * 40}.__getitem__)
    assert chosen(dataset, dim=128, layers=12).training.batch_size == 5


@pytest.mark.parametrize(("facts", "size"), [(66, 8), (600, 9), (2000, 31), (4096, 64), (100_000, 64)])
def test_a_small_graph_has_small_batches(of_size, facts, size):
    """Or an epoch of a graph of 66 facts would be two steps, and 20 epochs would learn nothing."""
    assert chosen(of_size(1, facts)).training.batch_size == size


def test_a_budget_has_a_decay_and_plans_its_own_validations(of_size, monkeypatch):
    monkeypatch.setattr("nbfnet.training.defaults._VALIDATION_EDGES", 1)
    dataset = of_size(2, 600, valid=300)
    config = make_config(default_config(dataset, Config(training=TrainingConfig(hours=1.0))))
    assert (config.training.schedule, config.training.validation_sample, config.training.patience) == (
        "cosine",
        None,
        0,
    )
    assert chosen(dataset).training.schedule == "constant" and chosen(dataset).training.validation_sample == 200


def test_every_choice_has_its_reason(of_size, homogeneous):
    for dataset in (of_size(2, 600, valid=60), of_size(30, 3000), homogeneous):
        found = choose(dataset, Config())
        assert len({choice.key for choice in found}) == len(found)
        assert all(choice.why and "\n" not in choice.why for choice in found)
    reasons = {choice.key: choice.why for choice in choose(of_size(2, 600, valid=60), Config())}
    assert reasons["training.hiding"] == "other facts join the ends of 20% of the valid links"
    assert reasons["model.edges"].startswith("2 relations with 300 facts each on average")


def test_parameters_are_averaged_at_a_constant_rate_only(of_size, homogeneous):
    dataset = of_size(2, 600, valid=60)
    assert chosen(dataset).training.average == 0.99
    for stated in ({"schedule": "cosine"}, {"schedule": "linear"}, {"hours": 1.0}):
        config = make_config(default_config(dataset, Config(training=TrainingConfig(**stated))))
        assert config.training.average == 0.0
    assert chosen(homogeneous).training.average == 0.0
    published = Publication(source="wn18rr", table="kg_result", paper={"mrr": 0.551})
    assert make_config(default_config(dataset, Config(experiment=published))).training.average == 0.0


@pytest.mark.parametrize(
    ("stated", "start"),
    [
        ({}, UNIVERSAL),
        ({"training": {"epochs": 3, "hiding": "pair"}}, UNIVERSAL),
        ({"training": {"hours": 0.1, "loss": "softmax"}}, UNIVERSAL),
        ({"training": {"loss": "binary"}}, SCRATCH),
        ({"training": {"epochs": 0}}, SCRATCH),  # nothing is to be learned, so nothing that was learned is wanted
        ({"model": {"layers": 6}}, SCRATCH),
        ({"model": {"kind": "drum"}}, SCRATCH),
        ({"sampling": {"hops": 2}}, SCRATCH),
    ],
)
def test_a_training_begins_with_the_network_for_any_graph(of_size, stated, start):
    """Unless what is stated does not fit it."""
    assert choose_start(of_size(3, 600, valid=60), make_config(stated)).value == start


def test_what_begins_from_scratch(of_size, homogeneous):
    for dataset in (homogeneous, of_size(3, 600, valid=0)):
        assert choose_start(dataset, Config()).value == SCRATCH


@pytest.mark.parametrize(("facts", "epochs"), [(100, 5), (50_000, 5), (90_000, 3), (200_000, 1), (300_000, 1)])
def test_fine_tuning_asks_about_as_many_links_of_any_graph(of_size, facts, epochs):
    first = RunFolder.open(Path(UNIVERSAL)).config()
    found = make_config(tables_of(choose_tuning(of_size(3, facts, valid=60, nodes=400), Config(), first)))
    assert (found.training.epochs, found.training.schedule, found.training.loss) == (epochs, "cosine", "softmax")
    assert found.training.answers == (16 if facts > 60_000 else 1)
    assert found.training.validations_per_epoch == 5 // epochs and found.training.batches_per_epoch is None
    assert found.model.edges == "pairwise"


@pytest.mark.parametrize(("facts", "links"), [(301_000, 298_944), (1_200_000, 74_944)])
def test_fine_tuning_on_a_large_graph_asks_fewer_of_its_links_the_longer_each_takes(of_size, facts, links):
    first = RunFolder.open(Path(UNIVERSAL)).config()
    found = make_config(tables_of(choose_tuning(of_size(3, facts, nodes=1000), Config(), first))).training
    assert (found.epochs, found.batches_per_epoch * found.batch_size) == (1, links)


@pytest.mark.parametrize(
    ("relations", "facts", "gathered"),
    [(1, 99, None), (1, 100, 4), (50, 5000, 4), (50, 4999, None), (51, 6000, None)],
)
def test_fine_tuning_gathers_links_of_few_relations(of_size, relations, facts, gathered):
    first = RunFolder.open(Path(UNIVERSAL)).config()
    found = make_config(tables_of(choose_tuning(of_size(relations, facts, nodes=400), Config(), first)))
    assert found.training.relations == gathered


def test_a_stated_number_of_epochs_can_be_raised(of_size):
    """A rate that falls to zero would be planned for the stated number."""
    first = RunFolder.open(Path(UNIVERSAL)).config()
    found = make_config(
        tables_of(choose_tuning(of_size(3, 100), Config(training=TrainingConfig(epochs=2)), first))
    ).training
    assert (found.schedule, found.learning_rate) == ("constant", 2e-3)


def test_relations_that_are_too_many_stay_as_they_are(of_size):
    first = RunFolder.open(Path(UNIVERSAL)).config()
    keys = {choice.key for choice in choose_tuning(of_size(600, 1200), Config(), first)}
    assert "model.edges" not in keys
