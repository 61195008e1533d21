"""How tests ask a model."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Cancel, Model, ModelRequest, Reply, ToolSpec
from hermes_jobs.kernel.turns.messages import Message, UserMessage


def request(*said: str | Message, tools: tuple[str, ...] = (), max_tokens: int | None = None) -> ModelRequest:
    """A request; texts are the user's."""
    return ModelRequest(
        model="some-model",
        system_prompt="You are helpful.",
        messages=tuple(UserMessage(each) if isinstance(each, str) else each for each in said),
        tools=tuple(ToolSpec(name, f"Does {name}.", {"type": "object", "properties": {}}) for name in tools),
        max_tokens=max_tokens,
    )


def nothing(text: str) -> None:
    """Shows nothing."""


def ask(
    model: Model,
    said: str | ModelRequest = "Hello",
    cancel: Cancel | None = None,
    on_text: Callable[[str], None] = nothing,
) -> Reply:
    """One question to the model."""
    asked = request(said) if isinstance(said, str) else said
    return model.reply(asked, cancel or CancelToken(), on_text)
