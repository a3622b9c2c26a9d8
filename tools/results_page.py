"""Write docs/RESULTS.md from results/*.json: python tools/results_page.py."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from scipy.stats import spearmanr

from nbfnet.config import ModelConfig
from nbfnet.model.network import NeuralBellmanFordNetwork

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "RESULTS.md"
TABLES = {
    "inductive_result": "Inductive relation prediction",
    "homo_result": "Homogeneous graphs",
    "kg_result": "Knowledge graph completion",
    "msg_agg": "MESSAGE and AGGREGATE functions",
    "num_layer": "Number of layers",
    "ogbl-biokg": "Open Graph Benchmark",
}
# The paper's tables that our results hold too: MRR over heads and tails, training and test ranking, parameters.
CATEGORIES = {"1-to-1": (0.578, 0.600), "1-to-N": (0.499, 0.122), "N-to-1": (0.165, 0.790), "N-to-N": (0.348, 0.456)}
WALL_TIMES = {
    "fb15k-237": ("9.7 hours", "4.0 minutes"),
    "wn18rr": ("4.4 hours", "2.4 minutes"),
    "cora": ("5.5 minutes", "< 1 second"),
    "citeseer": ("5.3 minutes", "< 1 second"),
    "pubmed": ("5.6 hours", "25 seconds"),
    "fb15k-237-v1 to v4": ("23 minutes", "6 seconds"),
    "wn18rr-v1 to v4": ("41 minutes", "20 seconds"),
}
TIMES = ("training_seconds", "validation_seconds", "evaluation_seconds")
FB15K_237_RELATIONS = 474  # with their inverses
PARAMETERS = {"indicator": 15_168, "message": 3_003_264, "aggregate": 80_448, "score": 4_225, "total": 3_103_105}
# The paper's numbers of the methods that `nbfnet compare` trains: MRR of its table kg_result, AUROC of homo_result.
PEERS = {
    "wn18rr": {
        "nbfnet": 0.551,
        "neurallp": 0.435,
        "drum": 0.486,
        "transe": 0.226,
        "distmult": 0.43,
        "complex": 0.44,
        "rotate": 0.476,
        "rgcn": 0.402,
    },
    "fb15k-237": {
        "nbfnet": 0.415,
        "neurallp": 0.240,
        "drum": 0.343,
        "transe": 0.294,
        "distmult": 0.241,
        "complex": 0.247,
        "rotate": 0.338,
        "rgcn": 0.273,
    },
    "cora": {"nbfnet": 0.956, "vgae": 0.914, "deepwalk": 0.831, "katz": 0.834, "ppr": 0.845},
    "citeseer": {"nbfnet": 0.923, "vgae": 0.908, "deepwalk": 0.805, "katz": 0.768, "ppr": 0.762},
    "pubmed": {"nbfnet": 0.983, "vgae": 0.944, "deepwalk": 0.844, "katz": 0.757, "ppr": 0.763},
}
# The paper's tables `msg_agg_full` and `num_layer_full`: MR, MRR, HITS@1, HITS@3 and HITS@10 on FB15k-237.
ABLATIONS = {
    "msg_agg": {
        "transe-sum": (191, 0.297, 0.217, 0.321, 0.453),
        "transe-mean": (161, 0.310, 0.218, 0.339, 0.496),
        "transe-max": (135, 0.377, 0.282, 0.415, 0.565),
        "transe-pna": (129, 0.383, 0.288, 0.420, 0.568),
        "distmult-sum": (136, 0.388, 0.294, 0.427, 0.574),
        "distmult-mean": (132, 0.384, 0.287, 0.425, 0.577),
        "distmult-max": (136, 0.374, 0.279, 0.412, 0.563),
        "distmult-pna": (114, 0.415, 0.321, 0.454, 0.599),
        "rotate-sum": (129, 0.392, 0.298, 0.429, 0.580),
        "rotate-mean": (138, 0.376, 0.278, 0.416, 0.571),
        "rotate-max": (139, 0.385, 0.290, 0.423, 0.572),
        "rotate-pna": (117, 0.414, 0.323, 0.454, 0.593),
    },
    "num_layer": {
        "2-layers": (191, 0.345, 0.261, 0.377, 0.510),
        "4-layers": (119, 0.409, 0.315, 0.450, 0.592),
        "6-layers": (114, 0.415, 0.321, 0.454, 0.599),
        "8-layers": (115, 0.416, 0.322, 0.457, 0.599),
    },
}
ABLATED_METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
# The paper's two paths of most weight behind each of three predictions.
PATHS = {
    "O. Hardy, nationality, U.S.": {
        "O. Hardy <-impersonate- R. Little -nationality-> U.S.": 0.243,
        "O. Hardy <-ethnicity- Scottish American -distribution-> U.S.": 0.224,
    },
    "Florence, vacationer, D.C. Henrie": {
        "Florence <-contain- Italy -capital-> Rome -vacationer-> D.C. Henrie": 0.251,
        "Florence <-place live- G.F. Handel -place live-> Rome -vacationer-> D.C. Henrie": 0.183,
    },
    "Pearl Harbor (film), language, Japanese": {
        "Pearl Harbor (film) -film actor-> C.-H. Tagawa -nationality-> Japan -country of origin-> Yu-Gi-Oh! "
        "-language-> Japanese": 0.211,
        "Pearl Harbor (film) -film actor-> C.-H. Tagawa -nationality-> Japan -official language-> Japanese": 0.208,
    },
}
PLACES = {
    "comparison": "[the picture of measured growth](ARCHITECTURE.md#the-model-fast-and-exact); times below `wall_time`",
    "semiring_instance": "`nbfnet paths` and `nbfnet.semiring`; NeuralLP and DRUM in [a guide](guides/rules.md)",
    "kg_result": "above",
    "homo_result": "above; other methods below Peers",
    "inductive_result": "above; DRUM where it has been run",
    "ablation, msg_agg, num_layer, msg_agg_full, num_layer_full": "above where they have been run; of FB15k-237, "
    "`benchmarks/ablation.py --graphs fb15k-237`, 16,000 queries each, and `experiments/fb15k-237-distmult-sum.toml` "
    "and its like, 15,040 queries and all test links",
    "rel_category": "above",
    "visualization": "above; `nbfnet explain --order weight` gives the same for any prediction",
    "num_param": "above",
    "kg_statistics, homo_statistics, inductive_statistics": "`nbfnet data list`; counted and compared when a dataset "
    "is read",
    "hyperparameter": "`experiments/*.toml`, with a note where one differs",
    "wall_time": "above",
    "ogbl-biokg": "`experiments/ogbl-biokg.toml`; the data are not here, so no number is claimed",
    "ogb_lsc": "layout, sampling and ranking are tested on small files ([SCALE.md](SCALE.md)); the data are not here, "
    "so no number is claimed",
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
    page = render(read_results(), read_comparisons(), read_ablation(), read_interpretations())
    PAGE.write_text(page, encoding="utf-8")


def read_results() -> list[dict[str, Any]]:
    """The results of experiments, by name."""
    files = sorted((ROOT / "results").glob("*.json"))
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    results = [document | {"note": _note(document)} for document in documents if "experiment" in document]
    return sorted(results, key=lambda result: result["experiment"].startswith(("drum", "neurallp")))


def read_comparisons() -> list[dict[str, Any]]:
    """What `nbfnet compare --results results` wrote."""
    files = sorted((ROOT / "results").glob("compare-*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def read_ablation() -> list[dict[str, Any]]:
    """What `benchmarks/ablation.py` wrote."""
    file = ROOT / "results" / "ablation.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def read_interpretations() -> dict[str, Any]:
    """What `benchmarks/interpretations.py` wrote."""
    file = ROOT / "results" / "interpretations.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def _note(result: dict[str, Any]) -> str:
    """What the experiment's file says now: what a reader has to know may have been found out after the run."""
    experiment = tomllib.loads((ROOT / "experiments" / f"{result['experiment']}.toml").read_text(encoding="utf-8"))
    return str(experiment["experiment"].get("note", ""))


