"""The engine: every change of a session goes through `Engine`, and every act through `Engine.perform`.

perform(step):  claim (start event) ─▶ act ─▶ finish (outcome, next steps) ─▶ wake
                    │ lost: stop quietly           │ lost: `OutcomeDiscarded`
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Literal

import msgspec

from hermes_jobs.domain.budgets import reservation_for
from hermes_jobs.domain.decision import Decision, DecisionResult, UniqueKey
from hermes_jobs.domain.events import TurnSubmitted
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.domain.session.steps import Step, StepKind, find_step, operation_of
from hermes_jobs.domain.streams import SESSIONS, StreamState, due_steps
from hermes_jobs.domain.usage import Reservation
from hermes_jobs.engine.abnormal_outcomes import discarded_events, failure_outcome, is_failure
from hermes_jobs.engine.budget_guard import BudgetGuard
from hermes_jobs.engine.claims import StepClaims, StepResult
from hermes_jobs.engine.command_handler import CommandHandler, nobody_sees, nothing_follows
from hermes_jobs.engine.in_flight import InFlightSteps
from hermes_jobs.engine.ports import (
    AppendHook,
    Cancel,
    Clock,
    Dispatcher,
    FileSync,
    Ids,
    Job,
    Performer,
    Preflight,
    StepInterrupted,
)
from hermes_jobs.engine.session_repository import SessionRepository
from hermes_jobs.errors import KeyTaken, LogUnavailable, NewerSchema, Rejected, StepLost
from hermes_jobs.eventlog.log import EventLog, KeyRow, StepGuard, StepRow

logger = logging.getLogger(__name__)

NO_JOBS: Mapping[StepKind, Job] = {}


def nothing_first(session: Session) -> c.SessionCommand | None:  # noqa: ARG001 - the port's
    """The `Preflight` of an engine that never compresses."""
    return None


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted text: its turn, or that for which its key was used before."""

    turn: str
    stream: str


