"""The session that is chatted in: what is said to it, and what the log and the live channels tell of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.domain import events as e
from hermes_jobs.domain.events import Opening
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.messages import AssistantMessage, UserMessage
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.engine.engine import Submitted
from hermes_jobs.engine.fork import undo
from hermes_jobs.engine.live import LiveChannel
from hermes_jobs.errors import Rejected
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.chat.event_renderer import EventRenderer
from hermes_jobs.interfaces.cli.live_display import LiveDisplay
from hermes_jobs.interfaces.cli.turn_options import working_folder

SOURCE = "chat"


class ChatStart(msgspec.Struct, frozen=True, kw_only=True):
    """How a chat begins: in a lineage, or (null) in a new one that is opened with the rest."""

    lineage: str | None = None
    model: str | None = None
    system: str | None = None
    toolsets: tuple[str, ...] | None = None


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
        self._renderer = EventRenderer(display, application.clock)
        self._subscriptions: dict[str, list[Callable[[], None]]] = {}
        self.open(start.lineage)
        if start.lineage is not None and start.model is not None:
            self.change_model(start.model)

    # --- how it stands --------------------------------------------------------------------------

    @property
    def lineage(self) -> str | None:
        """The lineage that is talked in; null before the first word of a new one."""
        return self._lineage

    @property
    def session(self) -> Session | None:
        """The session as the log has it; null before its first word."""
        with self._lock:
            return None if self._lineage is None else self._engine.sessions.load(stream_of(self._lineage))

    @property
    def cached_session(self) -> Session | None:
        """The session as this process last saw it, without a look at the log."""
        return None if self._lineage is None else self._engine.sessions.known(stream_of(self._lineage))

    @property
    def model(self) -> str:
        """The model that answers next."""
        session = self.cached_session
        return (session and session.model) or self._start.model or self._application.settings.model_name

    @property
    def running(self) -> str | None:
        """The turn that runs."""
        session = self.cached_session
        return session.current.id if session and session.current else None

    # --- what is said and decided ---------------------------------------------------------------

    def show_prompt(self, text: str) -> None:
        """Show what was typed."""
        self._renderer.show_prompt(text)

    def submit(self, text: str) -> Submitted:
        """Say something; a new session begins with it."""
        with self._lock:
            application, name = self._application, self._application.ids.name
            opening = None
            if self._lineage is None:
                start = self._start
                opening = Opening(
                    model=start.model,
                    system=start.system,
                    workdir=working_folder(),
                    toolsets=start.toolsets,
                )
            lineage = self._lineage or name("s")
            command = c.SubmitTurn(
                turn=name("t"),
                session=lineage,
                text=text,
                source=SOURCE,
                if_busy=application.settings.session.if_busy,
                opening=opening,
            )
            self._renderer.expect(command.turn)
            submitted = self._engine.submit(command)
            self._lineage = lineage
            self.catch_up()
        return submitted

    def cancel(self) -> bool:
        """Cancel the running turn; whether there was one."""
        session = self.session
        if session is None or session.current is None:
            return False
        self._engine.execute(session.stream, c.CancelTurn(turn=session.current.id, by="user"))
        return True

    def decide_call(self, call: str | None, *, allow: bool) -> None:
        """Allow or refuse a tool call that waits for a person. Raises `Rejected` where none does."""
        session = self._require_session()
        if session.current is None:
            raise Rejected("Nothing waits for you in this session.", kind="usage")
        turn, now = session.current.id, self._application.clock.now()
        answer: c.SessionCommand = c.DenyCall(turn=turn, call=call, by="user")
        if allow:
            answer = c.ApproveCall(turn=turn, call=call, by="user", now=now)
        self._engine.execute(session.stream, answer)

    def change_model(self, model: str) -> None:
        """Let another model, or what an alias stands for, answer from now on. Raises `Misconfigured` too."""
        model = self._application.settings.models.aliases.get(model, model)
        self._application.check(model)
        with self._lock:
            if self._lineage is None:
                self._start = msgspec.structs.replace(self._start, model=model)
            else:
                self._engine.execute(stream_of(self._lineage), c.ChangeModel(model=model))

    def rename(self, title: str) -> str:
        """Give the session a title; as it is written."""
        from hermes_jobs.engine.session_titles import rename_session

        session = self._require_session()
        return rename_session(self._engine, session.lineage, title).title or ""

    def compress(self, focus: str) -> None:
        """Have the older part of the history give way to a summary, about `focus` above all."""
        session = self._require_session()
        self._engine.execute(session.stream, c.RequestCompression(reason="manual", focus=focus))

    def undo(self) -> str:
        """Go on in a copy of the session from before its last turn; that turn's text."""
        session = self._require_session()
        new = self._application.ids.name("s")
        text = undo(self._engine, session.lineage, new)
        self.open(new, quiet=True)
        return text

    def retry(self) -> str:
        """Go on with the last turn where it failed or was cancelled, else ask it again; what is done."""
        session = self._require_session()
        last = session.last_ended
        ended = session.ended.get(last) if last else None
        if session.current is None and last is not None and ended is not None and ended.turn is not None:
            self._engine.execute(session.stream, c.ResumeTurn(turn=last))
            return f"Going on with turn {last}."
        text = self.undo()
        self.show_prompt(text)
        self.submit(text)
        return "Asking again, in a copy of the session from before that turn."

    # --- which session --------------------------------------------------------------------------

    def open(self, lineage: str | None, *, quiet: bool = False) -> None:
        """Talk in that lineage from now on; null begins a new one with the next text."""
        with self._lock:
            for turn in list(self._subscriptions):
                self._unsubscribe(turn)
            self._display.reset()
            self._renderer = EventRenderer(self._display, self._application.clock)
            self._lineage, self._version = lineage, 0
            session = self.session
            if session is None:
                return
            self._version = session.version
            if not quiet:
                self._show_last_messages(session)
            if session.current is not None:
                self._replay(session.current.id)

    def _show_last_messages(self, session: Session) -> None:
        """Show how the conversation stood: the last that was said."""
        said = [message for message in session.messages if message.content]
        asked = [each for each in said if isinstance(each, UserMessage)][-1:]
        answered = [each for each in said[-1:] if isinstance(each, AssistantMessage)]
        for message in asked:
            self._renderer.show_prompt(message.content)
        for answer in answered:
            self._display.show_answer(answer.content)
            self._display.print_line("")

    def _replay(self, turn: str) -> None:
        """Show what has happened in the turn that runs."""
        for recorded in self._engine.log.read(stream_of(self._lineage or "")):
            if getattr(recorded.event, "turn", None) == turn and not isinstance(
                recorded.event, e.TurnSubmitted
            ):
                self._handle(recorded)

    # --- what is heard --------------------------------------------------------------------------

    def on_events(self, events: Sequence[RecordedEvent]) -> bool:
        """Take in what stands in the log since the last time; whether any of it is of this session.

        What was heard before is passed over.
        """
        with self._lock:
            if self._lineage is None:
                return False
            stream, before = stream_of(self._lineage), self._version
            for recorded in events:
                if recorded.stream == stream and recorded.version > self._version:
                    self._version = recorded.version
                    self._handle(recorded)
            self._renderer.refresh_status()
            return self._version > before

    def catch_up(self) -> None:
        """Take in what the log has of the session by now."""
        with self._lock:
            if self._lineage is not None:
                stream = stream_of(self._lineage)
                self.on_events(self._engine.log.read(stream, after=self._version))
                self._engine.sessions.load(stream)

    def close(self) -> None:
        """Listen to nothing more."""
        with self._lock:
            for turn in list(self._subscriptions):
                self._unsubscribe(turn)

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

    def _require_session(self) -> Session:
        session = self.session
        if session is None:
            raise Rejected("Nothing was said yet.", kind="usage", hint="Say something first.")
        return session
