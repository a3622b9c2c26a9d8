"""TransE, DistMult, ComplEx, RotatE and R-GCN by PyKEEN: its models, losses and training loops, our evaluation."""

from __future__ import annotations

import copy
import gc
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nbfnet.errors import TrainingError
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, is_inverse
from nbfnet.graph.triplets import Triplets
from nbfnet.peers.course import BudgetSpentError, Course

_FOREVER = 1 << 40  # epochs
_STEPS_OF_EPOCH, _SMALLEST_BATCH = 32, 16
_MOST_NUMBERS = 60_000_000  # of (relation, node, dim): a step takes some seconds and a few gigabytes
_BLOCK = 4  # numbers that a block of R-GCN's matrices mixes


@dataclass(frozen=True)
class Recipe:
    """How a model is trained: as is usual for it, of a size that a CPU trains in hours."""

    model: str
    dim: int
    loss: str
    loss_options: dict[str, Any]
    batch_size: int
    learning_rate: float
    negatives: int | None = None  # drawn for each triplet; None compares with all entities (LCWA, both directions)
    options: dict[str, Any] | None = None  # of the model
    clip: float | None = None  # the largest norm of a gradient

    def to_dict(self) -> dict[str, Any]:
        """For the result: what was trained."""
        against = "all entities" if self.negatives is None else f"{self.negatives} drawn negatives"
        loss = {"loss": self.loss, **self.loss_options, "against": against}
        return {"dim": self.dim, **loss, "batch_size": self.batch_size, "learning_rate": self.learning_rate}


_ADVERSARIAL = {"margin": 9.0, "adversarial_temperature": 1.0, "reduction": "mean"}
_PLAIN = {"entity_initializer": "xavier_uniform", "relation_initializer": "xavier_uniform", "regularizer": None}
RECIPES = {
    "transe": Recipe("TransE", 200, "nssa", _ADVERSARIAL, 512, 5e-3, 64, {"entity_constrainer": None}),
    "distmult": Recipe("DistMult", 200, "crossentropy", {}, 256, 5e-3, None, {**_PLAIN, "entity_constrainer": None}),
    "complex": Recipe("ComplEx", 100, "crossentropy", {}, 256, 5e-3, None, _PLAIN),
    "rotate": Recipe("RotatE", 100, "nssa", _ADVERSARIAL, 512, 5e-3, 64, {"entity_initializer": "uniform"}),
    "rgcn": Recipe("RGCN", 200, "bcewithlogits", {}, 30_000, 1e-2, 1, {"decomposition": "block"}, clip=1.0),
}


class DistanceScorer(Scorer):
    """TransE and RotatE as they are now: -|u + r - v|_1, and -|u * r - v|_2 of complex vectors with |r_i| = 1.

    Both are the distance from one point, u + r or u * r for a tail, v - r or v * conj(r) for a head, to all entities:
    one compiled call, where PyKEEN makes an array (query, node, dim) first.
    """

    def __init__(self, model: Any, num_relations: int) -> None:
        entity, relation = model.entity_representations[0](), model.relation_representations[0]()
        self._entity, self._relation = (each.detach().clone() for each in (entity, relation))  # (node, dim), ...
        self._num_relations = num_relations

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Scores (query, node)."""
        asks_head, stated = _by_direction(relation, self._num_relations)
        at, by, against = self._entity[source], self._relation[stated], asks_head[:, None]
        if at.is_complex():
            point, p = at * torch.where(against, by.conj(), by), 2.0
            return -torch.cdist(_reals(point), _reals(self._entity), p, "donot_use_mm_for_euclid_dist")
        return -torch.cdist(torch.where(against, at - by, at + by), self._entity, 1.0)


def _reals(vectors: Tensor) -> Tensor:
    return torch.view_as_real(vectors).flatten(start_dim=1)


def _by_direction(relation: Tensor, num_relations: int) -> tuple[Tensor, Tensor]:
    """(query,) whether a query asks for heads, and the relation as the data have it."""
    ids = relation.tolist()
    asks_head = torch.tensor([is_inverse(r, num_relations) for r in ids])
    return asks_head, torch.tensor([base(r, num_relations) for r in ids])


class PyKEENScorer(Scorer):
    """A PyKEEN model as it is now, scored by itself; queries of inverse relations ask it for heads."""

    def __init__(self, model: Any, num_relations: int) -> None:
        self._model, self._num_relations = copy.deepcopy(model).eval(), num_relations

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Scores (query, node)."""
        asks_head, stated = _by_direction(relation, self._num_relations)
        scores = torch.empty(len(source), self._model.num_entities)
        with torch.no_grad(), quiet():
            if not asks_head.all():
                asked = torch.stack([source, stated], dim=1)[~asks_head]
                scores[~asks_head] = self._model.predict_t(asked)
            if asks_head.any():
                asked = torch.stack([stated, source], dim=1)[asks_head]
                scores[asks_head] = self._model.predict_h(asked)
        return scores


