"""Commands on a trigger, and the turns that its firings start.

Every command raises `Rejected` where it is not possible: kind `unknown_trigger` for a missing trigger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries import events as deliveries
from hermes_jobs.features.triggers import events as e
from hermes_jobs.features.triggers.rules.trigger import Trigger
from hermes_jobs.kernel import events as kernel_events
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents, UniqueKey
from hermes_jobs.kernel.turns import session as sessions
from hermes_jobs.kernel.turns.commands import SubmitTurn
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.text.fences import shortened, untrusted

USER = "user"
SCOPE = "trigger"
"""The scope of the keys of firings: `NAME:KEY`."""
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
PAYLOAD_CHARS = 100_000
"""Characters of one payload that are recorded."""
TURN_CHARS = 200_000
"""Characters of all payloads of one turn; each gets the same share."""
LEAST_SHARE = 500
"""Characters; where there is less for each payload, only the newest go along."""
LONGEST = 10
"""A turn starts after so many debounces at the latest, however often the trigger is fired."""
FAILED = "The trigger {name} was fired, but its turn could not start: {message}"


class TriggerCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command on the trigger of that name."""

    name: str
    by: str = USER

    @property
    def stream(self) -> str:
        """The trigger's stream."""
        return e.stream_of(self.name)

    def existing(self, load: StateLoader) -> tuple[Trigger, e.TriggerPlan]:
        """The trigger and its plan. Raises `Rejected`."""
        trigger: Trigger = load(self.stream)
        if trigger.plan is None or trigger.removed:
            raise Rejected(
                f"There is no trigger {self.name!r}.",
                kind="unknown_trigger",
                hint="See `hermes-jobs triggers list`.",
            )
        return trigger, trigger.plan


class AddTrigger(TriggerCommand, frozen=True, kw_only=True):
    """Add a trigger, or `replaces` the plan of the one with that name."""

    plan: e.TriggerPlan
    replaces: bool = False

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event. Raises `Rejected`."""
        if not NAME.fullmatch(self.name):
            raise Rejected(
                f"{self.name!r} is not a name for a trigger.",
                kind="usage",
                hint="Use up to 40 small letters, digits, and . _ - between them, such as ci-failed.",
            )
        trigger: Trigger = load(self.stream)
        if trigger.plan is not None and not trigger.removed and not self.replaces:
            raise Rejected(
                f"There is a trigger {self.name!r} already.", kind="exists", hint="--replace changes it."
            )
        return _planned(self, self.plan, load)


class EditTrigger(TriggerCommand, frozen=True, kw_only=True):
    """Replace its plan; a paused one stays so."""

    plan: e.TriggerPlan

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event; none if nothing changes. Raises `Rejected`."""
        _, plan = self.existing(load)
        return DecisionResult() if plan == self.plan else _planned(self, self.plan, load)


class PauseTrigger(TriggerCommand, frozen=True, kw_only=True):
    """Refuse firings until it is resumed."""

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event; none if it is paused already."""
        trigger, _ = self.existing(load)
        paused = e.TriggerPaused(trigger=self.name, by=self.by)
        return DecisionResult() if trigger.paused else DecisionResult.of(self.stream, paused)


class ResumeTrigger(TriggerCommand, frozen=True, kw_only=True):
    """Accept firings again."""

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event; none if it is not paused."""
        trigger, _ = self.existing(load)
        resumed = e.TriggerResumed(trigger=self.name, by=self.by)
        return DecisionResult.of(self.stream, resumed) if trigger.paused else DecisionResult()


class RemoveTrigger(TriggerCommand, frozen=True, kw_only=True):
    """Remove it; firings that wait are dropped, turns continue."""

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event."""
        self.existing(load)
        return DecisionResult.of(self.stream, e.TriggerRemoved(trigger=self.name, by=self.by))


class FireTrigger(TriggerCommand, frozen=True, kw_only=True):
    """Fire it at `now`. `turn` and `session` are the ids of a new turn; `key`: the second firing with it is
    refused by the log. `at_once`: without a debounce, together with the firings that wait."""

    now: float
    turn: str
    session: str
    payload: str = ""
    key: str = ""
    at_once: bool = False

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The firing; with the turn, if that starts at once. Raises `Rejected`."""
        trigger, plan = self.existing(load)
        if trigger.paused:
            raise Rejected(
                f"The trigger {self.name!r} is paused.",
                kind="paused",
                hint=f"Resume it: hermes-jobs triggers resume {self.name}",
            )
        wait = 0.0 if self.at_once else plan.debounce
        first = trigger.pending[0] if trigger.pending else None
        latest = (first.at if first else self.now) + LONGEST * wait
        fired = e.TriggerFired(
            trigger=self.name,
            turn=first.turn if first else self.turn,
            session=first.session if first else plan.session or self.session,
            payload=shortened(self.payload, PAYLOAD_CHARS),
            at=self.now,
            due=min(self.now + wait, latest),
            key=self.key,
        )
        keys = self._keys(fired.turn)
        if wait:
            return DecisionResult(writes=(StreamEvents(self.stream, (fired,)),), keys=keys)
        firings = (*trigger.pending, fired)
        own = StreamEvents(self.stream, (fired, _started(firings)))
        return DecisionResult(writes=(own, submission(trigger, firings, load)), keys=keys)

    def _keys(self, turn: str) -> tuple[UniqueKey, ...]:
        return (UniqueKey(scope=SCOPE, key=key_of(self.name, self.key), digest=turn),) if self.key else ()


class StartTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """Start the turn of the firings that wait in that stream, at `now`."""

    stream: str
    now: float

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The turn; nothing where it has started, or another firing has moved it."""
        trigger: Trigger = load(self.stream)
        plan = trigger.plan
        if trigger.due is None or trigger.due > self.now or trigger.paused or plan is None:
            return DecisionResult()
        try:
            submitted = submission(trigger, trigger.pending, load)
        except Rejected as refused:
            turn = trigger.pending[0].turn
            failed = e.TriggerFailed(trigger=trigger.name, turn=turn, message=refused.message)
            told = _told(trigger.name, plan, failed)
            return DecisionResult(writes=(StreamEvents(self.stream, (failed,)), *told), failed=True)
        started = StreamEvents(self.stream, (_started(trigger.pending),))
        return DecisionResult(writes=(started, submitted))


def _planned(command: TriggerCommand, plan: e.TriggerPlan, load: StateLoader) -> DecisionResult:
    if not plan.text.strip():
        raise Rejected("A trigger needs a task: what is to be done?", kind="usage")
    if plan.session is not None:
        _check_session(plan.session, load)
    return DecisionResult.of(command.stream, e.TriggerAdded(trigger=command.name, plan=plan, by=command.by))


def key_of(name: str, key: str) -> str:
    """The unique key of a firing of the trigger."""
    return f"{name}:{key}"


def submission(trigger: Trigger, firings: Sequence[e.TriggerFired], load: StateLoader) -> StreamEvents:
    """The turn for those firings, in its session. Raises `Rejected` where that accepts no more turns."""
    plan, fired = trigger.plan, firings[0]
    assert plan is not None, f"{trigger.stream} has no plan"
    opening = kernel_events.Opening(
        kind="scheduled",
        model=plan.model,
        workdir=plan.workdir,
        toolsets=plan.toolsets,
        title=f"{trigger.name} ({fired.turn})",
    )
    continues = plan.session is not None
    submitted = kernel_events.TurnSubmitted(
        turn=fired.turn,
        session=fired.session,
        text=text_of(plan.text, [each.payload for each in firings]),
        source=f"{e.SOURCE}{trigger.name}",
        model=plan.model if continues else None,
        toolsets=plan.toolsets if continues else None,
        attended=False,
        opening=None if continues else opening,
        deliver=plan.deliver,
        budget_usd=plan.budget_usd,
        outside=f"the trigger {trigger.name}" if any(each.payload.strip() for each in firings) else "",
    )
    stream = sessions.stream_of(fired.session)
    return StreamEvents(stream, decide(SubmitTurn(submitted), load(stream)))


def text_of(task: str, payloads: Sequence[str]) -> str:
    """The text of a turn: the task, and each payload in a fence, the newest last."""
    newest = payloads[-(TURN_CHARS // LEAST_SHARE) :]
    share = TURN_CHARS // len(newest)
    parts = [task]
    if len(payloads) > 1:
        parts.append(f"This was triggered {len(payloads)} times.")
    if len(newest) < len(payloads):
        parts.append(f"The inputs of the first {len(payloads) - len(newest)} times are left out.")
    first = len(payloads) - len(newest) + 1
    for number, payload in enumerate(newest, first):
        if payload.strip():
            title = f"Input {number} of {len(payloads)}" if len(payloads) > 1 else "Input of this trigger"
            parts.append(untrusted(title, payload, share))
    return "\n\n".join(parts)


def _started(firings: Sequence[e.TriggerFired]) -> e.TriggerStarted:
    fired = firings[0]
    return e.TriggerStarted(
        trigger=fired.trigger, turn=fired.turn, session=fired.session, firings=len(firings)
    )


def _told(name: str, plan: e.TriggerPlan, failed: e.TriggerFailed) -> Iterator[StreamEvents]:
    """The failure, to the targets of the trigger's answers."""
    requested = deliveries.DeliveryRequested(
        delivery="",
        target="",
        text=FAILED.format(name=name, message=failed.message),
        source=f"{e.SOURCE}{name}",
        ok=False,
        workdir=plan.workdir,
    )
    for index, target in enumerate(plan.deliver):
        delivery = f"d{failed.turn}x{index}t"
        yield StreamEvents(
            deliveries.stream_of(delivery), (replace(requested, delivery=delivery, target=target),)
        )


def _check_session(lineage: str, load: StateLoader) -> None:
    session: Session = load(sessions.stream_of(lineage))
    if session.version == 0 or session.ended_because is not None:
        raise Rejected(
            f"The session {lineage} is not there, or has ended: no turn could continue it.",
            kind="session_ended",
            hint="Leave --session out: each turn then has a session of its own.",
        )
