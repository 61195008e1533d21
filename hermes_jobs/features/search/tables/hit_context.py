"""Hits for a model: the best ones of all conversations, each with the messages around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_jobs.features.search.tables.candidates import Candidate, IndexedMessages, messages_at
from hermes_jobs.features.search.tables.message_search import Answer, answers, hits
from hermes_jobs.kernel.engine.ports.conversation_search import Near, Passage, Role, Scope
from hermes_jobs.kernel.views.message_texts import LargeResults, Texts
from hermes_jobs.text.search import Matcher, best_window
from hermes_jobs.text.search.folding import normal

TEXT_CHARS = 1_000  # of a hit's own text
NEAR_CHARS = 400  # of the messages around it
LOOKED_AT = 12  # messages on either side among which texts are searched
CUT = "…"


def passages(
    index: IndexedMessages,
    query: str,
    scope: Scope,
    limit: int,
    large_results: LargeResults,
    least: float = 0.0,
) -> tuple[Passage, ...]:
    """At most `limit`, best first, each message shown once: a hit is shown by itself, with its relevant part,
    and not around another hit.

    `least`: the share of the query's words, weighted by rarity, that a hit has to contain.
    """
    chosen = [answer for answer in answers(index, query, scope) if answer.coverage >= least][:limit]
    shown = {answer.message.position for answer in chosen}
    shown_hits = hits(index.rows, chosen, query, large_results)
    around = [_around(index, answer.message) for answer in chosen]
    return tuple(
        Passage(
            hit=hit,
            text=_part(answer.message.text, answer.matcher(query)),
            before=_once(near["before"], shown),
            after=_once(near["after"], shown),
        )
        for hit, answer, near in zip(shown_hits, chosen, around, strict=True)
    )


def _once(near: Near | None, shown: set[int]) -> Near | None:
    """The neighbour, unless it is shown already; marks it as shown."""
    if near is None or near.position in shown:
        return None
    shown.add(near.position)
    return near


def passages_at(
    index: IndexedMessages, positions: Sequence[int], large_results: LargeResults
) -> tuple[Passage, ...]:
    """The messages at these positions, in that order, each with the messages around it."""
    by_position = {message.position: message for message in messages_at(index, positions, echo=False)}
    messages = [by_position[position] for position in positions if position in by_position]
    around = [_around(index, message) for message in messages]
    return tuple(
        Passage(hit=hit, text=message.text[:TEXT_CHARS], before=near["before"], after=near["after"])
        for hit, message, near in zip(
            hits(index.rows, map(Answer, messages), "", large_results), messages, around, strict=True
        )
    )


def _part(text: str, matcher: Matcher) -> str:
    """The part of a text with the most search terms."""
    start, end = best_window(text, matcher, TEXT_CHARS)
    read = normal(text)
    return f"{CUT if start else ''}{read[start:end]}{CUT if end < len(read) else ''}"


def _around(index: IndexedMessages, message: Candidate) -> dict[str, Near | None]:
    """The message before it and its answer: for a user's text, the model's final answer."""
    row = index.rows.execute(
        "SELECT received, part FROM messages WHERE position = ?", (message.position,)
    ).fetchone()
    if row[0] is None:  # a text that no model has received yet
        return {"before": None, "after": None}
    after = list(_neighbours(index, message.lineage, row, after=True))
    answer: list[tuple[int, Role]] = []
    if message.role == "assistant":
        answer = after[:1]
    else:
        for neighbour in after:
            if neighbour[1] == "user":
                break
            answer = [neighbour]
    before = list(_neighbours(index, message.lineage, row, after=False))
    if message.role == "tool":
        before = [neighbour for neighbour in before if neighbour[1] == "user"]
    return {"before": _near(index.texts, before[:1]), "after": _near(index.texts, answer)}


def _neighbours(
    index: IndexedMessages, lineage: str, place: tuple[int, int], *, after: bool
) -> Iterator[tuple[int, Role]]:
    """The texts and answers next to a place, the nearest first."""
    sign, order = (">", "ASC") if after else ("<", "DESC")
    rows = index.rows.execute(
        f"SELECT position, role FROM messages WHERE lineage = ? AND (received, part) {sign} (?, ?)"
        f" ORDER BY received {order}, part {order} LIMIT ?",
        (lineage, *place, LOOKED_AT),
    ).fetchall()
    neighbours: Sequence[tuple[int, Role]] = [(position, role) for position, role in rows if role != "tool"]
    texts = index.texts(position for position, _ in neighbours)
    return (row for row in neighbours if texts[row[0]].strip())


def _near(texts: Texts, neighbours: Sequence[tuple[int, Role]]) -> Near | None:
    for position, role in neighbours:
        text = texts((position,))[position]
        return Near(role=role, position=position, text=text[:NEAR_CHARS] + CUT * (len(text) > NEAR_CHARS))
    return None
