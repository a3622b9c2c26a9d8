"""Networks for any graph, on graphs that they were not trained on: MRR and HITS@10 without training.

    python benchmarks/universal.py RUN... [--graphs fb15k-237-v1 ...] [--sample NUMBER] [--json FILE]

RUN is ``universal``, or a folder that ``nbfnet pretrain`` or ``nbfnet import-ultra`` wrote. The test links of each
graph are asked on its facts, of an inductive graph those of the test graph. They are ranked against all entities,
filtered by all that is known of that graph; ties count against the answer. Three small graphs of other kinds come with
PyKEEN.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from statistics import mean
from typing import Any

from machine import machine_facts
from nbfnet.run import Run

INDUCTIVE = [f"{family}-v{version}" for family in ("fb15k-237", "wn18rr") for version in range(1, 5)]
WITH_PYKEEN = ["umls", "kinships", "nations"]


def main() -> None:
    """Ask every run on every graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--graphs", nargs="+", default=[*INDUCTIVE, *WITH_PYKEEN, "world"])
    parser.add_argument("--sample", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for path in arguments.runs:
        run = Run.open(path)
        found[path.name] = {graph: ask(run, graph, arguments.sample) for graph in arguments.graphs}
        average = mean(metrics["mrr"] for metrics in found[path.name].values())
        print(f"{path.name}: mean MRR {average:.4f}", flush=True)
    if arguments.json is not None:
        document = {"runs": found, "machine": machine_facts()}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def ask(run: Run, graph: str, sample: int | None) -> dict[str, float]:
    """The metrics of one run on the test links of a graph."""
    facts = pykeen_folder(graph) if graph in WITH_PYKEEN else graph
    metrics = run.evaluate(facts=facts, ties="pessimistic", sample=sample).metrics.to_dict()
    print(f"{run.folder.path.name}  {graph}  MRR {metrics['mrr']:.4f}  HITS@10 {metrics['hits@10']:.4f}", flush=True)
    return metrics


def pykeen_folder(graph: str) -> Path:
    """Where PyKEEN, which is not imported for it, keeps a graph."""
    package = importlib.util.find_spec("pykeen")
    if package is None or package.origin is None:
        raise SystemExit(f"{graph} comes with PyKEEN: pip install 'nbfnet[peers]'")
    return Path(package.origin).parent / "datasets" / graph


if __name__ == "__main__":
    main()