def render(
    results: list[dict[str, Any]],
    comparisons: Sequence[dict[str, Any]] = (),
    ablation: Sequence[dict[str, Any]] = (),
    interpretations: Mapping[str, Any] | None = None,
) -> str:
    """The page, as Markdown."""
    parts = [HEADER]
    for table, title in TABLES.items():
        chosen = [result for result in results if result["table"] == table]
        if chosen:
            parts.append(f"\n## {title}\n\nThe paper's table `{table}` (its LaTeX label).\n\n{_table(chosen)}")
    by_name = {result["experiment"]: result for result in results}
    if "fb15k-237" in by_name:
        of_fb15k_237 = [by_name[name] for name in ("fb15k-237", "fb15k-237-universal") if name in by_name]
        parts += [_categories(of_fb15k_237), _parameters(by_name["fb15k-237"])]
    parts += [_wall_times(by_name), _ablation(ablation), _interpretations(interpretations or {}), _peers(comparisons)]
    parts.append(_places())
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
    used_by: dict[str, dict[str, None]] = {}
    for result in results:
        for seed in result["seeds"]:
            used_by.setdefault(_protocol(seed, "hits@10_50" in result["paper"]), {})[result["experiment"]] = None
    if len(used_by) == 1:
        return f"\nProtocol: {next(iter(used_by))}.\n"
    return "".join(f"\nProtocol of {', '.join(names)}: {protocol}.\n" for protocol, names in sorted(used_by.items()))


