"""The port for tools: their descriptions for the model, and running a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import msgspec

from hermes_jobs.kernel.engine.ports.host import Cancel
from hermes_jobs.kernel.events import (
    Author,
    CallPattern,
    Effect,
    Mode,
    Payer,
    PlannedCall,
    SessionEvent,
    Todo,
)
from hermes_jobs.kernel.streams.approval_rules import Permissions
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.call import OpenInput, OpenTask
from hermes_jobs.kernel.turns.commands import FollowServerTask, RequestInput, StartChildren
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.tool_results import UNLIMITED


class File(NamedTuple):
    """A picture or document beside a text: its name, and its content."""

    name: str
    content: bytes


class DocumentPages(msgspec.Struct, frozen=True, kw_only=True):
    """Some pages of a document that has `count`, by their numbers: their texts, or PNG or JPEG pictures."""

    count: int
    texts: Mapping[int, str] = {}
    images: Mapping[int, bytes] = {}


class Documents(Protocol):
    """Reads documents."""

    def pages(self, file: File, first: int, last: int, *, as_images: bool, cancel: Cancel) -> DocumentPages:
        """The pages from `first` on, counted from 1, to `last` at most.

        Raises `Rejected` for a document that cannot be read, or has no such page.
        """


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
    """Whether a call may run: `allow`, `ask` a person, or `deny`; `rule` names the reason if it is not simply
    allowed.

    `by`: what allows it without asking; `approved`: as if a person had just approved this very call.
    `offer`: what a person who is asked can approve with it, for longer than once. `advice`: what a model
    whose call is refused should do instead.
    """

    decision: str
    rule: str = ""
    by: str = ""
    approved: bool = False
    offer: CallPattern | None = None
    advice: str = "Do not try to get around it; find another way or ask the user."

    def refusal(self) -> str:
        """The answer to a call that was not run because of it."""
        return f"Error: refused ({self.rule}). Nothing was run. {self.advice}"


def ignore_delta(_text: str) -> None:
    """The `tell` of a call without subscribers."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a tool call. `workdir` is the session's folder; `attended` when a person can answer,
    `watched` when one sees the turn as it runs. `outside`: the origins of text in the conversation that
    others wrote; where there are any, `typed` is what persons wrote in it. `confirmed_by`: the person who has
    decided that a call which was held is done.

    `author`: the author of what the tool writes; `provisional`: its writes have to be verified. `toolsets`
    are the enabled ones. `source`: where the turn's text came from; `deliver`: where its answer goes.
    `lineage` is the session that its lineage began with. `approved`: a person has allowed this very call,
    asked for the reasons in `approved_rule`.
    `result_chars`: the limit of one result, from the model's window. `permissions` decide whether it needs
    approval. `input`: the server's earlier questions in this call, of this `attempt`, with the answers;
    `task`: the server's task that it continues; `is_ending`: the task has to be cancelled. `depth` counts the
    sessions above it, whose turns and its own are the `payers`; `model` is the turn's. `withheld` are enabled
    toolsets whose calls are refused. `model_is_fixed`: sub-agents cannot have another model. `tell` reports
    the progress of the call to subscribers. `after_plan`: the mode in which an accepted plan is carried out.
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
    approved_rule: str = ""
    result_chars: int = UNLIMITED
    permissions: Permissions = Permissions()
    attempt: int = 1
    input: OpenInput | None = None
    task: OpenTask | None = None
    is_ending: bool = False
    tell: Callable[[str], None] = ignore_delta
    depth: int = 0
    payers: tuple[Payer, ...] = ()
    model: str = ""
    withheld: tuple[str, ...] = ()
    model_is_fixed: bool = False
    provisional: bool = False
    after_plan: Mode = "ask"
    watched: bool = True
    outside: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    confirmed_by: str = ""


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's answer to the model. `invalid`: the call itself was wrong and nothing was done.

    `interrupted`: it was stopped by `cancel` before it had an answer. `refused`: not allowed, by that `rule`,
    or without a folder to work in; nothing was done. `source`: the file that was read. `events` are appended
    to the session together with the answer: the whole effect of a tool that changes only the session.
    `change` is the whole effect of a tool that changes other streams; it contains the answer, and `content`
    is empty. `delegated`: sub-agents that the call starts, whose results are its answer. `waits`: what it
    waits for: answers of the user, or a task of its server. `files`: pictures and documents for the model to
    see beside the text; one that cannot be shown becomes a note, and fails a call whose `content` is empty.
    `outside`: see `ToolFinished`. `unread`: it failed before it had read anything of others.
    """

    content: str
    source: str | None = None
    ok: bool = True
    invalid: bool = False
    refused: bool = False
    interrupted: bool = False
    rule: str = ""
    events: tuple[SessionEvent, ...] = ()
    change: Decision | None = None
    delegated: StartChildren | None = None
    waits: RequestInput | FollowServerTask | None = None
    files: tuple[File, ...] = ()
    outside: str = ""
    unread: bool = False


class Toolbox(Protocol):
    """All tools. Never raises because of what a model wrote."""

    def of(self, session: Session) -> Toolbox:
        """The tools of a session: these, and those named in its start."""

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        """The tools of these toolsets (None: the configured ones) that are available here, by name."""

    def toolsets_on(self, toolsets: Sequence[str] | None) -> tuple[str, ...]:
        """The toolsets that have a tool among the `specs` of these."""

    def plan(
        self, call_prefix: str, calls: Sequence[ToolCall], context_workdir: str
    ) -> tuple[PlannedCall, ...]:
        """How to run a reply's calls: ids `{call_prefix}-{index}`, effects, and their order."""

    def verdict(self, call: ToolCall, context: ToolContext) -> Verdict:
        """Whether the call may run as it is."""

    def run(
        self, call: ToolCall, context: ToolContext, toolsets: Sequence[str] | None, cancel: Cancel
    ) -> ToolOutcome:
        """Validate and run the call. Returns early, `interrupted`, when `cancel` fires."""
