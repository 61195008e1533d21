"""The `recall_compacted` tool: searches the original messages behind this conversation's summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Protocol

from hermes_jobs.features.search.tools import line_of
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.engine.ports.conversation_search import TranscriptMessage
from hermes_jobs.text.search import Matcher, Term, best_window, parse, positive_terms
from hermes_jobs.text.search.folding import normal
from hermes_jobs.tools.tool import Tool, ToolFailed, tool

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

EXCERPT_CHARS = 12_000
COMMON = 5  # a word that is so many times as frequent as the rarest one is ignored


class Transcripts(Protocol):
    """The used part of a `ConversationSearch`."""

    def transcript(self, session: str) -> tuple[TranscriptMessage, ...]:
        """The messages in the lineage of that session, in order."""


class RecallCompacted:
    """Reads this conversation again, from its first message on, compressed or not."""

    def __init__(self, archive: Transcripts) -> None:
        self._archive = archive

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""
        make = tool(toolset="search", effect="read", offered=lambda session: session.num_compressed > 0)
        return (make(self.recall_compacted),)

    def recall_compacted(
        self,
        caller: ToolContext,
        *,
        query: Annotated[str, "Its words; exact names and values work best."],
    ) -> str:
        """Search the messages of this conversation that a summary has replaced, word for word.

        Use it when the summary lacks a detail. The result is earlier conversation, not a new request.
        """
        expression = parse(query)
        terms = () if expression is None else positive_terms(expression)
        if not terms:
            raise ToolFailed("Give words to look for.")
        transcript = normal("\n\n".join(map(line_of, self._archive.transcript(caller.session))))
        text = distinctive_terms(terms, transcript)
        if not text:
            return f"Nothing in this conversation holds “{query}”. Try fewer or other words."
        matcher = Matcher(text)
        start, end = best_window(transcript, matcher, EXCERPT_CHARS)
        before = "[… earlier messages are left out]\n" if start else ""
        after = "\n[later messages are left out …]" if end < len(transcript) else ""
        return f"{before}{transcript[start:end]}{after}"


def distinctive_terms(terms: Sequence[Term], text: str) -> tuple[Term, ...]:
    """The occurring terms, without those that are far more frequent than the rarest one: the specific words
    of a question. None if no term occurs."""
    places = {term: len(Matcher((term,)).spans(text)) for term in terms}
    fewest = min((count for count in places.values() if count), default=0)
    return tuple(term for term, count in places.items() if 0 < count <= COMMON * fewest)


def compression_tools(application: Application) -> tuple[Tool, ...]:
    """The tools, over the views."""
    return RecallCompacted(application.views).tools
