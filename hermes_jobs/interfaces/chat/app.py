"""The chat as it runs: a prompt that is never blocked, and behind it threads that listen, work and act."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import FileHistory
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style

from hermes_jobs.domain.session.titles import printable
from hermes_jobs.engine.live import LiveChannel, LocalChannel
from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.chat.commands import parse, perform
from hermes_jobs.interfaces.chat.completion import SlashCompleter
from hermes_jobs.interfaces.chat.conversation import Conversation, Start
from hermes_jobs.interfaces.chat.event_renderer import PROMPT
from hermes_jobs.interfaces.chat.keys import chat_keys
from hermes_jobs.interfaces.chat.log_thread import Watcher
from hermes_jobs.interfaces.chat.screen import PromptSurface
from hermes_jobs.interfaces.chat.toolbar import standing, told
from hermes_jobs.interfaces.cli.context import Invocation
from hermes_jobs.interfaces.cli.exit_codes import report
from hermes_jobs.interfaces.cli.inbox import unread_told
from hermes_jobs.interfaces.cli.live_display import Stage
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.model_format import model_told
from hermes_jobs.interfaces.cli.output import note, one_line
from hermes_jobs.interfaces.cli.review_notices import learned
from hermes_jobs.interfaces.gateway.fallback_worker import FallbackWorker
from hermes_jobs.runtime.redis_live import channel_of

logger = logging.getLogger(__name__)

SECOND_THOUGHTS = 3.0  # seconds after a Ctrl-C in which another one leaves
REDRAW = 0.05  # seconds from one drawing of the prompt to the next at least
STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack", "prompt": "bold"})


def run(invocation: Invocation, start: Start) -> int:
    """Chat until the person leaves; the exit code."""
    log_to_file(invocation, invocation.application.settings.paths.logs)
    Chat(invocation, start).run()
    return 0


class Chat:
    """One chat on this process's terminal: the `Room` of its commands."""

    def __init__(self, invocation: Invocation, start: Start) -> None:
        self._invocation = invocation
        self.application = application = invocation.application
        self._surface = PromptSurface(self._size)
        self._stage = Stage(self._surface)
        local, broker = LocalChannel(), channel_of(application)
        self._channels: tuple[LiveChannel, ...] = (local, broker)
        self._helper = FallbackWorker(application, lambda _: None, heard=local.publish)
        self._actions = ThreadPoolExecutor(1, thread_name_prefix="action")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interrupted_at = float("-inf")
        self._told: set[str] = set()
        self._output = create_output(sys.stdout)
        self._prompt = self._make_prompt()
        self._watcher = Watcher(application.log, self._news, self._trouble)  # before the session is read
        self.conversation = Conversation(application, self._stage, self._channels, start)
        self._greet()
        self._standing = standing(application, self.conversation)

    def run(self) -> None:
        """Until the person leaves."""
        # A Ctrl-C is a key of the prompt's: a late one, when the person is leaving, breaks nothing off.
        with _interrupts(lambda *_: None):
            self._watcher.start()
            self._helper.start()
            try:
                asyncio.run(self._converse())
            finally:
                self._surface.end()
                self._close()

    async def _converse(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        with contextlib.suppress(EOFError):  # the terminal is gone
            await self._prompt.prompt_async(pre_run=lambda: self._surface.begin(self._prompt.app, loop))

    def _close(self) -> None:
        self._actions.shutdown(wait=True, cancel_futures=True)
        self._stage.close()
        running, is_ours = self.conversation.running, not self.application.has_live_workers()
        stopping = [threading.Thread(target=stop) for stop in (self._watcher.stop, self._helper.stop)]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        self.conversation.close()
        for channel in self._channels:
            channel.close()
        if running is not None:
            when = "goes on with the next process that works" if is_ours else "goes on"
            note(f"Turn {running} {when}; follow it: hermes-jobs turns follow {running}")
        if self.conversation.lineage is not None:
            note(f"Come back with: hermes-jobs chat -s {self.conversation.lineage}")

    # --- the room of commands -------------------------------------------------------------------

    def say(self, text: str) -> None:
        """See `Room.say`."""
        self._stage.line(printable(text))

    def command_line(self, *words: str) -> None:
        """See `Room.command_line`. The prompt waits meanwhile."""
        loop = self._loop
        assert loop is not None, "commands come from the prompt"

        def run() -> None:
            self._surface.print_waiting()
            with _breakable():
                _run(self._invocation, words)

        async def in_terminal() -> None:
            await run_in_terminal(run)  # in the main thread: no other hears of a Ctrl-C

        with self._surface.lent():
            asyncio.run_coroutine_threadsafe(in_terminal(), loop).result()

    def leave(self) -> None:
        """See `Room.leave`."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._exit)

    # --- what is typed --------------------------------------------------------------------------

    def _accept(self, buffer: Buffer) -> bool:
        """Take what was typed; false empties the line."""
        text = buffer.text
        if text.strip():
            self._actions.submit(self._carry_out, lambda: self._act(text))
        return False

    def _act(self, text: str) -> None:
        command = parse(text)
        if command is None:
            self._submit(text)
        else:
            self._stage.line(f"{PROMPT}{printable(text.strip())}", dim=True)
            perform(self, *command)

    def _carry_out(self, act: Callable[[], object]) -> None:
        """Act in the actions' thread, where one thing is done after the other."""
        try:
            act()
        except Rejected as refused:
            self._complain(str(refused), refused.hint)
        except HermesJobsError as error:
            self._complain(str(error))
        except Exception as error:
            logger.exception("what was asked for could not be done")
            self._complain(f"Unexpected: {type(error).__name__}: {error}")
        self._refresh()

    def _submit(self, text: str) -> None:
        self._interrupted_at = float("-inf")  # whoever goes on talking had no thought of leaving
        self.conversation.say(text)
        self.application.settle()  # what was edited by hand comes before what is said now
        submitted = self.conversation.submit(text)
        for line in learned(self._invocation, submitted.turn):
            if line not in self._told:
                self._told.add(line)
                self._stage.line(printable(line), dim=True)

    def _complain(self, message: str, hint: str = "") -> None:
        told = f"{click.style('Error:', fg='red')} {printable(self._invocation.redact(message))}"
        self._stage.line(f"{told}\n{printable(self._invocation.redact(hint))}" if hint else told)

    def _interrupt(self) -> None:
        """A Ctrl-C: the first cancels what runs, another one soon after leaves."""
        now = self.application.clock.monotonic()
        again, self._interrupted_at = now - self._interrupted_at < SECOND_THOUGHTS, now
        if again:
            self._exit()
        else:
            self._actions.submit(self._carry_out, self._cancel)

    def _cancel(self) -> None:
        if not self.conversation.cancel():
            self._stage.line("Ctrl-D leaves, or Ctrl-C again.", dim=True)

    def _exit(self) -> None:
        if self._prompt.app.is_running and not self._prompt.app.is_done:
            self._prompt.app.exit(result="")

    # --- what is shown --------------------------------------------------------------------------

    def _greet(self) -> None:
        settings = self.application.settings
        model = self.conversation.model
        self._stage.line(f"hermes-jobs chat with {one_line(model)} ({model_told(settings, model)}).")
        self._stage.line("/help lists what you can do.")
        if unread := unread_told(self._invocation):
            self._stage.line(unread)
        self._stage.line("")

    def _news(self, events: Sequence[RecordedEvent]) -> None:
        if self.conversation.news(events):
            self._refresh()

    def _trouble(self, message: str) -> None:
        self._complain(message)

    def _refresh(self) -> None:
        with contextlib.suppress(HermesJobsError):
            self._standing = standing(self.application, self.conversation)
        self._prompt.app.invalidate()

    def _size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    def _message(self) -> StyleAndTextTuples:
        """The prompt, and above it what may still change."""
        below = "".join(f"{line}\n" for line in self._surface.below)
        return [*to_formatted_text(ANSI(below)), ("class:prompt", PROMPT)]

    def _toolbar(self) -> str:
        return told(self._standing, self._size()[0])

    def _make_prompt(self) -> PromptSession[str]:
        prompt: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation=lambda width, number, wraps: " " * width,
            bottom_toolbar=self._toolbar,
            completer=ThreadedCompleter(SlashCompleter(self.application)),
            complete_while_typing=Condition(lambda: prompt.default_buffer.text.startswith("/")),
            history=FileHistory(_private(self.application.settings.paths.chat_history)),
            key_bindings=chat_keys(interrupt=self._interrupt, leave=self._exit),
            style=STYLE,
            output=self._output,
            erase_when_done=True,
        )
        prompt.default_buffer.accept_handler = self._accept
        prompt.app.min_redraw_interval = REDRAW
        return prompt


@contextlib.contextmanager
def _interrupts(handler: Callable[..., object]) -> Iterator[None]:
    """What a Ctrl-C does meanwhile."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _breakable() -> Iterator[None]:
    """A Ctrl-C breaks off what runs; the prompt does not hear of it."""
    loop_hears_by = signal.set_wakeup_fd(-1)
    try:
        with _interrupts(signal.default_int_handler):
            yield
    finally:
        signal.set_wakeup_fd(loop_hears_by)


def _run(invocation: Invocation, words: Sequence[str]) -> None:
    """A command line of `hermes-jobs` within this process."""
    from hermes_jobs.interfaces.cli import hermes_jobs

    try:
        hermes_jobs.main(list(words), prog_name="hermes-jobs", standalone_mode=False, obj=invocation)
    except (KeyboardInterrupt, click.Abort):
        note("")
    except Exception as error:  # noqa: BLE001 - whatever went wrong becomes words, and the chat goes on
        report(error, invocation)


def _private(file: Path) -> str:
    """The file's name; it is there, and its owner's alone."""
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    file.chmod(0o600)
    return str(file)
