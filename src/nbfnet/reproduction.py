"""Reproducing a published result: one run for each seed, and their mean beside the paper's numbers."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from nbfnet.config import Config, Publication
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import ConfigError
from nbfnet.run import Run
from nbfnet.training.defaults import total_memory
from nbfnet.training.fine_tuning import SCRATCH
from nbfnet.training.loop import Listener


@dataclass(frozen=True)
class Reproduction:
    """An experiment file, with the folder that its runs are in."""

    name: str
    config: Config
    runs: Path

    @property
    def publication(self) -> Publication:
        """What is reproduced.

        Raises:
            ConfigError: the file says nothing of it.
        """
        if self.config.experiment is None:
            raise ConfigError(f"{self.name}: it has no table [experiment] with the published result; see experiments/")
        return self.config.experiment

    def run(
        self,
        *,
        listener: Listener | None = None,
        epochs: int | None = None,
        stop_after: float | None = None,
        team: Team = ALONE,
    ) -> dict[str, Any]:
        """Train what is not trained yet, evaluate, and compare: the document of ``results/``.

        Args:
            listener: hears of every validation.
            epochs: fewer or more than the experiment names.
            stop_after: how many hours each run is trained at most; a later call resumes it.
            team: processes that share the work; each gets the document.
        """
        seeds = [self._run_seed(seed, epochs, listener, stop_after, team) for seed in self.publication.seeds]
        configs = [seed.pop("config") for seed in seeds]
        names = list(seeds[0]["metrics"])
        mean = {name: float(np.mean([seed["metrics"][name] for seed in seeds])) for name in names}
        return {
            "experiment": self.name,
            "table": self.publication.table,
            "source": self.publication.source,
            "paper": self.publication.paper,
            "note": self.publication.note,
            "mean": mean,
            "seeds": seeds,
            "config": configs[0],
            "machine": describe_machine(),
            "commit": this_commit(),
        }

    def _run_seed(
        self, seed: int, epochs: int | None, listener: Listener | None, stop_after: float | None, team: Team
    ) -> dict[str, Any]:
        """One run, begun or resumed, and its test result."""
        published = self.publication
        configured = self.config.model_dump(
            mode="json", include={"model", "training", "experiment"}, exclude_unset=True
        )
        overrules = {"training": {"seed": seed, **({} if epochs is None else {"epochs": epochs})}}
        run = Run.resume(
            self.runs / f"{self.name}-seed{seed}",
            published.source,
            configured,
            overrules,
            paper_split=published.paper_split,
            start_from=published.start or SCRATCH,
            team=team,
        )
        run.train(listener=listener, stop_after=stop_after, team=team)
        result = run.evaluate(filtered_by=published.filtered_by, ties=published.ties, team=team).to_dict()
        log, best = run.history, run.folder.manifest["metrics"]
        return {
            "seed": seed,
            "config": run.config.model_dump(mode="json", exclude={"experiment"}),
            "split": run.dataset.split,
            "protocol": result["protocol"],
            "ties": result["ties"],
            **{key: result[key] for key in ("drawn_negatives",) if key in result},
            "metrics": result["metrics"],
            "by_category": result["by_category"],
            "epochs": max((entry["epoch"] for entry in log), default=0),
            "best_epoch": best.get("epoch", 0),
            "valid": best.get("valid", {}),
            "training_seconds": log[-1]["training_seconds"] if log else 0.0,
            "validation_seconds": sum(entry["validation_seconds"] for entry in log),
            "evaluation_seconds": result["seconds"],
            "curve": [{"epoch": entry["epoch"], "loss": entry["loss"], **entry["valid"]} for entry in log],
        }


def describe_machine() -> dict[str, Any]:
    """What a result was computed on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(total_memory() / 1e9),
        "python": platform.python_version(),
        "torch": version("torch"),
        "nbfnet": version("nbfnet"),
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def this_commit() -> str | None:
    """The commit that was run, if it was run from this project's repository; '+' where files had changed."""
    file = Path(__file__)
    git = partial(subprocess.run, cwd=file.parent, capture_output=True, text=True, check=True)
    try:
        git(["git", "ls-files", "--error-unmatch", file.name])  # a user's repository may surround the installed package
        return git(["git", "describe", "--always", "--dirty=+", "--abbrev=12"]).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None
