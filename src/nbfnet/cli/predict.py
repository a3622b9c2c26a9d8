"""``nbfnet predict``: named answers from a trained network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nbfnet.cli.options import (
    Engine,
    Facts,
    Json,
    MoreFacts,
    RayAddress,
    RayWorkerCount,
    TrainOnly,
    WorkerThreads,
    anywhere,
    ray_workers,
)
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.cli.sources import open_run

if TYPE_CHECKING:
    from nbfnet.explanation.explanation import Asked
    from nbfnet.graph.graph import Graph
    from nbfnet.prediction.answer_parts import AnswerParts, Part
    from nbfnet.prediction.answers import Answers
    from nbfnet.prediction.asking import Wanted
    from nbfnet.prediction.query_file import Query
    from nbfnet.ray_workers import RayWorkers
    from nbfnet.run import Run

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="Run folders, which 'nbfnet train' wrote; several answer together."),
]
Head = Annotated[str | None, typer.Option("--head", metavar="NAME", help="The head of the query.")]
Relation = Annotated[str | None, typer.Option("--relation", metavar="NAME", help="The relation of the query.")]
Tail = Annotated[str | None, typer.Option("--tail", metavar="NAME", help="The tail of the query.")]
Count = Annotated[
    int, typer.Option("-k", metavar="NUMBER", min=1, help="How many new answers; known ones are listed as well.")
]
ExcludeKnown = Annotated[bool, typer.Option("--exclude-known", help="Leave out the facts of the graph.")]
AnyType = Annotated[
    bool, typer.Option("--any-type", help="Also entities of types that the relation does not have on that side.")
]
Seen = Annotated[bool, typer.Option("--seen", help="Only entities that some fact of the relation has on that side.")]
CandidateType = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Only entities of this type. May be repeated.")
]
Candidates = Annotated[Path | None, typer.Option(metavar="FILE", help="Only these entities, one name per line.")]
Queries = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file of queries: triplets with ? for what is asked. Needs -o.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the answers to .csv, .parquet or .jsonl; with --engine ray, a folder of Parquet parts.",
    ),
]
Reasons = Annotated[bool, typer.Option("--reasons", help="Add the most important path to each answer; takes longer.")]
All = Annotated[
    bool, typer.Option("--all", help="List the best missing links of the whole graph, or of one --relation.")
]
Minutes = Annotated[
    float, typer.Option(metavar="NUMBER", min=0.01, help="How long to look for missing links, with --all.")
]
Shard = Annotated[str | None, typer.Option(metavar="I/N", help="Answer only part i of n of the file.")]


def predict(
    runs: Runs,
    head: Head = None,
    relation: Relation = None,
    tail: Tail = None,
    count: Count = 10,
    all_: All = False,
    minutes: Minutes = 2.0,
    exclude_known: ExcludeKnown = False,
    any_type: AnyType = False,
    seen: Seen = False,
    type_: CandidateType = None,
    candidates: Candidates = None,
    reasons: Reasons = False,
    facts: Facts = None,
    more_facts: MoreFacts = None,
    train_only: TrainOnly = False,
    queries: Queries = None,
    output: Output = None,
    shard: Shard = None,
    engine: Engine = "local",
    workers: RayWorkerCount = None,
    threads: WorkerThreads = None,
    address: RayAddress = None,
    json: Json = False,
) -> None:
    """Name the best answers to a query.

    A query is (head, relation, ?), (?, relation, tail) or (head, ?, tail): leave out what you ask for. It is answered
    with all facts that the run knows: train, valid and test. A known fact is marked, and scored as if it were not
    known. Where entities have types, answers have a type that the relation has on that side.

    With --all there is no query: the most probable links that the graph does not have are listed.

    With other facts nothing is trained again: entities may be new, relations may not. An interrupted file of queries
    is resumed by the same command. With --engine ray the workers of a cluster share a file of queries: -o is a folder,
    which is complete when it has a manifest.json.
    """
    from nbfnet.errors import QueryError
    from nbfnet.prediction.answer_file import check_format, parse_shard, write_answers
    from nbfnet.prediction.asking import Wanted
    from nbfnet.prediction.query_file import Query, read_candidates, read_queries

    if all_ and (head or tail or queries or candidates or seen or type_):
        raise QueryError("--all looks at the whole graph, or at one --relation: give no other part of a query")
    if queries is not None and (head or relation or tail or output is None):
        raise QueryError("--queries FILE asks all that is in the file: give -o FILE too, and no query of your own")
    if queries is None and shard is not None:
        raise QueryError("--shard is for a file of queries: give --queries FILE")
    if engine == "ray" and queries is None:
        raise QueryError("--engine ray is for a file of queries: give --queries FILE and -o FOLDER")
    cluster = ray_workers(engine, workers, threads, address)
    if output is not None and cluster is None:
        check_format(output)
    run = open_run(runs, facts, more_facts, train_only=train_only)
    if all_:
        _list_missing(run, relation, count, minutes, any_type, reasons, output, json)
        return
    listed = None if candidates is None else read_candidates(candidates, run.graph)
    wanted = Wanted(count, exclude_known, any_type, seen, tuple(type_ or ()), listed)
    asked = [(1, Query(head, relation, tail))]
    if queries is not None:
        asked = list(enumerate(read_queries(queries, run.graph), start=1))
        for number, query in asked if wanted.restricts_entities else ():
            if query.relation is None:
                raise QueryError(f"query {number} asks for a relation; --type, --candidates and --seen choose entities")
    if output is None:
        answers = run.ask(head, relation, tail, wanted)
        rows = _rows(run, answers, reasons)
        print_json(_document(answers, rows)) if json else _print(answers, rows, run.graph)
        return

    part = asked[parse_shard(shard, len(asked))]
    identity = _identity([*runs, facts, more_facts, queries], wanted, asked[0], reasons, train_only, shard)
    if cluster is None:
        answer = partial(_answer, run, wanted, reasons)
        before = write_answers(output, part, answer, identity, reasons=reasons)
    else:
        sources = tuple(map(anywhere, runs)), facts and anywhere(facts), more_facts and anywhere(more_facts)
        asking = _Asking(*sources, train_only, wanted, reasons)
        before = _answer_on_ray(cluster, asking, output, part, identity)
    if before:
        report_note(f"resumed: {before:,} {'query was' if before == 1 else 'queries were'} answered before")
    if json:
        print_json({"output": str(output), "queries": len(part), "answered_before": before})
    else:
        print_text(f"{output}: the answers to {len(part):,} {'query' if len(part) == 1 else 'queries'}")


def _answer(run: Run, wanted: Wanted, reasons: bool, query: Query) -> list[dict[str, Any]]:
    """The rows of a query's answers."""
    return _rows(run, run.ask(query.head, query.relation, query.tail, wanted), reasons)


