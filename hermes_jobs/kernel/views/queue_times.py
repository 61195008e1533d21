"""When the steps of a stream became due: a fold of its events, with the log's times alone.

`kernel.turns.steps` computes the due steps; this fold records when they became due. A step with a start
event waits until that start; prefetches, records and deliveries have none and wait until they are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from hermes_jobs.features.deliveries.events import INBOX, DeliveryFailed, DeliveryRequested, DeliverySent
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import reviews
from hermes_jobs.kernel.turns.steps import QUEUES_BY_KIND, Queue, StepKind

COMPRESSION = "compression"


class QueueWait(msgspec.Struct, frozen=True, kw_only=True):
    """A step was due from `since` to `until`, in seconds since the epoch."""

    step: str
    kind: StepKind
    queue: Queue
    since: float
    until: float

    @property
    def seconds(self) -> float:
        """How long it waited."""
        return self.until - self.since


class DueStep(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A step, or a turn's next one. `since` None: it is not due yet, because of pending calls in `after`.

    `queue`: the queue, if it is not that of its kind: a review's own turns. `begun`: the turn has started.
    `waits_for_user`: the call waits for a user, for `num_questions` answers. `task`: its server runs it, and
    polling is not a wait.
    """

    turn: str
    since: float | None = None
    kind: StepKind | None = None
    queue: Queue | None = None
    begun: bool = False
    waits_for_user: bool = False
    num_questions: int = 0
    task: bool = False
    after: tuple[str, ...] = ()


class DueTracker(msgspec.Struct, kw_only=True):
    """The fold of one stream: due steps by call, by review, by delivery, and by turn for its next step."""

    due: dict[str, DueStep] = {}

    def apply(self, event: e.Event, at: float) -> QueueWait | None:
        """One more event, recorded at that moment; the wait that it ends, if any."""
        part = PARTS.get(type(event))
        return None if part is None else part(self, event, at)

    def turn(self, event: e.Event, at: float) -> QueueWait | None:
        match event:
            case e.TurnSubmitted():
                queue: Queue | None = "reviews" if event.source.startswith(reviews.SOURCE) else None
                since = None if event.held else at
                self.due[event.turn] = DueStep(
                    turn=event.turn, since=since, queue=queue, waits_for_user=event.held
                )
            case e.TurnReleased() if event.turn in self.due:
                self.due[event.turn].waits_for_user = False
                self._release(event.turn, at)
            case e.WaitEnded() if event.turn in self.due:
                self.due[event.turn].since = at
            case e.TurnPostponed():
                wait = self._started(event.turn, f"{event.turn}-prefetch", "turn.prefetch", at)
                self._again(event.turn, max(event.retry_at, at))
                return wait
            case e.TurnResumed():
                self.due[event.turn] = DueStep(turn=event.turn, since=at)
            case e.ContextPrefetched():
                wait = self._started(event.turn, f"{event.turn}-prefetch", "turn.prefetch", at)
                self._again(event.turn, at)
                return wait
            case e.TurnCompleted():
                wait = self._started(event.turn, f"{event.turn}-record", "turn.record_usage", at)
                self._ended(event.turn, at)
                return wait
            case e.TurnFailed() | e.TurnCancelled():
                self._ended(event.turn, at)
            case e.TurnMerged():
                self._forget(event.turn)
            case _:
                pass
        return None

    def model_call(self, event: e.Event, at: float) -> QueueWait | None:
        match event:
            case e.ModelCallStarted():
                return self._started(event.turn, event.step, "turn.call_model", at)
            case e.ModelReplied():
                self._replied(event, at)
            case e.ModelCallFailed():
                self._again(event.turn, max(event.retry_at or at, at))
            case e.StepAbandoned():
                compressing = "-flush-" in event.step or "-compress-" in event.step
                own = COMPRESSION if compressing else event.step
                self._again(own if own in self.due else event.turn, at)
            case _:
                pass
        return None

    def reference(self, event: e.Event, at: float) -> QueueWait | None:
        match event:
            case e.ReferenceStarted():
                if event.step not in self.due and event.turn in self.due:  # members are due with the turn
                    self.due[event.step] = DueStep(turn=event.turn, since=self.due[event.turn].since)
                return self._started(event.step, event.step, "turn.reference", at)
            case e.ReferenceFailed(retry_at=float() as retry_at):
                self._again(event.step, max(retry_at, at))
            case e.ReferenceReplied() | e.ReferenceFailed():
                self._call_ended(event.turn, event.step, at)
            case _:
                pass
        return None

    def tool(self, event: e.Event, at: float) -> QueueWait | None:
        match event:
            case e.ToolStarted():
                return self._started(event.call, event.call, "turn.run_tool", at)
            case e.ToolFinished() | e.ToolInterrupted():
                self._call_ended(event.turn, event.call, at)
            case e.ApprovalRequested() if event.call in self.due:
                self.due[event.call].since = None
                self.due[event.call].waits_for_user = True
            case e.InputRequested(live=False) if event.call in self.due:
                self.due[event.call].since = None
                self.due[event.call].waits_for_user = True
                self.due[event.call].num_questions = len(event.requests)
            case e.ServerTaskBegun() if event.call in self.due:
                self.due[event.call].task = True
            case e.InputAnswered() if event.call in self.due:
                self._input_answered(event.call, at)
            case e.ApprovalGiven() if event.call in self.due:
                self.due[event.call].waits_for_user = False
                self._release(event.call, at)
            case _:
                pass
        return None

    def _input_answered(self, call: str, at: float) -> None:
        due = self.due[call]
        due.num_questions -= 1
        if due.waits_for_user and due.num_questions == 0:
            due.waits_for_user = False
            self._release(call, at)

    def compression(self, event: e.Event, at: float) -> QueueWait | None:
        match event:
            case e.CompressionRequested():
                self.due[COMPRESSION] = DueStep(turn=event.turn or "", since=max(at, event.not_before))
            case e.CompressionStarted():
                kind: StepKind = "compression.flush" if "-flush-" in event.step else "compression.compress"
                return self._started(COMPRESSION, event.step, kind, at)
            case e.ContextFlushed():
                self._again(COMPRESSION, at)
            case e.CompressionFailed(retry_at=float() as retry_at):
                self._again(COMPRESSION, max(retry_at, at))
            case e.ContextCompressed() | e.CompressionFailed():
                self.due.pop(COMPRESSION, None)
                self._again(event.turn or "", at)
            case _:
                pass
        return None

    def elsewhere(self, event: e.Event, at: float) -> QueueWait | None:
        match event:
            case e.ReviewRequested():
                kind = f"review.{event.kind}"
                self.due[event.review] = DueStep(turn="", since=at, kind=kind)
            case e.ReviewStarted():
                wait = self._started(event.review, f"{event.review}-begin", "review.combined", at)
                self.due.pop(event.review, None)
                return wait
            case e.ReviewFailed():
                self.due.pop(event.review, None)
            case DeliveryRequested() if event.target != INBOX:
                self.due[event.delivery] = DueStep(turn=event.turn or "", since=at)
            case DeliverySent():
                return self._delivered(event.delivery, None, at)
            case DeliveryFailed():
                return self._delivered(event.delivery, event.retry_at, at)
            case schedules_events.ScheduleFired(by="clock"):
                since = min(event.due + event.delay, at)
                return QueueWait(
                    step=event.turn, kind="schedule.fire", queue="schedules", since=since, until=at
                )
            case _:
                pass
        return None

    def _replied(self, event: e.ModelReplied, at: float) -> None:
        """A reply's calls become due, unless it was cut: then the model call is repeated."""
        ids = [plan.call for plan in event.plan] or [
            f"{event.step}-{index}" for index in range(len(event.tool_calls))
        ]
        if event.finish_reason == "length":
            ids = []
        after = {plan.call: plan.after for plan in event.plan}
        for call in ids:
            before = after.get(call, ())
            self.due[call] = DueStep(turn=event.turn, since=None if before else at, after=before)
        self._again(event.turn, at)

    def _call_ended(self, turn: str, call: str, at: float) -> None:
        self.due.pop(call, None)
        if not any(due.turn == turn and key != turn for key, due in self.due.items()):
            self._again(turn, at)
        for other, due in self.due.items():
            if call in due.after:
                due.after = tuple(other for other in due.after if other != call)
                self._release(other, at)

    def _release(self, call: str, at: float) -> None:
        due = self.due[call]
        if not due.after and not due.waits_for_user and not due.task:
            due.since = at

    def _started(self, key: str, step: str, kind: StepKind, at: float) -> QueueWait | None:
        due = self.due.get(key)
        if due is None or due.since is None:
            return None
        since, due.since, due.begun = due.since, None, True
        kind = due.kind or kind
        return QueueWait(
            step=step, kind=kind, queue=due.queue or QUEUES_BY_KIND[kind], since=min(since, at), until=at
        )

    def _delivered(self, delivery: str, retry_at: float | None, at: float) -> QueueWait | None:
        wait = self._started(delivery, delivery, "delivery.send", at)
        if retry_at is None:
            self.due.pop(delivery, None)
        else:
            self._again(delivery, max(retry_at, at))
        return wait

    def _again(self, key: str, at: float) -> None:
        if key in self.due and not self.due[key].waits_for_user and not self.due[key].task:
            self.due[key].since = at

    def _ended(self, turn: str, at: float) -> None:
        """The session's other turns have waited for the turn's end."""
        self._forget(turn)
        for due in self._unbegun():
            due.since = at

    def _unbegun(self) -> Iterator[DueStep]:
        return (due for key, due in self.due.items() if key == due.turn and not due.begun)

    def _forget(self, turn: str) -> None:
        for key in [key for key, due in self.due.items() if due.turn == turn]:
            del self.due[key]


