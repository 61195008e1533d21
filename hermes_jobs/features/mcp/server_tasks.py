"""Polls tasks of servers: when to poll, and the effect of a task's state on the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.input_questions import InputQuestions
from hermes_jobs.features.mcp.messages import Failed, InputRequired, Inquiry, Result, decode_response
from hermes_jobs.kernel.engine.ports import Cancel, ToolContext
from hermes_jobs.kernel.events import ServerTaskBegun, ServerTaskPolled
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import OpenTask
from hermes_jobs.kernel.turns.inputs import as_mcp
from hermes_jobs.system.clock import Clock

LEAST, MOST = 0.5, 300.0
"""The least seconds between two polls, whatever a server suggests."""
SLOWER, SLOWEST = 0.1, 60.0
"""The interval grows with the age of a task: this share of it, up to so many seconds."""
MAX_SILENCE_SECONDS = 600.0
"""Seconds for which a server may be unreachable before its task fails."""
REQUEST_SECONDS = 30.0
"""The timeout of one poll, in seconds."""
CANCEL_SECONDS = 10.0
MAX_MESSAGE = 300
MAX_ID = 1_000

Waits = c.RequestInput | c.FollowServerTask


class Inquirer(Protocol):
    """Sends requests to the server of a call."""

    def __call__(
        self, what: Inquiry, arguments: bytes, timeout: float, cancel: Cancel
    ) -> Result | Failed: ...


class ServerTasks(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Thread-safe. `seconds`: the time limit of a task."""

    clock: Clock
    questions: InputQuestions
    redact: Callable[[str], str]
    seconds: float = 86_400.0  # a poll is cheap; a task that takes more than a day was forgotten

    def begun(self, server: str, handle: bytes, context: ToolContext) -> c.FollowServerTask | Failed:
        """The call has become a task."""
        state: Mapping[str, Any] = decode_response(handle)
        task, now = str(state["taskId"]), self.clock.now()
        if not 0 < len(task) <= MAX_ID or self.redact(task) != task:
            return Failed(kind="bad_result", message="its task has no usable name", sent=True)
        begun = ServerTaskBegun(
            turn=context.turn,
            call=context.call,
            server=server,
            task=task,
            at=now,
            poll_at=now + _pause(state, 0.0),
            message=self._message(state),
        )
        return c.FollowServerTask(begun)

    def poll(
        self, server: str, task: OpenTask, context: ToolContext, cancel: Cancel, inquire: Inquirer
    ) -> Result | Waits | Failed:
        """Poll the task, or cancel it with its turn or after its time limit."""
        params: dict[str, Any] = {"taskId": task.begun.task}
        now = self.clock.now()
        age = now - task.begun.at
        if context.is_ending or age > self.seconds:
            inquire("cancel_task", msgspec.json.encode(params), CANCEL_SECONDS, cancel)
            reason = f"its task took longer than {self.seconds:g} s and was cancelled"
            return Failed(kind="timeout", message=reason, sent=True)
        if context.input is not None:
            params["answers"] = msgspec.Raw(as_mcp(context.input))
        reply = inquire("task", msgspec.json.encode(params), REQUEST_SECONDS, cancel)
        if isinstance(reply, Failed):
            return self._missed(task, reply, context)
        state: Mapping[str, Any] = decode_response(reply.content)
        requests = _new_requests(state, task, context)
        if state.get("status") == "input_required" and requests:
            return self.questions.request(
                server, InputRequired(requests=msgspec.json.encode(requests)), context
            )
        if state.get("status") in {"working", "input_required"}:
            return self._continue(context, _pause(state, age), message=self._message(state))
        return self._ended(state, reply.listing)

    def _ended(self, state: Mapping[str, Any], listing: int) -> Result | Failed:
        match state.get("status"):
            case "completed" if isinstance(state.get("result"), dict):
                return Result(content=msgspec.json.encode(state["result"]), listing=listing)
            case "failed":
                error = state.get("error")
                text = str(error.get("message", "")) if isinstance(error, dict) else ""
                return Failed(kind="refused", message=f"its task has failed: {clean(text)[:1_000]}")
            case "cancelled":
                return Failed(kind="lost", message="it has cancelled its task", sent=True)
            case "unknown":
                reason = f"it does not know its task any more: {self._message(state)}"
                return Failed(kind="lost", message=reason, sent=True)
            case _:
                return Failed(kind="bad_result", message="its task is in no state that is known", sent=True)

    def _missed(self, task: OpenTask, failed: Failed, context: ToolContext) -> c.FollowServerTask | Failed:
        """Handle a failed poll: the server is unreachable, perhaps temporarily."""
        if self.clock.now() - task.seen_at > MAX_SILENCE_SECONDS:
            reason = (
                f"it was away for {MAX_SILENCE_SECONDS / 60:g} minutes while it had a task: {failed.message}"
            )
            return Failed(kind="lost", message=reason, stderr=failed.stderr, sent=True)
        return self._continue(context, _pause({}, self.clock.now() - task.begun.at), reached=False)

    def _continue(
        self, context: ToolContext, pause: float, *, message: str = "", reached: bool = True
    ) -> c.FollowServerTask:
        now = self.clock.now()
        polled = ServerTaskPolled(
            turn=context.turn,
            call=context.call,
            at=now,
            poll_at=now + pause,
            message=message,
            reached=reached,
        )
        return c.FollowServerTask(polled)

    def _message(self, state: Mapping[str, Any]) -> str:
        return clean(self.redact(str(state.get("statusMessage", ""))))[:MAX_MESSAGE]


def _pause(state: Mapping[str, Any], age: float) -> float:
    """Seconds until the next poll of a task of that age in seconds."""
    suggested = state.get("pollIntervalMs")
    seconds = float(suggested) / 1000 if isinstance(suggested, int | float) else 1.0
    return min(max(seconds, LEAST, min(SLOWER * age, SLOWEST)), MOST)


def _new_requests(state: Mapping[str, Any], task: OpenTask, context: ToolContext) -> dict[str, Any]:
    """The task's unanswered questions: a server may repeat answered ones for a while."""
    requests = state.get("inputRequests")
    answered_keys = {answer.key for answer in context.input.answers} if context.input is not None else set()
    seen_keys = answered_keys.union(task.answered)
    return (
        {key: request for key, request in requests.items() if key not in seen_keys}
        if isinstance(requests, dict)
        else {}
    )
