"""Batches: the training links in random order, each asked as a query with an answer and its negatives.

Nothing random is remembered: the order of an epoch comes from (seed, epoch), the negatives of a batch from (seed,
epoch, batch), so an interrupted training resumes exactly as it would have continued.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from nbfnet.config import SamplingConfig, TrainingConfig
from nbfnet.errors import ConfigError, TrainingError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.sampling.fitting_negatives import FittingNegatives
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.negatives import PairNegatives, StrictNegatives
from nbfnet.sampling.query_sampler import QuerySampler, SampledQueries
from nbfnet.sampling.row_answers import RowAnswers
from nbfnet.sampling.sorted_keys import number_in_runs


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries with their candidates: logits reshaped to (link, 1 + n) have the answer first, then its negatives."""

    source: Int32  # (query,)
    relation: Int32  # (query,)
    target: Int32  # (query, candidate)
    links: int
    graph: int = 0  # which of the graphs that are learned together it is of
    sample: SampledQueries | None = None  # the part of the graph that they are asked on, where it is not all of it
    seed: tuple[int, ...] = ()  # of what else is random in its step

    def take(self, links: slice) -> Batch:
        """The queries of some of the links."""
        per_link = len(self.source) // self.links
        rows = slice(links.start * per_link, links.stop * per_link)
        sample = self.sample
        if sample is not None:  # the others' parts of it are not connected with these
            sample = replace(sample, source=sample.source[rows], target=sample.target[rows])
        source, relation, target = self.source[rows], self.relation[rows], self.target[rows]
        count = links.stop - links.start
        return replace(self, source=source, relation=relation, target=target, links=count, sample=sample)


class Batches(Protocol):
    """Makes the batches of a training."""

    num_links: int  # of an epoch

    def order(self, seed: int, epoch: int) -> Int64:
        """(link,) the links of an epoch, by number, in the order in which they are asked."""
        return np.random.default_rng([seed, epoch]).permutation(self.num_links)

    def family(self, links: Int64) -> Int64:
        """(link,) a number for each link, the same for all whose queries have the same edge representations."""
        return np.zeros(len(links), dtype=np.int64)

    def make(self, links: Int64, generator: np.random.Generator) -> Batch:
        """The batch of some of the links, by number."""


