"""The engine: commands change sessions, `Engine.run` runs steps.

run(step):  claim (start event) ─▶ handler ─▶ finish (outcome, next steps) ─▶ dispatch
                │ lost: return                   │ lost: `OutcomeDiscarded`
"""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import Literal

import msgspec

from hermes_jobs.errors import KeyTaken, LogUnavailable, Rejected, StepLost
from hermes_jobs.kernel.engine.abnormal_outcomes import failure_outcome, is_failure
from hermes_jobs.kernel.engine.claims import StepClaims, StepResult
from hermes_jobs.kernel.engine.command_handler import CommandHandler
from hermes_jobs.kernel.engine.in_flight import InFlightSteps, RunningStep
from hermes_jobs.kernel.engine.outcome_recorder import OutcomeRecorder
from hermes_jobs.kernel.engine.ports import (
    AppendHook,
    BriefStepHandler,
    Cancel,
    Dispatcher,
    FileSync,
    PaidStepHandler,
    StepHandler,
    StepInterrupted,
)
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.engine.step_parts import PartsOfTurns, StepParts, unmet
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.log.log import EventLog, KeyRow, StepGuard, StepRow
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, UniqueKey
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import due_steps, secret_of
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.steps import Step, find_step
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids
from hermes_jobs.text.moments import day_of

logger = logging.getLogger(__name__)

NO_PARTS = StepParts()


