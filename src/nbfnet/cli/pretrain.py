"""``nbfnet pretrain``: one network for any graph, learned from several graphs."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from nbfnet.cli.options import Json
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.cli.train import ConfigFile, EpochCount, Hours, Output, Resume, SeedOption, Settings, report_validation

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
    from nbfnet.config import make_config, parse_settings
    from nbfnet.distributed import gather_team
    from nbfnet.errors import ConfigError
    from nbfnet.run import Run, configured
    from nbfnet.training.pretraining import PRETRAINING

    if epochs is not None and hours is not None:
        raise ConfigError("--epochs and --hours: give one of them; a budget of time takes the place of epochs")
    stated = (("epochs", epochs), ("hours", hours), ("seed", seed))
    numbers = {key: value for key, value in stated if value is not None}
    tables = [*configured(config), parse_settings(settings or []), {"training": numbers}]
    if continues and not output.exists():
        report_note(f"there is no run in {output} yet: starting one")  # perhaps it was killed before it made the folder
    device = make_config(PRETRAINING, *tables).training.device
    with gather_team(device) as team:
        try:
            run = Run.pretrain(
                output,
                sources,
                *tables,
                held_out=held_out or [],
                resume=continues,
                listener=report_validation,
                team=team,
                source=" ".join(sources),
                command=shlex.join(sys.argv),
            )
        except KeyboardInterrupt:
            report_note("stopped with a checkpoint; the same command with --resume continues")
            raise
        if not team.leads:
            return
    best = run.folder.manifest["metrics"]
    if json:
        print_json({"run": str(output), "best": best})
        return
    if best:
        print_title(f"{output}: the {'best' if best['valid'] else 'last'} network, after epoch {best['epoch']:.4g}")
        print_table([(name, f"{value:.4f}") for name, value in best["valid"].items()])
    print_text(f"next: nbfnet predict {output} --facts FILE --head NAME --relation NAME")
