"""The `delegate` tool: hands tasks to sub-agents, which are sessions. Its only effect is events."""

# Paths are compared as text here, as the policy does.
# ruff: noqa: PTH112

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.features.delegation.roles import SAME, AgentRole, shown_to_model
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.events import Opening
from hermes_jobs.kernel.turns.commands import ChildPlan, StartChildren
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.system.ids import Ids
from hermes_jobs.text.json_schema import has_patterns, schema_fault
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.tool import Tool, ToolFailed, did_you_mean, tool
from hermes_jobs.tools.toolbox import ALWAYS, Toolbox

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.settings import Settings

TOOLSET = "delegate"
MAX_TASKS = 10
WITHHELD_TOOLSETS = frozenset({"memory", "schedule"})
"""Toolsets that a sub-agent has only if named."""
OF_USERS = frozenset({"deliver"})
"""Toolsets that no sub-agent has: its answer goes to another agent."""

SUB_AGENT = """\
You are a sub-agent: another agent has given you one task. Work only on that task. Nobody reads your messages
before the final answer, and nobody answers questions: decide open points yourself, and say how you decided.
The other agent gets only your final answer. Report what you found or did, with paths and addresses, what did
not work, and what is left; never claim what you did not do."""
FORKED = """\
From here on you are a sub-agent of this conversation: you know all of it, and have one task. Work only on
that task; your final answer goes to the main agent.

You have the same tools, but calls of the memory and schedule tools are refused.

Your task: {goal}"""


class DelegationLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum of concurrent sub-agents below one root and in the home, of levels, and a turn's limits."""

    per_root: int
    per_home: int
    depth: int
    turn_usd: float | None = None
    turn_tokens: int | None = None


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task for one sub-agent."""

    goal: Annotated[
        str,
        Meta(
            max_length=20_000,
            description="What to do, in full: the sub-agent knows nothing of this conversation.",
        ),
    ]
    context: Annotated[str | None, "What it needs to know: facts, paths, decisions."] = None
    agent: Annotated[str | None, "Kind of sub-agent. Default: one like you."] = None
    toolsets: Annotated[
        tuple[str, ...] | None, "Its toolsets: some of yours, and of its kind's. Default: all of these."
    ] = None
    model: Annotated[str | None, "Its model, if its kind has none. Default: yours."] = None
    budget: Annotated[Annotated[float, Meta(gt=0)] | None, "Most US dollars that it may spend."] = None
    workdir: Annotated[str | None, "Its working folder, inside yours."] = None
    schema: Annotated[
        dict[str, Any] | None, "A JSON Schema; the answer is then JSON that validates against it."
    ] = None
    fork: Annotated[bool, "It gets this whole conversation; cheap if the provider caches prompts."] = False


Tasks: TypeAlias = Annotated[tuple[Task, ...], Meta(min_length=1, max_length=MAX_TASKS)]


class DelegateTool(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The tool, with the available kinds of sub-agents.

    `roles(workdir)` are those for a session in that folder. `toolbox` knows all toolsets;
    `check_model(name)` raises if a turn with that model could not run; `is_priced(name)`: whether its
    price is known.
    """

    limits: DelegationLimits
    roles: Callable[[str], Mapping[str, AgentRole]]
    toolbox: Callable[[], Toolbox]
    check_model: Callable[[str], object]
    is_priced: Callable[[str], bool]
    paths: PathPolicy
    ids: Ids

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (
            tool(toolset=TOOLSET, effect="idempotent", available=lambda: self.limits.depth > 0)(
                self.delegate
            ),
        )

    def delegate(
        self,
        context: ToolContext,
        tasks: Tasks,
        wait: Annotated[
            bool,
            "true: the result of this call has all answers. false: you continue, and each answer arrives "
            "as a message.",
        ] = True,
    ) -> ToolOutcome:
        """Delegate tasks to sub-agents, which run in parallel with their own tools and give one answer each.

        For work with independent parts, or whose details this conversation does not need; not for what one or
        two calls of yours can do. They share your budget. Check each answer's status before you rely on it.
        """
        if context.depth >= self.limits.depth:
            raise ToolFailed(
                f"sub-agents may be {self.limits.depth} levels deep, and you are at the last level: "
                "do it yourself."
            )
        plans = tuple(self._plan(context, task, f"tasks[{index}]") for index, task in enumerate(tasks))
        start = StartChildren(
            step=context.call,
            children=plans,
            waits=wait,
            per_root=self.limits.per_root,
            per_home=self.limits.per_home,
        )
        return ToolOutcome(content="", delegated=start)

    def _plan(self, context: ToolContext, task: Task, place: str) -> ChildPlan:
        # Some models write an empty text into each omitted field.
        task = replace(task, agent=task.agent or None, model=task.model or None, workdir=task.workdir or None)
        goal = task.goal.strip()
        if not goal:
            raise ToolFailed(f"{place}: the goal is empty: say what is to be done.")
        role = self._role(context, task, place)
        if task.fork:
            _check_fork(task, place)
        toolsets = None if task.fork else self._toolsets_of(context, task, role, place)
        model = self._model(context, task, role, place)
        about = f"\n\n# What you have to know\n{task.context.strip()}" if task.context else ""
        text = FORKED.format(goal=goal) if task.fork else goal
        return ChildPlan(
            session=self.ids.name("s"),
            turn=self.ids.name("t"),
            text=f"{text}{about}",
            goal=" ".join(goal.split()),
            role=task.agent or "",
            model=model,
            toolsets=toolsets,
            system="" if task.fork else "\n\n".join(text for text in (SUB_AGENT, role.prompt) if text),
            workdir=self._workdir(context, task, place),
            budget_usd=self._budget(context, task, role, model, place),
            max_iterations=role.max_iterations,
            answer_schema=_schema(task, place),
            fork=task.fork,
            withheld=tuple(sorted(WITHHELD_TOOLSETS)) if task.fork else (),
            model_is_fixed=context.model_is_fixed or role.model is not None,
        )

    def _role(self, context: ToolContext, task: Task, place: str) -> AgentRole:
        if task.agent is None:
            return SAME
        roles = self.roles(context.workdir)
        role = roles.get(task.agent)
        if role is None:
            raise ToolFailed(
                f"{place}: there is no kind of sub-agent `{task.agent}`{did_you_mean(task.agent, roles)} "
                f"There are: {', '.join(sorted(roles))}."
            )
        return role

    def _toolsets_of(self, context: ToolContext, task: Task, role: AgentRole, place: str) -> tuple[str, ...]:
        """Those that the task asks for, or else all that both the agent and the kind have."""
        ours = self._available(context, role, place, is_asked=task.toolsets is not None)
        if task.toolsets is None:
            withheld = WITHHELD_TOOLSETS.union(ALWAYS) if role.toolsets is None else frozenset(ALWAYS)
            found = tuple(toolset for toolset in ours if toolset not in withheld)
            if role.toolsets and not found:
                raise ToolFailed(
                    f"{place}: a sub-agent of the kind `{task.agent}` has {_listed(role.toolsets)}, and you "
                    f"have none of these. Yours are: {_listed(context.toolsets)}."
                )
            return found
        for name in task.toolsets:
            self._check_name(name, context, place)
            missing = [toolset for toolset in self._leaves(name) if toolset not in ours]
            if missing:
                raise ToolFailed(f"{place}: {self._why_not(missing[0], context, task, ours)}")
        return tuple(dict.fromkeys(leaf for name in task.toolsets for leaf in self._leaves(name)))

    def _available(
        self, context: ToolContext, role: AgentRole, place: str, *, is_asked: bool
    ) -> tuple[str, ...]:
        """The toolsets that both the agent and the kind have; `delegate` only above the last level."""
        for name in () if is_asked else role.toolsets or ():
            self._check_name(name, context, place)
        bound = None if role.toolsets is None else self.toolbox().expand((*role.toolsets, *ALWAYS))
        excluded = self.toolbox().expand(role.excluded) | OF_USERS
        if context.depth + 1 >= self.limits.depth:
            excluded |= {TOOLSET}
        return tuple(
            toolset
            for toolset in context.toolsets
            if toolset not in excluded and (bound is None or toolset in bound)
        )

    def _check_name(self, name: str, context: ToolContext, place: str) -> None:
        all_toolsets = set(self.toolbox().toolsets)
        if name not in all_toolsets:
            raise ToolFailed(
                f"{place}: there is no toolset `{name}`{did_you_mean(name, all_toolsets)} "
                f"Yours are: {_listed(context.toolsets)}."
            )

    def _leaves(self, name: str) -> tuple[str, ...]:
        """The toolsets that have the tools: the named one, or those that it includes."""
        return tuple(sorted(self.toolbox().expand([name]) - {name})) or (name,)

    def _why_not(self, missing: str, context: ToolContext, task: Task, ours: Sequence[str]) -> str:
        if missing not in context.toolsets:
            return (
                f"you have no `{missing}`, so a sub-agent cannot have it either. "
                f"Yours are: {_listed(context.toolsets)}."
            )
        if missing == TOOLSET and context.depth + 1 >= self.limits.depth:
            return f"sub-agents may be {self.limits.depth} levels deep: this one cannot have `{TOOLSET}`."
        return (
            f"a sub-agent of the kind `{task.agent}` cannot have `{missing}`. It can have: {_listed(ours)}."
        )

    def _model(self, context: ToolContext, task: Task, role: AgentRole, place: str) -> str | None:
        """The model that the kind has, or else the requested one; None for the agent's own."""
        fixed = context.model if context.model_is_fixed else role.model
        if fixed is not None and task.model not in {None, fixed}:
            whose = "your kind" if context.model_is_fixed else f"the kind `{task.agent}`"
            raise ToolFailed(f"{place}: {whose} has the model `{fixed}`, and no other: leave out `model`.")
        model = fixed or task.model
        if model is not None:
            self._check(model, place)
        return model

    def _check(self, model: str, place: str) -> None:
        try:
            self.check_model(model)
        except (Rejected, Misconfigured) as error:
            raise ToolFailed(f"{place}: the model `{model}` cannot be used: {error}") from error

    def _budget(
        self, context: ToolContext, task: Task, role: AgentRole, model: str | None, place: str
    ) -> float | None:
        limits = [payer.budget_usd for payer in context.payers] + [self.limits.turn_usd]
        maximum = min((limit for limit in limits if limit is not None), default=None)
        if task.budget is not None and maximum is not None and task.budget > maximum:
            raise ToolFailed(
                f"{place}: a budget of ${task.budget:g} is more than the ${maximum:g} that you share with it."
            )
        if task.budget is not None and role.budget is not None and task.budget > role.budget:
            raise ToolFailed(
                f"{place}: a budget of ${task.budget:g} is more than the ${role.budget:g} of the kind "
                f"`{task.agent}`."
            )
        requested = task.budget if task.budget is not None else role.budget
        budget = min((amount for amount in (requested, maximum) if amount is not None), default=None)
        model = model or context.model
        if budget is not None and self.limits.turn_tokens is None and not self.is_priced(model):
            raise ToolFailed(
                f"{place}: the price of `{model}` is not known, so a budget of ${budget:g} cannot be held. "
                "Take a model whose price is known, or give no budget."
            )
        return budget if requested is not None else None

    def _workdir(self, context: ToolContext, task: Task, place: str) -> str | None:
        if task.workdir is None:
            return None
        if not context.workdir:
            raise ToolFailed(f"{place}: this session has no working folder, so none can be inside it.")
        real = self.paths.real(task.workdir, context.workdir)
        roots = self.paths.real_roots(context.workdir)
        if not any(is_inside(real, root) for root in roots) or self.paths.is_private(real):
            raise ToolFailed(
                f"{place}: the folder {task.workdir} is outside those that may be used: {', '.join(roots)}."
            )
        if not os.path.isdir(real):
            raise ToolFailed(f"{place}: there is no folder {task.workdir}.")
        return real


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _schema(task: Task, place: str) -> str:
    if task.schema is None:
        return ""
    schema = msgspec.json.encode(task.schema).decode()
    fault = schema_fault(schema)
    if not fault and has_patterns(schema):
        fault = "it has regular expressions (pattern, patternProperties); say in a description what you mean"
    if fault:
        raise ToolFailed(f"{place}: the schema cannot be used: {fault}.")
    return schema


