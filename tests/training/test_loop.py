"""Trainings of a moment: repeatable bit by bit, the best network kept, stopped before numbers break."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import nbfnet.training.checkpoint
import nbfnet.training.interrupt
import nbfnet.training.loop
from nbfnet.errors import DatasetError, RunFolderError, TrainingError
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.triplets import Triplets
from nbfnet.training.checkpoint import read_tensors, write_tensors
from nbfnet.training.loop import train
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.start import begin
from nbfnet.training.step import Optimization


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_the_same_seed_gives_the_same_bits(kind, learn, outcome, tmp_path, request):
    dataset = request.getfixturevalue(kind)
    for name in ("a", "b"):
        learn(tmp_path / name, dataset, seed=3)
        torch.rand(5)  # what others draw must not matter
        np.random.default_rng().random(5)
    assert outcome(tmp_path / "a") == outcome(tmp_path / "b")
    learn(tmp_path / "c", dataset, seed=4)
    assert outcome(tmp_path / "a")["model"] != outcome(tmp_path / "c")["model"]


def test_the_same_bits_with_several_threads(learn, outcome, tmp_path, knowledge):
    torch.set_num_threads(2)
    for name in ("a", "b", "c"):
        learn(tmp_path / name, knowledge, batch_size=64, negatives=30, epochs=2)
    assert outcome(tmp_path / "a") == outcome(tmp_path / "b") == outcome(tmp_path / "c")


@pytest.mark.parametrize("per_epoch", [1, 3])
def test_training_ends_when_validation_finds_nothing_better(per_epoch, learn, tmp_path, knowledge):
    """With steps too small to change a rank, the first validation is never beaten."""
    options = {"learning_rate": 1e-30, "epochs": 50, "validations_per_epoch": per_epoch}
    heard = []
    folder = learn(tmp_path / "run", knowledge, heard.append, patience=4, **options)
    assert len(heard) == 5 and len({entry["valid"]["mrr"] for entry in heard}) == 1
    assert folder.manifest["metrics"]["epoch"] == heard[-1]["epoch"]  # of equal networks the last is kept
    learn(tmp_path / "run", knowledge, heard.append, patience=4)  # it has ended: nothing is done
    assert len(heard) == 5
    learn(tmp_path / "run", knowledge, heard.append, patience=6)
    assert len(heard) == 7
    learn(tmp_path / "run", knowledge, heard.append, epochs=9)  # a stated number of epochs is run to its end
    assert heard[-1]["epoch"] == 9 and len(heard) == 9 * per_epoch
    learn(tmp_path / "all", knowledge, heard.append, **options | {"epochs": 8})
    assert heard[-1]["epoch"] == 8


def test_a_better_network_gives_training_new_time(learn, tmp_path, knowledge):
    heard = []
    learn(tmp_path / "run", knowledge, heard.append, patience=3, epochs=60, seed=5)
    best = max(range(len(heard)), key=lambda i: (heard[i]["valid"]["mrr"], -i))
    assert best > 2 and len(heard) == best + 1 + 3 < 60


def test_the_state_of_others_is_left_alone(learn, tmp_path, knowledge):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    learn(tmp_path / "run", knowledge, epochs=1)
    assert torch.equal(torch.rand(3), expected)


def test_epochs_in_several_goes_are_epochs_in_one(learn, outcome, tmp_path, knowledge):
    learn(tmp_path / "whole", knowledge, epochs=4)
    for epochs in (0, 1, 3, 4):
        learn(tmp_path / "parts", knowledge, epochs=epochs)
    assert outcome(tmp_path / "whole") == outcome(tmp_path / "parts")
    assert RunFolder.open(tmp_path / "parts").config().training.epochs == 4


RECIPES = [
    {"loss": "softmax"},
    {"schedule": "cosine"},
    {"schedule": "linear"},
    {"average": 0.9},
    {"loss": "softmax", "schedule": "cosine", "average": 0.9},
]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_an_interrupted_recipe_resumes_with_the_same_bits(recipe, learn, outcome, tmp_path, knowledge, monkeypatch):
    """Stopped after each step in turn."""
    options = {"epochs": 2, "validations_per_epoch": 2, **recipe}
    learn(tmp_path / "whole", knowledge, **options)
    calls, original = [], Optimization.compute_gradients

    def stops(self, batch):
        calls.append(1)
        if len(calls) % 2 == 0:
            raise KeyboardInterrupt
        return original(self, batch)

    monkeypatch.setattr(Optimization, "compute_gradients", stops)
    for _ in range(40):
        with contextlib.suppress(KeyboardInterrupt):
            learn(tmp_path / "parts", knowledge, **options)
            break
    assert len(calls) > 4
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")


@pytest.mark.parametrize(("kind", "metric"), [("knowledge", "mrr"), ("homogeneous", "auroc")])
def test_the_network_of_the_best_validation_is_kept(kind, metric, learn, tmp_path, request):
    dataset, heard = request.getfixturevalue(kind), []
    folder = learn(tmp_path / "run", dataset, heard.append, epochs=6, learning_rate=0.05, average=0.0)
    assert [entry["epoch"] for entry in heard] == [1, 2, 3, 4, 5, 6]
    assert [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()] == heard
    best = max(heard, key=lambda entry: entry["valid"][metric])  # the first of equal ones
    assert best is not heard[-1], "the last epoch is the best one: choose another seed, so that the test can fail"
    assert folder.manifest["metrics"] == {key: best[key] for key in ("epoch", "step", "valid")}
    # The kept network is the one of that epoch, and gives those metrics.
    learn(tmp_path / "shorter", dataset, epochs=int(best["epoch"]), learning_rate=0.05, average=0.0)
    parameters, _ = read_tensors(tmp_path / "shorter" / "checkpoint.safetensors")
    network = folder.network(folder.dataset())
    assert all(torch.equal(tensor, parameters[name]) for name, tensor in network.state_dict().items())
    scorer = NetworkScorer(network, dataset.train.message_csr)
    assert evaluate(scorer, dataset, "valid").metrics.to_dict() == best["valid"]


def test_the_average_is_what_is_validated_and_kept(learn, tmp_path, knowledge):
    heard = []
    folder = learn(tmp_path / "run", knowledge, heard.append, epochs=1, average=0.5)
    tensors, _ = read_tensors(tmp_path / "run" / "checkpoint.safetensors")
    kept = folder.network(knowledge)
    for name, tensor in kept.state_dict().items():
        assert torch.equal(tensor, tensors[f"average/{name}"]) and not torch.equal(tensor, tensors[name])
    scorer = NetworkScorer(kept, knowledge.train.message_csr)
    assert evaluate(scorer, knowledge, "valid").metrics.to_dict() == heard[0]["valid"]


def test_a_network_learns(learn, tmp_path, graph_of, dataset_of):
    """Of a cycle the next node is known: two relations that are each other's inverse give every answer away."""
    cycle = [[[i, 0, (i + 1) % 12], [(i + 1) % 12, 1, i]] for i in range(12)]
    graph = graph_of(12, 2, [fact for both in cycle for fact in both])
    dataset = dataset_of(graph, valid=graph.triplets.take(np.arange(8)))
    heard = []
    learn(tmp_path / "run", dataset, heard.append, epochs=25, learning_rate=0.02, model={"dim": 8})
    assert heard[-1]["loss"] < heard[0]["loss"] / 2


