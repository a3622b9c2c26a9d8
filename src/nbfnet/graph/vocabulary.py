"""Vocabulary: names to int32 ids and back, with readable labels that need not be unique."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError, UnknownNameError
from nbfnet.graph.name_index import SortedIds
from nbfnet.graph.packed_names import NumberedIds, NumberedNames, PackedNames

_MANY = 1_000_000  # names: more are not searched for a misspelt one
_NEAR = 200


class Vocabulary(Sequence[str]):
    """A bijection name <-> id. Ids count from 0 in the order the names were given, which never changes.

    A *label* is what a person reads instead of a cryptic name. Labels are for display and for asking;
    two names may share one.
    """

    def __init__(
        self,
        names: PackedNames | NumberedNames,
        *,
        role: str = "entity",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.names = names
        self.role = role
        self.labels: dict[str, str] = dict(labels or {})
        for name, label in self.labels.items():
            if not (isinstance(name, str) and isinstance(label, str)):
                what = f"the label {label!r} of {name!r} is not text"
                raise GraphFormatError(what, remedy="give a dictionary of names to labels, both text")

    @classmethod
    def of(cls, names: Iterable[str], *, role: str = "entity", labels: Mapping[str, str] | None = None) -> Vocabulary:
        """A vocabulary of these names, which must differ from each other."""
        vocabulary = cls(PackedNames.pack(names), role=role, labels=labels)
        if len(vocabulary._ids) != len(vocabulary.names):
            twice = next(name for index, name in enumerate(vocabulary.names) if vocabulary._ids[name] != index)
            raise GraphFormatError(f"the {role} name {twice!r} is listed twice", remedy="give every name once")
        return vocabulary

    @classmethod
    def numbered(cls, length: int, *, role: str = "entity") -> Vocabulary:
        """The vocabulary '0', '1', ... of a graph whose nodes are only numbered."""
        return cls(NumberedNames(length), role=role)

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.names[index]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def knows(self, name: str) -> bool:
        """Whether something has that name or label."""
        return name in self._ids or name in self._owners

    def id(self, name: str) -> int:
        """The id of a name or, where no name fits, of the one entry with that label.

        Raises:
            UnknownNameError: nothing has that name or label (the closest are suggested), or several share it.
        """
        found = self._ids.get(name)
        if found is not None:
            return found
        if name not in self._owners:
            raise UnknownNameError(self.role, name, [*self._near(name), *self._owners], self._listed)
        return self._only(name, self._owners[name])

    def find(self, name: str) -> int:
        """The id of what a person asks for: as ``id``, or the one entry with that short form.

        Short forms are the last part of a path, an IRI or a prefixed name, 'nationality' of
        '/people/person/nationality' and of 'ex:nationality', and a label without the remark behind it, 'oliver hardy'
        of 'oliver hardy (Q72911)'.

        Raises:
            UnknownNameError: as ``id``.
        """
        if self.knows(name):
            return self.id(name)
        if name not in self._short_forms:
            known = [*self._near(name), *self._owners, *self._short_forms]
            raise UnknownNameError(self.role, name, known, self._listed)
        return self._only(name, self._short_forms[name])

    def ids(self, names: Iterable[str]) -> npt.NDArray[np.int32]:
        """The ids of many names."""
        return np.fromiter((self.id(name) for name in names), dtype=np.int32)

    def label(self, index: int) -> str:
        """What a person should read for an id: its label, or its name where it has none."""
        name = self.names[index]
        return self.labels.get(name, name)

    def with_labels(self, labels: Mapping[str, str]) -> Vocabulary:
        """The same vocabulary with other labels."""
        return Vocabulary(self.names, role=self.role, labels=labels)

    def _only(self, name: str, owners: list[int]) -> int:
        if len(owners) > 1:
            raise AmbiguousNameError(self.role, name, [self.names[i] for i in owners])
        return owners[0]

    @property
    def _spelt(self) -> Sequence[str]:
        """The names that can be misspelt: no number is a misspelling of another. Of very many, none is looked at."""
        return () if isinstance(self.names, NumberedNames) or self._is_large else self.names

    @property
    def _is_large(self) -> bool:
        """Whether looking at all names would take long, and there is an index that makes it needless."""
        return isinstance(self._ids, SortedIds) and len(self) > _MANY

    def _near(self, name: str) -> Sequence[str]:
        """The names that a misspelt one may mean; of very many, those that begin in the same way."""
        return self._ids.around(name, _NEAR) if self._is_large and isinstance(self._ids, SortedIds) else self._spelt

    @property
    def _listed(self) -> Sequence[str]:
        """The names to list where none is close to a misspelt one: there are few relations and types, many entities."""
        return () if self.role == "entity" else self.names

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        if isinstance(self.names, NumberedNames):
            return NumberedIds(len(self.names))
        if isinstance(self.names, PackedNames) and self.names.order is not None:
            return SortedIds(self.names, self.names.order)
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _owners(self) -> dict[str, list[int]]:
        owners: dict[str, list[int]] = {}
        for name, label in self.labels.items():
            if name in self._ids:
                owners.setdefault(label, []).append(self._ids[name])
        return owners

    @cached_property
    def _short_forms(self) -> dict[str, list[int]]:
        forms: dict[str, set[int]] = {}  # an entry may have the same short form twice
        for index, name in enumerate(self._spelt):
            last = re.split("[/#:]", name.rstrip("/#:"))[-1]
            if last not in ("", name):
                forms.setdefault(last, set()).add(index)
        for label, owners in self._owners.items():
            plain = re.sub(r"\s*\([^()]*\)$", "", label)
            if plain not in ("", label):
                forms.setdefault(plain, set()).update(owners)
        return {form: sorted(owners) for form, owners in forms.items()}


class AmbiguousNameError(UnknownNameError):
    """A readable label or short form that several names share: the caller must use one of the names."""

    def __init__(self, role: str, name: str, owners: Sequence[str]) -> None:
        super().__init__(role, name, [])
        shown = ", ".join(repr(owner) for owner in owners[:5]) + (", ..." if len(owners) > 5 else "")
        self.args = (f"{role} {name!r} stands for {len(owners)} different ones: use one of {shown}",)
