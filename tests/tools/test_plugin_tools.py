"""Tools that another part brings along: offered as they describe themselves, run by whoever brings them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hermes_jobs.kernel.engine.ports import ProvidedSpec, ToolContext, ToolOutcome, ToolSpec
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.plugin_tools import plugin_tools
from hermes_jobs.tools.toolbox import Toolbox

from .support import Switch, context_in

SPEC = ToolSpec(
    "ask_notes",
    "Ask the notes.",
    {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
)


def run(context: ToolContext, name: str, arguments: Mapping[str, Any]) -> str:
    if arguments["question"] == "why?":
        raise OSError("the notes are away")
    return f"{context.session} asked {name}: {arguments['question']}"


BOX = Toolbox(plugin_tools([SPEC], run, toolset="memory"), enabled=("memory",))


def ask(**arguments: object) -> ToolOutcome:
    return BOX.run(ToolCall("x", "ask_notes", json.dumps(arguments)), context_in("/"), None, Switch())


def test_it_is_offered_as_it_describes_itself() -> None:
    assert BOX.specs(None) == (SPEC,)


def test_it_is_run_for_the_session_that_calls() -> None:
    assert ask(question="what?") == ToolOutcome(content="s1 asked ask_notes: what?")


def test_exceptions_reach_the_model_as_errors() -> None:
    outcome = ask(question="why?")
    assert not outcome.ok
    assert outcome.content == "Error: ask_notes failed: OSError: the notes are away"


def test_a_missing_argument_is_named() -> None:
    outcome = ask()
    assert outcome.invalid
    assert "the argument `question` is missing" in outcome.content


def test_it_is_never_repeated_automatically() -> None:
    (plan,) = BOX.plan("t1-1", [ToolCall("x", "ask_notes", "{}")], "/")
    assert plan.effect == "write"


def test_a_declared_effect_is_used() -> None:
    spec = ProvidedSpec(SPEC.name, SPEC.description, SPEC.parameters, effect="read")
    box = Toolbox(plugin_tools([spec], run, toolset="memory"), enabled=("memory",))
    (plan,) = box.plan("t1-1", [ToolCall("x", "ask_notes", "{}")], "/")
    assert plan.effect == "read"


def test_one_whose_name_is_taken_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    assert plugin_tools([SPEC], run, toolset="memory", used_names={"ask_notes"}) == ()
    (first,) = plugin_tools([SPEC, SPEC], run, toolset="memory")
    assert first.name == "ask_notes"
    assert caplog.text.count("the tool ask_notes is left out") == 2
