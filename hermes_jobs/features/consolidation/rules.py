"""Consolidation: a model reads the unread turns of a conversation and returns observations.

ConsolidationRequested ─▶ ConsolidationStarted ─▶ ConsolidationEnded, ConsolidationFailed (or again later)

One stream per lineage records up to which version the conversation's stream is read. So a turn is read once,
and one part is read at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.memory.rules.observations import Observation, written
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.accounts import NOTHING, Charge, by_account
from hermes_jobs.kernel.streams.budgets import DAY, amount_of, charges_of_start, on_day, reserved
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.session import stream_of as session_stream_of
from hermes_jobs.kernel.turns.steps import Step

PREFIX = "consolidation-"
DAILY = "consolidation-of-"
"""Prefix of the accounts with the cost of consolidations on a day."""
DAYS = (DAY, DAILY)
"""Prefixes of the accounts of a day that they are charged to."""
KEY_SCOPE = "consolidation"
"""The scope of the keys `DAY/N`: the N-th conversation consolidated automatically on a day."""
PURPOSE = "consolidate"
FAILURES = 3
"""Failures in a row after which a part is no longer read automatically, only on request."""
NOT_COUNTED = {"budget": 0, "off": 0, "cancelled": FAILURES}
"""The weight of some kinds of failures; all others count as one."""
MAX_STARTS = 5
"""Starts without an outcome after which it fails for good: its workers died."""


class Consolidation(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream. `requested` is the open request, `last` the newest one, `done` the version up
    to which turns are read, `reserved` the reservation of a start that has no outcome."""

    stream: str
    version: int = 0
    requested: consolidation_events.ConsolidationRequested | None = None
    last: consolidation_events.ConsolidationRequested | None = None
    done: int = 0
    starts: int = 0
    attempt: int = 1
    retry_at: float = 0.0
    reserved: Reservation | None = None

    @property
    def lineage(self) -> str:
        """The lineage of the conversation."""
        return lineage_of(self.stream)

    @property
    def step_id(self) -> str:
        """The id of the due step. Requires an open request."""
        assert self.requested is not None, f"{self.stream} has no request"
        return f"{self.requested.review}-{self.requested.run}"


def stream_of(lineage: str) -> str:
    """The stream of the consolidations of a lineage."""
    return f"{PREFIX}{lineage}"


def lineage_of(stream: str) -> str:
    """The lineage whose consolidations are in that stream."""
    return stream.removeprefix(PREFIX)


def review_of(step: str) -> str:
    """The id of the review of a step."""
    return step.rpartition("-")[0]


def next_steps(state: Consolidation) -> tuple[Step, ...]:
    """Its one step, until it has its outcome."""
    if state.requested is None:
        return ()
    step = Step(
        id=state.step_id,
        stream=state.stream,
        kind="review.consolidate",
        attempt=state.attempt,
        not_before=state.retry_at,
    )
    return (step,)


def evolve(state: Consolidation, event: consolidation_events.ConsolidationEvent) -> Consolidation:
    """The state after one more event."""
    return replace(_apply(state, event), version=state.version + 1)


def _apply(state: Consolidation, event: consolidation_events.ConsolidationEvent) -> Consolidation:
    match event:
        case consolidation_events.ConsolidationRequested():
            return replace(state, requested=event, last=event, starts=0, attempt=1, retry_at=0.0)
        case consolidation_events.ConsolidationStarted():
            return replace(state, starts=state.starts + 1, reserved=event.reserved)
        case consolidation_events.ConsolidationFailed(retry_at=float() as retry_at):
            return replace(state, starts=0, attempt=state.attempt + 1, retry_at=retry_at, reserved=None)
        case consolidation_events.ConsolidationFailed():
            return replace(state, requested=None, reserved=None)
        case consolidation_events.ConsolidationEnded():
            until = state.requested.until if state.requested is not None else state.done
            return replace(state, requested=None, done=max(state.done, until), reserved=None)
        case e.ResponseBooked():
            return state
        case _:
            assert_never(event)


# --- decisions ----------------------------------------------------------------------------------


def request(
    requested: consolidation_events.ConsolidationRequested, lineage: str, keys: tuple[UniqueKey, ...] = ()
) -> Decision:
    """Request a consolidation; no event if another one is running, or these turns are read."""

    def change(load: StateLoader) -> DecisionResult:
        state: Consolidation = load(stream_of(lineage))
        if state.requested is not None or requested.after != state.done or requested.until <= state.done:
            return DecisionResult()
        return DecisionResult(writes=(StreamEvents(state.stream, (requested,)),), keys=keys)

    return change


