from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from nbfnet.config import ModelConfig
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.baselines import RelationFrequency
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.filtering import RankingProtocol, facts_of
from nbfnet.evaluation.metrics import sampled_hits
from nbfnet.evaluation.ranks import rank_links
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.model.network import NeuralBellmanFordNetwork

R = 3


def rows_of(triplets):
    return list(zip(triplets.head.tolist(), triplets.relation.tolist(), triplets.tail.tolist(), strict=True))


def network_scorer(graph, **changes):
    torch.manual_seed(0)
    network = NeuralBellmanFordNetwork(ModelConfig(dim=8, layers=3, **changes), 2 * R)
    return NetworkScorer(network, graph.csr)


def naive_ranks(scorer, dataset, split, ties, *, filtered_by="known"):
    """For each link (relation, head rank, tail rank, negatives of both): one query at a time, in plain Python."""
    facts = rows_of(facts_of(dataset, split).triplets)
    known = {*facts, *rows_of(dataset.valid), *rows_of(dataset.test)}
    if dataset.kind == "inductive":
        held_out = (dataset.test, dataset.test_graph_valid) if split == "test" else (dataset.valid,)
        known = {*facts, *(row for part in held_out if filtered_by == "known" for row in rows_of(part))}
    found = []
    for h, r, t in rows_of(getattr(dataset, split)):
        ranks = []
        for source, relation, answer in ((t, r + R, h), (h, r, t)):
            scores = scorer.score_all(torch.tensor([source]), torch.tensor([relation]))[0].tolist()
            fact = [(v, r, t) if relation >= R else (h, r, v) for v in range(len(scores))]
            negatives = [s for v, s in enumerate(scores) if v != answer and fact[v] not in known]
            better, tied = (sum(f(s) for s in negatives) for f in (scores[answer].__lt__, scores[answer].__eq__))
            ranks.append(
                (1 + better + {"optimistic": 0, "realistic": 0.5, "pessimistic": 1}[ties] * tied, len(negatives))
            )
        found.append((r, *ranks))
    return found


def naive_metrics(ranks):
    rank, negatives = np.array(ranks, dtype=float).T
    hits = {f"hits@{n}": np.mean(rank <= n) for n in (1, 3, 10)}
    return {"mr": rank.mean(), "mrr": (1 / rank).mean(), **hits, "hits@10_50": sampled_hits(rank, negatives).mean()}


@pytest.mark.parametrize(
    ("kind", "split", "ties"),
    [
        ("knowledge", "test", "realistic"),
        ("knowledge", "valid", "pessimistic"),
        ("inductive", "test", "optimistic"),
        ("inductive", "valid", "realistic"),
    ],
)
@pytest.mark.parametrize("filtered_by", ["known", "facts"])
def test_a_network_equals_the_naive_loop(kind, split, ties, filtered_by, request):
    dataset = request.getfixturevalue(kind)
    scorer = network_scorer(facts_of(dataset, split))
    naive = naive_ranks(scorer, dataset, split, ties, filtered_by=filtered_by)
    # One query a batch, as in the loop: other batches round otherwise in the last bit, which decides near-ties.
    result = evaluate(scorer, dataset, split, ties=ties, filtered_by=filtered_by, batch_size=1)
    heads, tails = [head for _, head, _ in naive], [tail for _, _, tail in naive]
    assert result.metrics.to_dict() == pytest.approx(naive_metrics(heads + tails))
    assert result.overall.head.to_dict() == pytest.approx(naive_metrics(heads))
    assert result.overall.tail.to_dict() == pytest.approx(naive_metrics(tails))
    for row in result.by_relation:
        of_relation = [(head, tail) for r, head, tail in naive if f"relation {r}" == row.relation]
        assert row.metrics.links == len(of_relation)
        assert row.metrics.head.to_dict() == pytest.approx(naive_metrics([head for head, _ in of_relation]))
        assert row.metrics.tail.to_dict() == pytest.approx(naive_metrics([tail for _, tail in of_relation]))
    assert sum(row.metrics.links for row in result.by_relation) == len(naive)


@pytest.mark.parametrize("changes", [{}, {"edges": "independent", "aggregate": "sum"}])
def test_batches_change_nothing_but_rounding(knowledge, changes):
    scorer, known = network_scorer(knowledge.train, **changes), RankingProtocol.of(knowledge, "test").filter
    ranks = rank_links(scorer, knowledge.test, known, batch_size=7, progress=lambda share: None)
    certain = 0
    for side, inverse in (("tail", False), ("head", True)):
        found = getattr(ranks, side).rank("realistic")
        for rank, (h, r, t) in zip(found, rows_of(knowledge.test), strict=True):
            source, relation, answer = (t, r + R, h) if inverse else (h, r, t)
            scores = scorer.score_all(torch.tensor([source]), torch.tensor([relation]))[0].double().numpy()
            negatives = np.delete(scores, [answer, *known.of_query(source, relation)])
            lowest, highest = (1 + np.sum(negatives > scores[answer] + margin) for margin in (1e-5, -1e-5))
            assert lowest <= rank <= highest
            certain += lowest == highest
    assert certain > len(knowledge.test)


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic"])
@pytest.mark.parametrize("batch_size", [1, 3, 1000])
@pytest.mark.parametrize("kind", ["knowledge", "inductive"])
def test_a_baseline_with_many_ties_equals_the_naive_loop(kind, batch_size, ties, request):
    dataset = request.getfixturevalue(kind)
    scorer = RelationFrequency(facts_of(dataset, "test"))
    naive = naive_ranks(scorer, dataset, "test", ties)
    result = evaluate(scorer, dataset, ties=ties, batch_size=batch_size)
    assert result.metrics.to_dict() == pytest.approx(naive_metrics([rank for _, *both in naive for rank in both]))