@pytest.mark.parametrize(("batches", "validations"), [(42, 14), (3, 1), (3, 2), (3, 7), (10, 4)])
def test_validations_stand_at_equal_distances(batches, validations, learn, tmp_path, graph_of, dataset_of):
    graph = graph_of(12, 1, [[i % 12, 0, (5 * i + i // 12) % 12] for i in range(batches)])
    dataset = dataset_of(graph)
    heard = []
    model = {"dim": 2, "layers": 1}
    learn(tmp_path / "run", dataset, heard.append, model, batch_size=1, epochs=2, validations_per_epoch=validations)
    ends = sorted({-(-batches * part // validations) for part in range(1, validations + 1)})
    assert [entry["step"] for entry in heard] == [*ends, *(batches + end for end in ends)]
    assert [entry["epoch"] for entry in heard] == pytest.approx([entry["step"] / batches for entry in heard])


def test_the_loss_is_the_mean_over_the_links(learn, tmp_path, knowledge):
    """Of 25 links in batches of 8 the last batch has one: a mean over batches would be another."""
    heard, losses = [], []
    learn(tmp_path / "whole", knowledge, heard.append, epochs=1)
    learn(tmp_path / "steps", knowledge, losses.append, epochs=1, validations_per_epoch=4)
    assert [entry["step"] for entry in losses] == [1, 2, 3, 4]
    mean = np.average([entry["loss"] for entry in losses], weights=[8, 8, 8, 1])
    assert heard[0]["loss"] == pytest.approx(mean, rel=1e-6)


def test_without_valid_links_the_last_network_is_kept(learn, tmp_path, knowledge):
    dataset = dataclasses.replace(knowledge, valid=Triplets.empty())
    folder = learn(tmp_path / "run", dataset, epochs=2, average=0.0)
    parameters, _ = read_tensors(tmp_path / "run" / "checkpoint.safetensors")
    network = folder.network(dataset)
    assert all(torch.equal(tensor, parameters[name]) for name, tensor in network.state_dict().items())
    assert folder.manifest["metrics"]["epoch"] == 2 and folder.manifest["metrics"]["valid"] == {}


def test_a_sample_of_the_valid_links(learn, tmp_path, knowledge):
    heard = {}
    for sample in (None, 2, 100):
        listener = heard.setdefault(sample, []).append
        learn(tmp_path / str(sample), knowledge, listener, epochs=1, validation_sample=sample)
    assert heard[None][0]["valid"] == heard[100][0]["valid"] != heard[2][0]["valid"]


class Line:
    """Counts the lines that some modules run, and does something at one of them."""

    def __init__(self, modules, at=None, act=None):
        self.files = {module.__file__ for module in modules}
        self.at, self.act, self.count = at, act, 0

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

    def trace(self, frame, event, argument):
        if frame.f_code.co_filename not in self.files:
            return None
        if event == "line":
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                self.act()
        return self.trace


STRIDE = 8  # every line would take a minute
MODULES = (nbfnet.training.loop, nbfnet.training.checkpoint, nbfnet.training.interrupt)


def test_ctrl_c_at_any_line(learn, outcome, tmp_path, graph_of, rows_of, dataset_of):
    """Two epochs of two batches, stopped at one line after another of what trains, gone on with: the same bits."""
    rows = rows_of(5, 8, 1, 10)
    graph = graph_of(8, 1, rows[:6])
    dataset = dataset_of(graph, valid=Triplets.of(*np.array(rows[6:]).T))
    options = {"model": {"dim": 2, "layers": 1, "hidden": []}, "batch_size": 3, "epochs": 2}
    with Line(MODULES) as lines:
        learn(tmp_path / "whole", dataset, **options)
    expected = outcome(tmp_path / "whole")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    stopped = 0
    try:
        for at in range(1, lines.count, STRIDE):
            path = tmp_path / str(at)
            try:
                with Line(MODULES, at, lambda: signal.raise_signal(signal.SIGINT)):
                    learn(path, dataset, **options)
            except KeyboardInterrupt:
                stopped += 1
            assert not list(path.glob("*.part"))
            learn(path, dataset, **({} if path.exists() else options))
            assert outcome(path) == expected, f"stopped at line {at} of {lines.count}"
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped == len(range(1, lines.count, STRIDE))


def test_ctrl_c_while_validating_is_followed_by_that_validation(learn, outcome, tmp_path, knowledge, monkeypatch):
    learn(tmp_path / "whole", knowledge, epochs=2, validations_per_epoch=2)

    def press(*arguments, **options):
        raise KeyboardInterrupt

    for _ in range(2):  # also again, at the same place
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(nbfnet.training.validation, "evaluate", press)
            learn(tmp_path / "stopped", knowledge, epochs=2, validations_per_epoch=2)
        assert read_tensors(tmp_path / "stopped" / "checkpoint.safetensors")[1]["step"] == 2
    learn(tmp_path / "stopped", knowledge)
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def press_unheard() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        press()


def press_as_another_error() -> None:
    press_unheard()
    raise TypeError("a KeyboardInterrupt that compiled code did not hand on")


@pytest.mark.parametrize("pressed", [press, press_unheard, press_as_another_error])
@pytest.mark.parametrize("where", ["compute_gradients", "evaluate"])
def test_ctrl_c_that_compiled_code_spoils(learn, outcome, tmp_path, knowledge, monkeypatch, pressed, where):
    """What was computed while it came is not used; what was done before is saved."""
    learn(tmp_path / "whole", knowledge, epochs=2, validations_per_epoch=2)
    owner = nbfnet.training.validation if where == "evaluate" else Optimization
    calls, original = [], getattr(owner, where)

    def spoiled(*arguments, **options):
        result = original(*arguments, **options)
        calls.append(1)
        if len(calls) == 2:
            pressed()
        return result

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(owner, where, spoiled)
            learn(tmp_path / "run", knowledge, epochs=2, validations_per_epoch=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) == 2
    steps = [read_tensors(tmp_path / name / "checkpoint.safetensors")[1]["step"] for name in ("run", "whole")]
    assert steps[0] == (steps[1] // 2 if where == "evaluate" else 1)
    learn(tmp_path / "run", knowledge)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_an_error_within_a_step_saves_nothing(learn, outcome, tmp_path, knowledge, monkeypatch):
    """The parameters have moved and the counters have not: such a state is never written, Ctrl-C or not."""
    learn(tmp_path / "whole", knowledge)

    def fails(self, position):
        self.optimizer.step()
        press()
        raise MemoryError

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch, pytest.raises(MemoryError):
            patch.setattr(Optimization, "take_step", fails)
            learn(tmp_path / "run", knowledge)
    finally:
        signal.signal(signal.SIGINT, before)
    learn(tmp_path / "run", knowledge)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_ctrl_c_saves_the_very_moment(learn, tmp_path, knowledge):
    """Between two checkpoints: nothing of what was done is lost."""
    heard = []

    def press(entry):
        heard.append(entry)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            learn(tmp_path / "run", knowledge, press, validations_per_epoch=3)
    finally:
        signal.signal(signal.SIGINT, before)
    _, progress = read_tensors(tmp_path / "run" / "checkpoint.safetensors")
    assert (progress["step"], progress["batch"], len(heard)) == (2, 2, 1)
    assert progress["log_bytes"] == (tmp_path / "run" / "log.jsonl").stat().st_size > 0


def test_a_learning_rate_out_of_all_bounds(learn, tmp_path, knowledge):
    with pytest.raises(TrainingError, match=r"epoch 1, batch 2 \(step 2\): .*--set training.learning_rate=5e\+29"):
        learn(tmp_path / "run", knowledge, learning_rate=1e30, checkpoint_minutes=1e-9)
    check_that_all_is_finite(tmp_path / "run", knowledge)


def test_a_validation_that_meets_broken_numbers(learn, tmp_path, knowledge):
    """One batch an epoch: nothing but the validation sees what the step has done."""
    with pytest.raises(TrainingError, match=r"validation after epoch 1, batch 1 \(step 1\): .*not a number"):
        learn(tmp_path / "run", knowledge, learning_rate=1e30, batch_size=100, checkpoint_minutes=1e-9)
    check_that_all_is_finite(tmp_path / "run", knowledge)


def check_that_all_is_finite(path: Path, dataset):
    folder = RunFolder.open(path)
    for name in ("model.safetensors", "checkpoint.safetensors"):
        assert all(tensor.isfinite().all() for tensor in read_tensors(path / name)[0].values())
    assert folder.network(dataset) is not None


def test_a_poisoned_checkpoint(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1)
    model = (tmp_path / "run" / "model.safetensors").read_bytes()
    file = tmp_path / "run" / "checkpoint.safetensors"
    tensors, progress = read_tensors(file)
    tensors["indicator.query.weight"][0, 0] = float("nan")
    write_tensors(file, tensors, progress)
    poisoned = file.read_bytes()
    with pytest.raises(TrainingError, match=r"epoch 2, batch 1 \(step 5\): the loss is nan"):
        learn(tmp_path / "run", knowledge, epochs=2, checkpoint_minutes=1e-9)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == model
    assert file.read_bytes() == poisoned


def test_too_few_pairs_to_validate_against_are_known_before(learn, tmp_path, graph_of, dataset_of):
    pairs = [[u, 0, v] for u in range(5) for v in range(u)]
    graph = graph_of(5, 1, pairs[:6], kind="homogeneous")
    dataset = dataset_of(graph, valid=Triplets.of(*np.array(pairs[6:]).T))
    with pytest.raises(DatasetError, match="pairs of nodes without an edge"):
        learn(tmp_path / "run", dataset)
    assert not (tmp_path / "run").exists()


def test_a_training_whose_log_is_gone_is_refused(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1)
    (tmp_path / "run" / "log.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"log\.jsonl"):
        learn(tmp_path / "run", knowledge, epochs=2)


def test_a_folder_is_trained_in_by_one_process_at_a_time(learn, tmp_path, knowledge):
    learn(tmp_path / "run", knowledge, epochs=1)
    before = {file: file.read_bytes() for file in (tmp_path / "run").glob("*.*")}
    with (
        alone_in(tmp_path / "run", wait=False),
        pytest.raises(RunFolderError, match="another process is training in this folder"),
    ):
        learn(tmp_path / "run", knowledge, epochs=2)
    assert {file: file.read_bytes() for file in (tmp_path / "run").glob("*.*")} == before
    learn(tmp_path / "run", knowledge, epochs=2)


def test_what_was_trained_is_validated_however_little_time_there_is(tmp_path, knowledge, monkeypatch):
    """A process that was stopped while it validated has spent its time, and has no network to show yet."""
    folder, config, _ = begin(tmp_path / "run", knowledge, {"training": {"epochs": 2}})

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("nbfnet.training.validation.evaluate", stop)
        train(folder, knowledge, config, listener=lambda entry: None, stop_after=1e-9)
    assert folder.manifest["metrics"] == {}
    train(folder, knowledge, config, listener=lambda entry: None, stop_after=1e-9)
    assert folder.manifest["metrics"]["epoch"] == 1