def _protocol(seed: dict[str, Any], is_drawn: bool) -> str:
    text = f"{re.sub(r', seed [0-9]+$', '', seed['protocol'])}; ties {seed['ties']}"
    if not is_drawn:
        return text
    drawn = seed.get("drawn_negatives", 49)  # results that do not say it are of GraIL's protocol
    whose = {49: ", as in GraIL, one less than the paper's 50", 50: ", as in the paper"}.get(drawn, "")
    return f"{text}; hits@10_50 is the expected HITS@10 against {drawn} random negatives{whose}"


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
    """Whether all epochs of its configuration are done, or its hours, which older results do not have."""
    training = result["config"]["training"]
    return bool(training.get("hours") or min(seed["epochs"] for seed in result["seeds"]) >= training["epochs"])


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


def _categories(results: list[dict[str, Any]]) -> str:
    """MRR by the category of the relation, heads and tails apart, of each experiment on FB15k-237."""
    found = [result["seeds"][0]["by_category"] for result in results]
    rows = [
        f"| {name} | {found[0][name]['links']:,} | "
        + " | ".join(f"{of[name]['head']['mrr']:.3f} / {of[name]['tail']['mrr']:.3f}" for of in found)
        + f" | {head:.3f} / {tail:.3f} |"
        for name, (head, tail) in CATEGORIES.items()
    ]
    names = " | ".join(f"{result['experiment']}, {_epochs(result)} epochs" for result in results)
    return (
        "\n## Relation categories\n\nThe paper's table `rel_category`: MRR of FB15k-237 over heads / tails, by the "
        "networks above. Categories count the distinct facts of train, valid and test.\n"
        f"\n| category | test links | {names} | paper |\n| --- | --- |{' --- |' * len(results)} --- |\n"
        + "\n".join(rows)
        + "\n"
    )


