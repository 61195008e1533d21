"""A connection to the Bot API, by python-telegram-bot; imported only where Telegram is used."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from ssl import SSLContext

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity
from telegram.error import RetryAfter
from telegram.request import HTTPXRequest

from hermes_jobs.features.gateway.rules.rating_buttons import Button
from hermes_jobs.features.telegram.messages import TextPart

OFFICIAL = "https://api.telegram.org"
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 20.0
CONNECTIONS = 8

_TOKEN_FORM = re.compile(r"(?P<bot>\d+):[\w-]{16,}", re.ASCII)


def bot_id_of(token: str) -> str | None:
    """The id of the bot that a token belongs to; None for an invalid token."""
    match = _TOKEN_FORM.fullmatch(token)
    return match["bot"] if match else None


def place_of(address: str) -> tuple[int | str, int | None]:
    """The chat and the topic of a target's address: `12`, `-1001/7`, or `@name` of a channel."""
    if address.startswith("@"):
        return address, None
    chat, _, topic = address.partition("/")
    return int(chat), int(topic) if topic else None


@asynccontextmanager
async def open_bot(token: str, base_url: str | None) -> AsyncIterator[Bot]:
    """A bot whose connections are closed after the block. `base_url`: a Bot API server's, None for Telegram's
    own.
    """
    # It logs every request, and the token is a part of their URLs.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # The option that returns times in the form of the library's next version, instead of warning.
    os.environ.setdefault("PTB_TIMEDELTA", "1")
    request = HTTPXRequest(
        connection_pool_size=CONNECTIONS,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=ANSWER_SECONDS,
        write_timeout=ANSWER_SECONDS,
        pool_timeout=CONNECT_SECONDS,
        httpx_kwargs={"verify": _trust()},
    )
    try:
        yield Bot(
            token,
            base_url=f"{(base_url or OFFICIAL).rstrip('/')}/bot",
            base_file_url=f"{(base_url or OFFICIAL).rstrip('/')}/file/bot",
            request=request,
            get_updates_request=request,
        )
    finally:
        await request.shutdown()


@cache
def _trust() -> SSLContext:
    """The trusted certificates: reading them takes 0.1 s, once per process."""
    from httpx import create_ssl_context

    context: SSLContext = create_ssl_context()
    return context


def keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    """The buttons in rows of two below a message; None for no buttons."""
    row = [InlineKeyboardButton(button.label, callback_data=button.data) for button in buttons]
    return InlineKeyboardMarkup([row[at : at + 2] for at in range(0, len(row), 2)]) if row else None


def entities_of(part: TextPart) -> list[MessageEntity]:
    """The entities of a message, in the library's form."""
    return [
        MessageEntity(
            each.style, each.offset, each.length, url=each.link or None, language=each.language or None
        )
        for each in part.entities
    ]


def retry_after_seconds(error: RetryAfter) -> float:
    """The wait that Telegram requests, in seconds."""
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)
