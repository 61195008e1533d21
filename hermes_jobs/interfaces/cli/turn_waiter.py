"""Waiting for a turn: whoever works on it, what happens is shown and its end becomes the exit code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.engine.engine import Engine, Submitted
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import Invocation
from hermes_jobs.interfaces.cli.exit_codes import CREDENTIALS, FAILED, INTERRUPTED, TIMED_OUT, explain
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.output_options import Style
from hermes_jobs.interfaces.cli.turn_printer import Shown
from hermes_jobs.interfaces.cli.wait import LogWaiter, NobodyWorks
from hermes_jobs.text.plural import pluralize
from hermes_jobs.views.turn_json import TurnResult, turn_result

if TYPE_CHECKING:
    from hermes_jobs.eventlog.log import RecordedEvent
    from hermes_jobs.runtime.inline_worker import InlineWorker

QUOTA_PATIENCE = 120.0  # seconds that a process which works alone waits for a quota
SECOND_THOUGHTS = 1.5  # seconds after a Ctrl-C in which another one cancels the turn
CANCEL_SECONDS = 10.0  # that a cancelled turn has to end in this process
LATER = "goes on with the next process that works"
ALONE = "No worker is alive: this process goes on with the turn."


def follow(
    invocation: Invocation,
    submitted: Submitted,
    style: Style,
    timeout: float | None,
    *,
    alone: str = "",
    until_asked: bool = False,
) -> int:
    """Wait for the turn's end, working on it where nobody else does; the exit code.

    `alone` is said where this process has to work. With `until_asked` it is enough that the turn waits for a
    person.
    """
    with Interrupts() as interrupts:
        vigil = Vigil(invocation, submitted, style, interrupts, until_asked=until_asked)
        try:
            return vigil.keep(timeout, alone)
        except KeyboardInterrupt:
            return vigil.interrupted()
        finally:
            vigil.close()


class Interrupts:
    """Counts Ctrl-C. Two are raised as well, the second also out of a cleanup; what then remains to be done
    is not broken off by a third."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Interrupts:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before == signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count <= 2:
            raise KeyboardInterrupt


