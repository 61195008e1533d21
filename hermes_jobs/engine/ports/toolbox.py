"""The port for tools: their descriptions for the model, and running a call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec

from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.events import Author, Effect, PlannedCall, SessionEvent, Todo
from hermes_jobs.domain.session.messages import ToolCall
from hermes_jobs.domain.session.tool_results import UNLIMITED
from hermes_jobs.engine.ports.cancel import Cancel


class ToolSpec(msgspec.Struct, frozen=True, dict=True):
    """A tool as described to the model; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def num_characters(self) -> int:
        """Its length in the request, in characters."""
        return len(self.name) + len(self.description) + len(msgspec.json.encode(self.parameters))


class ProvidedSpec(ToolSpec, frozen=True, dict=True):
    """A tool of a plugin. `effect` says whether a call may be retried automatically."""

    effect: Effect = "write"


class Verdict(msgspec.Struct, frozen=True):
    """Whether a call may run: `allow`, `ask` a person, or `deny`; `rule` names why not simply allowed."""

    decision: str
    rule: str = ""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a tool call. `workdir` is the session's folder; `attended` when a person can answer.

    `author`: as whose words the log keeps what the tool writes. `toolsets` are those that are on. `source`:
    where the turn's text came from; `deliver`: where its answer goes. `lineage` is the session that its
    lineage began with. `approved`: a person has allowed this very call. `result_chars`: how many
    characters the model's window leaves for one result.
    """

    session: str
    turn: str
    call: str
    workdir: str
    attended: bool
    todos: tuple[Todo, ...] = ()
    author: Author = "turn"
    toolsets: tuple[str, ...] = ()
    source: str = ""
    deliver: tuple[str, ...] = ()
    lineage: str = ""
    approved: bool = False
    result_chars: int = UNLIMITED


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's answer to the model. `invalid`: the call itself was wrong and nothing was done.

    `interrupted`: it was stopped by `cancel` before it had an answer. `source`: the file that was read.
    `facts` become events of the session together with the answer: the whole effect of a tool that works on
    nothing else. `change` is the whole effect of a tool that works on other streams; it has the answer, and
    `content` is empty.
    """

    content: str
    source: str | None = None
    ok: bool = True
    invalid: bool = False
    interrupted: bool = False
    facts: tuple[SessionEvent, ...] = ()
    change: Decision | None = None


class Toolbox(Protocol):
    """All tools there are. Never raises for what a model wrote."""

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        """The tools of these toolsets (None: the configured ones) that are available here, by name."""

    def toolsets_on(self, toolsets: Sequence[str] | None) -> tuple[str, ...]:
        """The toolsets that have a tool among the `specs` of these."""

    def plan(
        self, call_prefix: str, calls: Sequence[ToolCall], context_workdir: str
    ) -> tuple[PlannedCall, ...]:
        """How to run a reply's calls: ids `{call_prefix}-{index}`, effects, and which go after which."""

    def verdict(self, call: ToolCall, context: ToolContext) -> Verdict:
        """Whether the call may run as it is."""

    def run(
        self, call: ToolCall, context: ToolContext, toolsets: Sequence[str] | None, cancel: Cancel
    ) -> ToolOutcome:
        """Validate and run the call. Returns early, `interrupted`, when `cancel` fires."""
