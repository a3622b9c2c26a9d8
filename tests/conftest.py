"""What all tests share: the folder of benchmark graphs, and how hard hypothesis tries."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# The same examples on every run, and no time limit for one example: a busy machine must not fail a test.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, max_examples=20)
hypothesis.settings.register_profile("search", deadline=None, max_examples=300)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of benchmark graphs that NBFNET_DATA names; without it the test is skipped."""
    folder = os.environ.get("NBFNET_DATA")
    if not folder:
        pytest.skip("needs the benchmark graphs: set NBFNET_DATA to the folder that holds cora, fb15k-237, ...")
    if not Path(folder).is_dir():
        pytest.skip(f"needs the benchmark graphs: NBFNET_DATA names {folder}, which is not a folder")
    return Path(folder)
