"""Tools that another part brings along: offered as they describe themselves, run by whoever brings them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes_jobs.domain.messages import ToolCall
from hermes_jobs.engine.ports import ToolOutcome, ToolSpec
from hermes_jobs.tools.provided import provided_tools
from hermes_jobs.tools.toolbox import Toolbox

from .support import Switch, context_in

SPEC = ToolSpec(
    "ask_notes",
    "Ask the notes.",
    {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
)


def run(session: str, name: str, arguments: Mapping[str, Any]) -> str:
    if arguments["question"] == "why?":
        raise OSError("the notes are away")
    return f"{session} asked {name}: {arguments['question']}"


BOX = Toolbox(provided_tools([SPEC], run, toolset="memory"), enabled=("memory",))


def ask(**arguments: object) -> ToolOutcome:
    return BOX.run(ToolCall("x", "ask_notes", json.dumps(arguments)), context_in("/"), None, Switch())


def test_it_is_offered_as_it_describes_itself() -> None:
    assert BOX.specs(None) == (SPEC,)


def test_it_is_run_for_the_session_that_calls() -> None:
    assert ask(question="what?") == ToolOutcome(content="s1 asked ask_notes: what?")


def test_what_it_raises_is_told_to_the_model() -> None:
    outcome = ask(question="why?")
    assert not outcome.ok
    assert outcome.content == "Error: ask_notes failed: OSError: the notes are away"


def test_a_missing_argument_is_named() -> None:
    outcome = ask()
    assert outcome.invalid
    assert "the argument `question` is missing" in outcome.content


def test_it_is_never_repeated_by_itself() -> None:
    (plan,) = BOX.plan("t1-1", [ToolCall("x", "ask_notes", "{}")], "/")
    assert plan.effect == "write"
