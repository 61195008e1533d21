"""What happens in a turn, read from the log as it is written, and what it asks a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hermes_jobs.interfaces.cli.questions.children import questions_of
from hermes_jobs.kernel.turns.waiting import last_turn

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
    from hermes_jobs.kernel.events import Event
    from hermes_jobs.kernel.turns.session import EndedTurn
    from hermes_jobs.kernel.turns.submitted import Submitted


class Seen(NamedTuple):
    """The new events of the turn, its open questions, and its end, if it has ended."""

    events: Sequence[Event]
    questions: Sequence[AnyQuestion]
    ended: EndedTurn | None


class Watch:
    """Polls one turn. For one thread at a time."""

    def __init__(self, application: Application, submitted: Submitted, position: int) -> None:
        """`position`: only events behind it are seen."""
        self._log = application.log
        self._clock = application.clock
        self._sessions = application.engine().sessions
        self._submitted = submitted
        self._position = position

    def poll(self, seconds: float) -> Seen:
        """What is new, after an event of the log or so many seconds. Raises `LogUnavailable`."""
        self._log.wait(self._position, seconds)
        last = self._log.last_position()
        session = self._sessions.load(self._submitted.stream)
        batch = self._log.tail(self._position, stream=self._submitted.stream)
        self._position = batch[-1].position if batch else max(self._position, last)
        turn = last_turn(session, self._submitted.turn)
        own = [
            each.event for each in batch if getattr(each.event, "turn", turn) in {turn, self._submitted.turn}
        ]
        now = self._clock.now()
        questions = [
            each for each in questions_of(self._sessions.load, session, turn) if now < each.expires_at
        ]
        # An end is told once its events are: the session may be ahead of what was read.
        ended = session.ended.get(turn) if not batch else None
        return Seen(own, questions, ended)
