"""Run folders: what is written is found again, and whatever is wrong with one is named."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from nbfnet.config import ModelConfig, make_config
from nbfnet.errors import ConfigError, GraphFormatError, NbfnetError, RunFolderError
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.training.defaults import default_config
from nbfnet.training.run_folder import RunFolder, initial_network
from nbfnet.training.tensor_file import read_tensors, write_tensors


@pytest.fixture
def config(knowledge):
    return make_config(default_config(knowledge, ModelConfig()), {"model": {"dim": 4, "layers": 2, "hidden": [4, 3]}})


@pytest.fixture
def path(tmp_path, knowledge, config):
    RunFolder.create(tmp_path / "run", knowledge, config)
    return tmp_path / "run"


def test_what_is_written_is_found_again(path, knowledge, config):
    folder = RunFolder.open(path)
    assert folder.config() == config
    dataset = folder.dataset()
    assert fingerprint(dataset) == fingerprint(knowledge) == folder.manifest["dataset"]["fingerprint"]
    assert list(dataset.train.entities) == list(knowledge.train.entities)
    network, expected = folder.network(dataset), initial_network(config, knowledge)
    for name, tensor in expected.state_dict().items():
        assert torch.equal(network.state_dict()[name], tensor)
    assert not network.training
    assert sorted(entry.name for entry in path.iterdir()) == ["data", "manifest.json", "model.safetensors"]


def test_an_existing_folder_is_never_overwritten(path, knowledge, config, tmp_path):
    before = (path / "model.safetensors").read_bytes()
    with pytest.raises(GraphFormatError, match="exists already"):
        RunFolder.create(path, knowledge, config)
    assert (path / "model.safetensors").read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(GraphFormatError, match="exists already"):
        RunFolder.create(tmp_path / "file", knowledge, config)


def test_a_folder_that_cannot_be_made_leaves_nothing(knowledge, tmp_path):
    config = make_config({"model": {"message": "rotate", "dim": 5}})
    with pytest.raises(NbfnetError):
        RunFolder.create(tmp_path / "deep" / "run", knowledge, config)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_folder(tmp_path):
    for what, match in ((tmp_path / "gone", "no such folder"), (tmp_path, r"has no manifest\.json")):
        with pytest.raises(RunFolderError, match=match) as caught:
            RunFolder.open(what)
        assert "give a folder that 'nbfnet train' wrote" in str(caught.value)
    (tmp_path / "file").write_text("{}")
    with pytest.raises(RunFolderError, match="no such folder"):
        RunFolder.open(tmp_path / "file")
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(RunFolderError, match="has no"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"no JSON", b"\xff\xfe\xfd", b"{", b"[]", b"3", b"null", b'"nbfnet-run"', b"{}", b'{"format": "other"}'],
)
def test_a_manifest_that_is_none(path, content):
    (path / "manifest.json").write_bytes(content)
    with pytest.raises(RunFolderError, match=r"manifest\.json"):
        RunFolder.open(path)


def edit(path, *keys, value=None, remove=False):
    manifest = json.loads((path / "manifest.json").read_text())
    table = manifest
    for key in keys[:-1]:
        table = table[key]
    if remove:
        del table[keys[-1]]
    else:
        table[keys[-1]] = value
    (path / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("version", [0, 2, "1", None, [1]])
def test_another_version(path, version):
    edit(path, "version", value=version)
    with pytest.raises(RunFolderError, match=r"this release reads 1[\s\S]*use the release of nbfnet that wrote it"):
        RunFolder.open(path)


@pytest.mark.parametrize("key", ["format", "version", "dataset", "config", "metrics"])
def test_a_manifest_that_lacks_a_key(path, key):
    edit(path, key, remove=True)
    with pytest.raises(RunFolderError):
        RunFolder.open(path)


@pytest.mark.parametrize("value", [None, 3, "text", [], [1], True])
@pytest.mark.parametrize("key", ["dataset", "config", "metrics"])
def test_a_manifest_with_a_value_of_another_type(path, key, value):
    edit(path, key, value=value)
    with pytest.raises(RunFolderError, match=f"its key '{key}' is missing or damaged"):
        RunFolder.open(path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("dataset",), {}),
        (("dataset", "fingerprint"), 3),
        (("dataset", "name"), None),
        (("metrics",), {"epoch": 1}),
        (("metrics",), {"epoch": "first", "step": 1, "valid": {}}),
        (("metrics",), {"epoch": 1, "step": 1, "valid": {"mrr": "high"}}),
        (("metrics",), {"epoch": 1, "step": 1, "valid": [0.5]}),
        (("calibration",), {"epoch": 1, "logit": [0.5, 0.7]}),
        (("calibration",), {"epoch": 1, "logit": [0.5], "probability": ["half"]}),
    ],
)
def test_a_manifest_with_a_wrong_value_inside(path, keys, value):
    edit(path, *keys, value=value)
    with pytest.raises(RunFolderError, match="missing or damaged"):
        RunFolder.open(path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("config", "model"), 3),
        (("config", "model", "layers"), "many"),
        (("config", "model", "layers"), -1),
        (("config", "model", "surprise"), 1),
        (("config", "training", "seed"), 0.5),
        (("config", "experiment"), "none"),
    ],
)
def test_a_configuration_that_is_wrong(path, keys, value):
    edit(path, *keys, value=value)
    with pytest.raises(ConfigError, match=r"manifest\.json: "):
        RunFolder.open(path).config()


def test_a_network_that_is_not_of_the_manifest(path, knowledge):
    edit(path, "config", "model", "dim", value=8)
    folder = RunFolder.open(path)
    with pytest.raises(RunFolderError, match="not those of the network that the manifest describes"):
        folder.network(knowledge)
    edit(path, "config", "model", "dim", value=4)
    tensors, description = read_tensors(path / "model.safetensors")
    for changed in ({}, tensors | {"more": torch.zeros(1)}, tensors | {"indicator.query.weight": torch.zeros(2, 2)}):
        write_tensors(path / "model.safetensors", changed, description)
        with pytest.raises(RunFolderError, match="not those of the network"):
            RunFolder.open(path).network(knowledge)
    (path / "model.safetensors").unlink()
    with pytest.raises(RunFolderError, match="missing"):
        RunFolder.open(path).network(knowledge)


def test_a_graph_that_is_damaged(path, knowledge, config, tmp_path):
    for number, name in enumerate(["store.json", "train/head.npy", "valid/tail.npy", "train/relations/offsets.npy"]):
        shutil.copytree(path, tmp_path / str(number))
        folder = RunFolder.open(tmp_path / str(number))
        file = tmp_path / str(number) / "data" / name
        file.write_bytes(file.read_bytes()[:-3])
        with pytest.raises(RunFolderError, match="data"):
            folder.dataset()
        file.unlink()
        with pytest.raises(RunFolderError, match="data"):
            folder.dataset()


@pytest.mark.parametrize("name", ["train/head.npy", "valid/relation.npy", "test/tail.npy"])
@pytest.mark.parametrize("number", [-1, 10_000])
def test_a_number_that_stands_for_no_name(path, name, number):
    ids = np.load(path / "data" / name).copy()
    ids[0] = number
    np.save(path / "data" / name, ids)
    with pytest.raises(RunFolderError, match=r"stands for no name|damaged"):
        RunFolder.open(path).dataset()


def test_data_of_another_training_is_refused(path, knowledge):
    ids = np.load(path / "data" / "test" / "head.npy")
    np.save(path / "data" / "test" / "head.npy", (ids + 1) % knowledge.train.num_nodes)
    with pytest.raises(RunFolderError, match="of another training"):
        RunFolder.open(path).dataset()


def test_the_network_of_another_training_is_refused(path, knowledge, config, tmp_path):
    other = make_config(config.model_dump(mode="json"), {"training": {"seed": 1}})
    RunFolder.create(tmp_path / "other", knowledge, other)
    shutil.copy(tmp_path / "other" / "model.safetensors", path)
    with pytest.raises(RunFolderError, match=r"model\.safetensors: it is of another training"):
        RunFolder.open(path).network(knowledge)


def test_what_another_process_wrote_into_the_manifest_stays(path):
    first, second = RunFolder.open(path), RunFolder.open(path)
    first.update(metrics={"epoch": 1.0, "valid": {"mrr": 0.5}})
    second.update(calibration={"method": "none"})
    assert RunFolder.open(path).manifest["metrics"]["epoch"] == second.manifest["metrics"]["epoch"] == 1.0


def test_a_draft_that_a_killed_process_left_is_removed(knowledge, config, tmp_path):
    left, held, foreign = (tmp_path / f".run-{letter * 8}" for letter in "abc")
    for folder in (left, held):
        (folder / "draft" / "data").mkdir(parents=True)
    foreign.mkdir()
    with alone_in(held, wait=False):
        RunFolder.create(tmp_path / "run", knowledge, config)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [held.name, foreign.name, "run"]


def test_arrays_that_are_pickles_are_never_loaded(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path / "sprung").mkdir, ()

    head = path / "data" / "train" / "head.npy"
    np.save(head, np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(RunFolderError, match="data"):
        RunFolder.open(path).dataset()
    assert not (tmp_path / "sprung").exists()
