"""Built-in recall: passages of earlier sessions that match the user's message."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.domain.session.session import Session
from hermes_jobs.engine.ports.conversation_search import ConversationSearch, Near, Passage, Scope
from hermes_jobs.text.search.question import as_question

FOUND = 6  # passages, each with what was said around it
TEXT_CHARS = 400  # shown of a passage


class SessionRecall:
    """See `Recall`. Searches all conversations but the current one."""

    def __init__(self, archive: ConversationSearch) -> None:
        self._archive = archive

    def __call__(self, session: Session, text: str) -> str:
        """The passages found, best first, each with its neighbours; empty where none was found."""
        query = as_question(text)
        if not query:
            return ""
        found = self._archive.passages(query, scope=Scope(outside=session.id), limit=FOUND)
        lines = [line for each in found for line in _told(each)]
        return "\n".join(["From earlier conversations:", *lines]) if lines else ""


def _told(passage: Passage) -> Iterator[str]:
    hit = passage.hit
    if passage.before is not None:
        yield f"- {hit.at[:10]}, {hit.label}, {_line(passage.before)}"
        yield f"  {hit.role}: {_cut(passage.text)}"
    else:
        yield f"- {hit.at[:10]}, {hit.label}, {hit.role}: {_cut(passage.text)}"
    if passage.after is not None:
        yield f"  {_line(passage.after)}"


def _line(near: Near) -> str:
    return f"{near.role}: {_cut(near.text)}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1] + "…"
