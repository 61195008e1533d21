"""Plans replays of recorded turns, and reads their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
from hermes_jobs.features.replay.rules.comparison import ComparedAnswer, Comparison, compare
from hermes_jobs.features.replay.rules.replay import Outcome, Replay, ReplayCall, required_plan, step_id
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE


class AnsweredCall(msgspec.Struct, frozen=True):
    """A recorded model call with its answer."""

    call: replay_events.RecordedCall
    answer: ComparedAnswer


def replayed_turn(
    sessions: StreamRepository, turn: str, stream: str, events: Sequence[RecordedEvent]
) -> replay_events.ReplayedTurn:
    """The turn's answered calls; `events` are those of its stream. Raises `Rejected` where there are none, or
    where their texts were removed."""
    if sessions.load(stream).ended_because == ENDED_BECAUSE:
        raise Rejected(f"The session of turn {turn} was deleted: its texts are gone.", kind="usage")
    calls = tuple(call.call for call in answered_calls(turn, events))
    if not calls:
        raise Rejected(f"No model has answered in turn {turn}: there is nothing to ask again.", kind="usage")
    return replay_events.ReplayedTurn(turn=turn, stream=stream, calls=calls)


def answered_calls(turn: str, events: Sequence[RecordedEvent]) -> Iterator[AnsweredCall]:
    """The turn's model calls that were answered, in their order."""
    begun: dict[tuple[str, int], RecordedEvent] = {}
    for recorded in events:
        match recorded.event:
            case e.ModelCallStarted() as event if event.turn == turn:
                begun[event.step, event.attempt] = recorded
            case e.ModelReplied() as event if event.turn == turn and (event.step, event.attempt) in begun:
                start = begun[event.step, event.attempt]
                yield AnsweredCall(
                    replay_events.RecordedCall(event.step, start.version),
                    ComparedAnswer(
                        model=event.model,
                        content=event.content,
                        tool_calls=event.tool_calls,
                        usage=event.usage,
                        cost_usd=event.cost_usd,
                        seconds=_seconds(start.recorded_at, recorded.recorded_at),
                    ),
                )
            case _:
                pass


def require_effect(
    requests: ReplayedRequests, turns: Sequence[replay_events.ReplayedTurn], variant: replay_events.Variant
) -> None:
    """Raises `Rejected` if an item that the variant leaves out is in no request of these turns."""
    for item in variant.without:
        alone = replay_events.Variant(name="", without=(item,))
        if not any(requests.has_effect(turn, alone) for turn in turns):
            which = f"turn {turns[0].turn}" if len(turns) == 1 else "any of these turns"
            raise Rejected(
                f"Leaving out {item.kind}:{item.name} has no effect on {which}: no request holds it.",
                kind="usage",
                hint="`hermes-jobs turns show ID --prompt` prints what was sent.",
            )


def comparisons(
    replay: Replay, turn: int, recorded: Sequence[ComparedAnswer], variant: int = 0
) -> list[Comparison]:
    """The outcomes so far of that turn in that variant, each beside the recorded answer."""
    plan = required_plan(replay)
    steps = plan.turns[turn].calls
    compared = []
    for sample in range(plan.samples):
        for number, outcome in _outcomes(replay, variant, turn, sample):
            is_recorded = number <= len(recorded)
            compared.append(
                compare(
                    steps[number - 1].step if is_recorded else "",
                    sample + 1,
                    recorded[number - 1] if is_recorded else None,
                    answer_of(outcome),
                )
            )
    return compared


def _outcomes(replay: Replay, variant: int, turn: int, sample: int) -> Iterator[tuple[int, Outcome]]:
    plan = required_plan(replay)
    numbers = len(plan.turns[turn].calls) if not plan.follow else len(replay.calls) + 1
    for number in range(1, numbers + 1):
        call = ReplayCall(id="", variant=variant, turn=turn, sample=sample, number=number)
        outcome = replay.outcomes.get(step_id(replay, call))
        if outcome is not None:
            yield number, outcome
        elif plan.follow:
            return


def answer_of(outcome: Outcome) -> ComparedAnswer:
    """The new answer, or the error if there is none."""
    if isinstance(outcome, e.HelperCallFailed):
        return ComparedAnswer(
            model=outcome.model,
            usage=outcome.usage,
            cost_usd=outcome.cost_usd,
            error=f"{outcome.kind}: {outcome.message}",
        )
    return ComparedAnswer(
        model=outcome.model,
        content=outcome.content,
        tool_calls=outcome.tool_calls,
        usage=outcome.usage,
        cost_usd=outcome.cost_usd,
        seconds=outcome.seconds,
    )


def reads_run(replay: Replay) -> int:
    """The number of tool calls that ran for it; all of them only read."""
    outcomes: Mapping[str, Outcome] = replay.outcomes
    ended = (outcome for outcome in outcomes.values() if isinstance(outcome, replay_events.ReplayCallEnded))
    return sum(call.source == "read" for answer in ended for call in answer.followed)


def _seconds(start: str, end: str) -> float:
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
