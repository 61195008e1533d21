"""The progress of a turn as lines for users: finished tool calls, slow calls, compression.

A call has one line at its end; a slow one has another before. Both name it, because calls run in
parallel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from hermes_jobs.features.snapshots.cli.diff_format import counts, fold
from hermes_jobs.interfaces.cli.output import cut, one_line, terminal_width
from hermes_jobs.interfaces.cli.turns.child_lines import ChildLines
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.context_notices import notices
from hermes_jobs.kernel.turns.loop_guard import REFUSAL
from hermes_jobs.kernel.turns.titles import revealed
from hermes_jobs.text.figures import duration

LONG = 3.0  # seconds after which a running call is reported
MODEL_CALL_SECONDS = 15.0  # and a model call
LIVE_SECONDS = 1.0  # and either, on a live display
SUBJECTS = {"write_file": "path", "patch_file": "path", "terminal": "command", "delegate": "tasks"}
FAILURE = 400  # columns of why a call failed
REPEATED = "the same call with the same result, repeated"
WITHOUT_TERMINAL = 200  # columns of a line about a sub-agent
ARGUMENTS = 40  # characters of a call's arguments: a line fits into 80 columns


class RunningCall(msgspec.Struct):
    """A running call: its label, its start (seconds since the epoch), whether it was reported, and its
    progress.
    """

    label: str
    since: float
    reported: bool = False
    note: str = ""

    @property
    def added(self) -> str:
        """Its progress, as text after its duration."""
        return f", {self.note}" if self.note else ""


def _columns() -> int:
    """Of a line of progress; one less than the terminal has, in whose last column nothing is drawn."""
    return (terminal_width(sys.stderr) or WITHOUT_TERMINAL) - 1


class ProgressLines:
    """Turns a turn's events, in order, into lines; `now` gives seconds since the epoch.

    `show` is called with the coloured lines of a diff.
    """

    def __init__(
        self,
        notify: Callable[[str], None],
        now: Callable[[], float],
        show: Callable[[Sequence[str]], None] = lambda _lines: None,
    ) -> None:
        self._tell = notify
        self._show = show
        self._file_writes: dict[str, e.FileWritten] = {}
        self._now = now
        self._tools: dict[str, RunningCall] = {}
        self._model: RunningCall | None = None
        self._streaming_step: tuple[str, int] | None = None
        self.children = ChildLines(notify, now, _columns)

    def handle(self, recorded: RecordedEvent) -> None:
        """Handle an event of the turn."""
        event, moment = recorded.event, _seconds(recorded.recorded_at)
        self.children.handle(recorded)
        self._handle_model_call(event, moment)
        self._handle_tool_call(event, moment)
        self._handle_notice(event)

    def _handle_model_call(self, event: e.Event, moment: float) -> None:
        match event:
            case e.ModelCallStarted():
                speaks = (event.step, event.attempt) == self._streaming_step
                self._model = None if speaks else RunningCall("the model", moment)
            case e.ModelReplied():
                self._model = None
            case e.ModelCallFailed():
                self._model = None
                self._retried(event, moment)
            case e.ReferenceStarted():
                self._tools[event.step] = RunningCall(f"asking {one_line(event.model)}", moment)
            case e.ReferenceReplied():
                self._ended(event.step, "answered", "", moment)
            case e.ReferenceFailed(retry_at=float() as retry_at):
                self._tools.pop(event.step, None)
                wait = duration(max(0.0, retry_at - moment))
                self._tell(f"· {one_line(event.member)} failed ({event.kind}); asked again in {wait}")
            case e.ReferenceFailed():
                self._tools.pop(event.step, None)
                self._tell_notices(event)
            case _:
                pass

    def _handle_tool_call(self, event: e.Event, moment: float) -> None:
        match event:
            case e.ChildrenStarted():  # they are reported instead
                self._tools.pop(event.call, None)
            case e.ToolStarted():
                self._tools[event.call] = RunningCall(call_summary(event.name, event.arguments), moment)
            case e.FileWritten():
                self._file_writes[event.call] = event
            case e.ToolFinished():
                self._ended(event.call, *_outcome(event), moment)
                self._show_written(event.call)
            case e.ToolInterrupted():
                self._ended(event.call, "interrupted", "", moment)
            case e.StepAbandoned():
                self._ended(event.step, "its worker stopped", "", moment)
            case _:
                pass

    def _handle_notice(self, event: e.Event) -> None:
        match event:
            case e.AnswerRejected():
                self._tell(f"· the answer does not fit the schema: {cut(event.faults[0], ARGUMENTS)}")
            case e.SessionStarted():
                for line in event.mcp_away:
                    self._tell(f"· the MCP server {line}")
                self._tell_notices(event)
            case (
                e.ContextPrefetched()
                | e.TurnPostponed()
                | e.ContextPressure()
                | e.ContextCompressed()
                | e.CompressionFailed()
                | e.BudgetWarned()
                | e.ModelReplied()
            ):
                self._tell_notices(event)
            case _:
                pass

    def _tell_notices(self, event: e.Event) -> None:
        for line in notices(event):
            self._tell(f"· {line}")

    def on_text(self, step: str, attempt: int) -> None:
        """The model's text streams: its call is no longer reported as slow.

        The event of its start may arrive later.
        """
        self._model, self._streaming_step = None, (step, attempt)

    def on_progress(self, call: str, text: str) -> None:
        """Handle a tool's progress; the last line is used."""
        running, lines = self._tools.get(call), text.split("\n")
        if running is not None:
            running.note = next((line for line in reversed(lines) if line.strip()), running.note)

    def report_slow(self) -> None:
        """Report slow calls, once each."""
        for call in self._tools.values():
            self._report_if_longer(call, LONG)
        if self._model is not None:
            self._report_if_longer(self._model, MODEL_CALL_SECONDS)

    def running(self) -> list[str]:
        """A line for each call that has run for `LIVE_SECONDS` or longer, and for each running sub-agent."""
        at_work = [*self._tools.values(), *([self._model] if self._model else [])]
        durations = [(call, self._now() - call.since) for call in at_work]
        calls = [
            f"· {call.label}: {int(took)} s{call.added}" for call, took in durations if took >= LIVE_SECONDS
        ]
        return [*calls, *self.children.lines()]

    def _report_if_longer(self, call: RunningCall, seconds: float) -> None:
        took = self._now() - call.since
        if not call.reported and took >= seconds:
            call.reported = True
            self._tell(f"· {call.label}: at it for {duration(took)}{call.added}")

    def _ended(self, call: str, how: str, reason: str, moment: float) -> None:
        started = self._tools.pop(call, None)
        file_written = self._file_writes.get(call)
        if started is not None:
            lines = counts(file_written.added, file_written.removed) if file_written is not None else ""
            parts = ", ".join(filter(None, (how, lines, duration(moment - started.since))))
            self._tell(f"· {started.label}: {parts}" + (f": {cut(reason, FAILURE)}" if reason else ""))

    def _show_written(self, call: str) -> None:
        file_written = self._file_writes.pop(call, None)
        if file_written is not None and file_written.diff:
            self._show(fold(file_written.diff, file_written.turn))

    def _retried(self, event: e.ModelCallFailed, moment: float) -> None:
        if event.retry_at is not None and event.quota_until is None and not event.fallback:
            wait = duration(max(0.0, event.retry_at - moment))
            self._tell(f"· the model call failed ({event.kind}); tried again in {wait}")