def possible_answers(dataset, relation):
    """The entities without a type, and those of a type that some fact has in the place that is asked."""
    of_entity = dataset.train.types.of_entity.tolist()
    facts = [fact for fact in rows_of(dataset.train.triplets) if fact[1] == relation % R]
    types = {of_entity[fact[0] if relation >= R else fact[2]] for fact in facts}
    return {v for v, kind in enumerate(of_entity) if not facts or kind in types or kind == -1}


def test_entities_of_impossible_types_are_not_ranked(typed, table_scorer):
    generator = np.random.default_rng(7)
    table = generator.integers(0, 6, size=(2 * R, 40, 40)).astype(float)  # many ties
    known = {*rows_of(typed.train.triplets), *rows_of(typed.valid), *rows_of(typed.test)}
    expected, left_out = [], 0
    for h, r, t in rows_of(typed.test):
        for source, relation, answer in ((h, r, t), (t, r + R, h)):
            possible = possible_answers(typed, relation)
            facts = {v: (v, r, t) if relation >= R else (h, r, v) for v in range(40)}
            scores = table[relation, source]
            negatives = [scores[v] for v in possible if v != answer and facts[v] not in known]
            left_out += answer not in possible
            if answer in possible:
                rank = 1 + sum(s > scores[answer] for s in negatives) + sum(s == scores[answer] for s in negatives) / 2
            else:
                rank = 1 + len(negatives)  # a prediction never lists it
            expected.append((rank, len(negatives)))
    assert 0 < left_out < len(expected)
    result = evaluate(table_scorer(table), typed)
    assert result.metrics.to_dict() == pytest.approx(naive_metrics(expected))
    lifted = evaluate(table_scorer(table), typed, any_type=True)
    naive = naive_ranks(table_scorer(table), typed, "test", "realistic")
    assert lifted.metrics.to_dict() == pytest.approx(naive_metrics([rank for _, *both in naive for rank in both]))


def test_categories_gather_their_relations(knowledge):
    result = evaluate(RelationFrequency(knowledge.train), knowledge)
    for category, metrics in result.by_category.items():
        rows = [row for row in result.by_relation if row.category == category]
        assert metrics.links == sum(row.metrics.links for row in rows)
        for side in ("head", "tail", "both"):
            mean = sum(row.metrics.links * getattr(row.metrics, side).mrr for row in rows) / metrics.links
            assert getattr(metrics, side).mrr == pytest.approx(mean)
    assert sum(metrics.links for metrics in result.by_category.values()) == len(knowledge.test)


def test_entities_without_a_fact_are_ranked_like_all_others(dataset_of, table_scorer):
    # 5 entities; 3 and 4 stand in the test link only, and tie with each other and entity 2
    dataset = dataset_of(5, 1, [(0, 0, 1), (2, 0, 1)], [(0, 0, 2)], [(0, 0, 3), (4, 0, 3)])
    table = np.zeros((2, 5, 5))
    table[0, 0] = [1, 9, 9, 5, 5]  # (0, 0, ?): 1, 2 and 3 are known; against 3 stand 0 (worse) and 4 (tied)
    result = evaluate(table_scorer(table), dataset)
    # (4, 0, ?): all tie, 4 negatives. (3, inverse, ?) for 0 and for 4: each filtered from the other, 3 negatives tie.
    assert result.overall.tail.mr == pytest.approx((1.5 + 3) / 2)
    assert result.overall.head.mr == pytest.approx(2.5)


def test_queries_that_share_source_and_relation_are_scored_once(dataset_of, table_scorer):
    dataset = dataset_of(4, 1, [(0, 0, 1)], [(1, 0, 2)], [(0, 0, 2), (0, 0, 3), (1, 0, 3), (0, 0, 2)])
    scorer = table_scorer(np.random.default_rng(0).random((2, 4, 4)))
    result = evaluate(scorer, dataset)
    assert scorer.asked == 4  # (0, r), (1, r), (2, inverse), (3, inverse)
    assert result.to_dict()["queries"] == 8


def test_a_sample_says_where_the_whole_is(knowledge):
    scorer = RelationFrequency(knowledge.train)
    whole = evaluate(scorer, knowledge)
    assert whole.sample is None and whole.to_dict()["sample"] is None
    sampled = evaluate(scorer, knowledge, sample=15, seed=4)
    assert sampled == type(sampled)(
        **{**vars(evaluate(scorer, knowledge, sample=15, seed=4)), "seconds": sampled.seconds}
    )
    assert sampled.sample is not None
    assert (sampled.overall.links, sampled.sample.links, sampled.sample.of) == (15, 15, len(knowledge.test))
    low, high = sampled.sample.interval
    assert low < sampled.metrics.mrr < high
    assert low < whole.metrics.mrr < high


def test_the_document_is_the_contract(knowledge):
    document = evaluate(RelationFrequency(knowledge.train), knowledge, "valid", ties="optimistic").to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert {"dataset", "split", "protocol", "ties", "queries", "metrics", "by_category", "seconds"} <= set(document)
    assert (document["dataset"], document["split"], document["ties"]) == ("tiny", "valid", "optimistic")
    assert set(document["metrics"]) == {"mr", "mrr", "hits@1", "hits@3", "hits@10", "hits@10_50"}
    assert set(document["by_category"]) <= {"1-to-1", "1-to-N", "N-to-1", "N-to-N"}
    category = next(iter(document["by_category"].values()))
    assert set(category) == {"links", "head", "tail"}


def test_scores_that_are_not_numbers(knowledge, table_scorer):
    with pytest.raises(EvaluationError, match="not a number"):
        evaluate(table_scorer(np.full((2 * R, 40, 40), np.nan)), knowledge)
