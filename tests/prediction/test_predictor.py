"""Top-k is the ranking that evaluate uses, to the last tie."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import nbfnet
from nbfnet.evaluation.filtering import RankingProtocol
from nbfnet.evaluation.link_ranks import rank_links
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.inverse import with_inverses
from nbfnet.prediction.loading import make_predictor

EVERYTHING = 10_000


@pytest.fixture(scope="session")
def stars_run(tmp_path_factory, small_config):
    """Many leaves alike, at the network's default sizes, where matrix products round by the place of a row."""
    rows = [(f"h{i}", "next", f"h{(i + 1) % 5}") for i in range(5)]
    rows += [(f"h{i}", f"has{i % 2}", f"h{i} leaf {j}") for i in range(5) for j in range(61)]
    # Enough relations for edges that depend on the query.
    rows += [(f"x{i}", f"r{i % 29}", f"y{i}") for i in range(330)]
    config = {"model": {"layers": 2}, "training": {"epochs": 0}}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    run = nbfnet.train(nbfnet.read(rows), tmp_path_factory.mktemp("runs") / "stars", config=config)
    torch.set_num_threads(threads)
    return run


def test_ranks_are_those_of_evaluate(things_run):
    run, dataset = things_run, things_run.dataset
    protocol = RankingProtocol.of(dataset, "test")
    scorer = NetworkScorer(run.folder.network(dataset), dataset.train.message_csr)
    ranks = rank_links(scorer, protocol.links, protocol.filter, batch_size=64, progress=lambda share: None).both
    asked = with_inverses(protocol.links, dataset.train.num_relations)  # tails, then heads: as the ranks stand
    names, tied = dataset.train.entities, 0
    for i, (u, q, v) in enumerate(zip(asked.head.tolist(), asked.relation.tolist(), asked.tail.tolist(), strict=True)):
        backwards = q >= dataset.train.num_relations
        relation = dataset.train.relations[q % dataset.train.num_relations]
        parts = {"relation": relation, "tail" if backwards else "head": names[u]}
        answers = run.predict(**parts, k=EVERYTHING, exclude_known=True)
        others = set(protocol.filter.of_query(u, q).tolist()) - {v}  # what evaluate knows besides: valid and test links
        left = [answer.name for answer in answers if names.id(answer.name) not in others]
        assert len(left) == ranks.negatives[i] + 1
        better = int(ranks.better[i])
        assert better <= left.index(names[v]) <= better + ranks.tied[i]
        tied += int(ranks.tied[i])
    assert tied > len(asked)


@pytest.mark.parametrize("name", ["things_run", "friends_run"])
def test_order_is_by_score_then_by_entity(request, name):
    run = request.getfixturevalue(name)
    graph = run.graph
    scorer = NetworkScorer(run.folder.network(run.dataset), graph.message_csr)
    nodes = torch.arange(graph.num_nodes)
    table = scorer.score_all(nodes, torch.zeros_like(nodes)).numpy()  # in one batch, as evaluate would
    ties = 0
    for source, scores in enumerate(table):
        answers = run.predict(graph.entities[source], graph.relations[0], k=EVERYTHING)
        expected = np.lexsort((np.arange(len(scores)), -scores))
        assert [answer.name for answer in answers] == [graph.entities[v] for v in expected.tolist()]
        assert [answer.rank for answer in answers] == list(range(1, graph.num_nodes + 1))
        ties += len(scores) - len(np.unique(scores))
    assert ties > graph.num_nodes


def test_pairs_score_as_evaluate_scores_them(friends_run):
    """A homogeneous graph's evaluation asks pairs, 64 at once; the predictor a whole row."""
    run = friends_run
    scorer = NetworkScorer(run.folder.network(run.dataset), run.graph.message_csr)
    member = make_predictor(run.graph, [run.folder], [run.dataset]).members[0]
    u = torch.arange(run.graph.num_nodes).repeat_interleave(3)
    v = (u * 7 + torch.arange(len(u))) % run.graph.num_nodes
    logits = torch.cat(
        [scorer.score(a, torch.zeros_like(a), b[:, None]) for a, b in zip(u.split(64), v.split(64), strict=True)]
    )
    shown = member.calibration.probability(logits[:, 0].double().numpy())
    for a, b, probability in zip(u.tolist(), v.tolist(), shown.tolist(), strict=True):
        answers = run.predict(run.graph.entities[a], candidates=[run.graph.entities[b]])
        assert [answer.probability for answer in answers] == [probability]


