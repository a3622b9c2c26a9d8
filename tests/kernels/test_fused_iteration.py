"""The compiled iteration equals the iteration composed of plain PyTorch, for all it can be asked to do.

The oracle here knows nothing of kernels: it lists the edges of each row in Python, gathers the messages of a row side
by side, and writes the paper's formulas down.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nbfnet.errors import OperatorError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES
from nbfnet.kernels.fused_iteration import FusedSettings, fused_iteration
from nbfnet.model.frontier import Frontier
from nbfnet.model.message_graph import MessageGraph
from nbfnet.native import native

if native is None:
    pytest.skip("needs the compiled extension", allow_module_level=True)

NODES, RELATIONS = 75, 5
DIMS = (2, 8, 10, 32, 33, 36, 64)
LEARNED = (
    *("previous", "edge_representation", "weight", "bias", "norm_weight", "norm_bias", "query", "zero"),
    "edge_weight",  # where there is one
)


@pytest.fixture(autouse=True)
def _restore_threads_and_instruction_set() -> Iterator[None]:
    threads, instruction_set = torch.get_num_threads(), native.instruction_set()
    torch.use_deterministic_algorithms(True)  # then memory that nobody wrote to is not a number, not zero
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)
    native.choose_instruction_set(instruction_set)


@cache
def ugly_graph() -> MessageGraph:
    """A hub, self loops, multi-edges, a long tail, an island, and nodes without any edge."""
    rng = np.random.default_rng(5)
    edges = [(v, rng.integers(RELATIONS), 0) for v in range(1, 14)]  # into the hub
    edges += [(0, rng.integers(RELATIONS), v) for v in range(5, 15)]
    edges += [(3, 1, 3), (0, 2, 0), (4, 1, 5), (4, 1, 5), (4, 2, 5), (5, 1, 4)]
    edges += [(v, rng.integers(RELATIONS), v + 1) for v in range(13, 60)]  # the tail
    edges += [(v + 1, rng.integers(RELATIONS), v) for v in range(13, 60, 3)]
    edges += [(65, 0, 66), (66, 3, 67), (67, 4, 65)]  # the island; 61 to 64 and 68 to 74 are alone
    head, relation, tail = np.array(edges).T
    return MessageGraph(RelationalCSR.from_triplets(Triplets.of(head, relation, tail), NODES, RELATIONS))


@cache
def plan(kind: str) -> Frontier:
    """Six queries of three relations, each a family where edges depend on them."""
    source = np.array([0, 3, 26, 40, 65, 70], dtype=np.int32)
    relation = np.array([0, 0, 2, 2, 2, 4], dtype=np.int64)
    targets: tuple[Any, Any] | None = None
    if kind == "targets":
        nodes = np.array([[5, 14, 74], [3, 61, 0], [28, 28, 30], [41, 39, 44], [66, 1, 65], [70, 2, 27]], np.int32)
        targets = (np.arange(7, dtype=np.int64) * 3, nodes.ravel())
    return Frontier.make(
        ugly_graph(),
        source,
        relation,
        targets,
        iterations=3,
        dependent=kind != "one family",
        frontier=kind != "dense",
    )


@dataclass
class Rows:
    """The messages of each row, side by side and padded: (row, message)."""

    own: Tensor  # (row,) in the iteration before; the zero row stands last there
    source: Tensor
    relation: Tensor  # family * relations + r
    slot: Tensor  # of the edge
    real: Tensor  # whether there is such a message
    node: Tensor  # (row,)
    boundary: Tensor  # (row,) its query, or the number of queries where the boundary is zero


@cache
def rows_of(kind: str, iteration: int) -> Rows:
    """Which rows of the iteration before each row reads: its query's, else its family's background, else zero."""
    frontier, csr = plan(kind), ugly_graph().csr
    before = list(pairwise(frontier.plan.begin(iteration - 1).tolist()))
    now = list(pairwise(frontier.plan.begin(iteration).tolist()))
    node_before, node_now = frontier.plan.node(iteration - 1).tolist(), frontier.plan.node(iteration).tolist()
    places = [{node_before[i]: i for i in range(a, b)} for a, b in before]
    queries = len(frontier.source)
    own, edges, boundary = [], [], []
    for group, (begin, end) in enumerate(now):
        family = group - queries if group >= queries else frontier.family_of(int(frontier.relation[group]))
        place = {**places[queries + family], **places[group]}
        for v in node_now[begin:end]:
            own.append(place.get(v, len(node_before)))
            at_source = group < queries and frontier.source[group] == v
            boundary.append(group if at_source else queries)
            slots = range(csr.indptr[v], csr.indptr[v + 1])
            edges.append(
                [
                    (place.get(int(csr.source[e]), len(node_before)), family * RELATIONS + int(csr.relation[e]), e)
                    for e in slots
                ]
            )
    width = max(len(row) for row in edges)
    padded = torch.tensor([row + [(0, 0, 0)] * (width - len(row)) for row in edges]).view(len(edges), width, 3)
    real = torch.arange(width) < torch.tensor([len(row) for row in edges])[:, None]
    return Rows(torch.tensor(own), *padded.unbind(-1), real, torch.tensor(node_now), torch.tensor(boundary))


def oracle(inputs: dict[str, Tensor], rows: Rows, settings: FusedSettings) -> tuple[Tensor, Tensor]:
    """h^(t) (row, dim), and what ReLU sees."""
    previous = torch.cat([inputs["previous"], inputs["zero"][None]])
    x, w = previous[rows.source], inputs["edge_representation"].flatten(0, 1)[rows.relation]
    if settings.message == "rotate":
        complex_x, complex_w = (torch.complex(*part.chunk(2, dim=-1)) for part in (x, w))
        messages = torch.cat([(complex_x * complex_w).real, (complex_x * complex_w).imag], dim=-1)
    else:
        messages = x + w if settings.message == "transe" else x * w
    if "edge_weight" in inputs:
        messages = messages * inputs["edge_weight"][rows.slot][..., None]
    boundary = torch.cat([inputs["query"], inputs["zero"][None]])[rows.boundary]
    messages = torch.cat([messages, boundary[:, None]], dim=1)
    real = torch.cat([rows.real, torch.ones(len(boundary), 1, dtype=torch.bool)], dim=1)[..., None]
    count = real.sum(1)

    total = messages.where(real, 0).sum(1)
    if settings.aggregate == "pna":
        mean, square = total / count, messages.square().where(real, 0).sum(1) / count
        largest, smallest = messages.where(real, -torch.inf).amax(1), messages.where(real, torch.inf).amin(1)
        deviation = (square - mean.square()).clamp(min=1e-6).sqrt()
        statistics = torch.stack([mean, largest, smallest, deviation], dim=-1)  # (row, dim, statistic)
        s = inputs["scale"][rows.node]
        scalers = torch.stack([torch.ones_like(s), s, 1 / s.clamp(min=0.01)], dim=-1)
        features = (statistics[..., None] * scalers[:, None, None]).flatten(1)
    elif settings.aggregate == "max":
        features = messages.where(real, -torch.inf).amax(1)
    else:
        features = total / count if settings.aggregate == "mean" else total

    own = previous[rows.own]
    hidden = torch.cat([own, features], dim=1) @ inputs["weight"].T + inputs["bias"]
    if settings.layer_norm:
        hidden = torch.nn.functional.layer_norm(
            hidden, hidden.shape[1:], inputs["norm_weight"], inputs["norm_bias"], eps=1e-5
        )
    out = hidden.relu() + own if settings.shortcut else hidden.relu()
    return out, hidden


def make_inputs(
    settings: FusedSettings, kind: str, iteration: int, dim: int, learned_zero: bool, weighted: bool = False
) -> dict[str, Tensor]:
    """Representations are multiples of 1/8, so that messages are exact in float32: what ties, ties for everybody."""
    random_numbers = torch.Generator().manual_seed(dim * 10 + iteration)

    def grid(*shape: int) -> Tensor:
        return torch.randint(-8, 9, shape, generator=random_numbers).double() / 8

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random_numbers, dtype=torch.float64)

    frontier = plan(kind)
    features = (12 if settings.aggregate == "pna" else 1) * dim
    # LayerNorm makes +1 and -1 of two numbers, and their gradient cancels, unless they are as small as its epsilon.
    size = 0.003 if dim == 2 else 1.0
    query = grid(len(frontier.source), dim)
    previous = grid(frontier.plan.rows(iteration - 1), dim)
    inputs = {
        "previous": query[torch.from_numpy(frontier.first_rows())] if iteration == 1 else previous,
        "edge_representation": grid(frontier.plan.families, RELATIONS, dim),
        "weight": normal(dim, dim + features) * size / (dim + features) ** 0.5,
        "bias": normal(dim) * size,
        "norm_weight": normal(dim),
        "norm_bias": normal(dim),
        "query": query,
        "zero": grid(dim) if learned_zero else torch.zeros(dim, dtype=torch.float64),
        "scale": ugly_graph().scale(torch.float64),
    }
    if weighted:
        inputs["edge_weight"] = grid(ugly_graph().csr.num_edges)
    return inputs


def prepare(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: t.to(dtype, copy=True).requires_grad_(name in LEARNED) for name, t in inputs.items()}


def run_fused(inputs: dict[str, Tensor], kind: str, iteration: int, settings: FusedSettings) -> Tensor:
    frontier = plan(kind)
    return fused_iteration(
        **inputs, plan=frontier.plan, graph=ugly_graph().arrays, iteration=iteration, settings=settings
    )


def gradients(out: Tensor, grad_out: Tensor, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    learned = [name for name in LEARNED if name in inputs]
    found = torch.autograd.grad(out, [inputs[name] for name in learned], grad_out.to(out.dtype), allow_unused=True)
    return {name: torch.zeros_like(inputs[name]) if g is None else g for name, g in zip(learned, found, strict=True)}


def error(got: Tensor, expected: Tensor) -> float:
    """The largest difference, relative to the largest number; a number that is not finite is infinitely wrong."""
    if not torch.isfinite(got).all():
        return float("inf")
    difference = (got.double() - expected).abs().max().item() if got.numel() else 0.0
    return difference / max(expected.abs().max().item() if got.numel() else 0.0, 1e-3)


@pytest.mark.parametrize("shortcut", [True, False], ids=["shortcut", "plain"])
@pytest.mark.parametrize("layer_norm", [True, False], ids=["norm", "no norm"])
@pytest.mark.parametrize(("message", "aggregate"), list(product(KERNEL_MESSAGES, KERNEL_AGGREGATES)))
def test_fused_equals_composed(message: str, aggregate: str, layer_norm: bool, shortcut: bool) -> None:
    settings = FusedSettings(message, aggregate, layer_norm, shortcut)
    choose = random.Random(str(settings))
    for dim in (d for d in DIMS if message != "rotate" or d % 2 == 0):
        kind, iteration = choose.choice(["targets", "all", "dense", "one family"]), choose.choice([1, 2, 3])
        learned_zero, weighted = choose.random() < 0.5, choose.random() < 0.5
        inputs = make_inputs(settings, kind, iteration, dim, learned_zero, weighted)
        rows = rows_of(kind, iteration)
        torch.set_num_threads(1)
        exact_inputs = prepare(inputs, torch.float64)
        exact, hidden = oracle(exact_inputs, rows, settings)
        grad_out = torch.randn(exact.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(dim))
        # Nothing is asked of numbers so close to ReLU's kink that rounding decides about them.
        grad_out = grad_out.where(hidden.detach().abs() > 1e-4, 0)
        expected = {"out": exact.detach(), **gradients(exact, grad_out, exact_inputs)}

        # In float32 some of these numbers cancel: what plain PyTorch loses there, the kernel may lose too.
        single_inputs = prepare(inputs, torch.float32)
        single = oracle(single_inputs, rows, settings)[0]
        plain = {"out": single.detach(), **gradients(single, grad_out, single_inputs)}
        allowed = {name: max(1e-5, 4 * error(plain[name], expected[name])) for name in expected}
        for dtype, instruction_set in product([torch.float64, torch.float32], native.instruction_sets()):
            native.choose_instruction_set(instruction_set)
            threads = choose.choice([1, 2, 3])
            torch.set_num_threads(threads)
            fused_inputs = prepare(inputs, dtype)
            out = run_fused(fused_inputs, kind, iteration, settings)
            got = {"out": out.detach(), **gradients(out, grad_out, fused_inputs)}
            for name in expected:
                where = f"{name}: {kind}, {iteration=}, {dim=}, {dtype}, {instruction_set}, {threads=}, {weighted=}"
                limit = 1e-10 if dtype == torch.float64 else allowed[name]
                assert got[name].dtype == dtype
                assert error(got[name], expected[name]) <= limit, where


@pytest.mark.parametrize("kind", ["targets", "all", "dense", "one family"])
@pytest.mark.parametrize(("message", "aggregate"), list(product(KERNEL_MESSAGES, KERNEL_AGGREGATES)))
def test_a_zero_row_that_nobody_learns(message: str, aggregate: str, kind: str) -> None:
    """Its messages are left out where they are zero; yet they count, and tie, as often as they come."""
    settings = FusedSettings(message, aggregate, True, True)
    for dim, threads in ((10, 1), (32, 2)):
        torch.set_num_threads(threads)
        inputs = make_inputs(settings, kind, 1, dim, learned_zero=False)
        whole, short = prepare(inputs, torch.float64), prepare(inputs, torch.float64)
        short["zero"] = short["zero"].detach()
        expected, hidden = oracle(whole, rows_of(kind, 1), settings)
        out = run_fused(short, kind, 1, settings)
        assert error(out.detach(), expected.detach()) <= 1e-10
        grad_out = torch.randn(out.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(dim))
        grad_out = grad_out.where(hidden.detach().abs() > 1e-4, 0)
        gradients_of_whole = gradients(expected, grad_out, whole)
        names = [name for name in LEARNED if name not in ("zero", "edge_weight")]
        found = torch.autograd.grad(out, [short[name] for name in names], grad_out)
        for name, got in zip(names, found, strict=True):
            assert error(got, gradients_of_whole[name]) <= 1e-10, name


@pytest.mark.parametrize("message", ["distmult", "rotate"])
def test_zero_times_infinity_is_not_left_out(message: str) -> None:
    settings = FusedSettings(message, "sum", False, False)
    inputs = make_inputs(settings, "all", 1, 8, learned_zero=False)
    inputs["edge_representation"][0, 1] = torch.inf
    expected, _ = oracle(inputs, rows_of("all", 1), settings)
    assert expected.isnan().any()
    assert torch.equal(run_fused(inputs, "all", 1, settings).isnan(), expected.isnan())


def test_plans_are_what_the_tests_think_they_are() -> None:
    sizes = {kind: [plan(kind).plan.rows(t) for t in range(4)] for kind in ("targets", "all", "dense", "one family")}
    assert sizes["dense"] == [6, 6 * NODES, 6 * NODES, 6 * NODES]
    assert max(sizes["targets"]) < max(sizes["all"]) < 6 * NODES  # so backgrounds are read
    assert plan("one family").plan.families == 1
    assert plan("targets").plan.families == plan("all").plan.families == 3
    assert sizes["targets"][0] == 6  # each source reaches one of its targets
    assert max(np.diff(plan("dense").plan.begin(1))) > 48  # more rows than a tile


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("aggregate", KERNEL_AGGREGATES)
def test_the_same_threads_give_the_same_bits(aggregate: str, threads: int) -> None:
    torch.set_num_threads(threads)
    settings = FusedSettings("distmult", aggregate, True, True)
    inputs = make_inputs(settings, "all", 2, 36, learned_zero=True)
    results = []
    for _ in range(3):
        prepared = prepare(inputs, torch.float32)
        out = run_fused(prepared, "all", 2, settings)
        results.append([out.detach(), *gradients(out, torch.ones_like(out), prepared).values()])
    for again in results[1:]:
        for first, second in zip(results[0], again, strict=True):
            assert torch.equal(first, second)


@pytest.mark.parametrize("instruction_set", native.instruction_sets())
@pytest.mark.parametrize(("message", "aggregate"), list(product(KERNEL_MESSAGES, KERNEL_AGGREGATES)))
def test_gradients_are_the_slopes(message: str, aggregate: str, instruction_set: str) -> None:
    """Against differences of the forward pass alone."""
    native.choose_instruction_set(instruction_set)
    settings = FusedSettings(message, aggregate, True, True)
    torch.manual_seed(3)
    made = make_inputs(settings, "targets", 2, 4, learned_zero=True, weighted=True)
    inputs = {name: torch.randn_like(t).requires_grad_() if name in LEARNED else t for name, t in made.items()}

    def of(*learned: Tensor) -> Tensor:
        return run_fused(inputs | dict(zip(LEARNED, learned, strict=True)), "targets", 2, settings)

    assert torch.autograd.gradcheck(of, tuple(inputs[name] for name in LEARNED), fast_mode=True)


@pytest.mark.parametrize("instruction_set", native.instruction_sets())
@pytest.mark.parametrize("aggregate", KERNEL_AGGREGATES)
def test_what_is_not_a_number_stays_visible(aggregate: str, instruction_set: str) -> None:
    native.choose_instruction_set(instruction_set)
    settings = FusedSettings("distmult", aggregate, False, False)
    for name, dim in product(("previous", "edge_representation", "query", "edge_weight"), (2, 35)):
        inputs = make_inputs(settings, "all", 2, dim, learned_zero=True, weighted=True)
        inputs = {key: tensor.float() for key, tensor in inputs.items()}
        inputs[name][1] = torch.nan
        expected = oracle(inputs, rows_of("all", 2), settings)[0].isnan()
        assert expected.any()
        assert torch.equal(run_fused(inputs, "all", 2, settings).isnan(), expected)


@pytest.mark.parametrize("name", [*LEARNED, "scale"])
def test_what_does_not_fit_is_refused(name: str) -> None:
    settings = FusedSettings("distmult", "pna", True, True)
    inputs = prepare(make_inputs(settings, "targets", 2, 8, learned_zero=True, weighted=True), torch.float32)
    with pytest.raises(OperatorError, match="float64"):
        run_fused({**inputs, name: inputs[name].double()}, "targets", 2, settings)
    with pytest.raises(OperatorError, match="bfloat16"):
        run_fused({**inputs, name: inputs[name].bfloat16()}, "targets", 2, settings)
    with pytest.raises(OperatorError, match="expected"):
        run_fused({**inputs, name: inputs[name][:-1]}, "targets", 2, settings)
    with pytest.raises(OperatorError, match="expected"):
        run_fused({**inputs, name: inputs[name][None]}, "targets", 2, settings)
    with pytest.raises(OperatorError, match="meta"):
        run_fused({**inputs, name: inputs[name].to("meta")}, "targets", 2, settings)


def test_relations_that_the_edges_have_must_be_there() -> None:
    settings = FusedSettings("distmult", "sum", True, True)
    inputs = make_inputs(settings, "targets", 2, 8, learned_zero=True)
    representation = inputs["edge_representation"]
    with pytest.raises(OperatorError, match="has 4 relations, expected at least the 5 of the edges"):
        run_fused({**inputs, "edge_representation": representation[:, :-1]}, "targets", 2, settings)
    more = torch.cat([representation, torch.full_like(representation, torch.nan)], dim=1)
    out = run_fused({**inputs, "edge_representation": more}, "targets", 2, settings)
    assert torch.equal(out, run_fused(inputs, "targets", 2, settings))


def test_rotate_refuses_an_odd_dim() -> None:
    settings = FusedSettings("rotate", "sum", True, True)
    with pytest.raises(OperatorError, match="even dim, not 33"):
        run_fused(make_inputs(settings, "targets", 2, 33, learned_zero=True), "targets", 2, settings)


def test_second_derivatives_are_refused() -> None:
    """The backward pass has none of its own, and must say so rather than leave terms out."""
    settings = FusedSettings("distmult", "sum", True, True)
    inputs = prepare(make_inputs(settings, "targets", 2, 8, learned_zero=True), torch.float64)
    out = run_fused(inputs, "targets", 2, settings)
    (first,) = torch.autograd.grad(out.square().sum(), inputs["weight"], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
