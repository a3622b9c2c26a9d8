"""Run: a trained network with its graph, asked by name. The front door for Python users and for the commands."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from nbfnet.config import Config, Table, configured, make_config, stated
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError, QueryError
from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.drawn_candidates import SampledScorer, evaluate_drawn
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.filtering import Filter, Split, TiePolicy, facts_of
from nbfnet.evaluation.metrics import DRAWN
from nbfnet.evaluation.result import PairResult, RankingResult
from nbfnet.evaluation.scorer import MeanScorer, NetworkScorer, Scorer
from nbfnet.explanation.explainer import explain_named
from nbfnet.explanation.explanation import Asked, Explanation, PathOrder, RuleOrder
from nbfnet.explanation.learned_rules import LearnedOrder, LearnedRules, learned_rules
from nbfnet.explanation.rules import Rules, rules_of
from nbfnet.graph.datasets.given import given_negatives, given_tails
from nbfnet.graph.extension import with_facts
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load
from nbfnet.model.ultra import read_ultra
from nbfnet.prediction.answers import Answers, AnswersOfMany, ScoredLink, ScoredLinks
from nbfnet.prediction.asking import Wanted, ask, queries_of
from nbfnet.prediction.members import calibrate_run, make_predictor
from nbfnet.prediction.missing_links import missing_links
from nbfnet.prediction.new_facts import links_to_ask, new_graph
from nbfnet.prediction.predictor import Predictor
from nbfnet.progress import progress_shown, write_line
from nbfnet.training.defaults import Choice
from nbfnet.training.fine_tuning import SCRATCH
from nbfnet.training.log import Entry, curves_of, describe_entry, read_log
from nbfnet.training.loop import Listener
from nbfnet.training.loop import train as learn
from nbfnet.training.memory_estimate import check_memory, require_whole
from nbfnet.training.pretraining import begin_pretraining, resume_pretraining
from nbfnet.training.run_folder import UNIVERSAL, RunFolder
from nbfnet.training.start import begin, check_device, device_of, resume, stated_config


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """Run folders that were opened, and the graph that they are asked on."""

    folder: RunFolder
    config: Config  # how it is trained
    dataset: Dataset  # what it learned from
    asked_on: Graph | None = None  # another graph than that of every known fact
    others: tuple[RunFolder, ...] = ()  # runs that answer together with it
    choices: tuple[Choice, ...] = ()  # of a run that was just begun: what was chosen from the graph, and why

    @classmethod
    def open(cls, folder: str | Path, *others: str | Path, train_only: bool = False) -> Self:
        """Open a run folder, which ``train`` wrote; several answer together, by the mean of their probabilities.

        It is asked on all facts that it knows: train, valid and test. ``train_only`` leaves out valid and test links.
        """
        opened = RunFolder.open(Path(folder))
        dataset = opened.dataset()
        together = tuple(RunFolder.open(Path(other)) for other in others)
        return cls(opened, opened.config(), dataset, dataset.train if train_only else None, together)

    @classmethod
    def import_ultra(cls, file: str | Path, folder: str | Path, **origin: str) -> Self:
        """A run of ULTRA's published weights, a file of safetensors: for any graph, so ask it ``on`` one.

        Args:
            file: the weights.
            folder: the run folder to write; it must not exist yet.
            origin: notes for the manifest, such as the command.

        Raises:
            WeightsError: the file is not one of these.
        """
        network = read_ultra(Path(file))
        config = make_config({"model": network.config.model_dump(mode="json")})
        RunFolder.create(Path(folder), Dataset.nothing(f"{Path(file).stem} (ULTRA)"), config, network, **origin)
        return cls.open(folder)

    @classmethod
    def begin(
        cls,
        folder: str | Path,
        source: object,
        /,
        *tables: Table,
        types: Mapping[str, str] | str | Path | None = None,
        paper_split: bool = False,
        start_from: str | Path | None = None,
        team: Team = ALONE,
        **origin: str,
    ) -> Self:
        """A new run folder, with a network that is not trained yet.

        Args:
            folder: it must not exist yet.
            source: what to learn, whatever ``nbfnet.load`` takes; a graph that comes without a split is split by the
                seed.
            tables: the configuration, later ones overrule earlier ones; the rest is chosen from the graph.
            types: the type of each entity by name, or a file of them.
            paper_split: split a homogeneous graph as the paper did.
            start_from: a run whose network is trained further, such as a pre-trained one; 'scratch' begins with random
                parameters, None leaves that to the graph.
            team: processes that share the work; its leader makes the folder.
            origin: notes for the manifest, such as the command.
        """
        if start_from is not None and str(start_from) != SCRATCH:
            RunFolder.open(Path(start_from))  # before the graph is read, which may take long
        dataset = _load(source, stated_config(None, *tables), types, paper_split)
        made, config, choices = begin(Path(folder), dataset, *tables, start_from=start_from, team=team, **origin)
        return cls(made, config, dataset, choices=tuple(choices))

    @classmethod
    def pretrain(
        cls,
        folder: str | Path,
        sources: Sequence[object],
        /,
        *tables: Table,
        held_out: Sequence[object] = (),
        resume: bool = False,
        listener: Listener | None = None,
        team: Team = ALONE,
        **origin: str,
    ) -> Self:
        """Train a network on several graphs together: for any graph, so ask it ``on`` one.

        Args:
            folder: the run folder to write; it must not exist yet, unless the training resumes.
            sources: the graphs, each whatever ``nbfnet.load`` takes.
            tables: the configuration, later ones overrule earlier ones and ``PRETRAINING``.
            held_out: graphs to validate and calibrate on instead, which are not learned from.
            resume: continue from the folder's last checkpoint, if there is one.
            listener: is called with every validation.
            team: processes that share the work.
            origin: notes for the manifest, such as the command.
        """
        path, exists = Path(folder), Path(folder).exists()
        team.wait()  # all must have looked before the leader makes the folder
        if not sources:
            raise QueryError("pre-training needs at least one graph")
        datasets, others = ([load(source) for source in given] for given in (sources, held_out))
        if resume and exists:
            opened, config = resume_pretraining(path, datasets, others, *tables)
        else:
            opened, config = begin_pretraining(path, datasets, others, *tables, team=team, **origin)
        learn(opened, datasets, config, held_out=others, team=team, listener=listener)
        if team.leads:
            calibrate_run(opened, *(others or datasets))
        team.wait()
        return cls.open(path)

    @classmethod
    def resume(cls, folder: str | Path, source: object, /, *tables: Table, team: Team = ALONE, **options: Any) -> Self:
        """A run folder whose training continues from its last checkpoint; one that does not exist yet is begun.

        Arguments are those of ``begin``. The source must be the same; the tables may change only what does not change
        the steps taken so far.
        """
        path, exists = Path(folder), Path(folder).exists()
        team.wait()  # all must have looked before the leader makes the folder
        if not exists:
            return cls.begin(path, source, *tables, team=team, **options)
        options.pop("start_from", None)  # it has begun, and its checkpoint is what it resumes from
        dataset = _load(source, stated_config(path, *tables), **options)
        opened, config = resume(path, dataset, *tables)
        return cls(opened, config, dataset)

    def train(self, *, listener: Listener | None = None, team: Team = ALONE, stop_after: float | None = None) -> Self:
        """Train as configured, from where the last checkpoint is, and calibrate the probabilities.

        Args:
            listener: is called with every validation.
            team: processes that share the work.
            stop_after: stop after the first validation past so many hours of training in all; a resumed run
                continues. The configuration's ``training.hours`` is a budget that the training is planned for.
        """
        if not self.dataset.train.num_nodes:
            raise QueryError(
                f"{self.folder.name}: this network is for any graph; train it on one with start_from (Run.begin), or "
                "continue its pre-training with Run.pretrain(..., resume=True)"
            )
        learn(self.folder, self.dataset, self.config, team=team, listener=listener, stop_after=stop_after)
        if team.leads:
            calibrate_run(self.folder, self.dataset)
        team.wait()  # the others read what the leader has written
        self.__dict__.pop("predictor", None)  # it has the network from before
        return self

    def on(self, facts: object) -> Self:
        """The same network on another graph; nothing is trained again.

        Its entities may be new. Its relations may be new only for a network for any graph.
        ``facts`` is whatever ``nbfnet.read`` takes, or a folder, or the name of a dataset.
        """
        return dataclasses.replace(self, asked_on=self._new_graph(facts))

    def with_facts(self, facts: object) -> Self:
        """The same network on its graph with more facts, which may have new entities."""
        return dataclasses.replace(
            self, asked_on=with_facts(self.graph, self._new_graph(facts), any_relation=self.relational)
        )

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
            k: how many new answers; known facts are listed as well.
            exclude_known: leave out the facts of the graph.
            any_type: also entities of types that the relation does not have on that side.
            seen: only entities that some fact of the relation has in that place.
            types: only entities of these types.
            candidates: only these entities.
        """
        listed = None if candidates is None else tuple(candidates)
        return self.ask(head, relation, tail, Wanted(k, exclude_known, any_type, seen, tuple(types), listed))

    def ask(self, head: str | None, relation: str | None, tail: str | None, wanted: Wanted) -> Answers:
        """As ``predict``, with its options as one object."""
        return ask(self.predictor, head, relation, tail, wanted)

    def predict_many(self, queries: Any, **options: Any) -> AnswersOfMany:
        """The answers to many queries, with the options of ``predict``.

        ``queries`` is a list of (head, relation, tail) with None or '?' for what is asked, or a DataFrame with columns
        head, relation and tail, of which the asked one may be missing.
        """
        return AnswersOfMany(self.predict(*query, **options) for query in queries_of(queries))

    def missing_links(
        self, k: int = 100, *, relation: str | None = None, minutes: float = 2.0, any_type: bool = False, seed: int = 0
    ) -> ScoredLinks:
        """The k most probable links that the graph does not have, of one relation or of all.

        Candidates come from paths, and as many as the time allows are scored; in a small graph, all.
        """
        require_whole(self.graph, self.config, "searching")
        asked = None if relation is None else self.graph.relations.find(relation)
        found = missing_links(self.predictor, k, relation=asked, seconds=60 * minutes, any_type=any_type, seed=seed)
        return found.named(self.graph)

    def score(self, links: Iterable[Sequence[str]]) -> ScoredLinks:
        """How likely links (head, relation, tail) are; of a homogeneous graph, (node, node)."""
        entities, relations = self.graph.entities, self.graph.relations
        scored = ScoredLinks()
        for link in links:
            head, relation, tail = link if len(link) == 3 else (link[0], relations[0], link[-1])
            u, q, v = entities.find(head), relations.find(relation), entities.find(tail)
            score, probability = self.predictor.score_as_new(u, q, v)
            known = self.predictor.is_known(u, q, v)
            scored.append(ScoredLink(entities[u], relations[q], entities[v], probability, score, known))
        return scored

    def explain(
        self,
        head: str,
        relation: str | None,
        tail: str,
        *,
        k: int = 5,
        asked: Asked = "tail",
        beam: int = 32,
        order: PathOrder = "deletion",
    ) -> Explanation:
        """The k most important paths behind a prediction; if it is a fact already, that fact is hidden first.

        ``asked`` says which question the prediction answers: (head, relation, ?) or (?, relation, tail). ``beam`` is
        how many partial paths the search keeps at each node. The order is by what deleting a path does, or by its
        weight, the sum of its edges' importances, which is the paper's definition.
        """
        require_whole(self.graph, self.config, "explaining on")
        member = self.predictor.members[0]
        return explain_named(member, head, relation, tail, asked=asked, k=k, beam=beam, order=order)

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
        """The relation patterns that the network relies on for a relation.

        Args:
            relation: a name; None is the only relation of a homogeneous graph.
            predictions: how many facts to explain, drawn by the seed.
            k: how many paths of each fact count.
            min_support: leave out rules that are among the paths of fewer predictions.
            sort: what comes first: the greatest support, confidence or lift.
            seed: of everything random.
        """
        require_whole(self.graph, self.config, "explaining on")
        member = self.predictor.members[0]
        return rules_of(member, relation, predictions=predictions, k=k, min_support=min_support, sort=sort, seed=seed)

    def learned_rules(
        self,
        relation: str | None = None,
        *,
        most: int | None = 30,
        asked: Asked = "tail",
        min_support: int = 1,
        sort: LearnedOrder = "weight",
        trivial: bool = False,
        seed: int = 0,
    ) -> LearnedRules:
        """The rules that a network of the kind drum or neurallp has learned for a relation, with their weights.

        Args:
            relation: a name; None is the only relation of a homogeneous graph.
            most: so many of the greatest weight; None gives all that the search finds.
            asked: which question they answer: (head, relation, ?) or (?, relation, tail).
            min_support: leave out rules whose walks connect fewer facts; 0 also lists those that lead to none.
            sort: what comes first: the greatest weight, support or confidence.
            trivial: also the rules that say x = y or that repeat the query.
            seed: of the paths that are counted where there are too many.
        """
        return learned_rules(
            self.predictor.members[0],
            relation,
            most=most,
            asked=asked,
            min_support=min_support,
            sort=sort,
            trivial=trivial,
            seed=seed,
        )

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
        drawn: int = DRAWN,
        sample: int | None = None,
        seed: int = 0,
        team: Team = ALONE,
    ) -> RankingResult | PairResult:
        """How well the links of a split rank; against the negatives that come with the dataset, if any do.

        Several runs, opened together, score by the mean of their probabilities.

        Args:
            split: whose links are asked, on the facts that they were held out from.
            queries: links to ask instead, whatever ``nbfnet.read`` takes.
            facts: another graph to ask these on, whatever ``nbfnet.read`` takes. A network for any graph needs
                no links of yours: it is asked the split of what ``nbfnet.load`` makes of the facts.
            baselines: evaluate Katz index, PageRank, distance and relation frequency too.
            ties: how candidates with the same score as the answer count.
            filtered_by: which answers are not negatives, see ``RankingProtocol``.
            any_type: rank entities of every type, also where types say that they cannot be the answer.
            drawn: how many negatives HITS@10 of 50 is against: 50 as the paper says, or GraIL's 49.
            sample: ask only so many links, drawn by the seed.
            seed: of the sample, and of a homogeneous graph's negative pairs.
            team: processes that share the work; each gets the result of all.
        """
        dataset = self._dataset_to_ask(split, queries, facts)
        device, graph = device_of(self.config), facts_of(dataset, split)
        how: Any = {"ties": ties, "sample": sample, "seed": seed, "team": team}
        sampling = self.config.sampling
        if sampling.hops is not None:
            if baselines:
                raise EvaluationError("--baselines (baselines=) needs the whole graph, and this run samples it")
            if self.others:
                raise EvaluationError("this run samples its graph, so it is evaluated alone: give one run")
            trained = SampledScorer(self.folder.network(self.dataset, device), graph, sampling, device)
            tails = given_tails(dataset, split)
            return evaluate_drawn(trained, dataset, split, sampling.candidates, given_tails=tails, **how)
        check_memory(graph, self.config, "evaluating on")
        networks = [folder.network(self.dataset, device) for folder in self._folders_of_one_graph()]
        scored = [NetworkScorer(network, graph.message_csr, device) for network in networks]
        scorers: dict[str, Scorer] = {
            "this network": scored[0] if len(scored) == 1 else MeanScorer(scored),
            **({name: make(graph) for name, make in BASELINES.items()} if baselines else {}),
        }
        how |= {"filtered_by": filtered_by, "any_type": any_type, "drawn": drawn}
        how |= {"negatives": given_negatives(dataset, split)}
        result, *others = [evaluate(scorer, dataset, split, **how) for scorer in scorers.values()]
        found = dict(zip(list(scorers)[1:], (other.metrics for other in others), strict=True))
        return dataclasses.replace(result, baselines=found)  # type: ignore[arg-type]

    def _folders_of_one_graph(self) -> list[RunFolder]:
        """The run folders, which must have learned from the same graph to be evaluated together."""
        learned = self.folder.manifest["dataset"]["fingerprint"]
        for other in self.others:
            if other.manifest["dataset"]["fingerprint"] != learned:
                raise EvaluationError(
                    f"{other.path} did not learn from the same graph and split as {self.folder.path}: only such runs "
                    "can be evaluated together"
                )
        return [self.folder, *self.others]

    @property
    def graph(self) -> Graph:
        """What it is asked on: every known fact, unless another graph was given.

        A run that samples its graph is asked on the training facts, whose rows its store has.
        """
        if self.asked_on is not None:
            return self.asked_on
        self._require_graph()
        if self.config.sampling.hops is not None:
            return self.dataset.train
        return self.dataset.known_graph

    @property
    def relational(self) -> bool:
        """Whether it takes any graph, whatever its relations."""
        return self.config.model.any_graph

    def _new_graph(self, facts: object) -> Graph:
        return new_graph(facts, self.dataset.train, any_relation=self.relational)

    def _require_graph(self) -> None:
        if not self.dataset.train.num_nodes:
            raise QueryError(
                f"{self.folder.name}: this network is for any graph and has none of its own; "
                "say which to ask with --facts (Run.on in Python)"
            )

    def _dataset_to_ask(self, split: Split, queries: object | None, facts: object | None) -> Dataset:
        """The links to evaluate, and the facts to ask them on."""
        if queries is not None and split == "valid":
            raise EvaluationError("--queries (queries=) replaces the run's own links: leave out --split valid")
        if facts is None:
            self._require_graph()
        if queries is not None:
            return links_to_ask(self.dataset, facts, queries, any_relation=self.relational)
        if facts is None:
            return self.dataset
        if not self.relational:
            raise EvaluationError("--facts (facts=) needs links to evaluate as well: give --queries (queries=)")
        return load(str(facts) if isinstance(facts, Path) else facts)

    @property
    def history(self) -> list[Entry]:
        """Every validation of the training: epoch, loss, valid metrics, seconds."""
        return read_log(self.folder.path)

    def learning_curve(self) -> Any:
        """The loss and the validation metrics over the epochs, as a matplotlib figure.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return curves_of(self.history)

    @cached_property
    def predictor(self) -> Predictor:
        """The networks on the graph that is asked, with their calibrations."""
        runs = [self.folder, *self.others]
        return make_predictor(self.graph, runs, [self.dataset, *(run.dataset() for run in self.others)])

    def __repr__(self) -> str:
        return f"<Run {str(self.folder.path)!r}: {self.dataset.name}, asked on {len(self.graph.triplets):,} facts>"


def universal(graph: object) -> Run:
    """The network for any graph that comes with nbfnet, on a graph: whatever ``Run.on`` takes."""
    return Run.open(UNIVERSAL).on(graph)


def train(
    source: object,
    folder: str | Path | None = None,
    *,
    config: str | Path | Table | None = None,
    epochs: int | None = None,
    hours: float | None = None,
    seed: int | None = None,
    types: Mapping[str, str] | str | Path | None = None,
    start_from: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = True,
    callback: Listener | None = None,
) -> Run:
    """Train a network on a graph, a dataset, or what names or holds one.

    Args:
        source: what to learn: a dataset's name, a path, or whatever ``nbfnet.read`` takes. It is split by the seed if
            it comes without a split.
        folder: the run folder to write; None makes one among the system's temporary files.
        config: a TOML file, or tables such as ``{"model": {"layers": 4}}``; the rest is chosen from the graph.
        epochs: how many, instead of the configuration's.
        hours: a budget of time instead of epochs: steps, decay and validations are planned for it.
        seed: of everything random, instead of the configuration's.
        types: the type of each entity by name, or a file of them.
        start_from: a run whose network is trained further, such as a pre-trained one; 'scratch' begins with random
            parameters, None leaves that to the graph.
        resume: continue from the folder's last checkpoint, if there is one.
        progress: show it, in a terminal or a notebook; None leaves it as it is switched for the process.
        callback: is called with every validation.
    """
    if resume and folder is None:
        raise QueryError("resume=True needs the folder of the run")
    tables = [
        *configured(config),
        stated("training", epochs=epochs, hours=None if hours is None else float(hours), seed=seed),
    ]
    path = Path(tempfile.mkdtemp(prefix="nbfnet-")) / "run" if folder is None else Path(folder)
    named = str(source) if isinstance(source, str | Path) else type(source).__name__
    start = Run.resume if resume else Run.begin
    with nullcontext() if progress is None else progress_shown(progress):
        run = start(path, source, *tables, types=types, start_from=start_from, source=named)
        run.train(listener=callback or (_write_entry if progress else None))
    return Run.open(path)


def _load(
    source: object,
    config: Config,
    /,
    types: Mapping[str, str] | str | Path | None = None,
    paper_split: bool = False,
    **origin: str,
) -> Dataset:
    """What to learn, once it is known that the device is there: reading may take long."""
    check_device(config.training.device)
    options: dict[str, Any] = {} if types is None else {"types": types}
    return load(source, seed=config.training.seed, paper_split=paper_split, **options)


def _write_entry(entry: Entry) -> None:
    write_line(describe_entry(entry))
