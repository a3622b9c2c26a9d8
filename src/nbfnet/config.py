"""Typed, frozen configurations, read from TOML; an unknown key is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nbfnet.errors import ConfigError, closest
from nbfnet.regular_files import is_special

Table = Mapping[str, Any]  # of a configuration, such as {"model": {"layers": 4}}
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Temperature = Annotated[float, Field(ge=1e-6, allow_inf_nan=False)]  # scores are divided by it, in single precision
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1, lt=2**31)]
CountOrZero = Annotated[int, Field(ge=0, lt=2**31)]
_DEEPEST = 10  # tables within tables; a configuration has two
Seed = Annotated[int, Field(ge=0, lt=2**63)]  # what PyTorch's generator takes


_OF_RULES = ("rank", "lstm")
_OF_NETWORKS = (
    *("dim", "message", "aggregate", "edges", "inverse_edges", "layer_norm", "shortcut", "hidden", "learned_zero"),
)


class _Frozen(BaseModel):
    # Strict: true is not a number, and neither is "4". Docstrings of the keys are their descriptions, see docs/.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class ModelConfig(_Frozen):
    """The design space of a Neural Bellman-Ford Network."""

    kind: Literal["nbfnet", "drum", "neurallp"] = "nbfnet"
    """The network: the paper's, or logic rules whose weights an LSTM learns, DRUM or NeuralLP. Logic rules have the
    keys layers, rank, lstm, symmetric and frontier, and no other."""
    dim: Count = 32
    """d, the size of every representation."""
    layers: Annotated[int, Field(ge=1, le=100)] = 6
    """T, the number of Bellman-Ford iterations: how many edges a path can have."""
    message: str = "distmult"
    """MESSAGE: transe, distmult, rotate, or a registered one of your own."""
    aggregate: str = "pna"
    """AGGREGATE: sum, mean, max, min, pna, or a registered one of your own."""
    edges: Literal["dependent", "independent", "pairwise", "relational", "factorised", "alternating"] = "dependent"
    """Edge representations: W_r q + b_r, which depend on the query, or b_r; pairwise, MLP(h_q(r)) of a vector for each
    pair of relations. The others are made of how the relations meet in the graph, so that the network answers on any
    graph: relational, by a second network on the relation graph; factorised, by one whose messages between relations
    pass through the entities where they meet, in time linear in the facts; alternating, the same in turn with the
    entities, round by round."""
    inverse_edges: bool = False
    """Of edges for any graph: each edge takes the representation of its inverse relation, as in ULTRA's weights."""
    layer_norm: bool = True
    """LayerNorm after the linear layer of each iteration."""
    shortcut: bool = True
    """Add the representation of the iteration before."""
    hidden: Annotated[tuple[Count, ...], Field(strict=False)] = (64,)
    """The sizes of the score's hidden layers."""
    learned_zero: bool = False
    """INDICATOR with a learned embedding for nodes that are not the source, instead of zero."""
    symmetric: bool = False
    """For undirected graphs: score h(u, v) + h(v, u)."""
    frontier: Literal["auto", "off"] = "auto"
    """Compute only the rows that the answer depends on, or all; the result is the same."""
    rank: Count = 3
    """Of DRUM: how many weights an edge has, each with an LSTM of its own. NeuralLP has one."""
    lstm: Count = 128
    """Of DRUM and NeuralLP: the size of the query's embedding and of the LSTM's state."""

    @property
    def any_graph(self) -> bool:
        """Whether the network belongs to no relations of its own, and answers on any graph."""
        return self.edges in ("relational", "factorised", "alternating")

    @property
    def width(self) -> int:
        """How many numbers a pair representation has."""
        return {"nbfnet": self.dim, "drum": self.rank, "neurallp": 1}[self.kind]

    @model_validator(mode="after")
    def _has_only_keys_of_its_kind(self) -> Self:
        others = {"nbfnet": _OF_RULES, "drum": _OF_NETWORKS, "neurallp": (*_OF_NETWORKS, "rank")}[self.kind]
        for key in others:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{key} has no meaning for the kind {self.kind!r}; leave it out")
        return self


