"""Several processes that share a training or an evaluation give what one process gives."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

from nbfnet.distributed import ALONE, Team, gather_team
from nbfnet.errors import TeamError
from nbfnet.training.checkpoint import read_progress, read_tensors
from nbfnet.training.log import read_log
from nbfnet.training.run_folder import RunFolder

TIMEOUT = 180  # seconds; a busy machine must not fail a test


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_shares_of_a_team_cover_everything_once(size):
    for count in (0, 1, 2, 6, 7, 100):
        shares = [Team(rank, size).share(count) for rank in range(size)]
        assert [i for share in shares for i in range(count)[share]] == list(range(count))
        lengths = [share.stop - share.start for share in shares]
        assert max(lengths) - min(lengths) <= 1


def test_a_team_of_one_needs_no_other():
    tensor, counts = torch.ones(3), np.array([1, 2])
    ALONE.add(tensor)
    ALONE.add_counts(counts)
    ALONE.wait()
    assert tensor.tolist() == [1, 1, 1] and counts.tolist() == [1, 2]
    assert ALONE.leads and not Team(1, 2).leads


GRADIENTS = """
import pickle, sys
import numpy as np
import torch
from nbfnet.config import ModelConfig, TrainingConfig
from nbfnet.distributed import gather_team
from nbfnet.evaluation.filtering import RankingProtocol
from nbfnet.evaluation.ranks import rank_links
from nbfnet.evaluation.scorer import NetworkScorer, score_in_batches
from nbfnet.graph.loading import load
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.training.batches import make_batches
from nbfnet.training.step import Optimization

source, out = sys.argv[1:]
graph = load(source).train
found = []
with gather_team() as team:
    loss = "binary" if graph.kind == "homogeneous" else "softmax"
    cases = ((16, None, "binary"), (7, 0.5, "binary"), (1, None, loss), (1000, 1.0, "binary"), (19, None, loss))
    for batch_size, temperature, loss in cases:
        torch.manual_seed(0)
        config = TrainingConfig(batch_size=batch_size, negatives=4, temperature=temperature, loss=loss)
        model = ModelConfig(dim=4, layers=2, hidden=(4,), symmetric=graph.kind == "homogeneous")
        network = NeuralBellmanFordNetwork(model, graph.num_relation_ids).double()
        optimization, epochs = Optimization(network, graph, config, team), make_batches(graph, config)
        for number in sorted({0, epochs.length - 1}):
            loss = optimization.compute_gradients(epochs.batch(0, number))
            found.append([loss, *(parameter.grad.numpy() for parameter in network.parameters())])
    scorer = NetworkScorer(network, graph.message_csr)
    if graph.kind == "knowledge":
        protocol = RankingProtocol.of(load(source), "test")
        options = {"batch_size": 3, "progress": lambda share: None, "team": team}
        ranks = rank_links(scorer, protocol.links, protocol.filter, **options).both
        found.append([ranks.better, ranks.tied, ranks.negatives])
    else:
        pairs = np.arange(graph.num_nodes, dtype=np.int32)
        asked = pairs[::-1].copy(), np.zeros_like(pairs), pairs[:, None]
        found.append([score_in_batches(scorer, *asked, 3, team, lambda share: None)])
with open(f"{out}-{team.rank}", "wb") as file:
    pickle.dump(found, file)