@dataclass(frozen=True)
class _Asking:
    """All that another process needs to answer the same queries in the same way."""

    runs: tuple[Path, ...]
    facts: Path | None
    more_facts: Path | None
    train_only: bool
    wanted: Wanted
    reasons: bool

    def open(self, parts: AnswerParts) -> Callable[[Part], int]:
        """In a worker: open the run once, and write the answers of one part after the other."""
        run = open_run(self.runs, self.facts, self.more_facts, train_only=self.train_only)
        answer = partial(_answer, run, self.wanted, self.reasons)

        def write(part: Part) -> int:
            parts.write(part, answer)
            return len(part.queries)

        return write


def _answer_on_ray(
    cluster: RayWorkers, asking: _Asking, folder: Path, queries: Sequence[tuple[int, Query]], identity: str
) -> int:
    """Answer queries into a folder of parts; returns how many had been answered before."""
    from nbfnet.prediction.answer_parts import AnswerParts, split_queries
    from nbfnet.progress import stage

    parts = AnswerParts.of(folder.absolute(), queries, identity, reasons=asking.reasons)
    with parts.alone(), stage(f"answering {len(queries):,} queries") as report:
        every = split_queries(queries)
        missing = parts.missing(every)
        before = done = len(queries) - sum(len(part.queries) for part in missing)
        for answered in cluster.map(partial(asking.open, parts), missing):
            done += answered
            report(done / len(queries))
        parts.finish(every)
    return before


