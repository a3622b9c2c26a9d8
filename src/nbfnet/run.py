"""Run: a trained network with its graph, asked and answered by name."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from nbfnet.config import Config, make_config, read_toml
from nbfnet.evaluation.filtering import Split, facts_of
from nbfnet.evaluation.given_negatives import evaluate_by_protocol
from nbfnet.evaluation.result import PairResult, RankingResult
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.explanation.asking import explain_named, rules_of
from nbfnet.explanation.explanation import Asked, Explanation
from nbfnet.explanation.rules import Rule
from nbfnet.graph.datasets.given import given_negatives
from nbfnet.graph.extension import described_as
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load, split_source
from nbfnet.prediction.answers import Answers
from nbfnet.prediction.asking import Wanted, ask
from nbfnet.prediction.calibrating import calibrate_run
from nbfnet.prediction.loading import make_predictor
from nbfnet.prediction.predictor import Predictor
from nbfnet.training.loop import train as learn
from nbfnet.training.new_facts import on_known_relations
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import begin, device_of


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A run folder that was opened, and the graph that it is asked on."""

    folder: RunFolder
    dataset: Dataset  # what it learned from
    graph: Graph  # what it is asked on

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """Open a run folder, which ``train`` wrote."""
        opened = RunFolder.open(Path(folder))
        dataset = opened.dataset()
        return cls(opened, dataset, dataset.train)

    def on(self, graph: Graph) -> Run:
        """The same network on another graph: its entities may be new, its relations not; nothing is trained again."""
        learned = self.dataset.train
        return dataclasses.replace(self, graph=described_as(on_known_relations(graph, learned, graph.name), learned))

    def predict(
        self,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        *,
        k: int = 10,
        exclude_known: bool = False,
        types: Iterable[str] = (),
        candidates: Iterable[str] | None = None,
    ) -> Answers:
        """The best answers to (head, relation, ?), (?, relation, tail) or (head, ?, tail).

        Args:
            head: a name, or None if it is asked.
            relation: a name, or None if it is asked; a homogeneous graph needs none.
            tail: a name, or None if it is asked.
            k: how many answers.
            exclude_known: leave out the facts of the graph that it is asked on; held-out links are none.
            types: only entities of these types.
            candidates: only these entities.
        """
        listed = None if candidates is None else tuple(candidates)
        return ask(self._predictor, head, relation, tail, Wanted(k, exclude_known, tuple(types), listed))

    def explain(self, head: str, relation: str | None, tail: str, *, asked: Asked = "tail", k: int = 5) -> Explanation:
        """The k most important paths behind a prediction; where it is a fact already, that fact is taken away first."""
        return explain_named(self._predictor.members[0], head, relation, tail, asked=asked, k=k)

    def rules(self, relation: str | None = None, *, predictions: int = 50) -> list[Rule]:
        """The relation patterns that the network relies on for a relation, from so many of its facts."""
        return rules_of(self._predictor.members[0], relation, predictions=predictions)

    def evaluate(self, split: Split = "test", *, sample: int | None = None) -> RankingResult | PairResult:
        """How well the links of the dataset's split rank; against the negatives that come with it, if any do."""
        device = device_of(self.config)
        facts = facts_of(self.dataset, split)
        scorer = NetworkScorer(self.folder.network(self.dataset, device), facts.message_csr, device)
        given = given_negatives(self.dataset, split)
        return evaluate_by_protocol(scorer, self.dataset, split, given, sample=sample)[0]

    @property
    def config(self) -> Config:
        """How it was trained."""
        return self.folder.config()

    @cached_property
    def _predictor(self) -> Predictor:
        return make_predictor(self.graph, [self.folder], [self.dataset])

    def __repr__(self) -> str:
        return f"<Run {str(self.folder.path)!r}: {self.dataset.name}, asked on {self.graph.name}>"


def train(
    source: Graph | Dataset | str | Path,
    folder: str | Path | None = None,
    *,
    config: str | Path | Mapping[str, Any] | None = None,
    epochs: int | None = None,
    seed: int | None = None,
) -> Run:
    """Train a network on a graph, a dataset, or what names one.

    Args:
        source: what to learn; a graph without a split is split by the seed.
        folder: the run folder to write; none makes one among the system's temporary files.
        config: a TOML file, or tables such as ``{"model": {"layers": 4}}``; the rest is chosen from the graph.
        epochs: how many, in place of the configuration's.
        seed: of everything random, in place of the configuration's.
    """
    if isinstance(config, str | Path):
        tables, origin = read_toml(Path(config)), str(config)
    else:
        tables, origin = dict(config or {}), "configuration"
    overrules = {"training": {k: v for k, v in (("epochs", epochs), ("seed", seed)) if v is not None}}
    drawn = make_config(tables, overrules, origin=origin).training.seed
    dataset = split_source(source, seed=drawn) if isinstance(source, Graph | Dataset) else load(source, seed=drawn)
    path = Path(tempfile.mkdtemp(prefix="nbfnet-")) / "run" if folder is None else Path(folder)
    opened, chosen = begin(path, dataset, tables, overrules)
    learn(opened, dataset, chosen, listener=lambda entry: None)
    calibrate_run(opened, dataset)
    return Run.open(path)
