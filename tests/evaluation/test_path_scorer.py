"""Classical methods as baselines: equal to networkx, and to the paper's table of homogeneous graphs."""

import networkx
import numpy as np
import pytest
import torch

from nbfnet import load, read
from nbfnet.evaluation.baselines import PathScorer
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.graph.splits import split

PAPER = {  # AUROC and AP, table of homogeneous graph link prediction
    ("cora", "katz"): (0.834, 0.889),
    ("cora", "ppr"): (0.845, 0.899),
    ("citeseer", "katz"): (0.768, 0.810),
    ("citeseer", "ppr"): (0.762, 0.814),
    ("pubmed", "katz"): (0.757, 0.856),
    ("pubmed", "ppr"): (0.763, 0.860),
}


def test_closeness_is_that_of_the_method():
    edges = [("a", "r", "b"), ("b", "s", "c"), ("d", "r", "e")]
    graph = read(edges)
    scores = PathScorer(graph, "distance").score_all(torch.tensor([0, 2, 0]), torch.tensor([0, 1, 1]))
    lengths = dict(networkx.all_pairs_shortest_path_length(networkx.Graph([(h, t) for h, _, t in edges])))
    for row, start in zip(scores.tolist(), "aca", strict=True):
        assert row == [-lengths[start].get(name, np.inf) for name in graph.entities]


@pytest.mark.parametrize("method", ["katz", "ppr", "distance"])
def test_the_ranks_of_a_knowledge_graph_are_those_of_networkx(networkx_scores, method):
    random = np.random.default_rng(0)
    graph = read([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in random.integers([30, 3, 30], size=(300, 3))])
    dataset = split(graph)
    scores = networkx_scores(dataset.train, method)
    parts = (dataset.train.triplets, dataset.valid, dataset.test)
    facts = [set(zip(part.head.tolist(), part.relation.tolist(), part.tail.tolist(), strict=True)) for part in parts]
    known = set.union(*facts)
    ranks = []
    for h, r, t in zip(
        dataset.test.head.tolist(), dataset.test.relation.tolist(), dataset.test.tail.tolist(), strict=True
    ):
        tails = [scores[h, v] for v in range(graph.num_nodes) if (h, r, v) not in known]
        heads = [scores[t, v] for v in range(graph.num_nodes) if (v, r, t) not in known]
        for negatives, answer in ((tails, scores[h, t]), (heads, scores[t, h])):
            ranks.append(1 + sum(s > answer for s in negatives) + sum(s == answer for s in negatives) / 2)
    metrics = evaluate(PathScorer(dataset.train, method), dataset).to_dict()["metrics"]
    assert metrics["mr"] == pytest.approx(np.mean(ranks))
    assert metrics["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
    for n in (1, 3, 10):
        assert metrics[f"hits@{n}"] == pytest.approx(np.mean(np.array(ranks) <= n))


@pytest.mark.parametrize(("method", "parameter"), [("katz", {"beta": 0.01}), ("ppr", {"alpha": 0.3})])
def test_parameters_are_those_of_the_method(homogeneous, method, parameter):
    edges = homogeneous.train.triplets
    matrix = np.zeros((homogeneous.train.num_nodes,) * 2)
    np.add.at(matrix, (edges.head, edges.tail), 1)
    matrix = matrix + matrix.T
    walks = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    scores = PathScorer(homogeneous.train, method, **parameter).score_all(torch.tensor([4]), torch.tensor([0]))[0]
    start = {v: float(v == 4) for v in walks}
    if method == "katz":
        expected = networkx.katz_centrality(walks, 0.01, start, normalized=False, weight="weight", tol=1e-14)
        expected[4] -= 1
    else:
        expected = networkx.pagerank(walks, 0.3, personalization=start, dangling=start, tol=1e-14)
    np.testing.assert_allclose(scores.numpy(), [expected[v] for v in walks], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("name", "method"), PAPER)
def test_the_paper(data_folder, name, method):
    # Cora's split is the authors' own. CiteSeer's is not known, and a split of so few edges is worth two points more
    # or less: the mean over ten is compared. Of PubMed's ten times as many edges one split, and a thousand of its
    # links, say as much.
    splits, sample = {"cora": (1, None), "citeseer": (10, None), "pubmed": (1, 1000)}[name]
    results = []
    for seed in range(splits):
        dataset = load(name, paper_split=True, seed=seed)
        scorer = PathScorer(dataset.train, method)
        results.append(evaluate(scorer, dataset, seed=seed, sample=sample, batch_size=512).to_dict()["metrics"])
    auroc, ap = PAPER[name, method]
    tolerance = 0.005 if name == "cora" else 0.02
    assert np.mean([metrics["auroc"] for metrics in results]) == pytest.approx(auroc, abs=tolerance)
    assert np.mean([metrics["ap"] for metrics in results]) == pytest.approx(ap, abs=tolerance)
