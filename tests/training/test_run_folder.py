"""Run folders: what is written is found again, and whatever is wrong with one is named."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch

from nbfnet.config import Config, make_config
from nbfnet.errors import ConfigError, NbfnetError, RunFolderError, WriteError
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.store import write_store
from nbfnet.training.checkpoint import read_tensors, write_tensors
from nbfnet.training.defaults import default_config
from nbfnet.training.run_folder import RunFolder, initial_network


@pytest.fixture
def config(knowledge):
    return make_config(default_config(knowledge, Config()), {"model": {"dim": 4, "layers": 2, "hidden": [4, 3]}})


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
    with pytest.raises(WriteError, match="exists already"):
        RunFolder.create(path, knowledge, config)
    assert (path / "model.safetensors").read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="exists already"):
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


def edit(path, *keys, value=None, remove=False, signed=False):
    manifest = json.loads((path / "manifest.json").read_text())
    if not signed:
        manifest.pop("digests", None)  # as manifests were before
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
    with pytest.raises(RunFolderError, match=r"has no name|damaged"):
        RunFolder.open(path).dataset()


def test_data_of_another_training_is_refused(path, knowledge):
    shutil.rmtree(path / "data")
    write_store(dataclasses.replace(knowledge, test=knowledge.valid), path / "data")
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
    (foreign / "something else").mkdir(parents=True)
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


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("config", "model", "layers"), 3),
        (("config", "training", "seed"), 7),
        (("config", "training", "device"), "cuda:3"),
        (("calibration",), {"epoch": 1, "logit": [0.0], "probability": [1.0]}),
        (("calibration", "probability"), [0.25, 0.75]),
        (("calibration",), None),
    ],
)
def test_an_edited_configuration_or_calibration_is_refused_by_name(path, keys, value):
    if keys[0] == "calibration" and value is not None and len(keys) == 1:
        pass  # there is none yet: one that somebody adds is refused too
    else:
        calibration = {"epoch": 1, "logit": [-1.0, 1.0], "probability": [0.125, 0.5]}
        RunFolder.open(path).update(calibration=calibration)
    RunFolder.open(path).config()
    edit(path, *keys, value=value, signed=True)
    with pytest.raises(RunFolderError, match=f"its key '{keys[0]}' was edited"):
        RunFolder.open(path)
    edit(path, "made_by", value={}, signed=False)
    assert RunFolder.open(path)  # without digests, as manifests were before


def test_digests_that_are_damaged_are_refused(path):
    for value in ({}, [], "text", {"config": 3}):
        edit(path, "digests", value=value, signed=True)
        with pytest.raises(RunFolderError, match="'config' was edited"):
            RunFolder.open(path)


def test_no_number_in_a_manifest_is_a_bare_nan(path):
    RunFolder.open(path).update(calibration={"epoch": 1, "logit": [], "probability": [], "error": float("nan")})

    def refuse(text):
        raise AssertionError(text)

    manifest = json.loads((path / "manifest.json").read_text(), parse_constant=refuse)
    assert manifest["calibration"]["error"] is None
    assert RunFolder.open(path).manifest == manifest


def test_the_damaged_file_of_the_data_is_named(path):
    content = bytearray((path / "data" / "train" / "relation.npy").read_bytes())
    content[-1] ^= 0x40
    (path / "data" / "train" / "relation.npy").write_bytes(content)
    with pytest.raises(RunFolderError, match=r"train/relation\.npy is not what was written"):
        RunFolder.open(path).dataset()


def test_the_graph_is_hashed_only_where_its_files_were_touched(path, tmp_path, monkeypatch):
    hashed = []

    def count(dataset):
        hashed.append(dataset.name)
        return fingerprint(dataset)

    monkeypatch.setattr("nbfnet.training.run_folder.fingerprint", count)
    RunFolder.open(path).dataset()
    shutil.move(path, tmp_path / "moved")
    RunFolder.open(tmp_path / "moved").dataset()
    assert hashed == []
    (tmp_path / "moved" / "data" / "train" / "head.npy").touch()
    RunFolder.open(tmp_path / "moved").dataset()
    assert len(hashed) == 1
