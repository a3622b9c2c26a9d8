"""``nbfnet demo``: the embedded graph of countries and cities, asked without training, then learned and asked again."""

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
    from nbfnet.run import Run

    Asked = tuple[Answers, str, Explanation]  # with the held-out answer, and why the first one

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the run and the drawing go.")]
Open = Annotated[bool, typer.Option("--open", help="Then serve the run, and open its page in a browser.")]
# Small enough for two cores and a minute: shorter paths, fewer epochs than the paper's.
QUICK = {"model": {"layers": 3, "edges": "dependent"}, "training": {"epochs": 6, "validation_sample": 300}}
_ASKED = ("in country", "time zone", "capital", "near", "borders")
_TESTED = 300  # links


def demo(output: Output = Path("nbfnet-demo"), json: Json = False, open_: Open = False) -> None:
    """Ask, learn and explain a graph of countries and cities.

    First the network for any graph, which comes with nbfnet, answers without training. Then one is trained on this
    graph, which takes about a minute on two cores; a second call uses it again.
    """
    from nbfnet.graph.loading import load
    from nbfnet.run import Run
    from nbfnet.training.run_folder import UNIVERSAL

    world = load("world")
    links = _held_out_links(world)
    path = output / "run"
    if not json:
        _print_graph(world)
    for_any_graph = Run.open(UNIVERSAL).on(world.train)
    untrained = _ask(for_any_graph, links[0])
    if not json:
        print_title("Without training, by the network for any graph")
        _print_answers(*untrained)
        print_text()
        report_note("training a network of its own, with the best of six epochs kept ...")
    Run.resume(path, world, *([] if path.exists() else [QUICK]), source="world").train(listener=report_validation)
    run = Run.open(path, train_only=True)  # so that held-out links are still to be found
    result = run.evaluate(sample=_TESTED, baselines=True)
    zero_shot = for_any_graph.evaluate(facts=world, sample=_TESTED)
    metrics = {"trained network": result.metrics.to_dict(), "without training": zero_shot.metrics.to_dict()}
    metrics |= {name: found.to_dict() for name, found in result.baselines.items()}
    answered = [_ask(run, link) for link in links]
    drawing = output / "explanation.html"
    answered[0][2].save(drawing)
    if json:
        predictions = [{**a.to_dict(), "held_out": t, "explanation": e.to_dict()} for a, t, e in (untrained, *answered)]
        document = {"run": str(path), "metrics": metrics, "without_training": predictions[0]}
        print_json({**document, "predictions": predictions[1:], "drawing": str(drawing)})
    else:
        _print_metrics(metrics)
        for answers, tail, explanation in answered:
            print_text()
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


def _ask(run: Run, link: tuple[str, str, str]) -> Asked:
    head, relation, tail = link
    answers = run.predict(head, relation, k=3, exclude_known=True)
    return answers, tail, run.explain(head, relation, answers[0].name)


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
    print_title(f"{answers.head} -{answers.relation}-> ?")
    for answer in answers:
        right = "  (held out: this is right)" if answer.name == held_out else ""
        print_text(f"  {answer.probability:4.0%}  {answer.label}{right}")
    for path in explanation.paths[:1]:
        print_text(f"  {answers[0].label}, because")
        print_text(f"    {path}")


def _print_next(run: Path, drawing: Path, first: Asked) -> None:
    query = first[2].query
    print_text()
    print_text(f"A drawing of the first answer's paths: {drawing}")
    print_text()
    print_title("Try next")
    print_text(f"  {shlex.join(['nbfnet', 'predict', str(run), '--head', 'France', '--relation', 'borders'])}")
    print_text(f"  {shlex.join(['nbfnet', 'explain', str(run), query.head, query.relation, query.tail])}")
    print_text("  nbfnet train your-own-file.tsv -o my-run")
