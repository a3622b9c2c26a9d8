"""Write docs/RECIPE.md from results/recipe.jsonl: python tools/recipe_page.py."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs" / "RECIPE.md", ROOT / "results" / "recipe.jsonl"
OVERLAP = ROOT / "results" / "overlap-universal.json"
WHAT = {
    "default": "what `nbfnet train` does without an option: it trains the network for any graph further, for one to "
    "five epochs, by the softmax loss, with a rate that falls to zero",
    "paper": "from random parameters, as in the paper: binary loss over drawn negatives, constant rate, no average",
    "average": "and a moving average of the parameters (`training.average=0.99`)",
    "cosine": "and a rate that falls to zero (`training.schedule=cosine`)",
    "cosine+average": "both",
    "cosine+dependent": "the rate that falls to zero, and edges that depend on the query, though relations are few "
    "(`model.edges=dependent`)",
    "softmax": "the loss over all entities instead (`training.loss=softmax`)",
    "softmax+cosine": "that, with a rate that falls to zero",
    "softmax+cosine+answers": "both, and up to 16 answers of a question asked together (`training.answers=16`)",
    "tuned": "one epoch that begins with the network for any graph instead (`--from universal`), with its loss, the "
    "softmax, and a rate that falls to zero; that network is epoch 0, and is kept where training makes it worse",
    "tuned+answers": "that, with up to 16 answers of a question asked together",
}
FROM_UNIVERSAL = {"default", "tuned", "tuned+answers"}  # the others begin with random parameters
# Test MRR of NBFNet and A*Net against all entities, as published with A*Net (Zhu et al. 2023); and NBFNet's HITS@10 of
# 50, of the paper's own table `inductive_result`.
PUBLISHED = {
    "fb15k-237-v1": (0.422, 0.457, 0.834),
    "fb15k-237-v2": (0.514, 0.510, 0.949),
    "fb15k-237-v3": (0.476, 0.476, 0.951),
    "fb15k-237-v4": (0.453, 0.466, 0.960),
    "wn18rr-v1": (0.741, 0.727, 0.948),
    "wn18rr-v2": (0.704, 0.704, 0.905),
    "wn18rr-v3": (0.452, 0.441, 0.893),
    "wn18rr-v4": (0.641, 0.661, 0.890),
}
HEADER = """# The recipe

What each ingredient of a training adds. `benchmarks/recipe.py` trained a network with each recipe, on one thread: the
paper's, with the defaults that `nbfnet train` chooses for the graph. The epoch with the best valid MRR is kept.
Test links are ranked once, against all entities, with facts, valid and test links of the test graph filtered, ties
realistic. Of FB15k-237, 16,000 links are asked in training, and 2,000 test links are ranked. Every run is a line of
`results/recipe.jsonl`; `python tools/recipe_page.py` writes this page.

"""
INDUCTIVE = """The default beside what is published, and below it the best recipe, by valid MRR, that begins with random
parameters. MRR is against all entities, filtered by all that is known of the test graph. HITS@10 of 50 is the paper's:
filtered by the facts of the test graph alone; 50 random negatives are nearly solved by the types of entities, so it
says less.

