"""What all tests share: the folder of benchmark graphs, and how hard hypothesis tries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from nbfnet import Run

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


# Names as people have them: spaces, quotes, commas, other scripts, characters that move a terminal or end a line.
HUBS = ('Ann "Nan" O\'Neil', "北京 市", "bell\x07ring", "Zoë, née X")
LEAVES = ("a,b", "two\u2028lines", "next\x85line", *(f"leaf {i}" for i in range(3, 24)))
ALONE = tuple(f"alone {i}" for i in range(8))  # in no training fact
RELATIONS = ("has part", "next to", 'größer "als"')
SMALL = {
    "model": {"dim": 8, "layers": 2, "hidden": [16]},
    "training": {"epochs": 1, "negatives": 4, "batch_size": 16},
}


@pytest.fixture(scope="session")
def small_config() -> dict[str, dict[str, object]]:
    """A network that is trained in a second."""
    return SMALL


@pytest.fixture(scope="session")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of train, valid and test: four stars in a ring, with leaves alike, and entities that no fact has.

    Two leaves share a readable name, a third has one of its own; hubs and leaves have types.
    """
    folder = tmp_path_factory.mktemp("data") / "things"
    has_part, next_to, greater = RELATIONS
    parts = [(HUBS[i % 4], has_part, leaf) for i, leaf in enumerate(LEAVES)]
    ring = [(HUBS[i], next_to, HUBS[(i + 1) % 4]) for i in range(4)]
    order = [(LEAVES[i], greater, LEAVES[i + 4]) for i in range(8)]
    splits = {
        "train": parts[:20] + ring + order,
        "valid": [
            *parts[20:22],
            (HUBS[0], next_to, HUBS[2]),
            (HUBS[1], has_part, ALONE[6]),
            (ALONE[7], next_to, "a,b"),
        ],
        "test": [
            *parts[22:],
            (HUBS[1], has_part, ALONE[1]),
            (HUBS[1], has_part, ALONE[2]),
            (ALONE[0], next_to, HUBS[0]),
            (LEAVES[2], greater, ALONE[3]),
            (ALONE[4], greater, ALONE[5]),
        ],
    }
    folder.mkdir()
    for part, links in splits.items():
        (folder / f"{part}.txt").write_text("".join("\t".join(link) + "\n" for link in links), encoding="utf-8")
    labels = "leaf 3\tTwin\nleaf 4\tTwin\nleaf 5\tFifth leaf\n"
    (folder / "entity_names.txt").write_text(labels, encoding="utf-8")
    types = [f"{name}\thub\n" for name in HUBS] + [f"{name}\tleaf\n" for name in LEAVES]
    (folder / "entity_types.txt").write_text("".join(types), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def things_run(things: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A network that learned the things; nobody writes into its folder."""
    import nbfnet

    with one_thread():
        return nbfnet.train(things, tmp_path_factory.mktemp("runs") / "things", config=SMALL)


@pytest.fixture(scope="session")
def sigmoid_run(things_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same network without its curve: the least change of a score changes the probability."""
    import nbfnet

    folder = tmp_path_factory.mktemp("runs") / "sigmoid"
    shutil.copytree(things_run.folder.path, folder)
    run = nbfnet.Run.open(folder)
    run.folder.update(calibration=None)
    return run


@pytest.fixture(scope="session")
def friends_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A network that learned a homogeneous graph: two rings with a leaf at every node, and a bridge."""
    import nbfnet

    edges = [(f"{ring}{i}", f"{ring}{(i + 1) % 10}") for ring in "ab" for i in range(10)]
    edges += [(f"{ring}{i}", f"{ring} leaf {i}") for ring in "ab" for i in range(10)] + [("a0", "b0")]
    config = {**SMALL, "training": {"epochs": 1, "batch_size": 16}}
    with one_thread():
        return nbfnet.train(
            nbfnet.read(edges, name="friends"), tmp_path_factory.mktemp("runs") / "friends", config=config
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Graphs of 40 nodes are done before a second thread has woken up."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
