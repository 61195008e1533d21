"""Notices for users: the context fills the window, or was compressed or cut; a window is small; a limit is
nearly used up; an ensemble's member is left out; a turn cannot begin yet; what was heard in a voice
note, or seen in a picture."""

from __future__ import annotations

from datetime import UTC, datetime

from hermes_jobs.kernel.events import (
    BudgetWarned,
    CompressionFailed,
    ContextCompressed,
    ContextPrefetched,
    ContextPressure,
    Event,
    ModelCallFailed,
    ModelReplied,
    ReferenceFailed,
    SessionStarted,
    ToolFinished,
    TurnPostponed,
)
from hermes_jobs.kernel.streams.budgets import warning_sentence
from hermes_jobs.kernel.turns.attachments import Heard
from hermes_jobs.kernel.turns.compression import MAX_INEFFECTIVE
from hermes_jobs.kernel.turns.references import CANCELLED
from hermes_jobs.text.clip import one_line

MAX_HEARD = 1_000
"""Characters of a voice note that are shown to who sent it."""


def notices(event: Event) -> tuple[str, ...]:
    """The sentences about that event, without a full stop; none for other events."""
    return tuple(line.removesuffix(".") for line in _lines(event))


def turn_warnings(event: Event) -> tuple[str, ...]:
    """What the event adds to the warnings of its turn, without a full stop: a limit nearly used up, a context
    nearly full, what a compression may have lost, a wait for a quota, a call that waits for a person."""
    match event:
        case ContextPressure(high=True) | BudgetWarned() | ModelReplied() | CompressionFailed(retry_at=None):
            return notices(event)
        case ContextCompressed():
            return _doubts(event)
        case ToolFinished(ok=False, refused=False, rule=str(rule)) if rule:
            return (f"a call {rule}",)
        case ModelCallFailed(quota_until=float(until)):
            model = event.back_to or event.model or "the model"
            resets_at = f"{datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC"
            return (f"the turn waited for the quota of {model}, which was used up until {resets_at}",)
        case _:
            return ()


def _heard(sound: Heard) -> str:
    does = "described" if sound.is_picture else "heard"
    return (
        f"not {does}: {sound.problem}" if sound.problem else f"{does}: “{one_line(sound.words, MAX_HEARD)}”"
    )


def _lines(event: Event) -> tuple[str, ...]:  # noqa: PLR0911, PLR0912 - one an event
    match event:
        case ContextPressure(high=True):
            filled = (
                f"the conversation fills {event.tokens / max(event.threshold, 1):.0%} of what is kept before "
                f"it is compressed ({event.tokens:,} of {event.threshold:,} tokens)"
            )
            if not event.advice:
                return (filled,)
            return (filled, event.advice) if event.tokens > event.threshold / 2 else (event.advice,)
        case SessionStarted(small_window=int(window), parent=None):
            return (
                f"the model's window is {window:,} tokens: this session has few tools (toolset "
                f"{', '.join(event.toolsets or ())}). A session begun with a larger window has all; "
                "--toolsets names others",
            )
        case ModelReplied(warning=str(warning)) if warning:
            return (warning,)
        case ReferenceFailed(retry_at=None) if event.kind != CANCELLED:
            text = f"the model {event.member} is left out: {event.message}"
            return (
                (text, "no other model could be asked: the aggregator answers alone")
                if event.alone
                else (text,)
            )
        case ContextPrefetched(heard=heard) if heard:
            return tuple(map(_heard, heard))
        case TurnPostponed(number=1):
            return (f"{event.reason.rstrip('.')}: the turn waits, and begins by itself when it can",)
        case BudgetWarned():
            return (warning_sentence(event),)
        case ContextCompressed():
            return _compressed(event)
        case CompressionFailed(kind="late"):
            return ()
        case CompressionFailed(retry_at=None):
            return (
                f"the conversation was not compressed: {event.message}",
                *((event.hint,) * bool(event.hint)),
            )
        case CompressionFailed():
            return (f"the conversation could not be compressed yet: {event.message}",)
        case _:
            return ()


def _compressed(event: ContextCompressed) -> tuple[str, ...]:
    how = "gave way to a summary" if event.summary else "were set aside without a summary"
    shrinks = (
        f"{event.removed} messages {how}: a request shrinks from about {event.tokens_before:,} to "
        f"{event.tokens_after:,} tokens; every message stays in the log"
    )
    return (shrinks, *_doubts(event))


def _doubts(event: ContextCompressed) -> tuple[str, ...]:
    """What may have been lost, or won nothing, by that compression."""
    text = []
    if event.failures:
        others = "another model summarised" if event.summary else "no model could summarise"
        text.append(f"{others}: {event.failures.rstrip('.')}")
    if event.number > 1:
        text.append(
            f"this was compression {event.number} of the session: details may be lost and answers less "
            "accurate; a new session (`/new` in a chat, `send` without -c and -s) has a free window"
        )
    if event.in_vain >= MAX_INEFFECTIVE:
        text.append(
            f"compressing won next to nothing {event.in_vain} times in a row: it is tried again when the "
            "conversation has grown, or when asked for"
        )
    return tuple(text)
