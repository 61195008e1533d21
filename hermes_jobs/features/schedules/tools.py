"""The `schedule` tool: the agent adds and changes schedules. Its only effect is events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.deliveries.events import INBOX
from hermes_jobs.features.schedules.events import MissedPolicy, OverlapPolicy, Plan
from hermes_jobs.features.schedules.rules.commands import Add, Pause, Remove, Resume, ScheduleCommand
from hermes_jobs.features.schedules.rules.names import (
    chosen,
    describe,
    describe_status,
    existing,
    name_from,
    unused,
)
from hermes_jobs.features.schedules.rules.schedule import PREFIX, SOURCE, Schedule, evolve
from hermes_jobs.features.schedules.rules.timing import zone_of
from hermes_jobs.features.triggers.events import SOURCE as TRIGGERED
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, shared_resource, tool
from schedules.timing import kind_of, written

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from schedules.phrases import Understood

Action: TypeAlias = Literal["add", "list", "pause", "resume", "remove"]
Streams: TypeAlias = Callable[[], Sequence[str]]
"""The names of the streams of all schedules, removed ones included."""

NO_FOLDER = (
    "Warning: its runs have no working folder, so commands and file tools are refused in them. Tell the "
    "user, who can name one: hermes-jobs schedule edit ID --workdir DIR."
)
OUTCOMES = {Pause: "Paused", Resume: "It continues", Remove: "Removed"}


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of a new schedule."""

    timezone: str
    missed: MissedPolicy = "run_once"
    overlap: OverlapPolicy = "skip"


def _changes(arguments: Arguments) -> Sequence[str] | None:
    return None if arguments["action"] == "list" else ()


class ScheduleTool:
    """The tool over the schedules of one log."""

    def __init__(self, streams: Streams, defaults: Defaults, clock: Clock, ids: Ids) -> None:
        self._streams = streams
        self._defaults = defaults
        self._clock = clock
        self._ids = ids

    @property
    def tools(self) -> tuple[Tool, ...]:
        writes = shared_resource("the schedules of this home")
        made_tool = tool(toolset="schedule", effect="idempotent", writes=writes, lasting=_changes)
        return (made_tool(self.schedule),)

    def schedule(
        self,
        context: ToolContext,
        action: Action,
        when: Annotated[
            str | None,
            "add: `every weekday at 9`, `in 2 hours`, `tomorrow at 14:00`, `2026-12-24T18:00`, or five "
            "fields of cron.",
        ] = None,
        task: Annotated[
            str | None,
            "add: in full sentences; the run knows nothing of this conversation.",
        ] = None,
        name: Annotated[str | None, "add: a short one."] = None,
        timezone: Annotated[str | None, "add: such as Europe/Berlin. Default: the user's."] = None,
        schedule: Annotated[str | None, "pause, resume, remove: id or name."] = None,
    ) -> ToolOutcome:
        """Schedule prompts that are sent to you at set times, once or repeatedly.

        Each run is a new session in which nobody can answer questions; its answer goes to the user. Add one
        only when the user asks for it, and tell them when it will run.
        """
        now = self._clock.now()
        match action:
            case "add":
                return ToolOutcome(content="", change=self._add(context, when, task, name, timezone))
            case "list":
                return ToolOutcome(content="", change=self._list)
            case "pause":
                return self._act(Pause, schedule, now, context)
            case "resume":
                return self._act(Resume, schedule, now, context)
            case "remove":
                return self._act(Remove, schedule, now, context)
            case _:
                assert_never(action)

    def _list(self, load: StateLoader) -> DecisionResult:
        schedules = existing(self._streams(), load)
        return DecisionResult(
            answer="\n".join(describe(schedule) for schedule in schedules) or "There are no schedules."
        )

    def _add(
        self,
        context: ToolContext,
        when: str | None,
        task: str | None,
        name: str | None,
        timezone: str | None,
    ) -> Decision:
        if context.source.startswith((SOURCE, TRIGGERED)):  # a prompt could multiply itself, nobody there
            raise ToolFailed(
                "a scheduled or triggered prompt may not add schedules. Tell the user what you would plan."
            )
        if not when:
            raise ToolFailed("give `when`, such as `every weekday at 9` or `in 2 hours`.")
        now = self._clock.now()
        understood = self._understood(when, timezone or self._defaults.timezone, now)
        text = task or understood.task
        if not text:
            raise ToolFailed("give `task`: what is to be done then, in full sentences.")
        plan = Plan(
            name=name or name_from(text),
            text=text,
            kind=kind_of(understood.timing),
            timing=written(understood.timing),
            timezone=understood.zone,
            deliver=context.deliver or (INBOX,),
            missed=self._defaults.missed,
            overlap=self._defaults.overlap,
            workdir=context.workdir or None,
        )
        add = Add(schedule=self._ids.name("p"), now=now, by=context.turn, plan=plan, wording=when)

        def change(load: StateLoader) -> DecisionResult:
            others = [other.plan.name for other in existing(self._streams(), load) if other.plan is not None]
            return _answered(replace(add, plan=replace(plan, name=unused(plan.name, others))), load, "Added")

        return change

    def _understood(self, when: str, timezone: str, now: float) -> Understood:
        from schedules.phrases import Refused, parse

        zone_of(timezone)
        parsed = parse(when, datetime.fromtimestamp(now, UTC), timezone)
        if isinstance(parsed, Refused):
            raise ToolFailed(f"`when` was not understood: {parsed.reason} {parsed.proposal}".rstrip())
        return parsed

    def _act(
        self, kind: type[Pause | Resume | Remove], name: str | None, now: float, context: ToolContext
    ) -> ToolOutcome:
        if not name:
            raise ToolFailed("give `schedule`: the id or the name of the one that is meant.")

        def change(load: StateLoader) -> DecisionResult:
            schedule = chosen(name, existing(self._streams(), load))
            return _answered(kind(schedule=schedule.id, now=now, by=context.turn), load, OUTCOMES[kind])

        return ToolOutcome(content="", change=change)


def _answered(act: ScheduleCommand, load: StateLoader, outcome: str) -> DecisionResult:
    """The result of the command; the answer is the schedule after it."""
    changed = act(load)
    after: Schedule = load(act.stream)
    for write in changed.writes:
        for event in write.events:
            after = evolve(after, event)  # type: ignore[arg-type]  # an act writes to its schedule alone
    plan = after.plan
    title = f"“{plan.name}” ({after.id})" if plan is not None else after.id
    rest = (
        "" if after.removed or plan is None else f": {plan.timing}, {plan.timezone}; {describe_status(after)}"
    )
    goes = (
        f". Its answers go to {', '.join(plan.deliver)}" if isinstance(act, Add) and plan is not None else ""
    )
    folder_note = f" {NO_FOLDER}" if isinstance(act, Add) and plan is not None and not plan.workdir else ""
    return replace(changed, answer=f"{outcome}: {title}{rest}{goes}.{folder_note}")


def schedule_tools(application: Application) -> tuple[Tool, ...]:
    """The tools, as configured."""
    return schedule_tool(application).tools


def schedule_tool(application: Application) -> ScheduleTool:
    """The tool over the log's schedules, as configured."""
    settings, log = application.settings.schedules, application.log
    defaults = Defaults(timezone=application.timezone, missed=settings.missed, overlap=settings.overlap)
    return ScheduleTool(
        lambda: [head.stream for head in log.streams(PREFIX)], defaults, application.clock, application.ids
    )