class Vigil:
    """One process's waiting for one turn."""

    def __init__(
        self,
        invocation: Invocation,
        submitted: Submitted,
        style: Style,
        interrupts: Interrupts,
        *,
        until_asked: bool,
    ) -> None:
        self._invocation = invocation
        self._application = invocation.application
        self._submitted = submitted
        self._shown = Shown(submitted, style, self._application.clock)
        self._interrupts = interrupts
        self._until_asked = until_asked
        self._goes_on = LATER
        self._has_said = False
        self._has_cancelled = False
        self._leaves_at_quota = False

    def keep(self, timeout: float | None, alone: str) -> int:
        """Wait; the exit code."""
        application = self._application
        engine = application.engine()
        if self._is_over(engine):
            self._shown.catch_up(application.log)
            return self._end(engine, done=True)
        now = application.clock.monotonic
        until = None if timeout is None else now() + timeout
        if application.has_live_workers():
            self._goes_on = "goes on"
            try:
                with self._listening() as news:
                    return self._wait(LogWaiter(application, news=news), timeout)
            except NobodyWorks:
                alone = "The workers have ended; this process goes on with the turn."
                timeout = None if until is None else max(0.0, until - now())
        if alone:
            self._shown.note(alone)
        self._goes_on = LATER
        self._leaves_at_quota = timeout is None
        return self._wait(self._inline_worker(), timeout)

    def close(self) -> None:
        """Leave the terminal as it is to stay."""
        self._shown.close()

    @contextmanager
    def _listening(self) -> Iterator[Callable[[Sequence[RecordedEvent]], None]]:
        """What has to hear the log's news meanwhile; the answer's text is heard as others say it."""
        from hermes_jobs.runtime.redis_live import channel_of

        shown = self._shown
        if not shown.style.stream:
            yield shown.news
            return
        channel = channel_of(self._application)
        heard, leave = shown.turn, channel.subscribe(shown.turn, shown.heard)

        def news(events: Sequence[RecordedEvent]) -> None:
            nonlocal heard, leave
            shown.news(events)
            if shown.turn != heard:
                leave()
                heard, leave = shown.turn, channel.subscribe(shown.turn, shown.heard)

        try:
            yield news
        finally:
            channel.close()

    def _inline_worker(self) -> InlineWorker:
        """A worker in this process."""
        from hermes_jobs.runtime.inline_worker import InlineWorker

        log_to_file(self._invocation, self._application.settings.paths.logs)
        return InlineWorker(self._application, heard=self._shown.heard, news=self._shown.news)

    def _wait(self, waiter: InlineWorker | LogWaiter, timeout: float | None) -> int:
        with waiter as worker:
            try:
                self._shown.catch_up(self._application.log)
                self._say_what_goes_first(worker.engine)
                done = worker.work(
                    lambda: self._is_over(worker.engine), stream=self._submitted.stream, seconds=timeout
                )
            except KeyboardInterrupt:
                self._shown.close()
                self._reconsider(worker)
                raise
            self._shown.catch_up(self._application.log)
            code = self._end(worker.engine, done=done)
            if done:
                self._finish_other_jobs(worker)
        return code

    def _is_over(self, engine: Engine) -> bool:
        session = engine.sessions.load(self._submitted.stream)
        last = _last(engine, self._submitted)
        if last in session.ended:
            return True
        turn = session.current
        if turn is not None and turn.id == last and self._is_left_to_a_quota(turn):
            return True
        if not self._until_asked or turn is None or turn.id != last or not turn.is_idle:
            return False
        open_calls = [call for call in turn.calls if call.result is None]
        return bool(open_calls) and all(call.approval == "waiting" for call in open_calls)

    def _is_left_to_a_quota(self, turn: Turn) -> bool:
        """Whether nobody but this process works, and the turn waits longer than one likes to sit there."""
        left = turn.quota_until - self._application.clock.now()
        return self._leaves_at_quota and not turn.running and left > QUOTA_PATIENCE

    def _end(self, engine: Engine, *, done: bool) -> int:
        """Show how the turn stands; the exit code."""
        views = self._application.views
        result = turn_result(views.turn(self._submitted.turn))
        self._shown.end(result, done=done)
        if not done:
            if self._shown.style.form == "text":
                self._say_how_to_go_on("Waited long enough")
            return TIMED_OUT
        last = turn_result(views.turn(_last(engine, self._submitted)))
        if last.waits_until is not None and self._shown.style.form == "text":
            self._say_how_to_go_on("Not waiting here for the quota")
        return self._code(last)

    def _code(self, result: TurnResult) -> int:
        if result.waits_until is not None:
            return TIMED_OUT
        if result.status in {"completed", "waiting"}:
            return 0
        is_text = self._shown.style.form == "text"
        if result.error is not None:
            if is_text:
                explain(result.error.message, result.error.hint, self._invocation)
            return CREDENTIALS if result.error.kind == "auth" else FAILED
        if is_text:
            self._shown.say(f"Turn {result.turn} was {result.status}.")
        return FAILED

    def _finish_other_jobs(self, worker: InlineWorker | LogWaiter) -> None:
        """Jobs that this turn or earlier processes left are done before the process ends."""
        jobs = worker.remaining_steps()
        if not jobs:
            return
        self._shown.note(f"Finishing {pluralize(jobs, 'more job')}; Ctrl-C leaves them for later.")
        try:
            worker.drain()
        except KeyboardInterrupt:
            self._shown.note("Left for the next process that works.")

    # --- people ---------------------------------------------------------------------------------

    def _say_what_goes_first(self, engine: Engine) -> None:
        session = engine.sessions.load(self._submitted.stream)
        ahead = [turn.id for turn in session.waiting]
        if self._shown.style.progress and self._submitted.turn in ahead:
            before = 1 + ahead.index(self._submitted.turn)
            self._shown.note(f"· waits for {before} other turn{'s' * (before > 1)} of its session")

    def interrupted(self) -> int:
        """A Ctrl-C has ended the waiting, and one more cancels the turn, where neither was dealt with before;
        the exit code."""
        engine = self._application.engine()
        is_new = not self._has_said or self._interrupts.count >= 2
        if is_new and not self._has_cancelled and self._is_to_be_cancelled(engine):
            self._cancel(engine)
        return INTERRUPTED

    def _reconsider(self, worker: InlineWorker | LogWaiter) -> None:
        """The same while this process still works: what is under way goes on until a person has decided:
        only who hears an answer can keep what was said of it before a cancel."""
        if self._is_to_be_cancelled(worker.engine) and self._cancel(worker.engine):
            done, stream = partial(self._is_over, worker.engine), self._submitted.stream
            with suppress(NobodyWorks):
                worker.work(done, stream=stream, seconds=CANCEL_SECONDS)

    def _is_to_be_cancelled(self, engine: Engine) -> bool:
        """Whether another Ctrl-C has come, or comes within `SECOND_THOUGHTS`."""
        try:
            if self._is_over(engine):
                return False
            self._say_how_to_go_on("Stopped waiting", again=" (or Ctrl-C again)")
            if self._interrupts.count < 2:
                threading.Event().wait(SECOND_THOUGHTS)
        except KeyboardInterrupt:
            pass
        return self._interrupts.count >= 2

    def _cancel(self, engine: Engine) -> bool:
        """Ask for the turn's cancellation; whether it was still to be had."""
        self._has_cancelled = True
        try:
            engine.execute(self._submitted.stream, c.CancelTurn(turn=self._submitted.turn, by="user"))
        except Rejected as refused:
            self._shown.say(refused.message)
            return False
        self._shown.say("Cancelled.")
        return True

    def _say_how_to_go_on(self, why: str, again: str = "") -> None:
        """Once, however often the waiting is broken off."""
        if not self._has_said:
            self._has_said = True
            turn = self._submitted.turn
            self._shown.say(f"{why}; turn {turn} {self._goes_on}.")
            self._shown.say(f"  follow it: hermes-jobs turns follow {turn}")
            self._shown.say(f"  cancel it: hermes-jobs turns cancel {turn}{again}")


def _last(engine: Engine, submitted: Submitted) -> str:
    """The turn whose end this one's is: itself, or what it was merged into."""
    session = engine.sessions.load(submitted.stream)
    turn = submitted.turn
    while (ended := session.ended.get(turn)) is not None and ended.into is not None:
        turn = ended.into
    return turn
