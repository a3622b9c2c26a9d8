"""Fine-tuning: a training that begins with the network of another run, most often the one for any graph."""

from __future__ import annotations

from typing import Any

import torch

from nbfnet.config import Config, ModelConfig
from nbfnet.errors import ConfigError, TrainingError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.model.relation_network import RelationPairs
from nbfnet.training.defaults import Choice, batch_size, tables_of
from nbfnet.training.run_folder import UNIVERSAL, RunFolder

SCRATCH = "scratch"  # instead of the name of a run to begin with: random parameters
# A network for any graph that was trained further was at its best after two to five epochs of small graphs (umls,
# kinships, wn18rr-v4), and after a third of an epoch of FB15k-237 as good as the paper's; on WN18RR one is too few.
_TUNING_LINKS, _TUNING_EPOCHS = 250_000, 5
# A link takes a pass over most facts of the graph. So many in all are about an epoch of FB15k-237; a graph of some
# million facts would take days without this limit.
_MOST_PASSED, _FEWEST_TUNING_LINKS = 90_000_000_000, 20_000
_TUNING_RATE_OF_ANY_GRAPH, _TUNING_RATE = 2e-3, 5e-4
_SHARED_ANSWERS, _MANY_LINKS = 16, 60_000
# A batch of four relations takes half to two thirds of the time where a graph has few. On wn18rr-v4, kinships and umls
# (9 to 46 relations with 100 facts or more) as much was learned from a link; on a graph of 180 with 24 facts each, from
# scratch, valid MRR fell from .496 to .451.
_GATHERED, _MOST_TO_GATHER, _FACTS_TO_GATHER = 4, 50, 100
_MOST_PAIRS = 1 << 25  # numbers: as parameters with Adam's moments and gradients, half a gigabyte


def choose_start(dataset: Dataset, stated: Config) -> Choice:
    """The network that a training begins with: the one for any graph that comes with nbfnet, or random parameters.

    By valid MRR it was the best recipe on umls, kinships, nations, FB15k-237, WN18RR and the inductive graphs that were
    measured. On WN18RR one epoch of it had .547, four and a half .570, and fourteen from scratch .556.
    """
    training = stated.training
    if dataset.kind == "homogeneous":
        why = "the graph is homogeneous"
    elif stated.model.model_fields_set - {"frontier"}:
        why = "the model is stated"
    elif stated.sampling.hops is not None:
        why = "the graph is sampled"
    elif training.loss != "softmax" and "loss" in training.model_fields_set:
        why = "the loss is stated, and the network for any graph has learned by another one"
    elif "epochs" in training.model_fields_set and not training.epochs:
        why = "no epoch is asked for"
    elif not len(dataset.valid):
        why = "there are no valid links to tell whether another network is better"
    else:
        why = "a network that has learned from many graphs learns this one sooner, and better"
        return Choice("start", UNIVERSAL, why)
    return Choice("start", SCRATCH, why)


def choose_tuning(dataset: Dataset, stated: Config, first: Config) -> list[Choice]:
    """How a training goes on that begins with the network of another run, whose configuration is ``first``.

    Under the other loss its logits would have the wrong height: a softmax does not depend on what is added to all.
    What a network for any graph makes of the relations becomes parameters of this graph's, where they are not too many.
    """
    why = "as the network that it begins with has learned"
    loss = "binary" if dataset.kind == "homogeneous" else first.training.loss
    chosen = [Choice("training.loss", loss, why)]
    if not first.model.any_graph:
        return [*chosen, Choice("training.learning_rate", _TUNING_RATE, "smaller steps keep what it has learned")]
    facts = len(dataset.train.triplets)
    if has_relation_network(first.model) and dataset.train.num_relation_ids**2 * first.model.dim <= _MOST_PAIRS:
        why = "what it makes of the relations becomes parameters of this graph"
        chosen.append(Choice("model.edges", "pairwise", why))
    relations = dataset.train.num_relations
    if relations <= _MOST_TO_GATHER and facts >= _FACTS_TO_GATHER * relations:
        why = f"{relations} relations with {facts / max(1, relations):,.0f} facts each: queries of one share work"
        chosen.append(Choice("training.relations", _GATHERED, why))
    rate = "smaller steps than from scratch keep what it has learned"
    chosen.append(Choice("training.learning_rate", _TUNING_RATE_OF_ANY_GRAPH, rate))
    if stated.training.hours is None:
        if "epochs" in stated.training.model_fields_set:
            return chosen  # a stated number of epochs may be raised later, so the rate does not fall
        chosen += _tuning_epochs(dataset, stated, first.model)
    chosen.append(Choice("training.schedule", "cosine", "the learning rate falls to zero at the end"))
    if loss == "softmax" and facts > _MANY_LINKS:
        why = f"{facts:,} facts are many, and answers of a question share one pass"
        chosen.append(Choice("training.answers", _SHARED_ANSWERS, why))
    return chosen


