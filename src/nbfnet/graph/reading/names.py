"""Names as people write them: with spaces around them, and in several spellings that look alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nbfnet.graph.database import execute
from nbfnet.graph.reading.findings import FEW, Finding, joined

if TYPE_CHECKING:
    from nbfnet.graph.reading.triplet_table import TripletTable

# Spaces that nobody means at the end of a name: plain, tab, no-break, figure and narrow no-break.
BLANKS = " \t\u00a0\u2007\u202f"
_SQL_BLANKS = " || ".join(f"chr({ord(blank)})" for blank in BLANKS)


def strip_names(table: TripletTable, part: str) -> tuple[int, list[int]]:
    """Take spaces off the names of a part; returns how many rows had some, and the first few of them."""
    roles = ("head", "relation", "tail") if "relation" in table.columns[part] else ("head", "tail")
    stray = " OR ".join(_has_stray(role) for role in roles)
    found = f"FROM triplet WHERE part = ? AND ({stray})"
    [(count,)] = execute(table.connection, f"SELECT count(*) {found}", [part]).fetchall()
    if not count:
        return 0, []
    query = f"SELECT rowid {found} ORDER BY rowid LIMIT {FEW}"
    first = [row for (row,) in execute(table.connection, query, [part]).fetchall()]
    table.rows.replace(part, {role: f"trim({role}, {_SQL_BLANKS})" for role in roles}, stray)
    return count, first


def _has_stray(role: str) -> str:
    """SQL: whether a name begins or ends with a blank; comparing ends is much faster than trimming every name."""
    ends = [f"suffix({role}, chr({ord(blank)}))" for blank in BLANKS]
    begins = [f"starts_with({role}, chr({ord(blank)}))" for blank in BLANKS if ord(blank) > 127]
    return " OR ".join([f"{role} < '!'", *begins, *ends])  # space and tab stand before '!'


def find_similar_names(table: TripletTable, role: Literal["entity", "relation"]) -> None:
    """Report names that differ only in case, in inner spaces or in how an accent is encoded; they stay apart."""
    keys = f"SELECT {_KEY} AS key FROM {role} GROUP BY key HAVING count(*) > 1"
    [(count,)] = execute(table.connection, f"SELECT count(*) FROM ({keys})").fetchall()
    if not count:
        return
    groups = execute(
        table.connection,
        f"""
        SELECT list(name ORDER BY id), list(first ORDER BY id) FROM {role} WHERE {_KEY} IN ({keys})
        GROUP BY {_KEY} ORDER BY min(id) LIMIT {FEW}
        """,
    ).fetchall()
    places = [table.place(rows[1]) for _, rows in groups]
    file = places[0][0]
    names = "; ".join(joined([repr(name) for name in alike[:FEW]]) for alike, _ in groups)
    plural = "entities" if role == "entity" else "relations"
    more = f" (and {count - len(groups):,} more)" if count > len(groups) else ""
    table.findings.append(
        Finding(
            "similar names",
            f"{plural} whose names differ only in case, spaces or accents' encoding are kept apart: {names}{more}",
            file,
            tuple(dict.fromkeys(line for where, line in places if where == file and line)),
            count,
            "if they mean the same, write them the same way",
            "important",
        )
    )


# Equal for names that a reader would take for the same: composed, in lower case, inner blanks as one space.
_KEY = r"lower(nfc_normalize(regexp_replace(name, '[\s\x{00a0}\x{2007}\x{202f}\x{200b}\x{feff}]+', ' ', 'g')))"
