"""VGAE by PyG and DeepWalk by gensim, for graphs of one relation; neither gets attributes of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.peers.course import BudgetSpentError, Course
from nbfnet.peers.embeddings import count_parameters, quiet

# As Kipf and Welling published it.
_VGAE = {"dim": 16, "hidden": 32, "learning_rate": 0.01}
# As Perozzi et al. published it, with negative sampling.
_DEEPWALK = {"dim": 128, "walk_length": 40, "window": 10, "negatives": 5, "learning_rate": 0.025}
_FINAL_RATE = 1e-4


class ProductScorer(Scorer):
    """score(u, v) = z_u . z_v."""

    def __init__(self, embedding: Tensor) -> None:
        self._embedding = embedding  # (node, dim)

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Scores (query, node)."""
        return self._embedding[source] @ self._embedding.T

    def score(self, source: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """Scores (query, candidate)."""
        return (self._embedding[source][:, None] * self._embedding[target]).sum(dim=-1)


def train_vgae(graph: Graph, course: Course, seed: int) -> dict[str, Any]:
    """Train until the course ends; the number of parameters, and how it was trained."""
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        from torch_geometric.nn import VGAE, GCNConv
        from torch_geometric.utils import coalesce

        class Encoder(nn.Module):
            """Two graph convolutions over a learned vector for each node, which stands for one-hot attributes."""

            def __init__(self, hidden: int, dim: int) -> None:
                super().__init__()
                self.node = nn.Embedding(graph.num_nodes, hidden)
                nn.init.xavier_uniform_(self.node.weight)
                self.first = GCNConv(hidden, hidden)
                self.mean, self.deviation = GCNConv(hidden, dim), GCNConv(hidden, dim)

            def forward(self, edges: Tensor) -> tuple[Tensor, Tensor]:
                x = self.first(self.node.weight, edges).relu()
                return self.mean(x, edges), self.deviation(x, edges)

        csr = graph.csr
        edges = coalesce(torch.from_numpy(np.stack([csr.source, csr.target]).astype(np.int64)))
        model = VGAE(Encoder(int(_VGAE["hidden"]), int(_VGAE["dim"])))
        optimizer = torch.optim.Adam(model.parameters(), lr=_VGAE["learning_rate"])

        def snapshot() -> Scorer:
            model.eval()
            with torch.no_grad():
                embedding = model.encode(edges)
            model.train()
            return ProductScorer(embedding)

        try:
            while True:
                optimizer.zero_grad()
                encoded = model.encode(edges)
                loss = model.recon_loss(encoded, edges) + model.kl_loss() / graph.num_nodes
                loss.backward()
                optimizer.step()
                course.after_step(snapshot)
        except BudgetSpentError:
            return {"parameters": count_parameters(model), "settings": dict(_VGAE)}


def train_deepwalk(graph: Graph, course: Course, seed: int) -> dict[str, Any]:
    """Train until the course ends, a walk from every node each time; the number of parameters, and how."""
    with quiet():
        from gensim.models import Word2Vec

        generator = np.random.default_rng(seed)
        how = {"vector_size": _DEEPWALK["dim"], "window": _DEEPWALK["window"], "negative": _DEEPWALK["negatives"]}
        model = Word2Vec(sg=1, hs=0, min_count=1, sample=0, workers=1, seed=seed, **how)
        names = np.array([str(node) for node in range(graph.num_nodes)], dtype=object)
        often = dict(zip(names, (graph.csr.degree + 1).tolist(), strict=True))  # as walks visit them; also who is alone
        model.build_vocab_from_freq(often)
        place = [model.wv.key_to_index[name] for name in names]

        def snapshot() -> Scorer:
            return ProductScorer(torch.from_numpy(model.wv.vectors[place].copy()))

        try:
            position = 0.0
            while True:
                walks = names[random_walks(graph.csr, int(_DEEPWALK["walk_length"]), generator)].tolist()
                rate = max(_FINAL_RATE, _DEEPWALK["learning_rate"] * (1 - position))
                model.train(walks, total_examples=len(walks), epochs=1, start_alpha=rate, end_alpha=rate)
                position = course.after_step(snapshot)
        except BudgetSpentError:
            count = 2 * graph.num_nodes * int(_DEEPWALK["dim"])  # a vector as a node, one as the context of others
            return {"parameters": count, "settings": dict(_DEEPWALK)}


def random_walks(csr: RelationalCSR, length: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """(node, length) a walk from each node, in random order; one without an edge stays where it is."""
    node = generator.permutation(csr.num_nodes)
    degree = csr.degree
    walks = np.empty((csr.num_nodes, length), dtype=np.int64)
    for step in range(length):
        walks[:, step] = node
        drawn = csr.indptr[node] + generator.integers(0, np.maximum(degree[node], 1))
        node = np.where(degree[node] > 0, csr.source[np.minimum(drawn, len(csr.source) - 1)], node)
    return walks