def _tuning_epochs(dataset: Dataset, stated: Config, model: ModelConfig) -> list[Choice]:
    """About as many links of any graph: several epochs of a small one, some links of a large one."""
    facts = len(dataset.train.triplets)
    epochs = max(1, min(_TUNING_EPOCHS, round(_TUNING_LINKS / max(1, facts))))
    chosen = [Choice("training.epochs", epochs, f"it learns {facts:,} facts within so many")]
    if epochs < _TUNING_EPOCHS:
        validations = _TUNING_EPOCHS // epochs
        chosen.append(Choice("training.validations_per_epoch", validations, "an epoch takes long"))
    links = max(_FEWEST_TUNING_LINKS, _MOST_PASSED // max(1, facts))
    if facts > links:
        is_stated = "batch_size" in stated.training.model_fields_set
        size = stated.training.batch_size if is_stated else batch_size(dataset, model).value
        why = "as much work as an epoch of FB15k-237; --hours asks for more or less"
        chosen.append(Choice("training.batches_per_epoch", max(1, links // size), why))
    return chosen


def has_relation_network(model: ModelConfig) -> bool:
    """Whether relations get their representations before the entities, by a network of their own."""
    return model.edges in ("relational", "factorised")


_FREE = ("symmetric", "frontier")  # of the model: no parameter depends on them


def fine_tuning(first: RunFolder, dataset: Dataset, stated: Config) -> tuple[dict[str, Any], list[Choice]]:
    """The model of a training that begins with the network of another run, as tables, and how it goes on."""
    config = first.config()
    tuning = choose_tuning(dataset, stated, config)
    model = config.model.model_dump(mode="json", exclude=set(_FREE)) | tables_of(tuning)["model"]
    return {"model": model, "training": tables_of(tuning)["training"]}, tuning


def first_network(first: RunFolder, dataset: Dataset, config: Config) -> NeuralBellmanFordNetwork:
    """The network of a run, to begin another training with.

    Raises:
        ConfigError: the configuration is that of another network.
        TrainingError: it belongs to other relations.
    """
    stated, own = (each.model.model_dump(exclude=set(_FREE)) for each in (config, first.config()))
    to_pairs = has_relation_network(first.config().model) and config.model.edges == "pairwise"
    changed = [f"model.{key}" for key in own if own[key] != stated[key] and not (key == "edges" and to_pairs)]
    if changed:
        raise ConfigError(
            f"{first.path}: training begins with its network, so {', '.join(changed)} cannot change; leave it out"
        )
    learned = first.dataset()
    before, now = learned.train, dataset.train
    same = before.kind == now.kind and list(before.relations) == list(now.relations)
    if not first.config().model.any_graph and not same:
        raise TrainingError(
            f"{first.path}: its network belongs to the relations of {learned.name}, which are not those of "
            f"{dataset.name}",
            remedy="begin with a network for any graph, such as one that 'nbfnet pretrain' made",
        )
    network = first.network(learned)
    return _with_pairs(network, config.model, now) if to_pairs else network


def _with_pairs(network: NeuralBellmanFordNetwork, config: ModelConfig, graph: Graph) -> NeuralBellmanFordNetwork:
    """The same network on one graph: what its relation network makes of this graph's relations are parameters."""
    assert network.relation_network is not None
    every = torch.arange(graph.num_relation_ids)
    with torch.no_grad():
        pairs = network.relation_network(MessageGraph(graph.message_csr), every)
    with torch.random.fork_rng(devices=[]):  # what is drawn here is not used
        bound = NeuralBellmanFordNetwork(config, graph.num_relation_ids)
    assert isinstance(bound.relation_network, RelationPairs)
    bound.relation_network.set_pairs(pairs)
    bound.layers, bound.score_function, bound.indicator = network.layers, network.score_function, network.indicator
    return bound
