"""What each ingredient of a training recipe adds: the same network and graph, one ingredient more or less.

python benchmarks/recipe.py RUNS --graphs wn18rr-v1 fb15k-237-v1 [--recipes paper cosine] [--seeds 0 1 2]

Every run has one thread, and all but the default have the same number of epochs; on FB15k-237 an epoch is 16,000 links,
and 1,000 valid and 2,000 test links are ranked. The best network by valid MRR is kept, and its test links are ranked
once, against all entities; those of an inductive graph are filtered in the paper's way as well, for its HITS@10 of 50.
umls, kinships and nations come with PyKEEN.

A finished run is one line of ``results/recipe.jsonl``; a run that was interrupted is resumed from its folder in RUNS.
``tools/recipe_page.py`` writes docs/RECIPE.md from the lines.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import torch

from nbfnet.reproduction import describe_machine
from nbfnet.run import Run
from nbfnet.training.fine_tuning import SCRATCH
from universal import WITH_PYKEEN, pykeen_folder

RESULTS = Path(__file__).parents[1] / "results" / "recipe.jsonl"
# What takes minutes, not hours; on the larger graphs the best networks are those of the first epochs anyway.
EPOCHS = {"world": 20, "fb15k-237-v1": 5, "fb15k-237-v2": 4, "fb15k-237-v3": 3, "fb15k-237-v4": 3, "fb15k-237": 1}
DEFAULT_EPOCHS = 10
# A whole epoch of FB15k-237, and a test of all its links, would take hours.
LARGE = {"fb15k-237": {"batches_per_epoch": 250, "validation_sample": 1000}}
TESTED = {"fb15k-237": 2000}
# What is changed of the paper's recipe: its loss over drawn negatives, a constant rate, the last parameters.
DEFAULT = "default"  # what nbfnet train does without an option
RECIPES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "paper": {},
    "average": {"average": 0.99},
    "cosine": {"schedule": "cosine"},
    "softmax": {"loss": "softmax"},
    "softmax+cosine": {"loss": "softmax", "schedule": "cosine"},
    "softmax+cosine+answers": {"loss": "softmax", "schedule": "cosine", "answers": 16},
    "cosine+average": {"schedule": "cosine", "average": 0.99},
    "cosine+dependent": {"schedule": "cosine"},
    "tuned": {"schedule": "cosine", "epochs": 1},
    "tuned+answers": {"schedule": "cosine", "epochs": 1, "answers": 16},
}
MODEL = {"cosine+dependent": {"edges": "dependent"}}  # the others have the edges that are chosen for the graph
START = {"tuned": "universal", "tuned+answers": "universal"}  # the others begin with random parameters


def main() -> None:
    """Run what has not been run yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="where the run folders are")
    parser.add_argument("--graphs", nargs="+", required=True)
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), choices=list(RECIPES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    recipes = {name: {"training": RECIPES[name], "model": MODEL.get(name, {})} for name in arguments.recipes}
    run_all(arguments.runs, RESULTS, arguments.graphs, recipes, arguments.seeds, kind="recipe")


def run_all(
    runs: Path, results: Path, graphs: list[str], settings: dict[str, dict[str, Any]], seeds: list[int], *, kind: str
) -> None:
    """Run every setting on every graph with every seed, but those whose lines the results have already.

    ``kind`` is what the name of a setting is called in a line.
    """
    torch.set_num_threads(1)
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    done = {(line["graph"], line[kind], line["seed"]) for line in map(json.loads, lines)}
    for seed, graph, name in itertools.product(seeds, graphs, settings):
        if (graph, name, seed) not in done:
            found = measure(runs / f"{graph}-{name}-seed{seed}", graph, name, settings[name], seed)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"graph": graph, kind: name, "seed": seed, **found}) + "\n")
            print(f"{graph} {name} seed {seed}: test MRR {found['test']['mrr']:.4f}", flush=True)


def measure(folder: Path, graph: str, name: str, tables: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train, or resume, and rank the test links."""
    source = pykeen_folder(graph) if graph in WITH_PYKEEN else graph
    always: dict[str, Any] = {"seed": seed}
    if name != DEFAULT:
        always |= {"epochs": EPOCHS.get(graph, DEFAULT_EPOCHS), "patience": 0, "schedule": "constant", "average": 0.0}
        always |= LARGE.get(graph, {})
    start = None if name == DEFAULT else START.get(name, SCRATCH)
    run = Run.resume(folder, source, {"training": always}, tables, start_from=start)
    began = time.process_time()
    run.train()
    seconds = time.process_time() - began
    result = run.evaluate(sample=TESTED.get(graph)).to_dict()
    in_the_papers_way = (
        {"test_filtered_by_facts": run.evaluate(filtered_by="facts").to_dict()["metrics"]}
        if run.dataset.kind == "inductive"
        else {}
    )
    log, best = run.history, run.folder.manifest["metrics"]
    return {
        "epochs": log[-1]["epoch"],
        "best_epoch": best["epoch"],
        "valid": best["valid"],
        "test": result["metrics"],
        **in_the_papers_way,
        "protocol": result["protocol"],
        "cpu_seconds": round(seconds),  # of this process: a run that was resumed shows less
        "training_seconds": log[-1]["training_seconds"],
        "began_with": run.folder.manifest.get("began_with"),
        "training": run.config.training.model_dump(mode="json"),
        "model": run.config.model.model_dump(mode="json"),
        "machine": describe_machine(),
    }


if __name__ == "__main__":
    main()
