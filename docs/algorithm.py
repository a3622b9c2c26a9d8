"""Neural Bellman-Ford Networks in one file of plain PyTorch: every step of the paper, in its order, and nothing else.

    python docs/algorithm.py

It learns the graph of countries and cities that comes with nbfnet, and prints how well it answers links that it has not
seen. nbfnet computes the same, only faster: ``tests/docs/test_algorithm.py`` compares the two.

The question is (u, q, ?): which nodes v does the relation q link to the head u? The answer is read off a representation
of the pair, h_q(u, v), which sums over all paths from u to v the product of the path's edges. There are too many paths
to list. But such a sum can be computed edge by edge, as the Bellman-Ford algorithm computes shortest paths: begin at u,
and let every node gather from its neighbours, again and again. The two operators of a shortest path, + along a path and
min over paths, become functions with parameters, MESSAGE and AGGREGATE:

    h_v^(0) = INDICATOR(u, v, q)
    h_v^(t) = AGGREGATE({MESSAGE(h_x^(t-1), w_q(x, r, v)) for each edge (x, r, v)} and h_v^(0))

After T iterations h_v has seen every path of at most T edges. A small network f turns it into a probability.
"""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, softmax, softplus

WORLD = Path(__file__).parents[1] / "src" / "nbfnet" / "graph" / "datasets" / "world"


