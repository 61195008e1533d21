"""Questions and plans as people answer them: on the spot, from elsewhere, after kills, a day later, twice."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import anyio
import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.client import Rejected
from hermes_jobs.client.turns import Turns
from hermes_jobs.features.questions import rules
from hermes_jobs.kernel import events as e
from hermes_jobs.settings import load
from tests.e2e.invariants import facts_of
from tests.e2e.screen import Screen
from tests.e2e.test_chat import chatting, say
from tests.features.questions.conftest import told
from tests.home import Home
from tests.model_server import ModelServer
from tests.tools.support import wait_until

DAY = 86_400.0


class LaterClock:
    """The host's clocks, some seconds later."""

    def __init__(self, later: float) -> None:
        self._later = later

    def now(self) -> float:
        return time.time() + self._later

    def monotonic(self) -> float:
        return time.monotonic()


@contextmanager
def turns_of(home: Home, later: float = 0.0) -> Iterator[Turns]:
    """The home's turns for a program, whose clock is that much later."""
    environ = dict(home.environ)
    application = Application(load(environ), environ, clock=LaterClock(later))
    try:
        yield Turns(application)
    finally:
        application.close()


def waiting(home: Home, text: str = "Set up a database") -> str:
    """The id of a turn that asks, after everything was killed."""
    turn = str(home.send("--no-wait", text)["turn"])
    with home.start("turns", "follow", turn) as following:
        with home.open_log() as log:
            wait_until(
                lambda: any(isinstance(fact, e.InputRequested) for fact in facts_of(log)), "a question"
            )
        following.signal(signal.SIGKILL)
        following.process.wait()
    return turn


def answers(home: Home) -> list[tuple[str, str, str]]:
    with home.open_log() as log:
        given = [fact for fact in facts_of(log) if isinstance(fact, e.InputAnswered)]
    return [(fact.action, fact.by, fact.content) for fact in given]


def test_it_is_answered_on_the_spot_and_asked_again_with_the_reason(
    home: Home, model_server: ModelServer
) -> None:
    with Screen(home, "send", "Set up a database", columns=100) as screen:
        screen.shows("? The agent asks (ask_user)")
        screen.shows("2 PostgreSQL")
        screen.shows("your answer: a number ›")
        screen.type("MySQL\r")
        screen.shows("The answer has to be one of SQLite, PostgreSQL, not 'MySQL'.")
        screen.shows("your answer: a number ›", 2)
        screen.type("2\r")
        screen.shows("Answered.")
        screen.shows("Done.")
        assert screen.end() == 0
    assert told(model_server) == ["The user answers: PostgreSQL"]
    assert answers(home) == [("accept", "user", '{"answer":"PostgreSQL"}')]


def test_a_chat_takes_the_next_line_as_the_answer(home: Home, model_server: ModelServer) -> None:
    with chatting(home) as screen:
        say(screen, "Please clean up")
        screen.shows("It waits for you: your answer: numbers with commas between, or your own words")
        say(screen, "1, logs")
        screen.shows("› 1, logs")
        screen.shows("Answered.")
        screen.shows("Done.")
    assert told(model_server) == ["The user answers: caches; logs"]


def test_everything_is_killed_and_the_answer_of_the_next_day_goes_on(
    home: Home, model_server: ModelServer
) -> None:
    turn = waiting(home)
    with turns_of(home, later=DAY) as turns:
        (question,) = turns.questions(turn)
        assert (question.text, question.choices) == ("Which database?", ("SQLite", "PostgreSQL"))
        assert question.expires_at - time.time() > 6 * DAY
        with pytest.raises(Rejected, match="has to be one of"):
            turns.answer(turn, "MySQL", call=question.call, key=question.key)
        assert turns.answer(turn, 1, call=question.call, by="telegram:12").status in {"queued", "running"}
        assert turns.wait(turn, timeout=60).result == "Done."
        assert turns.questions(turn) == ()
    assert told(model_server) == ["The user answers: SQLite"]
    assert answers(home) == [("accept", "telegram:12", '{"answer":"SQLite"}')]


def test_a_question_of_last_week_is_too_late_to_answer_and_the_agent_goes_on(
    home: Home, model_server: ModelServer
) -> None:
    turn = waiting(home)
    with turns_of(home, later=8 * DAY) as turns:
        with pytest.raises(Rejected, match="not answered in time"):
            turns.answer(turn, 1)
        assert turns.wait(turn, timeout=60).result == "Done."
    assert told(model_server) == [rules.EXPIRED]


def test_of_answers_at_the_same_time_exactly_one_counts_and_the_others_are_told(home: Home) -> None:
    turn = waiting(home)

    def answer(number: int) -> str:
        with turns_of(home) as turns:
            try:
                turns.answer(turn, number)
            except Rejected as rejected:
                return str(rejected.kind)
        return "counts"

    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(answer, (1, 2, 1, 2)))
    assert sorted(outcomes) == ["answered", "answered", "answered", "counts"]
    assert len(answers(home)) == 1


def test_it_is_shown_everywhere_and_answered_by_command(home: Home, model_server: ModelServer) -> None:
    turn = waiting(home)
    (listed,) = home.run("turns", "list", "--status", "waiting", "--json").json
    assert listed["turn"] == turn
    for shown in (home.run("inbox", "list"), home.run("turns", "show", turn)):
        assert "Which database?" in shown.err
        assert "2 PostgreSQL" in shown.err
        assert f"answer it:  hermes-jobs turns answer {turn} --choice N" in shown.err
    (step,) = [each for each in home.turn(turn)["steps"] if "asks" in each]
    assert step["asks"]["requests"][0]["fields"][0]["name"] == "answer"
    assert home.run("turns", "answer", turn).code == 2
    wrong = home.run("turns", "answer", turn, "--choice", "3")
    assert wrong.code != 0
    assert "has to be one of SQLite, PostgreSQL, not '3'" in wrong.err
    both = home.run("turns", "answer", turn, "x", "--choice", "1")
    assert (both.code, "exclude each other" in both.err) == (2, True)
    answered = home.run("turns", "answer", turn, "postgresql", "--wait")
    assert (answered.code, answered.out) == (0, "Done.\n")
    assert told(model_server) == ["The user answers: PostgreSQL"]
    assert home.run("turns", "answer", turn, "--decline").code != 0


