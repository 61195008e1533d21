"""The agent's list: read, replaced, merged, and always a fact of the session."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.todo import todo_tools
from hermes_jobs.tools.toolbox import Toolbox
from tests.domain.world import World

from .support import Switch, context_in

LIST = (e.Todo(id="1", text="Look", status="completed"), e.Todo(id="2", text="Change", status="in_progress"))
BOX = Toolbox(todo_tools(), enabled=())


def todo(before: tuple[e.Todo, ...] = (), **arguments: object) -> ToolOutcome:
    asked = ToolCall("x", "todo", json.dumps(arguments))
    return BOX.run(asked, replace(context_in("/"), todos=before), None, Switch())


def written(outcome: ToolOutcome) -> tuple[e.Todo, ...]:
    (fact,) = outcome.events
    assert isinstance(fact, e.TodosWritten)
    assert fact.session == "s1"
    return fact.items


def test_without_items_the_list_is_read_and_nothing_happens():
    assert todo() == ToolOutcome(content="The list is empty.")
    assert todo(LIST, items=None) == ToolOutcome(content="1 of 2 open:\n[x] 1: Look\n[>] 2: Change")


def test_a_list_replaces_the_one_before():
    outcome = todo(LIST, items=[{"id": "a", "text": "New"}])
    assert written(outcome) == (e.Todo(id="a", text="New", status="pending"),)
    assert outcome.content == "1 of 1 open:\n[ ] a: New"


def test_merging_changes_named_items_and_keeps_the_rest_in_order():
    items = [{"id": "2", "status": "completed"}, {"id": "3", "text": "Tell", "status": "cancelled"}]
    assert written(todo(LIST, items=items, merge=True)) == (
        LIST[0],
        e.Todo(id="2", text="Change", status="completed"),
        e.Todo(id="3", text="Tell", status="cancelled"),
    )


def test_an_empty_list_clears_it():
    assert written(todo(LIST, items=[])) == ()


def test_an_unchanged_list_is_no_event():
    assert todo(LIST, items=[{"id": "1", "status": "completed"}], merge=True).events == ()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"items": [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}]}, "two items have the same id"),
        ({"items": [{"id": "9"}], "merge": True}, "the item `9` is new and has no text"),
        ({"items": [{"id": "1", "text": "a", "status": "done"}]}, "`items[0].status`"),
        ({"items": [{"id": "1", "text": "a"}] * 101}, "`items`"),
        ({"items": "all"}, "`items`"),
        ({"items": [{"id": "1", "text": "a", "priority": 1}]}, "`items[0]`"),
    ],
)
def test_a_list_that_cannot_be_is_refused_and_leaves_the_old_one(arguments, complaint):
    outcome = todo(LIST, **arguments)
    assert not outcome.ok
    assert complaint in outcome.content
    assert outcome.events == ()


def test_two_calls_of_one_reply_keep_their_order():
    calls = [ToolCall(each, "todo", "{}") for each in "ab"]
    assert [each.after for each in BOX.plan("t", calls, "/")] == [(), ("t-0",)]


def test_it_is_always_on_except_in_reviews_and_where_it_is_disabled():
    assert [each.name for each in BOX.specs(None)] == ["todo"]
    assert [each.name for each in BOX.specs(("files",))] == ["todo"]
    assert BOX.specs(("review",)) == ()
    assert Toolbox(todo_tools(), enabled=(), disabled=("todo",)).specs(None) == ()


def test_the_list_is_written_together_with_the_answer_and_is_the_sessions():
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", [("todo", "idempotent")])
    step = world.begin()
    done = e.ToolFinished(turn="t1", call=step.id, ok=True, content="ok")
    fact = e.TodosWritten(session="s1", items=LIST)
    facts = world.do(c.FinishToolCall(step=step.id, outcome=done, events=(fact,)))
    assert facts[:2] == (fact, done)
    assert world.session.todos == LIST
    world.answer()
    assert world.session.todos == LIST
