"""Histories as sessions have them: each call has its result before the model speaks again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import ModelRequest, ToolSpec
from hermes_jobs.kernel.turns.messages import (
    AssistantMessage,
    Message,
    Payload,
    ToolCall,
    ToolMessage,
    UserMessage,
)

HERE = "api.anthropic.com"
MODEL = "claude-sonnet-4-5"
THOUGHT = '{"type": "thinking", "thinking": "Hm.", "signature": "abc+/=="}'
TOOLS = (ToolSpec("look", "Looks.", {"type": "object", "properties": {"path": {"type": "string"}}}),)

text = st.text(max_size=12) | st.sampled_from(["", " ", "\n", "Grüße 😀"])
arguments = st.sampled_from(["", "{}", '{"path": "a.txt"}', "[1]", "{broken", '{"a": 1e999}', '"\\ud83d"'])
ids = st.text(min_size=1, max_size=6) | st.sampled_from(["toolu_1", "call_0", "functions.look:0"])
calls = st.lists(
    st.builds(ToolCall, ids, st.sampled_from(["look", "made up!", ""]) | text, arguments),
    max_size=3,
    unique_by=lambda call: call.id,
).map(tuple)


@st.composite
def rounds(draw: st.DrawFn) -> list[Message]:
    """What the model says, with the results of its calls, and what the user says then."""
    asked = draw(calls)
    said = draw(text)
    kept = draw(st.booleans())
    data = f'{{"content": [{THOUGHT}, {{"type": "text", "chars": {len(said)}}}]}}'
    payload = Payload("anthropic", MODEL, HERE, data) if kept else None
    results = [ToolMessage(call.id, call.name, draw(text), draw(st.booleans())) for call in asked]
    following = draw(st.lists(st.builds(UserMessage, text), min_size=0 if asked else 1, max_size=2))
    return [AssistantMessage(said, asked, payload), *results, *following]


histories = st.builds(
    lambda first, more: [first, *(each for one in more for each in one)],
    st.builds(UserMessage, text),
    st.lists(rounds(), max_size=5),
)
anything = st.lists(
    st.builds(UserMessage, text)
    | st.builds(AssistantMessage, text, calls)
    | st.builds(ToolMessage, ids, st.just("look"), text),
    max_size=8,
)


def asked(*history: Message, model: str = MODEL, tools: tuple[ToolSpec, ...] = TOOLS) -> ModelRequest:
    """A request with that history."""
    return ModelRequest(model=model, system_prompt="Be kind.", messages=history, tools=tools)


def everything(payload: Payload, _before: Sequence[Any]) -> bool:
    """Each payload goes back."""
    return True
