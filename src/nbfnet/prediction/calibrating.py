"""Calibrating the network of a run folder, once it is trained."""

from __future__ import annotations

from contextlib import suppress

from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.graph import Dataset
from nbfnet.prediction.calibration import calibrate
from nbfnet.training.run_folder import RunFolder


def calibrate_run(folder: RunFolder, dataset: Dataset) -> None:
    """Fit the probabilities of the best network, and state the calibration in the manifest.

    Not where another process has gone on with the training meanwhile: it has a better network to calibrate.
    """
    device = folder.config().training.device
    network, epoch = folder.network_and_epoch(dataset, device)
    scorer = NetworkScorer(network, dataset.train.message_csr, device)
    document = calibrate(scorer, dataset).to_dict()
    with suppress(BlockingIOError), alone_in(folder.path, wait=False):
        folder.update(calibration={"epoch": epoch, **document})
