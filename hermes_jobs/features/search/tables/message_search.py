"""Searching all conversations: candidates, ranked; for people grouped by lineage, with an excerpt of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from sqlite3 import Connection
from typing import NamedTuple

from msgspec.structs import replace

from hermes_jobs.features.search.tables.candidates import (
    END,
    Candidate,
    IndexedMessages,
    are_echoes,
    bounds,
    candidates,
)
from hermes_jobs.features.search.tables.question_candidates import (
    neighbours,
    passages_of,
    question_candidates,
)
from hermes_jobs.features.search.tables.search_index import OF_THE_PAST
from hermes_jobs.kernel.engine.ports.conversation_search import Role, Scope, SearchHit, SessionSummary
from hermes_jobs.kernel.events import SessionKind
from hermes_jobs.kernel.views.children import CHAIN
from hermes_jobs.kernel.views.list_filters import HIDDEN_KINDS
from hermes_jobs.kernel.views.message_texts import LargeResults
from hermes_jobs.kernel.views.rows import fetched
from hermes_jobs.text.search import Matcher, Term, parse, positive_terms, snippet
from hermes_jobs.text.search.question import Question, QuestionWord, asks_for_now, question
from hermes_jobs.text.search.ranking import (
    READ,
    counts_of_forms,
    coverages,
    fits,
    scores,
    terms_in,
)

BY_ROLE: Mapping[Role, float] = {"user": 1.0, "assistant": 1.0, "tool": 0.8}
UNREAD = 0.5  # the share of the usual score for a match in the unread part
SECOND_HAND = 0.1  # the weight of a turn that searched the past itself: it repeats the question or an answer
A_SENTENCE = 4  # a query with at least so many words is treated as a question
MARKED_SHARE = 0.25  # share of the rarest word's weight above which a word is marked
MARKED = 8  # the rarest words of a question that are marked
BESIDE = 0.25  # of the score of the messages just before and just after it
BEST_FIRST = 10  # hits of a relaxed query that are shown regardless of their conversation
COMPARABLE = 0.5  # share of the best score above which a newer statement may replace an older one
NEWEST = 0.4  # added share of its score for the newest of these, if the question is about the present
TOO_FEW = 5  # matches of all words of a question


def search(
    index: IndexedMessages, query: str, scope: Scope, limit: int, large_results: LargeResults
) -> tuple[SearchHit, ...]:
    """At most `limit` hits, those of a lineage together, best first; none for an empty query.

    Each lineage's best hit is shown before any second one, among the hits with all terms. Those of schedules
    come last.
    """
    ranked = answers(index, query, scope)
    relaxed = any(answer.relaxed for answer in ranked)
    groups = list(_by_lineage(_first_page(ranked, limit) if relaxed else ranked).values())
    return hits(index.rows, _shares(groups, limit), query, large_results)


def _first_page(ranked: Sequence[Answer], limit: int) -> list[Answer]:
    """The best `BEST_FIRST`, then the best of other lineages, which more hits of the first ones would
    displace."""
    best = ranked[: min(limit, BEST_FIRST)]
    shown = {answer.message.lineage for answer in best}
    others = [answer for answer in ranked[len(best) :] if answer.message.lineage not in shown]
    return [*best, *others[: limit - len(best)]]


class Answer(NamedTuple):
    """A message that was found. `looked_for`: the relaxed query, if it does not contain all terms;
    `coverage`: the share of the query's words that it contains, weighted by rarity."""

    message: Candidate
    looked_for: tuple[QuestionWord, ...] = ()
    coverage: float = 1.0

    @property
    def relaxed(self) -> bool:
        return bool(self.looked_for)

    def matcher(self, query: str) -> Matcher:
        """Finds the query's terms in the message."""
        expression = parse(query)
        if expression is None or not self.looked_for:
            return Matcher(() if expression is None else positive_terms(expression))
        return Matcher(terms_in(self.message.folded, self.looked_for))


