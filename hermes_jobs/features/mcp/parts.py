"""The configured MCP servers, and the reader of their resources and prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hermes_jobs.features.mcp.input_questions import InputQuestions
from hermes_jobs.features.mcp.launches import Launches
from hermes_jobs.features.mcp.logins import Logins
from hermes_jobs.features.mcp.reader import McpReader, ReaderQuestions
from hermes_jobs.features.mcp.resources import KnownResources
from hermes_jobs.features.mcp.server_tasks import ServerTasks
from hermes_jobs.features.mcp.sessions import FrozenServers, McpSessions
from hermes_jobs.kernel.engine.ports import NotYet

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.servers import Servers
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.settings import Settings
    from hermes_jobs.system.clock import Clock
    from hermes_jobs.tools.toolbox import Toolbox


def create_mcp(
    settings: Settings, environ: Mapping[str, str], engine: Engine, servers: Servers, clock: Clock
) -> McpSessions:
    """The servers as sessions use them. `engine` handles their questions; `environ`: the process's."""
    redact = settings.secrets.redact_known
    questions = InputQuestions(
        state=engine.state,
        execute=engine.execute,
        clock=clock,
        seconds=settings.terminal.approval_seconds,
        redact=redact,
    )
    tasks = ServerTasks(clock=clock, questions=questions, redact=redact)
    launches = Launches(
        settings.mcp_servers,
        secret=settings.secrets.get,
        variables=settings.variables,
        environ=environ,
        logins=Logins(settings.paths.mcp_logins),
        home=settings.paths.home,
    )
    return McpSessions(
        servers=servers,
        launches=launches,
        state=engine.state,
        change=engine.change,
        clock=clock,
        results=settings.paths.results,
        inline_share=settings.mcp.inline_share,
        questions=questions,
        tasks=tasks,
    )


def frozen_servers(
    mcp: McpSessions,
    toolbox: Toolbox,
    window_of: Callable[[str], int],
    toolsets: Sequence[str] | None,
    workdir: str,
    model: str,
) -> FrozenServers:
    """The servers of a new session with these toolsets. Raises `NotYet` without a required one."""
    servers = mcp.freeze(lambda toolset: toolbox.is_on(toolset, toolsets), workdir, window_of(model))
    if servers.required:
        why = next(reason for reason in servers.away if reason.startswith(f"{servers.required[0]}: "))
        raise NotYet(
            f"An MCP server that is required is away: {why}.",
            kind="mcp",
            hint=f"hermes-jobs mcp test {servers.required[0]}",
            what=f"MCP server {servers.required[0]}",
        )
    return servers


def create_mcp_reader(settings: Settings, launches: Launches, servers: Servers, clock: Clock) -> McpReader:
    """Reads resources and prompts of the servers, without a user to answer questions."""
    questions = ReaderQuestions(
        clock=clock, seconds=settings.terminal.approval_seconds, redact=settings.secrets.redact_known
    )
    return McpReader(launches, servers, questions, KnownResources(settings.paths.mcp_resources))
