"""The learning curves of a run, as a picture."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from nbfnet.errors import MissingExtraError
from nbfnet.graph.atomic import replacing
from nbfnet.training.log import read_log

FILE = "curves.png"


def require_matplotlib() -> None:
    """Say before hours of work that the picture cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("a picture of the learning curves", "matplotlib", "plot")


def curves_of(log: Sequence[Mapping[str, Any]]) -> Any:
    """The loss and the metrics of every validation, as a matplotlib figure."""
    require_matplotlib()
    from matplotlib.figure import Figure

    class Curves(Figure):
        def _repr_png_(self) -> bytes:  # a notebook shows it without pyplot
            drawn = BytesIO()
            self.savefig(drawn, format="png")
            return drawn.getvalue()

    figure = Curves(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([entry["epoch"] for entry in log], [entry["loss"] for entry in log], marker="o", markersize=3)
    left.set(title="loss", xlabel="epoch")
    for name in ("mrr", "hits@1", "hits@10", "auroc", "ap"):
        points = [(entry["epoch"], entry["valid"][name]) for entry in log if name in entry["valid"]]
        if points:
            right.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
    right.set(title="validation", xlabel="epoch")
    if right.lines:
        right.legend()
    return figure


def draw_curves(folder: Path) -> Path:
    """Draw the learning curves of a run folder into it."""
    figure = curves_of(read_log(folder))
    with replacing(folder / FILE) as partial:
        figure.savefig(partial, format="png", dpi=150)
    return folder / FILE
