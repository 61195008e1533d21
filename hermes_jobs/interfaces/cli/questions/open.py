"""The open questions of one session's calls, folded from its events."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.input import InputQuestion, input_questions
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.messages import ToolCall

AnyQuestion = ApprovalQuestion | InputQuestion


class OpenQuestions:
    """The calls that wait for a user, and their questions."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}
        self._approvals: dict[str, e.ApprovalRequested] = {}
        self._inputs: dict[str, e.InputRequested] = {}

    def handle(self, event: e.Event) -> None:
        """Handle an event of the session."""
        match event:
            case e.ModelReplied():
                for call, planned in zip(event.tool_calls, event.plan, strict=False):
                    self._calls[planned.call] = call
            case e.ApprovalRequested():
                self._approvals[event.call] = event
            case e.ApprovalGiven() | e.ApprovalDenied():
                self._approvals.pop(event.call, None)
            case e.InputRequested():
                self._inputs[event.call] = event
            case e.InputAnswered():
                waiting = self._inputs.pop(event.call, None)
                remaining = waiting.without(event.key) if waiting is not None else None
                if remaining is not None:
                    self._inputs[event.call] = remaining
            case e.ToolFinished() | e.ToolInterrupted():
                self._approvals.pop(event.call, None)
                self._inputs.pop(event.call, None)
            case _:
                pass

    def call(self, call: str) -> ToolCall | None:
        """The call of that id."""
        return self._calls.get(call)

    def listed(self, folder: str) -> Iterator[AnyQuestion]:
        """The questions, approvals first; `folder` is the session's."""
        for request in self._approvals.values():
            if request.call in self._calls:
                yield ApprovalQuestion(request=request, tool_call=self._calls[request.call], folder=folder)
        for requested in self._inputs.values():
            if requested.call in self._calls:
                yield from input_questions(requested, self._calls[requested.call].name)
