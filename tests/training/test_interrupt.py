"""Ctrl-C inside a block that must not be cut in two."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from nbfnet.training.interrupt import Terminated, interruptible, raise_terminated, uninterrupted


@pytest.fixture(autouse=True)
def _as_in_a_terminal():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_it_comes_after_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with uninterrupted():
        pass


def test_an_error_inside_is_what_is_raised():
    with pytest.raises(ValueError), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        raise ValueError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_ignores_it_is_not_interrupted():
    """A command in the background of a script: its Ctrl-C is for another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_one_block_inside_another():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == [1]


def test_other_threads_are_left_alone():
    raised = []

    def work():
        with uninterrupted():
            raised.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert raised == [True]


class Pressing:
    """Its methods are called by NumPy's compiled code while Ctrl-C is pressed."""

    def __index__(self) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0

    def __len__(self) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0

    def __getitem__(self, place: int) -> object:
        raise IndexError


def test_numpy_makes_another_error_of_it():
    with pytest.raises(IndexError):
        np.zeros(3)[Pressing()]
    with pytest.raises(KeyboardInterrupt), interruptible():
        np.zeros(3)[Pressing()]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_numpy_drops_it():
    with pytest.raises(KeyboardInterrupt), interruptible() as interrupts:
        interrupts.raise_asked()
        np.array([Pressing()])
        interrupts.raise_asked()
    with interruptible() as interrupts:  # what is done in spite of it is done
        np.array([Pressing()])
    with pytest.raises(SystemExit), interruptible():
        np.array([Pressing()])
        raise SystemExit(0)
    with pytest.raises(KeyboardInterrupt), interruptible():
        np.array([Pressing()])
        raise SystemExit(2)


def test_one_dropped_while_an_object_is_deleted_comes_again(capsys):
    class Deleted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), interruptible():
        gone = Deleted()
        del gone
        for _ in range(400):  # it is raised between two of them
            time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_sigterm_is_told_from_ctrl_c():
    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        with pytest.raises(Terminated), interruptible():
            try:
                signal.raise_signal(signal.SIGTERM)
            except KeyboardInterrupt:
                raise SystemExit(130) from None
        assert signal.getsignal(signal.SIGTERM) is raise_terminated
    finally:
        signal.signal(signal.SIGTERM, before)


def test_errors_without_an_interrupt_stay_what_they_are():
    with pytest.raises(TypeError, match="mine"), interruptible():
        raise TypeError("mine")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(TypeError, match="mine"), interruptible():
        signal.raise_signal(signal.SIGINT)
        raise TypeError("mine")
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
