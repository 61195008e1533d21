"""Telegram as a platform: private chats with one bot, polled by `getUpdates`.

python-telegram-bot's own Updater confirms messages before they are handled; here the offset follows the log.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import timedelta

import telegram
from telegram import Bot
from telegram.constants import ChatAction, ChatType
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, RetryAfter, TelegramError

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
from hermes_jobs.features.gateway.platform import PlatformUnavailable, PressAnswer, Update
from hermes_jobs.features.gateway.rules.commands import COMMANDS
from hermes_jobs.features.gateway.rules.messages import IncomingFile, IncomingMessage, captions
from hermes_jobs.features.gateway.rules.rating_buttons import ButtonPress
from hermes_jobs.features.telegram.bot import entities_of, keyboard, open_bot, place_of, retry_after_seconds
from hermes_jobs.features.telegram.drafts import AnswerDrafts
from hermes_jobs.features.telegram.media import (
    ALBUM,
    MAX_DOWNLOAD,
    Albums,
    album_of,
    albums_of,
    file_of,
    note_of,
    without_cut_album,
)
from hermes_jobs.text.figures import file_size

logger = logging.getLogger(__name__)

PLATFORM = "telegram"
FORWARDED = "a forwarded message"
MENU = ("new", "stop", "status", "compress", "model", "approve", "inbox")
POLL = timedelta(seconds=25)
ALBUM_SECONDS = 1.0  # seconds without another part, after which an album is complete
UPDATES = ("message", "callback_query")
MAX_NOTICE = 200
"""Characters of a notification (https://core.telegram.org/bots/api#answercallbackquery)."""


class TelegramPlatform:
    """One bot; `bot` is its id, `base_url` that of a Bot API server, None for Telegram's own. `drafts`: what
    private chats show of answers that are being written."""

    def __init__(
        self, token: str, bot: str, base_url: str | None, drafts: AnswerDrafts, *, hears: bool = False
    ) -> None:
        """`hears`: voice notes and other sounds are read, too."""
        self._hears = hears
        self._token = token
        self._name = f"{PLATFORM}:{bot}"
        self._base_url = base_url
        self._drafts = drafts
        self._open = AsyncExitStack()
        self._bot: Bot | None = None
        self._username = ""

    @property
    def name(self) -> str:
        """`telegram:BOT`."""
        return self._name

    async def open(self) -> None:
        """Open the connection."""
        self._bot = await self._open.enter_async_context(open_bot(self._token, self._base_url))

    async def close(self) -> None:
        """Close all connections."""
        await self._open.aclose()

    async def whoami(self) -> str:
        """The bot's user name; its menu gets the commands. Raises `PlatformUnavailable`, `Rejected`."""
        with _failures():
            me = await self._open_bot.get_me()
            with _given_up():
                await self._open_bot.set_my_commands([(name, COMMANDS[name][0]) for name in MENU])
        self._username = me.username or ""
        return f"@{me.username}"

    async def receive(self, after: int) -> Sequence[Update]:
        """The new messages to the bot. Raises `PlatformUnavailable`, `Rejected`."""
        updates = await self._updates(after, POLL)
        albums = albums_of(updates)
        while any(len(parts) < ALBUM for parts in albums.values()):
            await asyncio.sleep(ALBUM_SECONDS)
            updates = await self._updates(after, timedelta())
            before, albums = albums, albums_of(updates)
            if {album: len(parts) for album, parts in before.items()} == {
                album: len(parts) for album, parts in albums.items()
            }:
                break
        return tuple(self._received(update, albums) for update in updates)

    async def download(self, file: IncomingFile) -> bytes:
        """See `Platform`. Raises `PlatformUnavailable`, `Rejected`."""
        if file.size > MAX_DOWNLOAD:
            raise _not_given(file, f"it has {file_size(file.size)}, and bots get files of up to 20 MB")
        try:
            with _failures():
                try:
                    found = await self._open_bot.get_file(file.id)
                    return bytes(await found.download_as_bytearray())
                except (BadRequest, Forbidden) as error:
                    raise _not_given(file, error.message) from error
        except Rejected as refusal:
            if refusal.kind != "auth":
                raise
            # A download whose address is out of date is refused like a token.
            raise PlatformUnavailable("Telegram does not know the file's address") from refusal

    async def _updates(self, after: int, wait: timedelta) -> Sequence[telegram.Update]:
        with _failures():
            updates = await self._open_bot.get_updates(
                offset=after + 1 if after else None, timeout=wait, allowed_updates=UPDATES
            )
        return without_cut_album(updates)

    def _received(self, update: telegram.Update, albums: Albums) -> Update:
        """The update; an album stands in the place of its first part, so that no later part is confirmed
        before the whole is in the log."""
        album = album_of(update)
        parts = albums[album] if album is not None else (update,)
        message = self._message(parts) if parts[0] is update else None
        return Update(number=update.update_id, message=message, press=self._press(update))

    async def show_typing(self, target: str) -> None:
        """Show the typing status in the chat. Raises `PlatformUnavailable`, `Rejected`."""
        platform, _, address = target.partition(":")
        if platform == PLATFORM:
            chat, topic = place_of(address)
            with _failures():
                await self._open_bot.send_chat_action(chat, ChatAction.TYPING, message_thread_id=topic)

    async def show_drafts(self) -> None:
        """See `Platform`. Raises `PlatformUnavailable`, `Rejected`."""
        for draft in self._drafts.grown():
            chat, topic = place_of(draft.target.partition(":")[2])
            assert isinstance(chat, int), f"{draft.target} is no private chat"
            with _failures(), _given_up():
                await self._open_bot.send_message_draft(
                    chat, draft.number, draft.part.text, topic, entities=entities_of(draft.part)
                )

    async def answer_press(self, press: ButtonPress, answer: PressAnswer) -> None:
        """See `Platform`. Raises `PlatformUnavailable`, `Rejected`."""
        chat, _ = place_of(press.target.partition(":")[2])
        with _failures():
            # A press is answered within seconds or not at all; the buttons may be changed later, too.
            with _given_up():
                await self._open_bot.answer_callback_query(press.query, answer.text[:MAX_NOTICE])
            if answer.buttons is not None:
                with _given_up():
                    await self._open_bot.edit_message_reply_markup(
                        chat, press.message, reply_markup=keyboard(answer.buttons)
                    )

    @property
    def _open_bot(self) -> Bot:
        assert self._bot is not None, "it is not open"
        return self._bot

    def _message(self, parts: Sequence[telegram.Update]) -> IncomingMessage | None:
        """A message to the bot in a private chat or a group; None for others. `parts`: one, or an album's."""
        message = parts[0].message
        if message is None or message.from_user is None or message.chat.type == ChatType.CHANNEL:
            return None
        target, text = _target(message), message.text
        is_private = message.chat.type == ChatType.PRIVATE
        meant = [self._meant(part.message) for part in parts if part.message is not None]
        if not is_private:
            if not any(each is not None for each in meant):
                return None
            text = meant[0] if message.text is not None else None
        files = self._files(parts, is_private=is_private)
        return IncomingMessage(
            key=f"{self._name}:{parts[0].update_id}",
            user=f"{PLATFORM}:{message.from_user.id}",
            target=target,
            text=captions(files) if files else text,
            reply_to=message.reply_to_message.message_id if message.reply_to_message is not None else 0,
            conversation="" if is_private else target,
            name=message.from_user.first_name,
            note=note_of(parts),
            files=files,
            outside=FORWARDED if any(map(_is_of_others, parts)) else "",
        )

    def _files(self, parts: Sequence[telegram.Update], *, is_private: bool) -> tuple[IncomingFile, ...]:
        """The files of the messages, each with its caption; none where one of them is no file."""
        files = []
        for part in parts:
            assert part.message is not None, "it is a part of a message"
            caption = part.message.caption or ""
            meant = caption if is_private else self._meant(part.message)
            key = f"{self._name}:{part.update_id}"
            said = caption if meant is None else meant
            files.append(file_of(part.message, key, said, hears=self._hears))
        return tuple(file for file in files if file is not None) if None not in files else ()

    def _meant(self, message: telegram.Message) -> str | None:
        """The text or caption of a group's message that is meant for the bot: a command, one that names it,
        or a reply to it; None for what people say among themselves."""
        text = message.text or message.caption or ""
        mention = f"@{self._username}"
        answered = message.reply_to_message
        sender = answered.from_user if answered is not None else None
        if sender is not None and str(sender.id) == self._name.partition(":")[2]:
            return text
        if self._username and mention.lower() in text.lower():
            return re.sub(re.escape(mention), "", text, count=1, flags=re.IGNORECASE).strip()
        command, _, name = text.partition(" ")[0].partition("@")
        return text if command.startswith("/") and name in {"", self._username} else None

    def _press(self, update: telegram.Update) -> ButtonPress | None:
        """A button pressed by the user of a private chat, or by somebody in a group."""
        query = update.callback_query
        if query is None or not isinstance(query.message, telegram.Message):
            return None
        chat = query.message.chat
        if chat.type == ChatType.CHANNEL or (chat.type == ChatType.PRIVATE and chat.id != query.from_user.id):
            return None
        return ButtonPress(
            key=f"{self._name}:{update.update_id}",
            user=f"{PLATFORM}:{query.from_user.id}",
            target=_target(query.message),
            data=query.data or "",
            query=query.id,
            name=query.from_user.first_name,
            message=query.message.message_id,
        )


def _not_given(file: IncomingFile, why: str) -> Rejected:
    message = f"Telegram does not give me {file.name}: {why}."
    return Rejected(message, kind="usage", hint="Send a smaller one.")


def _is_of_others(part: telegram.Update) -> bool:
    """Whether the message was forwarded from somebody else than its sender."""
    message = part.message
    if message is None or message.forward_origin is None:
        return False
    author = getattr(message.forward_origin, "sender_user", None)
    return author is None or author != message.from_user


def _target(message: telegram.Message) -> str:
    topic = f"/{message.message_thread_id}" if message.is_topic_message else ""
    return f"{PLATFORM}:{message.chat.id}{topic}"


@contextmanager
def _given_up() -> Iterator[None]:
    """Ignore permanent refusals: a press that is too old, a message that is deleted or unchanged."""
    try:
        yield
    except (BadRequest, Forbidden) as error:
        logger.info("Telegram refuses to show it: %s", error.message)


@contextmanager
def _failures() -> Iterator[None]:
    """Map the library's exceptions to the port's."""
    try:
        yield
    except RetryAfter as error:
        wait = retry_after_seconds(error)
        raise PlatformUnavailable("Telegram wants to be left alone", retry_after=wait) from error
    except InvalidToken as error:
        raise Rejected(
            f"Telegram refuses the bot's token: {error.message}.",
            kind="auth",
            hint=f"Put the token that @BotFather gave you into .env in the home, as {TOKEN}=…",
        ) from error
    except Conflict as error:
        raise PlatformUnavailable(f"Something else asks for this bot's messages ({error.message})") from error
    except TelegramError as error:
        raise PlatformUnavailable(f"Telegram cannot be reached: {error.message}") from error
