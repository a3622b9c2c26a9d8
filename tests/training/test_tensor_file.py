"""Files of tensors: what was written is what is read, and nothing else is."""

from __future__ import annotations

import os
import pickle
import stat
import threading
from contextlib import nullcontext

import pytest
import torch
from safetensors.torch import save_file

from nbfnet.errors import NbfnetError, RunFolderError
from nbfnet.training.checkpoint import KEY, read_tensors, write_tensors

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b.weight": torch.tensor([1.5, -2.0]), "empty": torch.zeros(0)}


@pytest.fixture
def file(tmp_path):
    write_tensors(tmp_path / "x.safetensors", TENSORS, {"epoch": 1.5, "best": {"valid": {"mrr": 0.25}}})
    return tmp_path / "x.safetensors"


def test_what_is_written_is_read(file):
    tensors, description = read_tensors(file)
    assert description == {"epoch": 1.5, "best": {"valid": {"mrr": 0.25}}}
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype and torch.equal(tensors[name], tensor)


def test_what_is_not_a_number_is_null_in_the_file(tmp_path):
    file = tmp_path / "x.safetensors"
    write_tensors(file, TENSORS, {"mrr": float("nan"), "worst": float("inf")})
    assert b"NaN" not in file.read_bytes() and b"Infinity" not in file.read_bytes()
    assert read_tensors(file)[1] == {"mrr": None, "worst": None}


def test_equal_content_gives_equal_bytes(file, tmp_path):
    shuffled = dict(reversed(TENSORS.items()))
    write_tensors(tmp_path / "y", shuffled, {"epoch": 1.5, "best": {"valid": {"mrr": 0.25}}})
    assert (tmp_path / "y").read_bytes() == file.read_bytes()


def test_others_may_read_what_the_umask_lets_them(file):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    assert [path.name for path in file.parent.iterdir()] == ["x.safetensors"]


def test_a_file_that_is_replaced_meanwhile_is_read_as_one_of_the_two(file):
    """A reader that opened it twice would find the numbers of one under the name of the other."""
    done = threading.Event()

    def replace():
        epoch = 0
        while not done.is_set():
            epoch += 1
            write_tensors(file, {name: tensor + epoch for name, tensor in TENSORS.items()}, {"epoch": epoch})

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(1000):
            tensors, description = read_tensors(file)
            assert tensors["b.weight"][0] == 1.5 + description["epoch"] or description["epoch"] == 1.5
    finally:
        done.set()
        writer.join()


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_a_flipped_byte_anywhere(file, flip):
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
        with pytest.raises(RunFolderError, match="damaged"):
            read_tensors(file)


def test_any_truncation_and_anything_appended(file):
    content = file.read_bytes()
    for length in range(0, len(content), 5):
        file.write_bytes(content[:length])
        with pytest.raises(RunFolderError, match="damaged"):
            read_tensors(file)
    file.write_bytes(content + b"\0")
    with pytest.raises(RunFolderError, match="damaged"):
        read_tensors(file)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"other": "x"},
        {KEY: "no JSON"},
        {KEY: "{}"},
        {KEY: "[1, 2]"},
        {KEY: '["{}", "0"]'},
        {KEY: '["{}", null]'},
        {KEY: "null"},
        {KEY: "[" * 100_000},
    ],
)
def test_tensors_of_other_programs(tmp_path, metadata):
    save_file(TENSORS, tmp_path / "x", metadata=metadata)
    with pytest.raises(RunFolderError, match="damaged"):
        read_tensors(tmp_path / "x")


class Trap:
    """Unpickled, it would make a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_never_loaded(tmp_path):
    trap = tmp_path / "sprung"
    (tmp_path / "plain").write_bytes(pickle.dumps(Trap(trap)))
    torch.save({"weight": Trap(trap)}, tmp_path / "torch")
    for name in ("plain", "torch"):
        with pytest.raises(RunFolderError, match="damaged"):
            read_tensors(tmp_path / name)
    assert not trap.exists()


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(RunFolderError, match="missing"):
        read_tensors(tmp_path / "x")
    with pytest.raises(RunFolderError, match="damaged"):
        read_tensors(tmp_path)


def test_a_file_that_cannot_be_written_leaves_the_one_before(file):
    resource = pytest.importorskip("resource", reason="files have no limit here")
    content, before = file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(RunFolderError, match="cannot be written"):
            write_tensors(file, TENSORS, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert file.read_bytes() == content
    assert [path.name for path in file.parent.iterdir()] == ["x.safetensors"]


@pytest.mark.parametrize("name", ["x.safetensors.part", "x.safetensors"])
def test_a_link_in_the_folder_does_not_lead_out_of_it(file, tmp_path_factory, name):
    """Whoever gives away a run folder must not decide which files of others its next training writes."""
    precious = tmp_path_factory.mktemp("home") / "precious"
    precious.write_text("precious")
    (file.parent / name).unlink(missing_ok=True)
    (file.parent / name).symlink_to(precious)
    with pytest.raises(NbfnetError, match="symbolic link") if name == file.name else nullcontext():
        write_tensors(file, TENSORS, {})
    assert precious.read_text() == "precious"
