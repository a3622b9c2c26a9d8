from __future__ import annotations

import gc
import threading

import pytest
import torch

from nbfnet.kernels import memory
from nbfnet.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled extension is not there")


def test_a_large_block_is_used_again() -> None:
    first = memory.empty((3, 1 << 20), torch.float32)
    address = first.data_ptr()
    del first
    second = memory.empty((1 << 20, 3), torch.float32)
    assert second.data_ptr() == address
    assert second.shape == (1 << 20, 3)
    assert address % 64 == 0


def test_what_is_alive_is_never_handed_out_again() -> None:
    alive = [memory.empty((1 << 18,), torch.float64).fill_(i) for i in range(8)]
    views = [tensor[5:10] for tensor in alive]
    del alive
    gc.collect()
    more = [memory.empty((1 << 18,), torch.float64).fill_(-1) for _ in range(8)]
    assert [view.unique().tolist() for view in views] == [[i] for i in range(8)]
    assert all((tensor == -1).all() for tensor in more)


@pytest.mark.parametrize("shape", [(0,), (3, 0, 5), (7,), (), (1 << 18,), (3, 1 << 17)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shape_and_type(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    tensor = memory.empty(shape, dtype)
    assert tensor.shape == shape
    assert tensor.dtype == dtype
    assert tensor.is_contiguous()


def test_many_threads_may_take_and_give_back() -> None:
    wrong = []

    def work(number: int) -> None:
        for size in range(20):
            tensor = memory.empty(((1 << 18) + 5000 * size,), torch.float32).fill_(number)
            if not (tensor == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
