"""What a person on a chat platform is told with the next answer: what came of reviews since the last.

A terminal looks it up when it shows a turn.
"""

from __future__ import annotations

from hermes_jobs.domain import events as e


def told(event: e.SessionEvent) -> str | None:
    """The event in words for a person; None for one that an answer need not mention."""
    match event:
        case e.ReviewCompleted():
            learned = f"Learned meanwhile: {event.saved}" if event.saved else ""
            return "\n".join(filter(None, (learned, stood_in(event.failures)))) or None
        case _:
            return None


def stood_in(failures: str) -> str:
    """The sentence about models for reviews that failed; empty where none did."""
    return f"Your conversation's own model reviewed it, as another one failed: {failures}" if failures else ""


def with_news(text: str, news: tuple[str, ...]) -> str:
    """The answer, and below it what else there is to say."""
    return "\n\n".join([text, *news]) if news else text
