"""Events of the streams `mcp-NAME`: the tools of an MCP server, and a person's decisions about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_jobs.kernel.events.event import Event


class McpTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as its server lists it: cleaned for the model, unless it was left out.

    `parameters` is a JSON Schema object; `renamed` maps names of arguments there to the
    server's own names, where they differ. `read_only`, `destructive` and `idempotent` are the server's own
    hints; None: no hint.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    title: str = ""
    renamed: Mapping[str, str] = {}
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


class McpToolLeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is not offered, and why."""

    name: str
    reason: str


class McpPromptArgument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An argument of a prompt."""

    name: str
    description: str = ""
    required: bool = False


class McpPrompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt as its server lists it, cleaned; users request it, never the model."""

    name: str
    description: str = ""
    arguments: tuple[McpPromptArgument, ...] = ()


class McpToolsListed(Event, frozen=True, kw_only=True):
    """A server listed its tools, sorted by name, at `at` (seconds since the epoch).

    `digest` is of the tools; `fingerprint` of the configuration of the server. `accepted`: new sessions use
    it at once; otherwise a person has to accept it first. `protocol` is the revision of the specification
    that was agreed on, `version` the server's own name and version. `prompts` are the listed ones; they are
    not part of the digest.
    """

    server: str
    digest: str
    fingerprint: str
    tools: tuple[McpTool, ...]
    left_out: tuple[McpToolLeftOut, ...] = ()
    accepted: bool = True
    at: float = 0.0
    protocol: str = ""
    version: str = ""
    instructions: str = ""
    prompts: tuple[McpPrompt, ...] = ()


class McpToolsAccepted(Event, frozen=True, kw_only=True):
    """A person accepted the listing with that digest."""

    server: str
    digest: str
    by: str


class McpServerFailed(Event, frozen=True, kw_only=True):
    """A server could not list its tools, at `at` (seconds since the epoch). `login`: because a login is
    needed."""

    server: str
    fingerprint: str
    message: str
    at: float
    login: bool = False


class McpServerRemoved(Event, frozen=True, kw_only=True):
    """A person removed the server from the configuration; sessions that use it keep its listing."""

    server: str
    by: str


McpEvent = McpToolsListed | McpToolsAccepted | McpServerFailed | McpServerRemoved
