"""Tasks of MCP servers: a call that runs on as a task on its server waits for a timer, polls, and waits
again.

No worker is occupied between two polls. A poll changes nothing, so that another worker can repeat it.
Cancelling the turn cancels the task: the step is due at once for that, and the turn ends after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import Call, OpenTask
from hermes_jobs.kernel.turns.rounds import with_call
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.kernel.turns.steps import require_due


def evolve(session: Session, event: e.ServerTaskEvent) -> Session:
    """The session after the event."""
    turn = running_turn(session)
    call = turn.call(event.call)
    assert call is not None, f"{event.call} is not in the open round of {turn.id}"
    match event:
        case e.ServerTaskBegun():
            task = OpenTask(begun=event, poll_at=event.poll_at, seen_at=event.at)
            call = replace(call.released(), input=None, task=task)
        case e.ServerTaskPolled():
            call = _polled(call, event)
    return replace(session, current=with_call(turn, call))


def _polled(call: Call, event: e.ServerTaskPolled) -> Call:
    task = call.task
    assert task is not None, f"{call.id} has no task"
    task = replace(task, poll_at=event.poll_at)
    if not event.reached:
        return replace(call, task=task)
    answered = () if call.input is None else tuple(answer.key for answer in call.input.answers)
    task = replace(task, seen_at=event.at, answered=(*task.answered, *answered))
    return replace(call, task=task, input=None)


def begin(command: c.BeginServerTask, session: Session) -> Iterator[e.SessionEvent]:
    """The call has become a task; in a turn that is being cancelled it is then cancelled."""
    _, turn = require_due(session, command.step)
    yield e.ServerTaskBegun(
        turn=turn.id,
        call=command.step,
        server=command.server,
        task=command.task,
        at=command.at,
        poll_at=command.poll_at,
        message=command.message,
    )


def polled(command: c.PollServerTask, session: Session) -> Iterator[e.SessionEvent]:
    """The task continues, or could not be polled."""
    _, turn = require_due(session, command.step)
    yield e.ServerTaskPolled(
        turn=turn.id,
        call=command.step,
        at=command.at,
        poll_at=command.poll_at,
        message=command.message,
        reached=command.reached,
    )