class Engine:
    """Decides, claims, acts and appends for one process. Safe for many threads.

    `worker` names the process among the workers. It may be set anew: later claims go under that name.
    """

    def __init__(  # noqa: PLR0913 - the ports it needs
        self,
        *,
        log: EventLog,
        worker: str,
        clock: Clock,
        ids: Ids,
        dispatcher: Dispatcher,
        performers: Mapping[StepKind, Performer],
        jobs: Mapping[StepKind, Job] = NO_JOBS,
        follow: FileSync = nothing_follows,
        purse: BudgetGuard | None = None,
        preflight: Preflight = nothing_first,
        witness: AppendHook = nobody_sees,
    ) -> None:
        self.log = log
        self.clock = clock
        self.ids = ids
        self.dispatcher = dispatcher
        self.follow = follow
        self.sessions = SessionRepository(log)
        today = purse.today if purse else None
        self._committer = CommandHandler(
            log, worker, clock, dispatcher, self.sessions, follow=follow, today=today, witness=witness
        )
        self._claims = StepClaims(self._committer, purse)
        self.running = InFlightSteps()
        self._performers = performers
        self._jobs = jobs
        self._preflight = preflight
        self._unsaved: list[Callable[[], object]] = []
        self._unsaved_lock = threading.Lock()

    @property
    def worker(self) -> str:
        """The id under which this process claims and writes."""
        return self._committer.worker

    @worker.setter
    def worker(self, worker: str) -> None:
        self._committer.worker = worker

    # --- decisions ------------------------------------------------------------------------------

    def submit(self, command: c.SubmitTurn, *, asked_for: str = "") -> Submitted:
        """Accept a text, once for each key.

        `asked_for` is what the caller named besides the text (a session, say): the same key with another
        text or another `asked_for` is refused. Raises `Rejected`.
        """
        stream = stream_of(command.session)
        if command.key is None:
            self.execute(stream, command)
            return Submitted(turn=command.turn, stream=stream)
        digest = sha256(f"{asked_for}\0{command.text}".encode("utf-8", "replace")).hexdigest()
        try:
            self.execute(stream, command, keys=(UniqueKey(scope="turn", key=command.key, digest=digest),))
        except (KeyTaken, Rejected):
            # Also what would be refused today (a busy session, an ended one) was accepted under its key.
            first = self.log.key("turn", command.key)
            if first is None:
                raise
            return self._submitted_before(first, digest)
        return Submitted(turn=command.turn, stream=stream)

    def _submitted_before(self, first: KeyRow, digest: str) -> Submitted:
        if first.digest != digest:
            raise Rejected(
                f"The key {first.key!r} was used before, for another text or another session.",
                kind="key_reused",
                hint="Use a new key for a new text.",
            )
        submitted = self.log.tail(first.position - 1, 1)[0].event
        assert isinstance(submitted, TurnSubmitted)
        return Submitted(turn=submitted.turn, stream=first.stream)

    def execute(self, stream: str, command: c.SessionCommand, *, keys: tuple[UniqueKey, ...] = ()) -> Session:
        """Decide and append, again whenever the stream has moved on; the session after it.

        Raises `Rejected`, `KeyTaken`, `LogUnavailable`.
        """
        return self._committer.handle(stream, command, keys=keys)

    def change(self, change: Decision, cause: str) -> DecisionResult:
        """Carry out a change of streams besides sessions'; `cause` names what asked for it.

        Raises `Rejected`, `KeyTaken`, `LogUnavailable`.
        """
        return self._committer.apply(change, cause)

    def state(self, stream: str) -> StreamState:
        """The state of any stream as the log has it at this moment."""
        return self._committer.states.load(stream)

    # --- steps ----------------------------------------------------------------------------------

    def perform(self, stream: str, step_id: str) -> StepResult:
        """Claim the step, act, and append what came of it. Losing it to somebody else is no error."""
        if not stream.startswith(SESSIONS):
            return self._perform_job(stream, step_id)
        session, step, first = self._look_up(stream, step_id)
        if step is None:
            return "nothing"
        if step.not_before > self.clock.now():
            return "not_yet"
        if operation_of(session, step_id) is None:
            return self._perform_job(stream, step_id)
        if first is not None:
            self.execute(stream, first)
            return "done"
        owner, fence = self.worker, self.ids.fence()
        guard = StepGuard(action="claim", step=step_id, owner=owner, fence=fence)
        with self.running.track(step_id, step_id.split("-", 1)[0]) as act:
            call = session.current.call(step_id) if session.current else None
            act.is_write = call is not None and call.effect == "write"
            begun = self._claims.claim(session, step, guard, durable=act.is_write)
            if not isinstance(begun, Session):
                return begun
            claimed = find_step(begun, step_id)
            assert claimed is not None, f"{step_id} was claimed and is not due"
            held = StepRow(step=claimed, owner=owner, fence=fence)
            return self._finish(held, self._act(begun, claimed, act.cancel), reservation_for(begun, step_id))

    def _perform_job(self, stream: str, step_id: str) -> StepResult:
        step = next((step for step in due_steps(self.state(stream)) if step.id == step_id), None)
        if step is None:
            return "nothing"
        if step.not_before > self.clock.now():
            return "not_yet"
        claim = StepGuard(action="claim", step=step_id, owner=self.worker, fence=self.ids.fence())
        finish = msgspec.structs.replace(claim, action="finish")
        with self.running.track(step_id, step_id.split("-", 1)[0]) as act:
            try:
                self._committer.apply_guard(claim)
                return self._finish_job(self._act_job(stream, step, act.cancel), finish)
            except StepLost:
                return "nothing"
            except LogUnavailable:
                raise
            except Exception as error:
                if not isinstance(error, StepInterrupted):
                    logger.exception("step %s could not be performed; it is tried again", step_id)
                self._committer.apply_guard(finish)
                return "abandoned"

    def _act_job(self, stream: str, step: Step, cancel: Cancel) -> Decision:
        if cancel.reason is not None:  # the process may have been stopped since it claimed the step
            raise StepInterrupted
        return self._jobs[step.kind].perform(self.state(stream), step, cancel)

    def _finish_job(self, change: Decision, guard: StepGuard) -> StepResult:
        try:
            self._committer.apply(change, guard.step, guard=guard)
        except LogUnavailable:
            self._save_later(partial(self._finish_job, change, guard))
            raise
        return "done"

    def _look_up(self, stream: str, step_id: str) -> tuple[Session, Step | None, c.SessionCommand | None]:
        """The step, and what has to be done first: as last seen, where it was due then, and nothing else
        first; otherwise as the log has it at this moment, since others may have done that by now."""
        known = self.sessions.known(stream)
        if known is not None:
            step = find_step(known, step_id)
            if step is not None and step.not_before <= self.clock.now() and not self._first(known, step_id):
                return known, step, None
        session = self.sessions.load(stream)
        return session, find_step(session, step_id), self._first(session, step_id)

    def _first(self, session: Session, step_id: str) -> c.SessionCommand | None:
        """What has to be done before a due step."""
        return self._preflight(session) if operation_of(session, step_id) == "turn.call_model" else None

    def retry_unsaved(self) -> int:
        """Append the outcomes that found the log unreachable; how many are still left."""
        with self._unsaved_lock:
            waiting, self._unsaved = self._unsaved, []
        for finish in waiting:
            with suppress(LogUnavailable, StepLost):
                finish()
        return len(self._unsaved)

    def _save_later(self, finish: Callable[[], object]) -> None:
        with self._unsaved_lock:
            self._unsaved.append(finish)

    def take_over(self, held: StepRow) -> bool:
        """Abandon a step for its dead owner, so that it is due again; false where it was no longer theirs."""
        assert held.owner is not None
        guard = StepGuard(action="finish", step=held.step.id, owner=held.owner, fence=held.fence)
        command = c.AbandonStep(step=held.step.id, worker=held.owner, reason="died")
        try:
            if self._is_of_a_session(held.step):
                self._committer.handle(held.step.stream, command, guard=guard)
            else:
                self._committer.apply_guard(guard)
        except (StepLost, NewerSchema):  # a stream that only a newer build can read is left to one
            return False
        return True

    def _is_of_a_session(self, step: Step) -> bool:
        """Whether the step's beginning and end are facts of a session, and not one of a `Job`."""
        if not step.stream.startswith(SESSIONS):
            return False
        session = self.sessions.load(step.stream)
        return find_step(session, step.id) is None or operation_of(session, step.id) is not None

    def _act(self, session: Session, step: Step, cancel: Cancel) -> c.SessionCommand:
        try:
            act = operation_of(session, step.id)
            assert act is not None, f"{step.id} is not due"
            return self._performers[act].perform(session, step, cancel)
        except StepInterrupted:
            reason: Literal["shutdown", "died"] = "shutdown" if cancel.reason == "shutdown" else "died"
            return c.AbandonStep(step=step.id, worker=self.worker, reason=reason)
        except Exception as error:
            logger.exception("step %s could not be performed", step.id)
            return failure_outcome(session, step, type(error).__name__)

    def _finish(self, held: StepRow, command: c.SessionCommand, reserved: Reservation | None) -> StepResult:
        step = held.step
        assert held.owner is not None
        guard = StepGuard(action="finish", step=step.id, owner=held.owner, fence=held.fence)
        try:
            self._committer.handle(step.stream, command, guard=guard)
        except StepLost:
            for fact in discarded_events(held, command, reserved):
                self._committer.append_event(step.stream, fact)
            return "discarded"
        except LogUnavailable:
            self._save_later(partial(self._finish, held, command, reserved))
            raise
        if isinstance(command, c.AbandonStep):
            return "abandoned"
        return "failed" if is_failure(command) else "done"