def test_ties_are_ties_at_any_batch_size(stars_run):
    graph = stars_run.graph
    assert stars_run.config.model.edges == "independent" or graph.num_relations >= 30
    scorer = NetworkScorer(stars_run.folder.network(stars_run.dataset), graph.message_csr)
    source, relation = torch.arange(0, 80, 2), torch.arange(40) % graph.num_relations
    together = scorer.score_all(source, relation)
    alone = torch.cat([scorer.score_all(u[None], q[None]) for u, q in zip(source, relation, strict=True)])
    for i, own in enumerate(source.tolist()):
        for hub in range(5):
            leaves = [e for e, name in enumerate(graph.entities) if name.startswith(f"h{hub} ") and e != own]
            facts = [e for e in leaves if len(graph.message_csr.source[graph.message_csr.target == e])]
            assert len(facts) > 30
            assert together[i, facts].unique().numel() == 1
            assert alone[i, facts].unique().numel() == 1
    np.testing.assert_array_equal(ties(together), ties(alone))


def ties(scores):
    return (scores[:, :, None] == scores[:, None, :]).numpy()


def test_relations_are_ranked_by_their_logits(things_run):
    graph = things_run.graph
    scorer = NetworkScorer(things_run.folder.network(things_run.dataset), graph.message_csr)
    facts = set(zip(*(column.tolist() for column in columns(graph.triplets)), strict=True))
    relations = torch.arange(graph.num_relations)
    for u, v in [(0, 1), (0, 4), (3, 3), (30, 5)]:
        nodes = torch.full_like(relations, u), torch.full((len(relations), 1), v)
        scores = scorer.score(nodes[0], relations, nodes[1])[:, 0].tolist()
        answers = things_run.predict(graph.entities[u], None, graph.entities[v], k=EVERYTHING)
        order = sorted(relations.tolist(), key=lambda q: (-scores[q], q))
        assert [answer.name for answer in answers] == [graph.relations[q] for q in order]
        assert [answer.known for answer in answers] == [(u, q, v) in facts for q in order]
        left = things_run.predict(graph.entities[u], None, graph.entities[v], exclude_known=True)
        assert [answer.name for answer in left] == [graph.relations[q] for q in order if (u, q, v) not in facts]


def columns(triplets):
    return triplets.head, triplets.relation, triplets.tail


def test_without_a_curve_the_probability_is_the_sigmoid_of_the_logit(sigmoid_run):
    graph = sigmoid_run.graph
    predictor = make_predictor(graph, [sigmoid_run.folder], [sigmoid_run.dataset])
    scorer = NetworkScorer(sigmoid_run.folder.network(sigmoid_run.dataset), graph.message_csr)
    for relation in range(2 * graph.num_relations):
        ranking = predictor.tails(2, relation, EVERYTHING)
        assert sorted(ranking.candidate.tolist()) == list(range(graph.num_nodes))
        asked = torch.tensor([2]), torch.tensor([relation])
        logits = [scorer.score(*asked, torch.tensor([[v]]))[0, 0].item() for v in ranking.candidate.tolist()]
        np.testing.assert_allclose(ranking.probability, 1 / (1 + np.exp(-np.array(logits))), rtol=1e-12)


def test_broken_weights_are_told(things_run):
    predictor = make_predictor(things_run.graph, [things_run.folder], [things_run.dataset])
    with torch.no_grad():
        predictor.members[0].network.score_function.mlp[0].bias.fill_(torch.nan)
    with pytest.raises(nbfnet.NbfnetError, match="not numbers"):
        predictor.tails(0, 0, 3)
