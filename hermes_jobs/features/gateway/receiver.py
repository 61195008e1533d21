"""Accept messages of allowed users: each becomes events once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from hermes_jobs.errors import KeyTaken, Rejected
from hermes_jobs.features.gateway.files import FileReceiver
from hermes_jobs.features.gateway.platform import PressAnswer
from hermes_jobs.features.gateway.rules.commands import GatewayPolicy, NewIds, handle_message
from hermes_jobs.features.gateway.rules.gateway import Person, person_named, stream_of_person
from hermes_jobs.features.gateway.rules.messages import SCOPE, IncomingFile, IncomingMessage
from hermes_jobs.features.gateway.rules.rating_buttons import (
    CONFIRMATIONS,
    ButtonPress,
    handle_press,
    rating_buttons,
    rating_now,
)
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.streams.decision import Decision

logger = logging.getLogger(__name__)

MAX_LOGGED_STRANGERS = 1_000  # ignored users that are logged


class MessageReceiver:
    """`allowed` are the users that may write, such as `telegram:12`; all others get nothing."""

    def __init__(
        self,
        engine: Engine,
        house: GatewayPolicy,
        allowed: Collection[str],
        news: Callable[[str], Sequence[str]] = lambda _session: (),
        press: Callable[[ButtonPress], PressAnswer | None] = lambda _press: None,
        take: Callable[[IncomingMessage], Decision | None] = lambda _message: None,
        files: FileReceiver | None = None,
    ) -> None:
        """`news(session)`: notices for its user since its newest turn. `press` takes the presses of its own
        buttons, and returns None for others; `take` likewise decides about messages of its own. `files`
        takes in what is attached."""
        self._engine = engine
        self._policy = house
        self._allowed = frozenset(allowed)
        self._news = news
        self._press = press
        self._take = take
        self._files = files
        self._ignored: set[str] = set()

    def to_download(self, message: IncomingMessage) -> Sequence[IncomingFile]:
        """The files that are needed to accept the message. Raises `Rejected` for more or larger ones than a
        message may have, `LogUnavailable`."""
        remaining = self._remaining(message) if message.files and message.user in self._allowed else None
        if remaining is None or self._files is None:
            return ()
        self._files.check(remaining.files)
        return remaining.files

    def accept(self, message: IncomingMessage, files: Mapping[str, bytes] = MappingProxyType({})) -> None:
        """Record a message, unless it is recorded; `files` are the contents by the platform's id. Of an
        album, those parts are recorded that are not yet: they are a message of their own.

        Raises `LogUnavailable`.
        """
        if message.user not in self._allowed:
            self._ignore(message.user)
            return
        while (remaining := self._remaining(message)) is not None:
            if self._files is not None and remaining.files and remaining.text is not None:
                remaining = self._files.take_in(remaining, files)
            if self._accepted(remaining):
                return
        logger.info("message %s was already accepted", message.key)

    def _remaining(self, message: IncomingMessage) -> IncomingMessage | None:
        log = self._engine.log
        return message.without({key for key in message.keys if log.key(SCOPE, key) is not None})

    def _accepted(self, message: IncomingMessage) -> bool:
        """Whether it is recorded now; false where another process has recorded something of it."""
        ids = self._engine.ids
        names = NewIds(turn=ids.name("t"), session=ids.name("s"))
        session = self._session(message.conversation or message.user)
        news = () if session is None else self._news(session)
        try:
            decision = self._take(message) or handle_message(message, self._policy, names, news)
            self._engine.change(decision, f"gateway {message.key}")
        except KeyTaken:
            return False
        return True

    def accept_press(self, press: ButtonPress) -> PressAnswer | None:
        """Record the press of a button, unless it is recorded; None for a user who may not write.

        Raises `LogUnavailable`.
        """
        if press.user not in self._allowed:
            self._ignore(press.user)
            return None
        if (answer := self._press(press)) is not None:
            return answer
        try:
            try:
                self._engine.change(handle_press(press), f"gateway {press.key}")
            except KeyTaken:
                logger.info("press %s was already accepted", press.key)
            delivery, rating = rating_now(press, self._engine.state)
        except Rejected as rejection:
            return PressAnswer(text=rejection.message)
        return PressAnswer(text=CONFIRMATIONS[rating], buttons=rating_buttons(delivery, rating))

    def _session(self, user: str) -> str | None:
        """The user's current session."""
        person = self._engine.state(stream_of_person(person_named(user, self._policy.users)))
        assert isinstance(person, Person)
        return person.session

    def _ignore(self, user: str) -> None:
        """Log an ignored user once, so that ignored users cannot fill the logs."""
        if user not in self._ignored and len(self._ignored) < MAX_LOGGED_STRANGERS:
            self._ignored.add(user)
            logger.info("messages of %s are ignored: the settings do not allow this user", user)
