"""Records the outcomes of steps, and releases steps that have none.

What could not be appended is saved in memory and tried again. The log may have recorded it nevertheless: the
guard of a claim, and a key of what is recorded without one, keep it from being recorded twice.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import msgspec

from hermes_jobs.errors import KeyTaken, LogUnavailable, NewerSchema, StepLost
from hermes_jobs.kernel.engine.abnormal_outcomes import discarded_events, is_failure, is_recorded
from hermes_jobs.kernel.engine.budget_guard import BudgetGuard
from hermes_jobs.kernel.engine.claims import StepResult
from hermes_jobs.kernel.engine.command_handler import CommandHandler
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.events import ToolFinished
from hermes_jobs.kernel.events.session.step import AbandonReason
from hermes_jobs.kernel.log.log import EventLog, StepGuard, StepRow
from hermes_jobs.kernel.streams.budgets import reservation_for, warning_key
from hermes_jobs.kernel.streams.decision import Decision, UniqueKey
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, is_session
from hermes_jobs.kernel.turns.steps import Step, find_step

logger = logging.getLogger(__name__)

T = TypeVar("T")


class OutcomeRecorder:
    """Of one process. Safe for many threads."""

    def __init__(self, log: EventLog, command_handler: CommandHandler, sessions: StreamRepository) -> None:
        self._log = log
        self._command_handler = command_handler
        self._sessions = sessions
        self._unsaved: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def finish(
        self, begun: Session, row: StepRow, command: c.SessionCommand, budget_guard: BudgetGuard | None
    ) -> StepResult:
        """Record the outcome of an operation; `begun` is the session after its start.

        After any error the step stays claimed until the outcome is recorded.
        """
        return self._or_later(partial(self._finish, begun, row, command, budget_guard), Exception)

    def apply(self, decision: Decision, row: StepRow, turns_on: str) -> StepResult:
        """Apply the decision of a step of a stream that is not a session; see `CommandHandler.apply`.

        Raises `Rejected`, `StepLost`, `LogUnavailable`; after the last one it is tried again.
        """
        apply = self._command_handler.apply
        change = partial(apply, decision, row.step.id, guard=_finishing(row), turns_on=turns_on)
        return "failed" if self._or_later(change).failed else "done"

    def release(self, row: StepRow, reason: AbandonReason) -> bool:
        """Release a step that its worker will not finish, so that it is due again; False if the worker had
        lost it already. Raises `LogUnavailable`."""
        guard = _finishing(row)
        command = c.AbandonStep(step=row.step.id, worker=guard.owner, reason=reason)
        try:
            if self._is_operation(row.step):
                self._command_handler.handle(row.step.stream, command, guard=guard)
            else:
                self._command_handler.apply_guard(guard)
        except (StepLost, NewerSchema):  # only a newer build can read the stream
            return False
        return True

    def release_now(self, row: StepRow) -> None:
        """Release a step of this process without an outcome. Raises `LogUnavailable`; it is tried again."""
        self._or_later(partial(self.release, row, "shutdown"))

    def release_later(self, row: StepRow) -> None:
        """Release a step whose claim may have been recorded although the log did not say so: this process
        would own the step for ever, and never run it."""
        self._save(partial(self.release_now, row))

    def retry(self) -> int:
        """Append what could not be appended before; returns how much is left."""
        with self._lock:
            waiting, self._unsaved = self._unsaved, []
        for append in waiting:
            try:
                with suppress(LogUnavailable, StepLost):
                    append()
            except Exception:
                logger.exception("an outcome could not be recorded; it is tried again")
        return len(self._unsaved)

    def _or_later(self, append: Callable[[], T], saved_after: type[Exception] = LogUnavailable) -> T:
        """The result of `append`. After such an error it is saved for `retry`, and the error is raised."""
        try:
            return append()
        except StepLost:
            raise
        except saved_after:
            self._save(partial(self._or_later, append, saved_after))
            raise

    def _save(self, append: Callable[[], object]) -> None:
        with self._lock:
            self._unsaved.append(append)

    def _is_operation(self, row: Step) -> bool:
        """Whether the step's start and end are events. The row does not say so; its session does."""
        if not is_session(row.stream):
            return False
        step = find_step(self._sessions.load(row.stream), row.id)
        return step is None or step.operation is not None

    def _finish(
        self, begun: Session, row: StepRow, command: c.SessionCommand, budget_guard: BudgetGuard | None
    ) -> StepResult:
        step = row.step
        if isinstance(command, c.FinishModelCall | c.FinishReference) and budget_guard is not None:
            command = budget_guard.warned(begun, command, self._log)
        try:
            self._record(step, command, _finishing(row))
        except StepLost:
            if not is_recorded(self._log.read(step.stream), row, self._command_handler.worker):
                self._record_discarded(row, command, reservation_for(begun, step.id))
            return "discarded"
        match command:
            case c.AbandonStep():
                return "abandoned"
            case c.FinishToolCall(outcome=ToolFinished(ok=False)):
                return "reported_error"
            case _:
                return "failed" if is_failure(command) else "done"

    def _record(self, step: Step, command: c.SessionCommand, guard: StepGuard) -> None:
        keys: tuple[UniqueKey, ...] = ()
        if isinstance(command, c.FinishModelCall | c.FinishReference):
            keys = tuple(warning_key(warning) for warning in command.warnings)
        # After a crash of the machine a prefetch that cost nothing runs again, as a model call does.
        durable = not isinstance(command, c.FinishPrefetch) or bool(command.responses)
        try:
            self._command_handler.handle(step.stream, command, guard=guard, keys=keys, durable=durable)
        except KeyTaken:  # another call has already warned of the limit
            assert isinstance(command, c.FinishModelCall | c.FinishReference), f"{command} takes no key"
            self._record(step, msgspec.structs.replace(command, warnings=()), guard)

    def _record_discarded(
        self, row: StepRow, command: c.SessionCommand, reserved: Reservation | None
    ) -> None:
        """Record once that the outcome came too late, and what it cost."""
        for number, event in enumerate(discarded_events(row, command, reserved)):
            key = UniqueKey(scope="discarded", key=f"{row.step.id}/{row.fence}/{number}", digest="")
            with suppress(KeyTaken):
                self._command_handler.append_event(row.step.stream, event, key)


def _finishing(row: StepRow) -> StepGuard:
    """The guard of an append that ends the claim."""
    assert row.owner is not None, "the step is claimed"
    return StepGuard(action="finish", step=row.step.id, owner=row.owner, fence=row.fence)
