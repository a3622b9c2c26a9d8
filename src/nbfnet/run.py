"""Run: a trained network with its graph, asked and answered by name."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nbfnet.config import Config, make_config, read_toml
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError, QueryError
from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.filtering import Filter, Split, TiePolicy, facts_of
from nbfnet.evaluation.given_negatives import evaluate_by_protocol
from nbfnet.evaluation.result import PairResult, RankingResult
from nbfnet.evaluation.scorer import NetworkScorer, Scorer
from nbfnet.explanation.asking import explain_named, rules_of
from nbfnet.explanation.explanation import Asked, Explanation
from nbfnet.explanation.rules import RuleOrder, Rules
from nbfnet.graph.datasets.given import given_negatives
from nbfnet.graph.extension import described_as, with_facts
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load, split_source
from nbfnet.graph.reading.read import read
from nbfnet.prediction.answers import QUESTION, Answers, AnswersOfMany, ScoredLink, ScoredLinks
from nbfnet.prediction.asking import Wanted, ask
from nbfnet.prediction.calibrating import calibrate_run
from nbfnet.prediction.loading import make_predictor
from nbfnet.prediction.missing_links import missing_links
from nbfnet.prediction.predictor import Predictor
from nbfnet.progress import progress_shown
from nbfnet.training.log import read_log
from nbfnet.training.loop import train as learn
from nbfnet.training.new_facts import links_to_ask, on_known_relations, read_facts
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import begin, device_of
from nbfnet.training.start import resume as go_on

Validation = dict[str, Any]  # a line of the log: epoch, loss, valid metrics, seconds


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """Run folders that were opened, and the graph that they are asked on."""

    folder: RunFolder
    dataset: Dataset  # what it learned from
    graph: Graph  # what it is asked on: every known fact, unless another graph was given
    others: tuple[RunFolder, ...] = ()  # runs that answer together with it

    @classmethod
    def open(cls, folder: str | Path, *others: str | Path, train_only: bool = False) -> Run:
        """Open a run folder, which ``train`` wrote; several answer together, by the mean of their probabilities.

        It is asked on all facts that it knows: train, valid and test. ``train_only`` leaves out valid and test links.
        """
        opened = RunFolder.open(Path(folder))
        dataset = opened.dataset()
        graph = dataset.train if train_only else dataset.known_graph
        return cls(opened, dataset, graph, tuple(RunFolder.open(Path(other)) for other in others))

    def on(self, facts: object) -> Run:
        """The same network on another graph: its entities may be new, its relations not; nothing is trained again.

        ``facts`` is whatever ``nbfnet.read`` takes, or a folder.
        """
        graph = self._with_learned_relations(facts)
        return dataclasses.replace(self, graph=described_as(graph, self.dataset.train))

    def with_facts(self, facts: object) -> Run:
        """The same network on its graph with more facts, which may have new entities."""
        return dataclasses.replace(self, graph=with_facts(self.graph, self._with_learned_relations(facts)))

    def predict(
        self,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        *,
        k: int = 10,
        exclude_known: bool = False,
        any_type: bool = False,
        seen: bool = False,
        types: Iterable[str] = (),
        candidates: Iterable[str] | None = None,
    ) -> Answers:
        """The best answers to (head, relation, ?), (?, relation, tail) or (head, ?, tail).

        Args:
            head: a name, or None if it is asked.
            relation: a name, or None if it is asked; a homogeneous graph needs none.
            tail: a name, or None if it is asked.
            k: how many new answers; known facts are listed besides.
            exclude_known: leave out the facts of the graph.
            any_type: also entities of types that the relation does not have on that side.
            seen: only entities that some fact of the relation has in that place.
            types: only entities of these types.
            candidates: only these entities.
        """
        for role, name in (("head", head), ("relation", relation), ("tail", tail)):
            _require_name(role, name)
        listed = None if candidates is None else tuple(candidates)
        wanted = Wanted(k, exclude_known, any_type, seen, tuple(types), listed)
        return ask(self._predictor, head, relation, tail, wanted)

    def predict_many(self, queries: Any, **options: Any) -> AnswersOfMany:
        """The answers to many queries, with the options of ``predict``.

        ``queries`` is a list of (head, relation, tail) with None or '?' for what is asked, or a DataFrame with columns
        head, relation and tail, of which the asked one may be missing.
        """
        return AnswersOfMany(self.predict(*query, **options) for query in _queries(queries))

    def missing_links(
        self, k: int = 100, *, relation: str | None = None, minutes: float = 2.0, any_type: bool = False, seed: int = 0
    ) -> ScoredLinks:
        """The k most probable links that the graph does not have, of one relation or of all.

        Candidates come from paths, and as many as the time allows are scored; in a small graph, all.
        """
        asked = None if relation is None else self.graph.relations.find(relation)
        found = missing_links(self._predictor, k, relation=asked, seconds=60 * minutes, any_type=any_type, seed=seed)
        return found.named(self.graph)

    def score(self, links: Iterable[Sequence[str]]) -> ScoredLinks:
        """How likely links (head, relation, tail) are; of a homogeneous graph, (node, node)."""
        entities, relations = self.graph.entities, self.graph.relations
        scored = ScoredLinks()
        for link in links:
            head, relation, tail = link if len(link) == 3 else (link[0], relations[0], link[-1])
            u, q, v = entities.find(head), relations.find(relation), entities.find(tail)
            score, probability = self._predictor.score_as_new(u, q, v)
            known = self._predictor.is_known(u, q, v)
            scored.append(ScoredLink(entities[u], relations[q], entities[v], probability, score, known))
        return scored

    def explain(self, head: str, relation: str | None, tail: str, *, k: int = 5, asked: Asked = "tail") -> Explanation:
        """The k most important paths behind a prediction; if it is a fact already, that fact is hidden first.

        ``asked`` says which question the prediction answers: (head, relation, ?) or (?, relation, tail).
        """
        return explain_named(self._predictor.members[0], head, relation, tail, k=k, asked=asked)

    def rules(
        self,
        relation: str | None = None,
        *,
        predictions: int = 50,
        k: int = 3,
        min_support: int = 1,
        sort: RuleOrder = "support",
        seed: int = 0,
    ) -> Rules:
        """The relation patterns that the network relies on for a relation, see ``rules_of``."""
        options: Any = {"predictions": predictions, "k": k, "min_support": min_support, "sort": sort, "seed": seed}
        return Rules(rules_of(self._predictor.members[0], relation, **options))

    def evaluate(
        self,
        split: Split = "test",
        *,
        queries: object | None = None,
        facts: object | None = None,
        baselines: bool = False,
        ties: TiePolicy = "realistic",
        filtered_by: Filter = "known",
        any_type: bool = False,
        sample: int | None = None,
        seed: int = 0,
        team: Team = ALONE,
    ) -> RankingResult | PairResult:
        """How well the links of a split rank; against the negatives that come with the dataset, if any do.

        Args:
            split: whose links are asked, on the facts that they were held out from.
            queries: links to ask instead, whatever ``nbfnet.read`` takes.
            facts: another graph to ask these on, whatever ``nbfnet.read`` takes.
            baselines: evaluate Katz index, PageRank, distance and relation frequency too.
            ties: where candidates with the answer's score stand.
            filtered_by: which answers are not negatives, see ``RankingProtocol``.
            any_type: rank entities of every type, also where types say that they cannot be the answer.
            sample: ask only so many links, drawn by the seed.
            seed: of the sample, and of a homogeneous graph's negative pairs.
            team: processes that share the work; each gets the result of all.
        """
        if facts is not None and queries is None:
            raise EvaluationError("--facts gives another graph: give the links to ask on it as well, with --queries")
        if queries is not None and split == "valid":
            raise EvaluationError("--queries takes the place of the run's own links: leave out --split valid")
        dataset = self.dataset if queries is None else links_to_ask(self.dataset, facts, queries)
        device, graph = device_of(self.config), facts_of(dataset, split)
        given = given_negatives(dataset, split)

        def measure(scorer: Scorer) -> RankingResult | PairResult:
            return evaluate_by_protocol(
                scorer,
                dataset,
                split,
                given,
                ties=ties,
                filtered_by=filtered_by,
                any_type=any_type,
                sample=sample,
                seed=seed,
                team=team,
            )

        result = measure(NetworkScorer(self.folder.network(self.dataset, device), graph.message_csr, device))
        if baselines:
            found = {name: measure(make(graph)).metrics for name, make in BASELINES.items()}
            result = dataclasses.replace(result, baselines=found)  # type: ignore[arg-type]
        return result

    @property
    def config(self) -> Config:
        """How it was trained."""
        return self.folder.config()

    @property
    def history(self) -> list[Validation]:
        """Every validation of the training: epoch, loss, valid metrics, seconds."""
        return read_log(self.folder.path)

    @cached_property
    def _predictor(self) -> Predictor:
        runs = [self.folder, *self.others]
        return make_predictor(self.graph, runs, [self.dataset, *(run.dataset() for run in self.others)])

    def _with_learned_relations(self, facts: object) -> Graph:
        learned = self.dataset.train
        graph = read_facts(facts, learned)
        return on_known_relations(graph, learned, graph.name)

    def __repr__(self) -> str:
        return f"<Run {str(self.folder.path)!r}: {self.dataset.name}, asked on {len(self.graph.triplets):,} facts>"


def train(
    source: object,
    folder: str | Path | None = None,
    *,
    config: str | Path | Mapping[str, Any] | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    types: Mapping[str, str] | str | Path | None = None,
    resume: bool = False,
    progress: bool | None = True,
    callback: Callable[[Validation], None] | None = None,
) -> Run:
    """Train a network on a graph, a dataset, or what names or holds one.

    Args:
        source: what to learn: a dataset's name, a path, or whatever ``nbfnet.read`` takes. It is split by the seed if
            it comes without a split.
        folder: the run folder to write; None makes one among the system's temporary files.
        config: a TOML file, or tables such as ``{"model": {"layers": 4}}``; the rest is chosen from the graph.
        epochs: how many, instead of the configuration's.
        seed: of everything random, instead of the configuration's.
        types: the type of each entity by name, or a file of them.
        resume: continue in the folder, from its last checkpoint.
        progress: show it on standard error; None leaves it as it is switched for the process.
        callback: is called with every validation.
    """
    if isinstance(config, str | Path):
        tables, origin = read_toml(Path(config)), str(config)
    else:
        tables, origin = dict(config or {}), "configuration"
    overrules = {"training": {k: v for k, v in (("epochs", epochs), ("seed", seed)) if v is not None}}
    drawn = make_config(tables, overrules, origin=origin).training.seed
    dataset = _dataset(source, types, drawn)
    if resume and folder is None:
        raise QueryError("resume=True needs the folder of the run")
    path = Path(tempfile.mkdtemp(prefix="nbfnet-")) / "run" if folder is None else Path(folder)
    if resume and path.exists():
        opened, chosen = go_on(path, dataset, tables, overrules)
    else:
        named = str(source) if isinstance(source, str | Path) else type(source).__name__
        opened, chosen = begin(path, dataset, tables, overrules, source=named)

    def listen(entry: Validation) -> None:
        if progress and callback is None:
            metrics = "  ".join(f"{name} {value:.4f}" for name, value in entry["valid"].items() if name != "mr")
            sys.stderr.write(f"epoch {entry['epoch']:.4g}  loss {entry['loss']:.4f}  {metrics}\n")
        if callback is not None:
            callback(entry)

    with nullcontext() if progress is None else progress_shown(progress):
        learn(opened, dataset, chosen, listener=listen)
        calibrate_run(opened, dataset)
    return Run.open(path)


def _dataset(source: object, types: Mapping[str, str] | str | Path | None, seed: int) -> Dataset:
    if isinstance(source, Graph | Dataset):
        if types is not None:
            raise QueryError("types belong to reading: give them to nbfnet.read or nbfnet.load")
        return split_source(source, seed=seed)
    if isinstance(source, str | Path):
        return load(source, seed=seed, types=types)
    return split_source(read(source, types=types), seed=seed)


def _require_name(role: str, name: object) -> None:
    if name is not None and not isinstance(name, str):
        raise QueryError(f"the {role} is {name!r}: give a name as text, for example {str(name)!r}")


def _queries(given: Any) -> list[tuple[str | None, str | None, str | None]]:
    """(head, relation, tail) of each query, None for what is asked."""
    if hasattr(given, "columns"):
        names = [str(name) for name in given.columns]
        unknown = sorted(set(names) - {"head", "relation", "tail"})
        if unknown or len(names) < 2:
            raise QueryError(f"queries have the columns head, relation and tail, not {', '.join(names)}")
        columns = [list(given[r]) if r in names else [None] * len(given) for r in ("head", "relation", "tail")]
        rows = list(zip(*columns, strict=True))
    else:
        rows = [tuple(row) for row in given]
    return [_query(number, row) for number, row in enumerate(rows, start=1)]


def _query(number: int, row: tuple[Any, ...]) -> tuple[str | None, str | None, str | None]:
    if len(row) == 2:
        row = (*row, None)
    if len(row) != 3:
        raise QueryError(f"query {number} has {len(row)} parts: give head, relation and tail, None for what is asked")
    is_asked = [part is None or part == QUESTION or (isinstance(part, float) and np.isnan(part)) for part in row]
    head, relation, tail = (None if asked else part for asked, part in zip(is_asked, row, strict=True))
    return head, relation, tail
