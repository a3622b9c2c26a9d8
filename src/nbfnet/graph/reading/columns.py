"""Which column of a table is the head, the relation, the tail, the weight: by name, by position or by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import execute
from nbfnet.graph.reading.findings import Finding, counted

if TYPE_CHECKING:
    from nbfnet.graph.reading.triplet_table import TripletTable


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


def is_number(text: str) -> bool:
    """Whether a cell is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _makes_an_edge(roles: Sequence[str]) -> bool:
    used = [role for role in roles if role != SKIPPED]
    return {"head", "tail"} <= set(used) <= set(ROLES) and len(set(used)) == len(used)


_USUAL: Columns = ("head", "relation", "tail")
_FEW_ROWS = 4  # fewer rows say nothing about their columns
_MANY = 10  # times as many different values, or so many of them, are clearly more
_OFTEN = 20  # rows for each value, on average: more, and the values are not those of entities
_EXACT = 100_000  # rows up to which different values are counted one by one


def may_have_other_roles(rows: list[list[str]]) -> bool:
    """Whether the first rows leave open that three columns are something else than head, relation, tail."""
    rows = [row for row in rows if len(row) == len(_USUAL)]
    if len(rows) < _FEW_ROWS:
        return False
    first, middle, last = ({row[i].strip() for row in rows} for i in range(3))
    return all(map(is_number, last)) or bool(middle & (first | last)) or len(middle) > min(len(first), len(last))


def find_roles(table: TripletTable, part: str) -> Columns | None:
    """The roles of a part's three columns where they are not head, relation, tail as they were read; reported."""
    if table.columns[part] != _USUAL or table.count(part) < _FEW_ROWS:
        return None
    facts = _measure(table, part)
    if facts.last_is_number:
        if _is_weighted(facts):
            _report(
                table, part, "weights", "the third column holds numbers and was read as a weight: head, tail, weight"
            )
            return ("head", "tail", "weight")
        if not facts.all_are_numbers and not facts.shared_first_last:
            what = "the third column holds numbers, which were read as entities"
            _report(table, part, "numbers", what, remedy="if they are weights, give --columns head,tail,weight")
        return None
    many = facts.middle * _OFTEN >= table.count(part)
    if _is_relation(facts.first, facts.middle, facts.last, facts.shared_middle_last, facts.shared_first, many):
        what = f"the first column was read as the relation: it has only {facts.first:,} different values"
        _report(table, part, "column order", what)
        return ("relation", "head", "tail")
    if _is_relation(facts.last, facts.middle, facts.first, facts.shared_first_middle, facts.shared_last, many):
        what = f"the last column was read as the relation: it has only {facts.last:,} different values"
        _report(table, part, "column order", what)
        return ("head", "tail", "relation")
    return None


@dataclass(frozen=True)
class _Facts:
    """How many different values the columns have, and how many of them they share."""

    first: int
    middle: int
    last: int
    shared_first_middle: int
    shared_first_last: int
    shared_middle_last: int
    last_is_number: bool
    all_are_numbers: bool
    last_has_fractions: bool

    @property
    def shared_first(self) -> int:
        return self.shared_first_middle + self.shared_first_last

    @property
    def shared_last(self) -> int:
        return self.shared_first_last + self.shared_middle_last


def _is_weighted(facts: _Facts) -> bool:
    """Numbers at the end of (head, tail, weight): the middle column holds entities as the first does."""
    as_many = facts.middle >= max(facts.first / 2, _MANY)
    if facts.all_are_numbers:  # numbered relations share their numbers with entities
        return facts.last_has_fractions or (as_many and facts.last <= facts.middle / 2)
    return facts.shared_first_middle > 0 or as_many


def _is_relation(column: int, middle: int, other: int, shared: int, shared_with_column: int, many: bool) -> bool:
    """Whether a column at the end is the relation: few values that no other column has, and the middle has many.

    The middle column clearly is not a relation if it shares names with the other end, or if it has many times more
    values than this column, few of which are repeated often (``many``).
    """
    if shared_with_column or column >= middle:
        return False
    return _MANY * shared >= min(middle, other) or (many and 1 < column < other and _MANY * column <= middle)


def _measure(table: TripletTable, part: str) -> _Facts:
    distinct = "count(DISTINCT {})" if table.count(part) <= _EXACT else "approx_count_distinct({})"
    number = "count(*) FILTER (TRY_CAST({} AS DOUBLE) IS NULL) = 0"
    asked = ", ".join(measure.format(role) for measure in (distinct, number) for role in _USUAL)
    query = f"SELECT {asked}, count(*) FILTER (contains(tail, '.')) > 0 FROM triplet WHERE part = ?"
    [(first, middle, last, *numbers, fractions)] = execute(table.connection, query, [part]).fetchall()
    return _Facts(
        first,
        middle,
        last,
        _shared(table, part, "head", "relation"),
        _shared(table, part, "head", "tail"),
        _shared(table, part, "relation", "tail"),
        last_is_number=numbers[2],
        all_are_numbers=all(numbers),
        last_has_fractions=fractions,
    )


def _shared(table: TripletTable, part: str, one: str, other: str) -> int:
    query = f"""
        SELECT count(*) FROM (
            SELECT {one} FROM triplet WHERE part = $1 INTERSECT SELECT {other} FROM triplet WHERE part = $1)
    """
    [(count,)] = execute(table.connection, query, [part]).fetchall()
    return int(count)


def _report(table: TripletTable, part: str, kind: str, what: str, *, remedy: str = "") -> None:
    remedy = remedy or f"if that is wrong, give --columns {','.join(_USUAL)}"
    table.findings.append(Finding(kind, what, table.origins[part].file, (), table.count(part), remedy, "important"))
