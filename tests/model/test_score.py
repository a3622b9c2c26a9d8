"""The score keeps ties: equal representations get equal logits, wherever they stand."""

from __future__ import annotations

import pytest
import torch

from nbfnet.model.score import Score
from nbfnet.native import native


@pytest.fixture
def score():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Score(32, (64,))


@pytest.mark.parametrize("rows", [1, 7, 300, 307, 1000, 40_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_equal_rows_get_equal_logits(score, rows, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(rows)
    try:
        for _ in range(5):
            row, query = torch.randn(2, 32, generator=generator)
            same, others = torch.rand(rows, generator=generator) < 0.5, torch.randn(rows, 32, generator=generator)
            mixed = torch.where(same[:, None], row, others)
            with torch.no_grad():
                alone = score(row[None], query[None])
                logits = score(mixed, query)
                assert torch.equal(score(mixed, query.expand(rows, -1)), logits)
                assert torch.equal(score(mixed[None], query.expand(1, 1, -1))[0], logits)
            assert (logits[same] == alone).all()
    finally:
        torch.set_num_threads(before)


def test_it_is_the_same_function_with_and_without_a_gradient(score):
    hidden, query = torch.randn(3, 50, 32), torch.randn(3, 1, 32)
    learned = score(hidden, query)
    with torch.no_grad():
        torch.testing.assert_close(score(hidden, query), learned.detach(), rtol=1e-6, atol=1e-6)
        plain = score.mlp(torch.cat([hidden, query.expand_as(hidden)], dim=-1))[..., 0]
        torch.testing.assert_close(score(hidden, query), plain, rtol=1e-6, atol=1e-6)
        assert score(hidden[:0], query[:0]).shape == (0, 50)
        assert score(hidden[:, :0], query).shape == (3, 0)
        assert score(hidden[0, 0], query[0, 0]).shape == ()
        assert score.double()(hidden.double(), query.double()).dtype == torch.float64


@pytest.mark.skipif(native is None, reason="needs the compiled extension")
@pytest.mark.parametrize("instruction_set", [] if native is None else native.instruction_sets())
@pytest.mark.parametrize("hidden", [(), (64,), (1,), (13, 7)])
@pytest.mark.parametrize("dim", [1, 5, 32])
def test_compiled_rows_get_the_logits_of_double_precision(dim, hidden, instruction_set):
    before = native.instruction_set()
    native.choose_instruction_set(instruction_set)
    generator = torch.Generator().manual_seed(0)
    score = Score(dim, hidden)
    rows, query = torch.randn(131, dim, generator=generator), torch.randn(dim, generator=generator)
    rows[7, 0] = torch.nan
    try:
        with torch.no_grad():
            found, none = score(rows, query), score(rows[:0], query)
            both = torch.cat([rows, query.expand_as(rows)], dim=1).double()
            expected = score.double().mlp(both)[:, 0].float()
    finally:
        native.choose_instruction_set(before)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7, equal_nan=True)
    assert none.shape == (0,)
