"""What `send --json` prints of a turn, and `turns show --json` with its steps: the outside's names, fixed."""

from __future__ import annotations

from datetime import datetime

import msgspec

from hermes_jobs.domain.usage import Usage
from hermes_jobs.views.models import Outcome, StepKind, StepView, TurnFailure, TurnStatus, TurnView


class UsageJson(msgspec.Struct, frozen=True, kw_only=True):
    """Canonical usage with its two sums."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    prompt_tokens: int
    total_tokens: int


class TurnJson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn as scripts see it. `duration_ms` counts from its submission (or its last retry).

    `waits_until`: when the quota resets that it waits for; left out where it waits for none.
    """

    turn: str
    session: str
    status: TurnStatus
    into: str | None
    result: str | None
    error: TurnFailure | None
    model: str
    num_model_calls: int
    num_tool_calls: int
    duration_ms: int
    usage: UsageJson
    cost_usd: float | None
    compressed: bool
    stopped_by: str | None
    waits_until: str | None = None


class StepJson(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a model call or a tool call as scripts see it."""

    kind: StepKind
    id: str
    name: str
    arguments: str
    attempt: int
    worker: str | None
    start: str | None
    end: str | None
    outcome: Outcome
    message: str
    finish_reason: str
    usage: UsageJson
    cost_usd: float | None


class DetailedTurnJson(TurnJson, frozen=True, kw_only=True):
    """The same with what was done for it."""

    steps: tuple[StepJson, ...]


def turn_json(turn: TurnView) -> TurnJson:
    """The turn as `send --json` prints it."""
    return TurnJson(
        turn=turn.id,
        session=turn.session,
        status=turn.status,
        into=turn.into,
        result=turn.answer,
        error=turn.error,
        model=turn.model,
        num_model_calls=turn.books.num_model_calls,
        num_tool_calls=turn.num_tool_calls,
        duration_ms=milliseconds(turn.began_waiting_at, turn.ended_at or turn.seen_at),
        usage=usage_json(turn.books.usage),
        cost_usd=turn.books.cost_usd,
        compressed=turn.compressed,
        stopped_by=turn.stopped_by,
        waits_until=turn.waits_until,
    )


def detailed_turn_json(turn: TurnView) -> DetailedTurnJson:
    """The turn as `turns show --json` prints it."""
    return DetailedTurnJson(
        **msgspec.structs.asdict(turn_json(turn)), steps=tuple(_step(step) for step in turn.steps)
    )


def usage_json(usage: Usage) -> UsageJson:
    """All seven figures."""
    return UsageJson(**{name: getattr(usage, name) for name in UsageJson.__struct_fields__})


def milliseconds(start: str, end: str) -> int:
    """Between two moments of the log; 0 where clocks ran backwards."""
    elapsed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return max(0, round(elapsed.total_seconds() * 1000))


def _step(step: StepView) -> StepJson:
    return StepJson(
        kind=step.kind,
        id=step.id,
        name=step.name,
        arguments=step.arguments,
        attempt=step.attempt,
        worker=step.worker,
        start=step.started_at,
        end=step.ended_at,
        outcome=step.outcome,
        message=step.message,
        finish_reason=step.finish_reason,
        usage=usage_json(step.books.usage),
        cost_usd=step.books.cost_usd,
    )
