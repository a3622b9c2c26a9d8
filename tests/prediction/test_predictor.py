"""Top-k is the ranking that evaluate uses, to the last tie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import nbfnet
from nbfnet.evaluation.filtering import RankingProtocol
from nbfnet.evaluation.ranks import rank_links
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.inverse import with_inverses
from nbfnet.prediction.members import make_predictor
from nbfnet.prediction.predictor import Predictor

EVERYTHING = 10_000


@pytest.fixture(scope="session")
def stars_run(tmp_path_factory, small_config):
    """Many leaves alike, at the network's default sizes, where matrix products round by the place of a row."""
    rows = [(f"h{i}", "next", f"h{(i + 1) % 5}") for i in range(5)]
    rows += [(f"h{i}", f"has{i % 2}", f"h{i} leaf {j}") for i in range(5) for j in range(61)]
    rows += [(f"x{i}", f"r{i % 29}", f"y{i}") for i in range(330)]
    config = {"model": {"layers": 2, "edges": "dependent"}, "training": {"epochs": 0}}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    run = nbfnet.train(nbfnet.read(rows), tmp_path_factory.mktemp("runs") / "stars", config=config)
    torch.set_num_threads(threads)
    return run


def test_ranks_are_those_of_evaluate(things_run):
    """On the training facts alone, as evaluate asks."""
    run, dataset = nbfnet.Run.open(things_run.folder.path, train_only=True), things_run.dataset
    protocol = RankingProtocol.of(dataset, "test", any_type=True)
    scorer = NetworkScorer(run.folder.network(dataset), dataset.train.message_csr)
    ranks = rank_links(scorer, protocol.links, protocol.filter, batch_size=64, progress=lambda share: None).both
    asked = with_inverses(protocol.links, dataset.train.num_relations)  # tails, then heads: as the ranks stand
    names, tied = dataset.train.entities, 0
    for i, (u, q, v) in enumerate(zip(asked.head.tolist(), asked.relation.tolist(), asked.tail.tolist(), strict=True)):
        backwards = q >= dataset.train.num_relations
        relation = dataset.train.relations[q % dataset.train.num_relations]
        parts = {"relation": relation, "tail" if backwards else "head": names[u]}
        answers = run.predict(**parts, k=EVERYTHING, exclude_known=True, any_type=True)
        others = set(protocol.filter.of_query(u, q).tolist()) - {v}  # what evaluate knows besides: valid and test links
        left = [answer.name for answer in answers if names.id(answer.name) not in others]
        scores = scorer.score_all(torch.tensor([u]), torch.tensor([q]))[0]
        # No fact joins a node with itself, so that a prediction never lists the source.
        itself = u not in others
        assert len(left) == ranks.negatives[i] + 1 - itself
        better = int(ranks.better[i]) - (itself and bool(scores[u] > scores[v]))
        tied_here = int(ranks.tied[i]) - (itself and bool(scores[u] == scores[v]))
        assert better <= left.index(names[v]) <= better + tied_here
        tied += tied_here
    assert tied > len(asked)


def facts_by_name(graph):
    columns = (graph.triplets.head.tolist(), graph.triplets.relation.tolist(), graph.triplets.tail.tolist())
    return list(zip(*columns, strict=True))


def without(graph, keep):
    """The graph with only the facts that ``keep`` accepts, built anew."""
    mask = np.array([keep(*fact) for fact in facts_by_name(graph)])
    return replace(graph, triplets=graph.triplets.take(mask))


def expected_answers(run, u, q):
    """[(node, known, logit)] in order, by the plain definition: a known fact is asked on a graph without it."""
    graph, network, count = run.graph, run.folder.network(run.dataset), run.graph.num_relations
    undirected, facts = graph.kind == "homogeneous", facts_by_name(graph)
    backwards = not undirected and q >= count
    r = q % count

    def is_fact(v):
        return ((v, r, u) if backwards else (u, r, v)) in facts or (undirected and (v, r, u) in facts)

    scorer = NetworkScorer(network, graph.message_csr)
    scores = scorer.score_all(torch.tensor([u]), torch.tensor([q]))[0].tolist()
    loops = any(h == t and relation == r for h, relation, t in facts)
    found = []
    for v in range(graph.num_nodes):
        if is_fact(v):
            # These runs were trained with every edge between the ends of an asked link hidden.
            apart = without(graph, lambda h, _, t, v=v: {h, t} != {u, v})
            ids = torch.tensor([u]), torch.tensor([q]), torch.tensor([[v]])
            found.append((v, True, NetworkScorer(network, apart.message_csr).score(*ids).item()))
        elif v != u or loops:
            found.append((v, False, scores[v]))
    return sorted(found, key=lambda entry: (-entry[2], entry[1], entry[0]))


