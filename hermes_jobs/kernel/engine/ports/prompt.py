"""Ports for the system prompt and for recalled context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports.host import Cancel
from hermes_jobs.kernel.events import FilesDelivered, RecalledItem, ResponseBooked, SessionStarted
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.attachments import Attachment, Heard
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn


class PaidCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call beside the turn's own, with its usage. See `ResponseBooked`."""

    model: str
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class Recalled(msgspec.Struct, frozen=True):
    """What was recalled for a turn; `memories` are the memory's entries in it, by the versions of the writes
    that made them.

    `found` are the tracks that found each part; `failed` says why a track was left out; `paid` are the model
    calls made for it.
    """

    text: str = ""
    memories: tuple[int, ...] = ()
    found: tuple[RecalledItem, ...] = ()
    failed: str = ""
    paid: tuple[PaidCall, ...] = ()


class Recall(Protocol):
    """Recalls context for a turn."""

    def __call__(self, session: Session, text: str) -> Recalled:
        """Recalled context for the user's text; empty if there is none. Never raises.

        Takes a few seconds at most.
        """


class NotYet(Rejected):
    """The session cannot begin yet. `what` names what is missing, in a few words."""

    def __init__(self, message: str, *, kind: str, hint: str, what: str) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.what = what


class HeardSound(msgspec.Struct, frozen=True):
    """The words of a sound, or about a picture, and the call that gave them, for that `purpose`."""

    heard: Heard
    paid: PaidCall | None = None
    purpose: str = "transcription"


Hear = Callable[[str, str, Attachment, Cancel], HeardSound | None]
"""Gives the words of a sound, or why there are none, for a turn with that id and its model; None where the
model hears it itself. Raises `NotYet` where they may be had later, and `StepInterrupted`."""


Describe = Callable[[str, Attachment, Cancel], HeardSound | None]
"""Describes a picture to the model of that name; None where it sees the picture, or nobody can describe it.
Raises `StepInterrupted`."""


Speak = Callable[[Turn, str, str, Cancel], Sequence[FilesDelivered | ResponseBooked]]
"""Speaks a turn's answer, within that step: the file that is delivered with it, and its cost; nothing where
the answer is not to be spoken, or could not be. Raises `StepInterrupted`."""


class PromptBuilder(Protocol):
    """Builds a session's system prompt, once."""

    def start(self, session: Session) -> SessionStarted:
        """The session's start with its frozen prompt, from its opening and the configuration.

        Raises `NotYet`, `Rejected`.
        """
