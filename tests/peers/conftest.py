"""Small graphs with something to learn, and budgets of seconds."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.peers import course


@pytest.fixture(autouse=True)
def one_thread():
    """Graphs of 40 nodes are done before a second thread has woken up."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def count_of_steps(monkeypatch):
    """A clock that only steps move, one second each: how fast the machine is does not matter."""
    clock = itertools.count()
    monkeypatch.setattr(course, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))


def split_of(name, kind, nodes, relations, rows):
    parts = np.split(np.random.default_rng(1).permutation(rows), [len(rows) - 60, len(rows) - 30])
    train, valid, test = (Triplets.of(*part.T) for part in parts)
    names = Vocabulary.numbered(nodes), Vocabulary.numbered(relations, role="relation")
    return Dataset(name, Graph(name, kind, *names, train), valid, test)


@pytest.fixture(scope="session")
def blocks():
    """40 entities in four groups; relation r leads from a group to the r-th after it, with six of ten links known."""
    every = [(u, r, v) for u in range(40) for r in range(3) for v in range(40) if (u + r) % 4 == v % 4]
    drawn = np.random.default_rng(0).random(len(every)) < 0.6
    return split_of("blocks", "knowledge", 40, 3, np.array(every)[drawn])


@pytest.fixture(scope="session")
def groups():
    """60 nodes in four groups, with many edges within a group and a few between: easy to tell apart."""
    rows = [(u, 0, v) for u in range(60) for v in range(u) if u % 4 == v % 4 or (u * 7 + v) % 41 == 0]
    return split_of("groups", "homogeneous", 60, 1, np.array(rows))