class Engine:
    """Handles commands and runs steps for one process. Safe for many threads.

    `worker` is the id of the process among the workers. It may be set again: later claims use the new id.
    """

    def __init__(  # noqa: PLR0913 - the ports it needs
        self,
        *,
        log: EventLog,
        worker: str,
        clock: Clock,
        ids: Ids,
        dispatcher: Dispatcher,
        parts: PartsOfTurns = NO_PARTS,
        file_sync: FileSync | None = None,
        append_hook: AppendHook | None = None,
    ) -> None:
        """`parts` are the handlers and limits of steps; without them the engine only decides."""
        self.log = log
        self.clock = clock
        self.ids = ids
        self.dispatcher = dispatcher
        self.file_sync = file_sync
        self.sessions = StreamRepository(log)
        self._parts = parts
        self._command_handler = CommandHandler(
            log,
            worker,
            clock,
            dispatcher,
            self.sessions,
            follow=file_sync,
            today=self._today,
            append_hook=append_hook,
        )
        self._claims = StepClaims(self._command_handler)
        self.in_flight = InFlightSteps()
        self._outcomes = OutcomeRecorder(log, self._command_handler, self.sessions)

    def _today(self) -> str:
        """The day to which usage is charged now."""
        guard = self._parts.of(None).budget_guard
        return guard.today() if guard is not None else day_of(self.clock.now())

    @property
    def worker(self) -> str:
        """The id under which this process claims and writes."""
        return self._command_handler.worker

    @worker.setter
    def worker(self, worker: str) -> None:
        self._command_handler.worker = worker

    # --- decisions ------------------------------------------------------------------------------

    def submit(self, submitted: TurnSubmitted, *, asked_for: str = "") -> Submitted:
        """Accept a text, once for each key.

        `asked_for` identifies the rest of the request, such as the session: the same key with another text or
        another `asked_for` is refused. Raises `Rejected`.
        """
        stream, command = stream_of(submitted.session), c.SubmitTurn(submitted)
        if submitted.key is None:
            self.execute(stream, command)
            return Submitted(turn=submitted.turn, stream=stream)
        files = "".join(f"\0{attachment.digest}" for attachment in submitted.attachments)
        digest = sha256(f"{asked_for}\0{submitted.text}{files}".encode("utf-8", "replace")).hexdigest()
        try:
            self.execute(stream, command, keys=(UniqueKey(scope="turn", key=submitted.key, digest=digest),))
        except (KeyTaken, Rejected):
            # A text that would be refused now (the session is busy or has ended) may have been accepted.
            first = self.log.key("turn", submitted.key)
            if first is None:
                raise
            return self._submitted_before(first, digest)
        return Submitted(turn=submitted.turn, stream=stream)

    def _submitted_before(self, first: KeyRow, digest: str) -> Submitted:
        if first.digest != digest:
            raise Rejected(
                f"The key {first.key!r} was used before, for another text or another session.",
                kind="key_reused",
                hint="Use a new key for a new text.",
            )
        return self._turn_at(first)

    def submitted(self, key: str) -> Submitted | None:
        """The turn that was submitted with that key."""
        first = self.log.key("turn", key)
        return self._turn_at(first) if first is not None else None

    def _turn_at(self, first: KeyRow) -> Submitted:
        submitted = self.log.tail(first.position - 1, 1)[0].event
        assert isinstance(submitted, TurnSubmitted)
        return Submitted(turn=submitted.turn, stream=first.stream)

    def execute(self, stream: str, command: c.SessionCommand, *, keys: tuple[UniqueKey, ...] = ()) -> Session:
        """Decide and append, again after each conflict; returns the session after it.

        Raises `Rejected`, `KeyTaken`, `LogUnavailable`.
        """
        return self._command_handler.handle(stream, command, keys=keys)

    def change(self, change: Decision, cause: str, *, by: str = "") -> DecisionResult:
        """Apply a decision about streams that are not sessions; `cause` and `by` go into the events'
        metadata.

        Raises `Rejected`, `KeyTaken`, `LogUnavailable`.
        """
        return self._command_handler.apply(change, cause, by=by)

    def state(self, stream: str) -> StreamState:
        """The current state of any stream. Raises `Corrupt`, `LogUnavailable`."""
        return self.sessions.state(stream)

    # --- steps ----------------------------------------------------------------------------------

    def run(self, stream: str, step_id: str) -> StepResult:
        """Claim the step, run its handler and append the outcome. It is no error if another worker has it.

        Raises `LogUnavailable`; an outcome that could not be appended is saved for `retry_unsaved`.
        """
        state, step, parts, first = self._load_step(stream, step_id)
        if step is None:
            return "not_due"
        if step.not_before > self.clock.now():
            return "not_yet"
        guard = StepGuard(action="claim", step=step_id, owner=self.worker, fence=self.ids.fence())
        turn = _turn_of(state, step)
        admission = self._parts.admission(turn, step) if turn is not None and turn.requires else "here"
        if admission == "other_worker" or self._parts.is_elsewhere(secret_of(state)):
            return "other_worker"
        if admission == "no_worker" and isinstance(state, Session) and turn is not None:
            refused, handler = unmet(turn), _handler(parts, step)
            if isinstance(handler, PaidStepHandler):
                return self._claims.refuse_paid(handler, step, guard, refused)
            return self._claims.refuse(state, step, guard, refused)
        if first is not None:
            self.execute(stream, first)
            return "done"
        with self.in_flight.track(step_id, step.turn) as running:
            if isinstance(state, Session) and step.operation is not None:
                return self._run_operation(parts, state, step, guard, running)
            return self._run_other(parts, state, step, guard, running.cancel)

    def _load_step(
        self, stream: str, step_id: str
    ) -> tuple[StreamState, Step | None, StepParts, c.SessionCommand | None]:
        """The stream's state, the due step, its parts, and a command that has to come first.

        An operation that is due in a cached session is used without reading the log: the claim fails if the
        cached state is stale.
        """
        cached = self.sessions.cached(stream)
        if isinstance(cached, Session):
            step = find_step(cached, step_id)
            if step is not None and step.operation is not None and step.not_before <= self.clock.now():
                parts = self._parts.of(_turn_of(cached, step))
                if _first(parts, cached, step) is None:
                    return cached, step, parts, None
        state = self.sessions.state(stream)
        step = next((due for due in due_steps(state) if due.id == step_id), None)
        parts = self._parts.of(None if step is None else _turn_of(state, step))
        return state, step, parts, None if step is None else _first(parts, state, step)

    def _run_operation(
        self, parts: StepParts, session: Session, step: Step, guard: StepGuard, running: RunningStep
    ) -> StepResult:
        """Run an operation of a turn or a compression: its start and its end are events."""
        handler = _handler(parts, step)
        if isinstance(handler, BriefStepHandler) and handler.is_brief(session):
            outcome = self._outcome(handler, session, step, running.cancel)
            if isinstance(outcome, c.AbandonStep):
                return "abandoned"
            return self._claims.end(session, outcome, guard, "failed" if is_failure(outcome) else "done")
        call = session.current.call(step.id) if session.current else None
        running.is_write = call is not None and call.effect == "write"
        row = StepRow(step=step, owner=guard.owner, fence=guard.fence)
        try:
            begun = self._claims.claim(session, step, guard, parts.budget_guard, durable=running.is_write)
        except LogUnavailable:
            self._outcomes.release_later(row)
            raise
        if not isinstance(begun, Session):
            return begun
        claimed = find_step(begun, step.id)
        assert claimed is not None, f"{step.id} was claimed and is not due"
        row = msgspec.structs.replace(row, step=claimed)
        command = self._outcome(handler, begun, claimed, running.cancel)
        return self._outcomes.finish(begun, row, command, parts.budget_guard)

    def _outcome(
        self, handler: StepHandler, session: Session, step: Step, cancel: Cancel
    ) -> c.SessionCommand:
        try:
            outcome = handler.run(session, step, cancel)
        except StepInterrupted:
            reason: Literal["shutdown", "died"] = "shutdown" if cancel.reason == "shutdown" else "died"
            return c.AbandonStep(step=step.id, worker=self.worker, reason=reason)
        except LogUnavailable as error:  # no fault of the turn's: it continues with the log
            logger.warning("step %s is put off: %s", step.id, error)
            return c.AbandonStep(step=step.id, worker=self.worker, reason="shutdown")
        except Exception as error:
            logger.exception("step %s failed unexpectedly", step.id)
            return failure_outcome(session, step, type(error).__name__)
        assert isinstance(outcome, c.Command), f"the handler of {step.operation} gave no command"
        return outcome

    def _run_other(
        self, parts: StepParts, state: StreamState, step: Step, guard: StepGuard, cancel: Cancel
    ) -> StepResult:
        """Run a step of a stream that is not a session: after a failure it is due again."""
        row = StepRow(step=step, owner=guard.owner, fence=guard.fence)
        handler = _handler(parts, step)
        try:
            if isinstance(handler, PaidStepHandler) and parts.budget_guard is not None:
                result = self._claims.claim_paid(handler, state, step, guard, parts.budget_guard)
                if result is not None:
                    return result
            else:
                self._command_handler.apply_guard(guard)
        except StepLost:
            return "not_due"
        except LogUnavailable:
            self._outcomes.release_later(row)
            raise
        turns_on = step.stream if isinstance(handler, PaidStepHandler) else ""
        try:
            decision = self._decision(parts, step, cancel)
        except Exception as error:  # noqa: BLE001 - whatever it is, the step must not stay claimed
            return self._abandon(row, error)
        try:
            return self._outcomes.apply(decision, row, turns_on)
        except StepLost:
            return "discarded"
        except LogUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return self._abandon(row, error)

    def _abandon(self, row: StepRow, error: Exception) -> StepResult:
        """Release a step without an outcome: it is due again."""
        if not isinstance(error, StepInterrupted | LogUnavailable):
            logger.error("step %s failed unexpectedly; it is tried again", row.step.id, exc_info=error)
        self._outcomes.release_now(row)
        return "abandoned"

    def _decision(self, parts: StepParts, step: Step, cancel: Cancel) -> Decision:
        if cancel.reason is not None:  # the process may have been stopped since it claimed the step
            raise StepInterrupted
        decision = _handler(parts, step).run(self.state(step.stream), step, cancel)
        assert not isinstance(decision, c.Command), f"the handler of {step.kind} gave a command"
        return decision

    def retry_unsaved(self) -> int:
        """Append the outcomes that could not be appended before; returns how many are left."""
        return self._outcomes.retry()

    def reclaim(self, row: StepRow) -> bool:
        """Release a step of a dead worker; False if the worker had lost it already."""
        return self._outcomes.release(row, "died")


def _turn_of(state: StreamState, step: Step) -> Turn | None:
    """The running turn of the step; for a title, the turn that made it due."""
    if not isinstance(state, Session):
        return None
    if (job := state.helper_call(step.id)) is not None:
        return job.turn
    turn = state.current
    return turn if turn is not None and turn.id == step.turn else None


def _first(parts: StepParts, state: StreamState, step: Step) -> c.SessionCommand | None:
    """The command that has to precede a model call, if any."""
    if parts.preflight is None or not isinstance(state, Session) or state.current is None:
        return None
    first = step.operation == "turn.reference" and state.current.is_idle
    return parts.preflight(state) if first or step.operation == "turn.call_model" else None


def _handler(parts: StepParts, step: Step) -> StepHandler:
    return parts.handlers[step.operation or step.kind]
