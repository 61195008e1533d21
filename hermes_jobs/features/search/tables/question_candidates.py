"""The candidates of a question, with the weights of its words: the best matches, not the newest.

The number of passages with a word gives its rarity. The index ranks the messages with the rarest words, up to
a limit of places; the best passages add their messages. Only those are read. If every word is common, the
newest messages with one are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from math import inf
from sqlite3 import Connection
from typing import NamedTuple

from hermes_jobs.features.search.tables.candidates import Candidate, IndexedMessages, Where, matches
from hermes_jobs.features.search.tables.index_tokens import OFTEN, fts_query, quoted
from hermes_jobs.features.search.tables.passage_index import MESSAGES
from hermes_jobs.features.search.tables.search_plan import SearchPlan
from hermes_jobs.kernel.engine.ports.conversation_search import Scope
from hermes_jobs.text.search import Matcher, positive_terms
from hermes_jobs.text.search.function_words import function_roots
from hermes_jobs.text.search.query import Expression, any_of, every
from hermes_jobs.text.search.question import Question, QuestionWord
from hermes_jobs.text.search.ranking import by_length, rarity, saturated
from hermes_jobs.text.search.terms import Term

LISTED = 1_000  # passages that are read for one word
PLACES = 4_000  # passages that all words ranked by the index may have together
RANKABLE = 8_000  # passages of the rarest word above which only the newest messages with it are taken
RANKED = 120  # messages that it gives then
PASSAGES = 100  # that are compared
BEST = 4  # whose messages are read as well
OF_EACH = 25  # messages
WIDEST = 2_000  # positions of a passage among which these are, where other conversations continued beside it
WORDS = 8  # words searched in the index, each in all its forms
ECHOES = 10  # calls and results of searches of the past, which come last
MANY = 200  # passages; of fewer, with the question itself among them, rarity says little
FUNCTION_WORD = 0.3  # the rarity of a function word, which is in no passage


class WeightedTerm(NamedTuple):
    """A term with its passages and its rarity.

    `weight`: its rarity among `MANY` passages, if there are fewer. `places`: the number of passages with it,
    estimated if there are many; infinite for a function word.
    """

    term: QuestionWord
    rarity: float
    weight: float
    places: float
    passages: list[int]


class QuestionCandidates(NamedTuple):
    """Candidates, the rarity and the weight of each term, and the best passages in order."""

    candidates: list[Candidate]
    rarities: list[float]
    weight: list[float]
    passages: dict[int, float]


def question_candidates(index: IndexedMessages, question: Question, scope: Scope) -> QuestionCandidates:
    """The candidates of a question."""
    (newest,) = index.rows.execute("SELECT coalesce(max(passage), 0) FROM passages").fetchone()
    weighted = [_weighted(index.rows, word, newest) for word in question.parts]
    order = _passages(index.rows, weighted)
    parts = [part for part in (_affordable(index.rows, weighted), question.must) if part is not None]
    plan = SearchPlan.of(every(parts))
    few = min((word.places for word in weighted if word.places), default=0.0) <= RANKABLE
    messages = list(matches(index, plan, Where(scope), best=few, most=RANKED)) if parts else []
    everything = SearchPlan.of(question.must)
    for lineage, first, last in _places(index.rows, list(order)[:BEST]):
        near = Where(scope, lineage=lineage, first=first, last=min(last, first + WIDEST))
        messages += matches(index, everything, near, most=OF_EACH)
    messages += matches(index, plan, Where(scope, echoes=True), best=few, most=ECHOES) if parts else ()
    must = Matcher(positive_terms(question.must) if question.must is not None else ())
    return QuestionCandidates(
        [
            candidate
            for candidate in {candidate.position: candidate for candidate in messages}.values()
            if _holds_all(must, candidate)
        ],
        [word.rarity for word in weighted],
        [word.weight for word in weighted],
        order,
    )


def _holds_all(must: Matcher, candidate: Candidate) -> bool:
    return candidate.is_preview or all(must.holds(at, candidate.folded) for at in range(len(must.terms)))


def _weighted(rows: Connection, word: QuestionWord, newest: int) -> WeightedTerm:
    if word.root in function_roots():
        return WeightedTerm(word, FUNCTION_WORD, FUNCTION_WORD, inf, [])
    listed = _listed(rows, quoted(word.root)) if word.root is not None else []
    num_passages = float(len(listed))
    if len(listed) == LISTED:  # only the newest: the total is estimated from their density
        num_passages *= newest / max(newest - listed[-1] + 1, 1)
    elif not listed:
        num_passages = _estimated_passages(rows, word, newest)
    at_least = max(
        num_passages, 1.0
    )  # a word without occurrences is not rarer than one with a single occurrence
    weight = rarity(at_least, max(newest, at_least, MANY))
    return WeightedTerm(word, rarity(num_passages, max(newest, num_passages)), weight, num_passages, listed)


def _estimated_passages(rows: Connection, word: QuestionWord, newest: int) -> float:
    """The estimated number of passages for a term that passages do not index: a phrase, or a word of tool
    results. At most the number of messages with it; for many, estimated from the density of the newest ones.
    """
    query = "SELECT rowid FROM entries WHERE entries MATCH ? ORDER BY rowid DESC LIMIT ?"
    prefix = any(term.prefix for term in word.terms)  # FTS5 lists all of its words before the first entry
    listed = [] if prefix else rows.execute(query, (fts_query(word.expression), LISTED)).fetchall()
    if len(listed) < LISTED:
        return float(len(listed))
    (last,) = rows.execute("SELECT max(last) FROM days").fetchone()
    return newest * min(1.0, LISTED * MESSAGES / max(int(last) - int(listed[-1][0]) + 1, 1))


def _listed(rows: Connection, token: str) -> list[int]:
    query = (
        "SELECT rowid FROM entries_of_passages WHERE entries_of_passages MATCH ? ORDER BY rowid DESC LIMIT ?"
    )
    return [number for (number,) in rows.execute(query, (token, LISTED)).fetchall()]


def _affordable(rows: Connection, weighted: Sequence[WeightedTerm]) -> Expression | None:
    """Any of the rarest words, as many as the index can rank at once, at least one.

    Function words count only in messages that are found by other words, if there are any. So do beginnings of
    words, which cost more than all the rest.
    """
    occurring = [word for word in weighted if 0 < word.places < inf]
    if not occurring:
        return any_of([word.term.terms[0] for word in weighted if word.places])
    parts: list[Expression] = []
    places = 0.0
    for word in sorted(occurring, key=lambda word: -word.rarity)[:WORDS]:
        places += word.places
        if parts and places > PLACES:
            break
        parts += _occurring(rows, word.term.terms)
    return any_of(parts)


def _occurring(rows: Connection, terms: Sequence[Term]) -> list[Term]:
    """The terms that occur in an entry: the index ranks by every form in the query, present or not."""
    query = """
        SELECT key FROM json_each(?)
        WHERE EXISTS (SELECT 1 FROM entries WHERE entries MATCH json_each.value LIMIT 1)
    """
    queries = json.dumps(list(map(fts_query, terms)))
    return [terms[at] for (at,) in rows.execute(query, (queries,)).fetchall()]


def _passages(rows: Connection, weighted: Sequence[WeightedTerm]) -> dict[int, float]:
    """The passages with the most terms, best first."""
    totals: dict[int, float] = {}
    places = 0.0
    for word in sorted(weighted, key=lambda word: -word.rarity):
        places += word.places
        if totals and places > PLACES:
            break
        often = frozenset(_listed(rows, quoted(OFTEN + word.term.root))) if word.term.root else ()
        once, twice = word.rarity * saturated(1, 1), word.rarity * saturated(2, 1)
        for passage in word.passages:
            totals[passage] = totals.get(passage, 0.0) + (twice if passage in often else once)
    best = nlargest(PASSAGES, totals, key=lambda passage: (totals[passage], passage))
    sizes = _sizes(rows, best)
    weight = dict(zip(best, by_length([sizes[position] for position in best], 0.0), strict=True))
    worth = {passage: totals[passage] / (1 + weight[passage]) for passage in best}
    return {
        position: worth[position]
        for position in sorted(worth, key=lambda position: (-worth[position], -position))
    }


def _sizes(rows: Connection, passages: Sequence[int]) -> dict[int, int]:
    marks = ", ".join("?" * len(passages))
    return dict(rows.execute(f"SELECT passage, words FROM passages WHERE passage IN ({marks})", passages))


def _places(rows: Connection, passages: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    query = "SELECT lineage, first, last FROM passages WHERE passage = ?"
    for passage in passages:
        yield from rows.execute(query, (passage,))


def passages_of(rows: Connection, positions: Iterable[int]) -> dict[int, int]:
    """The passage of each message: the one that contains or precedes it."""
    query = """
        SELECT m.position, (
            SELECT passage FROM passages p WHERE p.lineage = m.lineage AND p.first <= m.position
            ORDER BY p.first DESC LIMIT 1
        ) AS passage
        FROM messages m WHERE m.position IN (SELECT value FROM json_each(?)) AND passage IS NOT NULL
    """
    return dict(rows.execute(query, (str(list(positions)),)).fetchall())


def neighbours(rows: Connection, positions: Iterable[int]) -> list[tuple[int, int]]:
    """The pairs of these messages that follow each other in a conversation, without tool results."""
    query = """
        SELECT m.position, (
            SELECT n.position FROM messages n
            WHERE n.lineage = m.lineage AND n.role <> 'tool' AND n.received > m.received
            ORDER BY n.received LIMIT 1
        )
        FROM messages m WHERE m.position IN (SELECT value FROM json_each(?)) AND m.role <> 'tool'
    """
    these = set(positions)
    return [pair for pair in rows.execute(query, (str(list(these)),)).fetchall() if pair[1] in these]
