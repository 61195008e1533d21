"""Ends waits for a quota or a server that a clock ahead of this one decided: they would last too long."""

from __future__ import annotations

import logging
from datetime import datetime

from hermes_jobs.domain.events import ModelCallFailed, TurnPostponed
from hermes_jobs.domain.session.commands import EndWait
from hermes_jobs.domain.session.session import is_session
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.engine import Engine
from hermes_jobs.errors import Rejected

logger = logging.getLogger(__name__)

AHEAD = 5.0  # seconds; clocks that are kept differ by less
BY = "clock"


class FastClockWaits:
    """Looks at each wait once. The turn asks again, and where it is still refused, the wait that follows is
    one of this clock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: set[Step] = set()

    def end(self) -> int:
        """End those that were found since the last time; returns how many. Raises `LogUnavailable`."""
        now = self._engine.clock.now()
        steps = {row.step for row in self._engine.log.steps() if row.owner is None}
        waiting = {step for step in steps if step.not_before > now and is_session(step.stream)}
        new, self._seen = waiting - self._seen, waiting
        return sum(self._end(step, now) for step in new)

    def _end(self, step: Step, now: float) -> bool:
        turn = self._engine.sessions.load(step.stream).current
        if turn is None or not turn.waits_until or turn.step_id != step.id:
            return False
        ahead = self._decided_at(step.stream) - now
        if ahead <= AHEAD:
            return False
        try:
            self._engine.execute(step.stream, EndWait(turn=turn.id, by=BY))
        except Rejected:  # it has continued meanwhile
            return False
        logger.warning(
            "turn %s waited by a clock that is %.0f s ahead; it is tried again now", turn.id, ahead
        )
        return True

    def _decided_at(self, stream: str) -> float:
        """When the newest wait of the stream was recorded, by the clock that decided it."""
        for each in reversed(self._engine.log.read(stream)):
            if isinstance(each.event, ModelCallFailed | TurnPostponed):
                return datetime.fromisoformat(each.recorded_at).timestamp()
        return 0.0
