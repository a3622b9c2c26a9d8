from __future__ import annotations

import torch

from nbfnet.config import ModelConfig
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork


def test_targets_are_read_from_all_scores_unless_a_scorer_knows_better(table_scorer):
    table = torch.arange(2 * 3 * 3).reshape(2, 3, 3)
    scorer = table_scorer(table)
    source, relation, target = torch.tensor([2, 0]), torch.tensor([1, 0]), torch.tensor([[0, 2], [1, 1]])
    expected = [[table[1, 2, 0], table[1, 2, 2]], [table[0, 0, 1], table[0, 0, 1]]]
    assert scorer.score(source, relation, target).tolist() == [[int(x) for x in row] for row in expected]


def test_a_network_scores_without_gradients_and_is_left_as_it_was(knowledge):
    torch.manual_seed(0)
    network = NeuralBellmanFordNetwork(ModelConfig(dim=4, layers=2), 6)
    scorer = NetworkScorer(network, knowledge.train.csr)
    source, relation = torch.tensor([0, 39]), torch.tensor([1, 5])
    scores = scorer.score_all(source, relation)
    assert scores.shape == (2, 40) and not scores.requires_grad
    assert network.training
    with torch.no_grad():
        assert torch.equal(scores, network.score_all(MessageGraph(knowledge.train.csr), source, relation))
    targets = torch.tensor([[3, 39], [0, 1]])
    torch.testing.assert_close(scorer.score(source, relation, targets), scores.gather(1, targets))
