"""nbfnet train: folders, defaults, overrules, going on, and every mistake by one message."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from nbfnet import progress
from nbfnet.training.checkpoint import read_progress
from nbfnet.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def train(nbfnet, small):
    """Train a small network for one epoch, unless the arguments say otherwise."""

    def train(source, run, *arguments):
        epochs = [] if "--epochs" in arguments else ["--epochs", "1"]
        return nbfnet("train", source, "-o", run, *small.options, *epochs, *arguments)

    return train


@pytest.fixture(scope="module")
def trained(commands, small, tmp_path_factory):
    """A run of one epoch; tests copy it before they change it."""
    run = tmp_path_factory.mktemp("trained") / "run"
    ended = commands.run("train", small.knowledge, "-o", run, *small.options, "--epochs", "1")
    assert ended.code == 0, ended.err
    return run


@pytest.fixture
def run(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous", "inductive"])
def test_a_run_is_trained_and_described(train, small, tmp_path, kind):
    answer = train(getattr(small, kind), tmp_path / "run", "--epochs", "2", "--json")
    best = answer.document["best"]
    assert answer.document["run"] == str(tmp_path / "run")
    assert best["epoch"] in (1, 2) and best["valid"].keys() >= ({"auroc"} if kind == "homogeneous" else {"mrr"})
    [described] = [line for line in answer.err.splitlines() if line.startswith(f"{kind}: {kind}, ")]
    assert "split as given" in described
    assert [line.split()[1] for line in answer.err.splitlines() if line.startswith("epoch ")] == ["1", "2"]
    assert f"only {6 if kind == 'homogeneous' else 8} valid links choose the network" in answer.err
    folder = RunFolder.open(tmp_path / "run")
    assert folder.manifest["metrics"] == best
    assert sorted(entry.name for entry in (tmp_path / "run").iterdir()) == [
        "checkpoint.safetensors",
        "data",
        "log.jsonl",
        "manifest.json",
        "model.safetensors",
    ]


def test_for_people(train, small, tmp_path):
    answer = train(small.knowledge, tmp_path / "run")
    assert answer.code == 0
    assert answer.out.startswith(f"{tmp_path / 'run'}: the best network, after epoch 1\n")
    assert answer.out.endswith(f"next: nbfnet evaluate {tmp_path / 'run'}\n")


def test_the_defaults_are_chosen_from_the_graph_and_printed(nbfnet, small, tmp_path):
    answer = nbfnet("train", small.knowledge, "-o", tmp_path / "a", "--epochs", "0")
    assert "edges independent" in answer.err and "hiding triplet" in answer.err
    assert "negatives 32, " in answer.err and "temperature 1.0, " in answer.err and "symmetric False" in answer.err
    answer = nbfnet("train", small.homogeneous, "-o", tmp_path / "b", "--epochs", "0")
    assert "edges independent" in answer.err and "symmetric True" in answer.err
    assert "negatives 1, " in answer.err and "temperature none, hiding pair" in answer.err


def test_an_untrained_run(train, nbfnet, small, tmp_path):
    answer = train(small.knowledge, tmp_path / "run", "--epochs", "0", "--json")
    assert answer.document == {"run": str(tmp_path / "run"), "best": {}}
    assert nbfnet("info", tmp_path / "run", "--json").document["metrics"] == {}
    assert nbfnet("evaluate", tmp_path / "run", "--json").document["queries"] == 18
    assert nbfnet("info", tmp_path / "run").code == 0
    assert train(small.knowledge, tmp_path / "run", "--resume").code == 0


def test_who_overrules_whom(train, nbfnet, small, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text("[model]\ndim = 6\nlayers = 1\n[training]\nepochs = 7\nseed = 5\nbatch_size = 11\nnegatives = 3\n")

    def config(name, *arguments):
        answer = nbfnet("train", small.knowledge, "-o", tmp_path / name, "--config", file, *arguments)
        assert answer.code == 0, answer.err
        return RunFolder.open(tmp_path / name).config()

    plain = config("a", "--set", "training.epochs=0")
    assert (plain.model.dim, plain.model.layers, plain.model.hidden) == (6, 1, (64,))
    assert (plain.training.epochs, plain.training.seed, plain.training.batch_size) == (0, 5, 11)
    assert plain.training.temperature == 1.0  # of the graph, not of the paper
    settings = ["--set", "model.dim=2", "--set", "training.temperature=none", "--set", "training.epochs=9"]
    overruled = config("b", *settings, "--set", "training.seed=6", "--epochs", "0", "--seed", "8")
    assert (overruled.model.dim, overruled.model.layers) == (2, 1)
    assert (overruled.training.temperature, overruled.training.negatives) == (None, 3)
    assert (overruled.training.epochs, overruled.training.seed) == (0, 8)


def test_wrong_configurations(nbfnet, small, tmp_path):
    file = tmp_path / "my.toml"
    start = ["train", small.knowledge, "-o", tmp_path / "run"]
    file.write_text("[model]\nlayer = 3\n")
    nbfnet(*start, "--config", file).assert_refused("my.toml: unknown key 'model.layer'", "'model.layers'")
    file.write_text("[model\n")
    nbfnet(*start, "--config", file).assert_refused("my.toml: this is not TOML")
    nbfnet(*start, "--config", tmp_path / "gone.toml").assert_refused("gone.toml: No such file")
    nbfnet(*start, "--set", "model.layer=3").assert_refused("unknown key 'model.layer'", "'model.layers'")
    nbfnet(*start, "--set", "model.layers").assert_refused("write a key and a value")
    nbfnet(*start, "--set", "training=3", "--epochs", "1").assert_refused("training = 3: this is a table")
    nbfnet(*start, "--set", "model.message=distmlt").assert_refused("unknown message 'distmlt'", "'distmult'")
    nbfnet(*start, "--set", "model.message=rotate", "--set", "model.dim=5").assert_refused("5")
    for device in ("gpu", "meta"):
        nbfnet(*start, "--set", f"training.device={device}").assert_refused(f"'{device}'", "no such device")
    nbfnet(*start, "--seed", 2**63).assert_refused("training.seed")
    nbfnet(*start, "--epochs", "-1").assert_refused("--epochs")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["my.toml"]


def test_what_does_not_fit_into_memory_is_said(train, small, tmp_path):
    train(small.knowledge, tmp_path / "run", "--set", "model.dim=4000000").assert_refused(
        "not enough memory", "model.dim"
    )


def test_to_go_on_where_nothing_was_begun_is_to_begin(train, small, tmp_path):
    answer = train(small.knowledge, tmp_path / "new", "--resume")
    assert answer.code == 0
    assert "starting one" in answer.err


def test_an_existing_folder_is_refused_and_left_alone(train, small, run, listing):
    before = listing(run)
    train(small.knowledge, run).assert_refused("this run exists already", str(run), "--resume")
    assert listing(run) == before


def test_going_on(train, nbfnet, small, run, listing, tmp_path):
    before = listing(run)
    train(small.homogeneous, run, "--resume").assert_refused("begun with another graph (knowledge)")
    train(small.knowledge, run, "--resume", "--set", "model.dim=5").assert_refused("cannot change model")
    train(small.knowledge, run, "--resume", "--seed", "3").assert_refused("cannot change training.seed")
    train(small.knowledge, run, "--resume", "--epochs", "0").assert_refused("has done 1 epochs", "0 in all")
    train(small.knowledge, small.knowledge, "--resume").assert_refused("has no manifest.json")
    assert listing(run) == before
    assert nbfnet("train", small.knowledge, "-o", run, "--resume").code == 0  # it is finished
    assert listing(run) == before
    assert nbfnet("train", small.knowledge, "-o", run, "--resume", "--epochs", "3").code == 0
    assert [json.loads(line)["epoch"] for line in (run / "log.jsonl").read_text().splitlines()] == [1, 2, 3]
    assert RunFolder.open(run).config().training.epochs == 3


def test_a_split_by_the_seed_is_made_again(train, nbfnet, triplets, tmp_path):
    """A file without a split: to go on its split must be the same, so the seed comes from the run."""
    assert train(triplets, tmp_path / "run", "--seed", "4").code == 0
    answer = nbfnet("train", triplets, "-o", tmp_path / "run", "--resume", "--epochs", "2")
    assert answer.code == 0, answer.err
    assert "90:5:5 by pairs of nodes, leak-free, seed 4" in answer.err
    train(triplets, tmp_path / "run", "--resume", "--seed", "5").assert_refused("another graph", "--seed")


def damage(run: Path, how: str) -> None:
    model, checkpoint = run / "model.safetensors", run / "checkpoint.safetensors"
    manifest = run / "manifest.json"
    for name, file in (("model", model), ("checkpoint", checkpoint)):
        content = file.read_bytes()
        match how.removeprefix(f"{name} "):
            case "flipped":
                place = len(content) // 2
                file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            case "flipped at the end":
                file.write_bytes(content[:-1] + bytes([content[-1] ^ 0x80]))
            case "truncated":
                file.write_bytes(content[:-10])
            case "empty":
                file.write_bytes(b"")
            case "missing":
                file.unlink()
            case "foreign":
                file.write_bytes(b"\x80\x04N.")  # a pickle
    match how:
        case "model for checkpoint":
            checkpoint.write_bytes(model.read_bytes())
        case "checkpoint for model":
            model.write_bytes(checkpoint.read_bytes())
        case "manifest missing":
            manifest.unlink()
        case "manifest no JSON":
            manifest.write_text("{")
        case "manifest no object":
            manifest.write_text("[]")
        case "manifest of another version":
            manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 2'))
        case "manifest without configuration":
            manifest.write_text(manifest.read_text().replace('"config"', '"konfig"'))
        case "manifest with a wrong value":
            manifest.write_text(manifest.read_text().replace('"layers": 2', '"layers": "two"'))
        case "manifest of a larger network":
            manifest.write_text(manifest.read_text().replace('"layers": 2', '"layers": 3'))
        case "log":
            (run / "log.jsonl").write_text("no JSON\n")
        case "data":
            (run / "data" / "store.json").write_text("{}")


READ_BY_ALL = [
    *("manifest missing", "manifest no JSON", "manifest no object", "manifest of another version"),
    *("manifest without configuration", "manifest with a wrong value", "manifest of a larger network"),
]
MODEL = [f"model {how}" for how in ("flipped", "flipped at the end", "truncated", "empty", "missing", "foreign")]


@pytest.mark.parametrize("how", [*READ_BY_ALL, *MODEL, "checkpoint for model", "data"])
def test_damaged_runs_are_refused_by_readers(nbfnet, run, how):
    damage(run, how)
    for command in ("info", "evaluate"):
        nbfnet(command, run, "--json").assert_refused(str(run))


@pytest.mark.parametrize(
    "how", [*READ_BY_ALL, *(how.replace("model", "checkpoint") for how in MODEL), "model for checkpoint", "log"]
)
def test_damaged_runs_are_refused_by_training(nbfnet, small, run, how, listing):
    damage(run, how)
    before = listing(run)
    answer = nbfnet("train", small.knowledge, "-o", run, "--resume", "--epochs", "1")
    answer.assert_refused(str(run))
    assert "what to do: " in answer.err or "manifest.json: " in answer.err
    assert listing(run) == before


def test_a_damaged_log_is_named(nbfnet, run):
    damage(run, "log")
    nbfnet("info", run).assert_refused("log.jsonl: line 1 is not that of a validation")


def write(folder: Path, **parts: str) -> Path:
    folder.mkdir()
    for part, text in parts.items():
        (folder / f"{part}.txt").write_text(text)
    return folder


def test_graphs_that_cannot_be_learned(train, tmp_path):
    ring = "".join(f"e{i}\tr\te{(i + 1) % 6}\n" for i in range(6))
    complete = "".join(f"e{u}\tr\te{v}\n" for u in range(4) for v in range(4))
    cases = [
        ({"train": ring, "valid": "e0\tunseen\te3\n"}, ["1 valid links", "the first is 'e0', 'unseen', 'e3'"]),
        ({"train": ring, "test": "e0\tnever\te3\n"}, ["1 test links", "'never'"]),
        ({"train": complete, "valid": "e0\tr\te1\n"}, ["no training fact has a wrong answer"]),
        ({"train": "e0\tr\te0\n", "valid": "e0\tr\te0\n"}, ["a single entity"]),
        ({"train": "", "valid": "e0\tr\te1\n"}, ["train.txt"]),
        ({"train": "0 1\n0 2\n1 2\n", "valid": "0 1\n"}, ["an edge joins every pair"]),
    ]
    for number, (parts, words) in enumerate(cases):
        train(write(tmp_path / str(number), **parts), tmp_path / "run").assert_refused(*words)
        assert not (tmp_path / "run").exists()
    train(tmp_path / "gone.tsv", tmp_path / "run").assert_refused("gone.tsv")


def test_a_graph_of_one_edge(train, nbfnet, tmp_path):
    folder = write(tmp_path / "one", train="a\tr\tb\n", valid="b\tr\ta\n", test="b\tr\tb\n")
    assert train(folder, tmp_path / "run").code == 0
    assert nbfnet("evaluate", tmp_path / "run", "--json").document["queries"] == 2


def test_without_valid_links(train, nbfnet, small, tmp_path):
    folder = write(tmp_path / "a", train=(small.knowledge / "train.txt").read_text(), test="e0\tr0\te5\n")
    answer = train(folder, tmp_path / "run", "--epochs", "2", "--json")
    assert answer.document["best"]["valid"] == {} and answer.document["best"]["epoch"] == 2
    assert "there are no valid links: the network of the last epoch is kept" in answer.err
    nbfnet("evaluate", tmp_path / "run", "--split", "valid").assert_refused("there are no valid links to evaluate on")
    assert nbfnet("evaluate", tmp_path / "run", "--json").document["queries"] == 2
    assert nbfnet("info", tmp_path / "run").out.endswith("Last network, after epoch 2 of 2\n")
    answer = train(folder, tmp_path / "people")
    assert answer.out.startswith(f"{tmp_path / 'people'}: the last network, after epoch 1\n")


def test_weights_are_said_to_be_unused(train, small, tmp_path):
    lines = (small.knowledge / "train.txt").read_text().splitlines()
    weighted = "".join(f"{line}\t{number}.5\n" for number, line in enumerate(lines))
    folder = write(tmp_path / "a", train=weighted, test="e0\tr0\te5\n")
    answer = train(folder, tmp_path / "run")
    assert answer.code == 0, answer.err
    assert "a network learns from its links alone" in answer.err


@pytest.mark.parametrize("extra", [[], ["--set", "training.batch_size=100"]])
def test_numbers_that_break(train, nbfnet, small, tmp_path, extra):
    """With one batch an epoch it is the validation that meets them."""
    settings = ["--set", "training.learning_rate=1e30", "--set", "training.checkpoint_minutes=1e-9"]
    train(small.knowledge, tmp_path / "run", *settings, *extra).assert_refused(
        "epoch 1, batch", "step", "lower learning"
    )
    assert nbfnet("evaluate", tmp_path / "run", "--json").document["metrics"]["mrr"] > 0


def test_a_picture_of_the_learning_curves(train, nbfnet, small, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib to draw")
    for kind in ("knowledge", "homogeneous"):
        assert train(getattr(small, kind), tmp_path / kind, "--epochs", "2", "--plot").code == 0
        picture = (tmp_path / kind / "curves.png").read_bytes()
        assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5000
    assert train(small.knowledge, tmp_path / "none", "--epochs", "0", "--plot").code == 0


def test_a_picture_without_matplotlib_is_refused_before_the_work(train, small, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    without = lambda name, *rest: None if name == "matplotlib" else find(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", without)
    train(small.knowledge, tmp_path / "run", "--plot").assert_refused("matplotlib", "pip install '.[plot]'")
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="uses a terminal as Unix has them")
def test_bars_are_for_terminals(train, small, tmp_path, monkeypatch):
    import pty

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0.0)
    terminal, end = pty.openpty()
    shown = bytearray()

    def read():
        while True:
            try:
                shown.extend(os.read(terminal, 65536))
            except OSError:  # the way Linux says that the other end is closed
                return

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(end, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        patch.setattr("nbfnet.training.loop.Optimization.take_step", slowly)
        answer = train(small.knowledge, tmp_path / "run", "--json", "--set", "training.batch_size=20", "--epochs", "2")
    reader.join()
    os.close(terminal)
    text = shown.decode()
    assert answer.document["best"]["epoch"] in (1, 2)  # nothing else is on standard output
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert re.search(r"epoch 2/2  loss 0\.\d{4}  [\d.,]+ queries/s  mrr 0\.\d{4} \S+ +\d+% \d:\d\d:\d\d", plain), plain
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is back
    assert "epoch 1  loss" in text
    silent = train(small.knowledge, tmp_path / "silent")
    assert "epoch 1/2" not in silent.err and "\x1b" not in silent.err


def slowly(optimization, position):
    optimization.optimizer.step()
    time.sleep(0.6)  # a bar is drawn a few times a second


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_sigterm_saves_a_checkpoint_as_ctrl_c_does(commands, small, tmp_path):
    run, arguments = tmp_path / "run", ["train", small.knowledge, *small.options, "--epochs", "100000"]
    running = commands.start(*arguments, "-o", run)
    until = time.monotonic() + 120
    while not ((run / "log.jsonl").exists() and (run / "log.jsonl").read_bytes().count(b"\n") >= 2):
        assert running.code() is None and time.monotonic() < until
        time.sleep(0.01)
    running.send(signal.SIGTERM)
    ended = running.wait()
    assert ended.code == 143
    assert "the same command with --resume continues" in ended.err and "Traceback" not in ended.err
    steps = read_progress(run).step
    assert steps > 0
    done = read_progress(run).epoch
    resumed = commands.run(*arguments[:-1], str(done + 1), "-o", run, "--resume")
    assert resumed.code == 0
    assert f"resuming after {steps:,} steps, in epoch {done + 1} of {done + 1}" in resumed.err


def test_a_run_says_where_it_comes_from(nbfnet, train, small, tmp_path):
    run = tmp_path / "run"
    train(small.knowledge, run)
    made_by = RunFolder.open(run).manifest["made_by"]
    assert made_by["source"] == str(small.knowledge) and made_by["nbfnet"] == version("nbfnet")
    assert datetime.fromisoformat(made_by["date"]).tzinfo is not None
    assert "train" in made_by["command"]
    shown = nbfnet("info", run).out
    assert f"source: {small.knowledge}" in shown and "relations: r" in shown
    assert list(nbfnet("info", run, "--json").document["graph"]["relation_names"]) != []


def test_a_network_that_learned_nothing_is_told(nbfnet, tmp_path):
    """Random links: there is nothing to learn."""
    random = np.random.default_rng(0)
    file = tmp_path / "noise.tsv"
    file.write_text("".join(f"e{h}\tr\te{t}\n" for h, t in random.integers(0, 300, (600, 2))))
    settings = ["--set", "training.learning_rate=1e-30", "--set", "model.layers=2", "--epochs", "1"]
    assert "it has learned nothing" in nbfnet("train", file, "-o", tmp_path / "run", *settings).err


def test_what_was_chosen_and_why(train, small, tmp_path):
    said = train(small.knowledge, tmp_path / "run", "--set", "training.hiding=pair").err
    lines = [line for line in said.splitlines() if line.startswith("chosen: ")]
    assert any(re.match(r"chosen: model\.edges = independent: \d+ relations with ", line) for line in lines)
    assert not any("training.batch_size = 16:" in line or "training.patience" in line for line in lines)
    assert "chosen: " not in train(small.knowledge, tmp_path / "run", "--epochs", "2", "--resume").err


def test_a_budget_of_seconds(nbfnet, small, tmp_path):
    answer = nbfnet("train", small.knowledge, "-o", tmp_path / "run", *small.options, "--hours", "0.001", "--json")
    assert answer.document["best"]["valid"]["mrr"] > 0
    assert "chosen: training.schedule = cosine: the learning rate falls" in answer.err
    assert "found no better network" not in answer.err
    plan = read_progress(tmp_path / "run").plan
    assert plan["budget"] == 3.6 and plan["finished"]
    again = nbfnet("train", small.knowledge, "-o", tmp_path / "run", "--resume", "--json")
    assert again.document == answer.document


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hours", "1", "--epochs", "3"], "give one of them"),
        (["--hours", "0"], "training.hours = 0.0"),
        (["--hours", "nan"], "'--hours'"),
    ],
)
def test_budgets_that_cannot_be_kept(nbfnet, small, tmp_path, arguments, message):
    refused = nbfnet("train", small.knowledge, "-o", tmp_path / "run", *arguments)
    assert refused.code == 2 and message in refused.err and not (tmp_path / "run").exists()
