"""Searching all conversations: candidates, ranked, grouped by lineage, with an excerpt of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sqlite3 import Connection
from typing import NamedTuple

from msgspec.structs import replace

from hermes_jobs.domain.events import SessionKind
from hermes_jobs.domain.search import Matcher, Term, excerpt, parse, positive_terms
from hermes_jobs.domain.search.ranking import scores
from hermes_jobs.engine.archive import Hit, Past, Role, Scope
from hermes_jobs.views.candidates import END, Candidate, Shelf, bounds, candidates
from hermes_jobs.views.entries import Kept
from hermes_jobs.views.reading import HIDDEN_KINDS, fetched

NEWEST_GAINS = 0.2  # by how much the newest candidate's score is raised; the oldest one's is not
BY_ROLE: Mapping[Role, float] = {"user": 1.0, "assistant": 1.0, "tool": 0.8}
UNREAD = 0.5  # the share of the usual score that a match gets which stands in what was not read


def search(shelf: Shelf, query: str, scope: Scope, limit: int, kept: Kept) -> tuple[Hit, ...]:
    """At most `limit` hits, those of a lineage together, best first; none where nothing can be searched.

    Every lineage has its best hit shown before another has its second. Scheduled ones come last.
    """
    expression = parse(query)
    if expression is None:
        return ()
    terms = positive_terms(expression)
    groups = _by_lineage(_ranked(candidates(shelf, expression, scope), terms))
    lineages = _lineages(shelf.rows, groups)
    order = sorted(groups, key=lambda lineage: lineages[lineage].kind == "scheduled")
    matcher = Matcher(terms)
    shown = _shares([groups[lineage] for lineage in order], limit)
    return tuple(_hit(lineages[each.lineage], each, matcher, kept) for each in shown)


def _ranked(found: Sequence[Candidate], terms: Sequence[Term]) -> list[Candidate]:
    """Best first: by how well they fit, who said it, and a little by how new they are."""
    fits = scores([each.folded for each in found], terms)
    usual = sum(fits) / max(len(fits), 1)
    oldest = max(len(found) - 1, 1)
    values = [
        (fit or (usual * UNREAD if each.kept else 0.0))
        * BY_ROLE[each.role]
        * (1 + NEWEST_GAINS * (1 - age / oldest))
        for age, (each, fit) in enumerate(zip(found, fits, strict=True))
    ]
    return [found[at] for at in sorted(range(len(found)), key=lambda at: -values[at])]


def _by_lineage(ranked: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Each lineage's candidates; the lineage with the best one first."""
    groups: dict[str, list[Candidate]] = {}
    for each in ranked:
        groups.setdefault(each.lineage, []).append(each)
    return groups


def _shares(groups: Sequence[Sequence[Candidate]], limit: int) -> Iterator[Candidate]:
    """`limit` of them, group by group, after as many from each as are left for it."""
    rounds = sorted((turn, number) for number, group in enumerate(groups) for turn in range(len(group)))
    shares = Counter(number for _, number in rounds[:limit])
    for number, group in enumerate(groups):
        yield from group[: shares[number]]


class _Lineage(NamedTuple):
    lineage: str
    tip: str
    kind: SessionKind
    source: str
    title: str | None
    preview: str


def _lineages(connection: Connection, lineages: Iterable[str]) -> dict[str, _Lineage]:
    wanted = list(lineages)
    marks = ", ".join("?" * len(wanted))
    query = f"SELECT {', '.join(_Lineage._fields)} FROM lineages WHERE lineage IN ({marks})"
    return {row[0]: _Lineage(*row) for row in connection.execute(query, wanted)}


def _hit(lineage: _Lineage, found: Candidate, matcher: Matcher, kept: Kept) -> Hit:
    whole = kept(found.call) if found.kept and found.call is not None else None
    return Hit(
        session=lineage.tip,
        lineage=lineage.lineage,
        kind=lineage.kind,
        source=lineage.source,
        title=lineage.title,
        label=lineage.title or lineage.preview,
        turn=found.turn,
        role=found.role,
        position=found.position,
        snippet=excerpt(found.text if whole is None else whole, matcher),
        at=found.at,
    )


def within(rows: Connection, scope: Scope) -> Scope:
    """The scope with the lineage of the session that is left out."""
    if scope.outside is None:
        return scope
    found = rows.execute("SELECT lineage FROM sessions WHERE session = ?", (scope.outside,)).fetchone()
    return replace(scope, outside=found[0] if found else scope.outside)


def count_messages(connection: Connection, scope: Scope) -> int:
    """How many messages there are from that time on, by anybody."""
    first, last = bounds(connection, scope)
    query = "SELECT count(*) FROM messages WHERE position BETWEEN ? AND ?"
    return int(connection.execute(query, (first, last)).fetchone()[0])


def select_recent(connection: Connection, scope: Scope, limit: int) -> tuple[Past, ...]:
    """Lineages, the last used first."""
    query = f"""
        SELECT l.*, (SELECT count(*) FROM messages m WHERE m.lineage = l.lineage) AS num_messages
        FROM lineages l
        WHERE (? OR l.kind NOT IN {HIDDEN_KINDS}) AND l.lineage <> ? AND coalesce(?, l.source) = l.source
            AND l.last_at >= ? AND l.started_at < ?
        ORDER BY l.last_position DESC LIMIT ?
    """
    limits = (scope.hidden, scope.outside or "", scope.source, scope.after or "", scope.before or END, limit)
    return tuple(
        Past(
            session=row["tip"],
            kind=row["kind"],
            source=row["source"],
            title=row["title"],
            preview=row["preview"],
            started_at=row["started_at"],
            last_at=row["last_at"],
            num_messages=row["num_messages"],
        )
        for row in fetched(connection, query, limits)
    )
