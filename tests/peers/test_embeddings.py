"""PyKEEN's models: ranked by our evaluator and by PyKEEN's own, and trained within a budget."""

from __future__ import annotations

import dataclasses
import importlib.util

import pytest
import torch

from nbfnet.errors import TrainingError
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.peers.course import Course
from nbfnet.peers.embeddings import (
    RECIPES,
    DistanceScorer,
    PyKEENScorer,
    count_parameters,
    fitting_recipe,
    make_model,
    make_scorer,
    quiet,
    rows_of,
    train_embeddings,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pykeen") is None, reason="pykeen is not installed: pip install '.[peers]'"
)
METRICS = {
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
}


def rank_with_pykeen(model, dataset):
    from pykeen.evaluation import RankBasedEvaluator

    known = [rows_of(dataset.train.triplets), rows_of(dataset.valid)]
    with quiet():
        return RankBasedEvaluator(filtered=True).evaluate(
            model, rows_of(dataset.test), additional_filter_triples=known, batch_size=16, use_tqdm=False
        )


@pytest.mark.parametrize("name", RECIPES)
def test_pykeens_own_evaluator_agrees(name, blocks):
    """The same model, untrained weights: head and tail queries, inverse relations, filter and ties."""
    recipe = dataclasses.replace(RECIPES[name], dim=8)
    with quiet():
        torch.manual_seed(3)
        model, _ = make_model(recipe, blocks.train)
        model.eval()
    theirs = rank_with_pykeen(model, blocks)
    ours = evaluate(make_scorer(name, model, blocks.train.num_relations), blocks).overall
    for side in ("both", "head", "tail"):
        found = getattr(ours, side).to_dict()
        for metric, pykeens in METRICS.items():
            assert found[metric] == pytest.approx(theirs.get_metric(f"{side}.realistic.{pykeens}"), rel=1e-6), side


@pytest.mark.parametrize("name", ["transe", "rotate"])
def test_distances_are_the_scores_of_the_model(name, blocks):
    with quiet():
        torch.manual_seed(3)
        model, _ = make_model(dataclasses.replace(RECIPES[name], dim=8), blocks.train)
    source, relation = torch.tensor([3, 1, 4, 1]), torch.tensor([4, 0, 2, 5])
    fast, slow = (kind(model, 3).score_all(source, relation) for kind in (DistanceScorer, PyKEENScorer))
    torch.testing.assert_close(fast, slow)


@pytest.mark.parametrize("name", RECIPES)
def test_a_scorer_keeps_what_it_was_made_of(name, blocks):
    with quiet():
        model, _ = make_model(dataclasses.replace(RECIPES[name], dim=8), blocks.train)
    scorer, query = make_scorer(name, model, 3), (torch.tensor([3]), torch.tensor([4]))
    before = scorer.score_all(*query).clone()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert torch.equal(scorer.score_all(*query), before)


@pytest.mark.parametrize(
    ("name", "steps"), [("transe", 500), ("distmult", 120), ("complex", 120), ("rotate", 250), ("rgcn", 40)]
)
def test_every_model_is_trained_until_its_budget_ends(name, steps, blocks, monkeypatch, count_of_steps):
    monkeypatch.setitem(RECIPES, name, dataclasses.replace(RECIPES[name], dim=16, learning_rate=0.02))
    points = []
    course = Course(blocks, float(steps), points.append)
    before = torch.get_rng_state()
    found = train_embeddings(name, blocks.train, course, seed=0)
    assert torch.equal(before, torch.get_rng_state()), "the random numbers of others are left alone"
    assert course.curve == points
    assert 0.7 * steps < points[-1]["steps"] <= steps and steps <= course.spent <= steps + 3
    best = max(point["valid"]["mrr"] for point in points)
    assert best > 0.2  # twice what an order by chance has
    assert evaluate(course.best, blocks, "valid", sample=1_000).metrics.mrr == pytest.approx(best)
    assert found["parameters"] >= 40 * 16


def test_a_loss_that_is_not_finite_is_an_error(blocks, monkeypatch):
    monkeypatch.setitem(RECIPES, "distmult", dataclasses.replace(RECIPES["distmult"], learning_rate=1e30))
    with pytest.raises(TrainingError, match="distmult: the loss is not finite"):
        train_embeddings("distmult", blocks.train, Course(blocks, 600.0), seed=0)


def test_the_dim_of_rgcn_depends_on_the_graph(blocks, monkeypatch):
    assert fitting_recipe("rgcn", blocks.train).dim == 200
    monkeypatch.setattr("nbfnet.peers.embeddings._MOST_NUMBERS", 3 * 40 * 64)
    recipe = fitting_recipe("rgcn", blocks.train)
    assert recipe.dim == 64 and recipe.options["decomposition_kwargs"] == {"num_blocks": 16}
    monkeypatch.setattr("nbfnet.peers.embeddings._MOST_NUMBERS", 0)
    assert fitting_recipe("rgcn", blocks.train).dim == 8


def test_a_small_graph_has_small_batches(blocks):
    facts = len(blocks.train.triplets)
    assert fitting_recipe("transe", blocks.train) == dataclasses.replace(RECIPES["transe"], batch_size=facts // 32)
    assert fitting_recipe("rgcn", blocks.train).batch_size == facts


def test_complex_numbers_count_twice():
    module = torch.nn.ParameterList([torch.zeros(3, 2), torch.zeros(4, dtype=torch.cfloat)])
    assert count_parameters(module) == 6 + 8
