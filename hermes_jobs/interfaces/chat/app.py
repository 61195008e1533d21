"""The running chat: a prompt that is never blocked, and threads that follow the log, run steps and execute
commands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

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

from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.features.gateway.fallback_worker import FallbackWorker
from hermes_jobs.features.skills.cli.attached_skills import with_skills
from hermes_jobs.interfaces.chat.attachments import ChatAttachments
from hermes_jobs.interfaces.chat.commands import run_command
from hermes_jobs.interfaces.chat.completion import ChatCompleter, is_completed
from hermes_jobs.interfaces.chat.conversation import ChatStart, Conversation
from hermes_jobs.interfaces.chat.event_renderer import PROMPT
from hermes_jobs.interfaces.chat.foreground import (
    ask_interruptibly,
    run_command_line,
    run_shell,
    sigint_handler,
)
from hermes_jobs.interfaces.chat.keys import SETTLE_SECONDS, WITH_REASON, AnswerKeys, chat_keys
from hermes_jobs.interfaces.chat.log_thread import LogThread
from hermes_jobs.interfaces.chat.pasting import clipboard_picture
from hermes_jobs.interfaces.chat.screen import PromptSurface
from hermes_jobs.interfaces.chat.session_commands import answer, next_mode
from hermes_jobs.interfaces.chat.slash import parse
from hermes_jobs.interfaces.chat.summary import ChatSummary, greeting
from hermes_jobs.interfaces.chat.toolbar import toolbar_status, toolbar_text
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.logging_setup import log_to_file
from hermes_jobs.interfaces.cli.notices import tell, tell_first, turn_notices
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.processes import processes_left
from hermes_jobs.interfaces.cli.questions.reader import ask_person
from hermes_jobs.interfaces.cli.turns.live_display import LiveDisplay
from hermes_jobs.interfaces.cli.turns.options import (
    by_chat_flags,
    describe_session,
    named_variables,
    unheeded_environment,
)
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.live import LiveChannel, LocalChannel
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.runtime.redis_live import channel_of
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.reader import McpReader

logger = logging.getLogger(__name__)
T = TypeVar("T")

EXIT_SECONDS = 3.0  # seconds after a Ctrl-C within which another one leaves
REDRAW = 0.05  # the least seconds between two drawings of the prompt
SHELL_USAGE = "· !COMMAND runs a command here; its output is added to your next message"
STYLE = Style.from_dict({"bottom-toolbar": "noreverse fg:ansibrightblack", "prompt": "bold"})


def run(context: CliContext, start: ChatStart) -> int:
    """Chat until the user leaves; returns the exit code."""
    log_to_file(context, context.application.settings.paths.logs)
    Chat(context, start).run()
    return 0


class Chat:
    """One chat on this process's terminal: the `ChatContext` of its commands."""

    def __init__(self, context: CliContext, start: ChatStart) -> None:
        self._context = context
        self.application = application = context.application
        self._surface = PromptSurface(self._size)
        self._display = LiveDisplay(self._surface)
        local, broker = LocalChannel(), channel_of(application)
        self._channels: tuple[LiveChannel, ...] = (local, broker)
        self._worker = FallbackWorker(
            application, lambda _: None, on_delta=local.publish, own=self._own_stream
        )
        self._actions = ThreadPoolExecutor(1, thread_name_prefix="action")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interrupted_at = float("-inf")
        self._shown_notices: set[str] = set()
        self._attachments = ChatAttachments(
            context.redact, lambda: self.reader, lambda: self.application.intake
        )
        self._summary = ChatSummary(application)
        self._output = create_output(sys.stdout)
        self._prompt = self._make_prompt()
        self._log_thread = LogThread(
            application, self._on_events, self._on_error
        )  # before the session is read
        self.conversation = Conversation(application, self._display, self._channels, start)
        self._greet(start)
        self._status = toolbar_status(application, self.conversation)
        self._answer_keys = AnswerKeys(self.conversation, application.clock.monotonic)

    def run(self) -> None:
        """Run until the user leaves."""
        # A Ctrl-C is a key of the prompt: a late one, while the user is leaving, interrupts nothing.
        with sigint_handler(lambda *_: None):
            self._log_thread.start()
            self._worker.start()
            try:
                asyncio.run(self._converse())
            finally:
                self._surface.end()
                self._close()

    async def _converse(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        with contextlib.suppress(EOFError):  # the terminal was closed
            await self._prompt.prompt_async(pre_run=lambda: self._surface.begin(self._prompt.app, loop))

    def _own_stream(self) -> tuple[str | None, Mapping[str, str]]:
        """The stream of the conversation, and the requirements of its turns for workers."""
        lineage = self.conversation.lineage
        return None if lineage is None else stream_of(lineage), self.conversation.carried_options.requires

    def _close(self) -> None:
        self._actions.shutdown(wait=True, cancel_futures=True)
        self._display.close()
        running, is_ours = self.conversation.running, not self.application.workers.are_live()
        stopping = [threading.Thread(target=stop) for stop in (self._log_thread.stop, self._worker.stop)]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        self.conversation.close()
        for channel in self._channels:
            channel.close()
        if running is not None:
            when = "continues when a worker is available" if is_ours else "continues"
            note(f"Turn {running} {when}; follow it: hermes-jobs turns follow {running}")
        lineage = self.conversation.lineage
        for line in processes_left(self.application, lineage) if lineage is not None else ():
            note(line)
        for line in self._summary.lines(lineage):
            note(line)

    # --- ChatContext -------------------------------------------------------------------

    def print_line(self, text: str) -> None:
        """See `ChatContext.print_line`."""
        self._display.print_line(printable(text))

    @property
    def reader(self) -> McpReader:
        """See `ChatContext.reader`."""

        def ask(requested: e.InputRequested, is_withdrawn: Callable[[], bool]) -> Sequence[e.InputAnswered]:
            def act() -> Sequence[e.InputAnswered]:
                return ask_person(self.application, requested, is_withdrawn)

            return self._in_terminal(lambda: ask_interruptibly(act))

        return self.application.mcp_reader.asking(ask)

    def command_line(self, *words: str) -> None:
        """See `ChatContext.command_line`."""
        self._in_terminal(lambda: run_command_line(self._context, words))

    def shell(self, command: str) -> None:
        """See `ChatContext.shell`."""
        if not command:
            dropped = self._attachments.drop()
            self._dim(f"· {pluralize(dropped, 'output')} dropped" if dropped else SHELL_USAGE)
            return
        folder = self.conversation.workdir
        try:
            output = self._in_terminal(lambda: run_shell(command, folder))
        except OSError as error:
            raise Rejected(f"{error.filename}: {error.strerror}.", kind="usage") from error
        self._dim(self._attachments.add(output))

    def _in_terminal(self, act: Callable[[], T]) -> T:
        """Call the function in the main thread, which receives Ctrl-C, while the prompt is hidden."""
        loop = self._loop
        assert loop is not None, "commands come from the prompt"

        def run() -> T:
            self._surface.print_waiting()
            return act()

        async def in_terminal() -> T:
            return await run_in_terminal(run)

        with self._surface.lent():
            return asyncio.run_coroutine_threadsafe(in_terminal(), loop).result()

    def send(self, text: str, *, mentions: str = "", skill: str = "", outside: str = "") -> None:
        """See `ChatContext.send`."""
        self._submit(text, mentions, skill, outside)

    def clear(self) -> None:
        """See `ChatContext.clear`."""
        loop = self._loop
        assert loop is not None, "commands come from the prompt"

        async def empty() -> None:
            self._surface.print_waiting()
            self._prompt.app.renderer.clear()

        asyncio.run_coroutine_threadsafe(empty(), loop).result()  # what is said next stays

    def columns(self) -> int:
        """See `ChatContext.columns`."""
        return self._size()[0]

    def leave(self) -> None:
        """See `ChatContext.leave`."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._exit)

    # --- input --------------------------------------------------------------------------

    def _accept(self, buffer: Buffer) -> bool:
        """Handle the typed line; false empties the line."""
        text = buffer.text
        if text.strip():
            self._actions.submit(self._run_action, lambda: self._handle_input(text))
        return False

    def _handle_input(self, text: str) -> None:
        if text.startswith("!"):
            self._display.print_line(f"{PROMPT}{printable(text.strip())}", dim=True)
            self.shell(text[1:].strip())
            return
        command = parse(text)
        if command is None and answer(self, text):
            return
        if command is None:
            self._submit(text, text)
        else:
            self._display.print_line(f"{PROMPT}{printable(text.strip())}", dim=True)
            run_command(self, *command)

    def _run_action(self, act: Callable[[], object]) -> None:
        """Run in the actions' thread, one action at a time."""
        try:
            act()
        except Rejected as rejection:
            self._show_error(str(rejection), rejection.hint)
        except click.ClickException as wrong:
            self._show_error(wrong.message)
        except HermesJobsError as error:
            self._show_error(str(error))
        except Exception as error:
            logger.exception("what was asked for could not be done")
            self._show_error(f"Unexpected: {type(error).__name__}: {error}")
        self._refresh()

    def _submit(self, text: str, mentions: str, skill: str = "", outside: str = "") -> None:
        """Submit the text with the skill, the mentioned files, and the waiting outputs. `outside`: its
        origin, if others wrote it."""
        self._interrupted_at = float("-inf")  # a new message ends the wait for a second Ctrl-C
        message = with_skills(self.application.skills, (skill,) if skill else (), text)
        if not skill:
            self.conversation.show_prompt(text)
        composed = self._attachments.compose(message.text, mentions, self.conversation.workdir)
        passed = self.conversation.start.variables
        for line in (
            *message.notes,
            *composed.notes,
            *named_variables(self._context, text, passed, by_chat_flags),
        ):
            self._dim(line)
        self.application.sync_files()  # edits of files come before this message
        origin = outside or composed.outside
        submitted = self.conversation.submit(composed.text, message.names, composed.attachments, origin)
        self._attachments.drop()
        notices = turn_notices(self._context, submitted.turn)
        for line in [*notices, *tell(self._context, self.conversation.lineage)]:
            if line not in self._shown_notices:
                self._shown_notices.add(line)
                self._dim(line)

    def _dim(self, line: str) -> None:
        self._display.print_line(printable(line), dim=True)

    def _show_error(self, message: str, hint: str = "") -> None:
        text = f"{click.style('Error:', fg='red')} {printable(self._context.redact(message))}"
        self._display.print_line(f"{text}\n{printable(self._context.redact(hint))}" if hint else text)

    def _interrupt(self) -> None:
        """Handle a Ctrl-C: the first cancels the running turn, another one soon after leaves."""
        now = self.application.clock.monotonic()
        again, self._interrupted_at = now - self._interrupted_at < EXIT_SECONDS, now
        if again:
            self._exit()
        else:
            self._actions.submit(self._run_action, self._cancel)

    def _cancel(self) -> None:
        if not self.conversation.cancel():
            self._display.print_line("Ctrl-D or Ctrl-C again exits.", dim=True)

    def _pasted_picture(self) -> str:
        """A mention of the clipboard's picture, whose file ends with the chat; empty where there is none."""
        try:
            return f"{clipboard_picture(Path(self._pictures.name))} "
        except Rejected as error:
            self._display.print_line(f"{error} {error.hint}".rstrip(), dim=True)
            return ""

    @cached_property
    def _pictures(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(prefix="hermes-jobs-")

    def _exit(self) -> None:
        if self._prompt.app.is_running and not self._prompt.app.is_done:
            self._prompt.app.exit(result="")

    # --- output --------------------------------------------------------------------------

    def _greet(self, start: ChatStart) -> None:
        settings, views = self.application.settings, self.application.views
        session = views.session(start.lineage) if start.lineage else None
        for line in greeting(settings, self.conversation.model):
            self._display.print_line(line)
        self._display.print_line(describe_session(session, start.workdir), dim=True)
        self._display.print_line("/help lists what you can do.", dim=True)
        for line in unheeded_environment(self._context):
            self._dim(line)
        for line in tell_first(self._context):
            self._shown_notices.add(line)
            self._dim(line)
        self._display.print_line("")

    def _on_events(self, events: Sequence[RecordedEvent]) -> None:
        if self.conversation.on_events(events):
            self._refresh()

    def _on_error(self, message: str) -> None:
        self._show_error(message)

    def _refresh(self) -> None:
        with contextlib.suppress(HermesJobsError):
            self._status = toolbar_status(self.application, self.conversation)
            if self._answer_keys.update() and self._loop is not None:
                self._loop.call_soon_threadsafe(
                    self._loop.call_later, SETTLE_SECONDS, self._prompt.app.invalidate
                )
        self._prompt.app.invalidate()

    def _answer(self, key: str) -> None:
        """One key, pressed where a question waits and nothing is typed."""
        if key == WITH_REASON:
            self._prompt.default_buffer.insert_text("no: ")
        else:
            question = self._answer_keys.take()
            self._actions.submit(
                self._run_action, partial(self.conversation.questions.answer, key, question_id=question)
            )

    def _size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    def _message(self) -> StyleAndTextTuples:
        """The prompt, and above it the lines that may still change."""
        below = "".join(f"{line}\n" for line in self._surface.below)
        return [*to_formatted_text(ANSI(below)), ("class:prompt", PROMPT)]

    def _toolbar(self) -> str:
        keys = "" if self._prompt.default_buffer.text else self._answer_keys.keys
        return toolbar_text(self._status, self._size()[0], keys)

    def _make_prompt(self) -> PromptSession[str]:
        prompt: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation=lambda width, number, wraps: " " * width,
            bottom_toolbar=self._toolbar,
            completer=ThreadedCompleter(ChatCompleter(self)),
            complete_while_typing=Condition(lambda: is_completed(prompt.default_buffer.document)),
            history=FileHistory(_private(self.application.settings.paths.chat_history)),
            key_bindings=chat_keys(
                interrupt=self._interrupt,
                leave=self._exit,
                next_mode=lambda: self._actions.submit(self._run_action, lambda: next_mode(self)),
                answer=self._answer,
                answer_keys=lambda: self._answer_keys.keys,
                picture=self._pasted_picture,
            ),
            style=STYLE,
            output=self._output,
            erase_when_done=True,
        )
        prompt.default_buffer.accept_handler = self._accept
        prompt.app.min_redraw_interval = REDRAW
        return prompt


def _private(file: Path) -> str:
    """The file's name, after creating it readable for its owner only."""
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    file.chmod(0o600)
    return str(file)
