"""From run folders to the members of a predictor: networks with their calibration, which is fitted here too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from nbfnet.errors import EvaluationError
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.prediction.calibration import Calibration, calibrate_together
from nbfnet.prediction.new_facts import on_known_relations
from nbfnet.prediction.predictor import Member, Predictor
from nbfnet.prediction.sampled_predictor import SampledPredictor
from nbfnet.training.memory_estimate import check_memory
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import device_of


def make_predictor(graph: Graph, runs: Sequence[RunFolder], learned: Sequence[Dataset]) -> Predictor:
    """The networks of some runs on a graph.

    Raises:
        EvaluationError: the graph has a relation that a network never saw, or only some of them sample it.
        NotEnoughMemoryError: the graph is too large to be used whole.
    """
    device = device_of(runs[0].config())
    check_memory(graph, runs[0].config(), "asking on")
    members = [_member(graph, run, dataset, device) for run, dataset in zip(runs, learned, strict=True)]
    sampling = [run.config().sampling for run in runs]
    if all(how.hops is None for how in sampling):
        return Predictor(graph, members, device)
    if any(how.hops is None for how in sampling):
        raise EvaluationError("one run samples its graph and another does not: ask them one by one")
    held_out = (learned[0].valid, learned[0].test) if graph is learned[0].train else ()
    return SampledPredictor(graph, members, sampling, device, held_out)


def calibration_of(run: RunFolder, epoch: float) -> Calibration:
    """The run's calibration; the sigmoid where none was fitted to the network of this epoch."""
    document = run.manifest.get("calibration")
    fitted = document is not None and document.get("epoch") == epoch
    return Calibration.read(document if fitted else None)


def calibrate_run(run: RunFolder, *datasets: Dataset) -> None:
    """Fit the probabilities of the best network on the valid links of some datasets, and state that in the manifest.

    Not where another process has resumed the training meanwhile: it has a better network to calibrate.
    """
    device = run.config().training.device
    if run.config().sampling.hops is not None:
        return  # its best candidates would have to be found among all entities
    network, epoch = run.network_and_epoch(datasets[0], device)
    asked = [(NetworkScorer(network, dataset.train.message_csr, device), dataset) for dataset in datasets]
    document = calibrate_together(asked).to_dict()
    with suppress(BlockingIOError), alone_in(run.path, wait=False):
        run.update(calibration={"epoch": epoch, **document})


def _member(graph: Graph, run: RunFolder, dataset: Dataset, device: str) -> Member:
    learned, config = dataset.train, run.config()
    same = graph.kind == learned.kind and list(graph.relations) == list(learned.relations)
    fits = same or config.model.any_graph  # whose relations are whatever the graph has
    numbered = graph if fits else on_known_relations(graph, learned, run.path)
    network, epoch = run.network_and_epoch(dataset, device)
    return Member(network, calibration_of(run, epoch), numbered, config.training.hiding)
