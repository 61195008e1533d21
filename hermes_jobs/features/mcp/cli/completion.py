"""Shell completion for MCP servers: their names, keys of their entries, their last known resources.

No server is started or called, and the log is not opened, so that a key press does not wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hermes_jobs.interfaces.cli.id_completion import completion, settings_of

if TYPE_CHECKING:
    import click

    from hermes_jobs.settings.sections.mcp_servers import McpServer

KEY = "mcp_servers"


def servers_of(click_context: click.Context) -> Mapping[str, McpServer]:
    """The configured servers, by name; empty if the configuration is invalid."""
    settings = settings_of(click_context)
    return {} if settings is None else dict(sorted(settings.mcp_servers.items()))


def _servers(click_context: click.Context, _incomplete: str) -> Iterable[tuple[str, str]]:
    return ((name, server.url or server.command or "") for name, server in servers_of(click_context).items())


def _resources(click_context: click.Context, _incomplete: str) -> Iterable[tuple[str, str]]:
    from hermes_jobs.features.mcp.resources import KnownResources

    settings, server = settings_of(click_context), click_context.params.get("name")
    if settings is None or server not in settings.mcp_servers:
        return ()
    resources = KnownResources(settings.paths.mcp_resources).of(server)
    return ((resource.begun_uri, resource.description or resource.name) for resource in resources)


complete_mcp_server = completion(_servers)
complete_resource = completion(_resources)
"""Addresses of what the command's server has listed last; templates up to what is filled in."""
