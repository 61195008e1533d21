"""Tasks of MCP servers: a call that runs on as a task on its server waits for a timer, polls, and waits
again.

No worker is occupied between two polls. A poll changes nothing, so that another worker can repeat it.
Cancelling the turn cancels the task: the step is due at once for that, and the turn ends after it.
"""

from __future__ import annotations

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.call import Call, OpenTask
from hermes_jobs.kernel.turns.rounds import with_call
from hermes_jobs.kernel.turns.session import Session, running_turn


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
