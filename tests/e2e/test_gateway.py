"""`hermes-jobs run gateway telegram` as people start it: beside workers or alone, and how it ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.bot_server import TOKEN, BotServer
from tests.gateway.serving import ANNA
from tests.home import Home, endpoint
from tests.model_server import ModelServer
from tests.tools.support import wait_until


@pytest.fixture
def bot() -> Iterator[BotServer]:
    server = BotServer().start()
    yield server
    server.close()


@pytest.fixture
def home(tmp_path: Path, bot: BotServer, model_server: ModelServer) -> Home:
    settings = {
        "TELEGRAM_BOT_TOKEN": TOKEN,
        "HERMES_JOBS_GATEWAY__TELEGRAM__BASE_URL": bot.base_url,
        "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": f"[{ANNA}]",
    }
    return Home(tmp_path, {**endpoint(model_server.base_url), **settings})


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_gateway_alone_answers_and_ends_well(home: Home, bot: BotServer, number: signal.Signals) -> None:
    with home.start("gateway", "telegram") as gateway:
        gateway.wait_for("Listening as @hermes_test_bot.")
        bot.write(ANNA, "Hello")
        wait_until(lambda: bot.said(ANNA) == ["You said: Hello"], "the answer")
        gateway.signal(number)
        ended = gateway.end()
    assert ended.code == 0
    assert "No worker is alive: this process runs the turns, too." in ended.err
    assert TOKEN not in ended.err + ended.out
    (turn,) = home.run("turns", "list", "--json").json
    assert (turn["source"], turn["status"]) == ("telegram", "completed")
    assert "To telegram:12  sent" in home.run("turns", "show", turn["turn"]).out
    assert home.run("events", "verify").code == 0


@pytest.mark.slow
def test_beside_workers_it_only_listens(home: Home, bot: BotServer) -> None:
    nobody = {"HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": "[]"}  # so that `up` does not listen itself
    with home.start("up", "--no-flower", **nobody) as up:
        up.wait_for("Ctrl-C")
        with home.start("gateway", "telegram") as gateway:
            gateway.wait_for("Listening as")
            bot.write(ANNA, "Hello")
            wait_until(lambda: bot.said(ANNA) == ["You said: Hello"], "the answer")
            assert "runs the turns" not in gateway.err
            assert TOKEN not in gateway.err + up.err
            gateway.signal(signal.SIGTERM)
            assert gateway.end().code == 0
        up.signal(signal.SIGTERM)
        assert up.end().code == 0


def test_without_a_token_it_ends_with_the_code_for_credentials(home: Home) -> None:
    ended = home.run("gateway", "telegram", TELEGRAM_BOT_TOKEN="")
    assert ended.code == 4
    assert "There is no TELEGRAM_BOT_TOKEN." in ended.err


def test_a_refused_token_ends_it_and_is_not_shown(home: Home) -> None:
    wrong = "4242:this-token-is-not-the-right-one"
    ended = home.run("gateway", "telegram", TELEGRAM_BOT_TOKEN=wrong)
    assert ended.code == 4
    assert "Telegram refuses the bot's token" in ended.err
    assert wrong not in ended.err


def test_wrong_settings_are_refused_before_anything_is_asked(home: Home, bot: BotServer) -> None:
    ended = home.run("gateway", "telegram", HERMES_JOBS_GATEWAY__USERS="{anna: ['12']}")
    assert ended.code == 2
    assert "gateway.users.anna: '12' is not an id on a platform." in ended.err
    assert bot.calls == []