"""


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_gradients_and_ranks_of_a_team(kind, commands, small, tmp_path):
    """Batches of 16, of 7 with an odd last one, of a single link, and one of everything; both losses."""
    script = tmp_path / "gradients.py"
    script.write_text(GRADIENTS)
    assert commands.run(getattr(small, kind), tmp_path / "alone", script=script).err == ""
    team = commands.run_team(2, getattr(small, kind), tmp_path / "team", script=script)
    assert [ended.code for ended in team] == [0, 0], team
    expected, *members = (np.load(tmp_path / name, allow_pickle=True) for name in ("alone-0", "team-0", "team-1"))
    assert len(expected) == 10
    for member in members:
        for left, right in zip(expected[:-1], member[:-1], strict=True):
            assert left[0] == pytest.approx(right[0], rel=1e-12)
            for a, b in zip(left[1:], right[1:], strict=True):
                assert np.allclose(a, b, rtol=1e-9, atol=1e-14)
        for a, b in zip(expected[-1], member[-1], strict=True):
            assert np.array_equal(a, b) if kind == "knowledge" else np.allclose(a, b, rtol=1e-12, atol=0)


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
@pytest.mark.parametrize("batch_size", [16, 59])
def test_a_training_of_a_team(kind, batch_size, commands, small, tmp_path):
    """60 links in batches of 59 end with a single one; 41 edges in batches of 16 with nine."""
    options = [*small.options, "--set", f"training.batch_size={batch_size}", "--epochs", "2", "--json"]
    alone = commands.run("train", getattr(small, kind), "-o", tmp_path / "alone", *options)
    leader, other = commands.run_team(2, "train", getattr(small, kind), "-o", tmp_path / "team", *options)
    assert (alone.code, leader.code, other.code) == (0, 0, 0), (alone, leader, other)
    assert (other.out, other.err) == ("", "")
    assert leader.err.count("epoch 1  loss") == 1
    metrics = [json.loads(ended.out)["best"]["valid"] for ended in (alone, leader)]
    assert metrics[0] == pytest.approx(metrics[1], rel=1e-6)
    left, right = (read_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("alone", "team"))
    for name, tensor in left.items():
        assert torch.allclose(tensor, right[name], rtol=1e-4, atol=1e-6), name


def test_a_recipe_of_a_team(commands, small, tmp_path):
    """Softmax, decay and average: the same network as one process has."""
    keys = {
        "loss": "softmax",
        "schedule": "cosine",
        "average": 0.9,
    }
    recipe = [part for key, value in keys.items() for part in ("--set", f"training.{key}={value}")]
    options = [*small.options, *recipe, "--epochs", "3", "--json"]
    alone = commands.run("train", small.knowledge, "-o", tmp_path / "alone", *options)
    team = commands.run_team(2, "train", small.knowledge, "-o", tmp_path / "team", *options)
    assert [ended.code for ended in (alone, *team)] == [0, 0, 0], (alone, team)
    left, right = (read_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("alone", "team"))
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert torch.allclose(tensor, right[name], rtol=1e-4, atol=1e-6), name


def test_a_budget_of_a_team(commands, small, tmp_path):
    """The leader's clock counts: processes that planned for themselves would wait for each other without end."""
    options = [*small.options, "--set", "training.validation_sample=3", "--hours", "0.002", "--json"]
    team = commands.run_team(2, "train", small.knowledge, "-o", tmp_path / "run", *options)
    assert [ended.code for ended in team] == [0, 0], team
    progress = read_progress(tmp_path / "run")
    assert progress.plan["finished"] and progress.step == progress.plan["steps"]
    assert read_log(tmp_path / "run")[-1]["links"] > 3  # more than the samples: all 8, or what a busy machine can rank


