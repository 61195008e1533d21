"""The port of a chat platform, and the values that cross it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes_jobs.features.gateway.rules.messages import IncomingFile, IncomingMessage
from hermes_jobs.features.gateway.rules.rating_buttons import Button, ButtonPress


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """An update of the platform: a message, the press of a button, or something else, which is ignored.

    `number` grows.
    """

    number: int
    message: IncomingMessage | None = None
    press: ButtonPress | None = None


class PressAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a pressed button, and the new buttons; None: unchanged."""

    text: str
    buttons: Sequence[Button] | None = None


class PlatformUnavailable(Exception):
    """The platform is temporarily unavailable. `retry_after`: the requested delay in seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Platform(Protocol):
    """One account on a chat platform. Used from one asyncio loop.

    Its methods raise `PlatformUnavailable`, and `Rejected`, kind `auth`, if the credentials are refused.
    """

    @property
    def name(self) -> str:
        """The platform and the account on it, such as `telegram:123456`."""

    async def open(self) -> None:
        """Open the connection."""

    async def close(self) -> None:
        """Close all connections."""

    async def whoami(self) -> str:
        """The account's name for users."""

    async def receive(self, after: int) -> Sequence[Update]:
        """Wait a while for what was written, in order.

        Those up to `after` are given up by the platform: they must be in the log. 0 gives up nothing.
        """

    async def download(self, file: IncomingFile) -> bytes:
        """The file's content. Raises `Rejected`, kind `usage`, where the platform does not give it."""

    async def show_typing(self, target: str) -> None:
        """Show for some seconds that an answer is in progress."""

    async def show_drafts(self) -> None:
        """Show what was written of answers since the last call, where the platform can."""

    async def answer_press(self, press: ButtonPress, answer: PressAnswer) -> None:
        """Show the reply beside the button, and change the buttons. Ignored if the press is too old."""
