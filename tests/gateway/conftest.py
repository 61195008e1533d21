"""A Bot API server for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.bot_server import BotServer, quick_bot


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    """A server on the loopback; nobody has written yet."""
    with quick_bot(monkeypatch) as server:
        yield server
