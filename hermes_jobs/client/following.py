"""What happens in a turn, for a program that follows it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from hermes_jobs.client.waiting import TurnWait
from hermes_jobs.kernel.live import LiveTranscript, TextDelta
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.system.struct_types import all_fields

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.events.recorded import RecordedEvent


class TextPart(msgspec.Struct, frozen=True):
    """The next characters of the answer, as the model writes it. `attempt` counts model calls that had to be
    made again: a part with `at` 0 begins the text anew."""

    text: str
    at: int
    step: str
    attempt: int


class TurnEvent(msgspec.Struct, frozen=True):
    """An event of the turn as `--jsonl` prints it: its type, its moment (ISO 8601), and its fields."""

    type: str
    at: str
    data: Mapping[str, Any]


class Following:
    """The parts of one turn for one iteration: a thread waits for it, and puts them into a queue."""

    def __init__(
        self, application: Application, submitted: Submitted, wait: Callable[[TurnWait, float | None], None]
    ) -> None:
        """`wait(turn, timeout)` waits for it."""
        self._application = application
        self._submitted = submitted
        self._wait_for = wait
        self._parts: queue.SimpleQueue[TextPart | TurnEvent | BaseException | None] = queue.SimpleQueue()
        self._transcript = LiveTranscript()
        self._call = ""  # the attempt whose text the transcript holds
        self._lock = threading.Lock()
        self._is_left = threading.Event()

    def parts(self, timeout: float | None) -> Iterator[TextPart | TurnEvent]:
        """Yield the parts until the turn is over for a program, or for `timeout` seconds."""
        waiting = threading.Thread(target=self._wait, args=(timeout,), name="turn", daemon=True)
        waiting.start()
        try:
            while (part := self._parts.get()) is not None:
                if isinstance(part, BaseException):
                    raise part
                yield part
        finally:
            self._is_left.set()
            waiting.join()

    def _wait(self, timeout: float | None) -> None:
        wait = TurnWait(
            self._application,
            self._submitted,
            on_events=self._take_events,
            on_delta=self._take_delta,
            is_given_up=self._is_left.is_set,
        )
        try:
            self._wait_for(wait, timeout)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._parts.put(error)
        self._parts.put(None)

    def _take_delta(self, delta: TextDelta) -> None:
        if delta.tool:
            return
        with self._lock:  # a delta may come twice, late, or from another thread
            at = len(self._transcript.text) if delta.call == self._call else 0
            if not self._transcript.add_delta(delta):
                return
            self._call, text = delta.call, self._transcript.text[at:]
            self._parts.put(TextPart(text=text, at=at, step=delta.step, attempt=delta.attempt))

    def _take_events(self, events: Sequence[RecordedEvent]) -> None:
        for recorded in events:
            if getattr(recorded.event, "turn", None) == self._submitted.turn:
                fields = all_fields(recorded.event)
                assert isinstance(fields, dict), fields
                self._parts.put(TurnEvent(recorded.type, recorded.recorded_at, fields))
