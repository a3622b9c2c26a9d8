"""The best missing links of a graph, or of one relation: what is likely a fact and is not among them, in bounded time.

Patterns propose candidates (``candidate_pairs``), and the network scores them in the order of their promise until the
time is up. Where there is time enough, it scores every tail of every head instead.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbfnet.errors import QueryError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.prediction.answers import ScoredLink, ScoredLinks
from nbfnet.prediction.candidate_pairs import Allowed, CandidatePairs, propose, sides
from nbfnet.prediction.predictor import Predictor
from nbfnet.progress import stage
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import Mask, PossibleAnswers
from nbfnet.sampling.sorted_keys import expand_ranges, number_in_runs, sort_distinct

_PROPOSING = 0.4  # of the time at most
_PROBED = 8  # queries that are timed to tell whether all of them fit
_SURE = 0.7  # of the time left: what all queries may take by that estimate
_LEAST_SECONDS = 1e-9  # that a network takes for an edge of an iteration, on any machine
_BATCH = 256  # queries
_BATCH_MESSAGES = 100_000_000  # edges times iterations of a batch: about half a second
_TABLE = 1 << 28  # bytes of the scores of a batch
_WIDTH = 64  # candidates in a row of a batch; a query with more has several rows
_NEARLY_ALL, _TELLING = 0.98, 20  # of the queries, and so many at least, tell that a relation has one answer each
_FIRST_ROUND = 256  # queries that come first, relation by relation; each later round has twice as many


@dataclass(frozen=True, eq=False)
class MissingLinks:
    """The most probable links that are not facts, best first, and how they were found."""

    head: Int32  # (link,)
    relation: Int32  # (link,)
    tail: Int32  # (link,)
    probability: Float64  # (link,)
    score: Float64  # (link,) a network's logit; of several networks, the mean of their probabilities
    proposed: int  # pairs that might be missing links
    scored: int  # pairs that the network scored
    seconds: float
    complete: bool  # False: the time was up before all candidates were found and scored
    exhaustive: bool  # True: every pair of a relation's heads with any tail is a candidate, not only what paths propose

    def __len__(self) -> int:
        return len(self.head)

    def named(self, graph: Graph) -> ScoredLinks:
        """The links by name."""
        entities, relations = graph.entities, graph.relations
        columns = (self.head, self.relation, self.tail, self.probability, self.score)
        links = (
            ScoredLink(entities[u], relations[q], entities[v], probability, score, known=False)
            for u, q, v, probability, score in zip(*(column.tolist() for column in columns), strict=True)
        )
        how = {name: getattr(self, name) for name in ("proposed", "scored", "complete", "exhaustive", "seconds")}
        return ScoredLinks(links, how)


def missing_links(
    predictor: Predictor,
    k: int = 100,
    *,
    relation: int | None = None,
    seconds: float = 120.0,
    any_type: bool = False,
    seed: int = 0,
) -> MissingLinks:
    """The k most probable links that the graph does not have; of equal ones the higher logit first.

    A link (u, q, v) has the score of v as an answer to (u, q, ?). No node is linked to itself, except by relations
    that have such facts. Where a relation's heads have one tail each, as cities have one country, a head that has its
    tail misses none; the same holds for tails with one head each. A homogeneous graph's pair is listed once, the lower
    id first.

    Args:
        predictor: the networks, on the graph whose links are missing.
        k: how many links.
        relation: only links of this relation; None: of all.
        seconds: the time to take at most, about; one batch may go beyond it.
        any_type: also links with entities of types that the relation does not have on that side.
        seed: of every sample. The same seed gives the same links where the time does not cut the work.

    Raises:
        QueryError: k is less than 1, or the graph does not have the relation.
    """
    begin, graph = time.monotonic(), predictor.graph
    if k < 1:
        raise QueryError(f"{k} missing links were asked for: ask for at least 1")
    if relation is not None and not 0 <= relation < graph.num_relations:
        raise QueryError(f"the graph has no relation number {relation}, only 0 to {graph.num_relations - 1}")
    until = begin + seconds
    relations = range(graph.num_relations) if relation is None else [relation]
    known, best = KnownAnswers.of(graph, graph.triplets), _Best(k)
    allowed = _Open(graph, known, None if any_type else predictor.possible).mask
    proposing = begin + _PROPOSING * seconds
    pairs = propose(graph, relations, until=proposing, allowed=allowed, known=known, seed=seed)
    queries = _Queries.of(graph, relations, pairs, allowed)
    if not _all_fit(predictor, queries, until, seed):
        return rank_candidates(predictor, pairs, k, until=until, begin=begin)
    finished = _rank_all(predictor, queries, known, allowed, best, until, seed)
    return best.links(graph, best.seen, begin, complete=finished and pairs.whole, exhaustive=True)


def rank_candidates(
    predictor: Predictor, pairs: CandidatePairs, k: int, *, until: float, begin: float | None = None
) -> MissingLinks:
    """The k most probable of some candidates, scored until a time on ``time.monotonic``; ``begin`` is when it began."""
    begin = time.monotonic() if begin is None else begin
    graph, best = predictor.graph, _Best(k)
    query, order = _in_rounds(pairs, graph.num_nodes)
    queries = int(query[-1]) + 1 if len(query) else 0
    first = np.searchsorted(query, np.arange(queries + 1))  # pair of each query
    size, done = _batch_size(predictor), 0
    with stage("scoring candidates") as report:
        while done < queries and time.monotonic() < until:
            end = min(done + size, queries)
            batch = order[first[done] : first[end]]
            head, relation, tail = pairs.head[batch], pairs.relation[batch], pairs.tail[batch]
            scores, probability = _score_pairs(predictor, head, relation, tail)
            best.add(head.astype(np.int64) * graph.num_nodes + tail, relation, probability, scores)
            done = end
            report(done / queries)
    return best.links(graph, len(pairs), begin, complete=done == queries and pairs.whole, exhaustive=False)


class _Open:
    """Which nodes may be the tails of missing links: of a possible type, and without their only head."""

    def __init__(self, graph: Graph, known: KnownAnswers, possible: PossibleAnswers | None) -> None:
        self._graph, self._known, self._possible = graph, known, possible
        relation, answers = known.relation_of_rows(), np.diff(known.begin)[: known.num_rows - 1]
        count = np.bincount(relation, minlength=graph.num_relation_ids)
        single = np.bincount(relation, weights=answers == 1, minlength=graph.num_relation_ids)
        # (relation,) whether its queries have one answer each, as far as the facts tell.
        self._has_one_answer = (count >= _TELLING) & (single >= _NEARLY_ALL * count)

    def mask(self, relation: int) -> Mask | None:
        """(node,) which nodes may be new tails of a relation; of an inverse, new heads; None: all."""
        mask = None if self._possible is None else self._possible.mask(relation)
        if self._graph.kind == "homogeneous":
            return mask
        back = invert(relation, self._graph.num_relations)
        if self._has_one_answer[back]:
            mask = np.ones(self._graph.num_nodes, dtype=np.bool_) if mask is None else mask.copy()
            rows = self._known.relation_of_rows() == back
            mask[self._known.source_of_rows()[rows]] = False
        return mask


class _Best:
    """The k most probable of the links seen so far: probability, then score, both descending, then ids."""

    def __init__(self, k: int) -> None:
        self.k, self.seen = k, 0
        self.pair: Int64 = np.zeros(0, dtype=np.int64)  # (link,) head * |V| + tail
        self.relation: Int32 = np.zeros(0, dtype=np.int32)
        self.probability: Float64 = np.zeros(0)
        self.score: Float64 = np.zeros(0)

    def add(self, pair: Int64, relation: Int32, probability: Float64, score: Float64) -> None:
        """Links (link,) that were not seen before."""
        self.seen += len(pair)
        near = _near_top(probability, score, self.k)
        pair, relation = np.append(self.pair, pair[near]), np.append(self.relation, relation[near])
        probability, score = np.append(self.probability, probability[near]), np.append(self.score, score[near])
        order = np.lexsort((relation, pair, -score, -probability))[: self.k]
        self.pair, self.relation = pair[order], relation[order]
        self.probability, self.score = probability[order], score[order]

    def links(self, graph: Graph, proposed: int, begin: float, *, complete: bool, exhaustive: bool) -> MissingLinks:
        """The result of work that began at a time on ``time.monotonic``."""
        head, tail = (part.astype(np.int32) for part in np.divmod(self.pair, max(1, graph.num_nodes)))
        found = head, self.relation, tail, self.probability, self.score
        return MissingLinks(*found, proposed, self.seen, time.monotonic() - begin, complete, exhaustive)


def _near_top(probability: Float64, score: Float64, k: int) -> Int64:
    """Positions that hold the k best and those that tie with the last of them: a whole table takes long to sort."""
    chosen = np.arange(len(probability))
    above = np.zeros(0, dtype=np.int64)
    for values in (probability, score):
        room = k - len(above)
        if room <= 0 or len(chosen) <= room:
            break
        among = values[chosen]
        threshold = np.partition(among, len(among) - room)[len(among) - room]
        above, chosen = np.append(above, chosen[among > threshold]), chosen[among == threshold]
    return np.append(above, chosen)


@dataclass(frozen=True, eq=False)
class _Queries:
    """Every query (head, relation) of a graph whose head is one of the relation's, or proposed to be one.

    The facts alone do not tell: where a head has only one tail, and that link is the missing one, it is not a head yet.
    In an undirected graph any node is a head.
    """

    head: Int64  # (query,)
    relation: Int64  # (query,) ascending

    @classmethod
    def of(cls, graph: Graph, relations: Sequence[int], pairs: CandidatePairs, allowed: Allowed | None) -> _Queries:
        """The queries of some relations, heads that are not allowed left out."""
        if graph.kind == "homogeneous":
            key = np.arange(graph.num_nodes, dtype=np.int64)
        else:
            both = (graph.triplets, pairs)
            relation, head = (np.concatenate([getattr(part, role) for part in both]) for role in ("relation", "head"))
            key = sort_distinct(relation.astype(np.int64) * graph.num_nodes + head)
        relation, head = np.divmod(key, max(1, graph.num_nodes))
        keep = np.isin(relation, relations)
        for each in relations if allowed is not None else ():
            if (mask := sides(graph, each, allowed)[0]) is not None:
                keep &= (relation != each) | mask[head]
        return cls(head[keep], relation[keep])

    def __len__(self) -> int:
        return len(self.head)

    def take(self, which: Int64 | slice) -> _Queries:
        """Some of them."""
        return _Queries(self.head[which], self.relation[which])


def _all_fit(predictor: Predictor, queries: _Queries, until: float, seed: int) -> bool:
    """Whether all queries can be asked in the time, by the time that a few random ones take."""
    if len(queries) * _messages_of_a_query(predictor) * _LEAST_SECONDS > until - time.monotonic():
        return False
    if not len(queries):
        return True
    drawn = np.sort(np.random.default_rng(seed).permutation(len(queries))[:_PROBED])
    _score_all(predictor, queries.take(drawn[:1]))  # the first one of all makes what the others share
    begin = time.monotonic()
    _score_all(predictor, queries.take(drawn))
    now = time.monotonic()
    return (now - begin) / len(drawn) * len(queries) < _SURE * (until - now)


def _score_all(predictor: Predictor, queries: _Queries) -> tuple[Float64, Float64]:
    nodes = np.arange(predictor.graph.num_nodes, dtype=np.int32)
    target = np.broadcast_to(nodes, (len(queries), len(nodes)))
    return predictor.score(queries.head, queries.relation, target)


def _rank_all(
    predictor: Predictor,
    queries: _Queries,
    known: KnownAnswers,
    allowed: Allowed | None,
    best: _Best,
    until: float,
    seed: int,
) -> bool:
    """Score every tail of every query until the time is up; whether all were."""
    graph = predictor.graph
    loops = np.unique(graph.triplets.relation[graph.triplets.head == graph.triplets.tail])
    size = max(1, min(_batch_size(predictor), _TABLE // (8 * graph.num_nodes)))
    batches = [slice(a, a + size) for a in range(0, len(queries), size)]
    order = np.random.default_rng(seed).permutation(len(batches))  # where time runs out, no relation is favoured
    with stage("scoring all links") as report:
        for done, batch in enumerate(order.tolist()):
            if time.monotonic() >= until:
                return False
            asked = queries.take(batches[batch])
            keep = _candidates(graph, asked, known, loops, allowed)
            scores, probability = _score_all(predictor, asked)
            query, tail = np.nonzero(keep)
            pair, relation = asked.head[query] * graph.num_nodes + tail, asked.relation[query].astype(np.int32)
            best.add(pair, relation, probability[query, tail], scores[query, tail])
            report((done + 1) / len(batches))
    return True


def _candidates(
    graph: Graph, queries: _Queries, known: KnownAnswers, loops: Int32, allowed: Allowed | None
) -> npt.NDArray[np.bool_]:
    """(query, node) whether each link may be a missing one."""
    keep = np.ones((len(queries), graph.num_nodes), dtype=np.bool_)
    row = known.rows(queries.head.astype(np.int32), queries.relation.astype(np.int32))
    query, position = expand_ranges(known.begin[row], known.begin[row + 1])
    keep[query, known.answer[position]] = False
    loopless = np.flatnonzero(~np.isin(queries.relation, loops))
    keep[loopless, queries.head[loopless]] = False
    if graph.kind == "homogeneous":
        keep &= np.arange(graph.num_nodes) >= queries.head[:, None]
    for relation in np.unique(queries.relation).tolist():
        if (mask := sides(graph, relation, allowed)[1]) is not None:
            keep[queries.relation == relation] &= mask
    return keep


def _batch_size(predictor: Predictor) -> int:
    """Queries of a batch. The clock has no say: in another batch a score may be rounded in another way."""
    return max(1, min(_BATCH, _BATCH_MESSAGES // max(1, _messages_of_a_query(predictor))))


def _messages_of_a_query(predictor: Predictor) -> int:
    edges = predictor.graph.message_csr.num_edges
    return edges * sum(member.network.config.layers for member in predictor.members)


def _in_rounds(pairs: CandidatePairs, num_nodes: int) -> tuple[Int64, Int64]:
    """The order to score candidates in: (pair,) numbers of their queries, ascending, and positions of the pairs.

    All candidates of a query are scored together: the network's search from the head is the same for all of them. A
    query's turn is that of its best candidate. Within a round the queries of a relation are together, as they share
    what the network computes without a source.
    """
    key = pairs.relation.astype(np.int64) * num_nodes + pairs.head
    _, first, query = np.unique(key, return_index=True, return_inverse=True)
    turn = np.argsort(np.argsort(first))  # (query,)
    rounds = np.log2(turn // _FIRST_ROUND + 1).astype(np.int64)
    relation = pairs.relation[first]
    place = np.empty_like(turn)
    place[np.lexsort((turn, relation, rounds))] = np.arange(len(turn))
    of_pair = place[query.reshape(-1)]
    order = np.argsort(of_pair, kind="stable")
    return of_pair[order], order


def _score_pairs(predictor: Predictor, head: Int32, relation: Int32, tail: Int32) -> tuple[Float64, Float64]:
    """(pair,) scores and probabilities; the pairs of a query stand together."""
    key = relation.astype(np.int64) * predictor.graph.num_nodes + head
    number = number_in_runs(key)  # within the query
    width = min(_WIDTH, int(number.max()) + 1)
    first = np.flatnonzero(number % width == 0)  # of each row
    row = np.cumsum(number % width == 0) - 1
    last = np.append(first[1:], len(key)) - 1
    slots = np.minimum(first[:, None] + np.arange(width), last[:, None])  # a short row repeats its last candidate
    scores, probability = predictor.score(head[first], relation[first], tail[slots])
    return scores[row, number % width], probability[row, number % width]
