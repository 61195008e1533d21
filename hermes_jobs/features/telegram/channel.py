"""`telegram:CHAT`: sends a placeholder, then replaces it by the answer; long answers in several parts.

Sending a message is not idempotent, editing it is. So the placeholder's id is recorded in the log before it
shows the answer, and the answer appears in the chat once, wherever a process dies. A crash between sending
and recording a placeholder leaves only that placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from telegram import Bot, InlineKeyboardMarkup, LinkPreviewOptions
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, RetryAfter, TelegramError

from hermes_jobs.domain.gateway.rating_buttons import can_be_rated, rating_buttons
from hermes_jobs.engine.coroutine import waited_for
from hermes_jobs.engine.ports import Cancel
from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
from hermes_jobs.features.deliveries.api import Delivered, Delivery, DeliveryError, Moved, PlaceholderSent
from hermes_jobs.features.telegram.bot import LIMIT, keyboard, open_bot, retry_after_seconds

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

PLACEHOLDER = "…"
NO_TEXT = "(an answer without words)"
SECONDS = 45.0
MORE_PLACEMENTS = 5
"""Placeholders in excess of the parts that are sent where some vanish, before the delivery fails."""

UNCHANGED = ("not modified",)
NOT_EDITABLE = ("message to edit not found", "message can't be edited", "message_id_invalid")


def telegram_channel(settings: Settings) -> TelegramChannel:
    """The channel of the bot whose token is set."""
    return TelegramChannel(settings.secrets.get(TOKEN), settings.gateway.telegram.base_url)


class TelegramChannel:
    """Sends messages as one bot."""

    def __init__(self, token: str | None, base_url: str | None) -> None:
        self._token = token
        self._base_url = base_url

    def deliver(
        self, delivery: Delivery, address: str, cancel: Cancel
    ) -> PlaceholderSent | Delivered | Moved:
        """Replace the newest placeholder by its part, and send the next placeholder.

        A group that has become a supergroup has another number: `Moved`.

        Raises `DeliveryError`, `StepInterrupted`.
        """
        assert delivery.requested is not None, f"{delivery.stream} was not requested"
        if not self._token:
            raise DeliveryError(f"The worker started without a {TOKEN}.")
        texts = split_message(delivery.requested.text, LIMIT) or [NO_TEXT]
        if delivery.placements >= len(texts) + MORE_PLACEMENTS:
            raise DeliveryError("Its messages vanish from the chat before they can be written.", lasting=True)
        try:
            return waited_for(self._act(self._token, delivery, address, texts), cancel, SECONDS)
        except ChatMigrated as error:
            why = f"The group {address} has become a supergroup: its chat is {error.new_chat_id} from now on."
            return Moved(str(error.new_chat_id), why)
        except TelegramError as error:
            raise _failure(error) from error
        except TimeoutError as error:
            raise DeliveryError(f"Telegram did not answer within {SECONDS:g} s.") from error

    async def _act(
        self, token: str, delivery: Delivery, address: str, texts: list[str]
    ) -> PlaceholderSent | Delivered:
        chat = address if address.startswith("@") else int(address)
        part = len(delivery.receipts)
        async with open_bot(token, self._base_url) as bot:
            if part:
                receipt = delivery.receipts[-1]
                is_last = part >= len(texts)
                buttons = rating_buttons(delivery.id) if is_last and can_be_rated(delivery) else ()
                if not await _write(bot, chat, receipt, texts[min(part, len(texts)) - 1], keyboard(buttons)):
                    part -= 1  # a user has deleted it
                elif is_last:
                    return Delivered(receipt)
            placed = await bot.send_message(chat, PLACEHOLDER)
            return PlaceholderSent(part, str(placed.message_id))


async def _write(
    bot: Bot, chat: int | str, receipt: str, text: str, buttons: InlineKeyboardMarkup | None
) -> bool:
    """Replace that message by the text with buttons below; false where it does not exist any more."""
    plain = LinkPreviewOptions(is_disabled=True)
    try:
        await bot.edit_message_text(
            text, chat_id=chat, message_id=int(receipt), link_preview_options=plain, reply_markup=buttons
        )
    except BadRequest as error:
        message = error.message.lower()
        if any(word in message for word in NOT_EDITABLE):
            return False
        if not any(word in message for word in UNCHANGED):
            raise
    return True


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


BOUNDARIES = tuple(
    re.compile(seam)
    for seam in (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?…])\s+|(?<=[。！？])", r"\s+|(?<=[，、；：])")
)
"""Boundaries: between paragraphs, lines, sentences, words; the largest first."""

MIN_FILL = 0.5
"""A boundary is skipped for a smaller one where the part before it would fill less than this share."""


def split_message(text: str, limit: int) -> list[str]:
    """The text in parts of at most `limit` UTF-16 units (at least 2), in order; none for a blank text.

    Joined they are the text, except for white space at the boundaries and around the text.
    """
    return list(_parts(text.strip(), limit))


def units(text: str) -> int:
    """The text's length in UTF-16 units, as some platforms count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _parts(rest: str, limit: int) -> Iterator[str]:
    while rest:
        size = _fitting(rest, limit)
        if size == len(rest):
            yield rest
            return
        end, begin = _cut(rest, size)
        yield rest[:end].rstrip()
        rest = rest[begin:].lstrip()


def _fitting(text: str, limit: int) -> int:
    """The number of the text's first characters that fit; characters beyond the first plane count twice."""
    head = text[:limit]
    if units(head) <= limit:
        return len(head)
    used = 0
    for index, character in enumerate(head):
        used += 2 if ord(character) > 0xFFFF else 1
        if used > limit:
            return index
    return len(head)


def _cut(text: str, size: int) -> tuple[int, int]:
    """The end of the first part, and the start of the rest."""
    window = text[: size + 1]  # a boundary right after the last character counts too
    for minimum in (int(size * MIN_FILL), 0):
        for seam in BOUNDARIES:
            matches = [match for match in seam.finditer(window) if minimum < match.start() <= size]
            if matches:
                return matches[-1].start(), matches[-1].end()
    return size, size