class TrainingConfig(_Frozen):
    """How a network is trained."""

    epochs: CountOrZero = 20
    """How often the training links are asked, at most. If it is stated and patience is not, all are run."""
    hours: Positive | None = None
    """A budget of time instead of epochs: the first steps are timed, and steps, decay and validations are planned such
    that the training is over, final validation and calibration included, after so many hours of work. epochs, patience
    and validations_per_epoch do not count then."""
    batch_size: Count = 64
    """Queries of a step, over all processes."""
    batches_per_epoch: Count | None = None
    """At most so many batches per epoch, of links drawn again each time; none asks every link in each epoch. Of
    several graphs that are learned together, so many of each."""
    loss: Literal["binary", "softmax"] = "binary"
    """The paper's binary cross entropy of the answer and n negatives, or the cross entropy of the answer among all
    entities that are not known answers and that can answer by their type. softmax is for knowledge graphs only."""
    answers: Count = 1
    """So many answers of a question, a source and a relation, are asked together at most: they share one pass of the
    network, and their negatives. With more than one an epoch asks half of all questions, and two epochs ask every link
    both ways."""
    relations: Count | None = None
    """A batch asks about so many relations, or a few more: its links are drawn in groups of the same relation. Where
    edges depend on the query, all queries of a relation share what no source changes, so that fewer relations take less
    time. None draws every link by itself."""
    negatives: Count = 32
    """n, wrong answers for each right one of the binary loss. Where entities have types, three of four have the
    answer's type."""
    hard_negatives: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share of these that some fact of the relation has in the answer's place: harder to tell from the answer."""
    temperature: Temperature | None = None
    """Of the binary loss's self-adversarial negatives; none weighs all negatives the same."""
    hiding: Literal["triplet", "pair"] = "triplet"
    """What a batch may not see: its own triplets, or every edge between the two ends of each pair that it scores; of
    the softmax loss, which scores all, every edge between a query and its answer."""
    relation_sample: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Of edges for any graph: in each batch relations meet by a random share of the facts only, between
    this and 1 on a logarithmic scale, so that the network does not rely on which relations happen to meet. 1 takes all
    facts."""
    learning_rate: Annotated[float, Field(gt=0, le=1e37)] = 5e-3
    """Of Adam, before decay."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate falls to zero over the planned steps: not at all, on a line, or on half a cosine."""
    average: Share = 0.0
    """The decay of a moving average of the parameters, which is validated and kept; 0 keeps the parameters as they
    are. Step k has the decay (1 + k) / (10 + k) if that is less."""
    seed: Seed = 0
    """Of everything random: the split, the parameters, the batches."""
    validations_per_epoch: Count = 1
    """How often an epoch is interrupted to validate."""
    validation_sample: Count | None = None
    """Valid links to validate on; none takes all."""
    patience: CountOrZero = 0
    """Training ends after so many validations without a better one; 0 never ends it early."""
    checkpoint_minutes: Positive = 5.0
    """At most so much work is lost when the process is killed."""
    device: str = "cpu"
    """Where PyTorch computes, such as cpu or cuda."""


class SamplingConfig(_Frozen):
    """How a large knowledge graph is sampled around each query; without hops the whole graph is used."""

    hops: Annotated[int, Field(ge=1, le=10)] | None = None
    """k: the neighbourhoods of so many edges around a query's head and its candidates are used, whatever the direction
    of the edges; none uses the whole graph. Paths of up to 2 k edges between them are found."""
    neighbours: Count | None = 100
    """m: at most so many in-edges and so many out-edges of each visited entity are drawn; none uses all."""
    candidates: Count = 1_000
    """How many other entities an answer is ranked against, and at most how many of a head's neighbourhood are possible
    answers."""


class Publication(_Frozen):
    """A published result, and how it is reproduced."""

    source: str
    """The dataset."""
    paper_split: bool = False
    """Split a homogeneous graph as the paper did."""
    table: str
    """The label of the paper's table."""
    filtered_by: Literal["known", "facts"] = "known"
    """Which answers are not counted as wrong: all that are known, or only the facts of an inductive test graph."""
    ties: Literal["realistic", "optimistic", "pessimistic"] = "realistic"
    """How candidates with the answer's score count: half of them, none or all before it."""
    start: str | None = None
    """The run whose network a training begins with, such as universal; none begins with random parameters."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, strict=False)] = (0,)
    """One run for each."""
    paper: dict[str, float]
    """The published metrics."""
    note: str = ""
    """What a reader of the result has to know."""


class Config(_Frozen):
    """All of it: what ``nbfnet train --config`` reads."""

    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    sampling: SamplingConfig = SamplingConfig()
    experiment: Publication | None = None


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        ConfigError: it cannot be read.
    """
    if is_special(file):
        raise ConfigError(f"{file}: this is a pipe or a device; give a TOML file")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; give a TOML file") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: this is not TOML: {_in_words(error)}") from None


