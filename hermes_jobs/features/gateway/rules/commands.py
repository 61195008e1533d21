"""Handles a chat message: a turn in the sender's session, or a command. Idempotent per message.

All effects of a message are one append under the message's key, including the answer to a command, which is a
delivery. So nothing is lost or repeated when a process dies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast, get_args

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries import events as deliveries
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.gateway import events as gateway_events
from hermes_jobs.features.gateway.rules.gateway import Person, person_named, stream_of_person
from hermes_jobs.features.gateway.rules.messages import IncomingMessage, message_keys
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.text.clip import one_line
from hermes_jobs.text.figures import moment

SHOWN = 80  # characters of a quoted text in a status

WELCOME = "Write to me, and I answer. Beside that:"
NO_CONVERSATION = "There is no conversation yet: write something first."
NOTHING_RUNS = "Nothing is running."
NOTHING_STOPPED = "Your last request was not stopped by a limit: there is nothing to continue."
RATE = "Say /rate up, /rate down or /rate none; what follows says why."
RATED = "Thank you, that is noted."
FRESH = "A new conversation begins with your next message."
COMPRESSES = "I make this conversation shorter; it continues as before."

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]*)(?:@\w+)?(?:\s+(?P<rest>.*))?", re.DOTALL)


class GatewayPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for all messages. `users` joins the ids of one person (see `person_named`)."""

    users: Mapping[str, Sequence[str]] = {}
    if_busy: e.BusyPolicy = "queue"
    titles: bool = False
    workdir: str | None = None


class NewIds(msgspec.Struct, frozen=True):
    """Ids for the turn and the session that the message may start."""

    turn: str
    session: str


def handle_message(
    message: IncomingMessage, policy: GatewayPolicy, names: NewIds, news: Sequence[str] = ()
) -> Decision:
    """The decision for the message. Its append raises `KeyTaken` where the message was handled before.

    `news`: sentences for the user, sent where the message starts a turn.
    """
    return lambda load: DecisionResult(
        writes=tuple(_MessageHandler(message, policy, names, load, news).writes()),
        keys=message_keys(message),
    )


def noted(message: IncomingMessage, text: str) -> Decision:
    """The decision to answer a message with a text of the gateway itself, and nothing else."""
    write = note(message, text)
    return lambda _load: DecisionResult(writes=(write,), keys=message_keys(message))


def note(message: IncomingMessage, text: str, suffix: str = "") -> StreamEvents:
    """A message of the gateway itself to the sender."""
    delivery = "d" + re.sub(r"[^A-Za-z0-9]", "x", message.key) + suffix
    requested = DeliveryRequested(
        delivery=delivery, target=message.target, text=text, source=message.platform
    )
    return StreamEvents(deliveries.stream_of(delivery), (requested,))


def help_text() -> str:
    """The list of commands, for users who sent an unknown one."""
    return "\n".join([WELCOME, *(f"/{name} {about}" for name, (about, _) in COMMANDS.items())])