def answers(index: IndexedMessages, query: str, scope: Scope) -> list[Answer]:
    """The matches of a query, best first: of all its terms; if too few, of the significant ones.

    Searches of the past come last, and sessions of schedules behind the others.
    """
    expression = parse(query)
    if expression is None:
        return []
    terms = positive_terms(expression)
    first, second = _ranked(index, candidates(index, expression, scope), terms)
    echoes: list[Candidate] = []
    if are_echoes(index.rows):
        echoes = list(chain(*_ranked(index, candidates(index, expression, scope, echoes=True), terms)))
    parsed = question(query)
    loose: list[Answer] = []
    if parsed is not None and len(first) < (TOO_FEW if parsed.num_words >= A_SENTENCE else 1):
        loose = _ranked_for_question(index, parsed, scope)
        if not loose and parsed.num_words >= A_SENTENCE:
            loose = _ranked_for_question(index, parsed.without_must, scope)
    exact = {candidate.position: Answer(candidate) for candidate in (*first, *second, *echoes)}
    loose = [exact.get(answer.message.position, answer) for answer in loose]
    all_answers = [
        *map(Answer, first),
        *(answer for answer in loose if not answer.message.echo),
        *map(Answer, second),
        *map(Answer, echoes),
        *(answer for answer in loose if answer.message.echo),
    ]
    distinct = {answer.message.position: answer for answer in reversed(all_answers)}
    ranked = [
        distinct.pop(answer.message.position) for answer in all_answers if answer.message.position in distinct
    ]
    lineages = _lineages(index.rows, (answer.message.lineage for answer in ranked))
    return sorted(ranked, key=lambda answer: lineages[answer.message.lineage].kind == "scheduled")


def _ranked(
    index: IndexedMessages, messages: Sequence[Candidate], terms: Sequence[Term]
) -> tuple[list[Candidate], list[Candidate]]:
    """Original messages, and those of turns that searched the past.

    Each best first: by score and role; the newer one of equals.
    """
    values = _weighed(messages, scores([candidate.folded for candidate in messages], terms))
    order = sorted(range(len(messages)), key=lambda at: (-values[at], -messages[at].position))
    second = _second_hand(index.rows, messages)
    best = [messages[at] for at in order]
    return [candidate for candidate in best if candidate.turn not in second], [
        candidate for candidate in best if candidate.turn in second
    ]


def _ranked_for_question(index: IndexedMessages, parsed: Question, scope: Scope) -> list[Answer]:
    """Possible answers to a question, best first: by their own words and those of the passage around them."""
    read, rarities, weights, passages = question_candidates(index, parsed, scope)
    folded = [candidate.folded for candidate in read]
    counts = counts_of_forms([text[:READ] for text in folded], parsed.parts)
    values = _weighed(read, fits(folded, counts, rarities))
    coverage_at = dict(
        zip((candidate.position for candidate in read), coverages(counts, weights), strict=True)
    )
    worth = {candidate.position: value for candidate, value in zip(read, values, strict=True) if value > 0}
    scored = [candidate for candidate in read if candidate.position in worth]
    total = _in_context(index.rows, worth, passages)
    if asks_for_now(parsed):
        _prefer_newer(total)
    second = _second_hand(index.rows, scored)
    for candidate in scored:
        total[candidate.position] *= SECOND_HAND if candidate.turn in second else 1.0
    rarest = sorted(zip(rarities, parsed.parts, strict=True), key=lambda pair: -pair[0])[:MARKED]
    looked_for = tuple(word for rare, word in rarest if rare >= rarest[0][0] * MARKED_SHARE)
    best = sorted(scored, key=lambda candidate: (-total[candidate.position], -candidate.position))
    return [Answer(candidate, looked_for, coverage_at[candidate.position]) for candidate in best]


def _in_context(
    rows: Connection, messages: Mapping[int, float], passages: Mapping[int, float]
) -> dict[int, float]:
    """Each message's score with its passage's and some of its neighbours', all as shares of the best one.

    Ranks would lose the distances between scores (see docs/adr/0043 and 0112).
    """
    best, best_passage = max(messages.values(), default=1.0), max(passages.values(), default=1.0)
    places = passages_of(rows, messages)
    own = {position: value / best for position, value in messages.items()}
    total = {at: share + passages.get(places.get(at, 0), 0.0) / best_passage for at, share in own.items()}
    for one, other in neighbours(rows, messages):
        total[one] += BESIDE * own[other]
        total[other] += BESIDE * own[one]
    return total


def _prefer_newer(total: dict[int, float]) -> None:
    """Give the later ones of the best messages a part of their score in addition."""
    least = COMPARABLE * max(total.values(), default=0.0)
    comparable = sorted(position for position, value in total.items() if value >= least)
    for rank, position in enumerate(comparable):
        total[position] *= 1 + NEWEST * rank / max(len(comparable) - 1, 1)


