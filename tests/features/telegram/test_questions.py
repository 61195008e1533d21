"""Approvals in chats: asked whole, answered once by those who may, ended wherever they were decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hermes_jobs.client import Home
from hermes_jobs.errors import Misconfigured
from hermes_jobs.features.deliveries.events import DeliveryRequested, DeliveryRevised
from hermes_jobs.features.gateway import service
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.gateway.bot_server import BotServer, quick_bot
from tests.gateway.serving import ANNA, Served, environ_of, serving
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

BEN = 34
CLEAN = AskedCall("terminal", {"command": "rm -r build"})
ONCE, SESSION, ALWAYS, NO = "✅ Once", "This session", "Always here", "❌ No"
LABELS = [ONCE, SESSION, ALWAYS, NO]


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    with quick_bot(monkeypatch) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work" / "build").mkdir(parents=True)
    return tmp_path / "work"


@pytest.fixture
def environ(tmp_path: Path, folder: Path, bot: BotServer, model_server: ModelServer) -> Mapping[str, str]:
    model_server.follow(asks(CLEAN))
    people = {"HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": f"[{ANNA}, {BEN}]"}
    place = {"HERMES_JOBS_AGENT__WORKDIR": str(folder)}
    return environ_of(tmp_path, bot, model_server.base_url, **people, **place)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_WAIT", "MAX_WAIT", "LOG_RETRY_SECONDS", "STANDBY_SECONDS", "LOOK_EVERY"):
        monkeypatch.setattr(service, name, 0.05)


def asks(*calls: AskedCall) -> Script:
    return Script(rules=(Rule("Clean", (Answer(tool_calls=calls), Answer(text="Cleaned."))),))


def question(bot: BotServer, chat: int = ANNA) -> str:
    """The text of the message with buttons, once it is there."""
    bot.wait_until(lambda: bool(open_questions(bot, chat)), "a question")
    return bot.chats[chat][open_questions(bot, chat)[-1]]


def open_questions(bot: BotServer, chat: int = ANNA) -> list[int]:
    """The messages with buttons that answer a question."""
    boards = [(number, buttons) for (where, number), buttons in bot.keyboards.items() if where == chat]
    return [number for number, buttons in boards if any(data.startswith("ask:") for _, data in buttons)]


def shows(bot: BotServer, words: str, chat: int = ANNA) -> None:
    bot.wait_until(lambda: any(words in said for said in bot.said(chat)), words)


def of_type(served: Served, kind: type[e.Event]) -> list[e.Event]:
    return [fact for fact in facts_of(served.application.log) if isinstance(fact, kind)]


def test_a_call_is_asked_whole_and_allowed_once(
    environ: Mapping[str, str], bot: BotServer, folder: Path
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        text = question(bot)
        assert "rm -r build" in text
        assert "deleting" in text
        assert bot.labels(ANNA, text) == LABELS
        bot.press(ANNA, ONCE, text)
        shows(bot, "Cleaned.")
        shows(bot, "Allowed once by Anna")
        assert not (folder / "build").exists()
        assert "✅ Allowed once by Anna." in bot.notices
        (given,) = of_type(served, e.ApprovalGiven)
        assert (given.by, given.scope) == (f"telegram:{ANNA}", "once")  # type: ignore[attr-defined]
        wait_until(lambda: not served.application.log.steps(), "the end of all work")
    assert open_questions(bot) == []


@pytest.mark.parametrize(("label", "scope"), [(SESSION, "session"), (ALWAYS, "always")])
def test_what_is_allowed_for_longer_is_not_asked_again(
    environ: Mapping[str, str], bot: BotServer, folder: Path, label: str, scope: str
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        bot.press(ANNA, label, question(bot))
        shows(bot, "Cleaned.")
        bot.write(ANNA, "Clean up again")
        bot.wait_until(lambda: bot.said(ANNA).count("Cleaned.") == 2, "the second answer")
        assert len(of_type(served, e.ApprovalRequested)) == 1
        rules = [fact.ruling for fact in of_type(served, e.ApprovalRuleAdded)]  # type: ignore[attr-defined]
        assert rules == (["allow"] if scope == "always" else [])


def test_no_refuses_and_the_agent_goes_on(environ: Mapping[str, str], bot: BotServer, folder: Path) -> None:
    with serving(environ):
        bot.write(ANNA, "Clean up")
        bot.press(ANNA, NO, question(bot))
        shows(bot, "Refused by Anna")
        shows(bot, "Cleaned.")
    assert (folder / "build").exists()


def test_a_reply_refuses_with_its_words_as_the_reason(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer, folder: Path
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        assert "Reply to this message to refuse with a reason." in question(bot)
        bot.write(ANNA, "I need *that* folder", reply_to=open_questions(bot)[-1])
        shows(bot, "❌ Refused by Anna: I need *that* folder")
        shows(bot, "Cleaned.")
        (denied,) = of_type(served, e.ApprovalDenied)
        assert (denied.by, denied.reason) == (f"telegram:{ANNA}", "I need *that* folder")  # type: ignore[attr-defined]
    assert (folder / "build").exists()
    assert "who says: I need *that* folder" in str(model_server.requests[-1].body["messages"])


def test_a_reason_from_the_terminal_is_shown_in_the_chat(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ), Home(environ=environ) as home:
        bot.write(ANNA, "Clean up")
        question(bot)
        home.turns.deny("last", reason="not today")
        shows(bot, "❌ Refused by the user at the terminal: not today")


def test_a_button_that_is_pressed_twice_says_that_it_is_decided(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        text = question(bot)
        data = dict(bot.keyboards[ANNA, next(n for n, each in bot.chats[ANNA].items() if each == text)])[NO]
        bot.press(ANNA, ONCE, text)
        shows(bot, "Allowed once by Anna")
        decided = next(each for each in bot.said(ANNA) if "Allowed once" in each)
        bot.press(ANNA, "", decided, data=data)
        bot.wait_until(lambda: len(bot.notices) == 2, "the second notice")
        assert bot.notices == ["✅ Allowed once by Anna."] * 2
        assert len(of_type(served, e.ApprovalGiven)) == 1
        assert len(of_type(served, DeliveryRevised)) == 1


def test_what_the_terminal_decided_is_shown_in_the_chat(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ), Home(environ=environ) as home:
        bot.write(ANNA, "Clean up")
        question(bot)
        home.turns.approve("last")
        shows(bot, "Allowed once by the user at the terminal")
        shows(bot, "Cleaned.")


def test_a_question_that_nobody_answers_expires_and_a_late_press_says_so(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving({**environ, "HERMES_JOBS_TERMINAL__APPROVAL_SECONDS": "2"}) as served:
        bot.write(ANNA, "Clean up")
        text = question(bot)
        data = dict(bot.keyboards[ANNA, next(n for n, each in bot.chats[ANNA].items() if each == text)])[ONCE]
        shows(bot, "Not answered in time")
        late = next(each for each in bot.said(ANNA) if "Not answered" in each)
        bot.press(ANNA, "", late, data=data)
        bot.wait_until(lambda: bool(bot.notices), "a notice")
        assert "Not answered in time" in bot.notices[0]
        assert of_type(served, e.ApprovalGiven) == []


def test_a_diff_of_20_kb_is_a_file_above_the_question(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer, folder: Path
) -> None:
    old, new = (
        "".join(f"{word} line {number} with some words in it\n" for number in range(300))
        for word in ("old", "new")
    )
    (folder / ".git").mkdir()
    (folder / ".envrc").write_text(old)
    model_server.follow(asks(AskedCall("write_file", {"path": ".envrc", "content": new})))
    with serving(environ):
        bot.write(ANNA, "Clean up")
        text = question(bot)
        ((name, content),) = bot.files.values()
        assert name == "code.diff"
        assert len(content) > 20_000
        for number in range(300):
            assert f"-old line {number} with" in content
            assert f"+new line {number} with" in content
        assert "refused at" in text
        bot.press(ANNA, ONCE, text)
        shows(bot, "Cleaned.")
    assert (folder / ".envrc").read_text() == new


def test_others_than_the_chats_user_cannot_answer(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        text = question(bot)
        for user in (BEN, 99):
            bot.press(user, ONCE, text, chat=ANNA)
        bot.wait_until(lambda: bot.unconfirmed() == 0, "that the presses are given up")
        assert of_type(served, e.ApprovalGiven) == []
        bot.press(ANNA, NO, text)
        shows(bot, "Refused by Anna")


def test_after_a_restart_the_open_question_is_known_and_not_asked_again(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ):
        bot.write(ANNA, "Clean up")
        text = question(bot)
    with serving(environ) as served:
        bot.press(ANNA, ONCE, text)
        shows(bot, "Cleaned.")
        asked = [fact for fact in of_type(served, DeliveryRequested) if fact.question is not None]  # type: ignore[attr-defined]
        assert len(asked) == 1
    assert sum("rm -r build" in said for said in bot.said(ANNA)) == 1


def test_a_turn_that_is_stopped_ends_its_question(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ):
        bot.write(ANNA, "Clean up")
        question(bot)
        bot.write(ANNA, "/stop")
        shows(bot, "This is over")


COLOUR = AskedCall("ask_user", {"question": "Which colour?", "choices": ["red", "blue"]})


def test_a_question_of_the_agent_is_answered_by_a_button(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(asks(COLOUR))
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        text = question(bot)
        assert "Which colour?" in text
        assert bot.labels(ANNA, text) == ["red", "blue", "❌ No answer"]
        bot.press(ANNA, "blue", text)
        shows(bot, "✅ Anna: blue")
        shows(bot, "Cleaned.")
        (answer,) = of_type(served, e.InputAnswered)
        assert "blue" in answer.content  # type: ignore[attr-defined]


def test_a_question_is_answered_in_other_words_by_a_reply(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    model_server.follow(asks(COLOUR))
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        question(bot)
        bot.write(ANNA, "green, please", reply_to=open_questions(bot)[-1])
        shows(bot, "✅ Anna: green, please")
        shows(bot, "Cleaned.")
        (answer,) = of_type(served, e.InputAnswered)
        assert "green, please" in answer.content  # type: ignore[attr-defined]


def test_an_answer_that_does_not_fit_is_asked_again_with_the_reason(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    several = AskedCall(
        "ask_user", {"question": "Which?", "choices": ["a", "b"], "several": True, "free_text": False}
    )
    model_server.follow(asks(several))
    with serving(environ) as served:
        bot.write(ANNA, "Clean up")
        question(bot)
        (number,) = open_questions(bot)
        bot.write(ANNA, "7", reply_to=number)
        shows(bot, "Please answer again")
        assert of_type(served, e.InputAnswered) == []
        bot.write(ANNA, "1, 2", reply_to=number)
        shows(bot, "Cleaned.")


def test_the_phone_approves_what_send_waits_for_at_the_terminal(
    environ: Mapping[str, str], bot: BotServer, folder: Path
) -> None:
    trusted = {**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__APPROVERS": f"[{ANNA}]"}
    with serving(trusted), Home(environ=trusted) as home:
        waiting = home.send("Clean up", workdir=folder)
        assert waiting.status == "waiting"
        bot.press(ANNA, ONCE, question(bot))
        shows(bot, "Allowed once by Anna")
        assert home.turns.wait(waiting.turn).result == "Cleaned."
        bot.write(ANNA, "/approve")
        shows(bot, "Nothing waits for your answer")


def test_what_approvers_were_sent_is_changed_when_it_is_decided_at_the_terminal(
    environ: Mapping[str, str], bot: BotServer, folder: Path
) -> None:
    trusted = {**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__APPROVERS": f"[{ANNA}, {BEN}]"}
    with serving(trusted) as served, Home(environ=trusted) as home:
        waiting = home.send("Clean up", workdir=folder)
        assert "rm -r build" in question(bot) == question(bot, BEN)
        bot.press(BEN, NO, question(bot, BEN), chat=BEN)
        for chat in (ANNA, BEN):
            shows(bot, "Refused by", chat)
        assert home.turns.wait(waiting.turn).result == "Cleaned."
        again = home.send("Clean up", workdir=folder)
        question(bot, BEN)
        home.turns.approve(again.turn)
        for chat in (ANNA, BEN):
            shows(bot, "Allowed once by the user at the terminal", chat)
        assert len(of_type(served, DeliveryRequested)) == 4
    assert open_questions(bot) == open_questions(bot, BEN) == []


def test_approvers_are_sent_nothing_where_that_is_turned_off(
    environ: Mapping[str, str], bot: BotServer, folder: Path
) -> None:
    quiet = {
        **environ,
        "HERMES_JOBS_GATEWAY__TELEGRAM__APPROVERS": f"[{ANNA}]",
        "HERMES_JOBS_GATEWAY__TELEGRAM__PUSH_QUESTIONS": "false",
    }
    with serving(quiet) as served, Home(environ=quiet) as home:
        assert home.send("Clean up", workdir=folder).status == "waiting"
        bot.write(ANNA, "/inbox")
        question(bot)
        assert len(of_type(served, DeliveryRequested)) == 1


@pytest.mark.parametrize("allowed", [f"[{ANNA}]", f"[{ANNA}, {BEN}]"])
def test_who_is_no_approver_sees_nothing_of_turns_from_elsewhere(
    environ: Mapping[str, str], bot: BotServer, folder: Path, allowed: str
) -> None:
    people = {**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": allowed}
    with serving(people), Home(environ=people) as home:
        assert home.send("Clean up", workdir=folder).status == "waiting"
        bot.write(ANNA, "/inbox")
        shows(bot, "Nothing in this chat waits for your answer")
    assert open_questions(bot) == []


def test_an_approver_who_may_not_write_is_refused_with_a_word(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    wrong = {**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__APPROVERS": "[99]"}
    with pytest.raises(Misconfigured, match="99 may not write"), serving(wrong):
        pass


def test_the_menu_lists_the_commands(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ):
        bot.wait_until(lambda: bool(bot.commands), "the menu")
    menu = " ".join(name for name, _ in bot.commands)
    assert menu == "new stop status compress model approve inbox"


GROUP, TOPIC, CARL = -1_000_500, 7, 99


def test_in_a_group_only_the_one_who_asked_or_an_approver_may_answer(
    environ: Mapping[str, str], bot: BotServer, folder: Path
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Clean up", kind="supergroup", chat=GROUP, topic=TOPIC)  # among themselves
        bot.write(ANNA, "@hermes_test_bot Clean up", kind="supergroup", chat=GROUP, topic=TOPIC)
        text = question(bot, GROUP)
        assert set(bot.threads.values()) == {TOPIC}
        bot.press(CARL, ONCE, text, chat=GROUP)
        bot.press(BEN, ONCE, text, chat=GROUP)
        bot.wait_until(lambda: bool(bot.notices), "a notice")
        assert "Only the person whose request this is" in bot.notices[0]
        assert of_type(served, e.ApprovalGiven) == []
        bot.press(ANNA, ONCE, text, chat=GROUP)
        shows(bot, "Cleaned.", GROUP)
        assert len(of_type(served, e.TurnSubmitted)) == 1
    assert not (folder / "build").exists()


def test_a_named_approver_may_answer_for_others_in_a_group(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving({**environ, "HERMES_JOBS_GATEWAY__TELEGRAM__APPROVERS": f"[{BEN}]"}):
        bot.write(ANNA, "@hermes_test_bot Clean up", kind="supergroup", chat=GROUP)
        bot.press(BEN, ONCE, question(bot, GROUP), chat=GROUP)
        shows(bot, "Cleaned.", GROUP)


def test_topics_of_a_group_are_sessions(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ) as served:
        for topic, user in ((7, ANNA), (8, ANNA), (7, BEN)):
            bot.write(user, "@hermes_test_bot Hello", kind="supergroup", chat=GROUP, topic=topic)
        bot.wait_until(lambda: bot.said(GROUP).count("You said: Hello") == 3, "three answers")
        turns = of_type(served, e.TurnSubmitted)
        first, second, third = (turn.session for turn in turns)  # type: ignore[attr-defined]
        assert first == third != second


def test_a_schedule_that_delivers_to_a_chat_asks_there_for_this_once(
    environ: Mapping[str, str], bot: BotServer, folder: Path
) -> None:
    with serving(environ), Home(environ=environ) as home:
        added = home.schedules.add(
            "0 9 * * *", "Clean up", workdir=str(folder), deliver=(f"telegram:{ANNA}",)
        )
        home.schedules.run(added.schedule)
        text = question(bot)
        assert bot.labels(ANNA, text) == [ONCE, NO]
        bot.press(ANNA, ONCE, text)
        shows(bot, "Cleaned.")
    assert not (folder / "build").exists()
