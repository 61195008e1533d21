"""The system prompts of sessions, with their sections about skills, MCP servers and sub-agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.features.delegation.role_files import agent_roles
from hermes_jobs.features.delegation.roles import shown_to_model
from hermes_jobs.features.skills.presenter import SkillPresenter
from hermes_jobs.kernel.engine.ports import NotYet
from hermes_jobs.kernel.events import Opening
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.prompt.builder import SessionPrompt

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.sessions import FrozenServers, McpSessions
    from hermes_jobs.features.memory.providers import Providers
    from hermes_jobs.features.skills.catalog import SkillCatalog
    from hermes_jobs.settings import Settings
    from hermes_jobs.system.clock import Clock
    from hermes_jobs.tools.toolbox import Toolbox


def create_session_prompt(
    settings: Settings,
    *,
    toolbox: Toolbox,
    providers: Providers,
    skills: SkillCatalog,
    mcp: McpSessions,
    window_of: Callable[[str], int],
    clock: Clock,
) -> SessionPrompt:
    """The prompts of new sessions; `window_of(model)` is in tokens."""
    return SessionPrompt(
        soul=settings.paths.soul,
        default_model=settings.model_name,
        workdir=settings.agent.workdir,
        clock=clock,
        zone=settings.zone,
        tools=toolbox.specs,
        blocks=(
            providers.block,
            partial(_index_of_skills, toolbox, SkillPresenter(skills)),
            partial(_roles_of_children, settings, toolbox),
        ),
        servers=partial(_servers, toolbox, mcp, window_of) if mcp.config else None,
        window_of=window_of,
        small=toolbox.small,
    )


def _index_of_skills(toolbox: Toolbox, presenter: SkillPresenter, session: Session) -> str:
    """The index of skills, where the session has the tools to read them; a review sees all of them."""
    opening = session.opening or Opening()
    on = toolbox.toolsets_on(opening.toolsets)
    if "skills" not in on:
        return ""
    return presenter.index(None if opening.kind == "review" else on)


def _roles_of_children(settings: Settings, toolbox: Toolbox, session: Session) -> str:
    """The kinds of sub-agents, where the session can delegate."""
    opening = session.opening or Opening()
    if "delegate" not in toolbox.toolsets_on(opening.toolsets):
        return ""
    return shown_to_model(agent_roles(settings.paths.agents, settings.agents, opening.workdir or ""))


def _servers(
    toolbox: Toolbox,
    mcp: McpSessions,
    window_of: Callable[[str], int],
    toolsets: Sequence[str] | None,
    workdir: str,
    model: str,
) -> FrozenServers:
    """The MCP servers of a session with these toolsets. Raises `NotYet` without a required one."""
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
