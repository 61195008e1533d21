"""Which tools an installation has: all that this build brings, as configured, and those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
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
    from hermes_jobs.bootstrap.application import Application
    from hermes_jobs.settings import Settings


def create_toolbox(application: Application, environ: Mapping[str, str]) -> Toolbox:
    """The tools; `environ` is what they may inherit, less its secrets."""
    of, settings = application, application.settings
    paths = PathPolicy(
        home=str(settings.paths.home), user_home=environ.get("HOME", "/"), roots=settings.files.roots
    )
    web = WebOptions(allow_private=settings.web.allow_private, environ=environ)
    tools: tuple[Tool, ...] = (
        *default_tools(_terminal(settings, paths, environ), paths, web, kept=of.results.file_of),
        *MemoryTools(of.memory_limits, of.memory.sync).tools,
        *skill_tools(SkillPresenter(of.skills)),
        *curator_tools(of.curator),
        *_session_search(of).tools,
        *RecallCompacted(of.views).tools,
        *_schedule_tool(of).tools,
    )
    for part, toolset in ((of.providers, "memory"), (of.contexts, "context")):
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
    """How commands run in containers; null where they run on the host."""
    if settings.terminal.backend != "docker":
        return None
    docker = settings.terminal.docker
    return DockerOptions(image=docker.image, network=docker.network, memory=docker.memory)


def _schedule_tool(application: Application) -> ScheduleTool:
    log, schedules = application.log, application.settings.schedules
    defaults = Defaults(
        timezone=application.timezone,
        missed=schedules.missed,
        overlap=schedules.overlap,
        by_schedules=schedules.by_schedules,
    )
    return ScheduleTool(
        lambda: [head.stream for head in log.streams(PREFIX)],
        defaults,
        application.clock,
        application.ids,
    )


def _session_search(of: Application) -> SessionSearch:
    settings = of.settings
    return SessionSearch(of.views, lambda: _summariser(of), zone=settings.zone, expand=settings.search.expand)


def _summariser(application: Application) -> Summariser | None:
    """The model that tells what earlier conversations hold; null where there is but the rehearsal."""
    choice = application.settings.auxiliary_model("session_search")
    if choice.model == REHEARSAL_MODEL:
        return None
    model, name = application.auxiliary("session_search")
    return Summariser(model, name, application.endpoints.prices(choice.base_url))


def asking(application: Application, call: ToolCall) -> Asking | None:
    """What a tool call asks of a model; None where it asks none."""
    tokens = summary_tokens(call)
    summariser = _summariser(application) if tokens is not None else None
    if tokens is None or summariser is None:
        return None
    return Asking(summariser.name, summariser.pricing, *tokens)
