from __future__ import annotations

import numpy as np
import torch

from nbfnet.evaluation.baselines import RelationFrequency


def test_tails_and_heads_of_a_knowledge_graph(graph_of):
    graph = graph_of(4, 2, [(0, 0, 1), (2, 0, 1), (2, 0, 1), (0, 0, 3), (1, 1, 1)])
    scores = RelationFrequency(graph).score_all(torch.tensor([0, 3, 1, 1, 2]), torch.tensor([0, 0, 1, 2, 3]))
    assert scores.tolist() == [[0, 3, 0, 1], [0, 3, 0, 1], [0, 1, 0, 0], [2, 0, 2, 0], [0, 1, 0, 0]]


def test_degrees_of_a_homogeneous_graph(homogeneous):
    scores = RelationFrequency(homogeneous.train).score_all(torch.zeros(1).long(), torch.zeros(1).long())
    edges = homogeneous.train.triplets
    assert scores[0].tolist() == np.bincount(np.concatenate([edges.head, edges.tail]), minlength=30).tolist()