def _weighed(messages: Sequence[Candidate], fitting: Sequence[float]) -> list[float]:
    """The score of each, weighted by its role."""
    usual = sum(fitting) / max(len(fitting), 1) or 1.0
    return [
        (fit or (usual * UNREAD if candidate.is_preview or len(candidate.folded) > READ else 0.0))
        * BY_ROLE[candidate.role]
        for candidate, fit in zip(messages, fitting, strict=True)
    ]


def _second_hand(rows: Connection, messages: Iterable[Candidate]) -> set[str]:
    """The turns that searched the past."""
    if not are_echoes(rows):
        return set()
    marks = ", ".join("?" * len(OF_THE_PAST))
    # A call's id is its turn's, its step's and a number.
    query = f"SELECT 1 FROM calls WHERE call > ? || '-' AND call < ? || '.' AND name IN ({marks})"
    turns = {candidate.turn for candidate in messages}
    return {turn for turn in turns if rows.execute(query, (turn, turn, *OF_THE_PAST)).fetchone()}


def _by_lineage(ranked: Iterable[Answer]) -> dict[str, list[Answer]]:
    """Each lineage's answers; the lineage with the best one first."""
    groups: dict[str, list[Answer]] = {}
    for answer in ranked:
        groups.setdefault(answer.message.lineage, []).append(answer)
    return groups


def _shares(groups: Sequence[Sequence[Answer]], limit: int) -> Iterator[Answer]:
    """`limit` of them, one group after the other, each with a limited share."""
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
    names = list(dict.fromkeys(lineages))
    marks = ", ".join("?" * len(names))
    query = f"SELECT {', '.join(_Lineage._fields)} FROM lineages WHERE lineage IN ({marks})"
    return {row[0]: _Lineage(*row) for row in connection.execute(query, names)}


def hits(
    rows: Connection, chosen: Iterable[Answer], query: str, large_results: LargeResults
) -> tuple[SearchHit, ...]:
    """The answers as hits, in the same order."""
    shown = list(chosen)
    lineages = _lineages(rows, (answer.message.lineage for answer in shown))
    return tuple(
        _hit(lineages[answer.message.lineage], answer, answer.matcher(query), large_results)
        for answer in shown
    )


def _hit(lineage: _Lineage, answer: Answer, matcher: Matcher, large_results: LargeResults) -> SearchHit:
    message = answer.message
    result = large_results(message.call) if message.is_preview and message.call is not None else None
    return SearchHit(
        session=lineage.tip,
        lineage=lineage.lineage,
        kind=lineage.kind,
        source=lineage.source,
        title=lineage.title,
        label=lineage.title or lineage.preview,
        turn=message.turn,
        role=message.role,
        position=message.position,
        snippet=snippet(message.text if result is None else result, matcher),
        at=message.at,
        relaxed=answer.relaxed,
    )


def within(rows: Connection, scope: Scope) -> Scope:
    """The scope with the lineage of the excluded session."""
    if scope.outside is None:
        return scope
    row = rows.execute("SELECT lineage FROM sessions WHERE session = ?", (scope.outside,)).fetchone()
    return replace(scope, outside=row[0] if row else scope.outside)


def count_messages(connection: Connection, scope: Scope) -> int:
    """The number of messages of all roles since that time."""
    first, last = bounds(connection, scope)
    query = "SELECT count(*) FROM messages WHERE position BETWEEN ? AND ?"
    return int(connection.execute(query, (first, last)).fetchone()[0])


def select_recent(connection: Connection, scope: Scope, limit: int) -> tuple[SessionSummary, ...]:
    """Lineages, the last used first."""
    query = f"""
        SELECT l.*, (SELECT count(*) FROM messages m WHERE m.lineage = l.lineage) AS num_messages
        FROM lineages l
        WHERE (? OR l.kind NOT IN {HIDDEN_KINDS}) AND l.lineage NOT IN ({CHAIN})
            AND coalesce(?, l.source) = l.source
            AND l.last_at >= ? AND l.started_at < ?
        ORDER BY l.last_position DESC LIMIT ?
    """
    limits = (scope.hidden, scope.outside or "", scope.source, scope.after or "", scope.before or END, limit)
    return tuple(
        SessionSummary(
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