def _list_missing(
    run: Run,
    relation: str | None,
    count: int,
    minutes: float,
    any_type: bool,
    reasons: bool,
    output: Path | None,
    json: bool,
) -> None:
    from nbfnet.prediction.answer_file import write_links

    found = run.missing_links(count, relation=relation, minutes=minutes, any_type=any_type)
    rows: list[dict[str, Any]] = [{"rank": rank, **link._asdict()} for rank, link in enumerate(found, start=1)]
    for row in rows:
        del row["known"]
        if reasons:
            row["reason"] = _reason(run, row["head"], row["relation"], row["tail"], "tail")
    if output is not None:
        write_links(output, rows, reasons=reasons)
    how = found.how
    if json:
        print_json({"links": rows, **how, **({} if output is None else {"output": str(output)})})
        return
    if output is not None:
        print_text(f"{output}: {len(rows):,} missing {'link' if len(rows) == 1 else 'links'}")
    else:
        _print_links(rows, run.graph)
    looked = f"{how['scored']:,} {'pairs' if how['exhaustive'] else 'candidates from paths'} scored"
    more = "" if how["complete"] else "; there was no time for all of them, --minutes gives more"
    report_note(f"{looked} in {how['seconds']:.0f} s{more}")


def _print_links(rows: list[dict[str, Any]], graph: Graph) -> None:
    if not rows:
        print_text("none: no path suggests a link that is not a fact already")
        return
    entities, relations = graph.entities, graph.relations
    cells = [
        (
            row["rank"],
            f"{row['probability']:.1%}",
            entities.label(entities.id(row["head"])),
            relations.label(relations.id(row["relation"])),
            entities.label(entities.id(row["tail"])),
            *([row["reason"] or "no path leads there"] if "reason" in row else []),
        )
        for row in rows
    ]
    columns = ("", "probability", "head", "relation", "tail", *(["because"] if "reason" in rows[0] else []))
    print_table(cells, columns)


def _reason(run: Run, head: str, relation: str, tail: str, asked: Asked) -> str | None:
    """The most important path behind a link, in words."""
    paths = run.explain(head, relation, tail, asked=asked, k=1).paths
    return str(paths[0]) if paths else None


def _rows(run: Run, answers: Answers, reasons: bool) -> list[dict[str, Any]]:
    """The rows of a query's answers, with the most important path of each if reasons are wanted."""
    rows = answers.rows()
    for row in rows if reasons else ():
        link = {**{role: row[role] for role in ("head", "relation", "tail")}, answers.asked: row["answer"]}
        row["reason"] = _reason(run, **link, asked="head" if answers.asked == "head" else "tail")
    return rows


def _document(answers: Answers, rows: list[dict[str, Any]]) -> dict[str, Any]:
    document = answers.to_dict()
    for answer, row in zip(document["answers"], rows, strict=True):
        answer |= {"reason": row["reason"]} if "reason" in row else {}
    return document


def _identity(sources: Sequence[Path | None], *wishes: object) -> str:
    """Of everything that answers depend on: runs, files and folders of facts and queries, and what is wanted."""
    from nbfnet.training.run_folder import MANIFEST, MODEL, located

    digest = hashlib.blake2b(repr(wishes).encode(), digest_size=16)
    for source in (None if given is None else located(given) for given in sources):
        files = [] if source is None else [source]
        if source is not None and source.is_dir():
            is_run = (source / MANIFEST).exists()
            files = [source / MANIFEST, source / MODEL] if is_run else sorted(filter(Path.is_file, source.rglob("*")))
        # A dataset that is named as facts is known by its name.
        content = [hashlib.blake2b(file.read_bytes() if file.exists() else bytes(file)).digest() for file in files]
        digest.update(b"".join(content) or b"-")
    return digest.hexdigest()


def _print(answers: Answers, rows: list[dict[str, Any]], graph: Graph) -> None:
    given = answers.query()
    labels = {
        role: (graph.relations if role == "relation" else graph.entities).label(
            (graph.relations if role == "relation" else graph.entities).id(name)
        )
        for role, name in given.items()
    }
    print_title(" ".join(f"{labels.get(role, '?')}" for role in ("head", "relation", "tail")))
    if not rows:
        print_text("nothing is left: every candidate is a fact already")
        return
    cells = [
        (
            "" if row["known"] else row["rank"],
            f"{row['probability']:.1%}",
            "known" if row["known"] else "",
            row["label"],
        )
        + ((row["reason"] or "no path leads there",) if "reason" in row else ())
        for row in rows
    ]
    print_table(cells, ("", "probability", "", answers.asked, *(["because"] if "reason" in rows[0] else [])))
    if any(row["known"] for row in rows):
        more = f"; {answers.more_known:,} more are not listed" if answers.more_known else ""
        report_note(f"known: a fact of the graph already, scored as if it were not known{more}")
    if answers.asked == "head":
        report_note("to explain a head: nbfnet explain ... --asked head")
