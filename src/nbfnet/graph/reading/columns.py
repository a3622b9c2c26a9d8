"""Which column of a table is the head, the relation, the tail, the weight."""

from __future__ import annotations

from collections.abc import Sequence

from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.findings import Finding, counted

ROLES = ("head", "relation", "tail", "weight")
SKIPPED = "_"  # a column that is not read
Columns = tuple[str, ...]  # the role of each column, in the file's order

_BY_COUNT: dict[int, Columns] = {2: ("head", "tail"), 3: ("head", "relation", "tail"), 4: ROLES}

_WORDS = {
    "head": "head subject source src from start head_id subject_id source_id head_entity node1 node_1",
    "relation": "relation predicate rel relationship relation_type edge_type link property relation_id",
    "tail": "tail object target dst dest destination to end tail_id object_id target_id tail_entity node2 node_2",
    "weight": "weight score confidence probability strength",
}
_ROLE_OF_WORD = {word: role for role, words in _WORDS.items() for word in words.split()}
_ROLE_OF_WORD |= dict.fromkeys(("type", "label", "verb"), "relation")  # beside a head and a tail; alone they say little

EXPECTED = "2 columns (edge list), 3 (head, relation, tail) or 4 (head, relation, tail, weight)"
STATE = "state each column's role in the file's order, such as head,relation,tail; _ leaves a column out"


def columns_by_position(count: int) -> Columns | None:
    """The roles of 2, 3 or 4 unnamed columns; None for any other number."""
    return _BY_COUNT.get(count)


def columns_by_name(names: Sequence[str]) -> Columns | None:
    """The roles that column names state, if they make an edge; else None.

    Columns of other names are skipped, except the middle one of three, which is the relation. Where two words stand
    for one role, the role's own word is taken: 'head' before 'source'.
    """
    words = [name.strip().casefold().lstrip(":") for name in names]
    roles = [_ROLE_OF_WORD.get(word, SKIPPED) for word in words]
    for role in ROLES:
        if role in words and roles.count(role) > 1:
            roles = [SKIPPED if found == role and words[i] != role else found for i, found in enumerate(roles)]
    if roles in (["head", SKIPPED, "tail"], ["tail", SKIPPED, "head"]):
        roles[1] = "relation"
    return tuple(roles) if _makes_an_edge(roles) else None


def names_every_column(names: Sequence[str]) -> bool:
    """Whether column names state an edge and nothing else."""
    return columns_by_name(names) is not None and all(n.strip().casefold().lstrip(":") in _ROLE_OF_WORD for n in names)


def stated_columns(stated: Sequence[str]) -> Columns:
    """Roles that a user stated, checked."""
    roles = tuple(role.strip().casefold() for role in stated)
    if not _makes_an_edge(roles):
        raise GraphFormatError(f"the stated columns {','.join(stated)!r} do not make an edge", remedy=STATE)
    return roles


def columns_of_table(names: Sequence[str], stated: Sequence[str] | None, origin: object) -> Columns:
    """The roles of a table's columns: as stated, by their names, or by position.

    Raises:
        GraphFormatError: the table has columns whose roles nothing says.
    """
    roles = stated_columns(stated) if stated else columns_by_name(names) or columns_by_position(len(names))
    if roles is None or len(roles) != len(names):
        raise GraphFormatError(
            f"expected {EXPECTED}, got {len(names)}: {', '.join(names)}",
            file=str(origin),
            remedy=f"name the columns head, relation, tail and weight, or pass --columns (columns= in Python): {STATE}",
        )
    return roles


def skipped_columns(names: Sequence[str], roles: Columns, file: str, line: int | None = None) -> list[Finding]:
    """The finding of columns that were left out because of their names."""
    left_out = [name for name, role in zip(names, roles, strict=True) if role == SKIPPED]
    if not left_out:
        return []
    taken = ", ".join(f"{name} as {role}" for name, role in zip(names, roles, strict=True) if role != SKIPPED)
    what = f"{counted(len(left_out), 'column was', 'columns were')} left out: {', '.join(left_out)} (taken: {taken})"
    remedy = "state what each column is with --columns if that is wrong"
    return [Finding("skipped columns", what, file, (line,) if line else (), len(left_out), remedy, "important")]


def is_relation_word(text: str) -> bool:
    """Whether a cell reads like the title of a relation column."""
    return text.strip().casefold() in _WORDS["relation"].split()


def _makes_an_edge(roles: Sequence[str]) -> bool:
    used = [role for role in roles if role != SKIPPED]
    return {"head", "tail"} <= set(used) <= set(ROLES) and len(set(used)) == len(used)
