"""Which past turns a verification asks: some that the review has read, and some of other conversations.

The choice follows from the log as it was when the review was asked for: turns that share more words with what
was saved come first among those that were read, and last among the others; then the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.session import stream_of
from hermes_jobs.engine.replays import replayed_turn
from hermes_jobs.engine.repository import StreamRepository
from hermes_jobs.errors import Rejected
from hermes_jobs.eventlog.log import EventLog, RecordedEvent
from hermes_jobs.text.search.question import roots

CHOSEN: dict[e.VerifyMode, tuple[int, int]] = {"off": (0, 0), "cheap": (1, 1), "full": (5, 3)}
"""How many turns that the review has read, and how many others."""


class PastTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was completed at `ended_at` (ISO 8601, UTC), with what a person wrote."""

    id: str
    stream: str
    text: str
    ended_at: str


Others = Callable[[], Sequence[PastTurn]]
"""The newest completed turns of people, newest first."""


class VerifiedTurns:
    """Chooses them. Methods raise `LogUnavailable`."""

    def __init__(self, log: EventLog, sessions: StreamRepository, others: Others) -> None:
        self._log = log
        self._sessions = sessions
        self._others = others

    def of(self, request: e.VerificationRequested, saved: Iterable[str]) -> tuple[e.ReplayedTurn, ...]:
        """The turns, each with its last call; those that the review has read first. None can be asked again
        where it is empty."""
        words = roots(" ".join(saved))
        stream = stream_of(request.session)
        recorded = self._log.read(stream, upto=request.at)
        num_read, num_others = CHOSEN[request.mode]
        read = sorted(_read(recorded, stream), key=lambda each: -len(words & roots(each.text)))
        until = recorded[-1].recorded_at if recorded else ""
        others = [each for each in self._others() if each.stream != stream and each.ended_at <= until]
        others.sort(key=lambda each: len(words & roots(each.text)))
        chosen = list(self._replayed(read, num_read))
        if not chosen:
            return ()
        unrelated = (replace(each, unrelated=True) for each in self._replayed(others, num_others))
        return (*chosen, *unrelated)

    def _replayed(self, turns: Sequence[PastTurn], most: int) -> Iterator[e.ReplayedTurn]:
        """The first of those that can be asked again."""
        found = 0
        for each in turns:
            if found == most:
                return
            try:
                turn = replayed_turn(self._sessions, each.id, each.stream, self._log.read(each.stream))
            except Rejected:
                continue
            found += 1
            yield replace(turn, calls=turn.calls[-1:])


def _read(recorded: Sequence[RecordedEvent], stream: str) -> list[PastTurn]:
    """The turns that were completed since the review before, newest first; else all that were."""
    texts = {each.event.turn: each.event.text for each in recorded if isinstance(each.event, e.TurnSubmitted)}
    asked = [each.version for each in recorded if isinstance(each.event, e.ReviewRequested)]
    ended = [each for each in recorded if isinstance(each.event, e.TurnCompleted)]
    since = asked[-2] if len(asked) > 1 else 0
    late = [each for each in ended if each.version > since] or ended
    return [
        PastTurn(id=turn, stream=stream, text=texts.get(turn, ""), ended_at=each.recorded_at)
        for each in reversed(late)
        if (turn := getattr(each.event, "turn", ""))
    ]
