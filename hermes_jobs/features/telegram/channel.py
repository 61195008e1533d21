"""`telegram:CHAT`: sends a placeholder, then replaces it by the answer; long answers in several parts.

Sending a message is not idempotent, editing it is. So the placeholder's id is recorded in the log before it
shows the answer, and the answer appears in the chat once, wherever a process dies. A crash between sending
and recording a placeholder leaves only that placeholder.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from telegram import (
    Bot,
    InlineKeyboardMarkup,
    InputFile,
    InputMediaAudio,
    InputMediaDocument,
    InputMediaPhoto,
    LinkPreviewOptions,
)
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, RetryAfter, TelegramError

from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
from hermes_jobs.features.deliveries.api import (
    ContentOf,
    Delivered,
    Delivery,
    DeliveryError,
    Moved,
    PlaceholderSent,
    nothing_of,
)
from hermes_jobs.features.gateway.rules.rating_buttons import Button, can_be_rated, rating_buttons
from hermes_jobs.features.telegram.bot import entities_of, keyboard, open_bot, place_of, retry_after_seconds
from hermes_jobs.features.telegram.delivered import DeliveredPart, MediaPart, SentPart, with_content
from hermes_jobs.features.telegram.markdown import blocks, text_block
from hermes_jobs.features.telegram.messages import FilePart, TextPart, packed
from hermes_jobs.features.telegram.pace import Pace, pace_of
from hermes_jobs.features.telegram.questions import buttons_of, question_parts
from hermes_jobs.kernel.engine.coroutine import waited_for
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.turns.attachments import Attachment

if TYPE_CHECKING:
    from hermes_jobs.features.deliveries.events import DeliveryRequested
    from hermes_jobs.settings import Settings

PLACEHOLDER = "…"
NO_TEXT = "(an answer without words)"
SECONDS = 45.0
MORE_PLACEMENTS = 5
"""Placeholders in excess of the parts that are sent where some vanish, before the delivery fails."""

MAX_WAIT = 2.0
"""Seconds that an attempt waits for its turn; the worker does other work during longer waits."""

UNCHANGED = ("not modified",)
NOT_EDITABLE = ("message to edit not found", "message can't be edited", "message_id_invalid")


def telegram_channel(settings: Settings, content_of: ContentOf) -> TelegramChannel:
    """The channel of the bot whose token is set."""
    return TelegramChannel(settings.secrets.get(TOKEN), settings.gateway.telegram.base_url, content_of)


class TelegramChannel:
    """Sends messages as one bot."""

    def __init__(self, token: str | None, base_url: str | None, content_of: ContentOf = nothing_of) -> None:
        """`content_of` gives the bytes of the files that go with an answer."""
        self._token = token
        self._base_url = base_url
        self._content_of = content_of

    def deliver(
        self, delivery: Delivery, address: str, cancel: Cancel
    ) -> PlaceholderSent | Delivered | Moved:
        """Replace the newest placeholder by its part, and send the next placeholder.

        A group that has become a supergroup has another number: `Moved`.

        Raises `DeliveryError`, `StepInterrupted`.
        """
        assert delivery.requested is not None, f"{delivery.stream} was not requested"
        if not self._token:
            raise DeliveryError(
                f"This worker has no {TOKEN}: set it in .env of its home, with what @BotFather gave you."
            )
        parts = parts_of(delivery.requested, delivery.revision)
        if delivery.placements >= len(parts) + MORE_PLACEMENTS:
            raise DeliveryError("Its messages vanish from the chat before they can be written.", lasting=True)
        try:
            return waited_for(self._act(self._token, delivery, address, parts), cancel, SECONDS)
        except ChatMigrated as error:
            why = f"The group {address} has become a supergroup: its chat is {error.new_chat_id} from now on."
            return Moved(str(error.new_chat_id), why)
        except TelegramError as error:
            raise _failure(error) from error
        except TimeoutError as error:
            raise DeliveryError(f"Telegram did not answer within {SECONDS:g} s.") from error

    async def _act(
        self, token: str, delivery: Delivery, address: str, parts: Sequence[DeliveredPart]
    ) -> PlaceholderSent | Delivered:
        chat, thread = place_of(address)
        part = len(delivery.receipts)
        is_last = part >= len(parts)
        turn = _turn(pace_of(token, self._base_url), chat, delivery.id)
        async with open_bot(token, self._base_url) as bot, AsyncExitStack() as stack:
            if not is_last:
                await stack.enter_async_context(turn)
            if part:
                receipt = delivery.receipts[-1]
                buttons = _buttons(delivery) if is_last else ()
                shown = self._shown(parts[min(part, len(parts)) - 1])
                is_written = await _write(bot, chat, receipt, shown, keyboard(buttons))
                if not is_written and is_last and delivery.revision is not None:
                    return Delivered(receipt)  # a decided question that was deleted is not shown again
                if is_written and is_last:
                    return Delivered(receipt)
                if not is_written:
                    part -= 1  # a user has deleted it
                    if is_last:
                        await stack.enter_async_context(turn)
            placed = await bot.send_message(chat, PLACEHOLDER, message_thread_id=thread)
            return PlaceholderSent(part, str(placed.message_id))

    def _shown(self, part: DeliveredPart) -> SentPart:
        """The part as it is sent."""
        return with_content(part, self._content_of) if isinstance(part, Attachment) else part


def parts_of(requested: DeliveryRequested, revision: str | None = None) -> Sequence[DeliveredPart]:
    """The messages of a delivery: an answer is Markdown, and a gateway's own message plain text."""
    if requested.question is not None:
        return question_parts(requested, revision)
    read = [text_block(requested.text)] if requested.turn is None else blocks(requested.text)
    return [*(packed(read) or [TextPart(NO_TEXT)]), *requested.attachments]


