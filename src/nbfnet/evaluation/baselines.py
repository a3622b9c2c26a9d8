"""Baselines: what a model has to beat before it has learned anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbfnet.evaluation.path_scorer import PathScorer
from nbfnet.evaluation.relation_frequency import RelationFrequency
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Graph

BASELINES: Mapping[str, Callable[[Graph], Scorer]] = {
    "katz": lambda facts: PathScorer(facts, "katz"),
    "ppr": lambda facts: PathScorer(facts, "ppr"),
    "distance": lambda facts: PathScorer(facts, "distance"),
    "relation frequency": RelationFrequency,
}
