"""The Neural Bellman-Ford Network: INDICATOR, T iterations, score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.inverse import inverse_ids
from nbfnet.model.alternation import Alternation
from nbfnet.model.bellman_ford import BellmanFord, distinct_queries
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.parts import alternating_memory, in_parts, is_too_large, plain_memory
from nbfnet.model.query_check import check_graph, check_ids
from nbfnet.model.query_relations import QueryRelations
from nbfnet.model.relation_network import FactorisedRelationNetwork, RelationNetwork, RelationPairs
from nbfnet.model.row_evaluation import Background, Backgrounds, evaluate_background, evaluate_rows, score_rows
from nbfnet.model.score import RuleScore, Score
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.indicator import Indicator
from nbfnet.operators.message import Message
from nbfnet.operators.rule_weights import LearnedRuleWeights, RuleWeights


class NeuralBellmanFordNetwork(BellmanFord):
    """h_q(u, v) by T learned Bellman-Ford iterations from the source u, and p(v | u, q) = sigmoid(f(h_q(u, v))).

    With relational or factorised edges, q and the edge representations come from a second network, of the relations,
    with pairwise edges from what is learned of each pair of them; with alternating edges, from relations that are
    updated in turn with the entities.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_relations: int,
        *,
        message: Message | None = None,
        aggregate: Aggregate | None = None,
        rule_weights: RuleWeights | None = None,
    ) -> None:
        """A network for ``num_relations`` relation ids, inverses included; or for any graph, by its edges.

        ``message`` and ``aggregate`` are operators of your own instead of the configuration's; ``rule_weights`` are
        those of chosen rules, instead of learned ones, for the kinds that have rules.
        """
        super().__init__(config)
        any_graph, has_rules = config.any_graph, config.kind != "nbfnet"
        self.num_relations = None if any_graph else num_relations
        embedded = num_relations if config.edges in ("dependent", "independent") and not has_rules else 0
        self.indicator = Indicator(embedded, config.dim, learned_zero=config.learned_zero)
        self.layers = self.make_layers(num_relations, message, aggregate)
        self.score_function: Score | RuleScore = RuleScore() if has_rules else Score(config.dim, config.hidden)
        self.relation_network: RelationNetwork | FactorisedRelationNetwork | RelationPairs | None = None
        if config.edges == "pairwise":
            self.relation_network = RelationPairs(num_relations, config.dim)
        elif config.edges == "relational":
            self.relation_network = RelationNetwork(config, message, aggregate)
        elif config.edges == "factorised":
            self.relation_network = FactorisedRelationNetwork(config)
        self.alternation = Alternation(config) if config.edges == "alternating" else None
        self.rule_weights = (rule_weights or _learned(config, num_relations)) if has_rules else None

    def parameter_counts(self) -> dict[str, int]:
        """The parameters in the paper's four parts, those of a relation network, and their total."""
        layers = self.iterations()
        parts = [part for layer in layers for part in (layer.edges, layer.message) if isinstance(part, nn.Module)]
        parts += [] if self.rule_weights is None else [self.rule_weights]
        of_relations = self.relation_network or self.alternation
        message = _count(*parts)
        counts = {
            "indicator": _count(self.indicator),
            "message": message,
            "aggregate": _count(*layers, *parts) - message,
            "score": _count(self.score_function),
            **({} if of_relations is None else {"relations": _count(of_relations)}),
        }
        return {**counts, "total": sum(counts.values())}

    def score(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        target: Tensor,
        *,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """Logits (query, candidate) of targets (query, candidate) for sources (query,) and relations (query,).

        ``edge_weights`` holds a weight (edge,) for each iteration, which multiplies the messages; edges are in the
        order of the graph's slots.

        Raises:
            QueryError: shapes, types or ids do not fit the network and the graph.
        """
        source, relation, target = self._check(graph, source, relation, target)
        if self.alternation is None:
            relations = self.query_relations(graph, relation)
            represent = partial(self.represent, relations=relations, edge_weights=edge_weights)
            representation, query = represent(graph, source, relation, target), relations.of(relation)[:, None]
        else:
            represent = partial(self._alternate, edge_weights=edge_weights)
            both = represent(graph, source, relation, target)
            representation, query = both[:, :-1], both[:, -1:]
        if self.config.symmetric:
            pairs = target.shape
            back = represent(
                graph,
                target.flatten(),
                relation[:, None].expand(pairs).flatten(),
                source[:, None].expand(pairs).reshape(-1, 1),
            )
            representation = representation + back[:, 0].view_as(representation)
        logits: Tensor = self.score_function(representation, query)
        return logits

    def has_background(self, graph: MessageGraph) -> bool:
        """Whether queries share what no source changes, so that it is worth keeping from one to the next."""
        if self.alternation is not None:  # where the source changes the relations, and so everything
            return False
        return not self.config.symmetric and self.config.frontier != "off" and self.plans_rows(graph)

    def background(self, graph: MessageGraph, relation: int) -> Background:
        """What no source changes, for ``score_all`` of a relation's queries."""
        with torch.no_grad():
            relations = self.query_relations(graph, torch.tensor([relation]))
            return evaluate_background(relations, self.iterations(), self.score_function, graph, relation)

    def score_all(
        self, graph: MessageGraph, source: Tensor, relation: Tensor, backgrounds: Backgrounds | None = None
    ) -> Tensor:
        """Logits (query, node) of every node, for sources (query,) and relations (query,).

        ``backgrounds`` gives the background of a relation, where it is kept and no gradient is needed.

        Raises:
            QueryError: shapes, types or ids do not fit the network and the graph.
        """
        source, relation = self._check(graph, source, relation)
        if self.config.symmetric or self.alternation is not None:
            nodes = torch.arange(graph.num_nodes, device=source.device).expand(len(source), -1)
            return self.score(graph, source, relation, nodes)
        return self._score_all(graph, source, relation, self.query_relations(graph, relation), backgrounds)

    def _score_all(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        relations: QueryRelations,
        backgrounds: Backgrounds | None = None,
    ) -> Tensor:
        part = partial(self._score_all, relations=relations, backgrounds=backgrounds)
        if len(source) == 0 or not self.plans_rows(graph):
            needed = plain_memory(graph, len(source), self.config, self.like)
            if is_too_large(needed, self.memory_limit, len(source)):
                return in_parts(needed, self.memory_limit, part, graph, source, relation)
            hidden = self.represent_all(graph, source, relation, relations)
            logits: Tensor = self.score_function(hidden, relations.of(relation)[:, None])
            return logits
        query, query_source, query_relation = distinct_queries(source, relation)
        frontier = self.frontier(graph, query_source, query_relation, None, background_given=backgrounds is not None)
        needed = self.frontier_memory(frontier)
        if is_too_large(needed, self.memory_limit, len(query_source)):
            return in_parts(needed, self.memory_limit, part, graph, source, relation)
        rows = evaluate_rows(relations, self.iterations(), frontier, backgrounds=backgrounds)
        # Not [query]: its gradient would be summed by threads in any order.
        return score_rows(relations, self.score_function, frontier, rows, backgrounds).index_select(0, query)

    def _alternate(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        target: Tensor,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """(query, candidate + 1, dim): h_q(u, v) of targets (query, candidate), and last the relation x_q itself."""
        assert self.alternation is not None
        fused = len(source) > 0 and self.plans_rows(graph) and self.is_fused()
        needed = alternating_memory(graph, len(source), self.config, self.like, fused=fused)
        if is_too_large(needed, self.memory_limit, len(source)):
            part = partial(self._alternate, edge_weights=edge_weights)
            return in_parts(needed, self.memory_limit, part, graph, source, relation, target)
        layers = self.iterations()
        last = self.alternation.rounds(graph, source, relation, layers, self._zero(), edge_weights, fused=fused)
        row = target if last.place is None else last.place[target]
        row = row + torch.arange(len(source), device=row.device)[:, None] * graph.num_nodes
        found = last.hidden.flatten(0, 1).index_select(0, row.flatten()).view(*target.shape, self.config.dim)
        return torch.cat([found, last.query[:, None]], dim=1)

    def pair_representation(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """h_q(u, v), (query, node, dim), of every node, by the plain algorithm in plain PyTorch, the specification.

        Raises:
            QueryError: shapes, types or ids do not fit the network and the graph.
        """
        source, relation = self._check(graph, source, relation)
        if self.alternation is None:
            return self.represent_all(graph, source, relation, self.query_relations(graph, relation), edge_weights)
        layers = self.iterations()
        return self.alternation.rounds(graph, source, relation, layers, self._zero(), edge_weights, fused=False).hidden

    def query_relations(self, graph: MessageGraph, relation: Tensor) -> QueryRelations:
        """What the network knows of the relations (query,) that are asked: learned embeddings, or made of the graph."""
        asked: Tensor = torch.unique(relation)
        if self.rule_weights is not None:  # INDICATOR(u, v, q) = 1(u = v), in each rank
            ones = self.like.new_ones(len(asked), self.config.width)
            return QueryRelations(asked, ones, self.rule_weights(asked), self.like.new_zeros(self.config.width))
        if self.relation_network is None:
            assert self.indicator.query is not None
            embedding = self.indicator.query(asked)
            return QueryRelations(asked, embedding, embedding, self._zero())
        context = self.relation_network(graph, asked)  # (asked, relation, dim)
        own = context.gather(1, asked[:, None, None].expand(-1, 1, self.config.dim))[:, 0]
        if self.config.inverse_edges:
            context = context.index_select(1, torch.from_numpy(inverse_ids(graph.num_relations)).to(asked.device))
        return QueryRelations(asked, own, context, self._zero())

    def _zero(self) -> Tensor:
        """(dim,) the boundary at every node but the source."""
        return self.like.new_zeros(self.config.dim) if self.indicator.zero is None else self.indicator.zero

    def _check(
        self, graph: MessageGraph, source: Tensor, relation: Tensor, target: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        device = self.like.device
        num_relations = graph.num_relations if self.num_relations is None else self.num_relations
        check_graph(graph, num_relations, device)
        source = check_ids("source", source, (None,), graph.num_nodes, device)
        relation = check_ids("relation", relation, (len(source),), num_relations, device)
        if target is None:
            return source, relation
        return source, relation, check_ids("target", target, (len(source), None), graph.num_nodes, device)


def _learned(config: ModelConfig, num_relations: int) -> RuleWeights:
    """DRUM's LSTM reads the query both ways, NeuralLP's forwards."""
    return LearnedRuleWeights(
        num_relations,
        steps=config.layers,
        rank=config.width,
        hidden=config.lstm,
        bidirectional=config.kind == "drum",
    )


def _count(*modules: nn.Module) -> int:
    """Parameters that several modules share, such as those of a user's own operator, count once."""
    distinct = {parameter for module in modules for parameter in module.parameters()}
    return sum(parameter.numel() for parameter in distinct)
