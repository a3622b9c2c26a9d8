from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from nbfnet.training.loss import Candidates, link_loss, negative_weights, softmax_loss


def plain(row, temperature):
    """The definition in Python floats."""
    answer, *negatives = row
    if temperature is None:
        weights = [1 / len(negatives)] * len(negatives)
    else:
        powers = [math.exp(x / temperature) for x in negatives]
        weights = [power / sum(powers) for power in powers]
    loss = math.log1p(math.exp(-answer))
    loss += sum(w * math.log1p(math.exp(x)) for w, x in zip(weights, negatives, strict=True))
    return loss / (1 + sum(weights))


@pytest.mark.parametrize("temperature", [None, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("negatives", [1, 5])
def test_the_definition(temperature, negatives):
    logits = torch.randn(4, 1 + negatives, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3
    expected = sum(plain(row, temperature) for row in logits.tolist()) / 4
    assert link_loss(logits, temperature).item() == pytest.approx(expected, rel=1e-12)


def test_one_negative_is_plain_cross_entropy():
    logits = torch.tensor([[0.3, -1.2], [2.0, 0.7]], dtype=torch.float64)
    labels = torch.tensor([[1.0, 0.0]] * 2, dtype=torch.float64)
    for temperature in (None, 0.5):
        assert torch.allclose(link_loss(logits, temperature), binary_cross_entropy_with_logits(logits, labels))


def test_gradient_with_equal_weights():
    logits = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    assert torch.autograd.gradcheck(link_loss, (logits,))


def test_no_gradient_passes_through_adversarial_weights():
    logits = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2), requires_grad=True)
    (gradient,) = torch.autograd.grad(link_loss(logits, 0.5), logits)
    # with constant weights: d loss / d answer = (p - 1) / 2 / queries, d loss / d negative_i = w_i p_i / 2 / queries
    p = torch.sigmoid(logits.detach())
    weight = torch.softmax(logits.detach()[:, 1:] / 0.5, dim=1)
    expected = torch.cat([p[:, :1] - 1, weight * p[:, 1:]], dim=1) / 6
    assert torch.allclose(gradient, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("temperature", [None, 0.5, 1e-3])
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_huge_logits(temperature, size):
    logits = torch.tensor([[size, -size, -size], [-size, size, 0.0], [size, size, size]], requires_grad=True)
    loss = link_loss(logits, temperature)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.isfinite(loss) and torch.isfinite(gradient).all()
    weight_of_huge = 0.5 if temperature is None else 1.0
    rows = [0.0, (size + weight_of_huge * size) / 2, size / 2]
    assert loss.item() == pytest.approx(sum(rows) / 3, rel=1e-4)


def test_the_largest_floats_have_weights():
    largest = torch.finfo(torch.float32).max
    weights = negative_weights(torch.tensor([[largest, -largest, largest]]), 0.1)
    assert weights.tolist() == [[0.5, 0.0, 0.5]]


def test_the_definition_of_softmax():
    logits = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 3
    candidates = torch.tensor([[1, 1, 0, 1, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], dtype=torch.bool)
    answer = torch.tensor([2, 4, 0])
    kept = [[0, 1, 2, 3, 4], [4], [0]]  # the candidates and the answer
    each = [
        math.log(sum(math.exp(row[node]) for node in nodes)) - row[asked]
        for row, nodes, asked in zip(logits.tolist(), kept, answer.tolist(), strict=True)
    ]
    assert each[1] == pytest.approx(0) and each[2] == pytest.approx(0)
    assert softmax_loss(logits, answer, candidates).item() == pytest.approx(sum(each) / 3, rel=1e-12)


def test_the_gradient_of_softmax():
    """Also where the answer has nothing to compete with, and where logits are huge."""
    logits = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(4), requires_grad=True)
    candidates = torch.tensor([[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    answer = torch.tensor([2, 0, 1])
    assert torch.autograd.gradcheck(lambda s: softmax_loss(s, answer, candidates), (logits,))
    huge = torch.tensor([[1e30, -1e30, 0.0, 1e30]] * 3, requires_grad=True)
    loss = softmax_loss(huge, answer, candidates)
    (gradient,) = torch.autograd.grad(loss, huge)
    assert torch.isfinite(loss) and torch.isfinite(gradient).all()


@pytest.mark.parametrize("types", [None, [0, 0, 1, 1, 2, -1, 0, 2, 1, 0]])
def test_candidates_by_brute_force(graph_of, rows_of, types):
    graph = graph_of(10, 2, rows_of(7, 10, 2, 14), types=types)
    given = graph.triplets
    facts = set(zip(given.head.tolist(), given.relation.tolist(), given.tail.tolist(), strict=True))
    facts |= {(t, r + 2, h) for h, r, t in facts}
    queries = list(product(range(10), range(4)))
    source, relation = np.array(queries, dtype=np.int32).T
    found = Candidates(graph).mask(np.ascontiguousarray(source), np.ascontiguousarray(relation))

    def can_answer(r, node):
        return types is None or types[node] == -1 or types[node] in {types[t] for _, q, t in facts if q == r}

    expected = [[(u, r, node) not in facts and can_answer(r, node) for node in range(10)] for u, r in queries]
    assert found.tolist() == expected
    assert types is None or not all(can_answer(r, node) for r in range(4) for node in range(10))


def test_the_softmax_with_a_rest_and_answers_that_cannot_be_learned() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    answer, candidates = torch.tensor([1, 0]), torch.tensor([[True, False, True], [False, True, True]])
    learned = torch.tensor([[True, True, True], [False, True, True]])  # the second answer is not
    loss = softmax_loss(logits, answer, candidates, learned, rest=2.0)
    sums = logits.detach().exp().sum(dim=1) + 2
    expected = (sums.log() - torch.tensor([1.0, 3.0])).mean()
    assert loss.item() == pytest.approx(expected.item())
    loss.backward()
    assert logits.grad is not None
    share = logits.detach()[0].exp() / sums[0]
    assert logits.grad[0].tolist() == pytest.approx(((share - torch.tensor([0.0, 1.0, 0.0])) / 2).tolist())
    assert logits.grad[1].tolist() == [0.0, 0.0, 0.0]
