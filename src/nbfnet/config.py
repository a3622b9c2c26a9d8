"""Typed, frozen configurations, read from TOML; a key that nobody knows is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbfnet.errors import ConfigError, closest

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Temperature = Annotated[float, Field(ge=1e-6, allow_inf_nan=False)]  # scores are divided by it, in single precision
Count = Annotated[int, Field(ge=1, lt=2**31)]
CountOrZero = Annotated[int, Field(ge=0, lt=2**31)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]  # what PyTorch's generator takes


class _Frozen(BaseModel):
    # Strict: true is no number, and "4" neither.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ModelConfig(_Frozen):
    """The design space of a Neural Bellman-Ford Network; the defaults are the paper's."""

    dim: Count = 32  # d, of every representation
    layers: Annotated[int, Field(ge=1, le=100)] = 6  # T, the number of Bellman-Ford iterations
    message: str = "distmult"  # a registered MESSAGE
    aggregate: str = "pna"  # a registered AGGREGATE
    edges: Literal["dependent", "independent"] = "dependent"  # W_r q + b_r, or b_r
    layer_norm: bool = True
    shortcut: bool = True
    hidden: Annotated[tuple[Count, ...], Field(strict=False)] = (64,)  # the hidden layers of the score
    learned_zero: bool = False  # INDICATOR with a learned embedding for nodes that are not the source
    symmetric: bool = False  # undirected graphs: score h(u, v) + h(v, u)
    frontier: Literal["auto", "off"] = "auto"  # compute only the rows that matter, or all


class TrainingConfig(_Frozen):
    """How a network is trained; the defaults are the paper's for knowledge graphs."""

    epochs: CountOrZero = 20
    batch_size: Count = 64  # queries of a step, over all processes
    negatives: Count = 32  # n, for each answer
    temperature: Temperature | None = None  # of self-adversarial negatives; none: all weigh the same
    hiding: Literal["triplet", "pair"] = "triplet"  # which edges a batch may not see, see QueryEdges
    learning_rate: Annotated[float, Field(gt=0, le=1e37)] = 5e-3  # of Adam, in single precision
    seed: Seed = 0  # of everything random: the split, the parameters, the batches
    validations_per_epoch: Count = 1
    validation_sample: Count | None = None  # links to validate on; none: all
    patience: CountOrZero = 0  # training ends after so many validations without a better one; 0: never
    checkpoint_minutes: Positive = 5.0  # at most so much work is lost when the process is killed
    device: str = "cpu"


class Publication(_Frozen):
    """A published result, and how it is reproduced."""

    source: str  # the dataset
    paper_split: bool = False
    table: str  # where it stands in the paper
    filtered_by: Literal["known", "facts"] = "known"  # which answers are not negatives, see RankingProtocol
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, strict=False)] = (0,)  # one run for each
    paper: dict[str, float]  # the published metrics
    note: str = ""  # what a reader of the result has to know


class Config(_Frozen):
    """All of it: what ``nbfnet train --config`` reads."""

    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    experiment: Publication | None = None


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; give a TOML file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: this is no TOML: {error}") from None


def make_config(*layers: Mapping[str, Any], origin: str = "configuration") -> Config:
    """A configuration of several nested tables, where later ones overrule earlier ones.

    Raises:
        ConfigError: a key is unknown (the closest known one is suggested), or a value does not fit.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        _merge(merged, layer)
    try:
        return Config.model_validate(merged)
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
        value: Any = _parse_value(text.strip())
        for part in reversed(key.strip().split(".")):
            value = {part: value}
        _merge(table, value)
    return table


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None if text == "none" else text


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if not isinstance(value, Mapping):
            into[key] = value
        elif into.get(key) is None or isinstance(into[key], dict):
            into[key] = into.get(key) or {}  # a copy: what is merged next must not end in the other table
            _merge(into[key], value)
        else:
            raise ConfigError(f"{key} = {into[key]!r}: this is a table, give its keys")


def _explain(fault: Any) -> str:
    """One fault that pydantic found, in words."""
    *tables, key = [str(part) for part in fault["loc"]]
    where = ".".join([*tables, key])
    if fault["type"] == "extra_forbidden":
        return f"unknown key {where!r}{_suggest(key, tables)}"
    if fault["type"] == "missing":
        return f"the key {where!r} is missing"
    return f"{where} = {fault['input']!r}: {fault['msg'][0].lower()}{fault['msg'][1:]}"


def _suggest(key: str, tables: list[str]) -> str:
    sections: dict[str, type[BaseModel]] = {"model": ModelConfig, "training": TrainingConfig, "experiment": Publication}
    schema = sections.get(tables[0], Config) if tables else Config
    near = closest(key, schema.model_fields, limit=1)
    if near:
        return f"; did you mean {'.'.join([*tables, *near])!r}?"
    homes = [f"{section}.{key}" for section, other in sections.items() if key in other.model_fields]
    return f"; did you mean {homes[0]!r}?" if homes else f"; known are {', '.join(schema.model_fields)}"
