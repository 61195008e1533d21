"""Consolidation: a model reads the unread turns of a conversation and returns observations.

ConsolidationRequested ─▶ a helper call, which ends with ConsolidationEnded or fails

One stream per lineage records up to which version the conversation's stream is read. So a turn is read once,
and one part is read at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.memory.rules.observations import Observation, written
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.helper_calls import HelperCall, failure, required
from hermes_jobs.kernel.streams.accounts import Charge, by_account
from hermes_jobs.kernel.streams.budgets import DAY, amount_of, charges_outside, on_day
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE
from hermes_jobs.kernel.streams.streams import combine
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.session import stream_of as session_stream_of
from hermes_jobs.kernel.turns.steps import Step, helper_step

PREFIX = "consolidation-"
DAILY = "consolidation-of-"
"""Prefix of the accounts with the cost of consolidations on a day.
Nothing limits them; logs are verified with them."""
DAYS = (DAY, DAILY)
"""Prefixes of the accounts of a day that they are charged to."""
KEY_SCOPE = "consolidation"
"""The scope of the keys `DAY/N`: the N-th conversation consolidated automatically on a day."""
PURPOSE = "consolidate"
FAILURES = 3
"""Failures in a row after which a part is no longer read automatically, only on request."""
NOT_COUNTED = {"budget": 0, "off": 0, "cancelled": FAILURES}
"""The weight of some kinds of failures; all others count as one."""


class Consolidation(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream. `requested` is the open request, `last` the newest one, `done` the version up
    to which turns are read, `call` that of the open request."""

    stream: str
    version: int = 0
    requested: consolidation_events.ConsolidationRequested | None = None
    last: consolidation_events.ConsolidationRequested | None = None
    done: int = 0
    call: HelperCall | None = None

    @property
    def lineage(self) -> str:
        """The lineage of the conversation."""
        return lineage_of(self.stream)

    def helper_call(self, step: str) -> HelperCall | None:
        """The open call with that id."""
        return self.call if self.call is not None and self.call.id == step else None


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
    return () if state.call is None else (helper_step(state.call, state.stream, "review.consolidate"),)


def evolve(state: Consolidation, event: consolidation_events.ConsolidationEvent) -> Consolidation:
    """The state after one more event."""
    return replace(_apply(state, event), version=state.version + 1)


def _apply(state: Consolidation, event: consolidation_events.ConsolidationEvent) -> Consolidation:
    match event:
        case consolidation_events.ConsolidationRequested():
            call = HelperCall(id=f"{event.review}-{event.run}")
            return replace(state, requested=event, last=event, call=call)
        case e.HelperCallStarted() | e.HelperCallEnded() | e.HelperCallFailed():
            open_call = state.call.after(event) if state.call is not None else None
            return replace(state, call=open_call, requested=state.requested if open_call else None)
        case consolidation_events.ConsolidationEnded():
            until = state.requested.until if state.requested is not None else state.done
            return replace(state, requested=None, done=max(state.done, until), call=None)
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
        call = state.call
        if call is None or review_of(call.id) != review:
            raise Rejected(f"Review {review} has ended.", kind="not_waiting")
        if call.reserved is not None:
            hint = "It is one model call: wait for it."
            raise Rejected(f"Review {review} has begun.", kind="not_waiting", hint=hint)
        failed = failure(call, "cancelled", f"Cancelled by {by}.")
        return DecisionResult(writes=(StreamEvents(state.stream, (failed,)),))

    return change


def ended(
    stream: str,
    event: consolidation_events.ConsolidationEnded,
    new_observations: Sequence[Observation] = (),
    responses: Sequence[e.ResponseBooked] = (),
    limit: int = 0,
    held: Sequence[Decision] = (),
) -> Decision:
    """Append the outcome and, in the same append, the observations that are new to the memory. `limit` is
    that of an entry, in characters; `held` are decisions about others that wait. Nothing is saved from a
    conversation that was deleted meanwhile. Raises `StepLost`.
    """

    def change(load: StateLoader) -> DecisionResult:
        state: Consolidation = load(stream)
        required(state, event.step)
        session: Session = load(session_stream_of(state.lineage))
        is_deleted = session.ended_because == ENDED_BECAUSE
        observations = () if is_deleted else new_observations
        waiting = DecisionResult() if is_deleted or not held else combine(held)(load)
        outcome = written(load, observations, limit, event.review)
        text = replace(
            event,
            saved=outcome.saved,
            known=outcome.already_known,
            refused=tuple(sorted((*event.refused, *outcome.refused), key=lambda refusal: refusal.number)),
        )
        own = StreamEvents(stream, (*responses, text))
        return DecisionResult(writes=(own, *outcome.writes, *waiting.writes))

    return change


# --- costs ------------------------------------------------------------------------------


def charges(state: Consolidation, events: Iterable[e.Event], today: Callable[[], str]) -> tuple[Charge, ...]:
    """The account changes of those events: its own account, the day, and the day's consolidations. See
    `budgets.charges`."""
    return by_account(charge for event in events for charge in _charges(state, event, today))


def _charges(state: Consolidation, event: e.Event, today: Callable[[], str]) -> Iterator[Charge]:
    reservation = state.call.reserved if state.call is not None else None
    match event:
        case e.ResponseBooked():
            day = reservation.day if reservation is not None else today()
            yield from on_day(state.stream, day, DAYS, spent=amount_of(event, None))
        case consolidation_events.ConsolidationEnded():
            end = e.HelperCallEnded(step=event.step, attempt=event.attempt)
            yield from charges_outside(state.stream, end, reservation, today, DAYS)
        case _:
            yield from charges_outside(state.stream, event, reservation, today, DAYS)