def _parameters(result: dict[str, Any]) -> str:
    """Counted in the network that the experiment's configuration makes."""
    config = ModelConfig.model_validate(result["config"]["model"])
    found = NeuralBellmanFordNetwork(config, FB15K_237_RELATIONS).parameter_counts()
    rows = [f"| {part} | {found[part]:,} | {count:,} |" for part, count in PARAMETERS.items()]
    return (
        f"\n## Parameters\n\nThe paper's table `num_param`: FB15k-237, {FB15K_237_RELATIONS} relations with their "
        "inverses.\n\n| part | here | paper |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def _wall_times(by_name: dict[str, dict[str, Any]]) -> str:
    """Seconds of one seed on average; of the inductive graphs, the sum of the four."""
    rows = []
    for name, (training, ranking) in WALL_TIMES.items():
        family = name.removesuffix("-v1 to v4")
        parts = [name] if family == name else [f"{family}-v{version}" for version in range(1, 5)]
        if not all(part in by_name for part in parts):
            continue
        results = [by_name[part] for part in parts]
        spent = [sum(_mean(result, key) for result in results) for key in TIMES]
        epochs = ", ".join(dict.fromkeys(_epochs(result) for result in results))
        rows.append(f"| {name} | {epochs} | {' | '.join(map(_duration, spent))} | {training} | {ranking} |")
    if not rows:
        return ""
    return (
        "\n## Wall times\n\nThe paper's table `wall_time`, measured there on 4 GPUs with 40 CPU cores, here on 2 CPU "
        "cores.\n\n"
        "| graph | epochs here | training | validation | test ranking | training, paper | test ranking, paper |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def _peers(comparisons: Sequence[dict[str, Any]]) -> str:
    """One table for each graph, and how it was made."""
    if not comparisons:
        return ""
    return (
        "\n## Peers\n\nOther methods of the paper's tables, on the same split, ranking and machine: `nbfnet compare`. "
        "Every method that learns has the same time, for training and validation together, and what is best on valid "
        "links is kept. The paper's numbers are of trainings without such a limit, and its VGAE had the attributes of "
        "nodes, which nothing here has.\n" + "".join(map(_comparison, comparisons))
    )


def _comparison(document: dict[str, Any]) -> str:
    paper, methods = PEERS.get(document["dataset"], {}), document["methods"]
    first = next(iter(methods.values()))
    names = [name for name in first["metrics"] if name != "hits@10_50"]
    head = ["method", *names, f"{document['metric']}, paper", "parameters", "training", "ranking"]
    rows = [head, ["---"] * len(head)]
    for name, found in methods.items():
        values = [f"{found['metrics'][metric]:.{0 if metric == 'mr' else 3}f}" for metric in names]
        stated = f"{paper[name]:.3f}" if name in paper else ""
        times = [_duration(found[key]) if found[key] else "" for key in ("training_seconds", "ranking_seconds")]
        rows.append([name, *values, stated, f"{found['parameters']:,}", *times])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    protocol = re.sub(r", seed [0-9]+$", "", first["protocol"])
    machine = document["machine"]
    return (
        f"\n{document['dataset']}, {_duration(3600 * document['hours'])} for each; split: {document['split']}; "
        f"{protocol}; ties {first['ties']}; {machine['processor']}, {machine['cores']} cores:\n\n{table}"
    )


def _ablation(lines: Sequence[dict[str, Any]]) -> str:
    """The paper's two ablations, on each graph that has all of their settings, and how alike the orders are."""
    parts = [_ablations_of(graph, lines) for graph in dict.fromkeys(line["graph"] for line in lines)]
    if not any(parts):
        return ""
    head = (
        "\n## Ablations\n\nThe paper's tables `msg_agg` and `num_layer`, with their full versions, are of FB15k-237. "
        "Here, by `benchmarks/ablation.py`, our test metrics stand before the slash and the paper's behind it.\n"
    )
    return head + "".join(parts)


def _ablations_of(graph: str, lines: Sequence[dict[str, Any]]) -> str:
    of_setting: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["graph"] == graph:
            of_setting.setdefault(line["setting"], []).append(line)
    of_setting["6-layers"] = of_setting.get("distmult-pna", [])
    tables = []
    for table, paper in ABLATIONS.items():
        if any(not of_setting.get(name) for name in paper):
            continue
        ours = {
            name: [mean(run["test"][metric] for run in of_setting[name]) for metric in ABLATED_METRICS]
            for name in paper
        }
        alike = [
            float(spearmanr([ours[name][i] for name in paper], [paper[name][i] for name in paper]).statistic)
            for i in range(len(ABLATED_METRICS))
        ]
        rows = [
            [name, f"{ours[name][0]:.0f} / {theirs[0]:.0f}"]
            + [f"{here:.3f} / {there:.3f}" for here, there in zip(ours[name][1:], theirs[1:], strict=True)]
            + [str(len(of_setting[name]))]
            for name, theirs in paper.items()
        ]
        rows.append(["Spearman's correlation", *(f"{value:.2f}" for value in alike), ""])
        columns = ["setting", *(metric.upper() for metric in ABLATED_METRICS), "seeds"]
        table_rows = "".join(f"| {' | '.join(row)} |\n" for row in [columns, ["---"] * len(columns), *rows])
        epochs = of_setting[next(iter(paper))][0]["epochs"]
        tables.append(f"\n`{table}` on {graph}, {epochs:g} {'epoch' if epochs == 1 else 'epochs'}:\n\n{table_rows}")
    return "".join(tables)


def _interpretations(document: Mapping[str, Any]) -> str:
    """The paths of most weight behind the paper's three predictions, beside the paper's."""
    if not document:
        return ""
    network, found = document["network"], document["interpretations"]
    parts = [
        "\n## Path interpretations\n\nThe paper's table `visualization`: the two paths of most weight behind three "
        f"predictions on FB15k-237, by `benchmarks/interpretations.py {network['name']}`. A weight is the sum of the "
        "importances of a path's edges; weights of two networks have different scales. The drop is how much the score "
        "falls when the facts of the path are deleted. The rank of the answer is that among all entities but its "
        "training facts' answers.\n"
    ]
    for query, paths in PATHS.items():
        rows = [(f"{path['weight']:.3f}", f"{path['drop']:.2f}", path["path"]) for path in found[query]["paths"]]
        theirs = [(f"{weight:.3f}", "", path) for path, weight in paths.items()]
        lines = [f"| here | {' | '.join(row)} |" for row in rows] + [f"| paper | {' | '.join(row)} |" for row in theirs]
        parts.append(
            f"\n{query}, the answer has rank {found[query]['rank']:g}:\n\n"
            "| | weight | drop | path |\n| --- | --- | --- | --- |\n" + "\n".join(lines) + "\n"
        )
    return "".join(parts)


def _places() -> str:
    rows = [f"| `{label}` | {place} |" for label, place in PLACES.items()]
    return "\n## Every table of the paper\n\n| table | where it is |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def _mean(result: dict[str, Any], key: str) -> float:
    return sum(float(seed.get(key, 0)) for seed in result["seeds"]) / len(result["seeds"])


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "< 1 second"
    if seconds < 60:
        return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"


def _machine(result: dict[str, Any]) -> str:
    machine, device = result["machine"], result["config"]["training"]["device"]
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, Python {machine['python']}, "
        f"PyTorch {machine['torch']}, trained on the {device.upper()}"
    )


if __name__ == "__main__":
    main()
