"""Every error that a user can cause, in one shape: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

_LONGEST_NAME = 1_000  # characters of a name that a message shows


class NbfnetError(Exception):
    """The base of every error that a user can cause: what is wrong, where, and what to do.

    The command line shows its text and exits with 2.
    """

    def __init__(
        self,
        what: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        text: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what, self.file, self.line, self.text, self.remedy = what, file, line, text, remedy
        place = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        parts = [f"{place}{what}"]
        if text is not None:
            parts.append(f"  the line reads: {_shorten(text)!r}")
        if remedy is not None:
            parts.append(f"  what to do: {remedy}")
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is: from another process it comes with the same text, whatever its class takes to be made."""
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[NbfnetError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> NbfnetError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class GraphFormatError(NbfnetError):
    """A graph, or a file beside it, cannot be read."""


class WriteError(NbfnetError):
    """A file or a folder cannot be written: it exists already, is not a plain file, or the disk is full."""


class UnknownNameError(NbfnetError):
    """A name that the graph does not have; suggests the closest ones that it has, or lists them where they are few."""

    def __init__(self, role: str, name: str, known: Iterable[str], listed: Sequence[str] = ()) -> None:
        self.role, self.name = role, name
        self.suggestions = closest(str(name)[:_LONGEST_NAME], known)
        shown = _shorten(name, _LONGEST_NAME) if isinstance(name, str) else name
        message = f"unknown {role} {shown!r}"
        if self.suggestions:
            message += "; did you mean " + " or ".join(repr(s) for s in self.suggestions) + "?"
        elif 0 < len(listed) <= 20:
            message += f"; known are {', '.join(repr(s) for s in listed)}"
        super().__init__(message)


class NotEnoughMemoryError(NbfnetError):
    """Work needs more memory than there is: says how much of both, and which setting would make it fit."""


class DatasetError(NbfnetError):
    """A dataset is missing, cannot be downloaded or is not what it should be; a graph cannot be split or sampled."""


class MissingExtraError(NbfnetError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, feature: str, package: str, extra: str | None = None) -> None:
        install = f"pip install '.[{extra}]' in the folder of nbfnet" if extra else f"pip install {package}"
        super().__init__(f"{feature} needs the package {package!r}, which is not installed: {install}")


class TeamError(NbfnetError):
    """A process that shares the work has stopped, or cannot be reached."""


class OperatorError(NbfnetError):
    """An operator cannot work on what it was given: a dim, a shape, an index or a name does not fit."""


class QueryError(NbfnetError):
    """A batch of queries does not fit the network or the graph: a shape, a type, a device or an id."""


class BackendError(NbfnetError):
    """A kernel backend was chosen by name and cannot serve: unknown, not built, or without the operator."""


class PathError(NbfnetError):
    """A classical path method cannot be computed: a semiring, a weight, a parameter or a node does not fit it."""


class ImprovingCycleError(PathError):
    """A cycle that gives a better path each time it is walked, as a negative one for distances: no path is best."""

    def __init__(self, semiring: str, cycle: Sequence[Any]) -> None:
        """``cycle`` lists its nodes in order, by number or by name."""
        self.semiring, self.cycle = semiring, cycle
        shown = " → ".join(str(node) for node in [*cycle[:10], "…" if len(cycle) > 10 else cycle[0]])
        super().__init__(
            f"no path is the best for {semiring}: the cycle {shown} improves it with every round; "
            "change the weights of its edges"
        )


class ConfigError(NbfnetError):
    """A configuration has an unknown key, or a value that does not fit."""


class EvaluationError(NbfnetError):
    """A scorer cannot be evaluated: there is nothing to ask, or a score is not a number."""


class TrainingError(NbfnetError):
    """Training cannot begin or continue: names the data or the step."""


class RunFolderError(NbfnetError):
    """A run folder is missing, damaged, of another training, or cannot be written."""

    def __init__(self, file: Path, what: str, remedy: str) -> None:
        super().__init__(what, file=file, remedy=remedy)


class WeightsError(NbfnetError):
    """A file of a network's weights cannot be read, or is not of such a network."""


class ExplanationError(NbfnetError):
    """A prediction cannot be explained: its score is not a number, or the question makes no sense."""


class ServeError(NbfnetError):
    """A server cannot start as asked: its address is taken, or would let others ask unsaid."""


def closest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known names most similar to a misspelt one, best first; upper and lower case count as equal."""
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    wanted = name.casefold()
    found = difflib.get_close_matches(wanted, _promising(wanted, folded), n=limit, cutoff=0.6)
    return [folded[n] for n in found]


def _promising(wanted: str, names: Collection[str], most: int = 1_000) -> Collection[str]:
    """The names that share most pairs of letters with the wanted one: difflib takes too long for very many."""
    if len(names) <= most:
        return names
    if len(names) > 1_000_000:
        names = [name for name in names if name[:1] == wanted[:1]]
    pairs = {wanted[i : i + 2] for i in range(len(wanted) - 1)}

    def likeness(name: str) -> float:
        return sum(pair in name for pair in pairs) / (len(wanted) + len(name) + 1)

    return heapq.nlargest(most, names, key=likeness)


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
