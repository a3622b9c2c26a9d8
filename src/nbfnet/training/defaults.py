"""Sound defaults for a graph, where nothing else is configured, each with its reason."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbfnet.config import Config, ModelConfig
from nbfnet.graph.graph import Dataset, Graph

# With W_r q + b_r every relation has d x d parameters of its own, and a step takes about twice as long. That raised the
# valid MRR of a graph of 25 relations by .018, and that of six graphs of 9 to 11 by .006 at most.
_MANY_RELATIONS, _FACTS_PER_RELATION = 12, 20
_FEW_JOINED = 0.05  # of the valid links
_PATIENCE, _TELLING = 5, 50  # validations, of so many links at least: fewer do not tell when to stop
_STEPS_OF_EPOCH = 64  # at least, unless that makes batches smaller than eight
_MOST_BATCHES = 2_000  # of an epoch, where the graph is sampled
_VALIDATED = 500  # valid links, where the graph is sampled
_AVERAGE = 0.99  # the decay of the moving average: it reaches back about a hundred steps
_MANY_FACTS = 20_000_000  # more are not sorted to look at the ends of valid links
_VALIDATION_EDGES = 2_000_000_000  # of all ranked queries: a validation passes over so many in some minutes


@dataclass(frozen=True)
class Choice:
    """A value that was chosen for a key, such as training.hiding, and why."""

    key: str
    value: Any
    why: str

    def is_in(self, config: Config) -> bool:
        """Whether a configuration has it; not if something else was stated."""
        table, key = self.key.split(".")
        return bool(getattr(getattr(config, table), key) == self.value)


def default_config(dataset: Dataset, stated: Config) -> dict[str, Any]:
    """The choices for a dataset, as the tables of a TOML file."""
    return tables_of(choose(dataset, stated))


def tables_of(choices: Iterable[Choice]) -> dict[str, Any]:
    """Choices as the tables of a TOML file."""
    tables: dict[str, Any] = {"model": {}, "training": {}}
    for choice in choices:
        table, key = choice.key.split(".")
        tables[table][key] = choice.value
    return tables


def choose(dataset: Dataset, stated: Config) -> list[Choice]:
    """What the paper found for graphs like this one, with what was measured since.

    ``stated`` is what the user configured: a wide or deep network leaves room for fewer queries, a budget is planned.
    """
    if stated.sampling.hops is not None and dataset.kind != "homogeneous":
        return _for_samples(dataset, stated)
    chosen = [batch_size(dataset, stated.model)]
    if stated.model.kind != "nbfnet":
        chosen.append(Choice("model.layers", 3, "rules of up to three atoms can be read"))
    if stated.training.hours is not None:
        why = "the learning rate falls to zero as the budget of hours ends"
        chosen.append(Choice("training.schedule", "cosine", why))
    else:
        chosen += _validations(dataset)
    if dataset.kind == "homogeneous":
        edges = [Choice("model.edges", "independent", "the graph has one relation")]
        return [
            *chosen,
            *(edges if stated.model.kind == "nbfnet" else []),
            Choice("model.symmetric", True, "the graph is undirected"),
            Choice("training.negatives", 1, "the graph is homogeneous, as in the paper"),
            Choice("training.hiding", "pair", "an undirected edge joins its ends both ways"),
        ]
    if stated.model.kind == "nbfnet":
        chosen += _edges(dataset.train, stated)
    else:
        chosen.append(Choice("training.loss", "softmax", "rules are learned by the likelihood of the answers"))
    # Under a decay it adds nothing, and what is published was measured without it.
    if _is_constant(stated) and stated.experiment is None:
        why = "the mean of the last steps' parameters is better than those of any one step, at a constant rate"
        chosen.append(Choice("training.average", _AVERAGE, why))
    return [*chosen, _hiding(dataset)]


def _is_constant(stated: Config) -> bool:
    return stated.training.schedule == "constant" and stated.training.hours is None


def _for_samples(dataset: Dataset, stated: Config) -> list[Choice]:
    """Choices for a graph that is sampled: none of them looks at all facts together."""
    facts, valid = len(dataset.train.triplets), len(dataset.valid)
    size = max(1, min(16, facts // _STEPS_OF_EPOCH))
    chosen = [Choice("training.batch_size", size, "every query has a sample of its own")]
    if facts > _MOST_BATCHES * size:
        why = f"{facts:,} facts are too many to ask all before a validation"
        chosen.append(Choice("training.batches_per_epoch", _MOST_BATCHES, why))
    if valid > _VALIDATED:
        why = f"of {valid:,} valid links, each against drawn candidates"
        chosen.append(Choice("training.validation_sample", _VALIDATED, why))
    edges = _edges(dataset.train, stated) if stated.model.kind == "nbfnet" else []
    return [*chosen, *edges, _hiding(dataset)]


def _edges(graph: Graph, stated: Config) -> list[Choice]:
    """Edge representations, and the temperature that the paper has with them or with those that the user states."""
    relations, facts = graph.num_relations, len(graph.triplets)
    found = f"{relations:,} relations with {facts / max(1, relations):,.0f} facts each on average"
    needed = f"of query-dependent ones every relation has a matrix: {_MANY_RELATIONS} relations, {_FACTS_PER_RELATION}"
    enough = relations >= _MANY_RELATIONS and facts >= _FACTS_PER_RELATION * relations
    edges = "dependent" if enough else "independent"
    chosen = [Choice("model.edges", edges, f"{found} ({needed} facts each are enough)")]
    if stated.training.loss == "binary":
        used = stated.model.edges if "edges" in stated.model.model_fields_set else edges
        temperature = 1.0 if used == "independent" else 0.5
        chosen.append(Choice("training.temperature", temperature, f"as in the paper, with {used} edges"))
    return chosen


def _hiding(dataset: Dataset) -> Choice:
    """Training should look as asking will.

    Where other facts join the ends of valid links, training links keep such facts, and only their own triplet is
    hidden. Where none do, every edge between the ends is hidden, or the network would rely on what it will not find.
    """
    graph = dataset.train
    if not len(dataset.valid):
        return Choice("training.hiding", "triplet", "there are no valid links to look at")
    if len(graph.triplets) > _MANY_FACTS:
        few = dataset.valid.take(np.arange(min(len(dataset.valid), _VALIDATED)))
        ends = zip(few.head.tolist(), few.tail.tolist(), strict=True)
        share = float(np.mean([_are_joined(graph, u, v) for u, v in ends]))
    else:
        joined = np.isin(dataset.valid.pairs(graph.num_nodes), graph.triplets.pairs(graph.num_nodes))
        share = float(joined.mean())
    why = f"other facts join the ends of {share:.0%} of the valid links"
    return Choice("training.hiding", "pair" if share < _FEW_JOINED else "triplet", why)


def _are_joined(graph: Graph, u: int, v: int) -> bool:
    """Whether a fact joins two entities, in any direction; only their own facts are looked at."""
    rows = graph.facts_csr.indptr, graph.facts_csr.source
    return any(b in rows[1][rows[0][a] : rows[0][a + 1]] for a, b in ((u, v), (v, u)))


def batch_size(dataset: Dataset, model: ModelConfig) -> Choice:
    """64 queries, fewer in a small graph, or as many as their representations fit into half of the memory."""
    of_query = 4 * model.width * model.layers * max(1, dataset.train.num_nodes)
    memory, facts = total_memory() // 2 // of_query, len(dataset.train.triplets)
    for_steps = max(8, facts // _STEPS_OF_EPOCH)
    size = max(1, min(64, for_steps, memory))
    if size < min(64, for_steps):
        why = "more do not fit into half of the memory"
    elif size < 64:
        why = f"{facts:,} facts are few, and an epoch should have about {_STEPS_OF_EPOCH} steps"
    else:
        why = "larger batches learn less from each link, and the facts and the memory allow it"
    return Choice("training.batch_size", size, why)


def _validations(dataset: Dataset) -> list[Choice]:
    """Patience, and a sample where ranking all valid links passes over too many edges."""
    chosen, valid = [], len(dataset.valid)
    if valid >= _TELLING:
        chosen.append(Choice("training.patience", _PATIENCE, f"{valid:,} valid links tell when to stop"))
    affordable = max(200, _VALIDATION_EDGES // (4 * max(1, len(dataset.train.triplets))))
    if dataset.kind != "homogeneous" and affordable < valid:
        why = f"ranking all {valid:,} valid links would take longer than some minutes"
        chosen.append(Choice("training.validation_sample", affordable, why))
    return chosen


def total_memory() -> int:
    """Bytes of main memory; 8 GiB where the system does not say, as Windows does not."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 8 << 30
