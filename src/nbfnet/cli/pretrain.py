"""``nbfnet pretrain``: one network for any graph, learned from several graphs."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from nbfnet.cli.options import Json
from nbfnet.cli.train import (
    ConfigFile,
    EpochCount,
    Hours,
    Output,
    Resume,
    SeedOption,
    Settings,
    is_there,
    print_best,
    report_validation,
    reporting_interrupts,
    stated_tables,
)

Sources = Annotated[
    list[str],
    typer.Argument(metavar="SOURCE...", help="Graphs to learn from: names of datasets, folders, stores or files."),
]
HeldOut = Annotated[
    list[str] | None,
    typer.Option(
        "--held-out",
        metavar="SOURCE",
        help="Validate and calibrate on this graph, which is not learned from. May be repeated.",
    ),
]


def pretrain(
    sources: Sources,
    output: Output,
    held_out: HeldOut = None,
    config: ConfigFile = None,
    settings: Settings = None,
    continues: Resume = False,
    epochs: EpochCount = None,
    hours: Hours = None,
    seed: SeedOption = None,
    json: Json = False,
) -> None:
    """Train one network for any graph, on several graphs.

    The network knows relations by how they meet in the graph, so it answers on graphs whose relations it has never
    seen: give them to predict, explain, rules and evaluate with --facts, or train it further with train --from. Batches
    come from all graphs in proportion to their facts, at most training.batches_per_epoch of each per epoch.

    Ctrl-C stops with a checkpoint, and --resume continues from it, also after a kill. Under torchrun several processes
    share the work.
    """
    from nbfnet.config import make_config
    from nbfnet.distributed import gather_team
    from nbfnet.run import Run
    from nbfnet.training.pretraining import PRETRAINING

    tables = stated_tables(config, settings, epochs=epochs, hours=hours, seed=seed)
    continues = continues and is_there(output)
    note: Any = {"source": " ".join(sources), "command": shlex.join(sys.argv)}
    with gather_team(make_config(PRETRAINING, *tables).training.device) as team:
        how: Any = {"held_out": held_out or [], "resume": continues, "listener": report_validation, "team": team}
        with reporting_interrupts():
            run = Run.pretrain(output, sources, *tables, **how, **note)
        if team.leads:
            following = f"predict {output} --facts FILE --head NAME --relation NAME"
            print_best(output, run.folder.manifest["metrics"], following, json=json)
