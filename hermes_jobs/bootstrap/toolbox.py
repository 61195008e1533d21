"""The tools: the built-in ones as configured, and those of the memory provider and the context engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.bootstrap.agent_roles import agent_roles
from hermes_jobs.bootstrap.skills import granted_secrets
from hermes_jobs.features.compression.tools import RecallCompacted
from hermes_jobs.features.conditions.api import ConditionCommand, SeenStore
from hermes_jobs.features.delegation.tools import DelegateTool, DelegationLimits
from hermes_jobs.features.ensembles.tools import TOOLSET as CONSULT
from hermes_jobs.features.ensembles.tools import Consult, SharedPrice
from hermes_jobs.features.memory.tools import MemoryTools
from hermes_jobs.features.schedules.rules.schedule import PREFIX
from hermes_jobs.features.schedules.tools import Defaults, ScheduleTool
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.features.search.tools import SessionSearch, summary_tokens
from hermes_jobs.features.skills.presenter import SkillPresenter
from hermes_jobs.features.skills.tools import curator_tools, skill_tools
from hermes_jobs.features.snapshots.file_writer import NO_SNAPSHOTS
from hermes_jobs.features.snapshots.store import SnapshotStore
from hermes_jobs.features.web.search.tool import WebSearch
from hermes_jobs.features.web.tools import Web, WebOptions
from hermes_jobs.kernel.engine.budget_guard import Asking
from hermes_jobs.kernel.engine.clock_and_ids import day_of
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.settings import REHEARSAL_MODEL
from hermes_jobs.settings.search_providers import SEARCH_PROVIDERS
from hermes_jobs.tools.check_command import CheckCommand
from hermes_jobs.tools.credentials import Credentials
from hermes_jobs.tools.docker import DockerOptions
from hermes_jobs.tools.environment import filtered_environment, overlay
from hermes_jobs.tools.files import Files, StoredFile, no_stored_file
from hermes_jobs.tools.own_functions import OwnTools, own_tools
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.plugin_tools import plugin_tools
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.process import ProcessTool
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.search import FileSearch
from hermes_jobs.tools.summaries import SummaryModel
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.tools.todo import todo_tools
from hermes_jobs.tools.tool import Tool
from hermes_jobs.tools.toolbox import TOOLSETS, Toolbox

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.features.compression.engine_host import BuiltIn, PluginContextEngines
    from hermes_jobs.features.mcp.sessions import McpSessions
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.features.memory.providers import Providers
    from hermes_jobs.features.memory.rules.memory import Limits
    from hermes_jobs.features.skills.catalog import SkillCatalog
    from hermes_jobs.features.skills.curator import Curator
    from hermes_jobs.features.web.search.query import WebSearcher
    from hermes_jobs.kernel.engine.ports import Clock, Ids
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import Settings
    from hermes_jobs.settings.search_providers import SearchName
    from hermes_jobs.tools.background import BackgroundProcesses


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
    snapshots: SnapshotStore,
    processes: BackgroundProcesses,
    memory: SyncedMemory,
    limits: Limits,
    skills: SkillCatalog,
    curator: Curator,
    endpoints: ModelEndpoints,
    providers: Providers,
    contexts: BuiltIn | PluginContextEngines,
    check_model: Callable[[str], None],
    mcp: McpSessions,
    of_features: Iterable[Tool],
) -> tuple[Toolbox, OwnTools]:
    """All tools, those of features among them; the user's own functions once more, with what is wrong with
    others, and the places of all tools that are not built in.

    Commands inherit `environ` without its secrets; `result_file(call)` is the file of a large result. A tool
    of a provider or a context engine whose name is taken is left out with a warning.
    """
    paths = _paths(settings, environ)
    web = WebOptions(allow_private=settings.web.allow_private, environ=environ)
    tools: tuple[Tool, ...] = (
        *default_tools(
            _terminal(settings, paths, environ, processes),
            paths,
            web,
            stored_file=result_file,
            snapshots=snapshots,
        ),
        *_web_search(settings, environ, clock),
        *MemoryTools(limits, memory.sync).tools,
        *skill_tools(SkillPresenter(skills)),
        *curator_tools(curator),
        *_session_search(settings, views, endpoints).tools,
        *_consult(settings, endpoints).tools,
        *RecallCompacted(views).tools,
        *schedule_tool(settings, timezone, log, clock, ids).tools,
        *DelegateTool(
            limits=_delegation_limits(settings),
            roles=partial(agent_roles, settings),
            toolbox=lambda: toolbox,
            check_model=check_model,
            is_priced=endpoints.by_name.is_priced,
            paths=paths,
            ids=ids,
        ).tools,
        *of_features,
    )
    plugins: dict[str, str] = {}
    for part, toolset, plugin in (
        (providers, "memory", settings.memory.provider),
        (contexts, "context", settings.context.engine),
    ):
        used_names = {tool.name for tool in tools}
        added = plugin_tools(part.tools(), part.call_tool, toolset=toolset, used_names=used_names)
        tools += added
        plugins.update((tool.name, f"plugin {plugin}") for tool in added)
    own = own_tools(settings.tools.modules, {tool.name for tool in tools})
    toolbox = Toolbox(
        (*tools, *own.tools),
        enabled=settings.toolsets.enabled,
        disabled=settings.toolsets.disabled,
        serialize_terminal=settings.tools.serialize_terminal,
        redact=settings.secrets.redact_known,
        toolsets={**TOOLSETS, **mcp.toolsets},
        with_servers=mcp.toolbox,
    )
    return toolbox, replace(own, places={**plugins, **own.places})


def _delegation_limits(settings: Settings) -> DelegationLimits:
    of, budgets = settings.delegation, settings.budgets
    return DelegationLimits(
        per_root=of.per_root,
        per_home=of.per_home,
        depth=of.depth,
        turn_usd=budgets.turn_usd,
        turn_tokens=budgets.turn_tokens,
    )


def check_command(settings: Settings, environ: Mapping[str, str], ids: Ids) -> CheckCommand:
    """What runs the commands that check answers."""
    return CheckCommand(_terminal(settings, _paths(settings, environ), environ, None), ids.name)


def condition_command(
    settings: Settings, environ: Mapping[str, str], ids: Ids, rules: Callable[[], tuple[ApprovalRule, ...]]
) -> ConditionCommand:
    """What runs the commands of conditions."""
    return ConditionCommand(
        _terminal(settings, _paths(settings, environ), environ, None),
        rules=rules,
        seen=SeenStore(settings.paths.changed),
        ids=ids.name,
        redact=settings.secrets.redact_known,
    )


def _paths(settings: Settings, environ: Mapping[str, str]) -> PathPolicy:
    return PathPolicy(
        home=str(settings.paths.home), user_home=environ.get("HOME", "/"), roots=settings.files.roots
    )


def _terminal(
    settings: Settings,
    paths: PathPolicy,
    environ: Mapping[str, str],
    processes: BackgroundProcesses | None,
) -> TerminalOptions:
    variables = overlay(environ, settings.terminal.environment)
    granted = granted_secrets(settings)
    credentials = Credentials(
        paths=paths,
        visible=settings.terminal.sandbox_visible,
        environ={**filtered_environment(variables, settings.secrets.values), **granted},
    )
    sandbox = Sandbox(
        paths=paths,
        mode=settings.terminal.sandbox,
        visible=settings.terminal.sandbox_visible,
        writable=settings.terminal.sandbox_writable,
    )
    docker = _docker(settings)
    return TerminalOptions(
        policy=CommandPolicy(
            paths=paths,
            policy=settings.terminal.policy,
            allow=settings.terminal.allow,
            credentials=credentials,
            is_confined=sandbox.confines if docker is None else lambda: True,
        ),
        sandbox=sandbox,
        environ=variables,
        secrets=settings.secrets.values,
        granted=granted,
        timeout=settings.terminal.timeout,
        docker=docker,
        background=processes,
    )


def _web_search(settings: Settings, environ: Mapping[str, str], clock: Clock) -> tuple[Tool, ...]:
    """The tool `web_search`; none without a provider."""
    name = settings.web.search.provider
    if name is None:
        return ()
    return WebSearch(
        SEARCH_PROVIDERS[name].title,
        lambda: create_web_searcher(settings, name, environ),
        lambda: date.fromisoformat(day_of(clock.now(), settings.zone)),
    ).tools


def create_web_searcher(settings: Settings, name: SearchName, environ: Mapping[str, str]) -> WebSearcher:
    """That search provider as configured. Raises `SearchFailed` where what it needs is not."""
    from hermes_jobs.features.web.search.http_searcher import create_searcher

    key = SEARCH_PROVIDERS[name].key
    secret = settings.secrets.get(key) if key is not None else None
    return create_searcher(name, settings.web.search.base_url, secret, environ)


def _docker(settings: Settings) -> DockerOptions | None:
    """How commands run in containers; None where they run on the host."""
    if settings.terminal.backend != "docker":
        return None
    docker = settings.terminal.docker
    return DockerOptions(
        image=docker.image,
        network=docker.network,
        memory=docker.memory,
        environment=filtered_environment(settings.terminal.environment, settings.secrets.values),
    )


def schedule_tool(settings: Settings, timezone: str, log: EventLog, clock: Clock, ids: Ids) -> ScheduleTool:
    """The tool over the log's schedules, as configured."""
    schedules = settings.schedules
    defaults = Defaults(timezone=timezone, missed=schedules.missed, overlap=schedules.overlap)
    return ScheduleTool(lambda: [head.stream for head in log.streams(PREFIX)], defaults, clock, ids)


