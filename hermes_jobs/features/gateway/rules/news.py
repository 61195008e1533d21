"""Notices for chat users beside answers: sent at once, or with the next answer.

| event                                                         | sent                 |
|---------------------------------------------------------------|----------------------|
| the conversation fills the window, or was compressed          | at once              |
| another model answers instead; the turn waits for a quota     | at once              |
| the turn cannot begin yet                                     | at once              |
| a limit stopped the turn                                      | with its answer      |
| what reviews have learned, and which model for them failed    | with the next answer |

A terminal reads the same from the log when it shows a turn.
"""

from __future__ import annotations

from datetime import UTC, datetime

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.context_notices import notices
from hermes_jobs.kernel.turns.stops import stop_sentence, stopped_by
from hermes_jobs.text.figures import moment


def immediate_notices(event: e.SessionEvent) -> tuple[str, ...]:
    """Notices that are sent at once, without a full stop; none for other events."""
    match event:
        case e.ModelCallFailed(fallback=str(other)) if other:
            why = event.kind.replace("_", " ")
            return (f"{_model(event)} cannot be used ({why}): {other} answers instead",)
        case e.ModelCallFailed(quota_until=float(until)):
            return (
                f"the quota of {_model(event)} is used up until "
                f"{moment(datetime.fromtimestamp(until, UTC))} UTC; I continue at that time",
                "/model NAME continues with another model, /stop ends it",
            )
        case _:
            return notices(event)


def _model(event: e.ModelCallFailed) -> str:
    return f"the model {event.model}".rstrip()


def stop_notice(end: e.TurnEnd, turn: str, *, is_chat: bool) -> tuple[str, ...]:
    """What stopped the turn, with the command that continues with it; none for other ends."""
    limit = stopped_by(end)
    if limit is None:
        return ()
    command = "/continue" if is_chat else f"`hermes-jobs turns continue {turn}`"
    text = f"{command} continues."
    return (f"({stop_sentence(limit)} {text})",) if isinstance(end, e.TurnCompleted) else (f"({text})",)


def with_news(text: str, news: tuple[str, ...]) -> str:
    """The answer with the notices below it."""
    return "\n\n".join([text, *news]) if news else text
