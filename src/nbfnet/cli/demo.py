"""``nbfnet demo``: the embedded graph of countries and cities, learned, asked and explained."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nbfnet.cli.options import Json
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.cli.serve import serve
from nbfnet.cli.train import report_validation

if TYPE_CHECKING:
    from nbfnet.explanation.explanation import Explanation
    from nbfnet.graph.graph import Dataset
    from nbfnet.prediction.answers import Answers

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the run and the drawing go.")]
Open = Annotated[bool, typer.Option("--open", help="Then serve the run, and open its page in a browser.")]
# Small enough for two cores and a minute: shorter paths, fewer epochs than the paper's.
QUICK = {"model": {"layers": 3, "edges": "dependent"}, "training": {"epochs": 6, "validation_sample": 300}}
_ASKED = ("in country", "time zone", "capital", "near", "borders")
_TESTED = 300  # links


def demo(output: Output = Path("nbfnet-demo"), json: Json = False, open_: Open = False) -> None:
    """Learn, ask and explain a graph of countries and cities.

    Takes about a minute on two cores. A second call uses the network that the first one trained.
    """
    from nbfnet.graph.loading import load
    from nbfnet.run import Run

    world = load("world")
    path = output / "run"
    if not json:
        _print_graph(world)
    Run.resume(path, world, *([] if path.exists() else [QUICK]), source="world").train(listener=report_validation)
    run = Run.open(path, train_only=True)  # so that held-out links are still to be found
    result = run.evaluate(sample=_TESTED, baselines=True)
    metrics = {"this network": result.metrics.to_dict()}
    metrics |= {name: found.to_dict() for name, found in result.baselines.items()}
    answered: list[tuple[Answers, str, Explanation]] = []
    for head, relation, tail in _held_out_links(world):
        answers = run.predict(head, relation, k=3, exclude_known=True)
        answered.append((answers, tail, run.explain(head, relation, answers[0].name)))
    drawing = output / "explanation.html"
    answered[0][2].save(drawing)
    if json:
        predictions = [{**a.to_dict(), "held_out": t, "explanation": e.to_dict()} for a, t, e in answered]
        print_json({"run": str(path), "metrics": metrics, "predictions": predictions, "drawing": str(drawing)})
    else:
        _print_metrics(metrics)
        for answers, tail, explanation in answered:
            _print_answers(answers, tail, explanation)
        _print_next(path, drawing, answered[0])
    if open_:
        serve(path, open_=True)


def _print_graph(world: Dataset) -> None:
    import numpy as np

    graph = world.train
    print_title("The graph")
    print_text(f"{graph.num_nodes:,} cities, countries, languages, currencies, time zones and continents.")
    print_text(f"{len(graph.triplets):,} facts to learn from; {len(world.test):,} are held out for the test.")
    facts = graph.triplets.take(np.random.default_rng(1).choice(len(graph.triplets), size=4, replace=False))
    for u, q, v in zip(facts.head.tolist(), facts.relation.tolist(), facts.tail.tolist(), strict=True):
        print_text(f"  {graph.entities.label(u)} -{graph.relations.label(q)}-> {graph.entities.label(v)}")
    print_text()
    report_note("learning it, with the best network of six epochs kept ...")


def _held_out_links(world: Dataset) -> list[tuple[str, str, str]]:
    """One test link of each relation, the same every time."""
    import numpy as np

    graph, test = world.train, world.test
    chosen = []
    for name in _ASKED:
        of_relation = np.flatnonzero(test.relation == graph.relations.id(name))
        i = int(np.random.default_rng(0).choice(of_relation))
        chosen.append((graph.entities[int(test.head[i])], name, graph.entities[int(test.tail[i])]))
    return chosen


def _print_metrics(metrics: dict[str, Any]) -> None:
    print_text()
    print_title("The test: where the right answer ranks among the entities that can be it")
    names = ("mrr", "hits@1", "hits@3", "hits@10")
    print_table([(who, *(f"{values[name]:.3f}" for name in names)) for who, values in metrics.items()], ("", *names))


def _print_answers(answers: Answers, held_out: str, explanation: Explanation) -> None:
    print_text()
    print_title(f"{answers.head} -{answers.relation}-> ?")
    for answer in answers:
        right = "  (held out: this is right)" if answer.name == held_out else ""
        print_text(f"  {answer.probability:4.0%}  {answer.label}{right}")
    for path in explanation.paths[:1]:
        print_text(f"  {answers[0].label}, because")
        print_text(f"    {path}")


def _print_next(run: Path, drawing: Path, first: tuple[Answers, str, Explanation]) -> None:
    query = first[2].query
    print_text()
    print_text(f"A drawing of the first answer's paths: {drawing}")
    print_text()
    print_title("Try next")
    print_text(f"  {shlex.join(['nbfnet', 'predict', str(run), '--head', 'France', '--relation', 'borders'])}")
    print_text(f"  {shlex.join(['nbfnet', 'explain', str(run), query.head, query.relation, query.tail])}")
    print_text("  nbfnet train your-own-file.tsv -o my-run")