@pytest.mark.parametrize("name", ["things_run", "friends_run"])
def test_answers_are_those_of_the_plain_definition(request, name):
    run = request.getfixturevalue(name)
    assert run.config.training.hiding == "pair"
    graph = run.graph
    predictor = make_predictor(graph, [run.folder], [run.dataset])
    seen_known = 0
    for u in range(0, graph.num_nodes, 3):
        for q in range(graph.num_relation_ids):
            expected = expected_answers(run, u, q)
            ranking = predictor.tails(u, q, EVERYTHING)
            new = [logit for _, known, logit in expected if not known]
            assert ranking.rank[~ranking.known].tolist() == list(range(1, len(new) + 1))
            for rank, score in zip(ranking.rank[ranking.known], ranking.score[ranking.known], strict=True):
                # Scores of another batch round otherwise in the last bit.
                assert 1 + sum(logit > score + 1e-6 for logit in new) <= rank
                assert rank <= 1 + sum(logit > score - 1e-6 for logit in new)
            assert (np.diff(ranking.score) <= 0).all()
            found = zip(ranking.candidate.tolist(), ranking.known.tolist(), strict=True)
            assert sorted(found) == sorted((v, known) for v, known, _ in expected)
            logits = {v: logit for v, _, logit in expected}
            np.testing.assert_allclose(ranking.score, [logits[v] for v in ranking.candidate.tolist()], atol=1e-6)
            np.testing.assert_allclose(ranking.score, [logit for _, _, logit in expected], atol=1e-6)
            first = predictor.tails(u, q, 2)  # the two best, and known facts whatever their rank
            places = dict(zip(ranking.candidate.tolist(), ranking.rank.tolist(), strict=True))
            assert first.rank.tolist() == [places[v] for v in first.candidate.tolist()]
            assert first.rank[~first.known].tolist() == [1, 2]
            known = sum(known for _, known, _ in expected)
            assert first.known.sum() == min(2, known) and first.more_known == max(0, known - 2)
            seen_known += known
    assert seen_known > 20


def test_a_node_is_not_its_own_new_neighbour(friends_run, tmp_path, small_config):
    for name in friends_run.graph.entities:
        assert name not in [answer.name for answer in friends_run.predict(name, k=EVERYTHING)]
    ring = [(f"n{i}", f"n{(i + 1) % 40}") for i in range(40)]
    graph = nbfnet.read([*ring, ("n3", "n3"), ("n5", "n5")])
    run = nbfnet.Run.open(nbfnet.train(graph, tmp_path / "run", config=small_config).folder.path)
    # Splitting takes self loops out; asked on a graph that has them, a node may be its own neighbour.
    assert "n0" not in [answer.name for answer in run.predict("n0", k=EVERYTHING)]
    assert "n0" in [answer.name for answer in run.on(graph).predict("n0", k=EVERYTHING)]


def test_a_known_fact_is_asked_as_training_asked_it(things_run):
    """The probability of a known fact is that of the same link on a graph without it."""
    graph = things_run.graph
    for u, q, v in facts_by_name(graph)[::4]:
        apart = things_run.on(without(graph, lambda h, r, t, ends=(u, v): {h, t} != set(ends)))
        head, relation, tail = graph.entities[u], graph.relations[q], graph.entities[v]
        known = {a.name: a for a in things_run.predict(head, relation, any_type=True)}[tail]
        new = {a.name: a for a in apart.predict(head, relation, k=EVERYTHING, any_type=True)}[tail]
        assert known.known and not new.known
        assert known.probability == pytest.approx(new.probability, abs=1e-9)
        assert known.score == pytest.approx(new.score, abs=1e-6)
        [scored] = things_run.score([(head, relation, tail)])
        assert scored.known and scored.probability == pytest.approx(known.probability, abs=1e-9)


