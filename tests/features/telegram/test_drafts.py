"""Answers as they are written: shown in private chats, sparsely, and never instead of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hermes_jobs.features.gateway import service
from hermes_jobs.features.telegram.drafts import AnswerDrafts, draft_part
from hermes_jobs.features.telegram.messages import LIMIT
from hermes_jobs.features.telegram.rich_text import Entity
from hermes_jobs.features.telegram.splitting import units
from hermes_jobs.kernel.live import LocalChannel, TextDelta
from tests.gateway.bot_server import QUICK, BotServer, Fault, quick_bot
from tests.gateway.serving import ANNA, environ_of, serving
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer

GROUP = -1_000_500
HALF, REST = "Here is **the** first ha", "lf, and the rest."
WHOLE = "Here is the first half, and the rest."


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    with quick_bot(monkeypatch) as server:
        yield server


@pytest.fixture
def environ(
    tmp_path: Path, bot: BotServer, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, str]:
    for name in ("FIRST_WAIT", "MAX_WAIT", "LOOK_EVERY", "DRAFT_EVERY", "TYPING_EVERY"):
        monkeypatch.setattr(service, name, QUICK)
    model_server.follow(Script(rules=(Rule("Tell", (Hold(first=HALF, answer=Answer(text=REST)),)),)))
    return environ_of(tmp_path, bot, model_server.base_url)


def test_a_private_chat_shows_the_answer_while_it_is_written_and_then_gets_it_once(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    with serving(environ):
        bot.write(ANNA, "Tell me")
        bot.wait_until(lambda: bool(bot.drafts), "a draft")
        bot.wait_until(lambda: bot.count("sendChatAction") > 5, "that time goes by")
        assert bot.drafts == [(ANNA, "Here is the first")]
        assert bot.said(ANNA) == []
        model_server.release()
        bot.wait_until(lambda: bool(bot.said(ANNA)), "the answer")
        assert bot.said(ANNA) == [WHOLE]
    shown = [text for _, text in bot.drafts]
    assert shown == sorted(set(shown), key=len)
    assert all(WHOLE.startswith(text) for text in shown)


def test_a_group_is_shown_that_the_bot_types(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    with serving(environ):
        bot.write(ANNA, "@hermes_test_bot Tell us", kind="supergroup", chat=GROUP)
        bot.wait_until(lambda: bot.typed.count(GROUP) > 3, "typing")
        model_server.release()
        bot.wait_until(lambda: bot.said(GROUP) == [WHOLE], "the answer")
    assert bot.drafts == []


def test_a_server_without_drafts_is_asked_once(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    bot.fail("sendMessageDraft", Fault(status=404, description="Not Found: method not found"))
    with serving(environ):
        bot.write(ANNA, "Tell me")
        bot.wait_until(lambda: bot.count("sendMessageDraft") == 1, "a draft")
        model_server.release()
        bot.wait_until(lambda: bot.said(ANNA) == [WHOLE], "the answer")
    assert bot.count("sendMessageDraft") == 1


def test_a_draft_that_is_refused_costs_nothing_but_itself(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    bot.fail("sendMessageDraft", Fault(status=429, retry_after=60))
    with serving(environ):
        bot.write(ANNA, "Tell me")
        bot.wait_until(lambda: bot.count("sendMessageDraft") == 1, "a draft")
        model_server.release()
        bot.wait_until(lambda: bot.said(ANNA) == [WHOLE], "the answer")
    assert bot.drafts == []


def delta(turn: str, text: str, *, at: int = 0, tool: bool = False) -> TextDelta:
    return TextDelta(turn=turn, step=f"{turn}-1", attempt=1, call=f"{turn}m", at=at, text=text, tool=tool)


def test_only_what_has_grown_is_given_and_one_for_each_chat() -> None:
    channel = LocalChannel()
    drafts = AnswerDrafts([channel], lambda text: text.replace("secret", "[REDACTED]"))
    drafts.watch({"t1": ["telegram:12"], "t2": ["telegram:12"]})
    channel.publish(delta("t1", "My secret is out. "))
    channel.publish(delta("t2", "Other words. "))
    channel.publish(delta("t2", "a tool's output ", tool=True))
    channel.publish(delta("t3", "nobody watches "))
    given = [[draft.part.text for draft in drafts.grown()] for _ in range(3)]
    assert given == [["My [REDACTED] is out."], ["Other words."], []]
    channel.publish(delta("t1", "half", at=18))
    assert list(drafts.grown()) == []
    drafts.watch({})
    channel.publish(delta("t1", "half of it ", at=18))
    assert list(drafts.grown()) == []


@pytest.mark.parametrize("text", ["", "word", "\n\n", "```"])
def test_too_little_is_no_draft(text: str) -> None:
    assert draft_part(text) is None


def test_an_unfinished_text_has_its_styles_and_an_unfinished_block_of_code_is_code() -> None:
    part = draft_part("See **this**:\n\n```python\nprint(1)\nprint(2")
    assert part is not None
    assert part.text == "See this:\n\nprint(1)"
    assert part.entities == (Entity("bold", 4, 4), Entity("pre", 11, 8, language="python"))


@pytest.mark.parametrize("text", ["word 😀 " * 3_000, "```\n" + "line of code\n" * 900])
def test_of_a_long_text_the_end_is_shown(text: str) -> None:
    part = draft_part(f"Begin. {text}")
    assert part is not None
    assert 0 < units(part.text) <= LIMIT
    assert part.text.endswith(text.strip()[-5:])
    assert "Begin" not in part.text