def _check_fork(task: Task, place: str) -> None:
    other = next(
        (name for name in ("agent", "toolsets", "model", "workdir") if getattr(task, name) is not None), None
    )
    if other is not None:
        raise ToolFailed(
            f"{place}: with `fork` it is as you are, so that the provider's cache holds: leave out `{other}`."
        )


def _roles(settings: Settings, workdir: str) -> Mapping[str, AgentRole]:
    """The kinds of sub-agents for work in that folder, by name."""
    from hermes_jobs.features.delegation.role_files import agent_roles

    return agent_roles(settings.paths.agents, settings.agents, workdir)


def prompt_section(application: Application) -> Callable[[Session], str]:
    """The kinds of sub-agents in prompts of sessions that can delegate."""
    settings, toolbox = application.settings, application.toolbox

    def kinds(session: Session) -> str:
        opening = session.opening or Opening()
        on = TOOLSET in toolbox.toolsets_on(opening.toolsets)
        return shown_to_model(_roles(settings, opening.workdir or "")) if on else ""

    return kinds


def delegation_tools(application: Application) -> tuple[Tool, ...]:
    """The tools, as configured."""
    settings = application.settings
    limits = DelegationLimits(
        per_root=settings.delegation.per_root,
        per_home=settings.delegation.per_home,
        depth=settings.delegation.depth,
        turn_usd=settings.budgets.turn_usd,
        turn_tokens=settings.budgets.turn_tokens,
    )

    def check_model(name: str) -> None:
        from hermes_jobs.settings.checks import check_choice

        check_choice(settings, settings.choice(name))
        application.check_budgets(name)

    return DelegateTool(
        limits=limits,
        roles=partial(_roles, settings),
        toolbox=lambda: application.toolbox,
        check_model=check_model,
        is_priced=application.endpoints.by_name.is_priced,
        paths=application.path_policy,
        ids=application.ids,
    ).tools
