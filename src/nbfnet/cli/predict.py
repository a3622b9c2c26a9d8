"""``nbfnet predict``: named answers from a trained network."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from nbfnet.cli.options import Facts, Json, MoreFacts
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.errors import QueryError
from nbfnet.graph.graph import Graph
from nbfnet.graph.reading.dialect import is_blank
from nbfnet.graph.reading.opening import numbered_lines
from nbfnet.graph.reading.read import check_is_file
from nbfnet.prediction.answer_file import check_format, parse_shard, write_answers
from nbfnet.prediction.answers import QUESTION, Answers
from nbfnet.prediction.asking import Wanted, ask
from nbfnet.prediction.loading import open_predictor
from nbfnet.prediction.predictor import Predictor
from nbfnet.prediction.query_file import read_queries

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="Run folders, which 'nbfnet train' wrote; several answer together."),
]
Head = Annotated[str | None, typer.Option("--head", metavar="NAME", help="Who is asked about.")]
Relation = Annotated[str | None, typer.Option("--relation", metavar="NAME", help="What is asked.")]
Tail = Annotated[str | None, typer.Option("--tail", metavar="NAME", help="The other end, if the head is asked.")]
Count = Annotated[int, typer.Option("-k", metavar="NUMBER", min=1, help="How many answers.")]
ExcludeKnown = Annotated[
    bool, typer.Option("--exclude-known", help="Leave out facts of the graph it is asked on; held-out links are none.")
]
CandidateType = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Only entities of this type. May be repeated.")
]
Candidates = Annotated[Path | None, typer.Option(metavar="FILE", help="Only these entities, one name a line.")]
Queries = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file of queries: triplets with ? for what is asked. Needs -o.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where answers go: .csv, .parquet or .jsonl.")
]
Shard = Annotated[str | None, typer.Option(metavar="I/N", help="Answer only part i of n of the file.")]


def predict(
    runs: Runs,
    head: Head = None,
    relation: Relation = None,
    tail: Tail = None,
    count: Count = 10,
    exclude_known: ExcludeKnown = False,
    type_: CandidateType = None,
    candidates: Candidates = None,
    facts: Facts = None,
    more_facts: MoreFacts = None,
    queries: Queries = None,
    output: Output = None,
    shard: Shard = None,
    json: Json = False,
) -> None:
    """Name the best answers to a query.

    A query is (head, relation, ?), (?, relation, tail) or (head, ?, tail): leave out what is asked.

    On other facts nothing is trained again: entities may be new, relations not. A file of queries that was
    interrupted is gone on with.
    """
    listed = None if candidates is None else tuple(_read_names(candidates))
    wanted = Wanted(count, exclude_known, tuple(type_ or ()), listed)
    if queries is not None:
        if head or relation or tail or output is None:
            raise QueryError("--queries FILE asks all that is in the file: give -o FILE too, and no query of your own")
        check_format(output)
    elif output is not None or shard is not None:
        raise QueryError("-o and --shard are for a file of queries: give --queries FILE")
    predictor = open_predictor(runs, facts, more_facts)
    if queries is not None and output is not None:
        _answer_file(
            predictor, queries, output, wanted, shard, _identity(runs, facts, more_facts, queries, wanted), json
        )
        return
    answers = ask(predictor, head, relation, tail, wanted)
    print_json(answers.document()) if json else _print(answers, predictor.graph)


def _answer_file(
    predictor: Predictor, queries: Path, output: Path, wanted: Wanted, shard: str | None, identity: str, json: bool
) -> None:
    asked = list(enumerate(read_queries(queries, predictor.graph), start=1))
    for number, query in asked if wanted.restricts_entities else ():
        if query.relation is None:
            raise QueryError(f"query {number} asks for a relation, and types and candidates restrict entities")
    part = asked[parse_shard(shard, len(asked))]
    before = write_answers(
        output,
        part,
        lambda query: ask(predictor, query.head, query.relation, query.tail, wanted),
        f"{identity} {shard}",
    )
    if before:
        report_note(f"{before:,} queries had been answered before")
    if json:
        print_json({"output": str(output), "queries": len(part), "answered_before": before})
    else:
        print_text(f"{output}: the answers to {len(part):,} queries")


def _identity(runs: list[Path], facts: Path | None, more_facts: Path | None, queries: Path, wanted: Wanted) -> str:
    """Of everything that answers depend on."""
    digest = hashlib.blake2b(repr(wanted).encode(), digest_size=16)
    of_runs = [run / name for run in runs for name in ("manifest.json", "model.safetensors")]
    for file in [*of_runs, facts, more_facts, queries]:
        digest.update(b"-" if file is None else hashlib.blake2b(file.read_bytes()).digest())
    return digest.hexdigest()


def _read_names(file: Path) -> list[str]:
    check_is_file(file)
    return [line for _, line in numbered_lines(file) if not is_blank(line)]


def _print(answers: Answers, graph: Graph) -> None:
    given = answers.query()
    labels = {
        role: (graph.relations if role == "relation" else graph.entities).label(
            (graph.relations if role == "relation" else graph.entities).id(name)
        )
        for role, name in given.items()
    }
    print_title(" ".join(f"{labels.get(role, QUESTION)}" for role in ("head", "relation", "tail")))
    rows = [
        (answer.rank, f"{answer.probability:.1%}", "known" if answer.known else "", answer.label) for answer in answers
    ]
    if rows:
        print_table(rows, ("", "probability", "", answers.asked))
    else:
        print_text("nothing is left: every candidate is a fact already")
