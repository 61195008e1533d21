"""The gateway over a real Bot API client: who is heard, what is answered, and what it lives through."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.workers import statuses
from hermes_jobs.errors import LogUnavailable, Misconfigured, Rejected
from hermes_jobs.features.deliveries.events import DeliveryRequested, DeliverySent
from hermes_jobs.features.gateway import events as gateway_events
from hermes_jobs.features.gateway import service
from hermes_jobs.features.gateway.receiver import MessageReceiver
from hermes_jobs.features.gateway.rules.commands import GatewayPolicy
from hermes_jobs.features.gateway.rules.messages import IncomingMessage
from hermes_jobs.features.memory.rules.writes import Operation, Origin, Write
from hermes_jobs.features.telegram.api import telegram_service, validate_users
from hermes_jobs.interfaces.cli.doctor.gateway import telegram
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.live import LocalChannel
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.settings import load
from tests.e2e.invariants import facts_of
from tests.gateway.bot_server import PATIENCE, TOKEN, BotServer, Fault
from tests.gateway.serving import ANNA, environ_of, serving
from tests.model_script import Answer, AskedCall, Hold, Refuse, Rule, Script, Seen
from tests.model_server import ModelServer
from tests.tools.support import wait_until

STRANGER = 99
MODEL = {"HERMES_JOBS_MODEL__MODEL": "first", "HERMES_JOBS_MODEL__PROVIDER": "custom"}
LONG = "\n\n".join(f"Part {number}. " + "word " * 150 for number in range(15)).strip()


@pytest.fixture
def environ(tmp_path: Path, bot: BotServer, model_server: ModelServer) -> Mapping[str, str]:
    return environ_of(tmp_path, bot, model_server.base_url)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(service, "MAX_WAIT", 0.05)
    monkeypatch.setattr(service, "LOG_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(service, "STANDBY_SECONDS", 0.05)
    monkeypatch.setattr(service, "TYPING_EVERY", 0.05)
    monkeypatch.setattr(service, "LOOK_EVERY", 0.05)


def answers(bot: BotServer, *expected: str, chat: int = ANNA) -> None:
    """Wait until exactly these stand in the chat."""
    bot.wait_until(lambda: len(bot.said(chat)) >= len(expected), f"answers in chat {chat}")
    assert bot.said(chat) == list(expected)


def of_type(log: EventLog, kind: type[e.Event]) -> list[e.Event]:
    return [fact for fact in facts_of(log) if isinstance(fact, kind)]


def test_a_message_is_a_turn_and_its_answer_comes_back(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Hello")
        answers(bot, "You said: Hello")
        bot.write(ANNA, "And now?")
        answers(bot, "You said: Hello", "You said: And now?")
        bot.wait_until(lambda: bot.unconfirmed() == 0, "Telegram's giving up of the messages")
        turns = of_type(served.application.log, e.TurnSubmitted)
        assert [(turn.source, turn.attended) for turn in turns] == [("telegram", True)] * 2  # type: ignore[attr-defined]
        assert len({turn.session for turn in turns}) == 1  # type: ignore[attr-defined]
    assert "Listening as @hermes_test_bot." in served.told


def test_it_works_on_every_kind_of_log(environ: Mapping[str, str], bot: BotServer, log_url: str) -> None:
    shared = {**environ, "HERMES_JOBS_LOG_URL": log_url}
    with serving(shared), serving(shared, helped=False) as second:
        wait_until(lambda: any("standing by" in told for told in second.told), "standing by")
        bot.write(ANNA, "Hello")
        answers(bot, "You said: Hello")
        log = second.application.log
        wait_until(lambda: not log.steps(), "the end of all work")
        assert len(of_type(log, gateway_events.GatewayTaken)) == 1
        assert verify(log).is_sound  # type: ignore[arg-type]


def test_a_stranger_gets_nothing_and_leaves_nothing(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ) as served:
        for text in ("Hello", "/status", "/start", None):
            bot.write(STRANGER, text)
        bot.write(ANNA, "Hello")
        answers(bot, "You said: Hello")
        assert len(of_type(served.application.log, e.TurnSubmitted)) == 1
        assert len(of_type(served.application.log, DeliveryRequested)) == 1
    assert STRANGER not in bot.chats
    assert STRANGER not in bot.typed


def test_messages_in_groups_are_not_answered(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ):
        bot.write(ANNA, "Hello all", kind="group", chat=-500)
        bot.write(ANNA, "Hello you")
        answers(bot, "You said: Hello you")
    assert -500 not in bot.chats


def test_a_long_answer_arrives_whole_and_in_order(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(Script(default=Answer(text=LONG, piece=4_000)))
    with serving(environ) as served:
        bot.write(ANNA, "Tell me everything")
        wait_until(lambda: bool(of_type(served.application.log, DeliverySent)), "the end of the delivery")
    assert len(bot.said(ANNA)) > 2
    assert "\n\n".join(bot.said(ANNA)).split() == LONG.split()


def test_it_shows_that_an_answer_is_being_worked_on(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(Script(rules=(Rule("wait", (Hold(answer=Answer(text="At last.")),)),)))
    with serving(environ):
        bot.write(ANNA, "Please wait")
        bot.wait_until(lambda: len(bot.typed) >= 2, "typing")
        model_server.release()
        answers(bot, "At last.")
    assert set(bot.typed) == {ANNA}


def test_a_stopped_request_says_so_and_continue_resumes_it(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    look = Answer(tool_calls=(AskedCall("todo", {}),))
    closing = Rule("used all the tool calls", (Answer(text="Half of it."),))
    rest = Rule("where you were stopped", (Answer(text="All of it."),))
    model_server.follow(Script(rules=(closing, rest, Rule("Tidy", (look,)))))
    with serving({**environ, "HERMES_JOBS_AGENT__MAX_ITERATIONS": "1"}):
        bot.write(ANNA, "Tidy up")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 1, "the closing answer")
        bot.write(ANNA, "/continue")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 2, "the rest")
        bot.write(ANNA, "/continue")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 3, "the refusal")
    first, second, third = bot.said(ANNA)
    assert first.startswith("Half of it.")
    assert first.endswith("/continue continues.)")
    assert second == "All of it."
    assert "not stopped" in third


def test_stop_ends_a_turn_under_way(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(Script(rules=(Rule("wait", (Hold(answer=Answer(text="At last.")),)),)))
    with serving(environ) as served:
        bot.write(ANNA, "Please wait")
        model_server.wait_until(lambda: len(model_server.requests) == 1)
        bot.write(ANNA, "/stop")
        answers(bot, "I stop.")
        wait_until(lambda: bool(of_type(served.application.log, e.TurnCancelled)), "the turn's end")
        bot.write(ANNA, "Hello")
        answers(bot, "I stop.", "You said: Hello")


def test_it_asks_again_whatever_becomes_of_its_questions(environ: Mapping[str, str], bot: BotServer) -> None:
    bot.fail("getMe", Fault(status=500), Fault(cut="before"))
    bot.fail(
        "getUpdates",
        Fault(status=500),
        Fault(status=502),
        Fault(cut="before"),
        Fault(status=429, retry_after=1),
        Fault(status=409, description="Conflict: terminated by other getUpdates request"),
        Fault(cut="after"),
        Fault(status=401, description="Unauthorized"),
    )
    with serving(environ):
        bot.write(ANNA, "Hello")
        answers(bot, "You said: Hello")


@pytest.mark.slow
def test_a_failing_platform_is_shown_to_others_until_it_recovers(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    down = threading.Event()

    def wait() -> None:
        down.wait(PATIENCE)

    bot.fail("getUpdates", Fault(status=500), Fault(status=500, act=wait))
    with serving({**environ, "HERMES_JOBS_WORKERS__LEASE_SECONDS": "3"}) as served:

        def told() -> str:
            found = statuses(served.application.log).values()
            return "".join(each.unreachable for each in found)

        wait_until(lambda: "Telegram" in told(), "the problem")
        finding = next(telegram(served.application))
        assert finding.status == "warn"
        assert "a gateway asks, and nothing arrives: Telegram" in finding.message
        down.set()
        wait_until(lambda: not told(), "the end of the problem")


def test_a_refused_token_ends_it_with_a_word_and_without_the_token(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    wrong = "4242:another-token-that-is-wrong"
    with serving({**environ, "TELEGRAM_BOT_TOKEN": wrong}, helped=False) as served:
        wait_until(lambda: served.error is not None, "its end")
    assert isinstance(served.error, Rejected)
    assert served.error.kind == "auth"
    assert wrong not in served.error.message + served.error.hint


@pytest.mark.parametrize("token", ["", "nonsense"])
def test_without_a_token_nothing_is_begun(environ: Mapping[str, str], token: str) -> None:
    environ = {**environ, "TELEGRAM_BOT_TOKEN": token}
    with (
        closing(Application(load(environ), environ)) as application,
        pytest.raises(Rejected, match="TELEGRAM_BOT_TOKEN") as refused,
        telegram_service(application, print, LocalChannel()),
    ):
        pass
    assert refused.value.kind == "auth"


def test_a_second_gateway_of_a_log_waits_and_takes_over(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ, helped=False) as first:
        wait_until(lambda: len(first.told) == 1, "the first one's listening")
        with serving(environ, helped=True) as second:
            wait_until(lambda: any("standing by" in told for told in second.told), "standing by")
            bot.write(ANNA, "Hello")
            answers(bot, "You said: Hello")
            assert not any("Listening" in told for told in second.told)
            assert len(of_type(second.application.log, gateway_events.GatewayTaken)) == 1
    with serving(environ) as third:
        bot.write(ANNA, "Again")
        answers(bot, "You said: Hello", "You said: Again")
        assert len(of_type(third.application.log, gateway_events.GatewayTaken)) == 2


def test_a_message_waits_for_a_log_that_is_away_and_one_that_breaks_is_passed_over(
    environ: Mapping[str, str], bot: BotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear, refusals = MessageReceiver.accept, [LogUnavailable("away"), LogUnavailable("away")]

    def hear_at_last(reception: MessageReceiver, said: IncomingMessage) -> None:
        if said.text == "break":
            raise ValueError("a fault of the program")
        if refusals:
            raise refusals.pop()
        hear(reception, said)

    monkeypatch.setattr(MessageReceiver, "accept", hear_at_last)
    with serving(environ):
        bot.write(ANNA, "Hello")
        bot.write(ANNA, "break")
        bot.write(ANNA, "Still there?")
        answers(bot, "You said: Hello", "You said: Still there?")


def test_the_same_message_twice_is_one_turn(environ: Mapping[str, str]) -> None:
    with closing(Application(load(environ), environ)) as application:
        reception = MessageReceiver(application.engine(), GatewayPolicy(), ["telegram:12"])
        for text in ("Hello", "/status"):
            said = IncomingMessage(
                key=f"telegram:4242:{text}", user="telegram:12", target="telegram:12", text=text
            )
            reception.accept(said)
            reception.accept(said)
        assert len(of_type(application.log, e.TurnSubmitted)) == 1
        assert len(of_type(application.log, DeliveryRequested)) == 1


@pytest.mark.parametrize("users", [{"anna": ("12",)}, {"anna": ("telegram:12",), "bert": ("telegram:12",)}])
def test_people_are_joined_by_ids_that_belong_to_one_of_them(users: Mapping[str, tuple[str, ...]]) -> None:
    with pytest.raises(Misconfigured):
        validate_users(users)


def test_no_secret_is_written_anywhere(environ: Mapping[str, str], bot: BotServer, tmp_path: Path) -> None:
    with serving(environ):
        bot.write(ANNA, "Hello")
        answers(bot, "You said: Hello")
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


def test_an_answer_lists_items_learned_since_the_previous_one(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    saves = Answer(
        tool_calls=(AskedCall("memory", {"action": "add", "target": "user", "content": "Likes tea."}),)
    )
    model_server.follow(lambda seen: saves if _reviews(seen) and not seen.rounds else Answer(text="Yes."))
    with serving({**environ, "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1"}) as served:
        bot.write(ANNA, "I like tea")
        answers(bot, "Yes.")
        wait_until(lambda: bool(of_type(served.application.log, e.ReviewCompleted)), "the review")
        bot.write(ANNA, "Do you know?")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 2, "the second answer")
    assert bot.said(ANNA)[1] == "Yes.\n\nLearned meanwhile: Yes."


def test_a_chat_gets_a_notice_of_another_model(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(Script(sequence=(Refuse(status=404, message="The model does not exist."),)))
    with serving({**environ, **MODEL, "HERMES_JOBS_MODEL__FALLBACK": '["spare"]'}):
        bot.write(ANNA, "Hello")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 2, "the notice and the answer")
    assert any(said.endswith(": spare answers instead.)") for said in bot.said(ANNA))


def test_a_chat_gets_a_notice_of_a_quota_wait_and_may_use_another_model(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    used_up = Refuse(status=429, message="Usage limit reached.", headers={"retry-after": "3600"})
    model_server.follow(Script(sequence=(used_up,)))
    with serving({**environ, **MODEL}):
        bot.write(ANNA, "Hello")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 1, "the notice")
        (notice,) = bot.said(ANNA)
        assert notice.startswith("(The quota of the model first is used up until ")
        assert "/model NAME continues with another model, /stop ends it." in notice
        bot.write(ANNA, "/model second")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 3, "the answer")
    assert model_server.requests[-1].body["model"] == "second"


def test_a_chat_gets_a_notice_of_a_memory_conflict_with_its_next_message(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Hello")
        answers(bot, "You said: Hello")
        both_change_an_entry(served.application)
        bot.write(ANNA, "And now?")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 3, "the note and the answer")
        bot.write(ANNA, "Again")
        bot.wait_until(lambda: len(bot.said(ANNA)) == 4, "the next answer")
    told = [said for said in bot.said(ANNA) if "both are kept" in said]
    assert told == [
        "In the memory, you and the agent changed “Likes tea”; both are kept: the agent's “Likes green tea” "
        "and yours “Likes tea at four” (hermes-jobs memory log)."
    ]


def both_change_an_entry(application: Application) -> None:
    """A person saves a file that they opened before the entry in it was changed in the log."""
    memory, file = application.memory, application.settings.paths.memories / "USER.md"
    for change in (
        Operation(action="add", target="user", content="Likes tea"),
        Operation(action="replace", target="user", content="Likes green tea", old_text="Likes tea"),
    ):
        before = file.read_text() if file.exists() else ""
        memory.change(Write([change], Origin("user"), application.memory_limits), "test")
    file.write_text(before.replace("tea", "tea at four"))


def _reviews(seen: Seen) -> bool:
    return {tool["function"]["name"] for tool in seen.body.get("tools", ())} <= {
        "memory",
        "skill_manage",
        "skills_list",
        "skill_view",
    }
