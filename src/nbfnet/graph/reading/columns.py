"""Which column of a table is the head, the relation, the tail, the weight."""

from __future__ import annotations

from collections.abc import Sequence

from nbfnet.errors import GraphFormatError

ROLES = ("head", "relation", "tail", "weight")
Columns = tuple[str, ...]  # the role of each column, in the file's order

_BY_COUNT: dict[int, Columns] = {2: ("head", "tail"), 3: ("head", "relation", "tail"), 4: ROLES}

_WORDS = {
    "head": "head subject source src from start head_id subject_id source_id head_entity node1 node_1",
    "relation": "relation predicate rel relationship relation_type edge_type link property relation_id",
    "tail": "tail object target dst dest destination to end tail_id object_id target_id tail_entity node2 node_2",
    "weight": "weight score confidence probability strength",
}
_ROLE_OF_WORD = {word: role for role, words in _WORDS.items() for word in words.split()}

EXPECTED = "2 columns (edge list), 3 (head, relation, tail) or 4 (head, relation, tail, weight)"


def columns_by_position(count: int) -> Columns | None:
    """The roles of 2, 3 or 4 unnamed columns; None for any other number."""
    return _BY_COUNT.get(count)


def columns_by_name(names: Sequence[str]) -> Columns | None:
    """The roles that a header states, if every one of its words is known and they make an edge; else None."""
    roles = tuple(_ROLE_OF_WORD.get(name.strip().casefold().lstrip(":"), "") for name in names)
    return roles if _makes_an_edge(roles) else None


def stated_columns(stated: Sequence[str]) -> Columns:
    """Roles that a user stated, checked."""
    roles = tuple(role.strip().casefold() for role in stated)
    if not _makes_an_edge(roles):
        raise GraphFormatError(
            f"the stated columns {','.join(stated)!r} do not make an edge",
            remedy="state each column's role in the file's order: head, tail, and optionally relation and weight",
        )
    return roles


def is_relation_word(text: str) -> bool:
    """Whether a cell reads like the title of a relation column."""
    return len(text.strip()) > 1 and _ROLE_OF_WORD.get(text.strip().casefold()) == "relation"


def _makes_an_edge(roles: Columns) -> bool:
    return {"head", "tail"} <= set(roles) <= set(ROLES) and len(set(roles)) == len(roles)
