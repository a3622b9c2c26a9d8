"""The paper's table of path interpretations: the two paths of most weight behind three predictions on FB15k-237.

    python benchmarks/interpretations.py [RUN] [--json results/interpretations.json]

RUN is a run folder of FB15k-237, or ``universal``, the network for any graph that comes with nbfnet. The paths are
those of the training facts, in the order of the paper's weight, the sum of the importances of their edges.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from machine import machine_facts
from nbfnet import load
from nbfnet.run import Run

VACATIONER = "/base/popstra/location/vacationers./base/popstra/vacation_choice/vacationer"
# The paper's names of the three queries, and the identifiers of Freebase: all of them are test links.
QUERIES = {
    "O. Hardy, nationality, U.S.": ("/m/0lh0c", "/people/person/nationality", "/m/09c7w0"),
    "Florence, vacationer, D.C. Henrie": ("/m/031y2", VACATIONER, "/m/0dxmyh"),
    "Pearl Harbor (film), language, Japanese": ("/m/0pc62", "/film/film/language", "/m/03_9r"),
}


def main() -> None:
    """Explain the three queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path, default=Path("universal"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    run = Run.open(arguments.run).on(load("fb15k-237").train)
    found = {name: explain(run, *query) for name, query in QUERIES.items()}
    print(json.dumps(found, indent=2, ensure_ascii=False))
    if arguments.json is not None:
        network = {"name": arguments.run.name, "metrics": run.folder.manifest["metrics"]}
        document = {"interpretations": found, "network": network, "machine": machine_facts()}
        arguments.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def explain(run: Run, head: str, relation: str, tail: str) -> dict[str, Any]:
    """The rank of the answer among what is not a training fact, and the two paths of most weight."""
    explanation = run.explain(head, relation, tail, k=2, order="weight")
    answers = run.predict(head, relation, k=run.graph.num_nodes)
    rank = next(answer.rank for answer in answers if answer.name == tail)
    paths = [{"weight": path.weight, "drop": path.deletion_drop, "path": str(path)} for path in explanation.paths]
    return {"fact": explanation.fact, "rank": rank, "paths": paths}


if __name__ == "__main__":
    main()