def test_without_a_terminal_and_without_workers_send_says_how_to_answer_and_ends(home: Home) -> None:
    ran = home.run("send", "Set up a database")
    assert (ran.code, ran.out) == (3, "")
    assert "It waits for you (the agent asks):" in ran.err
    assert "--choice N" in ran.err
    as_json = home.run("send", "--json", "Set up a database")
    assert (as_json.code, as_json.json["status"], as_json.json["result"]) == (3, "waiting", None)
    assert f"turns answer {as_json.json['turn']}" in as_json.err


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("refuse", rules.NOBODY), ("default", "your first choice is taken: SQLite")],
)
def test_an_unattended_turn_gets_its_answer_by_policy(
    home: Home, model_server: ModelServer, policy: str, expected: str
) -> None:
    home.send("--unattended", "Set up a database", HERMES_JOBS_ASK__UNATTENDED=policy)
    assert expected in told(model_server)[0]
    assert answers(home) == []


def test_a_question_of_an_unattended_turn_may_wait_for_an_answer_from_elsewhere(
    home: Home, model_server: ModelServer
) -> None:
    wait = {"HERMES_JOBS_ASK__UNATTENDED": "wait"}
    assert home.run("send", "--unattended", "Set up a database", **wait).code == 3
    (listed,) = home.run("turns", "list", "--status", "waiting", "--json").json
    assert home.run("turns", "answer", listed["turn"], "--choice", "2", "--wait").out == "Done.\n"
    assert told(model_server) == ["The user answers: PostgreSQL"]


def test_a_schedule_has_no_tool_that_nobody_answers(home: Home, model_server: ModelServer) -> None:
    home.run("schedule", "add", "--yes", "--every", "1h", "--task", "Look around.", "--name", "look")

    def tools() -> set[str]:
        assert home.run("schedule", "run", "look", "--wait").code == 0
        return {each["function"]["name"] for each in model_server.requests[-1].body["tools"]}

    assert "ask_user" not in tools()
    home.run("config", "set", "ask.unattended", "wait")
    assert "ask_user" in tools()


def test_a_plan_is_changed_accepted_and_carried_out(home: Home, model_server: ModelServer) -> None:
    with Screen(home, "send", "--mode", "plan", "Make a plan", columns=100) as screen:
        screen.shows("May I carry out this plan?")
        screen.shows("a number, or what to change ›")
        screen.type("test it, too\r")
        screen.shows("2. Test it")
        screen.shows("a number, or what to change ›", 2)
        screen.type("1\r")
        screen.shows("Done.")
        assert screen.end() == 0
    assert (home.work / "a.txt").read_text() == "one\n"
    first, second, _ = told(model_server)
    assert first == rules.PLAN_CHANGED.format(wish="test it, too")
    assert second == rules.PLAN_ACCEPTED
    with home.open_log() as log:
        (changed,) = [fact for fact in facts_of(log) if isinstance(fact, e.ModeChanged)]
    assert (changed.mode, changed.by) == ("ask", "user")


def test_a_refused_plan_changes_nothing(home: Home, model_server: ModelServer) -> None:
    turn = str(home.run("send", "--json", "--mode", "plan", "Make a plan").json["turn"])
    with turns_of(home) as turns:
        turns.answer(turn, "refuse")
        assert turns.wait(turn, timeout=60).status == "waiting"  # this model proposes another one
        assert rules.PLAN_REFUSED in told(model_server)
        turns.answer(turn, action="decline")
        assert turns.wait(turn, timeout=60).result == "Done."
    assert not (home.work / "a.txt").exists()
    assert told(model_server)[1] == rules.PLAN_OPEN
    assert "plan mode" in told(model_server)[2]


def test_nobody_accepts_a_plan_in_an_unattended_turn(home: Home, model_server: ModelServer) -> None:
    flags = ("--unattended", "--mode", "plan")
    home.send(*flags, "Make a plan", HERMES_JOBS_ASK__UNATTENDED="default")
    assert told(model_server)[0] == rules.PLAN_FOR_NOBODY
    assert not (home.work / "a.txt").exists()


def test_the_agent_enters_plan_mode_where_the_person_agrees(home: Home, model_server: ModelServer) -> None:
    with chatting(home) as screen:
        say(screen, "Please refactor")
        screen.shows("Shall I plan first")
        screen.shows("It waits for you")
        say(screen, "yes")
        screen.shows("Done.")
        screen.shows("plan")
    assert told(model_server)[0] == rules.PLANNING
    assert "plan mode" in told(model_server)[1]
    assert not (home.work / "a.txt").exists()


@pytest.mark.slow
def test_a_client_of_the_mcp_server_shows_it_as_a_form(home: Home, model_server: ModelServer) -> None:
    from tests.e2e.test_mcp_serve import Person, serving

    person = Person("accept", answer=["2", "logs"])

    async def ask() -> str:
        async with serving(home, "--allow", "send", "--allow", "approve", asks=person) as server:
            text, _ = await server.call("send", text="Please clean up", wait_seconds=60)
            return text

    assert anyio.run(ask).startswith("Done.")
    assert "What may I clean?" in person.questions[0]
    assert told(model_server) == ["The user answers: logs"]
