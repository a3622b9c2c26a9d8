"""What is checked before the first step, of a new training and of one that goes on."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
import torch

from nbfnet.errors import ConfigError, DatasetError, RunFolderError, TrainingError, UnknownNameError
from nbfnet.graph.store import write_store
from nbfnet.graph.triplets import Triplets
from nbfnet.training.run_folder import SHIPPED, RunFolder
from nbfnet.training.start import begin, has_device, resume


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def links(*rows):
    return Triplets.of(*np.array(rows).T)


def test_graphs_that_cannot_be_learned(tmp_path, graph_of, dataset_of):
    complete = [[u, 0, v] for u in range(4) for v in range(4)]
    cases = [
        (dataset_of(graph_of(4, 1, [])), "no training facts"),
        (dataset_of(graph_of(1, 1, [[0, 0, 0]])), "a single entity"),
        (dataset_of(graph_of(4, 1, complete)), "no training fact has a wrong answer"),
        (dataset_of(graph_of(4, 1, complete, kind="homogeneous")), "an edge joins every pair"),
        (dataset_of(graph_of(4, 2, [[0, 0, 1]]), valid=links([0, 1, 2])), "1 valid links .*'relation 1'; the first is"),
        (dataset_of(graph_of(4, 3, [[0, 0, 1]]), test=links([0, 1, 2], [1, 2, 0])), "'relation 1', 'relation 2'"),
    ]
    for dataset, message in cases:
        with pytest.raises(TrainingError, match=message):
            begin(tmp_path / "run", dataset)
    near = dataset_of(
        graph_of(4, 1, [[0, 0, 1], [0, 0, 2], [0, 0, 3]], kind="homogeneous"), valid=links([1, 0, 2], [1, 0, 3])
    )
    with pytest.raises(DatasetError, match="2 pairs of nodes without an edge are needed"):
        begin(tmp_path / "run", near)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "table",
    [
        {"model": {"layers": 0}},
        {"model": {"message": "distmlt"}},
        {"model": {"aggregate": "median"}},
        {"training": {"device": "gpu"}},
        {"training": {"device": "cuda:99"}},
        {"training": {"device": ""}},
    ],
)
def test_configurations_that_cannot_work_leave_nothing(tmp_path, knowledge, table):
    with pytest.raises((ConfigError, UnknownNameError)):
        begin(tmp_path / "run", knowledge, table)
    assert list(tmp_path.iterdir()) == []


def test_the_network_for_any_graph_is_what_training_begins_with(tmp_path, knowledge, monkeypatch):
    """Its parameters are those of the shipped network, even where a folder of the user's has its name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "universal").mkdir()
    folder, config, choices = begin(tmp_path / "run", knowledge)
    assert folder.manifest["began_with"] == "universal" and config.model.edges == "pairwise"
    assert choices[0].value == "universal" and all(choice.is_in(config) for choice in choices[1:])
    assert len({choice.key for choice in choices}) == len(choices)
    shipped, own = RunFolder.open(SHIPPED), folder.network(knowledge)
    for name, tensor in shipped.network(shipped.dataset()).layers.state_dict().items():
        assert torch.equal(own.layers.state_dict()[name], tensor), name


def test_from_scratch_parameters_are_random(tmp_path, knowledge):
    networks = []
    for seed in (0, 1):
        table = {"training": {"seed": seed}}
        folder, config, choices = begin(tmp_path / f"run{seed}", knowledge, table, start_from="scratch")
        assert "began_with" not in folder.manifest and config.training.loss == "binary"
        assert "start" not in {choice.key for choice in choices}  # it was stated
        networks.append(folder.network(knowledge))
    first, second = (network.layers.state_dict() for network in networks)
    assert any(not torch.equal(first[name], second[name]) for name in first)


def test_a_run_that_is_there_is_never_overwritten(tmp_path, knowledge, learn):
    learn(tmp_path / "run", knowledge, epochs=1)
    with pytest.raises(RunFolderError, match=r"exists already[\s\S]*--resume"):
        begin(tmp_path / "run", knowledge)


def test_devices():
    assert has_device("cpu")
    assert not has_device("gpu") and not has_device("") and not has_device("cuda:99")


