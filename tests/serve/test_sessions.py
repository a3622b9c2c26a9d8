"""Sessions end, are bounded, and cannot be guessed."""

from __future__ import annotations

import pytest

from nbfnet.serve.refusals import RefusedError, SessionGoneError
from nbfnet.serve.sessions import NO_EDITS, Edits, Sessions
from nbfnet.serve.settings import Limits

FACT = ("a", "r", "b")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_that_nobody_uses_is_forgotten() -> None:
    clock = Clock()
    sessions = Sessions(Limits(session_seconds=10), clock)
    session, _ = sessions.change(None, lambda edits: edits.add(FACT, is_known=False))
    clock.now = 9
    assert sessions.edits(session).added == (FACT,)
    clock.now = 18  # used at 9
    assert sessions.edits(session).added == (FACT,)
    clock.now = 29
    with pytest.raises(SessionGoneError):
        sessions.edits(session)
    assert len(sessions) == 0


def test_old_sessions_make_room_even_if_nobody_asks_for_them() -> None:
    clock = Clock()
    sessions = Sessions(Limits(session_seconds=10), clock)
    for second in range(100):
        clock.now = float(second)
        sessions.change(None, lambda edits: edits)
    assert len(sessions) <= 12


def test_the_one_used_least_recently_makes_room() -> None:
    sessions = Sessions(Limits(sessions=2))
    first, _ = sessions.change(None, lambda edits: edits)
    second, _ = sessions.change(None, lambda edits: edits)
    sessions.edits(first)
    third, _ = sessions.change(None, lambda edits: edits)
    assert sessions.edits(first) == sessions.edits(third) == NO_EDITS
    with pytest.raises(SessionGoneError):
        sessions.edits(second)


@pytest.mark.parametrize("made_up", ["", "a", "../..", "0" * 32, "\x00"])
def test_a_made_up_session_is_refused(made_up: str) -> None:
    sessions = Sessions(Limits())
    sessions.change(None, lambda edits: edits)
    with pytest.raises(SessionGoneError):
        sessions.edits(made_up)
    with pytest.raises(SessionGoneError):
        sessions.change(made_up, lambda edits: edits)


def test_ids_are_long_and_differ() -> None:
    sessions = Sessions(Limits())
    ids = {sessions.change(None, lambda edits: edits)[0] for _ in range(200)}
    assert len(ids) == 200 and min(map(len, ids)) >= 32


def test_a_refused_change_leaves_the_session_as_it_was() -> None:
    sessions = Sessions(Limits(facts=1))
    session, _ = sessions.change(None, lambda edits: edits.add(FACT, is_known=False))
    with pytest.raises(RefusedError):
        sessions.change(session, lambda edits: edits.add(("c", "r", "d"), is_known=False))
    assert sessions.edits(session) == Edits(added=(FACT,))


def test_edits_undo_each_other() -> None:
    added = NO_EDITS.add(FACT, is_known=False)
    assert added.add(FACT, is_known=False) == added
    assert not added.remove(FACT, is_known=False)
    removed = NO_EDITS.remove(FACT, is_known=True)
    assert removed == Edits(removed=(FACT,))
    assert not removed.add(FACT, is_known=True)