def test_a_team_goes_on_where_one_process_stopped(commands, small, tmp_path):
    options = [small.knowledge, *small.options]
    assert commands.run("train", *options, "-o", tmp_path / "alone", "--epochs", "2").code == 0
    assert commands.run("train", *options, "-o", tmp_path / "both", "--epochs", "1").code == 0
    ended = commands.run_team(2, "train", *options, "-o", tmp_path / "both", "--epochs", "2", "--resume")
    assert [member.code for member in ended] == [0, 0], ended
    left, right = (read_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("alone", "both"))
    for name, tensor in left.items():
        assert torch.allclose(tensor, right[name], rtol=1e-4, atol=1e-6), name
    assert RunFolder.open(tmp_path / "both").config().training.epochs == 2


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous", "inductive"])
def test_an_evaluation_of_a_team(kind, commands, small, tmp_path):
    run = tmp_path / "run"
    assert commands.run("train", getattr(small, kind), "-o", run, *small.options, "--epochs", "1").code == 0
    alone = commands.run("evaluate", run, "--json", "--baselines")
    leader, other = commands.run_team(2, "evaluate", run, "--json", "--baselines")
    assert (leader.code, other.code, other.out, other.err) == (0, 0, "", ""), (leader, other)
    expected, document = json.loads(alone.out), json.loads(leader.out)
    for part in (expected, document):
        part.pop("seconds")
    assert document["queries"] == expected["queries"]
    assert document["metrics"] == pytest.approx(expected["metrics"], abs=1e-6)
    assert document == expected


def test_a_team_reproduces_what_one_process_does(commands, small, tmp_path):
    experiment = tmp_path / "tiny.toml"
    experiment.write_text(
        f'[experiment]\nsource = "{small.knowledge}"\ntable = "mine"\nseeds = [3, 4]\npaper = {{ mrr = 0.5 }}\n'
        "[model]\ndim = 4\nlayers = 2\nhidden = [4]\n[training]\nepochs = 2\nbatch_size = 16\nnegatives = 4\n"
    )
    for epochs in ("1", "2"):  # begun, and gone on with
        folders = [["--runs", tmp_path / name, "--results", tmp_path / f"{name}-results"] for name in ("alone", "team")]
        alone = commands.run("reproduce", experiment, "--epochs", epochs, "--json", *folders[0])
        leader, other = commands.run_team(2, "reproduce", experiment, "--epochs", epochs, "--json", *folders[1])
        assert (alone.code, leader.code, other.code, other.out) == (0, 0, 0, ""), (alone, leader, other)
        means = [json.loads(ended.out)["mean"] for ended in (alone, leader)]
        assert means[0] == pytest.approx(means[1], rel=1e-5)
        for seed in (3, 4):
            assert len((tmp_path / "team" / f"tiny-seed{seed}" / "log.jsonl").read_text().splitlines()) == int(epochs)


def test_what_stops_one_process_is_no_traceback_in_the_others(commands, small, tmp_path):
    options = ["train", small.knowledge, *small.options, "-o", tmp_path / "run", "--epochs", "1"]
    assert commands.run(*options).code == 0
    for ended in commands.run_team(2, *options):
        assert (ended.code, ended.err.count("Error: "), "Traceback" in ended.err) == (2, 1, False), ended
        assert "this run exists already" in ended.err
    # Scores of one process's share alone are no numbers; what the other one waits for never comes.
    script = tmp_path / "stops.py"
    script.write_text(
        "from nbfnet.distributed import gather_team\nfrom nbfnet.errors import TeamError, TrainingError\n"
        "try:\n    with gather_team() as team:\n        if team.rank == 1:\n            raise TrainingError('mine')\n"
        "        team.wait()\nexcept (TeamError, TrainingError) as error:\n    print(error)\n"
    )
    leader, other = commands.run_team(2, script=script)
    assert other.out == "mine\n"
    assert "another process" in leader.out, leader


@pytest.mark.parametrize("stated", [{"WORLD_SIZE": "2"}, {"WORLD_SIZE": "two", "RANK": "0"}, {"WORLD_SIZE": ""}])
def test_half_a_team_is_told_what_is_missing(monkeypatch, stated):
    """As launchers of clusters leave it behind."""
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in stated.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(TeamError, match=r"WORLD_SIZE is .*MASTER_PORT: start the processes with torchrun"),
        gather_team(),
    ):
        pass


