"""Write the authors' split of Cora for two listings of its edges: ``published_splits.py cora.tgz edges.txt``.

The authors' code permutes the lines of the archive, which LINQS publishes. A listing that is sorted and numbered
anew, as Planetoid's, has lost that order; but it is the same graph, so its split is found by an isomorphism.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import torch

from nbfnet.graph.datasets.linqs import convert_linqs
from nbfnet.graph.splits import listing_digest
from nbfnet.graph.triplets import Triplets

Edges = list[tuple[int, int]]
Colours = list[int]
OUTPUT = Path(__file__).parents[1] / "src" / "nbfnet" / "graph" / "published_splits.json"


def main(archive: Path, listing: Path) -> None:
    """Write the splits of both listings."""
    with tempfile.TemporaryDirectory() as folder:
        convert_linqs(archive, Path(folder) / "edges.txt")
        published = read_edges(Path(folder) / "edges.txt")
    known = {
        "cora, as in the archive": (published, drawn := draw(len(published))),
        "cora, sorted": (other := read_edges(listing), carry_over(published, drawn, other)),
    }
    entries = [
        f'  "{digest(edges)}": {{\n    "listing": "{name}",\n'
        + ",\n".join(f'    "{part}": {json.dumps(lines)}' for part, lines in split.items())
        + "\n  }"
        for name, (edges, split) in known.items()
    ]
    OUTPUT.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="ascii")


def read_edges(file: Path) -> Edges:
    """The lines ``node TAB node`` of a file."""
    return [(int(u), int(v)) for u, v in (line.split() for line in file.read_text(encoding="ascii").splitlines())]


def digest(edges: Edges) -> str:
    """What the listing is recognised by."""
    head, tail = zip(*edges, strict=True)
    return listing_digest(Triplets.of(head, [0] * len(edges), tail))


def draw(count: int) -> dict[str, list[int]]:
    """The held-out lines, as ``torch.utils.data.random_split`` draws them with seed 0: 85 %, 5 %, the rest."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0)).tolist()
    train, valid = count * 85 // 100, count * 5 // 100
    return {"valid": sorted(order[train : train + valid]), "test": sorted(order[train + valid :])}


def carry_over(published: Edges, split: dict[str, list[int]], other: Edges) -> dict[str, list[int]]:
    """The same split of another listing of the same graph; of a pair listed twice either line will do."""
    image = isomorphism(other, published)
    lines = defaultdict(list)
    for line, edge in enumerate(published):
        lines[frozenset(edge)].append(line)
    side = {line: part for part, held_out in split.items() for line in held_out}
    carried: dict[str, list[int]] = {part: [] for part in split}
    for line, (u, v) in enumerate(other):
        part = side.get(lines[frozenset((image[u], image[v]))].pop())
        if part is not None:
            carried[part].append(line)
    return carried


def isomorphism(edges: Edges, others: Edges) -> list[int]:
    """The node of the other listing for every node, by colour refinement; ties are broken one node at a time.

    A choice is kept if the colours still agree. For this graph, whose ties are all of interchangeable nodes, that
    suffices; the last check says so.
    """
    neighbours, theirs = neighbour_lists(edges), neighbour_lists(others)
    colours: tuple[Colours, Colours] | None = ([0] * len(neighbours), [0] * len(theirs))
    while colours is not None:
        colours = refine(neighbours, theirs, *colours)
        assert colours is not None, "the two listings are not of the same graph"
        mine, other = colours
        classes = Counter(mine)
        tied = next((node for node in range(len(mine)) if classes[mine[node]] > 1), None)
        if tied is None:
            break
        colours = next(filter(None, (single_out(neighbours, theirs, mine, other, tied, v) for v in range(len(other)))))
    position = {colour: node for node, colour in enumerate(other)}
    image = [position[colour] for colour in mine]
    assert Counter(frozenset((image[u], image[v])) for u, v in edges) == Counter(map(frozenset, others))
    return image


def neighbour_lists(edges: Edges) -> list[list[int]]:
    """The neighbours of every node, as often as they are listed."""
    lists: list[list[int]] = [[] for _ in range(1 + max(max(edge) for edge in edges))]
    for u, v in edges:
        lists[u].append(v)
        lists[v].append(u)
    return lists


def refine(a: list[list[int]], b: list[list[int]], ca: Colours, cb: Colours) -> tuple[Colours, Colours] | None:
    """Colour nodes by their colour and their neighbours' until no colour splits; None where the graphs differ."""
    while True:
        keys_a, keys_b = (
            [(colours[node], tuple(sorted(colours[other] for other in near))) for node, near in enumerate(lists)]
            for lists, colours in ((a, ca), (b, cb))
        )
        if Counter(keys_a) != Counter(keys_b):
            return None
        number = {key: i for i, key in enumerate(sorted(set(keys_a)))}
        stable = len(number) == len(set(ca))
        ca, cb = [number[key] for key in keys_a], [number[key] for key in keys_b]
        if stable:
            return ca, cb


def single_out(
    a: list[list[int]], b: list[list[int]], ca: Colours, cb: Colours, u: int, v: int
) -> tuple[Colours, Colours] | None:
    """Give two nodes of one colour a colour of their own; None where the graphs then differ."""
    if ca[u] != cb[v]:
        return None
    ca, cb = ca.copy(), cb.copy()
    ca[u] = cb[v] = -1
    return refine(a, b, ca, cb)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
