"""What is chosen for a graph where nothing is configured."""

from __future__ import annotations

import numpy as np
import pytest

from nbfnet.config import ModelConfig, make_config
from nbfnet.graph.graph import Dataset
from nbfnet.graph.triplets import Triplets
from nbfnet.training.defaults import default_config


def chosen(dataset, **model):
    return make_config(default_config(dataset, ModelConfig(**model)))


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
        (30, 600, "dependent", "pair", 0.5),
        (30, 599, "independent", "pair", 1.0),  # 20 facts a relation are needed
        (29, 9000, "independent", "triplet", 1.0),
        (1, 60, "independent", "triplet", 1.0),
    ],
)
def test_a_knowledge_graph(of_size, relations, facts, edges, hiding, temperature):
    config = chosen(of_size(relations, facts))
    assert (config.model.edges, config.training.hiding, config.training.temperature) == (edges, hiding, temperature)
    assert (config.training.negatives, config.model.symmetric) == (32, False)


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
    dataset = of_size(1, 60)
    assert chosen(dataset).training.batch_size == 64
    query = 4 * 32 * 6 * 50  # bytes of the representations of one query's nodes
    for pages, expected in ((2 * query * 10, 10), (2 * query - 1, 1), (1, 1), (2 * query * 1000, 64)):
        sizes = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": pages}
        monkeypatch.setattr("os.sysconf", sizes.__getitem__)
        assert chosen(dataset).training.batch_size == expected
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 2 * query * 40}.__getitem__)
    assert chosen(dataset, dim=128, layers=12).training.batch_size == 5
