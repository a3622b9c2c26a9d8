"""The model card: what a network learned from, how well it does, and how sure it may be, from its run folder."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import torch

from nbfnet.errors import NbfnetError
from nbfnet.evaluation.result import RankingResult
from nbfnet.prediction.calibration import sigmoid
from nbfnet.run import Run

_SECONDS = 20.0  # that measuring the test links may take
_MOST_LINKS, _LEAST_LINKS = 500, 10


class ModelCard:
    """The card of a run. The test is measured when the card is first asked for, in a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._test: dict[str, Any] = {"state": "not measured"}
        self._thread: threading.Thread | None = None

    def document(self) -> dict[str, Any]:
        """What is known now; ``test.state`` says whether the test is still being measured."""
        run, manifest = self._run, self._run.folder.manifest
        dataset, config = run.dataset, run.config
        train = dataset.train
        counts = np.bincount(train.triplets.relation, minlength=train.num_relations)
        types = {} if train.types is None else _count_types(train.types)
        self._measure()
        return {
            "graph": {
                "name": dataset.name,
                "kind": dataset.kind,
                "entities": train.num_nodes,
                "relations": train.num_relations,
                "train": len(train.triplets),
                "valid": len(dataset.valid),
                "test": len(dataset.test),
                "split": dataset.split,
                "fingerprint": manifest["dataset"]["fingerprint"],
                "types": types,
                "facts_by_relation": {train.relations.label(r): int(n) for r, n in enumerate(counts.tolist())},
            },
            "made_by": {key: value for key, value in manifest.get("made_by", {}).items() if key != "command"},
            "model": config.model_dump(mode="json")["model"],
            "training": config.model_dump(mode="json")["training"],
            "valid": manifest["metrics"],
            "history": run.history,
            "calibration": self._calibration(),
            "test": self._test,
        }

    def _calibration(self) -> dict[str, Any]:
        """The curve from the network's own sigmoid to the probability that is shown."""
        calibration = self._run.predictor.members[0].calibration
        curve = calibration.curve
        points: list[tuple[float, float]] = []
        if curve is not None:
            x = np.linspace(curve.x.min(), curve.x.max(), 200)
            points = list(zip(sigmoid(x).tolist(), curve(x).tolist(), strict=True))
        return {**calibration.description, "points": points}

    def _measure(self) -> None:
        with self._lock:
            if self._thread is None:
                self._test = {"state": "measuring"}
                self._thread = threading.Thread(target=self._evaluate, name="nbfnet-card", daemon=True)
                self._thread.start()

    def _evaluate(self) -> None:
        torch.set_num_threads(1)
        try:
            if not len(self._run.dataset.test):
                self._test = {"state": "none", "reason": "the run has no test links"}
                return
            begun = time.perf_counter()
            self._run.evaluate(sample=_LEAST_LINKS)
            seconds = (time.perf_counter() - begun) / _LEAST_LINKS
            sample = int(np.clip(_SECONDS / seconds, _LEAST_LINKS, _MOST_LINKS))
            result = self._run.evaluate(sample=min(sample, len(self._run.dataset.test)))
            found = result.to_dict()
            relations = found.get("by_relation", []) if isinstance(result, RankingResult) else []
            self._test = {
                "state": "measured",
                "protocol": found["protocol"],
                "queries": found["queries"],
                "metrics": found["metrics"],
                "sample": found["sample"],
                "by_relation": relations,
            }
        except NbfnetError as error:
            self._test = {"state": "none", "reason": str(error)}


def _count_types(types: Any) -> dict[str, int]:
    counts = np.bincount(types.of_entity[types.of_entity >= 0], minlength=len(types.names)).tolist()
    return dict(sorted(zip(types.names, counts, strict=True), key=lambda pair: -pair[1]))
