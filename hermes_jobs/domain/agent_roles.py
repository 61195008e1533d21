"""Kinds of sub-agents: prompt, tools and budget of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec


class AgentRole(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of sub-agent. None: as for the agent that delegates.

    `description` says what it is for. `trusted`: users defined it, so it may have toolsets that the
    delegating agent lacks. `origin`: where it comes from, for people.
    """

    description: str
    prompt: str = ""
    toolsets: tuple[str, ...] | None = None
    model: str | None = None
    budget: float | None = None
    max_iterations: int | None = None
    trusted: bool = True
    origin: str = "built in"


SAME = AgentRole(description="")
"""A sub-agent like the agent that delegates."""

BUILT_IN: Mapping[str, AgentRole] = {
    "research": AgentRole(
        description="reads the web, and has no terminal",
        prompt="Look for several sources, name each with its address, and say where they disagree.",
        toolsets=("web",),
        trusted=False,
    ),
    "coding": AgentRole(
        description="works in the terminal and on files, and has no web",
        prompt="Run what you change, and say what you ran and what it printed.",
        toolsets=("terminal", "files"),
        trusted=False,
    ),
}


def shown_to_model(roles: Mapping[str, AgentRole]) -> str:
    """The section of a system prompt that lists the kinds of sub-agents."""
    lines: Iterable[str] = (f"- {name}: {role.description}" for name, role in sorted(roles.items()))
    return "\n".join(["# Kinds of sub-agents", "`delegate` can hand a task to one of these:", *lines])
