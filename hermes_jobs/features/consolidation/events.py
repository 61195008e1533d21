"""Events of the streams `consolidation-LINEAGE`: finished parts of a conversation become observations. The
cost of its model calls is in `ResponseBooked`; observations are writes to the memory in the same append.
"""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.helper_calls import HelperCallEvent
from hermes_jobs.kernel.events.session.model_call import ResponseBooked


class ConsolidationRequested(Event, frozen=True, kw_only=True):
    """The turns that ended at the versions `after` < version <= `until` of the conversation are to be read.

    `by`: the author, `clock` or `user`. `run`: 1, and one more for each retry.
    """

    review: str
    after: int
    until: int
    by: str
    reason: str
    run: int = 1


class RefusedObservation(msgspec.Struct, frozen=True):
    """An observation that was not written: its number in the model's answer, from 1, and the reason. Its text
    is not stored: it may be a secret."""

    number: int
    kind: str
    why: str


class ConsolidationEnded(Event, frozen=True, kw_only=True):
    """The call is done: the turns are read, and will not be read again. `saved`: observations that were
    written, `known`: those that the memory had. `model` is empty if there was nothing to read."""

    review: str
    step: str
    attempt: int
    model: str
    saved: int = 0
    known: int = 0
    refused: tuple[RefusedObservation, ...] = ()


ConsolidationEvent = ConsolidationRequested | ConsolidationEnded | HelperCallEvent | ResponseBooked