def make_scorer(name: str, model: Any, num_relations: int) -> Scorer:
    """A scorer of a model as it is now, which further steps do not change."""
    return (DistanceScorer if name in ("transe", "rotate") else PyKEENScorer)(model, num_relations)


def train_embeddings(name: str, graph: Graph, course: Course, seed: int) -> dict[str, Any]:
    """Train until the course ends; the number of parameters, and how it was trained.

    Raises:
        TrainingError: the loss is not finite.
    """
    recipe = fitting_recipe(name, graph)
    with quiet(), few_objects(), tempfile.TemporaryDirectory() as scratch, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model, loop = make_model(recipe, graph)
        from pykeen.training import NonFiniteLossError, TrainingCallback

        class Steps(TrainingCallback):
            is_first = True

            def pre_batch(self, **_: Any) -> None:  # when the step before it is complete
                if not self.is_first:
                    course.after_step(lambda: make_scorer(name, model, graph.num_relations))
                self.is_first = False

            def pre_step(self, **_: Any) -> None:
                if recipe.clip is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)

        try:
            loop.train(
                triples_factory_of(recipe, graph),
                num_epochs=_FOREVER,
                batch_size=recipe.batch_size,
                callbacks=Steps,
                checkpoint_directory=scratch,
                use_tqdm=False,
                pin_memory=False,
            )
        except BudgetSpentError:
            pass
        except NonFiniteLossError as error:
            raise TrainingError(f"{name}: the loss is not finite, so the method has no result; leave it out") from error
    return {"parameters": count_parameters(model), "settings": recipe.to_dict()}


def fitting_recipe(name: str, graph: Graph) -> Recipe:
    """The recipe of a method for a graph: an epoch of a small one has some steps too.

    Each step of R-GCN passes over the whole graph, so its batches stay large; PyKEEN's makes (relation, node, dim)
    several times, so its dim depends on the graph.
    """
    recipe, facts = RECIPES[name], len(graph.triplets)
    if name != "rgcn":
        return replace(recipe, batch_size=min(recipe.batch_size, max(_SMALLEST_BATCH, facts // _STEPS_OF_EPOCH)))
    fits = [dim for dim in (200, 100, 64, 32, 16) if graph.num_relations * graph.num_nodes * dim <= _MOST_NUMBERS]
    dim = fits[0] if fits else 8
    options = {**(recipe.options or {}), "decomposition_kwargs": {"num_blocks": dim // _BLOCK}}
    return replace(recipe, dim=dim, batch_size=min(recipe.batch_size, facts), options=options)


def make_model(recipe: Recipe, graph: Graph) -> tuple[Any, Any]:
    """A model of PyKEEN, and the loop that trains it."""
    from pykeen.models import model_resolver
    from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop
    from pykeen.utils import NoRandomSeedNecessary

    facts = triples_factory_of(recipe, graph)
    model = model_resolver.make(
        recipe.model,
        triples_factory=facts,
        embedding_dim=recipe.dim,
        loss=recipe.loss,
        loss_kwargs=recipe.loss_options,
        random_seed=NoRandomSeedNecessary,
        **(recipe.options or {}),
    )
    how = {"model": model, "triples_factory": facts, "optimizer_kwargs": {"lr": recipe.learning_rate}}
    if recipe.negatives is None:
        return model, LCWATrainingLoop(**how)
    return model, SLCWATrainingLoop(**how, negative_sampler_kwargs={"num_negs_per_pos": recipe.negatives})


def triples_factory_of(recipe: Recipe, graph: Graph) -> Any:
    """The facts of a graph as PyKEEN takes them; training against all entities asks both ways by inverse relations."""
    from pykeen.triples import CoreTriplesFactory

    return CoreTriplesFactory(
        rows_of(graph.triplets),
        num_entities=graph.num_nodes,
        num_relations=graph.num_relations,
        create_inverse_triples=recipe.negatives is None,
    )


def rows_of(links: Triplets) -> Tensor:
    """(link, 3) head, relation and tail."""
    return torch.from_numpy(np.stack([links.head, links.relation, links.tail], axis=1).astype(np.int64))


def count_parameters(model: torch.nn.Module) -> int:
    """How many numbers are learned; a complex one is two."""
    return sum(each.numel() * (1 + each.is_complex()) for each in model.parameters())


@contextmanager
def few_objects() -> Iterator[None]:
    """Within the block, collecting garbage passes over what the block makes alone: PyKEEN does it in every epoch."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings and the log of libraries, which speak to their own users."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
