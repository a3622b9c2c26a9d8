"""An evaluation in shares gives, added up, what one process gives: to all bits."""

from __future__ import annotations

import dataclasses

import pytest

from nbfnet.evaluation.shares import Share, SumOfShares
from nbfnet.run import Run


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128, 1000, 12_345])
def test_shares_are_whole_batches_and_cover_everything_once(size, count):
    shares = [Share(rank, size).share(count) for rank in range(size)]
    assert [i for share in shares for i in range(count)[share]] == list(range(count))
    assert all(share.start % 64 == 0 or share.start == count for share in shares)


def in_shares(run: Run, size: int, **how):
    computed = []

    def compute():
        computed.append(size)
        for rank in reversed(range(size)):  # in any order
            share = Share(rank, size)
            run.evaluate(**how, team=share)
            yield share.found

    result = run.evaluate(**how, team=SumOfShares(compute=compute))
    assert computed == [size]
    return result


@pytest.mark.parametrize("kind", ["things_run", "friends_run"])
@pytest.mark.parametrize("baselines", [False, True])
@pytest.mark.usefixtures("one_thread")
def test_the_sum_of_shares_is_what_one_process_finds(kind, baselines, request):
    run = request.getfixturevalue(kind)
    expected = run.evaluate(baselines=baselines).to_dict()
    for size in (1, 2, 5):
        found = in_shares(run, size, baselines=baselines).to_dict()
        assert {**found, "seconds": 0} == {**expected, "seconds": 0}


@pytest.mark.usefixtures("one_thread")
def test_many_links_in_many_batches(data_folder, things_run, tmp_path):
    """More queries than a batch holds: the shares have different batches."""
    run = Run.begin(tmp_path / "run", "world", {"model": {"dim": 4, "layers": 2, "hidden": [4]}})
    expected = run.evaluate(sample=300).to_dict()
    found = in_shares(run, 4, sample=300)
    assert dataclasses.is_dataclass(found)
    assert {**found.to_dict(), "seconds": 0} == {**expected, "seconds": 0}
