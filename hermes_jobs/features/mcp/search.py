"""Replaces many tools of servers by two: `tool_search` finds them, `tool_call` calls one.

Every request then has the same short list of tools. A `tool_call` has the effect, approval, arguments and
result of the named tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel, ToolContext, ToolOutcome, ToolSpec, Verdict
from hermes_jobs.kernel.events import PlannedCall
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.tool import InvalidArguments, Tool, did_you_mean, tool
from hermes_jobs.tools.toolbox import Toolbox

SEARCH, CALL = "tool_search", "tool_call"
MAX_FOUND = 8
IN_NAME = 3  # the weight of a word in a tool's name, relative to its description


class SearchableToolbox:
    """The `engine.ports.Toolbox` over another one; its tools `hidden` are found and called this way."""

    def __init__(self, inner: Toolbox, hidden: frozenset[str]) -> None:
        self._inner = inner
        self._hidden = hidden
        tools = (tool(toolset="mcp", effect="read", name=SEARCH)(_search), _call_tool())
        self._own_tools = {own_tool.name: own_tool for own_tool in tools}

    def of(self, session: Session) -> SearchableToolbox:
        """See the port."""
        return self

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        """See the port: the two tools instead of the hidden ones."""
        all_specs = self._inner.specs(toolsets)
        visible = [spec for spec in all_specs if spec.name not in self._hidden]
        if len(visible) < len(all_specs):
            visible += [tool.spec for tool in self._own_tools.values()]
        return tuple(sorted(visible, key=lambda item: item.name))

    def toolsets_on(self, toolsets: Sequence[str] | None) -> tuple[str, ...]:
        """See the port."""
        return self._inner.toolsets_on(toolsets)

    def plan(
        self, call_prefix: str, calls: Sequence[ToolCall], context_workdir: str
    ) -> tuple[PlannedCall, ...]:
        """See the port."""
        return self._inner.plan(call_prefix, [meant(call) for call in calls], context_workdir)

    def verdict(self, call: ToolCall, context: ToolContext) -> Verdict:
        """See the port."""
        return self._inner.verdict(meant(call), context)

    def run(
        self, call: ToolCall, context: ToolContext, toolsets: Sequence[str] | None, cancel: Cancel
    ) -> ToolOutcome:
        """See the port."""
        target = meant(call)
        specs = [spec for spec in self._inner.specs(toolsets) if spec.name in self._hidden]
        own = self._own_tools.get(target.name)
        if own is not None:
            return _answered(own, target, specs)
        names = [spec.name for spec in specs]
        if target is not call and target.name not in names:
            suggestion = did_you_mean(target.name, names)
            text = f"Error: there is no tool `{target.name}`{suggestion} Search with {SEARCH}."
            return ToolOutcome(content=text, ok=False, invalid=True)
        return self._inner.run(target, context, toolsets, cancel)


def _answered(own: Tool, call: ToolCall, tools: Sequence[ToolSpec]) -> ToolOutcome:
    """The result of a search, or the error for an invalid call."""
    try:
        arguments = own.decode(call.arguments)
    except InvalidArguments as error:
        return ToolOutcome(content=f"Error: {call.name}: {error}.", ok=False, invalid=True)
    if own.name == CALL:
        text = "Error: the call could not be read: give `name` and `arguments`, an object."
        return ToolOutcome(content=text, ok=False, invalid=True)
    return _found(arguments["query"], tools)


class _Named(msgspec.Struct):
    """The arguments of `tool_call` that name the wrapped call."""

    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def meant(call: ToolCall) -> ToolCall:
    """The wrapped call of `tool_call`; other calls are returned unchanged."""
    if call.name != CALL:
        return call
    try:
        named_call = msgspec.json.decode(call.arguments, type=described(_Named))
        text = bytes(named_call.arguments).decode()
        if text.startswith('"'):  # small models write the object as a text
            text = msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return call
    return ToolCall(call.id, named_call.name, text)


def _search(query: Annotated[str, "What the tool should do, in a few words; or a server's name."]) -> str:
    """Find tools of MCP servers by what they do. The result has their names, descriptions and arguments; call
    one with tool_call.
    """
    raise AssertionError(f"{query}: answered by the toolbox")


def _call_tool() -> Tool:
    def call_tool(
        name: Annotated[str, "The tool's name, as tool_search gave it."],
        arguments: Annotated[dict[str, Any], "Its arguments, as its schema says."],
    ) -> str:
        """Call a tool that tool_search has found."""
        raise AssertionError(f"{name} with {len(arguments)} arguments: answered by the toolbox")

    return tool(toolset="mcp", effect="write", name=CALL)(call_tool)


def _found(query: str, tools: Sequence[ToolSpec]) -> ToolOutcome:
    words = set(_words(query))
    if not words:
        text = "Error: give words that say what the tool should do."
        return ToolOutcome(content=text, ok=False, invalid=True)
    scored = [(_score(words, tool), tool) for tool in tools]
    best = sorted((pair for pair in scored if pair[0]), key=lambda item: (-item[0], item[1].name))
    if not best:
        servers = sorted({tool.name.partition("__")[0] for tool in tools})
        return ToolOutcome(content=f"No tool fits “{query}”. The servers are: {', '.join(servers)}.")
    descriptions = [_described(match) for _, match in best[:MAX_FOUND]]
    more = len(best) - len(descriptions)
    rest = [f"({more} more fit; say more exactly what you need.)"] if more else []
    return ToolOutcome(content="\n".join([*descriptions, *rest]))


def _score(words: set[str], spec: ToolSpec) -> int:
    name_words, described = set(_words(spec.name)), set(_words(spec.description))
    return IN_NAME * len(words & name_words) + len(words & described)


def _words(text: str) -> list[str]:
    """The words of a text or of a name such as `getUserById`, without an ending `s`."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [word.removesuffix("s") for word in re.findall(r"[^\W_]+", apart.lower()) if len(word) > 1]


def _described(spec: ToolSpec) -> str:
    value: Mapping[str, Any] = {
        "name": spec.name,
        "description": spec.description,
        "arguments": spec.parameters,
    }
    return msgspec.json.encode(value).decode()
