"""The open round of tool calls of a turn: opened by a reply, closed when every call has its result."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from msgspec.structs import replace

from hermes_jobs.kernel.events import ModelReplied, PlannedCall
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.loop_guard import RepeatedCall, count_call, is_blocked
from hermes_jobs.kernel.turns.turn import Turn, failed, next_call

MAX_INVALID_ROUNDS = 3  # rounds in a row with invalid calls only


def round_opened(turn: Turn, event: ModelReplied) -> Turn:
    """The turn with the reply's tool calls due."""
    calls = tuple(
        Call(id=plan.call, request=tool_call, effect=plan.effect, after=plan.after)
        for tool_call, plan in zip(event.tool_calls, event.plan or _default_plan(turn, event), strict=True)
    )
    return replace(
        turn,
        running=False,
        calls=calls,
        iterations=turn.iterations + 1,
        tally=replace(turn.tally, num_tool_calls=turn.tally.num_tool_calls + len(calls)),
        empty_replies=0,
        output_limit_raises=0,
        partial_answer="",
    )


def _default_plan(turn: Turn, event: ModelReplied) -> tuple[PlannedCall, ...]:
    """The default without a stored plan: every call is a `write` and runs alone, in order."""
    ids = [f"{turn.step_id}-{index}" for index in range(len(event.tool_calls))]
    return tuple(
        PlannedCall(call=call, effect="write", after=tuple(ids[:index])) for index, call in enumerate(ids)
    )


def with_call(turn: Turn, call: Call) -> Turn:
    """The turn with its call of that id replaced."""
    return replace(turn, calls=tuple(call if other.id == call.id else other for other in turn.calls))


def round_is_complete(turn: Turn) -> bool:
    """Whether every call of the open round has a result."""
    return bool(turn.calls) and all(call.result is not None for call in turn.calls)


def round_closed(turn: Turn) -> Turn:
    """The turn after a complete round: the next model call is due, or the turn has failed."""
    all_invalid = all(call.invalid for call in turn.calls)
    invalid_rounds = turn.invalid_rounds + 1 if all_invalid else 0
    repeats, refused = _count_round(turn, turn.calls)
    refusals = turn.refusals + refused
    looping = refused > 0 and refusals >= turn.max_refusals
    denials = [call.result or "" for call in turn.calls if call.refused]
    turn = replace(
        next_call(turn),
        invalid_rounds=invalid_rounds,
        repeats=repeats,
        refusals=refusals,
        denial=turn.denial or (denials[0] if denials else ""),
        used_tools=turn.used_tools or any(not (call.refused or call.invalid) for call in turn.calls),
    )
    if invalid_rounds >= MAX_INVALID_ROUNDS:
        return failed(
            turn,
            "invalid_tool_calls",
            f"The model made {invalid_rounds} rounds of tool calls in a row that could not be run.",
            "Try another model, or see what it asked for with `hermes-jobs turns show`.",
        )
    return replace(
        turn,
        finalizing=looping or turn.iterations >= turn.max_iterations,
        finalizing_because="loop_guard" if looping else "max_iterations",
    )


def repeats_before(turn: Turn, call_id: str) -> tuple[RepeatedCall, ...]:
    """The loop guard's state when that call of the open round runs: earlier rounds, and the ended calls
    before it in the reply.
    """
    if not turn.max_refusals:
        return turn.repeats
    earlier = takewhile(lambda call: call.id != call_id, turn.calls)
    return _count_round(turn, [call for call in earlier if call.result is not None])[0]


def _count_round(turn: Turn, calls: Iterable[Call]) -> tuple[tuple[RepeatedCall, ...], int]:
    """The counts after those calls of the round, and how many of them were blocked.

    Calls count in the order of the reply: the order of results has no effect.
    """
    repeats, refused = turn.repeats, 0
    for call in calls:
        refused += is_blocked(repeats if turn.max_refusals else turn.repeats, call.request)
        changes = turn.max_refusals > 0 and call.effect == "write" and not call.failed
        repeats = count_call(repeats, call.id, call.request, call.result or "", changes=changes)
    return repeats, refused
