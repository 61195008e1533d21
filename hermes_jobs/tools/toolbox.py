"""All tools of a worker: enabled toolsets, the order of a reply's calls, and running a call."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH111, PTH118

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports import Cancel, File, ToolContext, ToolOutcome, ToolSpec, Verdict
from hermes_jobs.kernel.engine.ports import Toolbox as ToolboxPort
from hermes_jobs.kernel.events import FileWritten, PlannedCall, SessionEvent, SessionStarted
from hermes_jobs.kernel.events.session.session import McpCatalogue
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.kernel.turns.call_order import EVERYTHING, CallEffects, waits_for
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.outside import MAX_CHARS
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.tools.permissions import judge, permit
from hermes_jobs.tools.tool import (
    ALLOW,
    RESOURCE,
    Arguments,
    Hold,
    InvalidArguments,
    NothingRead,
    Tool,
    ToolFailed,
    ToolRefused,
    did_you_mean,
)

TOOLSETS: Mapping[str, tuple[str, ...]] = {
    "coding": ("terminal", "files"),
    "small": ("terminal", "files", "own"),
    "review": ("memory", "skills"),
    "memory-review": ("memory",),
    "skills-review": ("skills",),
    "curate": ("curation",),
}
"""Toolsets that include others. Tools define the other toolsets."""

ALWAYS = ("todo", "context", "own", "deliver")
"""Toolsets that are on by default, unless they are disabled."""

EXCLUSIVE_TOOLSETS = frozenset({"small", "review", "memory-review", "skills-review", "curate"})
"""Toolsets without tools of their own, beside which none is on by default."""

REVIEWS_ONLY = ("curate",)
"""Toolsets that only sessions of their own have."""

WITHHELD_ERROR = (
    "Say in your answer what should be remembered or scheduled: the agent that you work for can do that."
)
MAX_ERROR_CHARS = 2_000
MCP_MARK = "__"
"""In names of tools of MCP servers: a tool unknown to this process may be known to another."""
MAX_CATALOGUES = 64
"""The size of the cache of toolboxes with MCP tools, and of that of toolsets with those that they include."""


def _as_it_is(text: str) -> str:
    return text


class Toolbox:
    """The `engine.ports.Toolbox` over registered tools. `redact` takes known secrets out of every result."""

    def __init__(  # noqa: PLR0913 - what a toolbox is made of
        self,
        tools: Iterable[Tool],
        *,
        enabled: Sequence[str],
        disabled: Sequence[str] = (),
        serialize_terminal: bool = True,
        toolsets: Mapping[str, tuple[str, ...]] = TOOLSETS,
        redact: Callable[[str], str] = _as_it_is,
        with_servers: Callable[[Toolbox, SessionStarted], ToolboxPort] | None = None,
        holds: Iterable[Hold] = (),
    ) -> None:
        """`with_servers` adds the tools of a session's MCP servers. `holds` are asked about lasting calls."""
        ordered = sorted(tools, key=lambda item: item.name)
        self._tools = {tool.name: tool for tool in ordered}
        if len(self._tools) < len(ordered):
            raise ValueError(f"two tools have the same name among {[tool.name for tool in ordered]}")
        self._toolsets = toolsets
        self._enabled = tuple(enabled)
        self._disabled = self.expand(disabled)
        self._serialize_terminal = serialize_terminal
        self._redact = redact
        self._with_servers = with_servers
        self._holds = tuple(holds)
        self._of_sessions: dict[tuple[tuple[McpCatalogue, ...], bool, frozenset[str]], ToolboxPort] = {}
        self._reduced: dict[frozenset[str], Toolbox] = {}
        self._expanded: dict[tuple[str, ...], frozenset[str]] = {}

    def of(self, session: Session) -> ToolboxPort:
        """The tools of a session: these, and those of its MCP servers.

        They change only where its prompt does, with a compression: providers cache both together.
        """
        started = session.started
        hidden = frozenset(name for name, tool in self._tools.items() if not tool.offered(session))
        own = self._without(hidden) if hidden else self
        if started is None or not started.mcp or self._with_servers is None:
            return own
        key = (started.mcp, started.mcp_search, hidden)
        toolbox = self._of_sessions.get(key)
        if toolbox is None:
            toolbox = self._with_servers(own, started)
            if len(self._of_sessions) >= MAX_CATALOGUES:
                self._of_sessions.clear()
            self._of_sessions[key] = toolbox
        return toolbox

    def _without(self, hidden: frozenset[str]) -> Toolbox:
        """These tools without those of these names."""
        known = self._reduced.get(hidden)
        if known is None:
            shown = {name: tool for name, tool in self._tools.items() if name not in hidden}
            known = self._reduced[hidden] = self._copy(shown)
        return known

    def with_tools(self, more: Iterable[Tool]) -> Toolbox:
        """These tools and more; of two with one name the own one."""
        others = {line.name: line for line in more if line.name not in self._tools}
        return self._copy({**self._tools, **others})

    def _copy(self, tools: Mapping[str, Tool]) -> Toolbox:
        other = copy(self)
        other._reduced = {}  # noqa: SLF001 - it is one of these
        other._tools = dict(sorted(tools.items()))  # noqa: SLF001
        return other

    def is_on(self, toolset: str, toolsets: Sequence[str] | None) -> bool:
        """Whether that toolset is on where these are named (None: the configured ones)."""
        return toolset in self._wanted(toolsets)

    def expand(self, names: Iterable[str]) -> frozenset[str]:
        """These toolsets, and all that they include."""
        toolsets: set[str] = set()
        open_names = list(names)
        while open_names:
            name = open_names.pop()
            if name not in toolsets:
                toolsets.add(name)
                open_names.extend(self._toolsets.get(name, ()))
        return frozenset(toolsets)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools."""
        return tuple(self._tools)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools by name, also those that are off or not available here."""
        return tuple(self._tools.values())

    @property
    def toolsets(self) -> tuple[str, ...]:
        """All toolset names: those of the tools, and those that include others."""
        return tuple(sorted({tool.toolset for tool in self._tools.values()} | set(self._toolsets)))

    def small(self) -> tuple[str, ...]:
        """The toolsets of a session with a small window: `small`, or those of it that the settings enable."""
        on = tuple(name for name in self._toolsets["small"] if self.is_on(name, None))
        return ("small",) if set(on) == set(self._toolsets["small"]) else on

    def never_on(self) -> tuple[str, ...]:
        """The toolsets with tools of their own that the settings neither enable nor disable."""
        named = self.expand((*self._enabled, *ALWAYS, *REVIEWS_ONLY)) | self._disabled
        return tuple(name for name in _toolsets_of(self._tools) if name not in named)

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        """The tools of these toolsets (None: the configured ones) that are available here, by name."""
        return tuple(tool.spec for tool in self._offered(toolsets).values())

    def toolsets_on(self, toolsets: Sequence[str] | None) -> tuple[str, ...]:
        """The toolsets that have a tool among the `specs` of these."""
        return _toolsets_of(self._offered(toolsets))

    def plan(
        self, call_prefix: str, calls: Sequence[ToolCall], context_workdir: str
    ) -> tuple[PlannedCall, ...]:
        """How to run the calls of one reply.

        A call runs after each earlier one that writes a path it uses, or uses a path it writes. With
        `serialize_terminal` a call that does not name its files may use every file: it changes them unless
        it is known to read.
        """
        order = waits_for([self._effects(call, context_workdir) for call in calls])
        planned = []
        for index, call in enumerate(calls):
            tool = self._tools.get(call.name)
            after = (f"{call_prefix}-{at}" for at in order[index])
            effect = tool.effect if tool else "write" if MCP_MARK in call.name else "read"
            planned.append(PlannedCall(call=f"{call_prefix}-{index}", effect=effect, after=tuple(after)))
        return tuple(planned)

    def verdict(self, call: ToolCall, context: ToolContext) -> Verdict:
        """Whether the call may run. An invalid call is allowed: `run` reports the error."""
        tool = self._tools.get(call.name)
        if tool is None:
            return ALLOW
        if tool.toolset in context.withheld:
            return Verdict("deny", f"sub-agents may not use `{call.name}`", advice=WITHHELD_ERROR)
        try:
            arguments = tool.decode(call.arguments)
        except InvalidArguments:
            return ALLOW
        try:
            verdict = judge(tool, arguments, context)
        except Exception as error:  # noqa: BLE001 - a guard that fails allows nothing
            return Verdict("deny", f"the guard of `{call.name}` failed ({type(error).__name__})")
        if verdict.decision == "allow" and context.watched and context.attended:
            question, _ = self._hold(tool, arguments, context)
            return Verdict("ask", question) if question else verdict
        return verdict

    def allowing(self, call: ToolCall, context: ToolContext) -> tuple[ApprovalRule, ...]:
        """The rules that allow calls like this one; `verdict` decides whether they cover it."""
        tool = self._tools.get(call.name)
        if tool is None:
            return ()
        try:
            arguments = tool.decode(call.arguments)
        except InvalidArguments:
            return ()
        return tuple(permit(tool, arguments, context).naming("allow"))

    def run(
        self, call: ToolCall, context: ToolContext, toolsets: Sequence[str] | None, cancel: Cancel
    ) -> ToolOutcome:
        """Validate and run the call. A verdict of `deny` applies here too; the caller handles `ask`."""
        if cancel.reason is not None:
            return ToolOutcome(content="Interrupted before it began.", ok=False, interrupted=True)
        tools = self._offered(toolsets)
        tool = tools.get(call.name)
        if tool is None:
            return _invalid(self._redact(unknown_tool(call.name, tools)))
        try:
            arguments = tool.decode(call.arguments)
        except InvalidArguments as error:
            return _invalid(self._redact(f"Error: {call.name}: {_sentence(str(error))}"))
        verdict = self.verdict(call, context)
        if verdict.decision == "deny":
            refusal = self._redact(verdict.refusal())
            return ToolOutcome(content=refusal, ok=False, refused=True, rule=verdict.rule)
        approved = verdict.decision == "ask" or verdict.approved
        usable = tuple(toolset for toolset in _toolsets_of(tools) if toolset not in context.withheld)
        on = replace(context, toolsets=usable, approved=approved)
        outcome = _called(tool, arguments, on, cancel)
        change = outcome.change
        if change is not None:
            asked = verdict.decision == "ask"
            change = self._redacted((not asked and self._held(tool, call, arguments, on, change)) or change)
        events = tuple(map(self._redacted_event, outcome.events))
        is_unread = outcome.refused or outcome.unread
        return replace(
            outcome,
            content=_storable(self._redact(outcome.content)),
            events=events,
            change=change,
            files=tuple(File(_storable(self._redact(name)), content) for name, content in outcome.files),
            outside="" if is_unread else _storable(self._redact(_origin(tool, arguments, on))),
        )

    def held(self, call: ToolCall, context: ToolContext, cancel: Cancel) -> Decision | None:
        """The decision in the place of a lasting call that is not done now; None for any other call."""
        tool = self._tools[call.name]
        arguments = tool.decode(call.arguments)
        change = _called(tool, arguments, context, cancel).change
        return None if change is None else self._held(tool, call, arguments, context, change)

    def _held(
        self, tool: Tool, call: ToolCall, arguments: Arguments, context: ToolContext, change: Decision
    ) -> Decision | None:
        question, hold = self._hold(tool, arguments, context)
        return hold.instead(call, context, change) if question and hold else None

    def _hold(self, tool: Tool, arguments: Arguments, context: ToolContext) -> tuple[str, Hold | None]:
        """The question about a lasting call that waits for a person, and what holds it."""
        texts = tool.lasting(arguments)
        asked = ((hold.waits(texts, context), hold) for hold in self._holds if texts is not None)
        return next((each for each in asked if each[0]), ("", None))

    def _redacted(self, change: Decision) -> Decision:
        def redacted(load: StateLoader) -> DecisionResult:
            changed = change(load)
            return replace(changed, answer=_storable(self._redact(changed.answer)))

        return redacted

    def _redacted_event(self, event: SessionEvent) -> SessionEvent:
        if not isinstance(event, FileWritten):
            return event
        return replace(event, diff=_storable(self._redact(event.diff)))

    def _offered(self, toolsets: Sequence[str] | None) -> dict[str, Tool]:
        names = self._wanted(toolsets)
        return {
            name: tool for name, tool in self._tools.items() if tool.toolset in names and _is_available(tool)
        }

    def _wanted(self, toolsets: Sequence[str] | None) -> frozenset[str]:
        names = self._enabled if toolsets is None else tuple(toolsets)
        wanted = self._expanded.get(names)
        if wanted is None:
            always = () if EXCLUSIVE_TOOLSETS.intersection(names) else ALWAYS
            wanted = self.expand((*names, *always)) - self._disabled
            if len(self._expanded) >= MAX_CATALOGUES:
                self._expanded.clear()
            self._expanded[names] = wanted
        return wanted

    def _effects(self, call: ToolCall, workdir: str) -> CallEffects:
        """What the call reads and writes. An invalid call runs nothing, so no call waits for it."""
        tool = self._tools.get(call.name)
        if tool is None:
            unknown = MCP_MARK in call.name and self._serialize_terminal
            return CallEffects(writes=frozenset({EVERYTHING})) if unknown else CallEffects()
        try:
            arguments = tool.decode(call.arguments)
            reads = _resolved(tool.reads(arguments), workdir)
            writes = _resolved(tool.writes(arguments), workdir)
        except Exception:  # noqa: BLE001 - it was written by a model
            return CallEffects()
        if tool.touches == "named" or not self._serialize_terminal:
            return CallEffects(reads, writes)
        if _only_reads(tool, arguments, workdir):
            return CallEffects(reads | {EVERYTHING}, writes)
        return CallEffects(reads, writes | {EVERYTHING})


