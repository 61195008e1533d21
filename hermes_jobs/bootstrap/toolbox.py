"""The tools: the built-in ones as configured, and those of the memory provider and the context engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_jobs.features.conditions.api import ConditionCommand, SeenStore
from hermes_jobs.features.snapshots.file_writer import NO_SNAPSHOTS
from hermes_jobs.features.snapshots.store import SnapshotStore
from hermes_jobs.kernel.streams import approval_rules
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.system.later import later
from hermes_jobs.tools.check_command import CheckCommand
from hermes_jobs.tools.docker import DockerOptions
from hermes_jobs.tools.environment import filtered_environment, overlay
from hermes_jobs.tools.files import Files, StoredFile, no_stored_file
from hermes_jobs.tools.own_functions import OwnTools, own_tools
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.plugin_tools import plugin_tools
from hermes_jobs.tools.process import ProcessTool
from hermes_jobs.tools.sandbox import Sandbox
from hermes_jobs.tools.search import FileSearch
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.tools.todo import todo_tools
from hermes_jobs.tools.tool import Hold, Tool
from hermes_jobs.tools.toolbox import TOOLSETS, Toolbox

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_jobs.features.compression.engine_host import BuiltIn, PluginContextEngines
    from hermes_jobs.features.mcp.sessions import McpSessions
    from hermes_jobs.features.memory.providers import Providers
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.engine.ports import Documents
    from hermes_jobs.settings import Settings
    from hermes_jobs.system.ids import Ids
    from hermes_jobs.tools.background import BackgroundProcesses
    from hermes_jobs.tools.policy import CommandPolicy


def create_toolbox(  # noqa: PLR0913 - what the tools work on
    settings: Settings,
    environ: Mapping[str, str],
    *,
    result_file: Callable[[str], Path | None],
    snapshots: SnapshotStore,
    documents: Documents,
    processes: BackgroundProcesses,
    providers: Providers,
    contexts: BuiltIn | PluginContextEngines,
    mcp: McpSessions,
    of_features: Iterable[Tool],
    holds: Iterable[Hold],
) -> tuple[Toolbox, OwnTools]:
    """All tools, those of features among them; the user's own functions once more, with what is wrong with
    others, and the places of all tools that are not built in.

    Commands inherit `environ` without its secrets; `result_file(call)` is the file of a large result. A tool
    of a provider or a context engine whose name is taken is left out with a warning.
    """
    paths = path_policy(settings, environ)
    terminal = _terminal(settings, paths, environ, processes)
    tools: tuple[Tool, ...] = (
        *default_tools(terminal, paths, result_file, snapshots, documents),
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
        holds=holds,
    )
    return toolbox, replace(own, places={**plugins, **own.places})


def check_command(settings: Settings, environ: Mapping[str, str], ids: Ids) -> CheckCommand:
    """What runs the commands that check answers."""
    return CheckCommand(_terminal(settings, path_policy(settings, environ), environ, None), ids.name)


def condition_command(
    settings: Settings, environ: Mapping[str, str], ids: Ids, engine: Engine
) -> ConditionCommand:
    """What runs the commands of conditions; `engine` reads the standing rules for calls."""

    def rules() -> tuple[ApprovalRule, ...]:
        state = engine.state(approval_rules.STREAM)
        assert isinstance(state, approval_rules.ApprovalRules)
        return state.rules

    return ConditionCommand(
        _terminal(settings, path_policy(settings, environ), environ, None),
        rules=rules,
        seen=SeenStore(settings.paths.changed),
        ids=ids.name,
        redact=settings.secrets.redact_known,
    )


def path_policy(settings: Settings, environ: Mapping[str, str]) -> PathPolicy:
    """Which files tools may read and write."""
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
    granted = settings.granted_secrets
    sandbox = Sandbox(
        paths=paths,
        mode=settings.terminal.sandbox,
        visible=settings.terminal.sandbox_visible,
        writable=settings.terminal.sandbox_writable,
    )
    docker = docker_options(settings)
    inherited = {**filtered_environment(variables, settings.secrets.values), **granted}
    is_confined = sandbox.confines if docker is None else lambda: True
    return TerminalOptions(
        policy=later(lambda: _command_policy(settings, paths, inherited, is_confined)),
        sandbox=sandbox,
        environ=variables,
        secrets=settings.secrets.values,
        granted=granted,
        timeout=settings.terminal.timeout,
        docker=docker,
        background=processes,
    )


def _command_policy(
    settings: Settings, paths: PathPolicy, inherited: Mapping[str, str], is_confined: Callable[[], bool]
) -> CommandPolicy:
    """What judges commands, which inherit those variables; its rules are imported with the first command."""
    from hermes_jobs.tools.credentials import Credentials
    from hermes_jobs.tools.policy import CommandPolicy

    visible = settings.terminal.sandbox_visible
    return CommandPolicy(
        paths=paths,
        policy=settings.terminal.policy,
        allow=settings.terminal.allow,
        credentials=Credentials(paths=paths, visible=visible, environ=inherited),
        is_confined=is_confined,
        in_container=settings.terminal.backend == "docker",
    )


def docker_options(settings: Settings) -> DockerOptions | None:
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


def default_tools(
    terminal: TerminalOptions,
    paths: PathPolicy,
    stored_file: StoredFile = no_stored_file,
    snapshots: SnapshotStore = NO_SNAPSHOTS,
    documents: Documents | None = None,
) -> tuple[Tool, ...]:
    """All of them, as configured."""
    return (
        *Terminal(terminal).tools,
        *_process_tools(terminal),
        *Files(paths, stored_file, snapshots, documents).tools,
        *FileSearch(paths).tools,
        *todo_tools(),
    )


def _process_tools(terminal: TerminalOptions) -> tuple[Tool, ...]:
    if terminal.background is None:
        return ()
    return ProcessTool(processes=terminal.background, policy=terminal.policy).tools
