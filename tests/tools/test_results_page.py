"""docs/RESULTS.md is what the results say."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINE = {"processor": "Processor", "cores": 2, "memory_gb": 24, "python": "3.11.9", "torch": "2.13.0"}


def result(name="cora", table="homo_result", values=((0.95, 0.96), (0.97, 0.98)), epochs=20, **changes):
    seeds = [
        {
            "metrics": {"auroc": auroc, "ap": ap, "extra": 1.0},
            "epochs": epochs,
            "protocol": f"links against pairs, seed {i}",
            "ties": "realistic",
            "training_seconds": 90.0 + 60 * i,
            "curve": [{"epoch": 0.5, "auroc": 0.8}, {"epoch": 1.0, "auroc": 0.9}],
        }
        for i, (auroc, ap) in enumerate(values)
    ]
    mean = {metric: sum(seed["metrics"][metric] for seed in seeds) / len(seeds) for metric in ("auroc", "ap", "extra")}
    return {
        "experiment": name,
        "table": table,
        "paper": {"auroc": 0.956, "ap": 0.962},
        "mean": mean,
        "seeds": seeds,
        "config": {"training": {"epochs": 20, "device": "cpu"}},
        "machine": MACHINE,
    } | changes


@pytest.fixture
def page(tool):
    return tool("results_page")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_is_what_the_committed_results_say(page):
    assert page.PAGE == ROOT / "docs" / "RESULTS.md"
    assert page.PAGE.read_text(encoding="utf-8") == page.render(
        page.read_results(), page.read_comparisons(), page.read_ablation(), page.read_interpretations()
    )


def test_every_experiment_has_a_table(page):
    tables = {tomllib.loads(file.read_text())["experiment"]["table"] for file in (ROOT / "experiments").glob("*.toml")}
    assert tables <= set(page.TABLES)


def test_a_row_by_hand(page):
    lines = page.render([result()]).splitlines()
    begin = lines.index("## Homogeneous graphs")
    rows = [cells(line) for line in lines[begin:] if line.startswith("| [cora]")]
    link = "[cora](../experiments/cora.toml)"
    assert rows == [
        [link, "auroc", "0.960 ± 0.014", "0.956", "+0.004", "2", "20", "2.0"],
        [link, "ap", "0.970 ± 0.014", "0.962", "+0.008", "2", "20", "2.0"],
    ]
    width = len(cells(lines[begin + 4]))
    assert all(len(row) == width for row in rows)
    assert "- Processor, 2 cores, 24 GB, Python 3.11.9, PyTorch 2.13.0, trained on the CPU" in lines


def test_one_seed_has_no_spread_and_a_rank_no_digits(page):
    one = result("wn18rr", "kg_result", values=((0.5, 0.6),), epochs=2.5, paper={"auroc": 0.6, "mr": 636})
    one["seeds"][0]["metrics"]["mr"] = one["mean"]["mr"] = 640.4
    rows = [cells(line) for line in page.render([one]).splitlines() if line.startswith("| [wn18rr]")]
    assert [row[1:7] for row in rows] == [
        ["auroc", "0.500", "0.600", "-0.100", "1", "2.5 of 20"],
        ["mr", "640", "636", "+4", "1", "2.5 of 20"],
    ]


def test_tables_stand_in_their_order_and_machines_once(page):
    other = copy.deepcopy(result("fb15k-237-v1", "inductive_result"))
    other["machine"] = MACHINE | {"cores": 4}
    text = page.render([result(), result("pubmed"), other])
    assert (
        text.index("## Inductive") < text.index("[fb15k-237-v1]") < text.index("## Homogeneous") < text.index("[cora]")
    )
    assert text.index("[cora]") < text.index("[pubmed]") < text.index("## Machines")
    assert text.count("Processor, ") == 2
    assert "## Knowledge" not in text


def test_files_are_read_by_name_and_others_left_out(page, tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "experiments").mkdir()
    for name in ("pubmed", "cora"):
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(result(name, note="as it was run")))
        (tmp_path / "experiments" / f"{name}.toml").write_text('[experiment]\nnote = "as it is known now"\n')
    (tmp_path / "results" / "benchmark.json").write_text("{}")
    monkeypatch.setattr(page, "ROOT", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "docs" / "RESULTS.md")
    assert [document["experiment"] for document in page.read_results()] == ["cora", "pubmed"]
    page.main()
    written = page.PAGE.read_text(encoding="utf-8")
    assert written == page.render([result(name, note="as it is known now") for name in ("cora", "pubmed")])
    assert "\ncora, pubmed: as it is known now\n" in written
    page.main()
    assert page.PAGE.read_text(encoding="utf-8") == written


def test_without_results_there_is_still_a_page(page):
    assert page.render([]).startswith("# Results")


def test_a_run_that_is_not_done_shows_its_learning_curve_beside_the_paper(page):
    text = page.render([result(epochs=1.0), result("citeseer")])
    assert "cora so far" in text and "`nbfnet reproduce experiments/cora.toml`" in text and "has 0.956 on test" in text
    assert "| epoch | valid auroc |\n| --- | --- |\n| 0.5 | 0.800 |\n| 1 | 0.900 |\n" in text
    assert "citeseer so far" not in text


def test_a_table_says_how_it_was_measured(page):
    text = page.render([result(), result(name="pubmed")])
    assert text.count("Protocol: links against pairs; ties realistic.") == 1


def test_times_of_inductive_graphs_are_added_up(page):
    times = {"validation_seconds": 5.0, "evaluation_seconds": 0.1}
    four = [result(f"wn18rr-v{version}", "inductive_result") for version in range(1, 5)]
    for one in four:
        for seed in one["seeds"]:
            seed.update(times)
    lines = page.render(four).splitlines()
    (row,) = [cells(line) for line in lines if line.startswith("| wn18rr-v1 to v4")]
    assert row[1:] == ["20", "8.0 minutes", "20 seconds", "< 1 second", "41 minutes", "20 seconds"]
    assert not any(line.startswith("| wn18rr-v1 to v4") for line in page.render(four[:3]).splitlines())


def test_categories_and_parameters_stand_beside_the_papers(page):
    one = result("fb15k-237", "kg_result", values=((0.5, 0.6),))
    one["config"]["model"] = {"edges": "dependent"}
    by_category = {name: {"links": 7, "head": {"mrr": 0.25}, "tail": {"mrr": 0.5}} for name in page.CATEGORIES}
    one["seeds"][0]["by_category"] = by_category
    lines = page.render([one]).splitlines()
    assert "| N-to-1 | 7 | 0.250 / 0.500 | 0.165 / 0.790 |" in lines
    assert "| total | 3,103,105 | 3,103,105 |" in lines


def test_peers_stand_beside_the_paper(page, tmp_path, monkeypatch):
    found = {
        "protocol": "links against pairs, seed 3",
        "ties": "realistic",
        "metrics": {"auroc": 0.9126, "ap": 0.9},
        "parameters": 12345,
        "training_seconds": 540.0,
        "ranking_seconds": 2.0,
    }
    learned_nothing = found | {"parameters": 0, "training_seconds": 0.0}
    document = {
        "dataset": "cora",
        "hours": 0.15,
        "metric": "auroc",
        "split": "the paper's",
        "machine": MACHINE,
        "methods": {"vgae": found, "distance": learned_nothing},
    }
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "compare-cora.json").write_text(json.dumps(document))
    monkeypatch.setattr(page, "ROOT", tmp_path)
    assert page.read_results() == []
    lines = page.render([], page.read_comparisons()).splitlines()
    begin = lines.index("## Peers")
    lines = lines[: lines.index("## Every table of the paper")]
    assert any(line.startswith("cora, 9.0 minutes for each; split: the paper's") for line in lines[begin:])
    rows = [cells(line) for line in lines[begin:] if line.startswith("| ")]
    assert rows[0] == ["method", "auroc", "ap", "auroc, paper", "parameters", "training", "ranking"]
    assert rows[2:] == [
        ["vgae", "0.913", "0.900", "0.914", "12,345", "9.0 minutes", "2 seconds"],
        ["distance", "0.913", "0.900", "", "0", "", "2 seconds"],
    ]
    assert "## Peers" not in page.render([])


def test_the_order_of_an_ablation_is_compared_with_the_papers(page):
    """Three of the four depths are in the paper's order, and one setting of the other table is missing."""
    found = {"2-layers": 0.1, "4-layers": 0.3, "distmult-pna": 0.2, "8-layers": 0.4}
    lines = [
        {"graph": "g", "setting": name, "epochs": 5.0, "test": dict.fromkeys(page.ABLATED_METRICS, mrr + change)}
        for name, mrr in found.items()
        for change in (-0.01, 0.01)
    ]
    shown = page.render([], ablation=lines)
    assert "`num_layer` on g, 5 epochs:" in shown
    assert "| 6-layers | 0 / 114 | 0.200 / 0.415 | 0.200 / 0.321 | 0.200 / 0.454 | 0.200 / 0.599 | 2 |" in shown
    assert "| Spearman's correlation | -0.40 | 0.80 | 0.80 | 0.80 | 0.63 |  |" in shown
    assert "`msg_agg` on" not in shown
    assert "## Ablations" not in page.render([])
