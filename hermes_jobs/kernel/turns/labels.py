"""Labels of turns: words chosen by users, by which turns can be listed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, require_open_turn

MAX_LABELS = 20
"""Labels of one turn."""
_LABEL = re.compile(r"\w[\w.-]{0,39}")


def label(command: c.LabelTurn, session: Session) -> Iterator[e.TurnLabelled]:
    """The labels after the command; no event if they are unchanged. Raises `Rejected`."""
    if command.turn not in session.ended:
        require_open_turn(session, command.turn)
    before = session.labels.get(command.turn, ())
    after = tuple(sorted({*before, *map(checked_label, command.add)} - set(map(normal, command.remove))))
    if len(after) > MAX_LABELS:
        raise Rejected(
            f"A turn has at most {MAX_LABELS} labels; it would have {len(after)}.",
            kind="usage",
            hint=f"It has: {', '.join(before)}." if before else "",
        )
    if after != before:
        yield e.TurnLabelled(turn=command.turn, labels=after, by=command.by)


def normal(label: str) -> str:
    """The label as it is stored: upper and lower case are the same."""
    return label.strip().casefold()


def checked_label(label: str) -> str:
    """The label as it is stored. Raises `Rejected` for an invalid label."""
    stored = normal(label)
    if not _LABEL.fullmatch(stored):
        raise Rejected(
            f"{label[:60]!r} cannot be a label.",
            kind="usage",
            hint="A label is one word of up to 40 letters, digits, hyphens, dots and underscores.",
        )
    return stored
