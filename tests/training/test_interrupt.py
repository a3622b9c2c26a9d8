"""Ctrl-C inside a block that must not be cut in two."""

from __future__ import annotations

import signal
import threading

import pytest

from nbfnet.training.interrupt import uninterrupted


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
