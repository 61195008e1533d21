"""The buttons below an answer in Telegram: who may press them, what they record, and what they show then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_jobs.features.gateway import service
from hermes_jobs.features.gateway.rules.rating_buttons import (
    CONFIRMATIONS,
    MAX_DATA,
    NOT_HERE,
    rating_buttons,
)
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.gateway.bot_server import BotServer, Fault
from tests.gateway.serving import ANNA, Served, environ_of, serving
from tests.gateway.test_service import STRANGER, answers
from tests.model_script import Refuse, Rule, Script
from tests.model_server import ModelServer

HELLO = "You said: Hello"
UP, DOWN = "👍", "👎"
BOTH = f"[{ANNA}, {STRANGER}]"


@pytest.fixture
def environ(tmp_path: Path, bot: BotServer, model_server: ModelServer) -> Mapping[str, str]:
    return environ_of(tmp_path, bot, model_server.base_url)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(service, "MAX_WAIT", 0.05)


def ratings(served: Served) -> list[tuple[str, str | None]]:
    rated = [fact for fact in facts_of(served.application.log) if isinstance(fact, e.TurnRated)]
    return [(fact.rating, fact.by) for fact in rated]


def given_up(bot: BotServer) -> None:
    bot.wait_until(lambda: bot.unconfirmed() == 0, "the end of all updates")


def test_a_press_rates_the_turn_and_is_shown(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Hello")
        answers(bot, HELLO)
        assert bot.labels(ANNA, HELLO) == [UP, DOWN]
        for pressed, shown in [
            (UP, [f"✅ {UP}", DOWN]),
            (DOWN, [UP, f"✅ {DOWN}"]),
            (f"✅ {DOWN}", [UP, DOWN]),
        ]:
            bot.press(ANNA, pressed, HELLO)
            bot.wait_until(lambda shown=shown: bot.labels(ANNA, HELLO) == shown, f"the buttons {shown}")  # type: ignore[misc]
        given_up(bot)
        assert ratings(served) == [(each, f"telegram:{ANNA}") for each in ("up", "down", "none")]
    assert bot.notices == [CONFIRMATIONS["up"], CONFIRMATIONS["down"], CONFIRMATIONS["none"]]


def test_notes_and_failed_turns_have_no_buttons(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(Script(rules=(Rule("Break", (Refuse(status=400, message="no"),)),)))
    with serving(environ):
        bot.write(ANNA, "/help")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 1, "the help")
        bot.write(ANNA, "Break")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 2, "the failure")
    assert [bot.labels(ANNA, text) for text in bot.said(ANNA)] == [[], []]


def test_only_its_person_can_rate_it(environ: Mapping[str, str], bot: BotServer) -> None:
    both = {**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": BOTH}
    with serving(both) as served:
        bot.write(ANNA, "Hello")
        answers(bot, HELLO)
        bot.write(STRANGER, "Hi")
        answers(bot, "You said: Hi", chat=STRANGER)
        hers = dict(bot.keyboards[ANNA, next(iter(bot.chats[ANNA]))])[UP]
        bot.press(STRANGER, UP, HELLO, chat=ANNA)  # in her chat: where others read along
        bot.press(STRANGER, UP, "You said: Hi", data=hers)  # a forged one
        bot.press(STRANGER, UP, "You said: Hi", data="rate:up:none")
        bot.press(STRANGER, UP, "You said: Hi", data="something else")
        given_up(bot)
        assert ratings(served) == []
    assert bot.notices == [NOT_HERE] * 3


def test_a_person_without_access_cannot_rate(environ: Mapping[str, str], bot: BotServer) -> None:
    both = {**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": BOTH}
    with serving(both):
        bot.write(STRANGER, "Hello")
        answers(bot, HELLO, chat=STRANGER)
    with serving(environ) as served:
        bot.press(STRANGER, UP, HELLO)
        given_up(bot)
        assert ratings(served) == []
    assert bot.notices == []


def test_a_press_of_long_ago_counts_and_the_buttons_follow(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ):
        bot.write(ANNA, "Hello")
        answers(bot, HELLO)
        given_up(bot)
    bot.press(ANNA, UP, HELLO)
    bot.press(ANNA, UP, HELLO)  # again, before the first was heard: the buttons are the same then
    bot.forget_presses()
    with serving(environ) as served:
        given_up(bot)
        assert ratings(served) == [("up", f"telegram:{ANNA}")]
        bot.write(ANNA, "And now?")
        answers(bot, HELLO, "You said: And now?")
    assert bot.labels(ANNA, HELLO) == [f"✅ {UP}", DOWN]
    assert bot.notices == []


def test_a_press_is_recorded_once_whatever_the_network_does(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Hello")
        answers(bot, HELLO)
        bot.fail("answerCallbackQuery", Fault(cut="before"), Fault(status=429, retry_after=0))
        bot.fail("editMessageReplyMarkup", Fault(cut="after"), Fault(cut="before"))
        bot.press(ANNA, DOWN, HELLO)
        given_up(bot)
        assert ratings(served) == [("down", f"telegram:{ANNA}")]
    assert bot.labels(ANNA, HELLO) == [UP, f"✅ {DOWN}"]
    assert bot.notices == [CONFIRMATIONS["down"]]


def test_buttons_that_would_carry_too_much_are_left_out() -> None:
    fits = "d" * (MAX_DATA - len("rate:none:"))
    assert len(rating_buttons(fits, "up")) == 2
    assert rating_buttons(f"{fits}d", "up") == ()
