"""What a replay takes from the recorded turn, what from the configuration of now, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.domain import events as e

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.domain.replay.replay import Replay

FROM_TURN = "the history, the system prompt, the toolsets"
AS_NOW = "descriptions of tools, addresses and keys, effort and limits"
LEFT_ALONE = frozenset({"model.model", "terminal.environment"})
"""The model is that of the recorded calls, and no command runs."""


class OtherSetting(msgspec.Struct, frozen=True):
    """A key that the turn had with another value than it has now; the replay asks with the one of `now`."""

    key: str
    then: object
    now: object


class ReplaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`model` is the one that the replay names, empty for the recorded one. `others`: what the turn carried
    otherwise; what stood in config.yaml then is not recorded."""

    model: str
    others: tuple[OtherSetting, ...]


def replay_settings(application: Application, replay: Replay) -> ReplaySettings:
    """The settings of a replay of one turn. Raises `Rejected` where there is no such turn."""
    from hermes_jobs.domain.replay.replay import required_plan

    plan = required_plan(replay)
    others = tuple(_others(application, plan.turns[0].turn))
    return ReplaySettings(model=plan.variants[0].model, others=others)


def told(settings: ReplaySettings) -> Iterator[str]:
    """The settings for people, a line each."""
    model = f"model {settings.model}, as asked for" if settings.model else "the model"
    yield f"As recorded: {FROM_TURN}{'' if settings.model else f', {model}'}."
    yield f"As configured now: {AS_NOW}{f'; {model}' if settings.model else ''}."
    for each in settings.others:
        then, now = (msgspec.json.encode(value).decode() for value in (each.then, each.now))
        yield f"  {each.key} was {then} for the turn, and is {now} now."


def _others(application: Application, turn: str) -> Iterator[OtherSetting]:
    from hermes_jobs.settings.keys import known_keys
    from hermes_jobs.settings.turn_settings import applied, travels
    from hermes_jobs.views.turn_events import events_of

    carried: dict[str, object] = {}
    for recorded in events_of(application.log, application.views.turn(turn)):
        if isinstance(recorded.event, e.TurnSubmitted | e.TurnResumed) and recorded.event.turn == turn:
            carried |= recorded.event.settings
    now = application.settings
    then = applied(now, carried)
    for name, key in known_keys().items():
        if travels(name) and name not in LEFT_ALONE and then.value(key) != now.value(key):
            yield OtherSetting(
                name, msgspec.to_builtins(then.value(key)), msgspec.to_builtins(now.value(key))
            )
