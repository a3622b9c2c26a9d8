"""``nbfnet import-ultra``: ULTRA's published weights as a run that answers on any graph."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from nbfnet.cli.options import Json, output_folder
from nbfnet.cli.output import print_json, print_text

File = Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint of ULTRA, as safetensors.")]
Output = Annotated[Path, output_folder("the run folder")]


def import_ultra(file: File, output: Output, json: Json = False) -> None:
    """Make a run of ULTRA's published weights, for any graph.

    The run has no graph of its own: predict, explain, rules and evaluate take one with --facts. Its relations may be
    new, and nothing is trained.
    """
    from nbfnet.run import Run

    run = Run.import_ultra(file, output, source=str(file), command=shlex.join(sys.argv))
    parameters = run.folder.network(run.dataset).parameter_counts()["total"]
    if json:
        print_json({"run": str(output), "parameters": parameters, "config": run.config.model_dump(mode="json")})
        return
    print_text(f"{output}: a network of {parameters:,} parameters, for any graph")
    print_text(f"next: nbfnet predict {output} --facts FILE --head NAME --relation NAME")
