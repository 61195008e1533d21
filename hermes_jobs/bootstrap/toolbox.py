"""The tools: the built-in ones as configured, and those of the memory provider and the context engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hermes_jobs.agent.skills.presenter import SkillPresenter
from hermes_jobs.agent.tools.builtin import default_tools
from hermes_jobs.agent.tools.docker import DockerOptions
from hermes_jobs.agent.tools.memory import MemoryTools
from hermes_jobs.agent.tools.path_policy import PathPolicy
from hermes_jobs.agent.tools.plugin_tools import plugin_tools
from hermes_jobs.agent.tools.policy import CommandPolicy
from hermes_jobs.agent.tools.recall_compacted import RecallCompacted
from hermes_jobs.agent.tools.sandbox import Sandbox
from hermes_jobs.agent.tools.schedule import Defaults, ScheduleTool
from hermes_jobs.agent.tools.session_search import SessionSearch, summary_tokens
from hermes_jobs.agent.tools.skill_curation import curator_tools
from hermes_jobs.agent.tools.skills import skill_tools
from hermes_jobs.agent.tools.summaries import Summariser
from hermes_jobs.agent.tools.terminal import TerminalOptions
from hermes_jobs.agent.tools.tool import Tool
from hermes_jobs.agent.tools.toolbox import Toolbox
from hermes_jobs.agent.tools.web import WebOptions
from hermes_jobs.domain.schedule.schedule import PREFIX
from hermes_jobs.domain.session.messages import ToolCall
from hermes_jobs.engine.budget_guard import Asking
from hermes_jobs.settings import REHEARSAL_MODEL

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_jobs.agent.context.engine_host import BuiltIn, PluginContextEngines
    from hermes_jobs.agent.memory.memory_files import SyncedMemory
    from hermes_jobs.agent.memory.providers import Providers
    from hermes_jobs.agent.skills.catalog import SkillCatalog
    from hermes_jobs.agent.skills.curator import Curator
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.domain.memory.memory import Limits
    from hermes_jobs.engine.ports import Clock, Ids
    from hermes_jobs.eventlog.log import EventLog
    from hermes_jobs.settings import Settings
    from hermes_jobs.views import Views


def create_toolbox(  # noqa: PLR0913 - what the tools work on
    settings: Settings,
    environ: Mapping[str, str],
    *,
    log: EventLog,
    views: Views,
    clock: Clock,
    ids: Ids,
    timezone: str,
    result_file: Callable[[str], Path | None],
    memory: SyncedMemory,
    limits: Limits,
    skills: SkillCatalog,
    curator: Curator,
    endpoints: ModelEndpoints,
    providers: Providers,
    contexts: BuiltIn | PluginContextEngines,
) -> Toolbox:
    """All tools.

    Commands inherit `environ` without its secrets; `result_file(call)` is the file of a large result. A tool
    of a provider or a context engine whose name is taken is left out with a warning.
    """
    paths = PathPolicy(
        home=str(settings.paths.home), user_home=environ.get("HOME", "/"), roots=settings.files.roots
    )
    web = WebOptions(allow_private=settings.web.allow_private, environ=environ)
    tools: tuple[Tool, ...] = (
        *default_tools(_terminal(settings, paths, environ), paths, web, kept=result_file),
        *MemoryTools(limits, memory.sync).tools,
        *skill_tools(SkillPresenter(skills)),
        *curator_tools(curator),
        *_session_search(settings, views, endpoints).tools,
        *RecallCompacted(views).tools,
        *_schedule_tool(settings, timezone, log, clock, ids).tools,
    )
    for part, toolset in ((providers, "memory"), (contexts, "context")):
        taken = {each.name for each in tools}
        tools += plugin_tools(part.tools(), part.call_tool, toolset=toolset, taken=taken)
    return Toolbox(
        tools,
        enabled=settings.toolsets.enabled,
        disabled=settings.toolsets.disabled,
        serialize_terminal=settings.tools.serialize_terminal,
        redact=settings.secrets.redact_known,
    )


def _terminal(settings: Settings, paths: PathPolicy, environ: Mapping[str, str]) -> TerminalOptions:
    return TerminalOptions(
        policy=CommandPolicy(paths=paths, policy=settings.terminal.policy, allow=settings.terminal.allow),
        sandbox=Sandbox(
            paths=paths, mode=settings.terminal.sandbox, visible=settings.terminal.sandbox_visible
        ),
        environ=environ,
        secrets=settings.secrets.values,
        timeout=settings.terminal.timeout,
        docker=_docker(settings),
    )


def _docker(settings: Settings) -> DockerOptions | None:
    """How commands run in containers; None where they run on the host."""
    if settings.terminal.backend != "docker":
        return None
    docker = settings.terminal.docker
    return DockerOptions(image=docker.image, network=docker.network, memory=docker.memory)


def _schedule_tool(settings: Settings, timezone: str, log: EventLog, clock: Clock, ids: Ids) -> ScheduleTool:
    schedules = settings.schedules
    defaults = Defaults(
        timezone=timezone,
        missed=schedules.missed,
        overlap=schedules.overlap,
        by_schedules=schedules.by_schedules,
    )
    return ScheduleTool(lambda: [head.stream for head in log.streams(PREFIX)], defaults, clock, ids)


def _session_search(settings: Settings, views: Views, endpoints: ModelEndpoints) -> SessionSearch:
    return SessionSearch(
        views, lambda: _summariser(settings, endpoints), zone=settings.zone, expand=settings.search.expand
    )


def _summariser(settings: Settings, endpoints: ModelEndpoints) -> Summariser | None:
    """The model that summarises found conversations; None where only the rehearsal is configured."""
    choice = settings.auxiliary_model("session_search")
    if choice.model == REHEARSAL_MODEL:
        return None
    return Summariser(endpoints.model(choice), choice.model, endpoints.prices(choice.base_url))


def asking(settings: Settings, endpoints: ModelEndpoints, call: ToolCall) -> Asking | None:
    """The model call that a tool call makes, at most; None where it makes none."""
    tokens = summary_tokens(call)
    summariser = _summariser(settings, endpoints) if tokens is not None else None
    if tokens is None or summariser is None:
        return None
    return Asking(summariser.name, summariser.pricing, *tokens)
