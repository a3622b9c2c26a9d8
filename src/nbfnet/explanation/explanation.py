"""Explanation: a prediction, how likely the network finds it, and the paths that made it think so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nbfnet.explanation.drawing.draw import draw_svg
from nbfnet.explanation.drawing.saving import save_explanation
from nbfnet.explanation.path import ExplainedPath, PathEdge, change_of_logit
from nbfnet.tables import data_frame, html_table

Asked = Literal["tail", "head"]
PathOrder = Literal["deletion", "weight"]
RuleOrder = Literal["support", "confidence", "lift"]


@dataclass(frozen=True, repr=False)
class Explanation:
    """The most important paths of a prediction (head, relation, tail): first the one that it relies on most.

    A prediction of a head answers the question (?, relation, tail): its query is an inverse edge, and its paths run
    from the tail to the head.
    """

    query: PathEdge
    probability: float
    paths: tuple[ExplainedPath, ...]
    joint_drop: float  # how much the logit falls when the facts of all paths are deleted together
    asked: Asked = "tail"

    @property
    def fact(self) -> str:
        """The prediction as a fact, from head to tail, whichever of them was asked for."""
        head, label, tail = self._labels
        return f"{head} {self._arrow(label)} {tail}"

    @property
    def question(self) -> str:
        """What the prediction answers, such as ``Paris -capital of-> ?``."""
        head, label, tail = self._labels
        return f"{head} {self._arrow(label)} ?" if self.asked == "tail" else f"? {self._arrow(label)} {tail}"

    @property
    def together(self) -> str:
        """What deleting all paths together does, in words; of a single path its own effect says it."""
        if len(self.paths) < 2:
            return ""
        which = "both paths" if len(self.paths) == 2 else f"all {len(self.paths)} paths"
        return f"{change_of_logit(self.joint_drop)} if {which} are deleted together"

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data, which is also its JSON."""
        return {
            "query": self.query.to_dict(),
            "asked": self.asked,
            "probability": self.probability,
            "joint_drop": self.joint_drop,
            "paths": [path.to_dict() for path in self.paths],
        }

    def to_pandas(self) -> Any:
        """A data frame with one row for each path: rank, drop, added_drop, weight, length and path.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        columns = ["rank", "drop", "added_drop", "weight", "length", "path"]
        rows = [
            (rank, path.deletion_drop, path.added_drop, path.weight, len(path.edges), str(path))
            for rank, path in enumerate(self.paths, start=1)
        ]
        return data_frame([dict(zip(columns, row, strict=True)) for row in rows], columns)

    def save(self, file: str | Path) -> None:
        """Write a picture or the data, as the file's ending says: .svg, .html, .png, .pdf or .json.

        Raises:
            ExplanationError: the name does not end in one of these.
            MissingExtraError: .png and .pdf need the extra ``pictures``.
        """
        save_explanation(self, Path(file))

    def lines(self) -> list[str]:
        """The explanation in words: the prediction, the question it answers, its paths, and all of them together."""
        lines = [f"{self.fact}   probability {self.probability:.1%}", f"  asked: {self.question}"]
        if not self.paths:
            lines.append("  no path leads there: the network judges by the two ends alone")
        lines += [f"  {path.effect}   {path}" for path in self.paths]
        if self.together:
            lines.append(f"  {self.together}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        paths = "1 path" if len(self.paths) == 1 else f"{len(self.paths)} paths"
        return f"<Explanation of {self.fact}: probability {self.probability:.1%}, {paths}>"

    def _repr_html_(self) -> str:
        rows = [
            (change_of_logit(path.deletion_drop), change_of_logit(path.added_drop), f"{path.weight:+.3f}", str(path))
            for path in self.paths
        ]
        titles = ("if deleted", "after those above", "weight", "path")
        return f"<div>{draw_svg(self)}{html_table('', titles, rows)}</div>"

    @property
    def _labels(self) -> tuple[str, str, str]:
        query = self.query
        head, tail = (query.end, query.start) if query.inverse else (query.start, query.end)
        return head, query.label, tail

    def _arrow(self, label: str) -> str:
        return f"-{label}->" if self.query.directed else f"-{label}-"