class NBFNet(nn.Module):
    """INDICATOR, T iterations of MESSAGE and AGGREGATE, and the score f; inverse relations count as relations."""

    def __init__(self, num_relations: int, dim: int = 16, num_layers: int = 3, hidden: int = 64):
        super().__init__()
        self.query = nn.Embedding(num_relations, dim)  # q, one vector per relation
        # The representation of an edge depends on its relation r and on the query: w_q(x, r, v) = W_r q + b_r.
        self.relation = nn.ModuleList(nn.Linear(dim, num_relations * dim) for _ in range(num_layers))
        self.update = nn.ModuleList(nn.Linear((1 + 4 * 3) * dim, dim) for _ in range(num_layers))
        self.norm = nn.ModuleList(nn.LayerNorm(dim) for _ in range(num_layers))
        self.score = nn.Sequential(nn.Linear(2 * dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, edges: Tensor, num_nodes: int, u: Tensor, q: Tensor) -> Tensor:
        """Logits (node, query) of every node as the answer to queries (u, q, ?).

        Edges (edge, 3) hold (x, r, v) and are sorted by v, so that all messages to a node stand together.
        """
        x, r, v = edges.T
        degree = torch.bincount(v, minlength=num_nodes)
        query = self.query(q)  # (query, dim)

        # INDICATOR: the query's vector at the source u, zero at every other node.
        boundary = torch.zeros(num_nodes, *query.shape).index_put(
            (u, torch.arange(len(u))), query
        )  # (node, query, dim)

        # Many neighbours say something else together than few do: scale by the logarithm of the degree.
        scale = torch.log(degree + 1.0)
        scale = scale / scale.mean()
        scalers = torch.stack([torch.ones(num_nodes), scale, 1 / scale.clamp(min=0.01)], dim=1)  # (node, 3)

        h = boundary
        for relation, update, norm in zip(self.relation, self.update, self.norm, strict=True):
            # MESSAGE: DistMult multiplies what the source of an edge has by the edge's representation.
            # (TransE would add the two; RotatE multiplies them as complex numbers.)
            w = relation(query).view(len(u), -1, query.shape[1]).transpose(0, 1)  # (relation, query, dim)
            messages = h.index_select(0, x) * w.index_select(0, r)  # h_x * w_r: (edge, query, dim)

            # AGGREGATE: principal neighbourhood aggregation, four statistics times three scalers.
            statistics = torch.stack(summarize(messages, degree, boundary), dim=-1)  # (node, query, dim, 4)
            features = (statistics[..., None] * scalers[:, None, None, None]).flatten(
                start_dim=2
            )  # (node, query, 12 dim)

            # The update, with a shortcut to the iteration before.
            h = h + relu(norm(update(torch.cat([h, features], dim=2))))

        # f: the probability is sigmoid(score([h_v, q])).
        return self.score(torch.cat([h, query.expand_as(h)], dim=2)).squeeze(2)


def summarize(messages: Tensor, degree: Tensor, boundary: Tensor) -> list[Tensor]:
    """Mean, maximum, minimum and standard deviation (node, query, dim) of each node's messages and its boundary."""

    def reduce(values: Tensor, how: str, start: float) -> Tensor:
        rows = torch.segment_reduce(values.flatten(start_dim=1), how, lengths=degree, axis=0, initial=start)
        return rows.view_as(boundary)

    count = (degree + 1)[:, None, None]
    mean = (reduce(messages, "sum", 0) + boundary) / count
    square = (reduce(messages**2, "sum", 0) + boundary**2) / count
    largest = torch.maximum(reduce(messages, "max", -torch.inf), boundary)
    smallest = torch.minimum(reduce(messages, "min", torch.inf), boundary)
    return [mean, largest, smallest, (square - mean**2).clamp(min=1e-6).sqrt()]


def loss_of(answer: Tensor, negatives: Tensor, temperature: float = 0.5) -> Tensor:
    """Binary cross entropy of the logits of right answers (query,) against those of wrong ones (query, n).

    Self-adversarial: a wrong answer that the network believes in counts more. These weights get no gradient.
    """
    weight = softmax(negatives.detach() / temperature, dim=1)
    return ((softplus(-answer) + (weight * softplus(negatives)).sum(dim=1)) / 2).mean()


def both_ways(facts: Tensor, num_relations: int) -> Tensor:
    """Every fact (u, r, v) and its inverse (v, r + |R|, u), sorted by target: paths may follow a fact either way."""
    u, r, v = facts.T
    edges = torch.cat([facts, torch.stack([v, r + num_relations, u], dim=1)])
    return edges[torch.argsort(edges[:, 2], stable=True)]


def read_world() -> tuple[dict[str, Tensor], int, int]:
    """The facts of train, valid and test as numbers (fact, 3), with the counts of entities and relations."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}

    def number(line: str) -> tuple[int, int, int]:
        u, r, v = line.split("\t")
        head, tail = (entities.setdefault(name, len(entities)) for name in (u, v))
        return head, relations.setdefault(r, len(relations)), tail

    splits = {
        split: torch.tensor([number(line) for line in (WORLD / f"{split}.txt").read_text("utf-8").splitlines()])
        for split in ("train", "valid", "test")
    }
    return splits, len(entities), len(relations)


def train(
    network: NBFNet, edges: Tensor, num_nodes: int, *, steps: int, batch_size: int = 8, negatives: int = 32
) -> None:
    """Ask for the targets of random edges while these edges are hidden from the network."""
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    x, r, y = edges.T
    for step in range(1, steps + 1):
        u, q, v = edges[torch.randint(len(edges), (batch_size,))].T
        # A link must not be its own proof: hide every edge between its two ends, in both directions.
        hidden = torch.isin(x * num_nodes + y, torch.cat([u * num_nodes + v, v * num_nodes + u]))
        # Wrong answers are random nodes that are not known to be right.
        chances = torch.ones(batch_size, num_nodes)
        for i in range(batch_size):
            chances[i, y[(x == u[i]) & (r == q[i])]] = 0
        wrong = torch.multinomial(chances, negatives, replacement=True)

        logits = network(edges[~hidden], num_nodes, u, q).T
        loss = loss_of(logits.gather(1, v[:, None])[:, 0], logits.gather(1, wrong))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:3}  loss {loss.item():.3f}")


@torch.no_grad()
def evaluate(network: NBFNet, edges: Tensor, known: Tensor, links: Tensor, num_nodes: int) -> tuple[float, float]:
    """MRR and HITS@10 of the targets of links among all nodes; other right answers are filtered out."""
    ranks = []
    for u, q, v in links:
        logits = network(edges, num_nodes, u[None], q[None])[:, 0]
        right = known[(known[:, 0] == u) & (known[:, 1] == q), 2]
        better, tied = logits > logits[v], logits == logits[v]
        better[right] = tied[right] = False
        ranks.append(1 + better.sum() + tied.sum() / 2)  # ties count half
    rank = torch.stack(ranks)
    return (1 / rank).mean().item(), (rank <= 10).float().mean().item()


def main(steps: int = 60) -> None:
    """Learn the world, then answer links that were held out, asked both ways."""
    torch.manual_seed(0)
    splits, num_nodes, num_relations = read_world()
    edges = both_ways(splits["train"], num_relations)
    known = both_ways(torch.cat(list(splits.values())), num_relations)
    links = both_ways(splits["test"], num_relations)
    links = links[torch.randperm(len(links))[:100]]
    network = NBFNet(2 * num_relations)
    for when in ("before", "after"):
        if when == "after":
            train(network, edges, num_nodes, steps=steps)
        mrr, hits = evaluate(network, edges, known, links, num_nodes)
        print(f"{when} training: MRR {mrr:.3f}, HITS@10 {hits:.3f}")


if __name__ == "__main__":
    main()
