"""Sessions: the facts that one browser session added or took away; the run folder never learns of them."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from nbfnet.serve.refusals import RefusedError, SessionGoneError
from nbfnet.serve.settings import Limits

Fact = tuple[str, str, str]  # head, relation, tail, by name


@dataclass(frozen=True)
class Edits:
    """Facts that join a graph, and facts that leave it."""

    added: tuple[Fact, ...] = ()
    removed: tuple[Fact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def add(self, fact: Fact, *, is_known: bool) -> Edits:
        """With a fact; one that the graph has only comes back."""
        removed = tuple(other for other in self.removed if other != fact)
        added = self.added if is_known or fact in self.added else (*self.added, fact)
        return Edits(added, removed)

    def remove(self, fact: Fact, *, is_known: bool) -> Edits:
        """Without a fact; one that the graph does not have is only no longer added."""
        added = tuple(other for other in self.added if other != fact)
        removed = (*self.removed, fact) if is_known and fact not in self.removed else self.removed
        return Edits(added, removed)


NO_EDITS = Edits()


@dataclass
class _Session:
    edits: Edits = NO_EDITS
    used: float = field(default_factory=time.monotonic)


class Sessions:
    """What-if sessions by an id that cannot be guessed; the one that was used least recently makes room."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._sessions)

    def edits(self, session: str | None) -> Edits:
        """The edits of a session; without one, none.

        Raises:
            SessionGoneError: there is no such session.
        """
        if session is None:
            return NO_EDITS
        with self._lock:
            return self._get(session).edits

    def change(self, session: str | None, change: Callable[[Edits], Edits]) -> tuple[str, Edits]:
        """Change the edits of a session, or of a new one; returns its id and what it has now.

        Raises:
            SessionGoneError: there is no such session.
            RefusedError: it would have too many facts.
        """
        with self._lock:
            self._forget_old()
            found = _Session(used=self._clock()) if session is None else self._get(session)
            edits = change(found.edits)
            if len(edits.added) + len(edits.removed) > self._limits.facts:
                what = f"a session may change {self._limits.facts} facts: take some back first"
                raise RefusedError(422, "too_many_facts", what)
            found.edits = edits
            if session is None:
                session = secrets.token_urlsafe(24)
                self._sessions[session] = found
                while len(self._sessions) > self._limits.sessions:
                    self._sessions.popitem(last=False)
            return session, edits

    def end(self, session: str) -> None:
        """Forget a session, if there is one."""
        with self._lock:
            self._sessions.pop(session, None)

    def _get(self, session: str) -> _Session:
        found = self._sessions.get(session)
        if found is None or self._clock() - found.used > self._limits.session_seconds:
            self._sessions.pop(session, None)
            raise SessionGoneError
        found.used = self._clock()
        self._sessions.move_to_end(session)
        return found

    def _forget_old(self) -> None:
        oldest = self._clock() - self._limits.session_seconds
        while self._sessions and next(iter(self._sessions.values())).used < oldest:
            self._sessions.popitem(last=False)
