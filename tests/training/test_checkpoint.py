from __future__ import annotations

import pytest
import torch

from nbfnet.config import ModelConfig
from nbfnet.errors import RunFolderError
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.training.checkpoint import FILE, Progress, load_checkpoint, read_tensors, save_checkpoint, write_tensors


def make(seed=0, dim=4):
    torch.manual_seed(seed)
    network = NeuralBellmanFordNetwork(ModelConfig(dim=dim, layers=1, hidden=(3,)), 2)
    return network, torch.optim.Adam(network.parameters(), lr=0.01)


def step(network, optimizer, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()


def test_steps_go_on_as_if_nothing_had_happened(tmp_path):
    network, optimizer = make()
    for number in range(3):
        step(network, optimizer, number)
    progress = Progress(1, 2, 3, 0.1 + 0.2, 7, 1.5, 99, {"epoch": 0.5, "valid": {"mrr": 1 / 3}})
    save_checkpoint(tmp_path, network, optimizer, progress, training="mine")
    other, other_optimizer = make(seed=1)
    assert load_checkpoint(tmp_path, other, other_optimizer, training="mine") == progress
    for number in range(3, 6):
        step(network, optimizer, number)
        step(other, other_optimizer, number)
    for left, right in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.equal(left, right)


def test_before_the_first_step(tmp_path):
    network, optimizer = make()
    assert load_checkpoint(tmp_path, network, optimizer, training="mine") == Progress()
    save_checkpoint(tmp_path, network, optimizer, Progress(), training="mine")
    other, other_optimizer = make(seed=1)
    assert load_checkpoint(tmp_path, other, other_optimizer, training="mine") == Progress()
    assert torch.equal(network.indicator.query.weight, other.indicator.query.weight)


def test_a_checkpoint_of_another_network(tmp_path):
    network, optimizer = make()
    step(network, optimizer, 0)
    save_checkpoint(tmp_path, network, optimizer, Progress(step=1), training="mine")
    with pytest.raises(RunFolderError, match="not of this training"):
        load_checkpoint(tmp_path, *make(dim=6), training="mine")
    with pytest.raises(RunFolderError, match="not of this training"):
        load_checkpoint(tmp_path, *make(), training="another of the same shape")


@pytest.mark.parametrize("change", ["no moments", "no counters", "few counters", "more counters", "a network"])
def test_a_checkpoint_that_lacks_something(tmp_path, change):
    network, optimizer = make()
    step(network, optimizer, 0)
    save_checkpoint(tmp_path, network, optimizer, Progress(step=1), training="mine")
    tensors, description = read_tensors(tmp_path / FILE)
    match change:
        case "no moments":
            tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("exp_avg_sq/")}
        case "no counters":
            description = {"training": "mine"}
        case "few counters":
            del description["log_bytes"]
        case "more counters":
            description["luck"] = 1
        case "a network":  # as it stands in model.safetensors
            tensors, description = network.state_dict(), {"epoch": 1.0, "training": "mine"}
    write_tensors(tmp_path / FILE, tensors, description)
    with pytest.raises(RunFolderError, match="not of this training"):
        load_checkpoint(tmp_path, *make(), training="mine")


def test_a_checkpoint_of_an_older_release_has_no_plan(tmp_path):
    network, optimizer = make()
    step(network, optimizer, 0)
    save_checkpoint(tmp_path, network, optimizer, Progress(step=1), training="mine")
    tensors, description = read_tensors(tmp_path / FILE)
    del description["plan"]
    write_tensors(tmp_path / FILE, tensors, description)
    assert load_checkpoint(tmp_path, *make(), training="mine") == Progress(step=1)


def test_a_checkpoint_without_the_average_that_is_needed(tmp_path):
    (network, optimizer), (average, _) = make(), make(seed=1)
    save_checkpoint(tmp_path, network, optimizer, Progress(), average=average, training="mine")
    (other, other_optimizer), (other_average, _) = make(seed=2), make(seed=3)
    load_checkpoint(tmp_path, other, other_optimizer, average=other_average, training="mine")
    assert torch.equal(other_average.indicator.query.weight, average.indicator.query.weight)
    save_checkpoint(tmp_path, network, optimizer, Progress(), training="mine")
    with pytest.raises(RunFolderError, match="not of this training"):
        load_checkpoint(tmp_path, other, other_optimizer, average=other_average, training="mine")
