"""From run folders and files to a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbfnet.graph.extension import described_as, with_facts
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.prediction.calibration import Calibration
from nbfnet.prediction.predictor import Member, Predictor
from nbfnet.training.new_facts import on_known_relations, read_facts
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import device_of


def open_predictor(
    folders: Sequence[Path], facts: Path | None = None, more_facts: Path | None = None, *, train_only: bool = False
) -> Predictor:
    """The networks of run folders, on every fact that the first run knows, or on other facts.

    Args:
        folders: one run, or several that answer together.
        facts: a file or a folder of a whole graph, instead of the run's own; readable names and types are kept.
        more_facts: a file or a folder of facts that join it.
        train_only: leave out the run's valid and test links, for studies.

    Raises:
        RunFolderError: a folder is not there, damaged or foreign.
        EvaluationError: the facts have a relation that a network never saw.
    """
    runs = [RunFolder.open(folder) for folder in folders]
    learned = [run.dataset() for run in runs]
    first = learned[0].train
    graph = first if train_only else learned[0].known_graph
    if facts is not None:
        graph = described_as(on_known_relations(read_facts(facts, first), first, facts), first)
    if more_facts is not None:
        graph = with_facts(graph, on_known_relations(read_facts(more_facts, first), first, more_facts))
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
    return Member(network, calibration_of(run, epoch), numbered, run.config().training.hiding)
