"""The time limit of a call that its server continues with as a task."""

from __future__ import annotations

from hermes_jobs.features.mcp.input_questions import InputQuestions
from hermes_jobs.features.mcp.messages import Failed, Inquiry, Result
from hermes_jobs.features.mcp.server_tasks import ServerTasks
from hermes_jobs.features.mcp.sessions import NeverCancelled
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.events import ServerTaskBegun
from hermes_jobs.kernel.turns.call import OpenTask
from tests.manual_clock import ManualClock
from tests.tools.support import context_in

DAY = 86_400.0


def test_a_task_that_takes_more_than_a_day_is_cancelled() -> None:
    asked: list[str] = []

    def inquire(what: Inquiry, arguments: bytes, timeout: float, cancel: Cancel) -> Result | Failed:
        asked.append(what)
        return Failed(kind="lost", message="away")

    clock = ManualClock()
    tasks = ServerTasks(clock=clock, questions=_no_questions(clock), redact=str)
    begun = ServerTaskBegun(turn="t1", call="t1-1-0", server="s", task="long", at=clock.now(), poll_at=0)
    task = OpenTask(begun=begun, poll_at=0, seen_at=clock.now())
    clock.moment += DAY + 1

    ended = tasks.poll("s", task, context_in("/"), NeverCancelled(), inquire)

    assert asked == ["cancel_task"]
    assert isinstance(ended, Failed)
    assert ended.message == "its task took longer than 86400 s and was cancelled"


def _no_questions(clock: ManualClock) -> InputQuestions:
    def unused(*_arguments: object) -> None:
        raise AssertionError

    return InputQuestions(state=unused, execute=unused, clock=clock, seconds=1.0, redact=str)
