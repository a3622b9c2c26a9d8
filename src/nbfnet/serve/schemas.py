"""What goes over the wire, as OpenAPI describes it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST_NAME = 1000  # characters


class Named(BaseModel):
    """A name, and what a person reads for it."""

    name: str
    label: str


class Entity(Named):
    """An entity of the graph."""

    type: str | None
    facts: int = Field(description="how many facts it has, both ways")


class Query(BaseModel):
    """The parts of a query that were given."""

    head: Entity | None = None
    relation: Named | None = None
    tail: Entity | None = None


class Answer(Named):
    """A candidate; a known fact is scored as if it were not known."""

    rank: int = Field(description="from 1, among the candidates that are not known")
    type: str | None
    probability: float | None
    score: float | None
    known: bool


class Prediction(BaseModel):
    """Ranked answers."""

    query: Query
    asked: Literal["head", "relation", "tail"]
    answers: list[Answer]
    more_known: int = Field(description="known facts that are not listed")
    what_if: bool = Field(description="whether the facts of a session were in force")
    command: str = Field(description="the same on the command line, without the facts of a session")


class Edge(BaseModel):
    """A fact; a path follows an inverse one from tail to head."""

    head: Entity
    relation: Named
    tail: Entity
    inverse: bool
    directed: bool


class PathEdge(Edge):
    """A fact of a path."""

    importance: float | None


class Path(BaseModel):
    """A path from the query's source to the answer; drops and weights are in units of the logit."""

    weight: float | None
    deletion_drop: float | None
    added_drop: float | None
    effect: str
    sentence: str
    pattern: str
    edges: list[PathEdge]


class PatternEdge(BaseModel):
    """A relation that a pattern follows."""

    relation: str
    inverse: bool
    directed: bool


class Pattern(BaseModel):
    """Paths over the same relations."""

    pattern: str
    edges: list[PatternEdge]
    paths: list[int]
    added_drop: float | None


class ExplanationDocument(BaseModel):
    """A prediction with the paths that it relies on most."""

    query: Edge
    asked: Literal["head", "tail"]
    known: bool
    probability: float | None
    joint_drop: float | None
    paths: list[Path]
    patterns: list[Pattern]
    what_if: bool
    command: str


class Entities(BaseModel):
    """Entities, the best first."""

    entities: list[Entity]


class Relation(Named):
    """A relation; of an entity, one way of asking it."""

    facts: int
    asked: Literal["head", "tail"] | None = None
    sensible: bool | None = Field(None, description="whether it makes sense to ask it of the entity")


class Relations(BaseModel):
    """Relations, those that make sense first."""

    relations: list[Relation]


class NeighbourFact(BaseModel):
    """A fact of an entity: its other end is the head or the tail."""

    relation: Named
    asked: Literal["head", "tail"]
    other: Entity


class Neighbours(BaseModel):
    """An entity and its facts."""

    entity: Entity
    facts: list[NeighbourFact]
    count: int


class FactGiven(BaseModel):
    """A fact by name."""

    model_config = ConfigDict(extra="forbid")
    head: str = Field(min_length=1, max_length=LONGEST_NAME)
    relation: str | None = Field(None, min_length=1, max_length=LONGEST_NAME)
    tail: str = Field(min_length=1, max_length=LONGEST_NAME)


class FactsGiven(BaseModel):
    """Facts that a session adds and removes; one that it had added or removed before is taken back."""

    model_config = ConfigDict(extra="forbid")
    add: list[FactGiven] = Field([], max_length=100)
    remove: list[FactGiven] = Field([], max_length=100)


class Fact(BaseModel):
    """A fact."""

    head: Entity
    relation: Named
    tail: Entity


class SessionFacts(BaseModel):
    """The facts of a session."""

    session: str | None
    added: list[Fact]
    removed: list[Fact]


class Health(BaseModel):
    """That the server lives, and what it serves."""

    status: Literal["ok"]
    version: str
    graph: str
    kind: str
    entities: int
    relations: int
    facts: int
    token: bool = Field(description="whether the other paths ask for a token")


class Fault(BaseModel):
    """What was wrong."""

    kind: str
    message: str
    role: str | None = None
    suggestions: list[str] | None = None
    details: list[dict[str, Any]] | None = None


class Failure(BaseModel):
    """Every response that is not 2xx."""

    error: Fault
