"""`delegate`: a sub-agent gets what its kind, the delegating agent and the task all allow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.delegation.roles import BUILT_IN, AgentRole
from hermes_jobs.features.delegation.tools import DelegateTool, DelegationLimits
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.events import Payer
from hermes_jobs.kernel.turns.commands import ChildPlan
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.system.ids import RandomIds
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.tool import Tool, tool
from hermes_jobs.tools.toolbox import ALWAYS, TOOLSETS, Toolbox
from tests.tools.support import Switch

MCP = {"mcp": ("mcp-git", "mcp-mail"), "mcp-git": (), "mcp-mail": ()}
LEAVES = ("files", "mcp-git", "mcp-mail", "memory", "process", "terminal", "web")
PARENT = ("context", "delegate", *LEAVES, "todo")
REVIEWER = AgentRole(description="reviews", toolsets=("files",), model="mini", budget=0.5, max_iterations=5)
ROLES = {
    **BUILT_IN,
    "reviewer": REVIEWER,
    "mailer": AgentRole(description="mails", toolsets=("mcp-mail",)),
    "none": AgentRole(description="only answers", toolsets=()),
    "careful": AgentRole(description="has no terminal", excluded=("terminal", "process")),
    "leader": AgentRole(description="hands on", toolsets=("coding", "delegate"), model="mini"),
}


def a_tool(toolset: str) -> Tool:
    def use() -> str:
        """Use it."""
        return ""

    return tool(toolset=toolset, effect="read", name=f"use_{toolset.replace('-', '_')}")(use)


def delegating(roles: Mapping[str, AgentRole] = ROLES) -> Toolbox:
    tools = DelegateTool(
        limits=DelegationLimits(per_root=3, per_home=9, depth=2),
        roles=lambda _workdir: roles,
        toolbox=lambda: toolbox,
        check_model=lambda _name: None,
        is_priced=lambda _name: True,
        paths=PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann"),
        ids=RandomIds(),
    ).tools
    others = (a_tool(name) for name in (*LEAVES, *ALWAYS))
    toolbox = Toolbox((*tools, *others), enabled=("delegate", *LEAVES), toolsets={**TOOLSETS, **MCP})
    return toolbox


def called(task: Mapping[str, Any], *, toolsets: tuple[str, ...] = PARENT, **more: Any) -> ToolOutcome:
    context = ToolContext(
        session="s1", turn="t1", call="t1-1-0", workdir="", attended=True, model="big", **more
    )
    call = ToolCall("c1", "delegate", msgspec.json.encode({"tasks": [{"goal": "x", **task}]}).decode())
    return delegating().run(call, context, toolsets, Switch())


def child(task: Mapping[str, Any], **more: Any) -> ChildPlan:
    outcome = called(task, **more)
    assert outcome.delegated is not None, outcome.content
    (plan,) = outcome.delegated.children
    return plan


def refusal(task: Mapping[str, Any], **more: Any) -> str:
    outcome = called(task, **more)
    assert outcome.delegated is None
    return outcome.content.removeprefix("Error: tasks[0]: ")


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (
            {"agent": "reviewer", "toolsets": ["terminal"]},
            "a sub-agent of the kind `reviewer` cannot have `terminal`. It can have: context, files, own, "
            "todo.",
        ),
        (
            {"agent": "research", "toolsets": ["web", "coding"]},
            "a sub-agent of the kind `research` cannot have `files`. It can have: context, own, todo, web.",
        ),
        (
            {"agent": "mailer", "toolsets": ["mcp"]},
            "a sub-agent of the kind `mailer` cannot have `mcp-git`. It can have: context, mcp-mail, own, "
            "todo.",
        ),
        (
            {"agent": "none", "toolsets": ["files"]},
            "a sub-agent of the kind `none` cannot have `files`. It can have: context, own, todo.",
        ),
        (
            {"agent": "careful", "toolsets": ["terminal"]},
            "a sub-agent of the kind `careful` cannot have `terminal`. It can have: context, delegate, "
            "files, mcp-git, mcp-mail, memory, own, todo, web.",
        ),
        (
            {"agent": "reviewer", "model": "huge"},
            "the kind `reviewer` has the model `mini`, and no other: leave out `model`.",
        ),
        (
            {"agent": "reviewer", "budget": 5},
            "a budget of $5 is more than the $0.5 of the kind `reviewer`.",
        ),
    ],
)
def test_asking_for_more_than_the_kind_has_is_refused_and_names_what_there_is(
    task: dict[str, Any], why: str
) -> None:
    assert refusal(task) == why


def test_a_kind_gets_nothing_that_the_delegating_agent_lacks() -> None:
    assert child({"agent": "coding"}, toolsets=("delegate", "files")).toolsets == ("files",)
    assert refusal({"agent": "research"}, toolsets=("delegate", "files")) == (
        "a sub-agent of the kind `research` has web, and you have none of these. "
        "Yours are: context, delegate, deliver, files, own, todo."
    )


def test_the_limits_of_a_kind_hold_without_being_asked_for() -> None:
    plan = child({"agent": "reviewer"})
    assert (plan.toolsets, plan.model, plan.budget_usd, plan.max_iterations) == (("files",), "mini", 0.5, 5)
    assert child({"agent": "reviewer", "toolsets": [], "budget": 0.1}).toolsets == ()
    assert child({"agent": "reviewer", "model": "mini"}).model == "mini"
    assert child({"agent": "none"}).toolsets == ()
    assert not {"terminal", "process"} & set(child({"agent": "careful"}).toolsets or ())


def test_a_budget_of_a_kind_is_cut_to_the_one_that_is_shared() -> None:
    payers = (Payer(turn="t1", stream="session-s1", budget_usd=0.2),)
    assert child({"agent": "reviewer"}, payers=payers).budget_usd == 0.2


def test_a_model_that_a_kind_names_holds_for_the_sub_agents_of_its_sub_agents() -> None:
    assert child({"agent": "leader"}).model_is_fixed
    below = {"depth": 1, "model_is_fixed": True}
    why = "your kind has the model `big`, and no other: leave out `model`."
    assert refusal({"model": "huge"}, **below) == why
    assert refusal({"model": "huge", "agent": "coding"}, **below) == why
    assert child({"agent": "reviewer"}, **below).model == "big"
    assert child({}, **below).model_is_fixed


def test_a_kind_that_may_delegate_may_not_at_the_last_level() -> None:
    assert child({"agent": "leader"}).toolsets == ("delegate", "files", "terminal")
    assert child({"agent": "leader"}, depth=1).toolsets == ("files", "terminal")
    assert "2 levels deep" in refusal({"agent": "leader", "toolsets": ["delegate"]}, depth=1)


GENERATED_ROLES: dict[str, AgentRole] = {}
GENERATED = delegating(GENERATED_ROLES)
NAMES = st.sampled_from((*LEAVES, "coding", "mcp", "review", "todo", "delegate"))
SOME = st.lists(NAMES, max_size=4).map(tuple)


@given(kind=st.none() | SOME, excluded=SOME, ours=SOME, asked=st.none() | SOME)
def test_no_sub_agent_has_more_than_its_kind_and_the_delegating_agent(
    kind: tuple[str, ...] | None,
    excluded: tuple[str, ...],
    ours: tuple[str, ...],
    asked: tuple[str, ...] | None,
) -> None:
    role = AgentRole(description="any", toolsets=kind, excluded=excluded)
    toolbox = GENERATED
    GENERATED_ROLES["any"] = role
    task = {"goal": "x", "agent": "any", **({} if asked is None else {"toolsets": asked})}
    call = ToolCall("c1", "delegate", msgspec.json.encode({"tasks": [task]}).decode())
    context = ToolContext(session="s1", turn="t1", call="t1-1-0", workdir="", attended=True, model="big")
    outcome = toolbox.run(call, context, ("delegate", *ours), Switch())
    if outcome.delegated is None:
        return
    (plan,) = outcome.delegated.children
    got = set(toolbox.toolsets_on(plan.toolsets)) - set(ALWAYS)
    assert got <= set(toolbox.toolsets_on(("delegate", *ours)))
    assert not got & (toolbox.expand(excluded) - set(ALWAYS))
    if kind is not None:
        assert got <= toolbox.expand(kind)
    if asked is not None:
        assert got <= toolbox.expand(asked)


def test_toolsets_of_markdown_kinds_bind_as_written(tmp_path: Path) -> None:
    from hermes_jobs.features.delegation.role_files import role_files

    texts = {
        "empty": "toolsets: []",
        "blank": 'tools: ""',
        "unknown": "tools: mcp__github__search",
        "open": "model: inherit",
        "denied": "disallowedTools: Bash, WebFetch",
        "wrong": "toolsets: {files: true}",
    }
    (tmp_path / "agents").mkdir()
    for name, line in texts.items():
        (tmp_path / "agents" / f"{name}.md").write_text(f"---\ndescription: {name}\n{line}\n---\nDo it.")
    roles = dict(role_files(tmp_path, "agents", is_project=False))
    assert {name: role.toolsets for name, role in roles.items()} == {
        "empty": (),
        "blank": (),
        "unknown": (),
        "open": None,
        "denied": None,
    }
    assert roles["denied"].excluded == ("terminal", "web")
