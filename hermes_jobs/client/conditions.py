"""Turns that are submitted only if a command agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_jobs.client.waiting import LogWaiter, NoLiveWorker, ignore_events
from hermes_jobs.features.conditions.api import Condition, ConditionAsked, ConditionEnded, stream_of
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.streams.decision import append

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


def check(application: Application, turn: TurnSubmitted, condition: Condition) -> ConditionEnded:
    """Record the turn with its condition, and wait until it is submitted, or not.

    Where no worker is alive, the condition is checked in this process. On Ctrl-C the turn is withdrawn.
    Raises `LogUnavailable`.
    """
    engine, stream = application.engine(), stream_of(condition)
    before = engine.state(stream).version
    engine.change(append(stream, ConditionAsked(condition=condition, turn=turn)), "send")

    def ended() -> ConditionEnded | None:
        events = (recorded.event for recorded in application.log.read(stream, after=before))
        ends = (event for event in events if isinstance(event, ConditionEnded))
        return next((event for event in ends if event.turn == turn.turn), None)

    try:
        _wait(application, stream, lambda: ended() is not None)
    except KeyboardInterrupt:
        withdrawn = ConditionEnded(turn=turn.turn, ruling="failed", message="withdrawn by its sender")
        if ended() is None:
            engine.change(append(stream, withdrawn), "send")
        raise
    outcome = ended()
    assert outcome is not None, "it was waited for"
    return outcome


def _wait(application: Application, stream: str, is_done: Callable[[], bool]) -> None:
    if application.workers.are_live():
        try:
            LogWaiter(application, news=ignore_events).work(is_done, stream=stream)
        except NoLiveWorker:
            pass
        else:
            return
    from hermes_jobs.runtime.inline_worker import InlineWorker

    with InlineWorker(application) as worker:
        worker.work(is_done, stream=stream)
