"""How the time of the whole network grows with |E|, |V|, d and T, beside the O(T (|E| d + |V| d^2)) of the paper.

    python benchmarks/complexity.py [--quick] [--json FILE] [--picture FILE]

One of the four is varied at a time, on random graphs, with the frontier off: every node of every query is computed, as
the bound counts. A step is the scores of all nodes and all gradients. The line is a T |E| d + b T |V| d^2, with the two
constants fitted to all measurements at once; the exponent is the slope over the varied size, of both.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from machine import machine_facts
from nbfnet.config import ModelConfig
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork

RELATIONS, QUERIES = 8, 2


@dataclass(frozen=True)
class Size:
    """What the time depends on."""

    edges: int = 1 << 16
    nodes: int = 1 << 13
    dim: int = 32
    layers: int = 6

    def terms(self) -> tuple[float, float]:
        """T |E| d and T |V| d^2, of which the bound is made."""
        return self.layers * self.edges * self.dim, self.layers * self.nodes * self.dim**2


VARIED = {
    "edges": [1 << k for k in range(14, 20)],
    "nodes": [1 << k for k in range(10, 16)],
    "dim": [8, 16, 32, 64, 128],
    "layers": [2, 4, 6, 8, 12],
}
SYMBOLS = {"edges": "|E|", "nodes": "|V|", "dim": "d", "layers": "T"}


def seconds_of_step(size: Size, repeats: int) -> float:
    """The median time of some steps, of the one thread that computes them: others on the machine do not count."""
    random = np.random.default_rng(0)
    bounds = [size.nodes, RELATIONS, size.nodes]
    head, relation, tail = random.integers(bounds, size=(size.edges, 3)).astype(np.int32).T
    graph = MessageGraph(RelationalCSR.from_triplets(Triplets.of(head, relation, tail), size.nodes, RELATIONS))
    torch.manual_seed(0)
    config = ModelConfig(dim=size.dim, layers=size.layers, edges="independent", frontier="off")
    network = NeuralBellmanFordNetwork(config, RELATIONS)
    source = torch.from_numpy(random.integers(size.nodes, size=QUERIES))
    asked = torch.from_numpy(random.integers(RELATIONS, size=QUERIES))
    times = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        network.zero_grad()
        torch.autograd.backward(network.score_all(graph, source, asked).sum())
        times.append(time.process_time() - begin)
    return float(np.median(times[1:]))  # the first one also makes the plan's memory


def study(sizes: dict[str, list[int]], repeats: int) -> dict[str, Any]:
    """All measurements, the fitted constants, and the exponents."""
    varied = [(name, replace(Size(), **{name: value})) for name, values in sizes.items() for value in values]
    seconds = np.array([seconds_of_step(size, repeats) for _, size in varied])
    terms = np.array([size.terms() for _, size in varied])
    # Every measurement counts by its relative error: the smallest as much as the largest.
    constants = np.linalg.lstsq(terms / seconds[:, None], np.ones(len(seconds)), rcond=None)[0]
    bound = terms @ constants
    exponents = {}
    for name, values in sizes.items():
        of = [i for i, (other, _) in enumerate(varied) if other == name]
        exponents[name] = {
            kind: float(np.polyfit(np.log(values), np.log(times[of]), 1)[0])
            for kind, times in (("measured", seconds), ("bound", bound))
        }
    points = [
        {"varied": name, **asdict(size), "seconds": float(s), "bound": float(b)}
        for (name, size), s, b in zip(varied, seconds, bound, strict=True)
    ]
    return {
        "points": points,
        "constants": constants.tolist(),
        "exponents": exponents,
        "largest_error": float(np.abs(bound / seconds - 1).max()),
        "machine": machine_facts(),
    }


def draw(document: dict[str, Any], file: Path) -> None:
    """One panel for each size: what was measured, and the fitted bound."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3), layout="constrained")
    for panel, name in zip(figure.subplots(1, len(SYMBOLS)), SYMBOLS, strict=True):
        points = [point for point in document["points"] if point["varied"] == name]
        values = [point[name] for point in points]
        exponent = document["exponents"][name]
        panel.loglog(values, [point["seconds"] for point in points], "o", label=f"measured, {exponent['measured']:.2f}")
        panel.loglog(values, [point["bound"] for point in points], "-", label=f"bound, {exponent['bound']:.2f}")
        panel.set_xlabel(SYMBOLS[name])
        panel.set_xticks(values, [f"{value:,}" for value in values], rotation=45, fontsize=7)
        panel.minorticks_off()
        panel.legend(title="exponent", fontsize=7, title_fontsize=7)
    figure.axes[0].set_ylabel("seconds of a step")
    figure.savefig(file, dpi=150)


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller sizes")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = {name: values[:3] for name, values in VARIED.items()} if options.quick else VARIED
    document = study(sizes, repeats=1 if options.quick else 3)
    for name, exponent in document["exponents"].items():
        print(f"{SYMBOLS[name]:4} measured {exponent['measured']:.2f}   bound {exponent['bound']:.2f}")
    print(f"largest relative difference of bound and measurement: {document['largest_error']:.0%}")
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if options.picture is not None:
        draw(document, options.picture)


if __name__ == "__main__":
    main()
