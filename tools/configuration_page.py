"""Write docs/CONFIGURATION.md: every key of a configuration, from ``nbfnet.config`` itself."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nbfnet.config import ModelConfig, Publication, SamplingConfig, TrainingConfig

PAGE = Path(__file__).parents[1] / "docs" / "CONFIGURATION.md"
HEAD = """# Configuration

`nbfnet train --config FILE.toml` reads these keys, `--set KEY=VALUE` sets one, and in Python
`nbfnet.train(graph, config={"model": {"layers": 4}})` takes them as a dictionary. An unknown key is an error. What is
not stated is chosen from the graph, as `nbfnet train` prints it, or has the default below.

This page is written by `python tools/configuration_page.py`.
"""
CHOSEN = """
## Chosen from the graph

| key | choice |
| --- | --- |
| `model.edges` | `dependent` if there are at least 12 relations with 20 facts each on average, else `independent` |
| `model.symmetric` | `true` for a homogeneous graph |
| `training.batch_size` | 64, fewer for a graph of less than 4,096 facts, or if memory is short |
| `training.negatives` | 1 for a homogeneous graph |
| `training.temperature` | 0.5 with `dependent` edges, 1 with `independent` ones |
| `training.hiding` | `triplet` if other facts join the ends of at least 5 % of the valid links, else `pair` |
| `training.validation_sample` | all valid links, or as many as some minutes, or a tenth of `training.hours`, allow |
| `training.patience` | 5, or 0 if there are fewer than 50 valid links or `training.epochs` is stated |
| `training.schedule` | `cosine` if `training.hours` is stated |
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(make_page(), encoding="utf-8")


def make_page() -> str:
    """The whole page."""
    sections: dict[str, type[BaseModel]] = {
        "model": ModelConfig,
        "training": TrainingConfig,
        "sampling": SamplingConfig,
        "experiment": Publication,
    }
    tables = [_section(name, schema) for name, schema in sections.items()]
    return "\n".join([HEAD, *tables[:3]]) + CHOSEN + "\n" + tables[3]


def _section(name: str, schema: type[BaseModel]) -> str:
    rows = [
        f"| `{name}.{key}` | {_type_name(field.annotation)} | {_default(field)} | {_meaning(field)} |"
        for key, field in schema.model_fields.items()
    ]
    title = f"## [{name}]\n\n{schema.__doc__}\n\n"
    return title + "\n".join(["| key | values | default | meaning |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _meaning(field: FieldInfo) -> str:
    assert field.description, "every key says what it means"
    return field.description.replace("\n", " ").replace("|", "\\|")


def _default(field: FieldInfo) -> str:
    return "must be stated" if field.is_required() else f"`{_toml(field.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return "none" if value is None else f'"{value}"' if isinstance(value, str) else f"{value:g}"


def _type_name(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is typing.Annotated:
        return _type_name(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join("none" if part is type(None) else _type_name(part) for part in arguments)
    if origin is tuple:
        return f"list of {_type_name(arguments[0])}s"
    if origin is dict:
        return "table of numbers"
    return {int: "whole number", float: "number", bool: "`true`, `false`", str: "text"}[kind]


if __name__ == "__main__":
    main()
