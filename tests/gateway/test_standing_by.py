"""A gateway's rounds: what it asks for after it was not the leader, and what it logs of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from hermes_jobs.features.gateway import service
from hermes_jobs.features.gateway.leader import GatewayLeader
from hermes_jobs.features.gateway.platform import PlatformUnavailable, PressAnswer, Update
from hermes_jobs.features.gateway.receiver import MessageReceiver
from hermes_jobs.features.gateway.rules.messages import IncomingFile, IncomingMessage
from hermes_jobs.features.gateway.rules.rating_buttons import ButtonPress
from hermes_jobs.features.gateway.service import GatewayService

OLD, NEW = 700_000_001, 42
"""After a week in which nobody has written, Telegram continues with any number."""


class Line:
    """A platform that answers each question with the next of these updates, and then with nothing more.

    Texts are the reasons why it is not reached.
    """

    name = "telegram:4242"

    def __init__(self, *numbers: int | str) -> None:
        self.asked: list[int] = []
        self._numbers = list(numbers)
        self.is_quiet = asyncio.Event()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def whoami(self) -> str:
        return "@hermes_test_bot"

    async def receive(self, after: int) -> Sequence[Update]:
        self.asked.append(after)
        if not self._numbers:
            self.is_quiet.set()
            await asyncio.Event().wait()
        number = self._numbers.pop(0)
        if isinstance(number, str):
            raise PlatformUnavailable(number)
        said = IncomingMessage(
            key=f"{self.name}:{number}", user="telegram:12", target="telegram:12", text="Hello"
        )
        return (Update(number=number, message=said),)

    async def download(self, file: IncomingFile) -> bytes:
        raise NotImplementedError

    async def show_typing(self, target: str) -> None:
        pass

    async def show_drafts(self) -> None:
        pass

    async def answer_press(self, press: ButtonPress, answer: PressAnswer) -> None:
        raise NotImplementedError


class Heard:
    """A receiver that records what it accepts."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def accept(self, said: IncomingMessage) -> None:
        self.keys.append(said.key)


class Turns:
    """A leader, or not, as these values say, and one in the end."""

    def __init__(self, *held: bool) -> None:
        self._held = list(held)

    def is_leader(self) -> bool:
        return self._held.pop(0) if self._held else True


def served(line: Line, post: Turns, heard: Heard) -> list[int]:
    """What is asked of the line until it has nothing more."""

    async def serve() -> list[int]:
        serving = GatewayService(
            line,
            cast(MessageReceiver, heard),
            cast(GatewayLeader, post),
            lambda _told: None,
            service.PlatformReach(),
        )
        task = asyncio.create_task(serving.run())
        await line.is_quiet.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return line.asked

    return asyncio.run(serve())


def test_numbers_of_before_confirm_nothing_when_the_post_is_held_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "STANDBY_SECONDS", 0.01)
    heard = Heard()
    post = Turns(True, True, False)  # for a question and its update, and then another process has it
    assert served(Line(OLD, NEW), post, heard) == [0, 0, NEW]
    assert heard.keys == [f"telegram:4242:{OLD}", f"telegram:4242:{NEW}"]


def test_each_kind_of_trouble_with_a_platform_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT", 0.001)
    served(Line("refused", "timed out", "refused", "refused", 1, "refused", 2), Turns(), Heard())
    assert [line.partition(";")[0] for line in caplog.messages] == [
        "refused",
        "timed out",
        "telegram:4242 is reachable again",
        "refused",
        "telegram:4242 is reachable again",
    ]