def _session_search(settings: Settings, views: Views, endpoints: ModelEndpoints) -> SessionSearch:
    return SessionSearch(
        Conversations(views),
        lambda: _summariser(settings, endpoints),
        zone=settings.zone,
        expand=settings.search.expand,
    )


def _consult(settings: Settings, endpoints: ModelEndpoints) -> Consult:
    ensembles = settings.models.ensembles
    return Consult(
        ensembles={name: ensemble.members for name, ensemble in ensembles.items()},
        others=tuple(ensemble.aggregator for ensemble in ensembles.values()),
        model=endpoints.by_name,
        pricing=endpoints.by_name,
    )


def _summariser(settings: Settings, endpoints: ModelEndpoints) -> SummaryModel | None:
    """The model that summarises found conversations; None where only the rehearsal is configured."""
    choice = settings.auxiliary_model("session_search")
    if choice.model == REHEARSAL_MODEL:
        return None
    return SummaryModel(endpoints.model(choice), choice.model, endpoints.prices(choice.base_url))


def asking(settings: Settings, endpoints: ModelEndpoints, call: ToolCall) -> Asking | None:
    """The model calls that a tool call makes, at most; None where it makes none."""
    consulted = _consult(settings, endpoints).asking(call) if call.name == CONSULT else None
    if consulted is not None:
        names, sent, answered = consulted
        return Asking(
            ", ".join(dict.fromkeys(names)),
            SharedPrice(names, endpoints.by_name),
            sent * len(names),
            answered * len(names),
            limited=True,
        )
    tokens = summary_tokens(call)
    summariser = _summariser(settings, endpoints) if tokens is not None else None
    if tokens is None or summariser is None:
        return None
    return Asking(summariser.name, summariser.pricing, *tokens)


DEFAULT_WEB = WebOptions()


def default_tools(
    terminal: TerminalOptions,
    paths: PathPolicy,
    web: WebOptions = DEFAULT_WEB,
    stored_file: StoredFile = no_stored_file,
    snapshots: SnapshotStore = NO_SNAPSHOTS,
) -> tuple[Tool, ...]:
    """All of them, as configured."""
    return (
        *Terminal(terminal).tools,
        *_process_tools(terminal),
        *Files(paths, stored_file, snapshots).tools,
        *FileSearch(paths).tools,
        *Web(web).tools,
        *todo_tools(),
    )


def _process_tools(terminal: TerminalOptions) -> tuple[Tool, ...]:
    if terminal.background is None:
        return ()
    return ProcessTool(processes=terminal.background, policy=terminal.policy).tools
