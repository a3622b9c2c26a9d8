"""Trainings under torchrun whose processes are killed, on one machine and on two: restarted, with the same result."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nbfnet.training.checkpoint import read_progress, read_tensors
from nbfnet.training.log import read_log

TIMEOUT = 300  # seconds; a busy machine must not fail a test
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux lists them")
OFTEN = ("--set", "training.checkpoint_minutes=1e-9", "--set", "training.batch_size=4")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


def start(*command: object, prefix: tuple[str, ...] = (), **environment: str) -> subprocess.Popen[str]:
    program = [*prefix, *TORCHRUN, *map(str, command)]
    pipe, one_thread = subprocess.PIPE, dict(os.environ) | {"OMP_NUM_THREADS": "1"} | environment
    return subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, env=one_thread, start_new_session=True)


def finish(process: subprocess.Popen[str]) -> str:
    """What it said; it must have succeeded."""
    with process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, (out, err)
    return err


def workers_of(launcher: subprocess.Popen[str]) -> dict[int, int]:
    """Rank -> process, of the trainings that a launcher has started."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            environment = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        ranks = [int(value[5:]) for value in environment if value.startswith(b"RANK=")]
        if parent == launcher.pid and ranks:
            found[ranks[0]] = int(entry.name)
    return found


def kill_after(run: Path, steps: int, launcher: subprocess.Popen[str], rank: int) -> None:
    """Kill the process of a rank once a checkpoint has so many steps."""
    until = time.monotonic() + TIMEOUT
    while not (run / "checkpoint.safetensors").exists() or read_progress(run).step < steps:
        assert launcher.poll() is None, launcher.communicate()
        assert time.monotonic() < until
        time.sleep(0.002)
    os.kill(workers_of(launcher)[rank], signal.SIGKILL)


def outcome(run: Path) -> dict[str, object]:
    """All that a training gives, to the last bit, without the times."""
    tensors, _ = read_tensors(run / "checkpoint.safetensors")
    manifest = json.loads((run / "manifest.json").read_text())
    log = [{key: value for key, value in line.items() if not key.endswith("seconds")} for line in read_log(run)]
    return {
        "checkpoint": {name: tensor.numpy().tobytes() for name, tensor in tensors.items()},
        "network": (run / "model.safetensors").read_bytes(),
        "metrics": manifest["metrics"],
        "calibration": manifest["calibration"],
        "log": log,
    }


@pytest.fixture(scope="module")
def arguments(small) -> list[str]:
    """A training of 60 steps with a checkpoint before each of them."""
    options = [*small.options, *OFTEN, "--epochs", "4", "--resume"]
    return [*map(str, ["-m", "nbfnet", "train", small.knowledge, *options, "-o"])]


@pytest.fixture(scope="module")
def undisturbed(arguments, tmp_path_factory) -> dict[str, object]:
    run = tmp_path_factory.mktemp("elastic") / "run"
    finish(start("--nproc-per-node=2", "--standalone", *arguments, run))
    assert read_progress(run).step == 60
    return outcome(run)


def test_a_killed_process_is_restarted_from_the_last_checkpoint(arguments, undisturbed, tmp_path):
    """The leader, which writes the files."""
    run = tmp_path / "run"
    process = start("--nproc-per-node=2", "--standalone", "--max-restarts=3", *arguments, run)
    kill_after(run, 10, process, rank=0)
    err = finish(process)
    assert "resuming after" in err and "Traceback" not in err, err
    assert outcome(run) == undisturbed
    assert not (run / ".lock").exists()


@dataclass(frozen=True)
class Machine:
    """A network namespace with one link to another one: as good as a machine of its own that shares the disk."""

    name: str
    link: str
    address: str

    def start(self, host: str, *command: object) -> subprocess.Popen[str]:
        rendezvous = (
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={host}:29400",
            f"--rdzv-conf=is_host={self.address == host}",
        )
        where = (*rendezvous, "--rdzv-id=elastic", f"--local-addr={self.address}")
        prefix = ("ip", "netns", "exec", self.name)
        team = ("--nnodes=2", "--nproc-per-node=1", "--max-restarts=3")
        return start(*team, *where, *command, prefix=prefix, GLOO_SOCKET_IFNAME=self.link)


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    """Two network namespaces, joined by a cable."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the program ip to make network namespaces")
    both = [Machine(f"nbfnet-{os.getpid()}-{i}", f"nb{os.getpid()}v{i}"[:15], f"10.79.13.{i}") for i in (1, 2)]

    def ip(*arguments: str) -> int:
        return subprocess.run(["ip", *arguments], capture_output=True).returncode

    try:
        if any(ip("netns", "add", machine.name) for machine in both):
            pytest.skip("network namespaces cannot be made here")
        first, second = both
        peer = ("type", "veth", "peer", "name", second.link, "netns", second.name)
        if ip("link", "add", first.link, "netns", first.name, *peer):
            pytest.skip("network namespaces cannot be joined here")
        for machine in both:
            assert ip("-n", machine.name, "addr", "add", f"{machine.address}/30", "dev", machine.link) == 0
            assert ip("-n", machine.name, "link", "set", machine.link, "up") == 0
            assert ip("-n", machine.name, "link", "set", "lo", "up") == 0
        yield first, second
    finally:
        for machine in both:
            ip("netns", "delete", machine.name)


def test_two_machines_of_which_one_loses_its_process(machines, arguments, undisturbed, tmp_path):
    """Nothing but a cable and the disk joins them; both go on together from the last checkpoint."""
    run = tmp_path / "run"
    first, second = (machine.start(machines[0].address, *arguments, run) for machine in machines)
    ranks = {}
    until = time.monotonic() + TIMEOUT
    while len(ranks) < 2:
        assert time.monotonic() < until
        ranks = {rank: launcher for launcher in (first, second) for rank in workers_of(launcher)}
        time.sleep(0.01)
    assert {*ranks} == {0, 1} and ranks[0] is not ranks[1]
    kill_after(run, 10, second, rank=next(iter(workers_of(second))))
    said = finish(first) + finish(second)
    assert "resuming after" in said and "Traceback" not in said, said
    assert outcome(run) == undisturbed
