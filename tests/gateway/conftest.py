"""A Bot API server for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.bot_server import BotServer


@pytest.fixture
def bot() -> Iterator[BotServer]:
    """A server on the loopback; nobody has written yet."""
    server = BotServer().start()
    yield server
    server.close()