def again(lineage: str, review: str) -> Decision:
    """Retry a failed one. Raises `Rejected` if it has not failed."""

    def change(load: StateLoader) -> DecisionResult:
        state: Consolidation = load(stream_of(lineage))
        last = state.last
        if last is None or last.review != review or state.requested is not None or last.until <= state.done:
            message = f"Review {review} cannot be retried: it has not failed, or a later one took its place."
            raise Rejected(message, kind="not_retryable")
        return DecisionResult(writes=(StreamEvents(state.stream, (replace(last, run=last.run + 1),)),))

    return change


def cancel(lineage: str, review: str, by: str) -> Decision:
    """Cancel a waiting one. Raises `Rejected` if it does not wait."""

    def change(load: StateLoader) -> DecisionResult:
        state: Consolidation = load(stream_of(lineage))
        if state.requested is None or state.requested.review != review:
            raise Rejected(f"Review {review} has ended.", kind="not_waiting")
        if state.reserved is not None:
            hint = "It is one model call: wait for it."
            raise Rejected(f"Review {review} has begun.", kind="not_waiting", hint=hint)
        failed = failure(state, "cancelled", f"Cancelled by {by}.")
        return DecisionResult(writes=(StreamEvents(state.stream, (failed,)),))

    return change


def record_start(stream: str, step: str, reserved: Reservation | None) -> Decision:
    """Record that a worker starts the call. Raises `StepLost`."""

    def change(load: StateLoader) -> DecisionResult:
        state: Consolidation = load(stream)
        requested = _required(state, step)
        event = consolidation_events.ConsolidationStarted(
            review=requested.review, step=step, attempt=state.attempt, reserved=reserved, lost=state.reserved
        )
        return DecisionResult(writes=(StreamEvents(stream, (event,)),))

    return change


def failed(
    stream: str, event: consolidation_events.ConsolidationFailed, responses: Sequence[e.ResponseBooked] = ()
) -> Decision:
    """Append the failure of an attempt, with its cost. Raises `StepLost`."""

    def change(load: StateLoader) -> DecisionResult:
        _required(load(stream), event.step)
        return DecisionResult(writes=(StreamEvents(stream, (*responses, event)),), failed=True)

    return change


def ended(
    stream: str,
    event: consolidation_events.ConsolidationEnded,
    new_observations: Sequence[Observation] = (),
    responses: Sequence[e.ResponseBooked] = (),
    limit: int = 0,
) -> Decision:
    """Append the outcome and, in the same append, the observations that are new to the memory. `limit` is
    that of an entry, in characters. Nothing is saved from a conversation that was deleted meanwhile. Raises
    `StepLost`.
    """

    def change(load: StateLoader) -> DecisionResult:
        state: Consolidation = load(stream)
        _required(state, event.step)
        session: Session = load(session_stream_of(state.lineage))
        observations = () if session.ended_because == ENDED_BECAUSE else new_observations
        outcome = written(load, observations, limit, event.review)
        text = replace(
            event,
            saved=outcome.saved,
            known=outcome.already_known,
            refused=tuple(sorted((*event.refused, *outcome.refused), key=lambda refusal: refusal.number)),
        )
        own = StreamEvents(stream, (*responses, text))
        return DecisionResult(writes=(own, *outcome.writes))

    return change


def failure(
    state: Consolidation, kind: str, message: str, *, retry_at: float | None = None
) -> consolidation_events.ConsolidationFailed:
    """The failure of the due attempt; set `lost` if a call may have been made."""
    assert state.requested is not None, f"{state.stream} has no request"
    return consolidation_events.ConsolidationFailed(
        review=state.requested.review,
        step=state.step_id,
        attempt=state.attempt,
        kind=kind,
        message=message,
        retry_at=retry_at,
    )


def _required(state: Consolidation, step: str) -> consolidation_events.ConsolidationRequested:
    if state.requested is None or state.step_id != step:
        raise StepLost(f"step {step} is not due in {state.stream}")
    return state.requested


# --- costs ------------------------------------------------------------------------------


def charges(state: Consolidation, events: Iterable[e.Event], today: str) -> tuple[Charge, ...]:
    """The account changes of those events: its own account, the day, and the day's consolidations. See
    `budgets.charges`."""
    return by_account(charge for event in events for charge in _charges(state, event, today))


def _charges(state: Consolidation, event: e.Event, today: str) -> Iterator[Charge]:
    day = state.reserved.day if state.reserved is not None else today
    match event:
        case consolidation_events.ConsolidationStarted():
            yield from charges_of_start(state.stream, event, DAYS)
        case e.ResponseBooked():
            yield from on_day(state.stream, day, DAYS, spent=amount_of(event, None))
        case consolidation_events.ConsolidationEnded() | consolidation_events.ConsolidationFailed():
            reservation = reserved(state.reserved) if state.reserved is not None else NOTHING
            lost = event.lost if isinstance(event, consolidation_events.ConsolidationFailed) else None
            spent = reserved(lost) if lost is not None else NOTHING
            yield from on_day(state.stream, day, DAYS, spent=spent, reserved_amount=-reservation)
        case _:
            pass
