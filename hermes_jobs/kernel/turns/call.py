"""State of one tool call of a turn's open round, with its server's questions and task."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.kernel.events import (
    CallPattern,
    ChildEnded,
    ChildRef,
    Effect,
    InputAnswered,
    InputRequest,
    InputRequested,
    ServerTaskBegun,
)
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.step_state import StepState

Approval = Literal["none", "waiting", "given"]


class OpenInput(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of a call's server to the user, with the answers so far. `rounds`: how often it has
    asked."""

    request: InputRequested
    rounds: int
    answers: tuple[InputAnswered, ...] = ()

    @property
    def unanswered(self) -> tuple[InputRequest, ...]:
        """The requests without an answer."""
        answered = {answer.key for answer in self.answers}
        return tuple(request for request in self.request.requests if request.key not in answered)


class OpenTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a call's server runs. The next poll is at `poll_at`, the last answer was at `seen_at`.
    `answered`: the keys of requests whose answers it has received."""

    begun: ServerTaskBegun
    poll_at: float
    seen_at: float
    answered: tuple[str, ...] = ()


class Call(StepState, frozen=True, kw_only=True):
    """One tool call of the open round. `result` is None until it has ended.

    `failed`: it did not have the requested effect, for the reason in the result; `refused`: it was not
    allowed. `rule`: the reason why it needs approval. `children`: the sub-agents for whose `child_ends` it
    waits. `input`: the newest request of its server for input. `task`: the server's task for it.
    `attachments` go with the result. `outside`: see `ToolFinished`.
    """

    id: str
    request: ToolCall
    effect: Effect
    after: tuple[str, ...] = ()
    approval: Approval = "none"
    offer: CallPattern | None = None
    expires_at: float = 0.0
    rule: str = ""
    result: str | None = None
    children: tuple[ChildRef, ...] = ()
    child_ends: tuple[ChildEnded, ...] = ()
    input: OpenInput | None = None
    task: OpenTask | None = None
    source: str | None = None
    invalid: bool = False
    failed: bool = False
    refused: bool = False
    attachments: tuple[Attachment, ...] = ()
    outside: str = ""

    @property
    def waits_for_children(self) -> bool:
        """Whether it waits for children that have not ended: it needs no worker."""
        return bool(self.children) and self.result is None

    @property
    def waits_for_input(self) -> bool:
        """Whether its server waits for input."""
        return self.input is not None and bool(self.input.unanswered) and self.result is None

    @property
    def waits_for_person(self) -> bool:
        """Whether it cannot continue before the user has answered."""
        return self.result is None and (self.approval == "waiting" or self.waits_for_input)

    @property
    def has_task(self) -> bool:
        """Whether its server runs it as a task."""
        return self.task is not None and self.result is None

    @property
    def stored_input(self) -> OpenInput | None:
        """The input with which another worker repeats the call: not the questions asked during a running
        call."""
        return None if self.input is None or self.input.request.live else self.input

    @property
    def due_at(self) -> float:
        """The time before which it is not due, in seconds since the epoch: the end of its wait for the user,
        or the next poll of its task."""
        if self.input is not None and not self.input.request.live:
            return self.input.request.expires_at if self.waits_for_input else 0.0
        return self.expires_at if self.task is None else self.task.poll_at
