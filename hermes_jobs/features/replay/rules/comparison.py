"""The differences between a recorded answer and a new one."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import ToolCall


class ComparedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a model, recorded or new. `cost_usd` None where a price is not known. `error`: the reason
    why there is no answer, else empty."""

    model: str
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    error: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded answer beside a new one. `step` is the recorded call's; it is empty, and `recorded` None, if
    there are more new answers than recorded ones. `same_calls`: the same tools in the same order."""

    step: str
    sample: int
    recorded: ComparedAnswer | None
    replayed: ComparedAnswer
    same_calls: bool
    same_arguments: bool

    @property
    def diverged(self) -> bool:
        """Whether the model requested other tool calls, or the call failed."""
        return bool(self.replayed.error) or not (self.same_calls and self.same_arguments)

    @property
    def same_text(self) -> bool:
        """Whether the texts are the same."""
        return self.recorded is not None and self.recorded.content.strip() == self.replayed.content.strip()


def compare(step: str, sample: int, recorded: ComparedAnswer | None, replayed: ComparedAnswer) -> Comparison:
    """The comparison of both answers."""
    before = recorded.tool_calls if recorded is not None else ()
    same_calls = recorded is not None and _names(before) == _names(replayed.tool_calls)
    return Comparison(
        step=step,
        sample=sample,
        recorded=recorded,
        replayed=replayed,
        same_calls=same_calls and not replayed.error,
        same_arguments=same_calls
        and not replayed.error
        and list(map(normalised, before)) == list(map(normalised, replayed.tool_calls)),
    )


def normalised(call: ToolCall) -> tuple[str, str]:
    """The tool and its arguments, normalised: order, spaces and escapes do not matter."""
    try:
        return call.name, json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


def _names(calls: Sequence[ToolCall]) -> list[str]:
    return [call.name for call in calls]