PARTS: Mapping[type[e.Event], Callable[[DueTracker, e.Event, float], QueueWait | None]] = {
    kind: part
    for part, kinds in (
        (
            DueTracker.turn,
            (
                *(e.TurnSubmitted, e.TurnReleased, e.TurnResumed, e.WaitEnded, e.ContextPrefetched),
                *(e.TurnPostponed, e.TurnCompleted, e.TurnFailed, e.TurnCancelled, e.TurnMerged),
            ),
        ),
        (DueTracker.reference, (e.ReferenceStarted, e.ReferenceReplied, e.ReferenceFailed)),
        (DueTracker.model_call, (e.ModelCallStarted, e.ModelReplied, e.ModelCallFailed, e.StepAbandoned)),
        (
            DueTracker.tool,
            (
                *(e.ToolStarted, e.ToolFinished, e.ToolInterrupted, e.ApprovalRequested, e.ApprovalGiven),
                *(e.InputRequested, e.InputAnswered, e.ServerTaskBegun),
            ),
        ),
        (
            DueTracker.compression,
            (
                *(e.CompressionRequested, e.CompressionStarted, e.CompressionFailed),
                *(e.ContextFlushed, e.ContextCompressed),
            ),
        ),
        (
            DueTracker.elsewhere,
            (
                *(e.ReviewRequested, e.ReviewStarted, e.ReviewFailed, schedules_events.ScheduleFired),
                *(DeliveryRequested, DeliverySent, DeliveryFailed),
            ),
        ),
    )
    for kind in kinds
}
"""The key of the due step that an event is about."""
