"""`chat` as a person at a terminal has it: what is typed, what is shown, what is in the log afterwards."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.broker_address import find_server
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.e2e.screen import Screen
from tests.faults.redis_server import RedisServer
from tests.home import Home
from tests.model_script import Answer, AskedCall, Hold, Refuse, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

CTRL_D, ESCAPE, TAB = "\x04", "\x1b", "\t"
BAR = "tokens · "  # of the line below the prompt: it stands there whenever the prompt does


@contextmanager
def chatting(home: Home, *arguments: str, **environ: str) -> Iterator[Screen]:
    """A chat whose prompt is up; afterwards it is left, which has to go well."""
    with Screen(home, "chat", *arguments, columns=100, lines=40, **environ) as screen:
        screen.shows(BAR)
        yield screen
        if screen.process.poll() is None:
            screen.type(CTRL_D)
        assert screen.end() == 0, screen.text
        assert "Traceback" not in screen.text
        assert "Unexpected" not in screen.text


def say(screen: Screen, text: str) -> None:
    """Type it and press Enter."""
    screen.type(f"{text}\r")


def texts(home: Home) -> list[str]:
    with home.open_log() as log:
        return [fact.text for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]


def test_without_a_terminal_it_names_the_command_to_use(home: Home) -> None:
    ran = home.run("chat")
    assert (ran.code, ran.out) == (2, "")
    assert "hermes-jobs send" in ran.err


def test_it_opens_without_a_command(home: Home) -> None:
    with Screen(home, columns=100, lines=40) as screen:
        screen.shows(BAR)
        screen.type(CTRL_D)
        assert screen.end() == 0


def test_its_help_loads_nothing_that_draws() -> None:
    script = (
        "import sys; from hermes_jobs.interfaces.cli import run; run(['chat', '--help']); run(['--help']);"
        "loaded = {'prompt_toolkit', 'rich', 'markdown_it', 'sqlalchemy', 'redis'} & set(sys.modules);"
        "sys.exit(f'{loaded}' if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Open a chat with the agent" in done.stdout


def test_answers_stream_and_input_typed_meanwhile_waits(home: Home, model_server: ModelServer) -> None:
    calls = (AskedCall("terminal", {"command": "echo one"}),)
    held = Hold(first="# Report\n\nAll is **well** so f", answer=Answer(text="ar."))
    script = Script(rules=(Rule("report", (Answer(tool_calls=calls), held)),))
    model_server.follow(script)
    with chatting(home) as screen:
        say(screen, "A report, please.")
        screen.shows("· terminal echo one: ok")
        screen.shows("All is well so f")
        say(screen, "And then?")
        screen.shows("it waits for the turn before it")
        screen.type("half a thought")
        screen.shows("› half a thought")
        assert "so far." not in screen.text
        model_server.release()
        screen.shows("You said: And then?")
        screen.shows("All is well so far.", times=1)
        screen.shows("› half a thought", times=1)  # what is being typed is never lost
        screen.interrupt()  # takes it back
        screen.type(f"one{ESCAPE}\rtwo")
        screen.shows("  two")
        say(screen, "")
        screen.shows("You said: one")
        screen.type(f"{ESCAPE}[200~three\nfour\n/five{ESCAPE}[201~")
        screen.shows("  /five")
        say(screen, "")
        screen.shows("You said: three")
    history = home.path / "chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "A report, please." in history.read_text()
    assert texts(home) == ["A report, please.", "And then?", "one\ntwo", "three\nfour\n/five"]
    with home.open_log() as log:
        turns = [fact.turn for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
        assert_all_is_done_once(log, turns)


def test_ctrl_c_cancels_the_turn_and_a_second_one_leaves(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(rules=(Rule("wait", (Hold(first="I am think"),)),)))
    with chatting(home) as screen:
        say(screen, "Please wait.")
        screen.shows("I am think")
        screen.interrupt()
        screen.shows("Cancelled.")
        screen.shows("I am think")  # what was said stays
        say(screen, "And now?")
        screen.shows("You said: And now?")
        with home.open_log() as log:  # text is seen before its turn has ended
            wait_until(lambda: any(isinstance(f, e.TurnCompleted) for f in facts_of(log)), "the turn's end")
        screen.interrupt()  # soon after the other one, but something was said since: it leaves nothing
        screen.shows("Ctrl-D or Ctrl-C again exits.")
        for _ in range(5):  # one leaves; those that come while it leaves break nothing off
            screen.interrupt()
        assert screen.end() == 0
        screen.shows("Come back with: hermes-jobs chat -s")
    with home.open_log() as log:
        assert any(isinstance(fact, e.TurnCancelled) for fact in facts_of(log))


def test_ctrl_d_leaves_and_names_the_command_to_follow_the_turn(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(Script(rules=(Rule("wait", (Hold(first="I am think"),)),)))
    with chatting(home) as screen:
        say(screen, "Please wait.")
        screen.shows("I am think")
        screen.type(CTRL_D)
        screen.shows("continues when a worker is available; follow it: hermes-jobs turns follow")
    with home.open_log() as log:
        assert not any(isinstance(fact, e.TurnCancelled | e.TurnCompleted) for fact in facts_of(log))


def test_commands_change_the_session(home: Home, model_server: ModelServer) -> None:
    with chatting(home, "-m", "first") as screen:
        say(screen, "/help")
        screen.shows("/compact [TOPIC]")
        say(screen, "/titel x")
        screen.shows("Did you mean /title?")
        say(screen, "/compress too early")
        screen.shows("This session has no messages yet.")
        say(screen, "one")
        screen.shows("You said: one")
        say(screen, "/title Trip to Rome")
        screen.shows("This session is called 'Trip to Rome'.")
        say(screen, "/model second")
        screen.shows("second answers from now on")
        say(screen, "two")
        screen.shows("You said: two")
        happened(home, e.TurnCompleted, 2)
        say(screen, "/undo")
        screen.shows("Undone: two")
        say(screen, "/approve")
        screen.shows("Nothing waits for you in this session.")
        say(screen, "three")
        screen.shows("You said: three")
        happened(home, e.TurnCompleted, 3)
        say(screen, "/retry")
        screen.shows("You said: three", times=2)
        screen.shows("cost unknown · turn", times=4)  # it has ended, so that nothing of it follows
        say(screen, "/session trip to rome")
        screen.shows("You said: three", times=3)  # as a reminder of how it stood
        say(screen, "/compress the trip")
        screen.shows("the conversation was not compressed")
        say(screen, "/summary")
        screen.shows("has no summary: it was not compressed.")
        say(screen, "/new")
        screen.shows("A new session starts")
        say(screen, "/exit")
    asked = [(seen.last_user_text, seen.body["model"]) for seen in model_server.requests[:4]]
    assert asked == [("one", "first"), ("two", "second"), ("three", "second"), ("three", "second")]
    _, *last = [message["content"] for message in model_server.requests[3].messages]
    assert last == ["one", "You said: one", "three"]
    (session,) = home.run("sessions", "list", "--json").json
    assert (session["title"], session["undone_into"]) == ("Trip to Rome", None)
    everything = home.run("sessions", "list", "--all", "--json").json
    assert [each["title"] for each in everything] == ["Trip to Rome", None, None]
    assert home.run("sessions", "list", "--all").out.count(" undone ") == 2
    with home.open_log() as log:
        assert [fact.model for fact in facts_of(log) if isinstance(fact, e.ModelChanged)] == ["second"]


def test_clear_empties_the_screen_and_says_how_to_come_back(home: Home) -> None:
    with chatting(home) as screen:
        say(screen, "one")
        screen.shows("You said: one")
        happened(home, e.TurnCompleted, 1)
        say(screen, "/clear")
        screen.shows("The one before stays: /session s")
        screen.shows("A new session starts")
        assert "You said: one" not in screen.text


def test_a_return_shows_the_last_text_without_notes_for_the_model(
    home: Home, model_server: ModelServer
) -> None:
    call = Answer(tool_calls=(AskedCall("terminal", {"command": "true"}),))
    model_server.follow([call, Answer(text="As far as I came.")])
    assert home.run("send", "Count them.", HERMES_JOBS_AGENT__MAX_ITERATIONS="1").code == 0
    with chatting(home, "-c") as screen:
        screen.shows("› Count them.")
        screen.shows("As far as I came.")
        assert [line for line in screen.text.splitlines() if line.startswith("› ")] == ["› Count them."]


def test_a_fork_before_a_turn_gets_its_title(home: Home, model_server: ModelServer) -> None:
    with chatting(home, "--env", "COLOUR=blue") as screen:
        for number, text in enumerate(("one", "two"), start=1):
            say(screen, text)
            screen.shows(f"You said: {text}")
            happened(home, e.TurnCompleted, number)
        say(screen, "/fork --at nosuch")
        screen.shows("There is no turn 'nosuch'.")
        say(screen, "/fork --before last Another way")
        screen.shows("It continues in a copy")
        say(screen, "three")
        screen.shows("You said: three")
        say(screen, "/exit")
    _, *last = [message["content"] for message in model_server.requests[2].messages]
    assert last == ["one", "You said: one", "three"]
    with home.open_log() as log:
        said = [fact for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
    assert [fact.settings.get("terminal.environment") for fact in said] == [{"COLOUR": "blue"}] * 3


def test_commands_of_the_command_line_run_within_it_and_tab_completes_arguments(home: Home) -> None:
    with chatting(home) as screen:
        say(screen, "hello")
        screen.shows("You said: hello")
        say(screen, "/title Trip to Rome")
        say(screen, "/new")
        say(screen, "/memory add user 'Lives in Lisbon'")
        screen.shows("Lives in Lisbon")
        say(screen, "/skills")
        screen.shows("plan-by-the-clock")
        say(screen, "/schedule")
        screen.shows("No schedules")
        say(screen, "/schedule remove nonsense")
        screen.shows("There is no schedule")
        say(screen, "/schedule add say hi every day at 9")
        screen.shows("Add it?")
        assert BAR not in screen.text
        screen.interrupt()
        screen.shows(BAR)  # a terminal forgets what is typed while a question breaks off
        assert "Ctrl-C again" not in screen.text
        say(screen, "/usage")
        screen.shows("REQUESTS")
        say(screen, "/jobs")
        screen.shows("WAITING")
        screen.type(f"/ses{TAB}")
        screen.shows("› /session")
        screen.type(f" tri{TAB}")
        screen.shows("› /session Trip to Rome")
        say(screen, "")
        screen.shows("You said: hello", times=2)
        screen.type(f"/model scr{TAB}")
        screen.shows("› /model scripted")
        screen.interrupt()
        say(screen, "still here")
        screen.shows("You said: still here")
    assert "Lives in Lisbon" in (home.path / "memories" / "USER.md").read_text()


def test_files_and_outputs_of_commands_are_sent_with_the_text(home: Home) -> None:
    (home.work / "notes.txt").write_text("Buy milk\n")
    with chatting(home) as screen:
        screen.type(f"Read @not{TAB}")
        screen.shows("› Read @notes.txt")
        say(screen, "")
        screen.shows("· with notes.txt (1 line)")
        say(screen, "!echo from-the-shell; exit 4")
        screen.shows("exit code 4; 1 line will go with your next message")
        say(screen, "Why?")
        screen.shows("· with what 1 command printed")
        screen.shows("You said: Why?")
        say(screen, "And @/dev/null/x.txt?")
        screen.shows("there is no file /dev/null/x.txt")
        happened(home, e.TurnCompleted, 3)
        say(screen, "exit")
        assert screen.end() == 0
        screen.shows("3 turns, cost")
        screen.shows("Come back with: hermes-jobs chat -s")
    assert texts(home) == [
        "Read @notes.txt\n\nnotes.txt:\n```\nBuy milk\n```",
        "Why?\n\nI ran `echo from-the-shell; exit 4` (exit code 4):\n```\nfrom-the-shell\n```",
        "And @/dev/null/x.txt?",
    ]


def test_a_command_of_the_project_and_one_of_the_home_are_completed_and_said(
    home: Home, model_server: ModelServer
) -> None:
    for folder, name, text in (
        (home.path / "commands", "greet.md", "Greet $ARGUMENTS."),
        (home.work / ".hermes/commands", "ship.md", "---\ndescription: Ship it\n---\nShip $1."),
    ):
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
    with chatting(home) as screen:
        screen.type(f"/gre{TAB}")
        screen.shows("› /greet")
        say(screen, " the world")
        screen.shows("You said: Greet the world.")
        say(screen, "/help")
        screen.shows("project: Ship it")
        say(screen, "/ship now")
        screen.shows("Ship now.", times=2)
    assert texts(home) == [
        "Greet the world.",
        "This folder's .hermes/commands/ship.md says:\n\nShip now.",
    ]


def test_a_failed_turn_is_continued_and_a_waiting_call_is_allowed(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "old").mkdir()
    asked = AskedCall("terminal", {"command": "true a folder that was forgotten here\nrm -rf old"})
    refused = Refuse(status=401, message="No such key.")
    model_server.follow([refused, Answer(tool_calls=(asked,)), Answer(text="It is gone.")])
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows("/retry continues with it")
        say(screen, "/retry")
        screen.shows("It waits for you")
        screen.shows("    rm -rf old")
        assert (home.work / "old").exists()
        say(screen, "/approve")
        screen.shows("It is gone.")
    assert not (home.work / "old").exists()
    assert texts(home) == ["Clean up."]


def test_a_turn_stopped_by_a_limit_continues(home: Home, model_server: ModelServer) -> None:
    look = Answer(tool_calls=(AskedCall("todo", {}),))
    model_server.follow([look, Answer(text="Half of it."), Answer(text="All of it.")])
    with chatting(home, HERMES_JOBS_AGENT__MAX_ITERATIONS="1") as screen:
        say(screen, "/continue")
        screen.shows("This session has no messages yet")
        say(screen, "Tidy up.")
        screen.shows("/continue continues")
        say(screen, "/continue")
        screen.shows("All of it.")
        happened(home, e.TurnCompleted, 2)
        say(screen, "/continue")
        screen.shows("no limit stopped it")
    assert texts(home) == ["Tidy up."]


def test_items_learned_in_the_background_are_shown_once(home: Home, model_server: ModelServer) -> None:
    note = AskedCall("memory", {"action": "add", "target": "user", "content": "Likes tea."})
    review = (Answer(tool_calls=(note,)), Answer(text="Noted the tea."))
    model_server.follow(
        [Answer(text="Yes."), *review, Answer(text="Again."), Answer(text="Nothing to save.")]
    )
    once = {"HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1", "HERMES_JOBS_LEARNING__VERIFY": "off"}
    with chatting(home, **once) as screen:
        say(screen, "I like tea.")
        screen.shows("Yes.")
        happened(home, e.ReviewCompleted, 1)
        say(screen, "And so?")
        screen.shows("Learned meanwhile: “Likes tea.” (take it back: hermes-jobs memory undo 1)", times=1)
        screen.shows("Again.")
        happened(home, e.ReviewCompleted, 2)
        say(screen, "Once more.")
        screen.shows("Once more.", times=2)
        screen.shows("Learned meanwhile: “Likes tea.” (take it back: hermes-jobs memory undo 1)", times=1)


def happened(home: Home, kind: type[e.TurnCompleted | e.TurnRated | e.ReviewCompleted], times: int) -> None:
    """Wait until that has happened so often. An answer is shown before its turn has ended."""
    with home.open_log() as log:
        wait_until(
            lambda: sum(isinstance(fact, kind) for fact in facts_of(log)) >= times,
            f"{times} {kind.__name__}",
        )


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_is_a_short_pause(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.follow([Hold(first="Words of the dead wor"), Answer(text="Words of the living.")])
    with RedisServer(find_server(), tmp_path) as broker:
        home.environ["HERMES_JOBS_BROKER_URL"] = broker.url
        with home.start("worker") as first:
            first.wait_for("ready.")
            with chatting(home) as screen:
                say(screen, "Speak.")
                screen.shows("Words of the dead wor")
                first.signal(SIGKILL)
                screen.shows("Words of the living.")  # nobody else works: the chat itself takes over
                assert "Error" not in screen.text
                assert "dead wor" not in screen.text
    with home.open_log() as log:
        assert_all_is_done_once(log, [f.turn for f in facts_of(log) if isinstance(f, e.TurnSubmitted)])
