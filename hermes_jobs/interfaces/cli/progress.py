"""What happens in a turn, as a few lines for people: tool calls as they end, what takes long, compression.

A call has one line when it ends; one that takes long has another before. Both name it, since calls run side
by side.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.context_notices import notices
from hermes_jobs.domain.session.titles import printable
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.html.figures import duration

LONG = 3.0  # seconds after which a call that has not ended is spoken of
LONG_THOUGHT = 15.0  # and a model call
SOON = 1.0  # and either, where what is under way can be shown while it lasts
ARGUMENTS = 40  # characters of a call's arguments: a line fits into 80 columns


class RunningCall(msgspec.Struct):
    """A call that has begun: what to call it, since when (seconds since the epoch), whether it was told."""

    label: str
    since: float
    reported: bool = False


class ProgressLines:
    """Turns a turn's events, in order, into lines; `now` gives seconds since the epoch."""

    def __init__(self, tell: Callable[[str], None], now: Callable[[], float]) -> None:
        self._tell = tell
        self._now = now
        self._tools: dict[str, RunningCall] = {}
        self._model: RunningCall | None = None
        self._speaking: tuple[str, int] | None = None

    def handle(self, recorded: RecordedEvent) -> None:
        """One more event of the turn."""
        event, at = recorded.event, _seconds(recorded.recorded_at)
        match event:
            case e.ModelCallStarted():
                speaks = (event.step, event.attempt) == self._speaking
                self._model = None if speaks else RunningCall("the model", at)
            case e.ModelReplied():
                self._model = None
            case e.ModelCallFailed():
                self._model = None
                self._retried(event, at)
            case e.ToolStarted():
                self._tools[event.call] = RunningCall(call_summary(event.name, event.arguments), at)
            case e.ToolFinished():
                self._ended(event.call, "ok" if event.ok else "failed", at)
            case e.ToolInterrupted():
                self._ended(event.call, "interrupted", at)
            case e.StepAbandoned():
                self._ended(event.step, "its worker has ended", at)
            case e.ContextPressure() | e.ContextCompressed() | e.CompressionFailed():
                for line in notices(event):
                    self._tell(f"· {line}")
            case _:
                pass

    def on_text(self, step: str, attempt: int) -> None:
        """The model's text streams: its call is no longer reported as slow.

        The log may say only afterwards that it was asked.
        """
        self._model, self._speaking = None, (step, attempt)

    def report_slow(self) -> None:
        """Report calls that have run for long, once each."""
        for call in self._tools.values():
            self._report_if_longer(call, LONG)
        if self._model is not None:
            self._report_if_longer(self._model, LONG_THOUGHT)

    def running(self) -> list[str]:
        """A line for each call that has run for `SOON` or longer."""
        at_work = [*self._tools.values(), *([self._model] if self._model else [])]
        lasted = [(call.label, self._now() - call.since) for call in at_work]
        return [f"· {label}: {int(took)} s" for label, took in lasted if took >= SOON]

    def _report_if_longer(self, call: RunningCall, seconds: float) -> None:
        took = self._now() - call.since
        if not call.reported and took >= seconds:
            call.reported = True
            self._tell(f"· {call.label}: at it for {duration(took)}")

    def _ended(self, call: str, how: str, at: float) -> None:
        begun = self._tools.pop(call, None)
        if begun is not None:
            self._tell(f"· {begun.label}: {how}, {duration(at - begun.since)}")

    def _retried(self, event: e.ModelCallFailed, at: float) -> None:
        if event.retry_at is not None and event.quota_until is None and not event.fallback:
            wait = duration(max(0.0, event.retry_at - at))
            self._tell(f"· the model call failed ({event.kind}); tried again in {wait}")


def call_summary(name: str, arguments: str, most: int = ARGUMENTS) -> str:
    """A call in a few words: the tool, and at most so many characters of its arguments."""
    told = one_line(_arguments_text(arguments))
    return f"{name} {told if len(told) <= most else told[: most - 1] + '…'}".rstrip()


def call_details(name: str, arguments: str) -> str:
    """A call with all of its arguments and their lines: what a person allows has to be seen."""
    return "\n    ".join(f"{name} {printable(_arguments_text(arguments))}".splitlines())


def _arguments_text(arguments: str) -> str:
    """The values alone where there is one; else `name=value`. What is no JSON object stays as it is."""
    try:
        values = msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return arguments
    shown = {key: value if isinstance(value, str) else _json(value) for key, value in values.items()}
    if len(shown) == 1:
        return next(iter(shown.values()))
    return " ".join(f"{key}={value}" for key, value in shown.items())


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
