"""``nbfnet info``: what a run folder holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbfnet.cli.describe import list_names, print_names
from nbfnet.cli.options import Json, RunArgument
from nbfnet.cli.output import print_json, print_table, print_text, print_title

if TYPE_CHECKING:
    from nbfnet.training.run_folder import RunFolder

_MADE_BY = {"date": "trained from", "nbfnet": "by nbfnet", "source": "source", "command": "command"}


def info(run: RunArgument, json: Json = False) -> None:
    """Show a run's parameters, configuration, metrics and graph."""
    from nbfnet.training.run_folder import RunFolder

    folder = RunFolder.open(run)
    document = _describe(folder)
    if json:
        print_json(document)
        return
    print_title(f"{folder.path}: {document['graph']['name']} ({document['graph']['kind']})")
    if document["graph"]["entities"]:
        print_table([(f"graph's {key}", value) for key, value in document["graph"].items() if isinstance(value, int)])
        print_names(document["graph"])
    else:
        print_text("for any graph, and with none of its own: --facts names one")
    for key, words in (("learned_from", "learned from"), ("held_out", "held out")):
        if document[key]:
            print_text(f"{words}: {', '.join(_named(graph) for graph in document[key])}")
    made_by = folder.manifest.get("made_by", {})
    for key in ("date", "nbfnet", "source", "command"):
        if key in made_by:
            print_text(f"{_MADE_BY[key]}: {made_by[key]}")
    print_text()
    print_title("Parameters")
    print_table(list(document["parameters"].items()))
    for section in ("model", "training"):
        print_text()
        print_title(section.capitalize())
        print_table([(key, str(value)) for key, value in document["config"][section].items()])
    if document["metrics"]:
        print_text()
        which = "Best validation" if document["metrics"]["valid"] else "Last network"
        print_title(f"{which}, after epoch {document['metrics']['epoch']:.4g} of {document['epochs']:.4g}")
        print_table([(name, f"{value:.4f}") for name, value in document["metrics"]["valid"].items()])


def _named(graph: dict[str, Any]) -> str:
    return f"{graph['name']} ({graph['facts']:,} facts)"


def _describe(folder: RunFolder) -> dict[str, Any]:
    """The JSON document of ``nbfnet info``."""
    from nbfnet.training.log import read_log

    dataset, log = folder.dataset(), read_log(folder.path)
    graph = {
        "name": dataset.name,
        "kind": dataset.kind,
        "entities": dataset.train.num_nodes,
        "relations": dataset.train.num_relations,
        "train": len(dataset.train.triplets),
        "valid": len(dataset.valid),
        "test": len(dataset.test),
        "split": dataset.split,
        "fingerprint": folder.manifest["dataset"]["fingerprint"],
        **list_names(dataset),
    }
    return {
        "made_by": folder.manifest.get("made_by", {}),
        "parameters": folder.network(dataset).parameter_counts(),
        "graph": graph,
        "learned_from": folder.manifest.get("learned_from", []),
        "held_out": folder.manifest.get("held_out", []),
        "config": folder.config().model_dump(mode="json"),
        "metrics": folder.manifest["metrics"],
        "epochs": log[-1]["epoch"] if log else 0,
        "log": log,
    }
