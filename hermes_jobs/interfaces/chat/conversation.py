"""The session of a chat: its commands, and its events from the log and the live channels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.sessions import Sessions
from hermes_jobs.client.submission import resumption, submission
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.chat.event_renderer import MAX_SHOWN_LINES, EventRenderer
from hermes_jobs.interfaces.chat.questions import ChatQuestions
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.interfaces.cli.turns.live_display import LiveDisplay
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events import Mode
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.live import LiveChannel
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.session import OpenChild, Session, stream_of
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.synthetic_messages import is_nudge, without_notes
from hermes_jobs.settings.turn_settings import TurnSettings

SOURCE = "chat"


class ChatStart(msgspec.Struct, frozen=True, kw_only=True):
    """The start of a chat: in a lineage, or (None) in a new one with these settings.

    `variables` are for the commands that run in its turns.
    """

    lineage: str | None = None
    workdir: str
    model: str | None = None
    system: str | None = None
    toolsets: tuple[str, ...] | None = None
    mode: Mode | None = None
    variables: Mapping[str, str] = {}


class Conversation:
    """One session at a time. Safe for many threads; methods that write raise `Rejected`."""

    def __init__(
        self,
        application: Application,
        display: LiveDisplay,
        channels: Sequence[LiveChannel],
        start: ChatStart,
    ) -> None:
        self._application = application
        self._engine = application.engine()
        self._display = display
        self._channels = channels
        self._lock = threading.RLock()
        self._start = start
        self._lineage: str | None = None
        self._version = 0
        self._renderer = self._new_renderer()
        self._open_question = ""  # the open question
        self.questions = ChatQuestions(
            application,
            self._lock,
            lambda: self.cached_session,
            self._own_questions,
            show_prompt=self.show_prompt,
            print_line=display.print_line,
        )
        self._subscriptions: dict[str, list[Callable[[], None]]] = {}
        self.open(start.lineage)
        if start.lineage is not None and start.model is not None:
            self.change_model(start.model)
        if start.lineage is not None and start.mode is not None:
            self.change_mode(start.mode)

    # --- state --------------------------------------------------------------------------

    @property
    def lineage(self) -> str | None:
        """The current lineage; None before the first message of a new one."""
        return self._lineage

    @property
    def session(self) -> Session | None:
        """The session from the log; None before its first message."""
        with self._lock:
            return None if self._lineage is None else self._engine.sessions.load(stream_of(self._lineage))

    @property
    def cached_session(self) -> Session | None:
        """The last known session, without reading the log."""
        return None if self._lineage is None else self._engine.sessions.cached(stream_of(self._lineage))

    @property
    def model(self) -> str:
        """The model of the next turn, aliases resolved."""
        session = self.cached_session
        chosen_model = (session and session.model) or self._start.model
        settings = self._application.settings
        return settings.choice(chosen_model).model or settings.model_name

    @property
    def workdir(self) -> str:
        """The working folder of the agent's tools."""
        session = self.cached_session
        started = session.started if session is not None else None
        return (started and started.workdir) or self._start.workdir

    @property
    def start(self) -> ChatStart:
        """The start of the next new session."""
        return self._start

    @property
    def carried_options(self) -> TurnSettings:
        """What this process's environment sets for its turns."""
        return self._application.carried(self.model)

    @property
    def running(self) -> str | None:
        """The running turn."""
        session = self.cached_session
        return session.current.id if session and session.current else None

    # --- commands ---------------------------------------------------------------

    def show_prompt(self, text: str) -> None:
        """Show the typed message."""
        self._renderer.show_prompt(text)

    def submit(
        self,
        text: str,
        skills: tuple[str, ...] = (),
        attachments: tuple[Attachment, ...] = (),
        outside: str = "",
    ) -> Submitted:
        """Submit a text that contains those skills, and what others wrote, if it has an origin `outside`; it
        begins a new session if needed."""
        with self._lock:
            application = self._application
            turn = e.TurnSubmitted(
                turn=application.ids.name("t"),
                text=text,
                source=SOURCE,
                session=self._lineage or application.ids.name("s"),
                if_busy=application.settings.session.if_busy,
                wants_title=application.settings.names_sessions,
                skills=skills,
                attachments=attachments,
                outside=outside,
            )
            is_first, start = self._lineage is None, self._start
            opening = e.Opening()
            if is_first:
                opening = e.Opening(
                    model=start.model,
                    system=start.system,
                    workdir=start.workdir,
                    toolsets=start.toolsets,
                    mode=start.mode,
                )
            carried = application.travelling(self.model, start.variables)
            command = submission(turn, opening, carried, is_first=is_first)
            self._renderer.expect(command.turn)
            submitted = self._engine.submit(command)
            self._lineage = command.session
            self.catch_up()
        return submitted

    def cancel(self) -> bool:
        """Cancel the running turn; returns whether there was one."""
        session = self.session
        if session is None or session.current is None:
            return False
        self._engine.execute(session.stream, c.CancelTurn(turn=session.current.id, by="user"))
        return True

    def children(self) -> list[tuple[int, OpenChild]]:
        """The sub-agents at work below the session, each with its depth, children below their parents."""

        def below(session: Session, depth: int) -> Iterator[tuple[int, OpenChild]]:
            for child in session.children:
                yield depth, child
                yield from below(self._engine.sessions.load(stream_of(child.ref.session)), depth + 1)

        session = self.session
        return [] if session is None else list(below(session, 0))

    def cancel_child(self, name: str) -> str:
        """Cancel the sub-agent with that beginning of a session's or turn's id; returns its goal.

        Raises `Rejected` if none or several match.
        """
        children = [child.ref for _, child in self.children()]
        refs = [ref for ref in children if ref.session.startswith(name) or ref.turn.startswith(name)]
        if len(refs) != 1:
            which = "More than one sub-agent" if refs else "No sub-agent at work"
            raise Rejected(f"{which} has the id {name!r}.", kind="usage", hint="/agents lists them.")
        self._engine.execute(stream_of(refs[0].session), c.CancelTurn(turn=refs[0].turn, by="user"))
        return refs[0].goal

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        session = self.cached_session
        return session.mode if session is not None else self._start.mode or "ask"

    def change_mode(self, mode: Mode) -> None:
        """Change the permission mode."""
        with self._lock:
            if self._lineage is None:
                self._start = replace(self._start, mode=mode)
            else:
                self._engine.execute(stream_of(self._lineage), c.ChangeMode(mode=mode, by="user"))

    def change_model(self, model: str) -> None:
        """Set the session's model, by name or alias. Raises `Misconfigured` too."""
        model = self._application.settings.models.aliases.get(model, model)
        self._application.check(model)
        with self._lock:
            if self._lineage is None:
                self._start = replace(self._start, model=model)
            else:
                self._engine.execute(stream_of(self._lineage), c.ChangeModel(model=model))

    def rename(self, title: str) -> str:
        """Set the session's title; returns it in its stored form."""
        return Sessions(self._application).rename(self.require_session().lineage, title).title or ""

    def compress(self, focus: str) -> None:
        """Request a compression of the history, with the given focus."""
        session = self.require_session()
        self._engine.execute(session.stream, c.RequestCompression(reason="manual", focus=focus))

    def last_turn(self) -> str:
        """The id of the turn for `undo`. Raises `Rejected` if there is none, or one is running."""
        return Sessions(self._application).last_turn(self.require_session().lineage)

    def undo(self) -> str:
        """Switch to a copy of the session from before its last turn; returns that turn's text."""
        undone = Sessions(self._application).undo(self.require_session().lineage)
        self.open(undone.session.lineage, quiet=True)
        return undone.text

    def continue_last_turn(self) -> str:
        """Continue the last turn if a limit stopped it; returns a note. Raises `Rejected` otherwise."""
        session = self.require_session()
        if session.last_ended is None:
            raise Rejected("No turn of this session has ended yet.", kind="not_stopped")
        self._engine.execute(session.stream, self._resumption(session.last_ended, only_stopped=True))
        return f"Going on with turn {session.last_ended}."

    def _resumption(self, turn: str, *, only_stopped: bool = False) -> c.ResumeTurn:
        """The command that resumes a turn, with this environment's settings."""
        carried = self._application.travelling(self.model, self._start.variables)
        return resumption(self._application, turn, carried, only_stopped=only_stopped)

    def retry(self) -> str:
        """Continue the last turn if it failed or was cancelled, else repeat it; returns a note."""
        session = self.require_session()
        last = session.last_ended
        ended = session.ended.get(last) if last else None
        if session.current is None and last and ended and ended.turn and ended.status != "completed":
            self._engine.execute(session.stream, self._resumption(last))
            return f"Going on with turn {last}."
        text = self.undo()
        self.show_prompt(text)
        self.submit(text)
        return "Sending the text again, in a copy of the session from before that turn."

    # --- which session --------------------------------------------------------------------------

    def open(self, lineage: str | None, *, quiet: bool = False) -> None:
        """Switch to that lineage; None begins a new one with the next text."""
        with self._lock:
            for turn in list(self._subscriptions):
                self._unsubscribe(turn)
            self._display.reset()
            self._renderer = self._new_renderer()
            self._lineage, self._version = lineage, 0
            session = self.session
            if session is None:
                return
            self._version = session.version
            if not quiet:
                self._show_last_messages(session)
            if session.current is not None:
                self._replay(session.current.id)
                self._renderer.ask(self.questions.first())

    def _show_last_messages(self, session: Session) -> None:
        """Show the last messages of the conversation."""
        messages = [message for message in session.messages if message.content]
        prompts = [
            candidate
            for candidate in messages
            if isinstance(candidate, UserMessage) and not is_nudge(candidate.content)
        ][-1:]
        answers = [candidate for candidate in messages[-1:] if isinstance(candidate, AssistantMessage)]
        for message in prompts:
            self._renderer.show_prompt(without_notes(message.content), maximum=MAX_SHOWN_LINES)
        for answer in answers:
            self._display.show_answer(answer.content)
            self._display.print_line("")

    def _replay(self, turn: str) -> None:
        """Show the events of the running turn so far."""
        for recorded in self._engine.log.read(stream_of(self._lineage or "")):
            if getattr(recorded.event, "turn", None) == turn and not isinstance(
                recorded.event, e.TurnSubmitted
            ):
                self._handle(recorded)

    # --- events --------------------------------------------------------------------------

    def on_events(self, events: Sequence[RecordedEvent]) -> bool:
        """Handle new events of the log; returns whether the session has changed.

        Events handled before are skipped.
        """
        with self._lock:
            if self._lineage is None:
                return False
            stream, before = stream_of(self._lineage), self._version
            for recorded in events:
                if recorded.stream == stream and recorded.version > self._version:
                    self._version = recorded.version
                    self._handle(recorded)
                elif self._renderer.follows(recorded.stream):
                    self._renderer.handle_child(recorded)
            question = self.questions.first()
            previous, self._open_question = self._open_question, question.id if question is not None else ""
            self._renderer.ask(question)
            self._renderer.refresh_status()
            return self._version > before or self._open_question != previous

    def catch_up(self) -> None:
        """Handle all events of the session up to now."""
        with self._lock:
            if self._lineage is not None:
                stream = stream_of(self._lineage)
                self.on_events(self._engine.log.read(stream, after=self._version))
                self._engine.sessions.load(stream)

    def close(self) -> None:
        """End all subscriptions."""
        with self._lock:
            for turn in list(self._subscriptions):
                self._unsubscribe(turn)

    def _own_questions(self) -> Iterable[AnyQuestion]:
        return self._renderer.questions()  # of the session at this time

    def _new_renderer(self) -> EventRenderer:
        return EventRenderer(
            self._display,
            self._application.clock,
            lambda: self.workdir,
            self._application.views.tree_below if self._application.settings.display.footer else None,
        )

    def _handle(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if isinstance(event, e.ContextPrefetched | e.TurnResumed) and event.turn not in self._subscriptions:
            hears = [channel.subscribe(event.turn, self._renderer.on_delta) for channel in self._channels]
            self._subscriptions[event.turn] = hears
        self._renderer.handle(recorded)
        if isinstance(event, e.TurnEnd):
            self._unsubscribe(event.turn)

    def _unsubscribe(self, turn: str) -> None:
        for leave in self._subscriptions.pop(turn, ()):
            leave()

    def require_session(self) -> Session:
        """The session from the log. Raises `Rejected` before its first message."""
        session = self.session
        if session is None:
            raise Rejected("This session has no messages yet.", kind="usage", hint="Say something first.")
        return session