def configured(config: str | Path | Table | None) -> list[Table]:
    """The tables of a configuration: a TOML file, checked so that an error names it, or the tables themselves."""
    if isinstance(config, str | Path):
        tables = read_toml(Path(config))
        make_config(tables, origin=str(config))
        return [tables]
    return [] if config is None else [config]


def stated(table: str, **values: Any) -> Table:
    """A configuration with one table of the values that are not None."""
    return {table: {key: value for key, value in values.items() if value is not None}}


def make_config(*layers: Mapping[str, Any], origin: str = "configuration") -> Config:
    """A configuration of several nested tables, where later ones overrule earlier ones.

    Raises:
        ConfigError: a key is unknown (the closest known one is suggested), or a value does not fit.
    """
    merged: dict[str, Any] = {}
    try:
        for layer in layers:
            _merge(merged, layer)
        return Config.model_validate(merged)
    except RecursionError as error:
        raise ConfigError(f"{origin}: {_in_words(error)}") from None
    except ValidationError as error:
        raise ConfigError("\n".join(f"{origin}: {_explain(fault)}" for fault in error.errors())) from None


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """The nested table of settings such as ``model.layers=4``; values are written as in TOML, text may go unquoted.

    >>> parse_settings(["model.layers=4", "model.message=transe"])
    {'model': {'layers': 4, 'message': 'transe'}}

    Raises:
        ConfigError: a setting has no key or no value.
    """
    table: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not (key.strip() and equals and text.strip()):
            raise ConfigError(f"--set {setting!r}: write a key and a value, for example --set model.layers=4")
        value: Any = _parse_value(setting, text.strip())
        parts = key.strip().split(".")
        if len(parts) > _DEEPEST:
            raise ConfigError(
                f"--set {_shown(setting)}: this key has {len(parts)} parts; write one such as model.layers"
            )
        for part in reversed(parts):
            value = {part: value}
        _merge(table, value)
    return table


def _parse_value(setting: str, text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        table = {"value": None if text == "none" else text}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--set {_shown(setting)}: {_in_words(error)}") from None
    if table.keys() != {"value"} or (isinstance(table["value"], str) and "\n" in text):
        raise ConfigError(f"--set {_shown(setting)}: a value is one line; give every key a --set of its own")
    return table["value"]


def _in_words(error: ValueError | RecursionError) -> str:
    """What is wrong with a value that Python does not parse."""
    if isinstance(error, RecursionError):
        return "its tables or lists are nested too deeply"
    return "it has a number of thousands of digits" if "digits" in str(error) else str(error)


def _shown(value: object) -> str:
    """A value for a message, however long it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError) as error:
        return f"({_in_words(error)})"
    return text if len(text) <= 200 else f"{text[:200]}…"


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if not isinstance(value, Mapping):
            into[key] = value
        elif into.get(key) is None or isinstance(into[key], dict):
            into[key] = into.get(key) or {}  # a copy: what is merged next must not end in the other table
            _merge(into[key], value)
        else:
            raise ConfigError(f"{key} = {_shown(into[key])}: this is a table, give its keys")


def _explain(fault: Any) -> str:
    """One fault that pydantic found, in words."""
    *tables, key = [str(part) for part in fault["loc"]] or ["the configuration"]  # of a key that is not text, for one
    where = ".".join([*tables, key])
    if fault["type"] == "extra_forbidden":
        return f"unknown key {where!r}{_suggest(key, tables)}"
    if fault["type"] == "missing":
        return f"the key {where!r} is missing"
    return f"{where} = {_shown(fault['input'])}: {fault['msg'][0].lower()}{fault['msg'][1:]}"


def _suggest(key: str, tables: list[str]) -> str:
    sections: dict[str, type[BaseModel]] = {
        "model": ModelConfig,
        "training": TrainingConfig,
        "sampling": SamplingConfig,
        "experiment": Publication,
    }
    schema = sections.get(tables[0], Config) if tables else Config
    near = closest(key, schema.model_fields, limit=1)
    if near:
        return f"; did you mean {'.'.join([*tables, *near])!r}?"
    homes = [f"{section}.{key}" for section, other in sections.items() if key in other.model_fields]
    return f"; did you mean {homes[0]!r}?" if homes else f"; known are {', '.join(schema.model_fields)}"
