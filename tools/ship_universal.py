"""Put a pre-trained run into the package, as the network ``universal``: python tools/ship_universal.py RUN."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
from pathlib import Path

from nbfnet.training.run_folder import SHIPPED, RunFolder

FILES = ("model.safetensors", "log.jsonl")
_DATA = "data"  # of a run that belongs to no graph: an empty one


def main() -> None:
    """Copy what a run is asked with, without checkpoint, and with a command that can be read anywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    run = RunFolder.open(parser.parse_args().run)
    if not run.config().model.any_graph or run.manifest["metrics"] == {}:
        raise SystemExit(f"{run.path} is not a pre-trained network for any graph")
    shutil.rmtree(SHIPPED, ignore_errors=True)
    shutil.copytree(run.path / _DATA, SHIPPED / _DATA)
    for name in FILES:
        shutil.copyfile(run.path / name, SHIPPED / name)
    made_by = run.manifest["made_by"]
    words = shlex.split(made_by["command"])
    words = ["nbfnet", *(Path(word).name if Path(word).is_absolute() else word for word in words[1:])]
    manifest = run.manifest | {"made_by": made_by | {"command": shlex.join(words)}}
    (SHIPPED / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    size = sum(file.stat().st_size for file in SHIPPED.rglob("*") if file.is_file())
    print(f"{SHIPPED}: {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
