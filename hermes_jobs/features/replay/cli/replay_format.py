"""Formats a replay as JSON and as text: each recorded answer beside each new one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import click
import msgspec

from hermes_jobs.features.replay.replays import answered_calls, comparisons, reads_run
from hermes_jobs.features.replay.rules.comparison import ComparedAnswer, Comparison
from hermes_jobs.features.replay.rules.replay import PREFIX, Replay, required_plan
from hermes_jobs.features.snapshots.cli.diff_format import colour
from hermes_jobs.interfaces.cli.output import one_line, print_heading
from hermes_jobs.interfaces.cli.table import print_table
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.views.turn_json import usage_json
from hermes_jobs.text.figures import duration, money, pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

CONTEXT = 2  # lines around a difference


def compared(application: Application, replay: Replay, variant: int = 0) -> list[Comparison]:
    """The comparisons of a replay of one turn."""
    from hermes_jobs.kernel.views.turn_events import events_of

    turn = application.views.turn(required_plan(replay).turns[0].turn)
    recorded = [call.answer for call in answered_calls(turn.id, events_of(application.log, turn))]
    return comparisons(replay, 0, recorded, variant)


def replay_json(application: Application, replay: Replay) -> dict[str, object]:
    """The replay for scripts."""
    plan, comparisons = required_plan(replay), compared(application, replay)
    return {
        "replay": replay.stream.removeprefix(PREFIX),
        "turn": plan.turns[0].turn,
        "status": "stopped" if replay.stopped else "completed" if replay.is_done else "running",
        "calls": [
            {
                "step": comparison.step or None,
                "sample": comparison.sample,
                "same_calls": comparison.same_calls,
                "same_arguments": comparison.same_arguments,
                "same_text": comparison.same_text,
                "recorded": None if comparison.recorded is None else _answer_json(comparison.recorded),
                "replayed": _answer_json(comparison.replayed),
                "diverged": comparison.diverged,
            }
            for comparison in comparisons
        ],
        "first_divergence": next(
            (comparison.step or None for comparison in comparisons if comparison.diverged), None
        ),
        "tools_run": reads_run(replay),
        "settings": replay_settings(application, replay),
        "cost_usd": _cost(comparisons),
    }


def _answer_json(answer: ComparedAnswer) -> dict[str, object]:
    return {
        "model": answer.model,
        "content": answer.content,
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in answer.tool_calls],
        "usage": usage_json(answer.usage),
        "cost_usd": answer.cost_usd,
        "seconds": answer.seconds,
        "error": answer.error or None,
    }


def print_replay(application: Application, replay: Replay) -> None:
    """Print each call under its heading, then the result."""
    plan, comparisons = required_plan(replay), compared(application, replay)
    for comparison in comparisons:
        several = f", answer {comparison.sample} of {plan.samples}" if plan.samples > 1 else ""
        print_heading(f"{comparison.step or 'beyond the recorded calls'}{several}: {_verdict(comparison)}")
        rows = [("recorded", comparison.recorded)] if comparison.recorded is not None else []
        print_table(
            ("", "MODEL", "IN", "OUT", "COST", "TOOK"),
            [_row(name, answer) for name, answer in (*rows, ("again", comparison.replayed))],
            figures=("IN", "OUT", "COST", "TOOK"),
        )
        for line in _differences(comparison):
            click.echo(line)
        click.echo()
    click.echo(_summary(replay, comparisons))
    for line in settings_lines(replay_settings(application, replay)):
        click.echo(line)


def _row(name: str, answer: ComparedAnswer) -> tuple[str, ...]:
    usage = answer.usage
    took = duration(answer.seconds)
    return (
        name,
        answer.model,
        f"{usage.prompt_tokens:,}",
        f"{usage.output_tokens:,}",
        money(answer.cost_usd, 0.0),
        took,
    )


def _verdict(comparison: Comparison) -> str:
    if comparison.replayed.error:
        return f"failed: {one_line(comparison.replayed.error)}"
    if comparison.recorded is None:
        return "more was asked for"
    if not comparison.same_calls:
        return "other calls"
    if not comparison.same_arguments:
        return "the same tools, other arguments"
    if comparison.replayed.tool_calls:
        return "the same calls"
    return "the same answer" if comparison.same_text else "another answer"


def _differences(comparison: Comparison) -> Iterator[str]:
    """The calls and the text as a diff; empty if both are the same."""
    if comparison.replayed.error:
        return
    is_same = not comparison.diverged and (bool(comparison.replayed.tool_calls) or comparison.same_text)
    if is_same:
        return
    before = _lines(comparison.recorded) if comparison.recorded is not None else []
    lines = difflib.unified_diff(before, _lines(comparison.replayed), n=CONTEXT, lineterm="")
    yield from (f"  {line}" for line in colour(list(lines)[2:]))


def _lines(answer: ComparedAnswer) -> Sequence[str]:
    calls = (f"→ {call_details(call.name, call.arguments)}".splitlines() for call in answer.tool_calls)
    return [*printable(answer.content).splitlines(), *chain.from_iterable(calls)]


def _summary(replay: Replay, comparisons: Sequence[Comparison]) -> str:
    same = sum(not comparison.diverged for comparison in comparisons)
    first = next((comparison for comparison in comparisons if comparison.diverged), None)
    parts = [f"{same} of {pluralize(len(comparisons), 'answer')} want the same to be done"]
    if first is not None:
        parts.append(f"the first that differs: {first.step or 'one beyond the recorded calls'}")
    cost = _cost(comparisons)
    parts.append(
        f"cost {money(cost, sum(comparison.replayed.cost_usd or 0.0 for comparison in comparisons))}"
    )
    run = reads_run(replay)
    parts.append(f"{pluralize(run, 'tool')} that only read ran" if run else "no tool was run")
    return "; ".join(parts).capitalize() + "."


def _cost(comparisons: Sequence[Comparison]) -> float | None:
    costs = [comparison.replayed.cost_usd for comparison in comparisons if not comparison.replayed.error]
    return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)


FROM_TURN = "the history, the system prompt, the toolsets"
CURRENT_VALUES = "descriptions of tools, addresses and keys, effort and limits"
NOT_COMPARED = frozenset({"model.model", "terminal.environment"})
"""The model is that of the recorded calls, and no command runs."""


class OtherSetting(msgspec.Struct, frozen=True):
    """A setting whose value has changed since the turn; the replay uses `now`."""

    key: str
    then: object
    now: object


class ReplaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`model` is the replay's, empty for the recorded one. `others`: other recorded settings of the turn;
    the config.yaml of that time is not recorded."""

    model: str
    others: tuple[OtherSetting, ...]


