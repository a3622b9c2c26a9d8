from __future__ import annotations

import torch

from nbfnet.operators.edge_representation import IndependentEdges, QueryDependentEdges


def test_query_dependent_edges_are_one_linear_function_for_each_relation() -> None:
    edges, query = QueryDependentEdges(5, 3).double(), torch.randn(2, 3, dtype=torch.float64)
    found = edges(query)
    assert found.shape == (2, 5, 3)
    for r in range(5):
        weight, bias = (
            edges.relation_linear.weight[r * 3 : r * 3 + 3],
            edges.relation_linear.bias[r * 3 : r * 3 + 3],
        )
        torch.testing.assert_close(found[:, r], query @ weight.T + bias)


def test_independent_edges_are_shared_by_all_queries() -> None:
    edges = IndependentEdges(5, 3)
    assert edges(torch.randn(7, 3)).shape == (1, 5, 3)
    torch.testing.assert_close(edges(torch.randn(7, 3))[0, 4], edges.relation.weight[4])


def test_parameters_of_the_benchmark() -> None:
    iteration = QueryDependentEdges(474, 32)
    assert 6 * sum(p.numel() for p in iteration.parameters()) == 3_003_264
