"""``nbfnet evaluate``: how well a trained network ranks links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nbfnet.cli.options import Facts, Json, RunArgument, Seed
from nbfnet.cli.output import print_json, print_table, print_text, print_title
from nbfnet.distributed import gather_team
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.filtering import Split, facts_of
from nbfnet.evaluation.given_negatives import evaluate_by_protocol
from nbfnet.evaluation.ranks import TiePolicy
from nbfnet.evaluation.scorer import NetworkScorer, Scorer
from nbfnet.graph.datasets.given import given_negatives
from nbfnet.training.new_facts import read_new_facts
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import device_of

SplitOption = Annotated[Split, typer.Option("--split", help="Whose links are asked.")]
Ties = Annotated[
    TiePolicy,
    typer.Option(help="Where candidates with the answer's score stand: half before it, behind it, before it."),
]
Queries = Annotated[Path | None, typer.Option(metavar="FILE", help="The links to ask, in place of the run's own.")]
Baselines = Annotated[
    bool, typer.Option("--baselines", help="Evaluate Katz, PageRank, distance and relation frequency.")
]
SampleSize = Annotated[
    int | None, typer.Option("--sample", metavar="NUMBER", min=1, help="Ask so many links, drawn by the seed.")
]


def evaluate(
    run: RunArgument,
    split: SplitOption = "test",
    ties: Ties = "realistic",
    facts: Facts = None,
    queries: Queries = None,
    baselines: Baselines = False,
    sample: SampleSize = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Evaluate a trained network.

    A knowledge graph's links are ranked against all entities, both ways and filtered; a homogeneous graph's are told
    from pairs without an edge; ogbl-biokg's are ranked against the negatives that it gives, as OGB does. Under torchrun
    several processes share the work.
    """
    folder = RunFolder.open(run)
    dataset = learned = folder.dataset()
    if facts is not None and queries is None:
        raise EvaluationError("--facts gives another graph: give the links to ask on it as well, with --queries")
    if queries is not None and split == "valid":
        raise EvaluationError("--queries takes the place of the run's own links: leave out --split valid")
    if queries is not None:
        dataset = read_new_facts(learned, facts, queries)
    device = device_of(folder.config())
    network = folder.network(learned, device)
    graph = facts_of(dataset, split)
    with gather_team(device) as team:
        given = given_negatives(dataset, split)

        def measure(scorer: Scorer) -> dict[str, Any]:
            result, official = evaluate_by_protocol(
                scorer, dataset, split, given, ties=ties, sample=sample, seed=seed, team=team
            )
            return result.document() if given is None else {**result.document(), "ogb": official}

        document = measure(NetworkScorer(network, graph.message_csr, device))
        if baselines:
            document["baselines"] = {name: measure(make(graph))["metrics"] for name, make in BASELINES.items()}
        if team.leads:
            print_json(document) if json else _print(document)


def _print(document: dict[str, Any]) -> None:
    print_title(f"{document['dataset']}, {document['split']}: {document['queries']:,} queries")
    names = list(document["metrics"])
    rows = [("this network", *_cells(document["metrics"]))]
    rows += [(name, *_cells(metrics)) for name, metrics in document.get("baselines", {}).items()]
    print_table(rows, ("", *names))
    print_text()
    print_text(f"{document['protocol']}; ties {document['ties']}; {document['seconds']:.1f} s")
    if sample := document.get("sample"):
        metric = "mrr" if "mrr_interval" in sample else "auroc"
        low, high = sample[f"{metric}_interval"]
        drawn = f"{sample['links']:,} of {sample['of']:,} links were drawn"
        print_text(f"{drawn}: the {metric.upper()} of all lies in {low:.4f} to {high:.4f} (95 %)")
    _print_parts(document)


def _print_parts(document: dict[str, Any]) -> None:
    if document.get("by_direction"):
        print_text()
        rows = [(f"{side} asked", *_cells(metrics)) for side, metrics in document["by_direction"].items()]
        for category, part in document["by_category"].items():
            rows += [(f"{category}, {side}", *_cells(part[side])) for side in ("head", "tail")]
        print_table(rows, ("", *document["metrics"]))
    if document.get("by_relation"):
        print_text()
        by_links = sorted(document["by_relation"], key=lambda row: -row["links"])
        shown = [
            (row["links"], row["category"], f"{row['head']['mrr']:.3f}", f"{row['tail']['mrr']:.3f}", row["relation"])
            for row in by_links[:20]
        ]
        print_table(shown, ("links", "category", "head MRR", "tail MRR", "relation"))
        if len(by_links) > 20:
            print_text(f"... and {len(by_links) - 20} more relations; --json lists all")


def _cells(metrics: dict[str, float]) -> list[str]:
    return [f"{value:.1f}" if name == "mr" else f"{value:.4f}" for name, value in metrics.items()]