def replay_settings(application: Application, replay: Replay) -> ReplaySettings:
    """The settings of a replay of one turn. Raises `Rejected` for an unknown turn."""
    plan = required_plan(replay)
    others = tuple(_others(application, plan.turns[0].turn))
    return ReplaySettings(model=plan.variants[0].model, others=others)


def settings_lines(settings: ReplaySettings) -> Iterator[str]:
    """The settings for users, a line each."""
    model = f"model {settings.model}, as asked for" if settings.model else "the model"
    yield f"As recorded: {FROM_TURN}{'' if settings.model else f', {model}'}."
    yield f"As configured now: {CURRENT_VALUES}{f'; {model}' if settings.model else ''}."
    for setting in settings.others:
        then, now = (msgspec.json.encode(value).decode() for value in (setting.then, setting.now))
        yield f"  {setting.key} was {then} for the turn, and is {now} now."


def _others(application: Application, turn: str) -> Iterator[OtherSetting]:
    from hermes_jobs.kernel.views.turn_events import events_of
    from hermes_jobs.settings.keys import known_keys
    from hermes_jobs.settings.turn_settings import applied, travels

    carried: dict[str, object] = {}
    for recorded in events_of(application.log, application.views.turn(turn)):
        if isinstance(recorded.event, e.TurnSubmitted | e.TurnResumed) and recorded.event.turn == turn:
            carried |= recorded.event.settings
    now = application.settings
    then = applied(now, carried)
    for name, key in known_keys().items():
        if travels(name) and name not in NOT_COMPARED and then.value(key) != now.value(key):
            yield OtherSetting(
                name, msgspec.to_builtins(then.value(key)), msgspec.to_builtins(now.value(key))
            )
