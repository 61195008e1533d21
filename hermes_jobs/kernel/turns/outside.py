"""Outside text: what in a conversation neither its person nor the agent wrote, by its origin.

Pages, results of servers and of commands that fetch, payloads of triggers, and the answers of sub-agents that
have read such text. It counts while the conversation lasts: a summary may hold what it says.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_jobs.kernel.events import TurnSubmitted

MAX_ORIGINS = 5
"""Origins that are known of a conversation: the newest."""
MAX_CHARS = 200
"""Characters of one origin."""
MAX_TYPED = 200
"""Texts of persons that are known of a conversation: the newest."""
TYPED = ("cli", "chat", "telegram")
TYPED_BY = ("acp:", "web:")
"""Sources of texts that a person types, and their beginnings."""
PARENT, CHILD = "parent:", "child:"
"""Beginnings of the sources of a sub-agent's first text and of the text about its end: models wrote them."""


def is_typed(event: TurnSubmitted) -> bool:
    """Whether a person wrote the text: at a terminal, in an editor, on a page or in a chat. A program that
    sends a text, or a script without anybody there, may have it from others, and so may a pipe or a file."""
    if event.outside or event.unattended or not event.attended:
        return False
    if event.piped or event.source.startswith((PARENT, CHILD)):
        return False
    return event.unwatched or event.source in TYPED or event.source.startswith(TYPED_BY)


def origins(event: TurnSubmitted) -> tuple[str, ...]:
    """The origins of outside text that a text has, or that the model which wrote it had read."""
    place = event.opening.delegation if event.opening else None
    return joined(place.outside if place else (), (event.outside,))


def joined(known: tuple[str, ...], more: Iterable[str], most: int = MAX_ORIGINS) -> tuple[str, ...]:
    """The origins and more of them, each once, at most so many."""
    added = [each for each in more if each]
    return tuple(dict.fromkeys((*known, *added)))[-most:] if added else known