def _only_reads(tool: Tool, arguments: Arguments, workdir: str) -> bool:
    """Whether a call changes no file, by the rules for approvals."""
    context = ToolContext(session="", turn="", call="", workdir=workdir, attended=True)
    try:
        reads = tool.rules.leaves_all_as_it_is(arguments, context)
    except Exception:  # noqa: BLE001 - what cannot be judged keeps its order
        return False
    return tool.effect == "read" if reads is None else reads


def _toolsets_of(tools: Mapping[str, Tool]) -> tuple[str, ...]:
    return tuple(sorted({tool.toolset for tool in tools.values()}))


def _resolved(names: Iterable[str], workdir: str) -> frozenset[str]:
    """Paths as real ones; names of other resources as they are."""
    return frozenset(
        name
        if name.startswith(RESOURCE)
        else os.path.realpath(os.path.join(workdir, os.path.expanduser(name)))
        for name in names
    )


def _is_available(tool: Tool) -> bool:
    try:
        return tool.available()
    except Exception:  # noqa: BLE001 - a tool whose check fails is not available
        return False


def _called(tool: Tool, arguments: Arguments, context: ToolContext, cancel: Cancel) -> ToolOutcome:
    try:
        result = tool.call(arguments, context, cancel)
    except ToolFailed as error:
        refused, unread = isinstance(error, ToolRefused), isinstance(error, NothingRead)
        return ToolOutcome(content=f"Error: {error}", ok=False, refused=refused, unread=unread)
    except Rejected as rejection:
        return ToolOutcome(content=f"Error: {rejection.for_model}", ok=False)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a failure is the answer to the model; the turn continues
        text = f"Error: {tool.name} failed: {type(error).__name__}: {error}"
        return ToolOutcome(content=text[:MAX_ERROR_CHARS], ok=False)
    return ToolOutcome(content=result) if isinstance(result, str) else result


def _origin(tool: Tool, arguments: Arguments, context: ToolContext) -> str:
    """The origin of what others wrote in the result."""
    try:
        return tool.outside(arguments, context)[:MAX_CHARS]
    except Exception:  # noqa: BLE001 - what cannot be judged counts as outside text
        return tool.name


def _storable(text: str) -> str:
    """The text with `?` for what UTF-8 cannot write: names of files may hold any bytes."""
    return text.encode(errors="replace").decode()


def unknown_tool(name: str, tool_names: Iterable[str]) -> str:
    """The error for an unknown tool, with the most similar names."""
    names = list(tool_names)
    there = f"The tools are: {', '.join(names)}." if names else "There are no tools in this turn."
    return f"Error: there is no tool `{name}` here{did_you_mean(name, names)} {there}"


def _invalid(content: str) -> ToolOutcome:
    return ToolOutcome(content=content, ok=False, invalid=True)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
