"""Resolves a user's short name: an id, a unique prefix of one, a title, or `last`."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.turns.titles import number_of, title_key
from hermes_jobs.kernel.views.list_filters import LISTED_SESSIONS, LISTED_TURNS
from hermes_jobs.text.clip import one_line
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.last_reference import LAST, steps_back

LISTS = {
    "turn": f"SELECT turn, preview FROM turns WHERE {LISTED_TURNS} ORDER BY position DESC",
    "session": f"SELECT lineage, coalesce(title, preview) FROM lineages WHERE {LISTED_SESSIONS}"
    " ORDER BY last_position DESC",
    "review": "SELECT review, reason FROM reviews ORDER BY position DESC",
    "delivery": "SELECT delivery, text FROM deliveries ORDER BY position DESC",
    "schedule": "SELECT schedule, name FROM schedules WHERE NOT removed ORDER BY position DESC",
}
"""The list in which `last~N` counts, by kind: ids with a text, newest first. Sessions are ordered by their
last use."""
_OF_LINEAGE = "SELECT turn FROM turns WHERE lineage = ? ORDER BY position DESC"
_PLURALS = {"delivery": "deliveries"}


def find_reference(connection: Connection, what: str, name: str, *, within: str | None = None) -> str | None:
    """The id that `last` or `last~N` refers to in the list of that kind; None if the text is another name.

    `within`: the lineage whose turns are counted, all of them. Raises `Rejected`, kind `unknown_…`, if there
    are fewer.
    """
    back = steps_back(name)
    if back is None:
        return None
    query = LISTS[what] if within is None else _OF_LINEAGE
    values = () if within is None else (within,)
    row = connection.execute(f"{query} LIMIT 1 OFFSET ?", (*values, back)).fetchone()
    if row is not None:
        return str(row[0])
    (count,) = connection.execute(f"SELECT count(*) FROM ({query})", values).fetchone()
    if count:
        there = f"there {'is' if count == 1 else 'are'} {pluralize(count, what, _PLURALS.get(what, ''))}"
    else:
        there = f"there is no {what} yet"
    where = "" if within is None else " in this session"
    raise Rejected(
        f"{name!r} names nothing: {there}{where}.",
        kind=f"unknown_{what}",
        hint=f"`{LAST}` is the newest, `{LAST}~{count - 1}` the oldest." if count > 1 else "",
    )


MAX_CANDIDATES = 6  # candidates that a message names
NEAR = 400  # newest names among which similar ones are searched


def find_turn(connection: Connection, name: str, *, within: str | None = None) -> str:
    """The id of the turn that the text names; a step's id, as Flower shows it, names its turn.

    `within`: the lineage in which `last` counts. Raises `Rejected`, kind `ambiguous` or `unknown_turn`.
    """
    if referred := find_reference(connection, "turn", name, within=within):
        return referred
    if _exists(connection, "SELECT 1 FROM turns WHERE turn = ?", name):
        return name
    turn, dash, _ = name.partition("-")
    if dash and _exists(connection, "SELECT 1 FROM turns WHERE turn = ?", turn):
        return turn
    query = "SELECT turn, preview FROM turns WHERE turn >= ? AND turn < ? ORDER BY turn LIMIT ?"
    turns = connection.execute(query, (*_range(name), MAX_CANDIDATES + 1)).fetchall() if name else []
    if len(turns) == 1:
        return str(turns[0][0])
    if turns:
        raise _ambiguous(name, "turns", [_named(turn, text) for turn, text in turns], "more of its id")
    newest = connection.execute("SELECT turn FROM turns ORDER BY position DESC LIMIT ?", (NEAR,))
    raise _unknown(name, "turn", [turn for (turn,) in newest], "hermes-jobs turns list")


def find_by_prefix(connection: Connection, what: str, name: str, table: str, listing: str) -> str:
    """The id, in the table's column `what`, that the text names; `listing` is the command that lists them.

    Raises `Rejected`: `ambiguous` or `unknown_…`.
    """
    if referred := find_reference(connection, what, name):
        return referred
    if _exists(connection, f"SELECT 1 FROM {table} WHERE {what} = ?", name):
        return name
    query = f"SELECT {what}, text FROM {table} WHERE {what} >= ? AND {what} < ? LIMIT ?"
    found = connection.execute(query, (*_range(name), MAX_CANDIDATES + 1)).fetchall() if name else []
    if len(found) == 1:
        return str(found[0][0])
    if found:
        raise _ambiguous(name, table, [_named(id_, text) for id_, text in found], "more of its id")
    newest = connection.execute(f"SELECT {what} FROM {table} ORDER BY position DESC LIMIT ?", (NEAR,))
    raise _unknown(name, what, [id_ for (id_,) in newest], listing)


def find_schedule(connection: Connection, text: str, *, removed: bool = False) -> str:
    """The schedule that the text names: an id, a name in any case, or the unique beginning of either.

    A removed one is found by its id, and with `removed` in the same ways if no other one matches.
    Raises `Rejected`: `ambiguous` or `unknown_schedule`.
    """
    if referred := find_reference(connection, "schedule", text):
        return referred
    if _exists(connection, "SELECT 1 FROM schedules WHERE schedule = ?", text):
        return text
    query = "SELECT schedule, name FROM schedules WHERE removed = ?"
    try:
        return _schedule_among(connection.execute(query, (False,)).fetchall(), text)
    except Rejected as refused:
        removed_schedules = connection.execute(query, (True,)).fetchall() if removed else []
        if refused.kind == "ambiguous" or not removed_schedules:
            raise
    return _schedule_among(removed_schedules, text)


def _schedule_among(there: Sequence[tuple[str, str]], given: str) -> str:
    key = title_key(given)
    ids = {id_ for id_, name in there if title_key(name) == key} or {
        id_ for id_, name in there if key and (id_.startswith(given) or title_key(name).startswith(key))
    }
    if len(ids) == 1:
        return str(ids.pop())
    if ids:
        named = [_named(id_, name) for id_, name in there if id_ in ids]
        raise _ambiguous(given, "schedules", named, "more of its id")
    names = [text for row in there for text in row]
    raise _unknown(given, "schedule", names, "hermes-jobs schedule list")


def find_session(connection: Connection, text: str) -> str:
    """The lineage that the text names: an id of one of its sessions, a unique prefix, or a title in any case,
    also without the number that it has since it was continued.

    Raises `Rejected`, kind `ambiguous` or `unknown_session`.
    """
    if referred := find_reference(connection, "session", text):
        return referred
    exact = connection.execute("SELECT lineage FROM sessions WHERE session = ?", (text,)).fetchone()
    if exact:
        return str(exact[0])
    begun = connection.execute(
        "SELECT DISTINCT lineage FROM sessions WHERE session >= ? AND session < ? ORDER BY session LIMIT ?",
        (*_range(text), MAX_CANDIDATES + 1),
    )
    lineages = {lineage for (lineage,) in begun} if text else set()
    lineages |= set(_titled(connection, text))
    if len(lineages) == 1:
        return str(lineages.pop())
    if lineages:
        raise _ambiguous(text, "sessions", _labels(connection, sorted(lineages)), "more of its id")
    newest = connection.execute(
        "SELECT lineage FROM lineages ORDER BY last_position DESC LIMIT ?", (NEAR,)
    ).fetchall()
    names = [name for _, *both in _titles(connection) for name in both] + [lineage for (lineage,) in newest]
    raise _unknown(text, "session", names, "hermes-jobs sessions list")


def _titled(connection: Connection, given: str) -> list[str]:
    """The lineages with that title, case-insensitive; else those that had it before they were continued."""
    key, titles = title_key(given), _titles(connection)
    exact = [lineage for lineage, title, _ in titles if title_key(title) == key]
    return exact or [lineage for lineage, title, named in titles if _was_called(given, title, named)]


def _was_called(text: str, title: str, named: str) -> bool:
    """Whether the name is that of a lineage, or of an earlier session of it, whose newest session has the
    title."""
    if title_key(text) == title_key(named):
        return True
    number, newest = number_of(text, named), number_of(title, named)
    return number is not None and newest is not None and 2 <= number <= newest


def _titles(connection: Connection) -> list[tuple[str, str, str]]:
    query = "SELECT lineage, title, coalesce(named, title) FROM lineages WHERE title IS NOT NULL"
    return connection.execute(query).fetchall()


def _range(prefix: str) -> tuple[str, str]:
    """The bounds of all texts with that prefix: at least the first, less than the second."""
    return prefix, prefix + "\U0010ffff"


def _exists(connection: Connection, query: str, *values: str) -> bool:
    return connection.execute(query, values).fetchone() is not None


def _labels(connection: Connection, lineages: Sequence[str]) -> list[str]:
    marks = ", ".join("?" * len(lineages))
    query = f"SELECT tip, coalesce(title, preview) FROM lineages WHERE lineage IN ({marks}) ORDER BY tip"
    return [_named(tip, label) for tip, label in connection.execute(query, lineages)]


def _named(identity: str, text: str) -> str:
    return f"{identity} “{one_line(text, 40)}”"


def _ambiguous(name: str, what: str, candidates: Sequence[str], remedy: str) -> Rejected:
    more = " and more" if len(candidates) > MAX_CANDIDATES else ""
    names = ", ".join(candidates[:MAX_CANDIDATES])
    message = f"{name!r} fits several {what}: {names}{more}."
    return Rejected(message, kind="ambiguous", hint=f"Give {remedy}.")


def _unknown(given: str, what: str, names: Sequence[str], listing: str) -> Rejected:
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in names}
    near = [folded[name] for name in get_close_matches(given.casefold(), folded, n=3, cutoff=0.4)]
    nearest = f" The nearest: {', '.join(near)}." if near else ""
    message = f"There is no {what} {given!r}.{nearest}"
    return Rejected(message, kind=f"unknown_{what}", hint=f"See `{listing}`.")
