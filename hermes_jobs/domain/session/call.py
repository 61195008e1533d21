"""State of one tool call of a turn's open round, with what its server asks for and continues."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events import (
    CallPattern,
    ChildEnded,
    ChildRef,
    Effect,
    InputAnswered,
    InputRequest,
    InputRequested,
    ServerTaskBegun,
)
from hermes_jobs.domain.session.messages import ToolCall
from hermes_jobs.domain.session.step_state import StepState

Approval = Literal["none", "waiting", "given"]


class OpenInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a call's server asks of the person, with the answers so far. `rounds`: how often it has asked."""

    request: InputRequested
    rounds: int
    answers: tuple[InputAnswered, ...] = ()

    @property
    def unanswered(self) -> tuple[InputRequest, ...]:
        """The requests without an answer."""
        answered = {answer.key for answer in self.answers}
        return tuple(request for request in self.request.requests if request.key not in answered)


class OpenTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a call's server runs. It is polled next at `poll_at`, and last answered at `seen_at`.
    `answered`: the keys of requests whose answers it has."""

    begun: ServerTaskBegun
    poll_at: float
    seen_at: float
    answered: tuple[str, ...] = ()


class Call(StepState, frozen=True, kw_only=True):
    """One tool call of the open round. `result` is None until it has ended in any way.

    `failed`: it did not have the requested effect, for the reason in the result; `refused`: it was not
    allowed. `rule`: why a person has to approve it. `children`: the sub-agents for whose `child_ends` it
    waits. `input`: the newest request of its server for input. `task`: the task that its server made of it.
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

    @property
    def waits_for_children(self) -> bool:
        """Whether it began children and some of them have not ended: no worker has anything to do with it."""
        return bool(self.children) and self.result is None

    @property
    def waits_for_input(self) -> bool:
        """Whether its server has asked for input that is not there."""
        return self.input is not None and bool(self.input.unanswered) and self.result is None

    @property
    def waits_for_person(self) -> bool:
        """Whether nothing continues in it before a person has answered."""
        return self.result is None and (self.approval == "waiting" or self.waits_for_input)

    @property
    def has_task(self) -> bool:
        """Whether its server continues with it as a task."""
        return self.task is not None and self.result is None

    @property
    def stored_input(self) -> OpenInput | None:
        """What another worker makes the call with: not what was asked while it was being made."""
        return None if self.input is None or self.input.request.live else self.input

    @property
    def due_at(self) -> float:
        """Before when it is not due, in seconds since the epoch: when its wait for a person ends, or its task
        is asked about."""
        if self.input is not None and not self.input.request.live:
            return self.input.request.expires_at if self.waits_for_input else 0.0
        return self.expires_at if self.task is None else self.task.poll_at
