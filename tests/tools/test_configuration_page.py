"""The page of configuration keys is the one that the code gives."""

from __future__ import annotations

import re

from nbfnet.config import ModelConfig, Publication, TrainingConfig


def test_the_page_is_up_to_date(tool):
    configuration_page = tool("configuration_page")
    assert configuration_page.PAGE.read_text(encoding="utf-8") == configuration_page.make_page(), (
        "run python tools/configuration_page.py"
    )


def test_every_key_is_listed_once(tool):
    page = tool("configuration_page").make_page()
    listed = re.findall(r"^\| `((?:model|training|experiment)\.\w+)` \|", page, re.MULTILINE)
    sections = {"model": ModelConfig, "training": TrainingConfig, "experiment": Publication}
    keys = [f"{name}.{key}" for name, schema in sections.items() for key in schema.model_fields]
    chosen = [key for key in keys if listed.count(key) == 2]
    assert set(keys) == set(listed)
    assert len(listed) == len(keys) + len(chosen)  # some are listed again among those that are chosen from the graph
