"""Wait for a turn, by workers or in this process: print its events and return its exit code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from hermes_jobs.client.waiting import MAX_INLINE_WAIT, LogWaiter, NoLiveWorker
from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import CODES_OF_TURNS, FAILED, INTERRUPTED, TIMED_OUT, explain
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.options import OutputOptions
from hermes_jobs.interfaces.cli.output import footer_line
from hermes_jobs.interfaces.cli.processes import processes_left
from hermes_jobs.interfaces.cli.questions.keyboard import can_ask
from hermes_jobs.interfaces.cli.turns.delivered_files import delivered_lines
from hermes_jobs.interfaces.cli.turns.failed_calls import stop_lines
from hermes_jobs.interfaces.cli.turns.printer import TurnPrinter
from hermes_jobs.interfaces.cli.turns.terminal_questions import TerminalQuestions
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.turns.stops import is_unanswered
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.kernel.turns.waiting import LoadSession, last_turn, waits_for_answer, waits_for_person
from hermes_jobs.kernel.views.turn_json import TurnJson, turn_json
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.kernel.events.recorded import RecordedEvent
    from hermes_jobs.runtime.inline_worker import InlineWorker

CANCEL_WINDOW = 1.5  # seconds after a Ctrl-C within which another one cancels the turn
CANCEL_SECONDS = 10.0  # seconds for a cancelled turn to end in this process
LATER = "continues when a worker is available"
INLINE_NOTICE = "No worker is alive: this process runs the turn."


def follow(
    context: CliContext,
    submitted: Submitted,
    options: OutputOptions,
    timeout: float | None,
    *,
    alone: str = "",
    until_asked: bool = False,
) -> int:
    """Wait for the turn's end, running its steps if no worker does; returns the exit code.

    `alone` is the note for running steps in this process. With `until_asked` the wait ends when the turn
    waits for a user.
    """
    with Interrupts() as interrupts:
        waiter = TurnWaiter(context, submitted, options, interrupts, until_asked=until_asked)
        try:
            return waiter.wait(timeout, alone)
        except KeyboardInterrupt:
            return waiter.on_interrupt()
        except LogUnavailable:
            waiter.on_failure()
            raise
        finally:
            waiter.close()


class Interrupts:
    """Counts Ctrl-C. The first two are raised, the second also during a cleanup; a third does not interrupt
    the rest."""

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


class TurnWaiter:
    """Waits for one turn in one process."""

    def __init__(
        self,
        context: CliContext,
        submitted: Submitted,
        options: OutputOptions,
        interrupts: Interrupts,
        *,
        until_asked: bool,
    ) -> None:
        self._context = context
        self._application = context.application
        self._submitted = submitted
        asks = can_ask()
        self._printer = TurnPrinter(submitted, options, self._application.clock, can_ask=asks)
        self._questions = TerminalQuestions(self._application, submitted, self._printer, can_ask=asks)
        self._interrupts = interrupts
        self._until_asked = until_asked
        self._continues = LATER
        self._has_explained = False
        self._has_cancelled = False
        self._leaves = False

    def wait(self, timeout: float | None, alone: str) -> int:
        """Wait; returns the exit code."""
        application = self._application
        engine = application.engine()
        if self._is_done(engine.sessions.load):
            self._printer.catch_up(application)
            return self._end(engine, is_done=True)
        now = application.clock.monotonic
        until = None if timeout is None else now() + timeout
        requires = self._requires(engine)
        if application.workers.are_live(requires):
            self._continues = "continues"
            try:
                with self._subscribed() as news:
                    return self._wait_with(LogWaiter(application, news=news, requires=requires), timeout)
            except NoLiveWorker:
                alone = "The workers have stopped; this process runs the turn."
                timeout = None if until is None else max(0.0, until - now())
        if requires and application.workers.are_live():
            names = ", ".join(application.workers.lacking(requires))
            alone = f"The workers do not have the settings of this turn ({names}): this process runs it."
        if alone:
            self._printer.note(alone)
        self._continues = LATER
        self._leaves = timeout is None
        return self._wait_with(self._inline_worker(), timeout)

    def close(self) -> None:
        """End the output."""
        self._printer.close()

    @contextmanager
    def _subscribed(self) -> Iterator[Callable[[Sequence[RecordedEvent]], None]]:
        """Subscribe to the turn's deltas; yields the handler of new events."""
        from hermes_jobs.runtime.redis_live import channel_of

        printer = self._printer
        if not printer.options.stream:
            yield printer.on_events
            return
        channel = channel_of(self._application)
        subscribed, leave = printer.turn, channel.subscribe(printer.turn, printer.on_delta)

        def news(events: Sequence[RecordedEvent]) -> None:
            nonlocal subscribed, leave
            printer.on_events(events)
            if printer.turn != subscribed:
                leave()
                subscribed, leave = printer.turn, channel.subscribe(printer.turn, printer.on_delta)

        try:
            yield news
        finally:
            channel.close()

    def _inline_worker(self) -> InlineWorker:
        """A worker in this process."""
        from hermes_jobs.runtime.inline_worker import InlineWorker

        log_to_file(self._context, self._application.settings.paths.logs)
        return InlineWorker(self._application, on_delta=self._printer.on_delta, news=self._printer.on_events)

    def _wait_with(self, waiter: InlineWorker | LogWaiter, timeout: float | None) -> int:
        with waiter as worker:
            try:
                self._printer.catch_up(self._application)
                self._note_turns_ahead(worker.engine)
                is_done = self._work(worker, timeout)
            except KeyboardInterrupt:
                self._printer.close()
                self._offer_cancel(worker)
                raise
            self._printer.catch_up(self._application)
            code = self._end(worker.engine, is_done=is_done)
            if is_done:
                self._finish_other_jobs(worker)
        return code

    def _work(self, worker: InlineWorker | LogWaiter, timeout: float | None) -> bool:
        """Wait for the turn's end, asking the user at the terminal when it has questions."""
        clock, engine = self._application.clock, worker.engine
        until = None if timeout is None else clock.monotonic() + timeout

        def done() -> bool:
            self._questions.note_below(worker.session)
            return self._questions.first(worker.session) is not None or self._is_done(worker.session)

        while True:
            remaining = None if until is None else until - clock.monotonic()
            if remaining is not None and remaining <= 0:
                return self._is_done(engine.sessions.load)
            ended = worker.work(done, stream=self._submitted.stream, seconds=remaining)
            question = self._questions.first(engine.sessions.load) if ended else None
            if question is None:
                return ended
            self._questions.ask(question, until, engine.sessions.load, engine.execute)
            self._printer.catch_up(self._application)

    def _is_done(self, load: LoadSession) -> bool:
        session = load(self._submitted.stream)
        last = last_turn(session, self._submitted.turn)
        if last in session.ended:
            return True
        turn = session.current
        if turn is not None and turn.id == last and self._waits_for_long(turn):
            return True
        if self._questions.can_ask or turn is None or turn.id != last:
            return False
        ends = self._until_asked or (self._leaves and waits_for_answer(turn))
        return ends and waits_for_person(load, session, turn, self._application.clock.now())

    def _requires(self, engine: Engine) -> Mapping[str, str]:
        """The turn's requirements for workers."""
        session = engine.sessions.load(self._submitted.stream)
        turn = session.find(last_turn(session, self._submitted.turn))
        return turn.requires if turn is not None else {}

    def _waits_for_long(self, turn: Turn) -> bool:
        """Whether no worker is alive, and the turn waits longer than this process should."""
        remaining = turn.waits_until - self._application.clock.now()
        return self._leaves and not turn.running and remaining > MAX_INLINE_WAIT

    def _end(self, engine: Engine, *, is_done: bool) -> int:
        """Print the turn's result; returns the exit code."""
        views = self._application.views
        turn = views.turn(self._submitted.turn)
        result = turn_json(turn)
        self._printer.end(result, is_done=is_done)
        if is_done and self._printer.options.form == "text":
            for line in delivered_lines(turn.into or turn.id, turn.files):
                self._printer.note(line)
        if not is_done:
            if self._printer.options.form == "text":
                self._print_next_commands("Timed out")
            return TIMED_OUT
        session = engine.sessions.load(self._submitted.stream)
        last = turn_json(views.turn(last_turn(session, self._submitted.turn)))
        if result.result is not None:
            self._print_footer(engine, last)
        if self._leaves_waiting(last) and self._printer.options.form == "text":
            self._print_next_commands("Timed out")
        for line in processes_left(self._application, lineage_of(self._submitted.stream)):
            self._printer.note(line)
        return self._code(last)

    def _print_footer(self, engine: Engine, result: TurnJson) -> None:
        """Below an answer on a terminal: seconds, cost, share of the context in use, turn."""
        if not (self._printer.options.footer and self._application.settings.display.footer):
            return
        session = engine.sessions.load(self._submitted.stream)
        window = self._application.endpoints.by_name.window_of(result.model)
        below = self._application.views.tree_below(result.turn)
        self._printer.footer(footer_line(result.duration_ms / 1000, below, session.prompt_tokens, window))

    def _leaves_waiting(self, result: TurnJson) -> bool:
        """Whether the turn goes on later, which is not what this process was to wait for."""
        return result.waits_until is not None or (result.status == "waiting" and not self._until_asked)

    def _code(self, result: TurnJson) -> int:
        if self._leaves_waiting(result):
            return TIMED_OUT
        is_text = self._printer.options.form == "text"
        if result.stopped_by and result.status == "completed" and is_text:
            for line in stop_lines(result.stopped_by, result.turn):
                self._printer.print_line(line)
        if result.status in {"completed", "waiting"}:
            return FAILED if is_unanswered(result.stopped_by, result.result) else 0
        if result.error is not None:
            if is_text:
                explain(result.error.message, result.error.hint, self._context)
                for line in stop_lines(result.stopped_by, result.turn)[1:] if result.stopped_by else ():
                    self._printer.print_line(line)
            return CODES_OF_TURNS.get(result.error.kind, FAILED)
        if is_text:
            self._printer.print_line(f"Turn {result.turn} was {result.status}.")
        return FAILED

    def _finish_other_jobs(self, worker: InlineWorker | LogWaiter) -> None:
        """Run remaining jobs of this turn and earlier processes before the process ends."""
        jobs = worker.remaining_steps()
        if not jobs or self._application.workers.are_live():
            return
        self._printer.note(f"Finishing {pluralize(jobs, 'more job')}; Ctrl-C leaves them to workers.")
        try:
            worker.drain()
        except KeyboardInterrupt:
            self._printer.note("Left to the next worker.")

    def _note_turns_ahead(self, engine: Engine) -> None:
        session = engine.sessions.load(self._submitted.stream)
        ahead = [turn.id for turn in session.waiting]
        if self._printer.options.progress and self._submitted.turn in ahead:
            before = 1 + ahead.index(self._submitted.turn)
            self._printer.note(f"· waits for {before} other turn{'s' * (before > 1)} of its session")

    # --- Ctrl-C and failures --------------------------------------------------------------------

    def on_interrupt(self) -> int:
        """Handle a Ctrl-C during the wait, where another one cancels the turn, unless handled before; returns
        the exit code."""
        engine = self._application.engine()
        is_new = not self._has_explained or self._interrupts.count >= 2
        if is_new and not self._has_cancelled and self._wants_cancel(engine):
            self._cancel(engine)
        return INTERRUPTED

    def on_failure(self) -> None:
        """The log cannot be written or read: what was recorded is still there."""
        self._printer.close()
        turn = self._submitted.turn
        self._printer.print_line(
            f"Turn {turn} is in the log; continue with it later: hermes-jobs turns follow {turn}"
        )

    def _offer_cancel(self, worker: InlineWorker | LogWaiter) -> None:
        """The same while this process still runs steps: running calls continue until the user has
        decided, so that a cancel keeps their text so far."""
        if self._wants_cancel(worker.engine) and self._cancel(worker.engine):
            is_done, stream = partial(self._is_done, worker.engine.sessions.load), self._submitted.stream
            with suppress(NoLiveWorker):
                worker.work(is_done, stream=stream, seconds=CANCEL_SECONDS)

    def _wants_cancel(self, engine: Engine) -> bool:
        """Whether another Ctrl-C has come, or comes within `SECOND_THOUGHTS`."""
        try:
            if self._is_done(engine.sessions.load):
                return False
            self._print_next_commands("Stopped waiting", again=" (or Ctrl-C again)")
            if self._interrupts.count < 2:
                threading.Event().wait(CANCEL_WINDOW)
        except KeyboardInterrupt:
            pass
        return self._interrupts.count >= 2

    def _cancel(self, engine: Engine) -> bool:
        """Request the turn's cancellation; returns whether it was still possible."""
        self._has_cancelled = True
        try:
            engine.execute(self._submitted.stream, c.CancelTurn(turn=self._submitted.turn, by="user"))
        except Rejected as rejection:
            self._printer.print_line(rejection.message)
            return False
        self._printer.print_line("Cancelled.")
        return True

    def _print_next_commands(self, reason: str, again: str = "") -> None:
        """Print them once, however often the wait is interrupted."""
        if not self._has_explained:
            self._has_explained = True
            turn = self._submitted.turn
            self._printer.print_line(f"{reason}; turn {turn} {self._continues}.")
            self._printer.print_line(f"  follow it: hermes-jobs turns follow {turn}")
            self._printer.print_line(f"  cancel it: hermes-jobs turns cancel {turn}{again}")
