"""The port of a chat platform, and the values that cross it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes_jobs.domain.gateway.commands import IncomingMessage
from hermes_jobs.domain.gateway.rating_buttons import Button, ButtonPress


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the platform had to tell: a message, the press of a button, or what is of no concern.

    `number` grows.
    """

    number: int
    message: IncomingMessage | None = None
    press: ButtonPress | None = None


class PressAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody who pressed a button is told, and the buttons from now on; None: those that there are."""

    text: str
    buttons: Sequence[Button] | None = None


class PlatformUnavailable(Exception):
    """The platform cannot be asked just now. `retry_after`: seconds it wants to be left alone."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Platform(Protocol):
    """One account on a chat platform. Used from one asyncio loop.

    Its methods raise `PlatformUnavailable`, and `Rejected`, kind `auth`, where the credentials are refused.
    """

    @property
    def name(self) -> str:
        """The platform and the account on it, such as `telegram:123456`."""

    async def open(self) -> None:
        """Make ready to ask."""

    async def close(self) -> None:
        """Let go of all connections."""

    async def whoami(self) -> str:
        """What users call the account."""

    async def receive(self, after: int) -> Sequence[Update]:
        """Wait a while for what was written, in order.

        Those up to `after` are given up by the platform: they must be in the log. 0 gives up nothing.
        """

    async def show_typing(self, target: str) -> None:
        """Let the target see for some seconds that an answer is being worked on."""

    async def answer_press(self, press: ButtonPress, answer: PressAnswer) -> None:
        """Tell it beside the button, and change the buttons. What is too old for that is left as it is."""