class _MessageHandler:
    """One message, and the streams that it changes."""

    def __init__(
        self,
        message: IncomingMessage,
        policy: GatewayPolicy,
        names: NewIds,
        load: StateLoader,
        news: Sequence[str],
    ) -> None:
        self._message = message
        self._news = news
        self._policy = policy
        self._names = names
        self._load = load
        self._person: Person = load(
            stream_of_person(message.conversation or person_named(message.user, policy.users))
        )

    def writes(self) -> Iterable[StreamEvents]:
        """The events of all streams that the message changes."""
        if self._message.text is None:
            return self._note(self._message.note)
        match = _COMMAND.fullmatch(self._message.text.strip())
        try:
            if match is None:
                return self._submit(self._message.text)
            _, act = COMMANDS.get(match["name"].lower(), ("", _MessageHandler.explain))
            return act(self, (match["rest"] or "").strip())
        except Rejected as refused:
            return self._note(f"{refused.message} {refused.hint}".rstrip())

    # --- the commands ---------------------------------------------------------------------------

    def explain(self, _rest: str) -> Iterable[StreamEvents]:
        return self._note(help_text())

    def new_session(self, rest: str) -> Iterable[StreamEvents]:
        if rest:
            return self._submit(rest, new_session=True)
        return [*self._note(FRESH), self._opened()]

    def stop(self, _rest: str) -> Iterable[StreamEvents]:
        session = self._session()
        if session is None or session.current is None:
            return self._note(NOTHING_RUNS)
        command = c.CancelTurn(turn=session.current.id, by=self._message.user)
        waiting = _waiting(session)
        return [*self._decided(session, command), *self._note(f"I stop. {waiting}".rstrip())]

    def go_on(self, _rest: str) -> Iterable[StreamEvents]:
        session = self._session()
        ended = session.ended.get(session.last_ended or "") if session else None
        if session is None or ended is None or ended.stopped_by is None:
            return self._note(NOTHING_STOPPED)
        command = c.ResumeTurn(
            e.TurnResumed(turn=session.last_ended or "", by=self._message.user), only_stopped=True
        )
        return self._decided(session, command)

    def rate(self, rest: str) -> Iterable[StreamEvents]:
        session = self._session()
        if session is None or session.last_ended is None:
            return self._note(NO_CONVERSATION)
        rating, _, note = rest.partition(" ")
        if rating not in get_args(e.Rating):
            return self._note(RATE)
        command = c.RateTurn(
            e.TurnRated(
                turn=session.last_ended,
                rating=cast(e.Rating, rating),
                by=self._message.user,
                note=note.strip(),
            )
        )
        return [*self._decided(session, command), *self._note(RATED)]

    def status(self, _rest: str) -> Iterable[StreamEvents]:
        session = self._session()
        return self._note(_status(session) if session is not None else NO_CONVERSATION)

    def compress(self, rest: str) -> Iterable[StreamEvents]:
        session = self._session()
        if session is None:
            return self._note(NO_CONVERSATION)
        command = c.RequestCompression(reason="manual", focus=rest)
        return [*self._decided(session, command), *self._note(COMPRESSES)]

    def model(self, rest: str) -> Iterable[StreamEvents]:
        session = self._session()
        if session is None or session.version == 0:
            return self._note(NO_CONVERSATION)
        if not rest:
            return self._note(
                f"The model is {session.model or 'the configured one'}. /model NAME changes it."
            )
        if len(rest.split()) > 1:
            return self._note("A model's name is one word: /model NAME")
        command = c.ChangeModel(model=rest)
        return [*self._decided(session, command), *self._note(f"From now on {rest} answers here.")]

    # --- helpers ----------------------------------------------------------------------------------

    def _session(self) -> Session | None:
        """The person's session, also one that was started before their ids were joined."""
        if self._person.session is not None:
            return self._state(self._person.session)
        for user in self._policy.users.get(self._person.name, ()):
            alone: Person = self._load(stream_of_person(user))
            if alone.session is not None:
                return self._state(alone.session)
        return None

    def _state(self, session: str) -> Session:
        state: Session = self._load(stream_of(session))
        return state

    def _submit(self, text: str, *, new_session: bool = False) -> Iterable[StreamEvents]:
        session = None if new_session else self._session()
        opened = []
        if session is None or session.ended_because is not None:
            session = self._state(self._names.session)
            opened = [self._opened()]
        submitted = e.TurnSubmitted(
            turn=self._names.turn,
            session=session.id,
            text=text,
            source=self._message.platform,
            key=self._message.key,
            if_busy=self._policy.if_busy,
            opening=e.Opening(workdir=self._policy.workdir) if session.version == 0 else None,
            deliver=(self._message.target,),
            wants_title=self._policy.titles,
            author=self._message.user if self._message.conversation else "",
            attachments=self._message.attachments,
            outside=self._message.outside,
        )
        notices = self._note("\n".join(self._news), suffix="n") if self._news else []
        return [*self._decided(session, c.SubmitTurn(submitted)), *opened, *notices]

    def _decided(self, session: Session, command: c.SessionCommand) -> Iterable[StreamEvents]:
        events = decide(command, session)
        if not events:
            return []
        return with_reactions([StreamEvents(session.stream, events)], self._load).writes

    def _opened(self) -> StreamEvents:
        event = gateway_events.ConversationOpened(
            person=self._person.name, session=self._names.session, source=self._message.platform
        )
        return StreamEvents(self._person.stream, (event,))

    def _note(self, text: str, suffix: str = "") -> list[StreamEvents]:
        """A message of the gateway itself to the sender."""
        return [note(self._message, text, suffix)]


Act = Callable[[_MessageHandler, str], Iterable[StreamEvents]]
COMMANDS: Mapping[str, tuple[str, Act]] = {
    "new": ("begins a new conversation, with TEXT where there is some", _MessageHandler.new_session),
    "stop": ("ends what I am doing", _MessageHandler.stop),
    "continue": ("continues with a request that a limit stopped", _MessageHandler.go_on),
    "rate": ("up or down: says whether my last answer was good", _MessageHandler.rate),
    "status": ("says what I am doing", _MessageHandler.status),
    "model": ("says which model answers, or with NAME lets another one", _MessageHandler.model),
    "compress": ("makes a long conversation shorter, and keeps TOPIC most fully", _MessageHandler.compress),
    "inbox": ("shows what waits for your answer", _MessageHandler.explain),
    "approve": ("the same: calls that wait for your approval", _MessageHandler.explain),
    "help": ("says this", _MessageHandler.explain),
}
"""Each command with its help and its function; an unknown command is answered with this list. Where the
platform can ask people, `/inbox` and `/approve` are taken by it before."""


def _status(session: Session) -> str:
    title = f" “{session.title}”" if session.title else ""
    model = f", model {session.model}" if session.model else ""
    lines = [f"Conversation {session.id}{title}{model}."]
    if session.current is None:
        lines.append(NOTHING_RUNS)
    else:
        lines.append(f"I am at: {one_line(session.current.texts[0], SHOWN)}")
        if session.current.quota_until:
            until = datetime.fromtimestamp(session.current.quota_until, UTC)
            lines.append(
                f"The model's quota is used up until {moment(until)} UTC; I continue at that time. "
                "/model NAME continues with another model, /stop ends it."
            )
        if session.current.postponed:
            lines.append(f"{session.current.postponed} I continue by myself when I can; /stop ends it.")
        lines.append(_waiting(session))
    return "\n".join(line for line in lines if line)


def _waiting(session: Session) -> str:
    """A sentence about the turns that wait behind the running one."""
    count = len(session.waiting)
    if not count:
        return ""
    return f"{count} more messages wait for it." if count > 1 else "1 more message waits for it."
