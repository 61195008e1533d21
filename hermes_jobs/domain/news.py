"""What a person on a chat platform is told with the next answer: what reviews have learned since the last.

A terminal looks it up when it shows a turn.
"""

from __future__ import annotations

from hermes_jobs.domain import events as e


def told(event: e.SessionEvent) -> str | None:
    """The event in words for a person; None for one that an answer need not mention."""
    match event:
        case e.ReviewCompleted(saved=saved) if saved:
            return f"Learned meanwhile: {saved}"
        case _:
            return None


def with_news(text: str, news: tuple[str, ...]) -> str:
    """The answer, and below it what else there is to say."""
    return "\n\n".join([text, *news]) if news else text