class Epochs:
    """The sequence of batches: epoch after epoch, every link at most once in each."""

    def __init__(self, batches: Batches, config: TrainingConfig) -> None:
        self._batches, self._size, self._seed = batches, config.batch_size, config.seed
        self._relations = config.relations
        self.num_links = batches.num_links
        whole = -(-self.num_links // self._size)
        self.length = min(whole, config.batches_per_epoch or whole)  # batches of an epoch
        self._order: tuple[int, Int64] = (-1, np.empty(0, dtype=np.int64))

    def batch(self, epoch: int, number: int) -> Batch:
        """The batch ``number`` < ``length`` of an epoch, both from 0."""
        if self._order[0] != epoch:
            self._order = epoch, self._links_of(epoch)
        links = self._order[1][number * self._size : (number + 1) * self._size]
        seed = (self._seed, epoch, number)
        return replace(self._batches.make(links, np.random.default_rng(seed)), seed=seed)

    def _links_of(self, epoch: int) -> Int64:
        """(link,) the links of an epoch, batch after batch."""
        links = self._batches.order(self._seed, epoch)
        if self._relations is None:
            return links
        generator = np.random.default_rng([self._seed, epoch, _OF_RELATIONS])
        return gather_relations(links, self._batches.family(links), self._size, self._relations, generator)


_OF_RELATIONS = 2  # tells these random numbers from those of the order and of the negatives


def gather_relations(
    links: Int64, relation: Int64, batch_size: int, relations: int, generator: np.random.Generator
) -> Int64:
    """(link,) the same links, such that the links of a batch have few relations (link,).

    Those of a relation are cut into pieces of ``batch_size`` / ``relations`` links, and batches are made of random
    pieces. What is left of all relations makes some batches of its own. Batches are in random order.
    """
    piece = max(1, batch_size // relations)
    by_relation = np.argsort(relation, kind="stable")
    links, relation = links[by_relation], relation[by_relation]
    count = np.bincount(relation)[relation]
    left = number_in_runs(relation) >= count - count % piece
    pieces = generator.permutation(links[~left].reshape(-1, piece))
    links = np.concatenate([pieces.ravel(), links[left]])
    whole = len(links) - len(links) % batch_size
    batches = generator.permutation(links[:whole].reshape(-1, batch_size))
    return np.concatenate([batches.ravel(), links[whole:]])


class MixedEpochs:
    """The batches of several graphs: in each epoch those of an epoch of each graph, in random order."""

    def __init__(self, parts: Sequence[Epochs], seed: int) -> None:
        self._parts, self._seed = tuple(parts), seed
        self.length = sum(part.length for part in parts)
        self._order: tuple[int, Int64] = (-1, np.empty(0, dtype=np.int64))
        graph = np.repeat(np.arange(len(parts)), [part.length for part in parts])
        self._places = list(zip(graph.tolist(), number_in_runs(graph).tolist(), strict=True))

    def batch(self, epoch: int, number: int) -> Batch:
        """The batch ``number`` < ``length`` of an epoch, both from 0."""
        if self._order[0] != epoch:
            order = np.random.default_rng([self._seed, epoch, self.length]).permutation(self.length)
            self._order = epoch, order
        graph, place = self._places[self._order[1][number]]
        batch: Batch = self._parts[graph].batch(epoch, place)
        return replace(batch, graph=graph)


_OF_ANY_TYPE = 4  # where entities have types, one of so many negatives is of any type: so other types rank low


class LinkBatches(Batches):
    """Knowledge graphs: half of a batch corrupts the tail, half the head, asked as the tail of the inverse relation."""

    def __init__(self, graph: Graph, negatives: int, hard: int = 0) -> None:
        """``hard`` of the negatives fit the relation, where it has such."""
        known = KnownAnswers.of(graph, graph.triplets)
        self._negatives = StrictNegatives(known, graph.types)
        of_any_type = 0 if graph.types is None else negatives // _OF_ANY_TYPE
        self._fitting, self._hard = FittingNegatives(known) if hard else None, hard
        self._draws = [(self._negatives, negatives - of_any_type)]  # and how many from each
        if of_any_type:
            self._draws.append((StrictNegatives(known), of_any_type))
        self._num_relations = graph.num_relations
        facts = graph.triplets
        # A query whose every candidate is right has nothing to learn from: its link is asked the other way, or not.
        tail_asked = self._can_be_asked(facts.head, facts.relation, facts.tail)
        head_asked = self._can_be_asked(facts.tail, invert(facts.relation, graph.num_relations), facts.head)
        askable = tail_asked | head_asked
        if not askable.any():
            raise TrainingError(
                f"{graph.name}: no training fact has a wrong answer to learn from, every entity is a right one for "
                f"every query ({len(facts)} facts, {graph.num_nodes} entities); give a larger or sparser graph"
            )
        self._links = facts.take(askable)
        self._only_tail, self._only_head = ~head_asked[askable], ~tail_asked[askable]
        self.num_links = len(self._links)

    def family(self, links: Int64) -> Int64:
        """(link,) its relation; a piece of a batch asks it one way."""
        return self._links.relation[links].astype(np.int64)

    def make(self, links: Int64, generator: np.random.Generator) -> Batch:
        """One query for each link."""
        asked = self._links.take(links)
        # The odd one of a batch is asked either way by chance: a batch of one would never ask for a head.
        heads = len(links) // 2 + (len(links) % 2 and int(generator.integers(2)))
        backwards = np.arange(len(links)) >= len(links) - heads
        backwards = (backwards | self._only_head[links]) & ~self._only_tail[links]
        return self._ask(asked, backwards, generator)

    def _ask(self, asked: Triplets, backwards: npt.NDArray[np.bool_], generator: np.random.Generator) -> Batch:
        """One query for each link, which asks for its head if it is asked backwards."""
        source, answer = np.where(backwards, asked.tail, asked.head), np.where(backwards, asked.head, asked.tail)
        relation = np.where(backwards, invert(asked.relation, self._num_relations), asked.relation)
        negatives = [drawn.draw(source, relation, answer, count, generator) for drawn, count in self._draws]
        target = np.concatenate([answer[:, None], *negatives], axis=1)
        if self._fitting is not None:
            has = self._fitting.count_allowed(source, relation) > 0
            target[has, 1 : 1 + self._hard] = self._fitting.draw(source[has], relation[has], self._hard, generator)
        return Batch(source, relation, target, len(asked))

    def _can_be_asked(self, source: Int32, relation: Int32, answer: Int32) -> npt.NDArray[np.bool_]:
        return self._negatives.count_allowed(source, relation, answer) > 0


class QuestionBatches(LinkBatches):
    """Knowledge graphs, several answers of a question (source, relation) together, so that they share one query.

    The links of an epoch are half of the directed ones: of the numbers from 0 to 2 N, link i asked forwards is i, and
    backwards N + i. Two epochs ask every link both ways.
    """

    def __init__(self, graph: Graph, negatives: int, hard: int = 0, *, answers: int) -> None:
        """At most ``answers`` of a question are asked together; they have the same negatives."""
        super().__init__(graph, negatives, hard)
        links, self._answers, self._num_nodes = self._links, answers, graph.num_nodes
        self._type = None if graph.types is None else graph.types.of_entity
        source, relation = np.concatenate([links.head, links.tail]), invert(links.relation, graph.num_relations)
        relation = np.concatenate([links.relation, relation]).astype(np.int64)
        self._question: Int64 = relation * graph.num_nodes + source  # (directed link,)
        self._askable = np.flatnonzero(~np.concatenate([self._only_head, self._only_tail]))
        self.num_links = -(-len(self._askable) // 2)

    def order(self, seed: int, epoch: int) -> Int64:
        """(link,) the directed links of an epoch; those that are asked together stand together."""
        generator = np.random.default_rng([seed, epoch // 2])
        links = generator.permutation(self._askable)
        links = links[np.argsort(self._question[links], kind="stable")]
        group = np.cumsum(number_in_runs(self._question[links]) % self._answers == 0) - 1
        links = links[np.argsort(generator.permutation(len(links))[group], kind="stable")]
        return links[: self.num_links] if epoch % 2 == 0 else links[-self.num_links :]

    def family(self, links: Int64) -> Int64:
        """(link,) the relation that it asks about."""
        return self._question[links] // self._num_nodes

    def make(self, links: Int64, generator: np.random.Generator) -> Batch:
        """One query for each directed link."""
        count = len(self._links)
        batch = self._ask(self._links.take(links % count), links >= count, generator)
        # Negatives have the type of the answer: those of the first one serve all of its question and type.
        key = self._question[links]
        if self._type is not None:
            key = key * (int(self._type.max(initial=0)) + 2) + self._type[batch.target[:, 0]] + 1
        _, first, query = np.unique(key, return_index=True, return_inverse=True)
        batch.target[:, 1:] = batch.target[first[query], 1:]
        return batch


class SampledBatches(Batches):
    """Large knowledge graphs: as ``LinkBatches``, each batch with the sample that it is asked on.

    Known answers are read off the rows of each source, and types are not looked at.
    """

    def __init__(self, graph: Graph, config: TrainingConfig, sampling: SamplingConfig) -> None:
        assert sampling.hops is not None
        self._facts, self._num_relations, self._count = graph.triplets, graph.num_relations, config.negatives
        self._answers = RowAnswers(graph)
        self._sampler = QuerySampler(graph, sampling.hops, sampling.neighbours, config.hiding)
        self.num_links = len(graph.triplets)

    def make(self, links: Int64, generator: np.random.Generator) -> Batch:
        """One query for each link."""
        asked = self._facts.take(links)
        heads = len(links) // 2 + (len(links) % 2 and int(generator.integers(2)))
        backwards = np.arange(len(links)) >= len(links) - heads
        source, answer = np.where(backwards, asked.tail, asked.head), np.where(backwards, asked.head, asked.tail)
        relation = np.where(backwards, invert(asked.relation, self._num_relations), asked.relation)
        negatives = self._answers.draw_others(source, relation, answer, self._count, generator)
        target = np.concatenate([answer[:, None], negatives], axis=1)
        sample = self._sampler.sample(source, relation, target, seed=int(generator.integers(2**63)))
        return Batch(source, relation, target, len(links), sample=sample)


class SampledEpochs(Epochs):
    """Epochs whose next batch is made while this one is computed; of very many links only those asked are drawn."""

    def __init__(self, batches: Batches, config: TrainingConfig) -> None:
        super().__init__(batches, config)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="sampling")
        self._next: tuple[tuple[int, int], Future[Batch]] | None = None
        self._drawing = Lock()

    def batch(self, epoch: int, number: int) -> Batch:
        """The batch ``number`` < ``length`` of an epoch, both from 0."""
        ahead, self._next = self._next, None
        batch = ahead[1].result() if ahead is not None and ahead[0] == (epoch, number) else self._make(epoch, number)
        following = (epoch, number + 1) if number + 1 < self.length else (epoch + 1, 0)
        self._next = following, self._worker.submit(self._make, *following)
        return batch

    def _make(self, epoch: int, number: int) -> Batch:
        with self._drawing:  # the next batch may be one of the next epoch
            if self._order[0] != epoch:
                generator, asked = np.random.default_rng([self._seed, epoch]), self.length * self._size
                order = generator.choice(self.num_links, size=min(asked, self.num_links), replace=False)
                self._order = epoch, order
            order = self._order[1]
        links = order[number * self._size : (number + 1) * self._size]
        return self._batches.make(links, np.random.default_rng([self._seed, epoch, number]))


def check_sampling(graph: Graph, config: TrainingConfig) -> None:
    """Refuse what sampling is not for.

    Raises:
        ConfigError: says what.
    """
    if graph.kind == "homogeneous":
        raise ConfigError("sampling.hops: only a knowledge graph can be sampled, and this graph is homogeneous")
    if config.loss == "softmax":
        raise ConfigError("sampling.hops: the softmax loss needs every entity's score; use training.loss = 'binary'")
    if config.answers > 1:
        raise ConfigError("sampling.hops: every query has a sample of its own; use training.answers = 1")
    if config.relations is not None:
        raise ConfigError(
            f"training.relations = {config.relations}: with sampling.hops every query has a sample of its own, and "
            "shares nothing with others of its relation; leave it out"
        )
    if config.hours is not None:
        raise ConfigError("sampling.hops: a budget of training.hours cannot be planned; state training.epochs instead")


class PairBatches(Batches):
    """Homogeneous graphs: each edge against n random pairs without an edge, every pair a query of its own."""

    def __init__(self, graph: Graph, negatives: int, hard: int = 0) -> None:
        """A homogeneous graph has one relation, which every node fits: none is harder than others."""
        self._edges: Triplets = graph.triplets
        self._negatives, self._count = PairNegatives(graph.triplets, num_nodes=graph.num_nodes), negatives
        if not self._negatives.num_allowed:
            raise TrainingError(
                f"{graph.name}: an edge joins every pair of its {graph.num_nodes} nodes, so there is nothing to tell "
                "apart; give a larger or sparser graph"
            )
        self.num_links = len(self._edges)

    def make(self, links: Int64, generator: np.random.Generator) -> Batch:
        """1 + n queries for each link, with one candidate each."""
        asked = self._edges.take(links)
        shape = len(links), self._count
        u, v = self._negatives.draw(len(links) * self._count, generator)
        source = np.concatenate([asked.head[:, None], u.reshape(shape)], axis=1).ravel()
        target = np.concatenate([asked.tail[:, None], v.reshape(shape)], axis=1).reshape(-1, 1)
        return Batch(source, np.zeros_like(source), target, len(links))


def make_batches(graph: Graph, config: TrainingConfig, sampling: SamplingConfig | None = None) -> Epochs:
    """The batches of a graph's facts, each with a sample of the graph if the configuration says so.

    Raises:
        TrainingError: there is nothing to learn from.
        ConfigError: the graph, or the loss, cannot be sampled; or the graph is asked for several answers and has none.
    """
    if not len(graph.triplets):
        raise TrainingError(f"{graph.name}: there are no training facts; give a graph with some")
    if sampling is not None and sampling.hops is not None:
        check_sampling(graph, config)
        return SampledEpochs(SampledBatches(graph, config, sampling), config)
    negatives = 0 if config.loss == "softmax" else config.negatives  # or all that are not known are candidates
    hard = round(config.hard_negatives * negatives)
    if config.answers > 1:
        if graph.kind == "homogeneous":
            raise ConfigError(
                f"training.answers = {config.answers}: each pair of a homogeneous graph is a query of its own; use 1"
            )
        return Epochs(QuestionBatches(graph, negatives, hard, answers=config.answers), config)
    kind = PairBatches if graph.kind == "homogeneous" else LinkBatches
    return Epochs(kind(graph, negatives, hard), config)


def mix_batches(
    graphs: Sequence[Graph], config: TrainingConfig, sampling: SamplingConfig | None = None
) -> Epochs | MixedEpochs:
    """The batches of the facts of one graph, or of several in proportion to their facts.

    ``training.batches_per_epoch`` is the most of each graph, so that a large one does not crowd out the others.

    Raises:
        TrainingError: there is nothing to learn from.
    """
    parts = [make_batches(graph, config, sampling) for graph in graphs]
    return parts[0] if len(parts) == 1 else MixedEpochs(parts, config.seed)
