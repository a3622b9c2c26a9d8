"""The choice of backend is visible, can be forced, and never falls back in silence."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from nbfnet.errors import BackendError
from nbfnet.kernels.backend import backend_for, use_backend
from nbfnet.native import native

CPU, FLOAT = torch.device("cpu"), torch.float32
needs_native = pytest.mark.skipif(native is None, reason="the compiled extension is not there")


@needs_native
def test_auto_takes_the_kernel_where_there_is_one() -> None:
    assert backend_for(CPU, FLOAT, "distmult", "pna") == "cpu"
    assert backend_for(CPU, torch.float64, "rotate", "max") == "cpu"
    assert backend_for(CPU, FLOAT, "distmult", "min") == "reference"
    assert backend_for(CPU, torch.bfloat16, "distmult", "pna") == "reference"
    assert backend_for(torch.device("meta"), FLOAT, "distmult", "pna") == "reference"
    assert backend_for(CPU, FLOAT, None, "pna") == "reference"
    assert backend_for(CPU, FLOAT, "distmult", None) == "reference"


@needs_native
def test_a_choice_is_obeyed_or_refused() -> None:
    with use_backend("reference"):
        assert backend_for(CPU, FLOAT, "distmult", "pna") == "reference"
    assert backend_for(CPU, FLOAT, "distmult", "pna") == "cpu"
    with use_backend("cpu"):
        assert backend_for(CPU, FLOAT, "distmult", "pna") == "cpu"
        with pytest.raises(BackendError, match="knows float32 and float64, not bfloat16"):
            backend_for(CPU, torch.bfloat16, "distmult", "pna")
        with pytest.raises(BackendError, match="on the device 'meta'"):
            backend_for(torch.device("meta"), FLOAT, "distmult", "pna")


@needs_native
def test_a_choice_ends_with_its_block_whatever_happens() -> None:
    with pytest.raises(ZeroDivisionError), use_backend("reference"):
        raise ZeroDivisionError
    assert backend_for(CPU, FLOAT, "distmult", "pna") == "cpu"


def test_an_unknown_backend_is_an_error() -> None:
    choices = r"unknown backend 'gpu'.*choose one of 'auto', 'reference', 'cpu'"
    with pytest.raises(BackendError, match=choices), use_backend("gpu"):  # type: ignore[arg-type]
        pytest.fail("the block must not begin")


@needs_native
def test_instruction_set_can_be_asked() -> None:
    assert native.instruction_set() == os.environ.get("NBFNET_INSTRUCTION_SET", native.instruction_sets()[0])
    assert native.instruction_set() in ("avx512", "avx2", "baseline")
    with pytest.raises(ValueError, match="does not have the instruction set 'sse9'"):
        native.choose_instruction_set("sse9")


CALL = """
import warnings, torch
from nbfnet.config import ModelConfig
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
import numpy as np
network = NeuralBellmanFordNetwork(ModelConfig(layers=2, dim=4, hidden=(4,)), 1)
graph = MessageGraph(RelationalCSR.from_triplets(Triplets.of(*np.array([[0, 0, 1], [1, 0, 0]]).T), 2, 1))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        out = network.score_all(graph, torch.tensor([0]), torch.tensor([0]))
print(out.numel(), len(caught), *(str(w.message)[:46] for w in caught))
"""


def call(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CALL], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_without_the_extension_the_reference_serves_with_one_warning() -> None:
    done = call(NBFNET_NATIVE="0")
    assert done.stdout.strip() == "2 1 nbfnet runs without its compiled extension: re", done.stderr


def test_without_the_extension_a_chosen_reference_needs_no_warning() -> None:
    assert call(NBFNET_NATIVE="0", NBFNET_BACKEND="reference").stdout.strip() == "2 0"


def test_without_the_extension_the_kernel_cannot_be_forced() -> None:
    done = call(NBFNET_NATIVE="0", NBFNET_BACKEND="cpu")
    assert done.returncode != 0
    assert "the backend 'cpu' was chosen, but the compiled extension is not there" in done.stderr


def test_the_environment_is_checked_too() -> None:
    done = call(NBFNET_BACKEND="fastest")
    assert done.returncode != 0
    assert "unknown backend 'fastest'" in done.stderr


@needs_native
def test_the_environment_chooses_the_instruction_set() -> None:
    show = "from nbfnet.native import native; print(native.instruction_set())"
    for name in native.instruction_sets():
        environment = {**os.environ, "NBFNET_INSTRUCTION_SET": name}
        done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == name, done.stderr
    done = call(NBFNET_INSTRUCTION_SET="sse9")
    assert done.returncode != 0
    assert "NBFNET_INSTRUCTION_SET is 'sse9': choose one of" in done.stderr


@needs_native
def test_with_the_extension_there_is_no_warning() -> None:
    assert call().stdout.strip() == "2 0"
