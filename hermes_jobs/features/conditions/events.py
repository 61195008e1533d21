"""A condition, and the events of a stream `condition-KEY`: texts that are sent only if their command agrees.

Schedules keep their conditions, and what came of them, in their own streams.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import NAME
from hermes_jobs.text.clip import one_line
from hermes_jobs.text.fences import untrusted

PREFIX = "condition-"
Ruling = Literal["run", "skip", "failed"]
OUTPUT_CHARS = 20_000
"""Characters of the output that go along with the text."""
MESSAGE_CHARS = 300
CONDITION = "the command of its condition"
"""The origin of what a condition's command printed."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A command that runs in `folder`; its exit status decides: 0 run, 1 skip, any other one has failed.

    `approved`: a person has allowed exactly this command there, asked for the reason in `asked` (empty: it
    needs no approval).
    """

    command: str
    folder: str
    approved: bool = True
    asked: str = ""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """How a condition's command ended. `status`: its exit status, None where it has none; `problem`: why it
    was not run, or was killed. `seen`: see `ConditionEnded`."""

    status: int | None = None
    output: str = ""
    problem: str = ""
    seen: str = ""

    @property
    def ruling(self) -> Ruling:
        """What it decides."""
        if self.problem:
            return "failed"
        return "run" if self.status == 0 else "skip" if self.status == 1 else "failed"

    @property
    def message(self) -> str:
        """Why there is no run."""
        if self.problem:
            return self.problem
        said = one_line(self.output, MESSAGE_CHARS)
        if self.status != 1:
            said = f"exit code {self.status}{': ' if said else ''}{said}"
        return said

    def with_output(self, text: str, command: str) -> str:
        """The text of the run, with the command's output as untrusted text."""
        if not self.output.strip():
            return text
        title = f"Output of the command that allowed this run (`{one_line(command, 200)}`)"
        return f"{text}\n\n{untrusted(title, self.output, OUTPUT_CHARS)}"


class ConditionAsked(Event, frozen=True, kw_only=True):
    """The turn is submitted if the condition allows it. The stream's conditions are checked one by one."""

    condition: Condition
    turn: TurnSubmitted


class ConditionEnded(Event, frozen=True, kw_only=True):
    """The condition of `turn` was checked, or withdrawn by a person.

    `message`: why it is not submitted. `seen`: the digest of what the command has seen of files, of an
    accepted turn.
    """

    turn: str
    ruling: Ruling
    message: str = ""
    seen: Annotated[str, NAME] = ""


ConditionEvent = ConditionAsked | ConditionEnded
