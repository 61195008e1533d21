"""Replays: recorded model calls that are repeated, one step each. They can never run a tool that writes.

ReplayPlanned ─▶ helper calls, each of which ends with ReplayCallEnded or fails
                 ReplayStopped ─▶ ReplayResumed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.helper_calls import HelperCall
from hermes_jobs.kernel.streams.accounts import Limit, usd_limits
from hermes_jobs.kernel.streams.budgets import Budgets
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.kernel.turns.session import PREFIX as SESSIONS
from hermes_jobs.kernel.turns.steps import Step, helper_step
from hermes_jobs.kernel.turns.stops import BUDGET

PREFIX = "replay-"
WINDOW = 64
"""The number of calls that are due at once: more would make every append slower."""
JUDGE = 0
"""The number of a judge's call, which compares two answers: see `experiment`."""
MAX_FOLLOWED = 30
"""Replayed calls of a turn that continue from the new answers."""
OWN_BUDGET = "the budget of the replay"

Outcome = replay_events.ReplayCallEnded | e.HelperCallFailed


class ReplayCall(HelperCall, frozen=True, kw_only=True):
    """A call without an outcome. The indexes are those of the plan; `number` counts the turn's calls from 1.
    `lacks` names the budget that does not allow it before `retry_at`, empty for none.
    """

    variant: int
    turn: int
    sample: int
    number: int
    lacks: str = ""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream. `open` are the calls without an outcome, in their order; `outcomes` are by the
    ids of calls."""

    stream: str
    version: int = 0
    plan: replay_events.ReplayPlanned | None = None
    open: tuple[ReplayCall, ...] = ()
    calls: Mapping[str, ReplayCall] = {}
    outcomes: Mapping[str, Outcome] = {}
    budget_usd: float | None = None
    stopped: replay_events.ReplayStopped | None = None

    @property
    def is_done(self) -> bool:
        """Whether no call is left: every one has its outcome, or the replay was stopped."""
        return self.plan is not None and not next_steps(self)

    @property
    def waiting(self) -> ReplayCall | None:
        """The first call that waits for a budget; None if there is none, or another call is due."""
        waits = self.plan is not None and not self.stopped and all(call.lacks for call in self.open)
        return min(self.open, key=lambda call: call.retry_at, default=None) if waits else None

    def helper_call(self, step: str) -> ReplayCall | None:
        """The open call with that id."""
        return next((call for call in self.open if call.id == step), None)

    def before(self, call: ReplayCall) -> tuple[replay_events.ReplayCallEnded, ...]:
        """The new answers that a followed call continues from."""
        steps = (step_id(self, replace(call, number=number)) for number in range(1, call.number))
        outcomes = (self.outcomes[step] for step in steps)
        return tuple(outcome for outcome in outcomes if isinstance(outcome, replay_events.ReplayCallEnded))


def stream_of(replay: str) -> str:
    """The stream of the replay with that id."""
    return f"{PREFIX}{replay}"


def sessions_of(_stream: str, planned: replay_events.ReplayPlanned) -> frozenset[str]:
    """The sessions whose turns are asked again: the new answers tell what those were about."""
    return frozenset(turn.stream.removeprefix(SESSIONS) for turn in planned.turns)


def required_plan(replay: Replay) -> replay_events.ReplayPlanned:
    """The plan. Raises `Rejected` where there is no such replay."""
    if replay.plan is None:
        raise Rejected(f"There is no replay {replay.stream.removeprefix(PREFIX)!r}.", kind="unknown_replay")
    return replay.plan


def step_id(replay: Replay, call: ReplayCall) -> str:
    """The id of a call: `ID-v1t1s1c1`, each number counted from 1."""
    plan = required_plan(replay)
    return f"{plan.replay}-v{call.variant + 1}t{call.turn + 1}s{call.sample + 1}c{call.number}"


def next_steps(replay: Replay) -> tuple[Step, ...]:
    """The due and running calls; of a stopped replay only the running ones."""
    due = [call for call in replay.open if call.running] if replay.stopped else replay.open[:WINDOW]
    return tuple(helper_step(call, replay.stream, "replay.call") for call in due)


# --- effects of events --------------------------------------------------------------------------


def evolve(replay: Replay, event: replay_events.ReplayEvent) -> Replay:
    """The replay after one more event."""
    return replace(_apply(replay, event), version=replay.version + 1)


def _apply(replay: Replay, event: replay_events.ReplayEvent) -> Replay:
    match event:
        case replay_events.ReplayPlanned():
            planned = replace(replay, plan=event, budget_usd=event.budget_usd)
            calls = tuple(replace(call, id=step_id(planned, call)) for call in _first_calls(event))
            return replace(planned, open=calls, calls={call.id: call for call in calls})
        case e.HelperCallStarted() | e.HelperCallFailed():
            return _after(replay, event)
        case replay_events.ReplayCallEnded():
            return _ended(replay, event)
        case replay_events.ReplayStopped():
            return replace(replay, stopped=event)
        case replay_events.ReplayResumed():
            return _resumed(replay, event)
        case _:
            assert_never(event)


def _after(replay: Replay, event: e.HelperCallStarted | e.HelperCallFailed) -> Replay:
    call = _open(replay, event.step).after(event)
    if isinstance(event, e.HelperCallStarted):
        return _with(replay, event.step, (replace(call, lacks=""),) if call else ())
    if call is None:
        return _with(replay, event.step, (), event)
    lacks = event.message if event.kind == BUDGET else ""
    return _with(replay, event.step, (replace(call, lacks=lacks),))


def _first_calls(plan: replay_events.ReplayPlanned) -> Iterator[ReplayCall]:
    """The calls that depend on no other one, sample by sample, so that every turn is answered early."""
    for sample in range(plan.samples):
        for at, turn in enumerate(plan.turns):
            for variant in range(len(plan.variants)):
                for number in range(1, 2 if plan.follow else len(turn.calls) + 1):
                    yield ReplayCall(id="", variant=variant, turn=at, sample=sample, number=number)


def _ended(replay: Replay, event: replay_events.ReplayCallEnded) -> Replay:
    call = _open(replay, event.step)
    if not event.followed:
        return _with(replay, event.step, (), event)
    following = ReplayCall(
        id="", variant=call.variant, turn=call.turn, sample=call.sample, number=call.number + 1
    )
    following = replace(following, id=step_id(replay, following))
    replay = replace(replay, calls={**replay.calls, following.id: following})
    return _with(replay, event.step, (following,), event)


def _resumed(replay: Replay, event: replay_events.ReplayResumed) -> Replay:
    failed = [step for step, outcome in replay.outcomes.items() if isinstance(outcome, e.HelperCallFailed)]
    outcomes = {step: each for step, each in replay.outcomes.items() if step not in failed}
    budget = replay.budget_usd if event.budget_usd is None else event.budget_usd
    again = tuple(replay.calls[step] for step in failed)
    waited = tuple(replace(call, retry_at=0.0, lacks="") if call.lacks else call for call in replay.open)
    return replace(replay, open=(*waited, *again), outcomes=outcomes, stopped=None, budget_usd=budget)


def _with(replay: Replay, step: str, calls: tuple[ReplayCall, ...], outcome: Outcome | None = None) -> Replay:
    """The replay with these calls in place of the one that has that outcome."""
    at = next(at for at, call in enumerate(replay.open) if call.id == step)
    outcomes = replay.outcomes if outcome is None else {**replay.outcomes, step: outcome}
    return replace(replay, open=(*replay.open[:at], *calls, *replay.open[at + 1 :]), outcomes=outcomes)


def _open(replay: Replay, step: str) -> ReplayCall:
    call = replay.helper_call(step)
    if call is None:
        raise StepLost(f"call {step} of {replay.stream} has its outcome")
    return call


# --- decisions ----------------------------------------------------------------------------------


def stop(stream: str, kind: str, message: str, hint: str = "") -> Decision:
    """Stop the replay; no event if it has ended or was stopped."""

    def change(load: StateLoader) -> DecisionResult:
        replay: Replay = load(stream)
        if replay.stopped or not replay.open:
            return DecisionResult()
        event = replay_events.ReplayStopped(kind=kind, message=message, hint=hint)
        return DecisionResult.of(stream, event)

    return change


def resume(stream: str, by: str, budget_usd: float | None = None) -> Decision:
    """Resume the calls without an answer; no event if nothing was stopped, has failed, waits for a budget, or
    gets another limit."""

    def change(load: StateLoader) -> DecisionResult:
        replay: Replay = load(stream)
        required_plan(replay)
        has_failed = any(isinstance(outcome, e.HelperCallFailed) for outcome in replay.outcomes.values())
        waits = has_failed or any(call.lacks for call in replay.open)
        if replay.stopped is None and not waits and budget_usd in {None, replay.budget_usd}:
            return DecisionResult()
        event = replay_events.ReplayResumed(by=by, budget_usd=budget_usd)
        return DecisionResult.of(stream, event)

    return change


def limits_of(replay: Replay, budgets: Budgets, day: str) -> tuple[Limit, ...]:
    """The limits of its next call: its own, else, for a replay of one turn, those of turns; and that of the
    day."""
    plan = required_plan(replay)
    alone = replay.budget_usd is None and len(plan.turns) == 1
    own = ("budgets.turn_usd", budgets.turn_usd) if alone else (OWN_BUDGET, replay.budget_usd)
    limits = usd_limits((replay.stream, *own), (day, "budgets.day_usd", budgets.day_usd))
    tokens = budgets.turn_tokens if len(plan.turns) == 1 else None
    if tokens is None:
        return limits
    return (*limits, Limit(account=replay.stream, setting="budgets.turn_tokens", value=tokens, tokens=tokens))