def test_pairs_score_as_evaluate_scores_them(friends_run):
    """A homogeneous graph's evaluation asks pairs, 64 at once; the predictor a whole row."""
    run = friends_run
    scorer = NetworkScorer(run.folder.network(run.dataset), run.graph.message_csr)
    predictor = make_predictor(run.graph, [run.folder], [run.dataset])
    u = torch.arange(run.graph.num_nodes).repeat_interleave(3)
    v = (u * 7 + torch.arange(len(u))) % run.graph.num_nodes
    logits = torch.cat(
        [scorer.score(a, torch.zeros_like(a), b[:, None]) for a, b in zip(u.split(64), v.split(64), strict=True)]
    )
    shown = predictor.members[0].calibration.probability(logits[:, 0].double().numpy())
    asked = 0
    for a, b, probability in zip(u.tolist(), v.tolist(), shown.tolist(), strict=True):
        if a != b and not predictor.is_known(a, 0, b):
            answers = run.predict(run.graph.entities[a], candidates=[run.graph.entities[b]])
            assert [answer.probability for answer in answers] == [probability]
            asked += 1
    assert asked > len(u) // 2


def test_ties_are_ties_at_any_batch_size(stars_run):
    graph = stars_run.graph
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
    graph, network = things_run.graph, things_run.folder.network(things_run.dataset)
    scorer, facts = NetworkScorer(network, graph.message_csr), set(facts_by_name(graph))
    relations = torch.arange(graph.num_relations)
    known_asked = 0
    for u, v in [(0, 1), (0, 4), (3, 3), (30, 5)]:
        nodes = torch.full_like(relations, u), torch.full((len(relations), 1), v)
        scores = scorer.score(nodes[0], relations, nodes[1])[:, 0].tolist()
        apart = NetworkScorer(network, without(graph, lambda h, _, t, ends=(u, v): {h, t} != set(ends)).message_csr)
        for q in relations.tolist():
            if (u, q, v) in facts:
                scores[q] = apart.score(torch.tensor([u]), torch.tensor([q]), torch.tensor([[v]])).item()
                known_asked += 1
        answers = things_run.predict(graph.entities[u], None, graph.entities[v], k=EVERYTHING)
        order = sorted(relations.tolist(), key=lambda q: (-scores[q], (u, q, v) in facts, q))
        assert [answer.name for answer in answers] == [graph.relations[q] for q in order]
        assert [answer.known for answer in answers] == [(u, q, v) in facts for q in order]
        left = things_run.predict(graph.entities[u], None, graph.entities[v], exclude_known=True)
        assert [answer.name for answer in left] == [graph.relations[q] for q in order if (u, q, v) not in facts]
    assert known_asked


def test_without_a_curve_the_probability_is_the_sigmoid_of_the_score(sigmoid_run):
    graph = sigmoid_run.graph
    predictor = make_predictor(graph, [sigmoid_run.folder], [sigmoid_run.dataset])
    for relation in range(2 * graph.num_relations):
        ranking = predictor.tails(2, relation, EVERYTHING)
        np.testing.assert_allclose(ranking.probability, 1 / (1 + np.exp(-ranking.score)), rtol=1e-12)


def test_broken_weights_are_told(things_run):
    predictor = make_predictor(things_run.graph, [things_run.folder], [things_run.dataset])
    with torch.no_grad():
        predictor.members[0].network.score_function.mlp[0].bias.fill_(torch.nan)
    with pytest.raises(nbfnet.NbfnetError, match="not numbers"):
        predictor.tails(0, 0, 3)


def test_what_is_kept_from_query_to_query_changes_no_answer(stars_run):
    """Room for one relation's background, and for none; ties included."""
    kept = stars_run.predictor
    config = kept.members[0].network.config
    one = 4 * config.layers * config.dim * kept.graph.num_nodes
    others = [Predictor(kept.graph, kept.members, background_bytes=size) for size in (one, 0)]
    for source, relation in [(0, 0), (3, 2), (0, 0), (70, 1), (3, 31), (0, 0)]:
        expected = kept.tails(source, relation, 50)
        for other in others:
            found = other.tails(source, relation, 50)
            assert found.candidate.tolist() == expected.candidate.tolist()
            assert found.score.tolist() == expected.score.tolist()
