"""``nbfnet paths``: the nodes closest to a source by a classical method, and the best path to one of them."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from nbfnet.cli.options import Json, Reading, Source, reads_source
from nbfnet.cli.output import print_json, print_table, print_text, print_title
from nbfnet.cli.sources import open_graph
from nbfnet.errors import PathError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.progress import stage
from nbfnet.semiring.catalog import METHODS, path_method
from nbfnet.semiring.edge_selection import EdgeSelection
from nbfnet.semiring.named import Step, closest_nodes, path
from nbfnet.semiring.semiring import PLUS_TIMES

_Repeated = "May be repeated."


@reads_source("directed", "types", "test_graph")
def paths(
    source: Source,
    method: Annotated[str, typer.Option(metavar="METHOD", help=f"One of {', '.join(METHODS)}.")],
    start: Annotated[list[str], typer.Option("--from", metavar="NODE", help=f"The source. {_Repeated}")],
    to: Annotated[
        str | None, typer.Option(metavar="NODE", help="Show only this node, and the best path to it.")
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="NUMBER", min=1, help="How many nodes to show.")] = 10,
    beta: Annotated[float | None, typer.Option(metavar="NUMBER", help="Katz index: the damping of each step.")] = None,
    alpha: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="PageRank: the probability that a walk continues. 0.85 if not given."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="RELATION", help=f"Follow only this relation. {_Repeated}")
    ] = None,
    inverse: Annotated[
        list[str] | None,
        typer.Option(metavar="RELATION", help=f"Follow this relation only from tail to head. {_Repeated}"),
    ] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Follow facts only from head to tail.")] = False,
    weight: Annotated[
        list[str] | None, typer.Option(metavar="RELATION=NUMBER", help=f"The weight of a relation's facts. {_Repeated}")
    ] = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Find the nodes closest to a node by a classical method.

    Katz index, personalized PageRank, graph distance, widest path and most reliable path, over every fact of the
    graph, in both directions. Of a dataset, only the training facts are used.
    """
    path_method(method)
    parameters = _parameters(method, beta, alpha)
    opened = open_graph(source, reading)
    graph = opened.train if isinstance(opened, Dataset) else opened
    selection = _selection(graph, only or [], inverse or [], directed, _weights(weight or []))
    documents = []
    with stage(f"{METHODS[method].title} from {len(start)} nodes") as progress:
        for done, node in enumerate(start, start=1):
            documents.append(_answer(graph, method, node, to, k, selection, parameters))
            progress(done / len(start))
    if json:
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    for document in documents:
        _print_answer(graph, document)


def _answer(
    graph: Graph,
    method: str,
    start: str,
    to: str | None,
    k: int,
    selection: EdgeSelection,
    parameters: dict[str, float],
) -> dict[str, Any]:
    """The JSON document of one source."""
    scores = closest_nodes(graph, method, start, k=None if to else k, selection=selection, **parameters)
    best = None
    if to is not None:
        wanted = graph.entities[graph.entities.find(to)]
        scores = [score for score in scores if score.node == wanted]
        if METHODS[method].semiring is not PLUS_TIMES:
            best = path(graph, method, start, to, selection=selection)
    return {
        "method": method,
        "from": graph.entities[graph.entities.find(start)],
        "scores": [{"node": score.node, "score": _finite(score.score)} for score in scores],
        "path": None if best is None else [step._asdict() for step in best.steps],
    }


def _print_answer(graph: Graph, document: dict[str, Any]) -> None:
    print_title(f"{METHODS[document['method']].title} from {_label(graph, document['from'])}")
    if document["path"] == []:
        print_text("  it is the node itself, at the end of the path of no edge")
    elif not document["scores"]:
        print_text("  no path leads there")
    else:
        print_table([(_shown(row["score"]), _label(graph, row["node"])) for row in document["scores"]])
    for fact in document["path"] or []:
        step = Step(**fact)
        head, tail = _label(graph, step.head), _label(graph, step.tail)
        relation = graph.relations.label(graph.relations.id(step.relation))
        print_text(f"  {tail} <-{relation}- {head}" if step.inverse else f"  {head} -{relation}-> {tail}")


def _label(graph: Graph, name: str) -> str:
    return graph.entities.label(graph.entities.id(name))


def _shown(score: float | None) -> str:
    return "unlimited" if score is None else f"{score:.6g}"


def _finite(score: float) -> float | None:
    """JSON has no infinity: an unlimited width is null."""
    return score if math.isfinite(score) else None


def _parameters(method: str, beta: float | None, alpha: float | None) -> dict[str, float]:
    given = {name: value for name, value in (("beta", beta), ("alpha", alpha)) if value is not None}
    for name in given:
        owner = next(known.name for known in METHODS.values() if known.parameter == name)
        if method != owner:
            raise PathError(f"--{name} belongs to the method {owner!r}, not to {method!r}: leave it out")
    return given


def _weights(stated: list[str]) -> dict[str, float]:
    weights = {}
    for text in stated:
        relation, equals, number = text.rpartition("=")
        try:
            weights[relation] = float(number)
        except ValueError:
            equals = ""
        if not (relation and equals):
            raise PathError(f"--weight {text!r}: write RELATION=NUMBER, for example --weight 'borders=2'")
    return weights


def _selection(
    graph: Graph, only: list[str], inverse: list[str], directed: bool, weights: dict[str, float]
) -> EdgeSelection:
    if not (only or inverse or directed):
        return EdgeSelection(weights=weights)
    backwards = [graph.relations[graph.relations.find(name)] for name in inverse]
    followed = [graph.relations[graph.relations.find(name)] for name in only] or list(graph.relations)
    along = [name for name in followed if name not in backwards]
    return EdgeSelection(along, [*([] if directed else along), *backwards], weights)
