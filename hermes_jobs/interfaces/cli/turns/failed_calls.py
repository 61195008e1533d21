"""Notices about failed model calls (a wait for a quota, a fallback model), and about turns stopped by a
limit."""

from __future__ import annotations

from datetime import UTC, datetime

from hermes_jobs.interfaces.cli.moments import to_local
from hermes_jobs.kernel.events import ModelCallFailed
from hermes_jobs.kernel.turns.stops import stop_sentence
from hermes_jobs.text import figures
from hermes_jobs.text.figures import duration


def failure_notice(event: ModelCallFailed, at: float) -> str:
    """A sentence for users, empty for a plain retry and for a last attempt. `at`: when it failed."""
    if event.fallback:
        reason = event.kind.replace("_", " ")
        return f"{event.model or 'The model'} cannot be used ({reason}): {event.fallback} answers instead."
    if event.quota_until is not None:
        wait = duration(max(0.0, event.quota_until - at))
        reason = event.kind.replace("_", " ")
        sentence = f"{event.model} cannot be used either ({reason}: {event.message.rstrip('.')}). "
        return (
            f"{sentence if event.back_to else ''}"
            f"The quota of {event.back_to or event.model or 'the model'} is used up until "
            f"{moment(event.quota_until, at)} (in {wait}). The turn waits, and continues automatically."
        )
    return ""


def quota_commands(turn: str) -> tuple[str, ...]:
    """The commands for a turn that waits for a quota."""
    return (
        f"  another model: hermes-jobs turns retry {turn} -m NAME",
        f"  cancel it:     hermes-jobs turns cancel {turn}",
    )


def wait_commands(turn: str) -> tuple[str, ...]:
    """The commands for a turn that cannot begin yet."""
    return (
        f"  try it now: hermes-jobs turns retry {turn}",
        f"  cancel it:  hermes-jobs turns cancel {turn}",
    )


def stop_lines(limit: str, turn: str) -> tuple[str, ...]:
    """The limit that stopped a turn, and the command that continues it."""
    return (stop_sentence(limit), f"  continue: hermes-jobs turns continue {turn}")


def moment(until: float, now: float) -> str:
    """The time of day, with the day if it is not today."""
    then, today = (to_local(datetime.fromtimestamp(moment, UTC)) for moment in (until, now))
    return f"{then:%H:%M:%S}" if then.date() == today.date() else figures.moment(then, today)
