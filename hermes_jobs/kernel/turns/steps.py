"""Due steps of a session; the only module that knows the order of a turn's steps.

| the session                  | its due steps                                                     |
|------------------------------|-------------------------------------------------------------------|
| is to be compressed, and     | `compression.flush`, then `compression.compress`                  |
| stands between two calls     |                                                                   |
| has a turn that              |                                                                   |
|   has not begun              | `turn.prefetch`, unless it is held back                           |
|   is being cancelled         | those that are running, and calls that are tasks of a server      |
|   has members to ask         | `turn.reference` a member that has not answered                   |
|   has an open round of calls | `turn.run_tool` a call whose predecessors have ended; a call that |
|                              | waits for a person is due when that wait expires; one that        |
|                              | waits for children is not due: their ends are its result          |
|   has its answer             | `turn.record_usage`                                               |
|   else                       | `turn.call_model`, not before its retry time                      |
| waits for a review           | in addition, `review.KIND`, which starts it                       |
| is to get a title            | in addition, `session.title`                                      |
| has events for a listener    | in addition, `listener.KIND`, which notifies it                   |

A review's own session has the same operations, with the kind `review.KIND`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

import msgspec

from hermes_jobs.errors import StepLost
from hermes_jobs.kernel.feature import queues as feature_queues
from hermes_jobs.kernel.helper_calls import HelperCall
from hermes_jobs.kernel.turns import reviews
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.compression_rules import is_at_rest
from hermes_jobs.kernel.turns.references import Reference
from hermes_jobs.kernel.turns.review_rules import to_begin
from hermes_jobs.kernel.turns.session import Session, compression_of
from hermes_jobs.kernel.turns.turn import Turn

StepKind: TypeAlias = str
"""The name of its Celery task: one of `QUEUES_BY_KIND`."""
Queue = Literal["turns", "tools", "reviews", "compression", "schedules", "deliveries", "experiments"]

QUEUES_BY_KIND: dict[StepKind, Queue] = {
    "turn.prefetch": "turns",
    "turn.reference": "turns",
    "turn.call_model": "turns",
    "turn.run_tool": "tools",
    "turn.record_usage": "turns",
    "review.memory": "reviews",
    "review.skills": "reviews",
    "review.combined": "reviews",
    "review.curate": "reviews",
    "compression.flush": "compression",
    "compression.compress": "compression",
    "session.title": "reviews",
    "listener.memory": "deliveries",
    "listener.context": "deliveries",
    **cast("dict[StepKind, Queue]", feature_queues()),
}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One due piece of work. `kind` is its Celery task; `not_before` is seconds since the epoch, 0 for at
    once.

    `operation`: what a turn or a compression does with it, whose start and end are events of the
    session; None for other steps, of which the log has the outcome alone. `turn`: the turn it works for; for
    a compression between turns its session. Both follow from the stream's state: a step read from its row has
    neither.
    """

    id: str
    stream: str
    kind: StepKind
    attempt: int = 1
    not_before: float = 0.0
    operation: StepKind | None = None
    turn: str | None = None

    @property
    def queue(self) -> Queue:
        """The Celery queue of its task."""
        return QUEUES_BY_KIND[self.kind]


def next_steps(session: Session) -> tuple[Step, ...]:
    """Every due or running step of the session, in a fixed order."""
    return (*_own_steps(session), *_review(session), *_title(session), *_listeners(session))


def find_step(session: Session, step_id: str) -> Step | None:
    """The due step with that id; None if there is none."""
    return next((step for step in next_steps(session) if step.id == step_id), None)


def require_due(session: Session, step_id: str) -> tuple[Step, Turn]:
    """The due step with that id, and the running turn. Raises `StepLost`."""
    step = find_step(session, step_id)
    if step is None or session.current is None:
        raise StepLost(f"step {step_id} is not due in {session.stream}")
    return step, session.current


