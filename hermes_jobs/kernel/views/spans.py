"""The fold of a turn's events into spans of time. Every moment is in seconds since the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.references import is_reference
from hermes_jobs.kernel.views.models import ANSWERED, Outcome
from hermes_jobs.kernel.views.queue_times import DueTracker, QueueWait

SpanKind = Literal[
    "queued",
    "waiting",
    "ordered",
    "model_call",
    "backoff",
    "reference",
    "tool_call",
    "approval",
    "question",
    "compression",
    "record",
    "paused",
]
TURN_LANE = 0
"""The queue of a turn's sequential steps; calls of members and tools have those from 1 on."""

BESIDE = frozenset({"ordered", "reference", "tool_call", "approval", "question"})
"""Kinds that run in parallel."""

_ABANDON_REASONS: dict[e.AbandonReason, str] = {
    "died": "its worker died",
    "shutdown": "its worker was stopped",
}


class TimeSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a turn's time.

    `start` and `end` are in seconds: since the turn was submitted, if they are in a `Timeline`. `kind`:
    `queued` behind another turn, `waiting` until a step starts (that of the prefetch: until it is done,
    because its start is not recorded), `ordered` until those calls of its message have ended that it must
    not run beside, `backoff` until what has failed is tried again (at `retry_at`, in seconds since the epoch,
    while that lies ahead), `paused` between the turn's end and its resumption; the
    others are work. `label`: the tool, the model, or the activity; `arguments` are those of the tool.
    `number`: the call's place in its message, if one of its calls had to wait for others; `after`: the places
    of those that it waited for itself, without those that these waited for. `position`: the event that ended
    it, or began it where it continues.
    """

    kind: SpanKind
    step: str
    label: str
    start: float
    end: float
    position: int
    lane: int = TURN_LANE
    attempt: int = 1
    worker: str | None = None
    outcome: Outcome = "ok"
    message: str = ""
    arguments: str = ""
    retry_at: float | None = None
    number: int = 0
    after: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


class Spans:
    """One turn's spans so far. `zero` is when it was submitted, `began` the same as it was recorded."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.began: str | None = None
        self.zero = 0.0
        self.last = 0.0
        self._spans: list[TimeSpan] = []
        self._open: dict[str, TimeSpan] = {}
        self._requested: dict[str, tuple[str, str]] = {}
        self._places: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._ordered: dict[str, TimeSpan] = {}
        self._questions: dict[str, set[str]] = {}
        self._tasks: set[str] = set()
        self._dues = DueTracker()
        self._retry_at = 0.0
        self._begun = False
        self._ended = False

    def apply(self, recorded: RecordedEvent) -> None:
        """Apply one more event of the stream. Those before the turn's submission are ignored."""
        event = recorded.event
        is_own = getattr(event, "turn", None) == self.turn
        at = datetime.fromisoformat(recorded.recorded_at).timestamp()
        if self.began is None:
            if not is_own or not isinstance(event, e.TurnSubmitted):
                return
            self.began, self.zero = recorded.recorded_at, at
        at = max(self.last, self.zero, at)
        wait = self._dues.apply(event, at)
        if not is_own or (self._ended and not isinstance(event, e.TurnResumed)):
            return
        self.last = at
        self._end_ordered(recorded.position)
        self._begun |= isinstance(event, e.ContextPrefetched | e.ModelCallStarted)
        if wait is not None and not (isinstance(event, e.TurnPostponed) and "backoff" in self._open):
            self._end_backoff(recorded.position)
            self._waited(wait, recorded)
        self._apply_turn(event, recorded)
        self._apply_model_call(event, recorded)
        self._apply_reference(event, recorded)
        self._apply_tool(event, recorded)
        self._apply_compression(event, recorded)

    def close(self, now: float | None) -> Sequence[TimeSpan]:
        """All spans; those that continue end now."""
        if not self._ended:
            self.last = max(self.last, now or 0.0)
            is_postponed = self._stop_backing_off()
            self._spans += [replace(span, end=self.last) for span in self._ordered.values()]
            pending = () if is_postponed else self._pending()
            for key, span in list(self._open.items()):
                self._end(key, span.position, outcome=span.outcome)
            for key, since in pending:
                is_call = key in self._requested or is_reference(key)
                step = f"{key}-prefetch" if key == self.turn and not self._begun else key
                self._wait(step, since, self.last, 0, is_call=is_call)
        return self._spans

    def _pending(self) -> Sequence[tuple[str, float]]:
        """Due steps without a start: calls, else the turn's next step unless a step is running."""
        due = self._dues.due
        calls = [key for key, due_step in due.items() if due_step.turn == self.turn and key != self.turn]
        if not calls:
            self._open.pop(self.turn, None)
        keys = calls or ([] if self._open else [self.turn])
        return [
            (key, since)
            for key in keys
            if key in due and (since := due[key].since) is not None and since < self.last
        ]

    # --- events ---------------------------------------------------------------------------------

    def _apply_turn(self, event: e.Event, recorded: RecordedEvent) -> None:
        match event:
            case e.TurnSubmitted() | e.TurnResumed():
                self._ended = False
                self._end("paused", recorded.position)
                self._begin(self.turn, "queued", "queued", recorded)
            case e.WaitEnded():
                self._end_backoff(recorded.position)
            case e.TurnPostponed():
                self._postpone(event, recorded)
            case e.TurnCompleted() | e.TurnMerged() | e.TurnFailed() | e.TurnCancelled():
                self._end_backoff(recorded.position)
                for key in list(self._open):
                    self._end(key, recorded.position)
                self._ended = True
                self._end_ordered(recorded.position)
                if isinstance(event, e.TurnFailed | e.TurnCancelled):
                    how = f"failed: {event.kind}" if isinstance(event, e.TurnFailed) else "cancelled"
                    self._begin("paused", "paused", how, recorded)
            case _:
                pass

    def _apply_model_call(self, event: e.Event, recorded: RecordedEvent) -> None:
        match event:
            case e.ModelCallStarted():
                model = event.reserved.model if event.reserved else "model"
                self._begin(event.step, "model_call", model, recorded, attempt=event.attempt)
            case e.ModelReplied():
                ids = [plan.call for plan in event.plan] or [
                    f"{event.step}-{index}" for index in range(len(event.tool_calls))
                ]
                for call, tool_call in zip(ids, event.tool_calls, strict=True):
                    self._requested[call] = (tool_call.name, tool_call.arguments)
                self._end(event.step, recorded.position, label=event.model, message=event.finish_reason)
                self._order(event, recorded)
            case e.ModelCallFailed():
                outcome: Outcome = "interrupted" if event.kind == "cancelled" else "failed"
                message = f"{event.kind}: {event.message}"
                self._end(event.step, recorded.position, outcome=outcome, message=message)
                self._back_off(event.step, event.retry_at, event.kind, recorded)
            case e.StepAbandoned() if not self._waits_for_user(event.step) and event.step not in self._tasks:
                reason = _ABANDON_REASONS[event.reason]
                self._end(event.step, recorded.position, outcome="abandoned", message=reason)
            case _:
                pass

    def _order(self, event: e.ModelReplied, recorded: RecordedEvent) -> None:
        """The places of the reply's calls, and the waits of those that come after others."""
        before = {plan.call: plan.after for plan in event.plan}
        if not any(before.values()) or event.finish_reason == "length":
            return
        places = {call: place for place, call in enumerate(before, 1)}
        for call, calls in before.items():
            direct = (one for one in calls if not any(one in before[other] for other in calls))
            self._places[call] = (places[call], tuple(places[one] for one in direct))
            if calls:
                name, arguments = self._requested[call]
                self._begin(call, "ordered", name, recorded, arguments=arguments)
                self._ordered[call] = self._open.pop(call)

    def _end_ordered(self, position: int) -> None:
        """End the waits of calls that may start, or never will."""
        for call, span in list(self._ordered.items()):
            due = self._dues.due.get(call)
            if self._ended or due is None or not due.after:
                del self._ordered[call]
                self._spans.append(replace(span, end=self.last, position=position))

    def _apply_reference(self, event: e.Event, recorded: RecordedEvent) -> None:
        match event:
            case e.ReferenceStarted():
                self._begin(event.step, "reference", f"asks {event.model}", recorded, attempt=event.attempt)
            case e.ReferenceReplied():
                self._end(event.step, recorded.position, message=event.finish_reason)
            case e.ReferenceFailed():
                if event.step not in self._open:  # it was never started
                    self._begin(event.step, "reference", f"asks {event.member}", recorded, worker=None)
                outcome: Outcome = "interrupted" if event.kind == "cancelled" else "failed"
                message = f"{event.kind}: {event.message}"
                self._end(event.step, recorded.position, outcome=outcome, message=message)
            case _:
                pass

    def _apply_tool(self, event: e.Event, recorded: RecordedEvent) -> None:
        match event:
            case e.ToolStarted():
                self._end(event.call, recorded.position)
                begun = {"attempt": event.attempt, "arguments": event.arguments}
                self._begin(event.call, "tool_call", event.name, recorded, **begun)
            case e.ToolFinished():
                is_held = bool(event.rule) and not event.ok and not event.refused
                ended: Outcome = "ok" if event.ok else "held" if is_held else "error"
                self._end_call(event.call, recorded, ended, event.rule if is_held else "")
            case e.ToolInterrupted():
                self._end_call(event.call, recorded, "interrupted", event.reason.replace("_", " "))
            case e.ApprovalRequested():
                name, arguments = self._requested.get(event.call, ("approval", ""))
                waits = {"outcome": "waiting", "message": event.rule, "arguments": arguments}
                self._begin(event.call, "approval", name, recorded, **waits)
            case e.ApprovalGiven():
                self._end(event.call, recorded.position, outcome="approved", message=f"by {event.by}")
            case e.ApprovalDenied():
                self._end(event.call, recorded.position, outcome="denied", message=f"by {event.by}")
                self._requested.pop(event.call, None)
            case e.ServerTaskBegun():
                self._tasks.add(event.call)
            case e.InputRequested(live=False):
                self._ask(event, recorded)
            case e.InputAnswered():
                questions = self._questions.get(event.call, set())
                questions.discard(event.key)
                if not questions and self._waits_for_user(event.call):
                    text = f"{ANSWERED[event.action]} by {event.by}"
                    self._end(event.call, recorded.position, outcome="answered", message=text)
                    if event.call in self._tasks:  # its server continues
                        name, arguments = self._requested.get(event.call, ("", ""))
                        self._begin(event.call, "tool_call", name, recorded, arguments=arguments)
            case _:
                pass

    def _ask(self, event: e.InputRequested, recorded: RecordedEvent) -> None:
        """The wait for answers: until the call is made again with them."""
        name, arguments = self._requested.get(event.call, (event.server, ""))
        self._end(event.call, recorded.position, outcome="ok", message="asks")
        self._questions[event.call] = {request.key for request in event.requests}
        waits = {"outcome": "waiting", "arguments": arguments}
        self._begin(event.call, "question", name, recorded, **waits)

    def _apply_compression(self, event: e.Event, recorded: RecordedEvent) -> None:
        match event:
            case e.CompressionStarted():
                label = "memory flush" if "-flush-" in event.step else "compression"
                self._begin(event.step, "compression", label, recorded, attempt=event.attempt)
            case e.ContextFlushed():
                outcome: Outcome = "failed" if event.message else "ok"
                message = event.message or event.saved
                self._end(event.step, recorded.position, outcome=outcome, message=message)
            case e.ContextCompressed():
                sizes = f"{event.tokens_before:,} → {event.tokens_after:,} tokens"
                self._end(event.step, recorded.position, message=sizes)
            case e.CompressionFailed():
                message = f"{event.kind}: {event.message}"
                self._end(event.step, recorded.position, outcome="failed", message=message)
                self._back_off(event.step, event.retry_at, event.kind, recorded)
            case _:
                pass

    # --- spans ----------------------------------------------------------------------------------

    def _begin(self, key: str, kind: SpanKind, label: str, recorded: RecordedEvent, **fields: Any) -> None:
        at_work = kind in {"model_call", "reference", "tool_call", "compression"}
        number, after = self._places.get(key, (0, ()))
        self._open[key] = TimeSpan(
            **{
                "kind": kind,
                "step": key,
                "label": label,
                "start": self.last,
                "end": self.last,
                "position": recorded.position,
                "lane": TURN_LANE + (kind in BESIDE),
                "worker": recorded.meta.worker if at_work else None,
                "outcome": "running" if at_work else "ok",
                "number": number,
                "after": after,
                **fields,
            }
        )

    def _end(self, key: str, position: int, at: float | None = None, **fields: Any) -> bool:
        """End the open span of that key; returns whether there was one."""
        span = self._open.pop(key, None)
        if span is None:
            return False
        end = max(span.start, self.last if at is None else at)
        fields = {"outcome": "ok" if span.outcome == "running" else span.outcome, **fields}
        self._spans.append(replace(span, end=end, position=position, **fields))
        return True

    def _end_call(self, call: str, recorded: RecordedEvent, outcome: Outcome, message: str) -> None:
        """The call's end, even without a start."""
        if (
            self._end(call, recorded.position, outcome=outcome, message=message)
            or call not in self._requested
        ):
            return
        name, arguments = self._requested[call]
        self._begin(call, "tool_call", name, recorded, arguments=arguments, worker=None)
        self._end(call, recorded.position, outcome=outcome, message=message)

    def _waits_for_user(self, call: str) -> bool:
        """Whether the call waits for a user: a step that ends then has only checked for the expiry."""
        span = self._open.get(call)
        return span is not None and span.kind in {"approval", "question"}

    def _back_off(self, step: str, retry_at: float | None, why: str, recorded: RecordedEvent) -> None:
        if retry_at is not None and retry_at > self.last:
            self._begin("backoff", "backoff", f"pause after {why.replace('_', ' ')}", recorded)
            self._retry_at = retry_at

    def _postpone(self, event: e.TurnPostponed, recorded: RecordedEvent) -> None:
        """One span for all attempts, until it can begin."""
        text = {"step": f"{event.turn}-prefetch", "message": event.reason}
        begun = self._open.get("backoff")
        self._begin("backoff", "backoff", f"waits for {event.what or 'what it needs'}", recorded, **text)
        if begun is not None:
            self._open["backoff"] = replace(self._open["backoff"], start=begun.start)
        self._retry_at = event.retry_at

    def _end_backoff(self, position: int) -> None:
        self._end("backoff", position, min(self._retry_at, self.last))

    def _stop_backing_off(self) -> bool:
        """End a pause whose end is not recorded; returns whether it is that of a turn that cannot begin. The
        next attempt of such a turn may be running.
        """
        pause = self._open.get("backoff")
        is_postponed = pause is not None and pause.step.endswith("-prefetch")
        text = {"retry_at": self._retry_at} if self._retry_at > self.last else {}
        self._end("backoff", 0, self.last if is_postponed else min(self._retry_at, self.last), **text)
        return is_postponed

    def _waited(self, wait: QueueWait, recorded: RecordedEvent) -> None:
        if isinstance(recorded.event, e.TurnCompleted):
            self._begin(wait.step, "record", "record", recorded, worker=recorded.meta.worker)
            self._open[wait.step] = replace(self._open[wait.step], start=wait.since)
            return
        queued = self._open.pop(self.turn, None)
        if queued is not None and queued.start < wait.since:
            self._spans.append(replace(queued, end=wait.since, position=recorded.position))
        is_call = wait.kind in {"turn.run_tool", "turn.reference"}
        self._wait(wait.step, wait.since, wait.until, recorded.position, is_call=is_call)

    def _wait(self, step: str, since: float, until: float, position: int, *, is_call: bool) -> None:
        if until > since:
            number, after = self._places.get(step, (0, ()))
            span = TimeSpan(
                kind="waiting",
                step=step,
                label="waiting",
                start=since,
                end=until,
                position=position,
                lane=TURN_LANE + is_call,
                number=number,
                after=after,
            )
            self._spans.append(span)
