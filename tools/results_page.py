"""Write docs/RESULTS.md from results/*.json: python tools/results_page.py."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "RESULTS.md"
TABLES = {
    "inductive_result": "Inductive relation prediction",
    "homo_result": "Homogeneous graphs",
    "kg_result": "Knowledge graph completion",
    "msg_agg": "MESSAGE and AGGREGATE functions",
    "num_layer": "Number of layers",
}
HEADER = """# Results

Every number here was computed by `nbfnet reproduce experiments/NAME.toml`, which wrote `results/NAME.json` with the
metrics of each seed, the learning curves, the times, the machine and the commit. This page is written from those files
and the notes of `experiments/` by `python tools/results_page.py`. The paper's numbers stand beside ours; a result is
the mean over the seeds, with the standard deviation where there are several. A run that has not done all epochs of its
configuration says so. An experiment of `experiments/` that is not here has not been run.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(read_results()), encoding="utf-8")


def read_results() -> list[dict[str, Any]]:
    """The results of experiments, by name."""
    files = sorted((ROOT / "results").glob("*.json"))
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return [document | {"note": _note(document)} for document in documents if "experiment" in document]


def _note(result: dict[str, Any]) -> str:
    """What the experiment's file says now: what a reader has to know may have been found out after the run."""
    experiment = tomllib.loads((ROOT / "experiments" / f"{result['experiment']}.toml").read_text(encoding="utf-8"))
    return str(experiment["experiment"].get("note", ""))


def render(results: list[dict[str, Any]]) -> str:
    """The page, as Markdown."""
    parts = [HEADER]
    for table, title in TABLES.items():
        chosen = [result for result in results if result["table"] == table]
        if chosen:
            parts.append(f"\n## {title}\n\nThe paper's table `{table}` (its LaTeX label).\n\n{_table(chosen)}")
    machines = sorted({_machine(result) for result in results})
    if machines:
        parts.append("\n## Machines\n\n" + "".join(f"- {machine}\n" for machine in machines))
    return "".join(parts)


def _table(results: list[dict[str, Any]]) -> str:
    rows = [
        "| experiment | metric | here | paper | difference | seeds | epochs | training, minutes a seed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows += [_row(result, metric) for result in results for metric in result["paper"]]
    of_note: dict[str, list[str]] = {}
    for result in results:
        of_note.setdefault(result.get("note", ""), []).append(result["experiment"])
    notes = [f"\n{', '.join(names)}: {note}\n" for note, names in of_note.items() if note]
    curves = [_curve(result) for result in results if not _is_done(result)]
    return "\n".join(rows) + "\n" + _protocols(results) + "".join(notes + curves)


def _protocols(results: list[dict[str, Any]]) -> str:
    """How the numbers of a table were measured, as the results state it."""
    seeds = [seed for result in results for seed in result["seeds"]]
    stated = sorted({f"{re.sub(r', seed [0-9]+$', '', seed['protocol'])}; ties {seed['ties']}" for seed in seeds})
    return "".join(f"\nProtocol: {protocol}.\n" for protocol in stated)


def _row(result: dict[str, Any], metric: str) -> str:
    values = [seed["metrics"][metric] for seed in result["seeds"]]
    mean, paper, digits = result["mean"][metric], result["paper"][metric], 0 if metric == "mr" else 3
    spread = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else None
    here = f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")
    minutes = sum(seed["training_seconds"] for seed in result["seeds"]) / len(values) / 60
    cells = [
        f"[{result['experiment']}](../experiments/{result['experiment']}.toml)",
        metric,
        here,
        f"{paper:.{digits}f}",
        f"{mean - paper:+.{digits}f}",
        str(len(values)),
        _epochs(result),
        f"{minutes:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _epochs(result: dict[str, Any]) -> str:
    done = min(seed["epochs"] for seed in result["seeds"])
    return f"{done:.3g}" if _is_done(result) else f"{done:.3g} of {result['config']['training']['epochs']}"


def _is_done(result: dict[str, Any]) -> bool:
    return bool(min(seed["epochs"] for seed in result["seeds"]) >= result["config"]["training"]["epochs"])


def _curve(result: dict[str, Any]) -> str:
    """The learning curve of a run that can be resumed, beside what the paper's network has in the end."""
    name, paper, seed = result["experiment"], result["paper"], result["seeds"][0]
    metric = next(metric for metric in ("mrr", "auroc", *paper) if metric in paper)
    points = [f"| {point['epoch']:.3g} | {point[metric]:.3f} |" for point in seed["curve"]]
    return (
        f"\n{name} so far, to be resumed by `nbfnet reproduce experiments/{name}.toml`; the paper's network has "
        f"{paper[metric]:.3f} on test in the end:\n\n| epoch | valid {metric} |\n| --- | --- |\n"
        + "".join(f"{point}\n" for point in points)
    )


def _machine(result: dict[str, Any]) -> str:
    machine, device = result["machine"], result["config"]["training"]["device"]
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, Python {machine['python']}, "
        f"PyTorch {machine['torch']}, trained on the {device.upper()}"
    )


if __name__ == "__main__":
    main()
