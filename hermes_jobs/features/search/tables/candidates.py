"""The candidates of a query, for each of its alternatives: the best matches, or the newest of too many.

Ranking all matches of a common word would read every one of them. So each alternative of the query (`a OR b`
has two) yields some, and only those are ranked. The index has no list for a prefix and merges those of all
words with it: for a common prefix it is faster to scan the newest messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice, product
from sqlite3 import Connection, Row
from typing import NamedTuple, get_args

import msgspec

from hermes_jobs.features.search.tables.index_tokens import fts_query, metadata_token, quoted
from hermes_jobs.features.search.tables.search_index import ECHO
from hermes_jobs.features.search.tables.search_plan import SearchPlan, has_beginning, parts_of, plan_of
from hermes_jobs.features.search.tables.searchable_text import searchable_text
from hermes_jobs.kernel.engine.ports.conversation_search import Role, Scope
from hermes_jobs.kernel.views.children import CHAIN
from hermes_jobs.kernel.views.list_filters import HIDDEN_KINDS
from hermes_jobs.kernel.views.message_texts import Texts
from hermes_jobs.kernel.views.queries import contents_of
from hermes_jobs.text.search import All, AnyOf, Matcher, Term, Without, fold
from hermes_jobs.text.search.query import Expression, every

CANDIDATES = 200  # for the whole query
RANKED = 3_000  # up to so many matches are ranked; of more the newest are taken
COUNTED = 10_000  # the index ranks by words with at most so many entries
FEWEST = 50  # for each of its alternatives
ALTERNATIVES = 12  # alternatives beyond which they are not distinguished
TRIED = 100  # messages that are read before continuing counts as too slow
ONE_IN = 20  # one message of so many has to match to continue reading
NARROWED = 4  # times as many, and as few, where other words narrow what is read: the index has it no easier
ECHOES = 200  # calls and results of searches of the past that are read for beginnings of words
READ = 60  # enough matches when messages are read
AT_ONCE = 100  # messages whose texts are fetched together
END = "~"  # after every moment
LAST = (1 << 63) - 1  # of positions


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A message that matches. `text` is its readable text, and `folded` the same for comparing;
    `is_preview` if the text is not complete. `echo`: a call or a result of a search of the past."""

    position: int
    lineage: str
    turn: str
    role: Role
    call: str | None
    is_preview: bool
    at: str
    text: str
    folded: str
    echo: bool = False


class IndexedMessages(NamedTuple):
    """The searched messages: the rows, and the log's texts that they point at."""

    rows: Connection
    texts: Texts


