"""``nbfnet evaluate``: how well a trained network ranks links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nbfnet.cli.options import (
    Engine,
    Facts,
    Json,
    RayAddress,
    RayWorkerCount,
    Seed,
    WorkerThreads,
    anywhere,
    ray_workers,
)
from nbfnet.cli.output import print_json, print_table, print_text, print_title
from nbfnet.evaluation.filtering import Filter, Split, TiePolicy
from nbfnet.semiring.catalog import METHODS

if TYPE_CHECKING:
    from nbfnet.distributed import Team
    from nbfnet.evaluation.shares import Found
    from nbfnet.ray_workers import RayWorkers

_BASELINES = ", ".join(method.title for method in METHODS.values() if method.baseline)
Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Run folders, which 'nbfnet train' wrote; several of the same graph score together.",
    ),
]
SplitOption = Annotated[Split, typer.Option("--split", help="Which links to evaluate.")]
Ties = Annotated[
    TiePolicy,
    typer.Option(help="How candidates with the same score as the answer count: half of them before it, none, or all."),
]
FilterOption = Annotated[
    Filter,
    typer.Option(
        "--filter",
        help="Which answers are not counted as wrong: all that are known or, as the paper did for inductive datasets, "
        "only the facts of the test graph.",
    ),
]
Drawn = Annotated[
    int,
    typer.Option(
        "--drawn", metavar="NUMBER", min=1, help="Negatives that hits@10_50 is against: the paper's 50, or GraIL's 49."
    ),
]
AnyType = Annotated[
    bool, typer.Option("--any-type", help="Rank entities of every type, also where they cannot be the answer.")
]
Queries = Annotated[Path | None, typer.Option(metavar="FILE", help="Links to evaluate instead of the run's own.")]
Baselines = Annotated[bool, typer.Option("--baselines", help=f"Evaluate {_BASELINES} and relation frequency too.")]
SampleSize = Annotated[
    int | None,
    typer.Option("--sample", metavar="NUMBER", min=1, help="Evaluate only so many links, drawn by the seed."),
]


def evaluate(
    runs: Runs,
    split: SplitOption = "test",
    ties: Ties = "realistic",
    filtered_by: FilterOption = "known",
    any_type: AnyType = False,
    drawn: Drawn = 50,
    facts: Facts = None,
    queries: Queries = None,
    baselines: Baselines = False,
    sample: SampleSize = None,
    seed: Seed = 0,
    engine: Engine = "local",
    workers: RayWorkerCount = None,
    threads: WorkerThreads = None,
    address: RayAddress = None,
    json: Json = False,
) -> None:
    """Evaluate a trained network, or several together.

    The links of a knowledge graph are ranked against all entities, both ways and filtered; where entities have types,
    against those that can be the answer. The links of a homogeneous graph are compared with pairs without an edge, and
    those of ogbl-biokg are ranked against the negatives that come with it, as OGB does. Under torchrun several
    processes share the work; with --engine ray, the workers of a cluster.
    """
    from nbfnet.distributed import gather_team
    from nbfnet.run import Run
    from nbfnet.training.start import device_of

    how: dict[str, Any] = {
        "split": split,
        "queries": queries,
        "facts": facts,
        "baselines": baselines,
        "ties": ties,
        "filtered_by": filtered_by,
        "any_type": any_type,
        "drawn": drawn,
        "sample": sample,
        "seed": seed,
    }
    cluster = ray_workers(engine, workers, threads, address)
    opened = Run.open(*runs)
    if cluster is not None:
        result = opened.evaluate(**how, team=_on_ray(cluster, runs, how))
        print_json(result.to_dict()) if json else _print(result.to_dict())
        return
    with gather_team(device_of(opened.config)) as team:
        result = opened.evaluate(**how, team=team)
        if team.leads:
            print_json(result.to_dict()) if json else _print(result.to_dict())


_SHARES_OF_A_WORKER = 4  # one is lost when a worker dies; each takes the time to list what is asked


def _on_ray(cluster: RayWorkers, runs: Sequence[Path], how: dict[str, Any]) -> Team:
    """Adds up the shares of an evaluation, which the workers of a cluster compute."""
    from nbfnet.evaluation.shares import SumOfShares
    from nbfnet.ray_workers import usable_cores

    size = _SHARES_OF_A_WORKER * (cluster.count or usable_cores())
    paths = {name: how[name] and anywhere(how[name]) for name in ("queries", "facts")}
    work = partial(_open_evaluation, [anywhere(run) for run in runs], {**how, **paths})
    return SumOfShares(compute=lambda: cluster.map(work, [(rank, size) for rank in range(size)]))


def _open_evaluation(runs: Sequence[Path], how: dict[str, Any]) -> Callable[[tuple[int, int]], Found]:
    """In a worker: open the runs once, and evaluate one share after the other."""
    from nbfnet.evaluation.shares import Share
    from nbfnet.run import Run

    run = Run.open(*runs)

    def evaluate_share(numbers: tuple[int, int]) -> Found:
        share = Share(*numbers)
        run.evaluate(**how, team=share)
        return share.found

    return evaluate_share


def _print(document: dict[str, Any]) -> None:
    print_title(f"{document['dataset']}, {document['split']}: {document['queries']:,} queries")
    names = list(document["metrics"])
    rows = [("this network", *_cells(document["metrics"]))]
    rows += [(name, *_cells(metrics)) for name, metrics in document.get("baselines", {}).items()]
    print_table(rows, ("", *names))
    print_text()
    drawn = f"; hits@10_50 against {document['drawn_negatives']} negatives" if "drawn_negatives" in document else ""
    print_text(f"{document['protocol']}; ties {document['ties']}{drawn}; {document['seconds']:.1f} s")
    if ogb := document.get("ogb"):
        print_text(f"by OGB's rules: {'  '.join(f'{name} {value:.4f}' for name, value in ogb.items())}")
    if sample := document.get("sample"):
        metric = "mrr" if "mrr_interval" in sample else "auroc"
        low, high = sample[f"{metric}_interval"]
        asked = f"{sample['links']:,} of {sample['of']:,} links were drawn"
        print_text(f"{asked}: the {metric.upper()} of all lies in {low:.4f} to {high:.4f} (95 %)")
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