def _own_steps(session: Session) -> tuple[Step, ...]:
    turn = session.current
    if turn is not None and turn.cancelled_by is not None:
        return _under_way(session, turn)
    if session.compression is not None and is_at_rest(session):
        return (_compression(session),)
    if turn is None or turn.held:
        return ()
    if not turn.started:
        return (_turn_step(session, turn, turn.prefetch_id, "turn.prefetch"),)
    if turn.open_references:
        return tuple(_reference(session, turn, reference) for reference in turn.open_references)
    if turn.calls:
        return tuple(_tool(session, turn, call) for call in _due_calls(turn))
    if turn.answer is not None:
        return (_turn_step(session, turn, f"{turn.id}-record", "turn.record_usage"),)
    return (_turn_step(session, turn, turn.step_id, "turn.call_model"),)


def _under_way(session: Session, turn: Turn) -> tuple[Step, ...]:
    if session.compression is not None and session.compression.running:
        return (_compression(session),)
    if turn.running and not turn.started:
        return (_turn_step(session, turn, turn.prefetch_id, "turn.prefetch"),)
    if turn.running:
        return (_turn_step(session, turn, turn.step_id, "turn.call_model"),)
    references = tuple(
        _reference(session, turn, reference) for reference in turn.references if reference.running
    )
    return references or tuple(
        _tool(session, turn, call) for call in turn.calls if call.running or call.has_task
    )


def _compression(session: Session) -> Step:
    job = compression_of(session)
    kind: StepKind = "compression.flush" if job.phase == "flush" else "compression.compress"
    return Step(
        id=job.step_id,
        stream=session.stream,
        kind=_task(session, kind),
        attempt=job.attempt,
        not_before=job.retry_at,
        operation=kind,
        turn=job.owner,
    )


def _review(session: Session) -> tuple[Step, ...]:
    review = to_begin(session)
    if review is None:
        return ()
    kind = f"review.{review.kind}"
    return (Step(id=f"{review.id}-begin", stream=session.stream, kind=kind),)


def _title(session: Session) -> tuple[Step, ...]:
    job = session.titling
    if job is None or session.helper_call(job.id) is None:
        return ()
    return (helper_step(job, session.stream, "session.title"),)


def helper_step(call: HelperCall, stream: str, kind: StepKind) -> Step:
    """The step of a helper call."""
    return Step(id=call.id, stream=stream, kind=kind, attempt=call.attempt, not_before=call.retry_at)


def _listeners(session: Session) -> tuple[Step, ...]:
    return tuple(
        Step(
            id=f"{session.lineage}-{listener.kind}-{listener.cursor}",
            stream=session.stream,
            kind=f"listener.{listener.kind}",
            attempt=listener.attempt,
            not_before=listener.retry_at,
        )
        for listener in session.listeners
        if listener.has_backlog
    )


def _task(session: Session, operation: StepKind) -> StepKind:
    """The task that runs an operation: in a review's own session that of the review."""
    if session.started is None or not session.is_review:
        return operation
    return f"review.{session.started.source.removeprefix(reviews.SOURCE)}"


def _turn_step(session: Session, turn: Turn, step_id: str, operation: StepKind) -> Step:
    return _step(session, turn, step_id, operation, turn.attempt, turn.retry_at)


def _reference(session: Session, turn: Turn, reference: Reference) -> Step:
    return _step(session, turn, reference.id, "turn.reference", reference.attempt, reference.retry_at)


def _tool(session: Session, turn: Turn, call: Call) -> Step:
    due_at = call.due_at if turn.cancelled_by is None else 0.0
    return _step(session, turn, call.id, "turn.run_tool", call.attempt, due_at)


def _step(
    session: Session, turn: Turn, step_id: str, operation: StepKind, attempt: int, not_before: float
) -> Step:
    return Step(
        id=step_id,
        stream=session.stream,
        kind=_task(session, operation),
        attempt=attempt,
        not_before=not_before,
        operation=operation,
        turn=turn.id,
    )


def _due_calls(turn: Turn) -> tuple[Call, ...]:
    """The calls without a result whose predecessors have one, but for those that wait for children."""
    ended = {call.id for call in turn.calls if call.result is not None}
    return tuple(
        call
        for call in turn.calls
        if call.result is None and not call.children and ended.issuperset(call.after)
    )