def candidates(
    index: IndexedMessages, expression: Expression, scope: Scope, *, echoes: bool = False
) -> list[Candidate]:
    """At most about `CANDIDATES` messages, newest first. `echoes`: those of searches of the past alone."""
    ways = alternatives(expression)
    most = max(FEWEST, CANDIDATES // len(ways))
    where = Where(scope, echoes=echoes)
    by_position = {
        candidate.position: candidate for way in ways for candidate in _of_way(index, way, where, most)
    }
    return [by_position[position] for position in sorted(by_position, reverse=True)]


def alternatives(expression: Expression) -> tuple[Expression, ...]:
    """Expressions without a choice, one of which has to match; the whole expression if there would be too
    many."""
    ways = _alternatives(expression)
    return ways if len(ways) <= ALTERNATIVES else (expression,)


def _alternatives(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case AnyOf(parts):
            return tuple(way for part in parts for way in _alternatives(part))
        case Without(included, excluded):
            return tuple(Without(way, excluded) for way in _alternatives(included))
        case All(parts):
            ways = islice(product(*map(_alternatives, parts)), ALTERNATIVES + 1)
            return tuple(way for parts in ways if (way := every(parts)) is not None)
        case _:
            return (expression,)


def _of_way(index: IndexedMessages, way: Expression, where: Where, most: int) -> list[Candidate]:
    begins = has_beginning(way)
    if begins:
        plan = plan_of(way, reading=True)
        if where.echoes:
            return _read(plan, matches(index, plan, where, most=ECHOES), most) or []
        matching = _read(plan, matches(index, plan, where), min(most, READ), impatient=True)
        if matching is not None:
            return matching
    plan = plan_of(way, reading=False)
    matching = _read(plan, _likeliest(index, plan, where, most), most)
    assert matching is not None, "only an impatient read ends without a result"
    return matching


def _likeliest(index: IndexedMessages, plan: SearchPlan, where: Where, most: int) -> Iterator[Candidate]:
    """The matches, newest first; if there are more than `most`, but not too many, the best ones first."""
    newest = _positions(index.rows, plan, where, RANKED + 1)
    if most < len(newest) <= RANKED:
        best = _best(index.rows, plan, newest, most)
        chosen = frozenset(best)
        newest = [*best, *(position for position in newest if position not in chosen)]
    yield from messages_at(index, newest, echo=where.echoes)
    if len(newest) > RANKED:  # too few of them matched: an entry of the index may lack a term
        yield from matches(index, plan, where._replace(last=newest[-1] - 1))


def _positions(rows: Connection, plan: SearchPlan, where: Where, most: int) -> list[int]:
    """The positions of the newest matches."""
    scope = where.scope
    first, last = bounds(rows, scope)
    narrowed = bool(scope.outside or scope.after or scope.before)
    others = f"AND m.at >= ? AND m.at < ? AND m.lineage NOT IN ({CHAIN})" if narrowed else ""
    values = (scope.after or "", scope.before or END, scope.outside or "") if narrowed else ()
    query = f"""
        SELECT entries.rowid FROM entries
        {"CROSS JOIN messages m ON m.position = entries.rowid" if narrowed else ""}
        WHERE entries MATCH ? AND entries.rowid BETWEEN ? AND ? {others}
        ORDER BY entries.rowid DESC LIMIT ?
    """
    newest = rows.execute(query, (_fts_query(plan, where), first, last, *values, most)).fetchall()
    return [position for (position,) in newest]


def _best(rows: Connection, plan: SearchPlan, positions: Sequence[int], most: int) -> list[int]:
    """The best of these matches: by the index's own BM25 of the rare words, else the shortest texts.

    BM25 makes FTS5 walk through every entry that holds a word, to count them: for a common word that takes
    longer than everything else, and such a word has almost no weight.
    """
    rare = (
        [part for part in parts_of(plan.indexed)[0] if _is_rare(rows, part)]
        if plan.indexed is not None
        else []
    )
    ranked = every(rare)
    if ranked is None:
        query = """
            SELECT id FROM entries_docsize WHERE id IN (SELECT value FROM json_each(?1))
            ORDER BY length(sz), sz, id DESC LIMIT ?2
        """  # the sizes are variable-length integers, the most significant byte first
        rows_by_rank = rows.execute(query, (str(list(positions)), most))
    else:
        query = """
            SELECT rowid FROM entries
            WHERE entries MATCH ?2 AND +rowid IN (SELECT value FROM json_each(?1)) ORDER BY rank LIMIT ?3
        """  # + for the index to give its rows in the order of their rank
        rows_by_rank = rows.execute(query, (str(list(positions)), fts_query(ranked), most))
    return [position for (position,) in rows_by_rank.fetchall()]


def _is_rare(rows: Connection, part: Expression) -> bool:
    """Whether it is one word with so few entries that the index counts them quickly."""
    if not isinstance(part, Term) or part.prefix or not (part.text.isascii() and part.text.isalnum()):
        return False
    query = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE entries MATCH ? LIMIT ?)"
    return int(rows.execute(query, (fts_query(part), COUNTED + 1)).fetchone()[0]) <= COUNTED


def are_echoes(rows: Connection) -> bool:
    """Whether the call is a search of earlier conversations."""
    query = "SELECT 1 FROM entries WHERE entries MATCH ? LIMIT 1"
    return rows.execute(query, (quoted(ECHO),)).fetchone() is not None


class Where(NamedTuple):
    """A scope, and within it: `echoes`, the calls and results of searches of the past alone, and else none
    of them; of one lineage, between two positions."""

    scope: Scope
    echoes: bool = False
    lineage: str | None = None
    first: int = 0
    last: int = LAST


def _read(
    plan: SearchPlan, among: Iterable[Candidate], most: int, *, impatient: bool = False
) -> list[Candidate] | None:
    """The first matches of the plan; None with `impatient` if they are too rare to continue reading."""
    matcher = Matcher((*plan.required, *plan.excluded))
    expected = [True] * len(plan.required) + [False] * len(plan.excluded)
    patience = 1 if plan.indexed is None else NARROWED
    matching: list[Candidate] = []
    for read, candidate in enumerate(among, start=1):
        if candidate.is_preview or all(
            matcher.holds(at, candidate.folded) == is_expected for at, is_expected in enumerate(expected)
        ):
            matching.append(candidate)
        if len(matching) == most:
            break
        if impatient and read >= TRIED * patience and len(matching) * ONE_IN * patience < read:
            return None
    return matching


def matches(
    index: IndexedMessages, plan: SearchPlan, where: Where, *, best: bool = False, most: int | None = None
) -> Iterator[Candidate]:
    """Rows of the index, newest first or best first, read in batches on demand."""
    # CROSS JOIN: the index is read first, in order and only as far as rows are requested.
    query = f"""
        SELECT m.* FROM entries CROSS JOIN messages m ON m.position = entries.rowid
        WHERE entries MATCH ? AND entries.rowid BETWEEN ? AND ? AND m.at >= ? AND m.at < ?
        AND m.lineage NOT IN ({CHAIN}) AND coalesce(?, m.lineage) = m.lineage
        ORDER BY {"entries.rank" if best else "entries.rowid DESC"} LIMIT ?
    """
    scope = where.scope
    first, last = bounds(index.rows, scope)
    among = (max(first, where.first), min(last, where.last), scope.after or "", scope.before or END)
    cursor = index.rows.cursor()
    cursor.row_factory = Row
    with closing(cursor):
        others = (scope.outside or "", where.lineage, -1 if most is None else most)
        cursor.execute(query, (_fts_query(plan, where), *among, *others))
        while rows := cursor.fetchmany(AT_ONCE):
            yield from _candidates(index, rows, echo=where.echoes)


def messages_at(index: IndexedMessages, positions: Sequence[int], *, echo: bool) -> Iterator[Candidate]:
    """The messages at these positions in that order, read in batches on demand."""
    cursor = index.rows.cursor()
    cursor.row_factory = Row
    with closing(cursor):
        for start in range(0, len(positions), AT_ONCE):
            part = positions[start : start + AT_ONCE]
            query = "SELECT * FROM messages WHERE position IN (SELECT value FROM json_each(?))"
            rows = {row["position"]: row for row in cursor.execute(query, (str(list(part)),)).fetchall()}
            yield from _candidates(index, [rows[position] for position in part], echo=echo)


def _candidates(index: IndexedMessages, rows: Sequence[Row], *, echo: bool) -> Iterator[Candidate]:
    for row, content in zip(rows, contents_of(rows, index.texts), strict=True):
        yield _candidate(index.rows, row, content, echo=echo)


def _fts_query(plan: SearchPlan, where: Where) -> str:
    """The query for FTS5."""
    scope = where.scope
    of_roles = " OR ".join(quoted(metadata_token("role", role)) for role in scope.roles or get_args(Role))
    queries = [fts_query(plan.indexed)] if plan.indexed is not None else []
    if scope.roles or not queries:
        queries.append(f"({of_roles})")
    if scope.source is not None:
        queries.append(quoted(metadata_token("source", scope.source)))
    refused = list(map(fts_query, plan.refused))
    (queries if where.echoes else refused).append(quoted(ECHO))
    if not scope.hidden:
        refused += [quoted(metadata_token("kind", kind)) for kind in HIDDEN_KINDS]
    both = " AND ".join(queries)
    return f"({both}) NOT ({' OR '.join(refused)})" if refused else both


def _candidate(connection: Connection, row: Row, content: str, *, echo: bool) -> Candidate:
    text = searchable_text(content, calls_of(connection, row["step"], row["call"]))
    return Candidate(
        position=row["position"],
        lineage=row["lineage"],
        turn=row["turn"],
        role=row["role"],
        call=row["call"],
        is_preview=bool(row["kept"]),
        at=row["at"],
        text=text,
        folded=fold(text),
        echo=echo,
    )


def calls_of(connection: Connection, step: str | None, call: str | None) -> list[tuple[str, str]]:
    """The calls of a reply with their arguments; or the name of the call that a result answers."""
    if call is not None:
        return connection.execute("SELECT name, '' FROM calls WHERE call = ?", (call,)).fetchall()
    if step is None:
        return []
    query = "SELECT name, arguments FROM calls WHERE call > ? || '-' AND call < ? || '.' ORDER BY call"
    return connection.execute(query, (step, step)).fetchall()  # a call's id is its step's and a number


def bounds(connection: Connection, scope: Scope) -> tuple[int, int]:
    """The first and the last position of the days in question."""
    row = connection.execute(
        "SELECT min(first), max(last) FROM days WHERE day >= ? AND day <= ?",
        ((scope.after or "")[:10], (scope.before or END)[:10]),
    ).fetchone()
    return (1, 0) if row[0] is None else (row[0], row[1])
