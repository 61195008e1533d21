"""Kinds of sub-agents: prompt, tools and budget of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec


class AgentRole(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of sub-agent: its description, its prompt, and the limits of sub-agents of this kind.

    None: as for the agent that delegates. A sub-agent never has more than that agent, nor more than its kind:
    of `toolsets` it gets those that the agent has, without `excluded`. `origin`: where it comes from, for
    people. Its fields are the JSON of `agents`.
    """

    name: str = ""
    description: str
    toolsets: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    model: str | None = None
    budget: float | None = None
    max_iterations: int | None = None
    origin: str = "built in"
    prompt: str = ""


SAME = AgentRole(description="")
"""A sub-agent like the agent that delegates."""

BUILT_IN: Mapping[str, AgentRole] = {
    "research": AgentRole(
        description="reads the web, and has no terminal",
        prompt="Look for several sources, name each with its address, and say where they disagree.",
        toolsets=("web",),
    ),
    "coding": AgentRole(
        description="works in the terminal and on files, and has no web",
        prompt="Run what you change, and say what you ran and what it printed.",
        toolsets=("terminal", "files"),
    ),
}


def shown_to_model(roles: Mapping[str, AgentRole]) -> str:
    """The section of a system prompt that lists the kinds of sub-agents."""
    lines: Iterable[str] = (f"- {name}: {role.description}" for name, role in sorted(roles.items()))
    return "\n".join(["# Kinds of sub-agents", "`delegate` can hand a task to one of these:", *lines])