def _buttons(delivery: Delivery) -> Sequence[Button]:
    return rating_buttons(delivery.id) if can_be_rated(delivery) else buttons_of(delivery)


@asynccontextmanager
async def _turn(pace: Pace, chat: int | str, delivery: str) -> AsyncIterator[None]:
    """The delivery's turn to send a message. Raises `DeliveryError` where a wait would hold up the worker."""
    while wait := pace.wait(chat, delivery):
        if wait > MAX_WAIT:
            raise DeliveryError("Other messages go to the chat before it.", retry_after=wait, in_line=True)
        await asyncio.sleep(wait)
    try:
        yield
    finally:
        pace.is_sent(chat)


async def _write(
    bot: Bot, chat: int | str, receipt: str, part: SentPart, buttons: InlineKeyboardMarkup | None
) -> bool:
    """Replace that message by the part with buttons below; false where it does not exist any more."""
    try:
        await _edit(bot, chat, int(receipt), part, buttons)
    except BadRequest as error:
        message = error.message.lower()
        if any(word in message for word in NOT_EDITABLE):
            return False
        if not any(word in message for word in UNCHANGED):
            raise
    return True


async def _edit(
    bot: Bot, chat: int | str, message: int, part: SentPart, buttons: InlineKeyboardMarkup | None
) -> None:
    if isinstance(part, FilePart):
        file = InputFile(part.content.encode("utf-8", "replace"), filename=part.name, attach=True)
        await bot.edit_message_media(InputMediaDocument(file), chat, message, reply_markup=buttons)
        return
    if isinstance(part, MediaPart):
        file = InputFile(part.content, filename=part.name, attach=True)
        kind = InputMediaAudio if part.is_sound else InputMediaDocument
        media = InputMediaPhoto(file) if part.is_photo else kind(file)
        await bot.edit_message_media(media, chat, message, reply_markup=buttons)
        return
    await bot.edit_message_text(
        part.text,
        chat_id=chat,
        message_id=message,
        entities=entities_of(part),
        link_preview_options=LinkPreviewOptions(is_disabled=True),
        reply_markup=buttons,
    )


def _failure(error: TelegramError) -> DeliveryError:
    match error:
        case RetryAfter():
            wait = retry_after_seconds(error)
            return DeliveryError(f"Telegram allows no request for {wait:g} s.", retry_after=wait)
        case InvalidToken():
            return DeliveryError(f"Telegram refuses the bot's token ({TOKEN}): {error.message}.")
        case Forbidden() | BadRequest():
            return DeliveryError(f"Telegram refuses: {error.message}.", lasting=True)
        case _:
            return DeliveryError(f"Telegram cannot be reached: {error.message}.")
