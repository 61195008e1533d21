"""Performing a tool's step: its facts go with its answer, and a loop is warned of and not run again."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers import RunTool
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.loop_guard import REFUSAL, WARNING
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.tools.todo import todo_tools
from hermes_jobs.tools.tool import tool
from hermes_jobs.tools.toolbox import Toolbox
from tests.domain.world import World
from tests.tools.support import Switch


class Counter:
    """A tool that counts how often it is run."""

    def __init__(self) -> None:
        self.runs = 0

    def look(self) -> str:
        self.runs += 1
        return "the same"


def world_with_call(name: str, arguments: str, world: World | None = None) -> tuple[World, Step]:
    if world is None:
        world = World()
        world.submit()
        world.prefetch()
    step = world.begin()
    replied = e.ModelReplied(
        turn="t1",
        step=step.id,
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=(ToolCall("p", name, arguments),),
        plan=(e.PlannedCall(call=f"{step.id}-0", effect="read"),),
    )
    world.do(c.FinishModelCall(step=step.id, outcome=replied))
    return world, world.begin()


def performed(world: World, step: Step, box: Toolbox) -> tuple[e.ToolFinished, Sequence[e.SessionEvent]]:
    """What the step comes to; it is also decided and folded."""
    command = RunTool(box).run(world.session, step, Switch())
    assert isinstance(command, c.FinishToolCall)
    assert isinstance(command.outcome, e.ToolFinished)
    world.do(command)
    return command.outcome, command.events


def test_the_next_call_sees_the_session_changes_of_a_tool() -> None:
    box = Toolbox(todo_tools(), enabled=())
    world, step = world_with_call("todo", '{"items": [{"id": "1", "text": "Look"}]}')
    _, facts = performed(world, step, box)
    assert facts == (e.TodosWritten(session="s1", items=(e.Todo(id="1", text="Look"),)),)
    world, step = world_with_call("todo", "{}", world)
    finished, facts = performed(world, step, box)
    assert finished.content == "1 of 1 open:\n[ ] 1: Look"
    assert facts == ()


def test_the_fifth_call_with_the_same_result_is_not_run() -> None:
    counter = Counter()
    box = Toolbox([tool(toolset="odd", effect="read")(counter.look)], enabled=("odd",))
    world, step = world_with_call("look", "{}")
    contents = []
    for _ in range(4):
        contents.append(performed(world, step, box)[0].content)
        world, step = world_with_call("look", "{}", world)
    refused, _ = performed(world, step, box)
    assert contents == ["the same", "the same", f"{WARNING}the same", f"{WARNING}the same"]
    assert refused.content == REFUSAL
    assert not refused.ok
    assert counter.runs == 4
    assert world.session.current is not None
    assert world.session.current.finalizing
