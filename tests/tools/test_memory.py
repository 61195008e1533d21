"""The `memory` tool: what the model may ask for, and that its whole effect is a change of the memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import Limits, Memory
from hermes_jobs.features.memory.tools import MemoryTools
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.toolbox import Toolbox

from .support import Switch, context_in


class Box:
    """The tool over a memory with one entry, counting how often the files were looked at."""

    def __init__(self) -> None:
        self.settled = 0
        tools = MemoryTools(Limits(memory=100, user=50), self._settle).tools
        self.toolbox = Toolbox(tools, enabled=("memory",))

    def _settle(self) -> None:
        self.settled += 1

    def ask(self, author: e.Author = "turn", /, **arguments: object) -> ToolOutcome:
        asked = ToolCall("x", "memory", json.dumps(arguments))
        return self.toolbox.run(asked, replace(context_in("/"), author=author), None, Switch())

    def facts(self, outcome: ToolOutcome) -> list[Any]:
        assert outcome.change is not None
        assert outcome.content == ""
        changed = outcome.change(lambda stream: Memory(version=1, memory=("Likes tea",)))
        return [fact for write in changed.writes for fact in write.events]


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.mark.parametrize("author", ["turn", "review", "flush"])
def test_a_write_carries_its_author_and_the_call_that_it_came_from(box: Box, author: e.Author) -> None:
    outcome = box.ask(author, action="add", target="user", content="Speaks German")
    (fact,) = box.facts(outcome)
    assert fact == e.MemoryAdded(
        target="user",
        content="Speaks German",
        author=author,
        evidence=e.Evidence(session="s1", turn="t1", call="t1-1-0"),
    )


def test_edits_by_hand_are_imported_first(box: Box) -> None:
    box.ask(action="add", target="user", content="x")
    assert box.settled == 1


def test_a_batch_is_one_change(box: Box) -> None:
    outcome = box.ask(
        operations=[
            {"action": "remove", "target": "memory", "old_text": "tea"},
            {"action": "add", "target": "memory", "content": "Likes coffee"},
        ]
    )
    removed, added = box.facts(outcome)
    assert isinstance(removed, e.MemoryRemoved)
    assert isinstance(added, e.MemoryAdded)


def test_an_impossible_write_is_refused_at_the_decision(box: Box) -> None:
    outcome = box.ask(action="remove", target="memory", old_text="coffee")
    with pytest.raises(Rejected, match="No entry holds “coffee”"):
        box.facts(outcome)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give `action`"),
        ({"action": "add", "content": "x"}, "give `target`"),
        (
            {"action": "add", "operations": [{"action": "remove", "target": "user", "old_text": "x"}]},
            "not both",
        ),
        ({"action": "forget", "target": "user"}, "argument `action` is wrong"),
        ({"action": "add", "target": "brain"}, "argument `target` is wrong"),
        ({"operations": []}, "or `operations`"),
        ({"operations": [{"action": "add", "content": "x"}]}, "give `target`"),
        ({"operations": [{"action": "add", "target": "user", "text": "x"}]}, "operations[0]"),
    ],
)
def test_calls_with_missing_or_surplus_arguments_are_explained(
    box: Box, arguments: dict[str, object], said: str
) -> None:
    outcome = box.ask(**arguments)
    assert not outcome.ok
    assert said in outcome.content
    assert outcome.change is None


def test_two_calls_of_one_reply_keep_their_order(box: Box) -> None:
    calls = [
        ToolCall(str(at), "memory", json.dumps({"action": "add", "target": "user", "content": str(at)}))
        for at in range(2)
    ]
    first, second = box.toolbox.plan("t1-1", calls, "/")
    assert (first.effect, second.after) == ("idempotent", ("t1-1-0",))


def test_every_argument_is_described(box: Box) -> None:
    (spec,) = box.toolbox.specs(None)
    assert spec.name == "memory"
    assert set(spec.parameters["properties"]) == {
        *("action", "target", "content", "old_text", "operations", "kind", "tags")
    }
    assert spec.parameters["properties"]["action"]["enum"] == ["add", "remove", "replace"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": "user", "operations": [{"action": "add", "content": "Speaks German"}]},
        {"target": "memory", "operations": [{"action": "add", "target": "user", "content": "Speaks German"}]},
        {"action": "add", "target": "user", "operations": [{"content": "Speaks German"}], "content": None},
        {"target": "user", "operations": {"action": "add", "content": "Speaks German"}},
        {"operations": '[{"action": "add", "target": "user", "content": "Speaks German"}]'},
        {"action": "Add", "target": " USER ", "content": "Speaks German", "operations": []},
        {"arguments": {"action": "add", "target": "user", "content": "Speaks German", "old_text": None}},
    ],
)
def test_lenient_forms_are_accepted(box: Box, arguments: dict[str, object]) -> None:
    (fact,) = box.facts(box.ask(**arguments))
    assert (fact.target, fact.content) == ("user", "Speaks German")
