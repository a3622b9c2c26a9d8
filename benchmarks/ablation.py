"""The paper's ablations on a graph that can be trained to the end: messages with aggregations, and depths.

python benchmarks/ablation.py RUNS [--graphs fb15k-237-v1] [--seeds 0 1 2]

Runs are those of ``benchmarks/recipe.py``: one thread, the best network by valid MRR, its test links ranked once. The
rest of the network is the paper's for FB15k-237. A finished run is one line of ``results/ablation.jsonl``, which the
results page shows beside the paper's tables ``msg_agg`` and ``num_layer``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from recipe import run_all

RESULTS = Path(__file__).parents[1] / "results" / "ablation.jsonl"
MESSAGES, AGGREGATES, DEPTHS = ("transe", "distmult", "rotate"), ("sum", "mean", "max", "pna"), (2, 4, 6, 8)


def settings() -> dict[str, dict[str, Any]]:
    """What the two tables vary; six layers of distmult and pna are in both, and run once."""
    paper = {"edges": "dependent", "layers": 6, "message": "distmult", "aggregate": "pna"}
    operators = {
        f"{message}-{aggregate}": {"model": paper | {"message": message, "aggregate": aggregate}}
        for message in MESSAGES
        for aggregate in AGGREGATES
    }
    return operators | {f"{depth}-layers": {"model": paper | {"layers": depth}} for depth in DEPTHS if depth != 6}


def main() -> None:
    """Run what has not been run yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="where the run folders are")
    parser.add_argument("--graphs", nargs="+", default=["fb15k-237-v1"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments = parser.parse_args()
    run_all(arguments.runs, RESULTS, arguments.graphs, settings(), arguments.seeds, kind="setting")


if __name__ == "__main__":
    main()
