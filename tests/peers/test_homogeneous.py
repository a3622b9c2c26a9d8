"""VGAE and DeepWalk: they learn groups, and walks follow edges."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from nbfnet.evaluation.evaluator import evaluate, negative_pairs
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.peers.course import Course
from nbfnet.peers.homogeneous import ProductScorer, random_walks, train_deepwalk, train_vgae

TRAIN = {"torch_geometric": train_vgae, "gensim": train_deepwalk}


@pytest.mark.parametrize("package", TRAIN)
def test_groups_are_learned(package, groups, count_of_steps):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install '.[peers]'")
    course = Course(groups, 100.0)
    found = TRAIN[package](groups.train, course, seed=0)
    assert course.curve[-1]["valid"]["auroc"] > 0.8
    result = evaluate(course.best, groups)
    assert result.metrics.auroc > 0.8
    assert found["parameters"] > 60 * 16
    links, (u, v) = groups.test, negative_pairs(groups, "test", len(groups.test), 0)
    pairs = torch.from_numpy(np.stack([np.concatenate([links.head, u]), np.concatenate([links.tail, v])])).long()
    scores = course.best.score(pairs[0], torch.zeros_like(pairs[0]), pairs[1][:, None])[:, 0]
    truth = np.repeat([1, 0], len(links))
    assert result.metrics.auroc == pytest.approx(roc_auc_score(truth, scores))
    assert result.metrics.ap == pytest.approx(average_precision_score(truth, scores))


def test_products_by_hand():
    scorer = ProductScorer(torch.tensor([[1.0, 2.0], [3.0, 0.0], [0.0, -1.0]]))
    source, relation = torch.tensor([0, 2]), torch.tensor([0, 0])
    assert scorer.score_all(source, relation).tolist() == [[5.0, 3.0, -2.0], [-2.0, 0.0, 1.0]]
    assert scorer.score(source, relation, torch.tensor([[1], [0]])).tolist() == [[3.0], [-2.0]]


def test_walks_follow_edges_and_who_has_none_stays():
    edges = np.array([(0, 1), (1, 2), (2, 0), (3, 4)])
    names = Vocabulary.numbered(6), Vocabulary.numbered(1, role="relation")
    graph = Graph("g", "homogeneous", *names, Triplets.of(edges[:, 0], np.zeros(4, int), edges[:, 1]))
    walks = random_walks(graph.csr, 50, np.random.default_rng(0))
    assert sorted(walks[:, 0]) == list(range(6))
    joined = {(a, b) for u, v in edges.tolist() for a, b in ((u, v), (v, u))} | {(5, 5)}
    steps = {(a, b) for walk in walks.tolist() for a, b in itertools.pairwise(walk)}
    assert steps == joined
