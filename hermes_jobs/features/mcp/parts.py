"""The configured MCP servers, and the reader of their resources and prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_jobs.features.mcp.input_questions import InputQuestions
from hermes_jobs.features.mcp.launches import Launches
from hermes_jobs.features.mcp.logins import Logins
from hermes_jobs.features.mcp.reader import McpReader, ReaderQuestions
from hermes_jobs.features.mcp.resources import KnownResources
from hermes_jobs.features.mcp.server_tasks import ServerTasks
from hermes_jobs.features.mcp.sessions import McpSessions

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.servers import Servers
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.settings import Settings
    from hermes_jobs.system.clock import Clock


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


def create_mcp_reader(settings: Settings, launches: Launches, servers: Servers, clock: Clock) -> McpReader:
    """Reads resources and prompts of the servers, without a user to answer questions."""
    questions = ReaderQuestions(
        clock=clock, seconds=settings.terminal.approval_seconds, redact=settings.secrets.redact_known
    )
    return McpReader(launches, servers, questions, KnownResources(settings.paths.mcp_resources))
