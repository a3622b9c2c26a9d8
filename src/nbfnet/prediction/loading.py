"""From run folders and files to a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbfnet.graph.extension import described_as, with_facts
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.read import read
from nbfnet.prediction.calibration import Calibration
from nbfnet.prediction.predictor import Member, Predictor
from nbfnet.training.new_facts import on_known_relations
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import device_of


def open_predictor(folders: Sequence[Path], facts: Path | None = None, more_facts: Path | None = None) -> Predictor:
    """The networks of run folders, on the graph that the first learned from, or on other facts.

    Args:
        folders: one run, or several that answer together.
        facts: a file of a whole graph, in place of the one that was learned; readable names and types are kept.
        more_facts: a file of facts that join it.

    Raises:
        RunFolderError: a folder is not there, damaged or foreign.
        EvaluationError: the facts have a relation that a network never saw.
    """
    runs = [RunFolder.open(folder) for folder in folders]
    learned = [run.dataset() for run in runs]
    graph = first = learned[0].train
    if facts is not None:
        graph = described_as(on_known_relations(read(facts), first, facts), first)
    if more_facts is not None:
        graph = with_facts(graph, on_known_relations(read(more_facts), first, more_facts))
    return make_predictor(graph, runs, learned)


def make_predictor(graph: Graph, runs: Sequence[RunFolder], learned: Sequence[Dataset]) -> Predictor:
    """The networks of some runs on a graph."""
    device = device_of(runs[0].config())
    members = [_member(graph, run, dataset, device) for run, dataset in zip(runs, learned, strict=True)]
    return Predictor(graph, members, device)


def calibration_of(run: RunFolder, epoch: float) -> Calibration:
    """The run's calibration; the sigmoid where none was fitted to the network of this epoch."""
    document = run.manifest.get("calibration")
    fitted = document is not None and document.get("epoch") == epoch
    return Calibration.read(document if fitted else None)


def _member(graph: Graph, run: RunFolder, dataset: Dataset, device: str) -> Member:
    learned = dataset.train
    same = graph.kind == learned.kind and list(graph.relations) == list(learned.relations)
    numbered = graph if same else on_known_relations(graph, learned, run.path)
    network, epoch = run.network_and_epoch(dataset, device)
    return Member(network, calibration_of(run, epoch), numbered)