def call_summary(name: str, arguments: str, maximum: int = ARGUMENTS) -> str:
    """A call in a few words: the tool, and at most so many characters of its arguments."""
    text = one_line(_subject(name, arguments) or _arguments_text(arguments))
    return f"{name} {text if len(text) <= maximum else text[: maximum - 1] + '…'}".rstrip()


def _subject(name: str, arguments: str) -> str:
    """The argument with the call's subject; empty if it is all of them."""
    subject = SUBJECTS.get(name)
    if subject is None:
        return ""
    with suppress(msgspec.MsgspecError, UnicodeEncodeError):
        values = msgspec.json.decode(arguments, type=dict[str, object])
        about = values.get(subject)
        if isinstance(about, list):  # the tasks of sub-agents
            return " · ".join(str(task.get("goal", "")) for task in about if isinstance(task, dict))
        mark = "(background) " if values.get("background") is True else ""
        return f"{mark}{about}" if isinstance(about, str) else ""
    return ""


def _outcome(event: e.ToolFinished) -> tuple[str, str]:
    """The outcome of a call, and why, or what it shows.

    The error of an invalid call is omitted, because the model corrects it.
    """
    if event.rule:
        return (f"refused ({event.rule})" if event.refused else event.rule), ""
    if event.ok:
        shown = ", ".join(one_line(attachment.about) for attachment in event.attachments)
        return "ok", f"shows {shown}" if shown else ""
    if event.content == REFUSAL:
        return "not run", REPEATED
    return ("not a valid call", "") if event.invalid else ("failed", failure_line(event.content))


def failure_line(content: str) -> str:
    """The line of a failed call's result with the reason: the last one before a tool's note in brackets."""
    lines = [line for line in map(one_line, content.splitlines()) if line]
    content_lines = [line for line in lines if not (line.startswith("[") and line.endswith("]"))]
    return (content_lines or [line.strip("[]") for line in lines] or [""])[-1].removeprefix("Error: ")


def call_details(name: str, arguments: str) -> str:
    """A call with all of its arguments and their lines, for approval."""
    return "\n    ".join(f"{name} {revealed(_arguments_text(arguments))}".splitlines())


def _arguments_text(arguments: str) -> str:
    """The only value, or else `name=value` pairs. Text that is not a JSON object stays unchanged."""
    try:
        values = msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return arguments
    texts = {key: value if isinstance(value, str) else _json(value) for key, value in values.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return " ".join(f"{key}={value}" for key, value in texts.items())


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
