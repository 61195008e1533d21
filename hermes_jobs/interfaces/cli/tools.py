"""`hermes-jobs tools`: what the model can call, and where each tool comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import TextParam
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.events import Effect

BUILT_IN = "hermes-jobs"


class KnownTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool. `source`: `hermes-jobs`, or the module or plugin that has it; `state`: whether sessions without
    toolsets of their own have it, `unavailable` where something that it needs is missing."""

    name: str
    toolset: str
    effect: Effect
    source: str
    state: Literal["on", "off", "unavailable"]


class Unusable(msgspec.Struct, frozen=True, kw_only=True):
    """A module of own functions, and why it, or one of them, is no tool."""

    source: str
    message: str


@command(epilog=example("hermes-jobs tools", "hermes-jobs tools own --json"))
@click.argument("part", type=TextParam(), required=False)
@limit_option("tools", default=None)
def tools(context: CliContext, part: str | None, limit: int | None, as_json: Json) -> None:
    """List the agent's tools: built in, of plugins, and your own functions.

    With PART, those that have it in their name, toolset or source. A tool is off where `toolsets.enabled`
    lacks its toolset or `toolsets.disabled` has it. Tools of MCP servers: `hermes-jobs mcp tools`.
    """
    part = "" if part in (None, "list") else part  # `tools list`, as of other commands, is all of them
    application = context.application
    known = [tool for tool in _known(application) if _has(tool, part)][:limit]
    unusable = [Unusable(source=fault.where, message=fault.message) for fault in application.own_tools.faults]

    def print_text() -> None:
        TOOLS.print_list(known, as_json=False, empty=f"No tool has {part!r}." if part else "")
        for fault in unusable:
            note(context.redact(f"Not used: {fault.source}: {fault.message}"))

    print_result(lambda: {"tools": known, "unusable": unusable}, print_text, as_json=as_json)


def _known(application: Application) -> Iterator[KnownTool]:
    toolbox, sources = application.toolbox, application.own_tools.places
    on = {spec.name for spec in toolbox.specs(None)}
    for tool in toolbox.tools:
        off: Literal["off", "unavailable"] = "unavailable" if toolbox.is_on(tool.toolset, None) else "off"
        yield KnownTool(
            name=tool.name,
            toolset=tool.toolset,
            effect=tool.effect,
            source=sources.get(tool.name, BUILT_IN),
            state="on" if tool.name in on else off,
        )


def _has(tool: KnownTool, part: str) -> bool:
    return any(part.lower() in text.lower() for text in (tool.name, tool.toolset, tool.source))


TOOLS: Resource[KnownTool] = Resource(
    (
        Column("TOOL", lambda tool: tool.name, is_main=True),
        Column("TOOLSET", lambda tool: tool.toolset, rank=1),
        Column("EFFECT", lambda tool: tool.effect, rank=2),
        Column("SOURCE", lambda tool: tool.source, rank=1),
        Column("STATE", lambda tool: tool.state),
    ),
    "There are no tools.",
)
