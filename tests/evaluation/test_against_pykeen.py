"""The same scores, ranked by PyKEEN: its filter, its ties, its metrics."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from nbfnet.evaluation.evaluator import evaluate

R = 3


@pytest.fixture(scope="module")
def pykeen():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies, while they load
        import pykeen.evaluation
        import pykeen.models.mocks
        import pykeen.triples
    return pykeen


def rows_of(triplets):
    return torch.from_numpy(np.stack([triplets.head, triplets.relation, triplets.tail], axis=1)).long()


def rank_with_pykeen(pykeen, table, dataset):
    factory = pykeen.triples.CoreTriplesFactory(
        rows_of(dataset.train.triplets), num_entities=dataset.train.num_nodes, num_relations=R
    )

    class TableModel(pykeen.models.mocks.FixedModel):
        def score_t(self, hr_batch, tails=None, **kwargs):
            return table[hr_batch[:, 1], hr_batch[:, 0]]

        def score_h(self, rt_batch, heads=None, **kwargs):
            return table[rt_batch[:, 0] + R, rt_batch[:, 1]]

    evaluator = pykeen.evaluation.RankBasedEvaluator(filtered=True)
    known = [factory.mapped_triples, rows_of(dataset.valid)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return evaluator.evaluate(
            TableModel(triples_factory=factory),
            rows_of(dataset.test),
            additional_filter_triples=known,
            batch_size=8,
            use_tqdm=False,
        )


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic"])
@pytest.mark.parametrize("levels", [4, 1_000_000])
def test_equal_metrics(pykeen, knowledge, table_scorer, levels, ties):
    table = torch.from_numpy(np.random.default_rng(levels).integers(0, levels, size=(2 * R, 40, 40))).float()
    theirs = rank_with_pykeen(pykeen, table, knowledge)
    ours = evaluate(table_scorer(table), knowledge, ties=ties).overall
    names = {
        "mr": "arithmetic_mean_rank",
        "mrr": "inverse_harmonic_mean_rank",
        "hits@1": "hits_at_1",
        "hits@3": "hits_at_3",
        "hits@10": "hits_at_10",
    }
    for side in ("both", "head", "tail"):
        found = getattr(ours, side).to_dict()
        for name, pykeen_name in names.items():
            assert found[name] == pytest.approx(theirs.get_metric(f"{side}.{ties}.{pykeen_name}"), rel=1e-6), (
                side,
                name,
            )
