"""Asks a model for the timing in a sentence: structured output, as the arguments of a tool call.

The answer is a proposal only: `schedules.phrases` parses it by the same rules as a user's text.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Model, ModelRequest, Reply, ToolSpec
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.json_objects import json_objects
from schedules.phrases import INSTRUCTIONS, TimingProposal

TOOL = "propose"
ANSWER = f"\n\nAnswer with one call of `{TOOL}`, and with nothing else."
MAX_TOKENS = 2_000  # reasoning models need some before the answer


class ModelInterpreter:
    """Asks a model what a sentence means. `reply` is the last response, for its usage."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._name = name
        self.reply: Reply | None = None

    def propose(self, sentence: str, now: datetime, zone: str) -> TimingProposal | None:
        """The model's proposal for the sentence; None without a valid one. Raises `ModelError`."""
        moment = now.astimezone(ZoneInfo(zone))
        request = ModelRequest(
            model=self._name,
            system_prompt=INSTRUCTIONS + ANSWER,
            messages=(
                UserMessage(f"It is {moment:%A}, {moment.isoformat()} ({zone}).\nThe request: {sentence}"),
            ),
            tools=(_SPEC,),
            max_tokens=MAX_TOKENS,
        )
        self.reply = self._model.reply(request, CancelToken(), lambda text: None)
        arguments = self.reply.tool_calls[0].arguments if self.reply.tool_calls else self.reply.content
        return _proposal(arguments)


_SPEC = ToolSpec(
    name=TOOL,
    description="Say when it is to be done, in which zone, and what; leave out what is null.",
    parameters={
        "type": "object",
        "properties": {name: {"type": "string"} for name in TimingProposal.__struct_fields__},
        "additionalProperties": False,
    },
)


def _proposal(text: str) -> TimingProposal | None:
    """The proposal in a text that is, or contains, its JSON object."""
    for answer in json_objects(text):
        try:
            return msgspec.convert(answer, described(TimingProposal))
        except msgspec.ValidationError:
            continue
    return None