def test_notes_of_a_team_are_shown_once(commands, small, tmp_path):
    (tmp_path / "graph.tsv").write_text((small.knowledge / "valid.txt").read_text() + "bad line\n")
    arguments = ["data", "info", tmp_path / "graph.tsv", "--skip-bad-lines"]
    alone = commands.run(*arguments)
    shown = [commands.run(*arguments, WORLD_SIZE=2, RANK=rank).err for rank in range(2)]
    assert alone.err == shown[0] == "1 bad line skipped\n"
    assert shown[1] == ""


def test_torchrun(commands, small, tmp_path):
    """The real thing, once."""
    options = [*map(str, [small.knowledge, *small.options]), "--epochs", "2", "--json"]
    program = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", "-m", "nbfnet"]
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
    command = [*program, "train", *options, "-o", str(tmp_path / "team")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["run"] == str(tmp_path / "team")
    assert ended.stderr.count("training: epochs") == 1
    assert commands.run("train", *options, "-o", tmp_path / "alone").code == 0
    left, right = (read_tensors(tmp_path / name / "checkpoint.safetensors")[0] for name in ("alone", "team"))
    for name, tensor in left.items():
        assert torch.allclose(tensor, right[name], rtol=1e-4, atol=1e-6), name


@pytest.mark.parametrize(
    "stated",
    [
        {"RANK": "x"},
        {"RANK": "2"},
        {"RANK": "-1"},
        {"RANK": "9" * 6000},
        {"MASTER_PORT": "abc"},
        {"MASTER_PORT": "99999999"},
        {"WORLD_SIZE": "9" * 6000},
        {"WORLD_SIZE": "0"},
        {"WORLD_SIZE": "٢"},
        {"NBFNET_TEAM_SECONDS": "soon"},
        {"NBFNET_TEAM_SECONDS": "nan"},
    ],
    ids=lambda stated: "-".join(f"{key}={value[:9]}" for key, value in stated.items()),
)
def test_an_environment_of_nonsense(monkeypatch, stated):
    whole = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1234"} | stated
    for key, value in whole.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(TeamError, match=next(iter(stated))), gather_team():
        pass


@pytest.mark.parametrize("rank", [0, 1])
def test_a_team_whose_others_never_come(commands, small, tmp_path, rank):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    team = {"WORLD_SIZE": 3, "RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "NBFNET_TEAM_SECONDS": 1}
    ended = commands.run("train", small.knowledge, *small.options, "-o", tmp_path / "run", **team)
    assert ended.code == 2 and "Traceback" not in ended.err
    expected = (
        "only 1 of 3 processes came within 1 seconds" if rank == 0 else "process 1 of 3 could not meet the others"
    )
    assert expected in ended.err, ended.err


MEETING = """
import torch
from nbfnet.distributed import gather_team
from nbfnet.errors import TeamError
try:
    with gather_team() as team:
        ones = torch.ones(1)
        team.add(ones)
        print(team.rank, int(ones))
except TeamError as error:
    print(error)
"""


def test_attempts_that_share_one_server_do_not_meet_each_other(commands, tmp_path):
    """As the agents of torchrun have it: one server for all attempts, and machines that restarted not equally often."""
    script = tmp_path / "meeting.py"
    script.write_text(MEETING)
    server = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    team = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": server.port, "TORCHELASTIC_USE_AGENT_STORE": True}

    def start(rank, restarts, **more):
        return commands.start(
            script=script, RANK=rank, WORLD_SIZE=2, TORCHELASTIC_RESTART_COUNT=restarts, **team, **more
        )

    for rank in (0, 1):  # somebody came, and the other one never did
        alone = start(rank, 0, NBFNET_TEAM_SECONDS=1).wait()
        assert "of 2 processes came within 1 seconds" in alone.out, alone
    for restarts in ((0, 0), (1, 0), (1, 0), (3, 1)):
        members = [start(rank, restarts[rank]) for rank in (0, 1)]
        assert [member.wait().out for member in members] == ["0 2\n", "1 2\n"], restarts
    late = start(1, 5)  # the leader comes last
    assert start(0, 0).wait().out == "0 2\n" and late.wait().out == "1 2\n"