The graphs of a family are parts of one graph and overlap. The network that the default begins with has learned from the
training facts of all eight, and most valid links and some test links are among these (`benchmarks/overlap.py`). On
WordNet's graphs, but for v3, the two rows are therefore not the same task. On those of FB15k-237 hardly a test link is
concerned, but the valid links favour the network as it was before.
"""

Line = dict[str, Any]


def main() -> None:
    """Write the page."""
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(render(lines), encoding="utf-8")


def render(lines: list[Line]) -> str:
    """The page, as Markdown."""
    recipes = "".join(f"- **{name}**: {what}\n" for name, what in WHAT.items())
    graphs = list(dict.fromkeys(line["graph"] for line in lines))
    tables = "".join(_graph_table(graph, [line for line in lines if line["graph"] == graph]) for graph in graphs)
    return HEADER + recipes + _inductive(lines) + _summary(lines) + tables


def _inductive(lines: list[Line]) -> str:
    """The default, and the best recipe from random parameters, beside what is published of the inductive graphs."""
    overlap = json.loads(OVERLAP.read_text(encoding="utf-8"))
    rows = []
    for graph, (nbfnet, a_star_net, hits) in PUBLISHED.items():
        of_recipe: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            if line["graph"] == graph:
                of_recipe[line["recipe"]].append(line)
        scratch = [recipe for recipe in of_recipe if recipe not in FROM_UNIVERSAL]
        best = max(scratch, key=lambda recipe: mean(run["valid"]["mrr"] for run in of_recipe[recipe]), default="")
        for recipe in ("default", best):
            if runs := of_recipe.get(recipe):
                mrr = _spread([run["test"]["mrr"] for run in runs])
                of_facts = [run["test_filtered_by_facts"] for run in runs if "test_filtered_by_facts" in run]
                of_50 = _spread([metrics["hits@10_50"] for metrics in of_facts]) if of_facts else ""
                minutes = mean(run["cpu_seconds"] for run in runs) / 60
                test = overlap[graph]["test"]
                seen = f"{test['learned']:,} of {test['links']:,}" if recipe == "default" else "none"
                published = f"{nbfnet:.3f} | {a_star_net:.3f} | {of_50} | {hits:.3f}"
                rows.append(f"| {graph} | {recipe} | {mrr} | {published} | {seen} | {minutes:.1f} | {len(runs)} |\n")
    head = (
        "| graph | recipe | test MRR | NBFNet | A*Net | HITS@10 of 50 | NBFNet | test links learned before "
        "| minutes of one core | seeds |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return f"\n## Inductive graphs\n\n{INDUCTIVE}\n{head}{''.join(rows)}"


def _summary(lines: list[Line]) -> str:
    """What a recipe adds to the paper's, over the graphs and seeds that have both."""
    mrr = {(line["graph"], line["seed"], line["recipe"]): line["test"]["mrr"] for line in lines}
    gains: dict[str, list[float]] = defaultdict(list)
    for (graph, seed, recipe), value in mrr.items():
        if recipe != "paper" and (graph, seed, "paper") in mrr:
            gains[recipe].append(value - mrr[graph, seed, "paper"])
    rows = [
        f"| {recipe} | {mean(of):+.4f} | {min(of):+.4f} | {max(of):+.4f} | {sum(x > 0 for x in of)} of {len(of)} |\n"
        for recipe in WHAT
        if (of := gains.get(recipe))
    ]
    head = "| recipe | mean | least | most | better in |\n| --- | --- | --- | --- | --- |\n"
    return f"\n## Test MRR beside the paper's recipe\n\n{head}{''.join(rows)}"


def _graph_table(graph: str, lines: list[Line]) -> str:
    rows = []
    for recipe in WHAT:
        runs = [line for line in lines if line["recipe"] == recipe]
        if runs:
            valid, test, hits = (
                _spread([run[part][metric] for run in runs])
                for part, metric in (("valid", "mrr"), ("test", "mrr"), ("test", "hits@10"))
            )
            best = ", ".join(f"{run['best_epoch']:g}" for run in runs) + f" of {runs[0]['epochs']:g}"
            minutes = mean(run["cpu_seconds"] for run in runs) / 60
            rows.append(f"| {recipe} | {valid} | {test} | {hits} | {best} | {minutes:.1f} | {len(runs)} |\n")
    head = (
        "| recipe | valid MRR | test MRR | test HITS@10 | best epoch | minutes of one core | seeds |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return f"\n## {graph}\n\n{head}{''.join(rows)}"


def _spread(values: list[float]) -> str:
    return f"{mean(values):.4f}" + (f" ± {stdev(values):.4f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
