"""Are the probabilities right? The ten best candidates of every test query, known facts removed; and the time taken.

    [NBFNET_DATA=folder] python benchmarks/calibration.py RUN [--queries N] [--json FILE]

RUN is a folder of a knowledge graph that ``nbfnet train`` or ``nbfnet reproduce`` wrote; its calibration was fitted on
valid links alone. A candidate's probability should be how often such a candidate is the held-out answer: the expected
calibration error is the mean gap between the two over ten equal bins, before the calibration that of the network's own
sigmoid. Known are the facts of the training graph and the valid links; other test answers of a query are taken away
too. One prediction at a time is timed, after loading.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from machine import machine_facts
from nbfnet.evaluation.filtering import RankingProtocol
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.triplets import Float64
from nbfnet.prediction.calibration import CANDIDATES, expected_calibration_error, queries_of, sigmoid
from nbfnet.prediction.members import make_predictor
from nbfnet.run import Run
from nbfnet.training.start import device_of


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder of a knowledge graph")
    parser.add_argument("--queries", type=int, help="so many random test queries instead of all")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    figures = measure(Run.open(arguments.run), arguments.queries)
    for name, value in figures.items():
        print(f"{name:>52}  {value}")
    if arguments.json:
        document = {"machine": machine_facts(), **figures}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measure(run: Run, count: int | None) -> dict[str, object]:
    """The calibration error on test queries, before and after, and how the probabilities are spread."""
    protocol, random = RankingProtocol.of(run.dataset, "test"), np.random.default_rng(0)
    asked = queries_of(protocol.facts, protocol.links)
    asked = asked.take(random.permutation(len(asked))[: count or len(asked)])
    predictor = make_predictor(protocol.facts, [run.folder], [run.dataset])
    (member,) = predictor.members
    scorer = NetworkScorer(member.network, member.graph.message_csr, device_of(run.config))
    logits, probabilities, outcomes, seconds = [], [], [], []
    for source, relation, answer in zip(asked.head.tolist(), asked.relation.tolist(), asked.tail.tolist(), strict=True):
        known = protocol.filter.of_query(source, relation)
        possible = np.ones(protocol.facts.num_nodes, dtype=np.bool_)
        if protocol.possible is not None:
            possible = protocol.possible.mask(relation)
        possible[known[known != answer]] = False
        begin = time.perf_counter()
        ranking = predictor.tails(source, relation, CANDIDATES, exclude_known=True, possible=possible)
        seconds.append(time.perf_counter() - begin)
        found = torch.from_numpy(ranking.candidate)[None]
        logits.append(scorer.score(torch.tensor([source]), torch.tensor([relation]), found)[0].double().cpu().numpy())
        probabilities.append(ranking.probability)
        outcomes.append(ranking.candidate == answer)
    probability, outcome = np.concatenate(probabilities), np.concatenate(outcomes).astype(np.float64)
    before = sigmoid(np.concatenate(logits))
    return {
        "run": run.folder.path.name,
        "test queries": len(asked),
        "expected calibration error of the sigmoid": round(expected_calibration_error(before, outcome), 4),
        "expected calibration error": round(expected_calibration_error(probability, outcome), 4),
        "bins of probability: candidates": _by_bin(probability, np.ones_like(outcome)),
        "bins of probability: share that is the answer": _by_bin(probability, outcome, mean=True),
        "seconds a prediction takes, median": round(float(np.median(seconds)), 4),
        "seconds a prediction takes, at most": round(max(seconds), 4),
    }


def _by_bin(probability: Float64, value: Float64, *, mean: bool = False) -> list[float | None]:
    number = np.minimum((10 * probability).astype(int), 9)
    total, count = np.bincount(number, weights=value, minlength=10), np.bincount(number, minlength=10)
    if not mean:
        return [int(t) for t in total]
    return [round(float(t / c), 3) if c else None for t, c in zip(total, count, strict=True)]


if __name__ == "__main__":
    main()