def test_the_graph_of_a_training_that_goes_on_must_be_the_same(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1)
    before = contents(tmp_path / "run")
    others = [
        dataclasses.replace(knowledge, valid=knowledge.test),
        dataclasses.replace(knowledge, train=dataclasses.replace(knowledge.train, triplets=knowledge.valid)),
    ]
    for other in others:
        with pytest.raises(RunFolderError, match=r"begun with another graph \(tiny\)"):
            resume(tmp_path / "run", other)
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"model": {"layers": 3}}, "model"),
        ({"training": {"batch_size": 9}}, "training.batch_size"),
        ({"training": {"seed": 1, "negatives": 5}}, "training.negatives, training.seed"),
        ({"training": {"learning_rate": 0.1}}, "training.learning_rate"),
        ({"training": {"validations_per_epoch": 2}}, "training.validations_per_epoch"),
        ({"training": {"temperature": None}}, "training.temperature"),
    ],
)
def test_the_configuration_of_a_training_that_goes_on_must_be_the_same(learn, tmp_path, knowledge, table, named):
    learn(tmp_path / "run", knowledge, epochs=0)
    before = contents(tmp_path / "run")
    with pytest.raises(RunFolderError, match=f"cannot change {named}\n"):
        resume(tmp_path / "run", knowledge, table)
    assert contents(tmp_path / "run") == before


def test_epochs_that_a_schedule_was_planned_for_cannot_change(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1, schedule="cosine")
    with pytest.raises(RunFolderError, match=r"cannot change training\.epochs\n"):
        resume(tmp_path / "run", knowledge, {"training": {"epochs": 2}})
    resume(tmp_path / "run", knowledge, {"training": {"epochs": 1}})


def test_a_homogeneous_graph_has_no_softmax(tmp_path, homogeneous):
    with pytest.raises(ConfigError, match="this graph is homogeneous; use 'binary'"):
        begin(tmp_path / "run", homogeneous, {"training": {"loss": "softmax"}})
    assert list(tmp_path.iterdir()) == []


def test_what_may_change_is_kept(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1)
    _, config = resume(tmp_path / "run", knowledge, {"training": {"epochs": 2, "checkpoint_minutes": 2.0}})
    assert (config.training.epochs, config.training.checkpoint_minutes) == (2, 2.0)
    learn(tmp_path / "run", knowledge, epochs=2, checkpoint_minutes=2.0)
    folder, again = resume(tmp_path / "run", knowledge)
    assert again == config == folder.config()
    with pytest.raises(ConfigError, match="no such device"):
        resume(tmp_path / "run", knowledge, {"training": {"device": "gpu"}})


def test_a_training_that_is_finished_is_left_as_it_is(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=2)
    before = contents(tmp_path / "run")
    learn(tmp_path / "run", knowledge)
    learn(tmp_path / "run", knowledge, epochs=2)
    assert contents(tmp_path / "run") == before


def test_a_folder_without_its_checkpoint(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1)
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    with pytest.raises(RunFolderError, match=r"no checkpoint\.safetensors to resume from"):
        resume(tmp_path / "run", knowledge)


@pytest.mark.parametrize("rows", [[[0, 0, 1]], [[0, 0, 0]], [[0, 0, 1], [0, 0, 1]]])
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_a_graph_of_one_edge_is_learned(learn, tmp_path, graph_of, dataset_of, rows, kind):
    """Hidden while it is asked for, the only edge leaves a graph without any."""
    heard = []
    dataset = dataset_of(graph_of(3, 1, rows, kind), valid=links([1, 0, 2]))
    learn(tmp_path / "run", dataset, heard.append, epochs=2, negatives=1)
    assert len(heard) == 2 and all(np.isfinite(entry["loss"]) for entry in heard)


@pytest.mark.parametrize("damage", ["gone", "of another graph", "a flipped byte"])
def test_a_training_whose_own_data_are_wrong_does_not_go_on(learn, tmp_path, knowledge, homogeneous, damage):
    """It could be trained with the graph that is given, and never be opened again."""
    learn(tmp_path / "run", knowledge, epochs=1)
    data = tmp_path / "run" / "data"
    if damage == "a flipped byte":
        file = data / "train" / "tail.npy"
        content = bytearray(file.read_bytes())
        content[-4] ^= 1
        file.write_bytes(content)
    else:
        shutil.rmtree(data)
    if damage == "of another graph":
        write_store(homogeneous, data)
    before = contents(tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"data: [\s\S]*what to do"):
        learn(tmp_path / "run", knowledge, epochs=2)
    assert contents(tmp_path / "run") == before
