"""How fast text files become an indexed graph: beside PyKEEN, and on ten million triplets.

NBFNET_DATA=... python benchmarks/reading.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nbfnet.graph.reading.folders import read_folder
from nbfnet.graph.reading.read import read


def main() -> None:
    """Measure, print a table, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a million triplets instead of ten")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        _read_and_report(arguments.read)
        return
    rows = []
    if "NBFNET_DATA" in os.environ:
        rows += _beside_pykeen(Path(os.environ["NBFNET_DATA"]) / "fb15k-237")
    else:
        print("NBFNET_DATA is not set: FB15k-237 is left out")
    rows.append(_large_file(1_000_000 if arguments.quick else 10_000_000))
    for row in rows:
        print("  ".join(f"{key}: {value}" for key, value in row.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


def _beside_pykeen(folder: Path) -> list[dict[str, object]]:
    """FB15k-237: three text files to ids and CSR, the best of five runs each, in turn."""
    seconds = _best(lambda: read_folder(folder, "fb").train.csr)
    ours: dict[str, object] = {"what": "FB15k-237, text to CSR, nbfnet", "seconds": seconds}
    try:
        from pykeen.triples import TriplesFactory
    except ImportError:
        print("PyKEEN is not installed: pip install '.[test]'")
        return [ours]

    def theirs() -> None:
        train = TriplesFactory.from_path(folder / "train.txt")
        for part in ("valid", "test"):
            file = folder / f"{part}.txt"
            TriplesFactory.from_path(file, entity_to_id=train.entity_to_id, relation_to_id=train.relation_to_id)

    peer_seconds = _best(theirs)
    peer: dict[str, object] = {"what": "FB15k-237, text to ids, PyKEEN TriplesFactory", "seconds": peer_seconds}
    return [ours, peer, {"what": "nbfnet is faster by", "ratio": round(peer_seconds / seconds, 2)}]


def _large_file(triplets: int) -> dict[str, object]:
    """A generated file with a million entities of very unequal degree, read in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tsv"
        _generate(path, triplets)
        command = [sys.executable, __file__, "--read", str(path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        size = path.stat().st_size
    return {"what": f"{triplets:,} generated triplets ({size / 1e6:.0f} MB)", **json.loads(output)}


def _generate(path: Path, triplets: int) -> None:
    random = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(triplets // 1_000_000):
            heads = (random.pareto(1.0, 1_000_000) * 1000).astype(np.int64) % 1_000_000
            tails = random.integers(0, 1_000_000, 1_000_000)
            relations = random.integers(0, 200, 1_000_000)
            rows = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
            stream.writelines(f"entity/{h}\trelation {r}\tentity/{t}\n" for h, r, t in rows)


def _read_and_report(path: Path) -> None:
    begin = time.perf_counter()
    graph = read(path)
    graph.csr  # noqa: B018
    seconds = time.perf_counter() - begin
    # The peak of this program alone: what getrusage gives includes the program that started it.
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e6
    print(json.dumps({"seconds": round(seconds, 2), "peak_gb": round(peak, 2), "entities": graph.num_nodes}))


def _best(work: Callable[[], object], runs: int = 5) -> float:
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return round(min(seconds), 3)


if __name__ == "__main__":
    main()
