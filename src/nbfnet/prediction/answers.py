"""Answers to a query, by name: what is printed, written and shown in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from nbfnet.tables import data_frame, html_table

QUESTION = "?"  # stands for what is asked


@dataclass(frozen=True)
class Answer:
    """One candidate, with the probability that it is right.

    A known fact is scored as if it were not known: its rank and its probability are those of a prediction.
    """

    rank: int  # from 1, among the candidates that are not known
    name: str
    label: str  # what a person reads instead of the name; often the same
    probability: float
    known: bool  # whether the graph has it as a fact already
    score: float = 0.0  # the logit; of several networks together, the mean of their probabilities


@dataclass(frozen=True, repr=False)
class Answers(Sequence[Answer]):
    """The best answers to (head, relation, ?), (?, relation, tail) or (head, ?, tail); None is what was asked.

    They are ordered by score. Known facts are listed too, whatever their rank, up to as many as answers were asked for.
    """

    head: str | None
    relation: str | None
    tail: str | None
    answers: tuple[Answer, ...]
    more_known: int = 0  # known facts that are not listed

    @property
    def asked(self) -> str:
        """Which part was asked: 'head', 'relation' or 'tail'."""
        return "head" if self.head is None else "relation" if self.relation is None else "tail"

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, index: int | slice) -> Answer | tuple[Answer, ...]:
        return self.answers[index]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def query(self) -> dict[str, str]:
        """The parts that were given."""
        parts = {"head": self.head, "relation": self.relation, "tail": self.tail}
        return {role: name for role, name in parts.items() if name is not None}

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``nbfnet predict``; a label is there only where it is not the name itself."""
        return {
            "query": self.query(),
            "asked": self.asked,
            "answers": [
                {
                    "rank": answer.rank,
                    self.asked: answer.name,
                    **({"label": answer.label} if answer.label != answer.name else {}),
                    "probability": answer.probability,
                    "score": answer.score,
                    "known": answer.known,
                }
                for answer in self.answers
            ],
            "more_known": self.more_known,
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row for each answer, with the query: what a file of answers holds."""
        given = {"head": self.head, "relation": self.relation, "tail": self.tail, "asked": self.asked}
        return [
            {
                **given,
                "rank": answer.rank,
                "answer": answer.name,
                "label": answer.label,
                "probability": answer.probability,
                "score": answer.score,
                "known": answer.known,
            }
            for answer in self.answers
        ]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return data_frame(self.rows())

    def __str__(self) -> str:
        lines = [
            f"{'' if answer.known else answer.rank:>3}  {answer.probability:6.1%}  "
            f"{'known' if answer.known else '     '}  {answer.label}"
            for answer in self.answers
        ]
        return "\n".join([self._title(), *lines])

    def __repr__(self) -> str:
        return f"<Answers {self}>"

    def _repr_html_(self) -> str:
        rows = [
            ("" if a.known else a.rank, a.label, f"{a.probability:.1%}", "known" if a.known else "")
            for a in self.answers
        ]
        return html_table(self._title(), ("", "answer", "probability", ""), rows)

    def _title(self) -> str:
        parts = (self.head, self.relation, self.tail)
        return f"({', '.join(QUESTION if part is None else part for part in parts)})"


class ScoredLink(NamedTuple):
    """A link with the probability that it holds; a known one is scored as if it were not known."""

    head: str
    relation: str
    tail: str
    probability: float
    score: float
    known: bool


class ScoredLinks(list[ScoredLink]):
    """Links with their probabilities; of missing links, also how they were found."""

    def __init__(self, links: Iterable[ScoredLink] = (), how: dict[str, Any] | None = None) -> None:
        super().__init__(links)
        self.how = how or {}

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"links": [link._asdict() for link in self], **self.how}

    def to_pandas(self) -> Any:
        """One row for each link."""
        return data_frame([link._asdict() for link in self], columns=ScoredLink._fields)

    def __repr__(self) -> str:
        lines = [f"{link.probability:6.1%}  {link.head} -{link.relation}-> {link.tail}" for link in self]
        return "\n".join([f"<{len(self)} scored {'link' if len(self) == 1 else 'links'}>", *lines])

    def _repr_html_(self) -> str:
        rows = [(f"{x.probability:.1%}", x.head, x.relation, x.tail, "known" if x.known else "") for x in self]
        return html_table(f"{len(self)} scored links", ("probability", "head", "relation", "tail", ""), rows)


class AnswersOfMany(list[Answers]):
    """The answers to several queries, in their order."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"queries": [answers.to_dict() for answers in self]}

    def to_pandas(self) -> Any:
        """All rows as one pandas DataFrame; the column ``query`` counts from 1."""
        rows = [{"query": number, **row} for number, answers in enumerate(self, start=1) for row in answers.rows()]
        return data_frame(rows)

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(answers._repr_html_() for answers in self)
