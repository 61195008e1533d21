"""Approvals at a terminal: `send` asks on the spot, and what is answered holds as long as was said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from tests.e2e.invariants import facts_of
from tests.e2e.screen import Screen
from tests.e2e.test_chat import CTRL_D, chatting, happened, say
from tests.faults.dying import installed
from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

CLEAN = AskedCall("terminal", {"command": "rm -r build"})
INSTALL = "npm install left-pad"


def asks_for(*calls: AskedCall, rounds: int = 1) -> Script:
    """A model that makes these calls when it is told to clean, so many times in a row."""
    steps = (*(Answer(tool_calls=calls) for _ in range(rounds)), Answer(text="Done."))
    return Script(rules=(Rule("Clean", steps),))


@pytest.fixture(autouse=True)
def a_folder_that_the_model_wants_to_delete(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(asks_for(CLEAN))


@contextmanager
def asked(home: Home, *arguments: str) -> Iterator[Screen]:
    """A `send` at a terminal that has asked."""
    with Screen(home, "send", "Clean up.", *arguments, columns=100) as screen:
        screen.shows("r no, and why")
        yield screen
        assert "Traceback" not in screen.text


def approvals(home: Home) -> list[tuple[str, str, str]]:
    with home.open_log() as log:
        given = [fact for fact in facts_of(log) if isinstance(fact, e.ApprovalGiven)]
    return [(fact.by, fact.scope, fact.rule) for fact in given]


def told(model_server: ModelServer) -> str:
    """What the model was last told of a call."""
    results = [each["content"] for each in model_server.requests[-1].messages if each["role"] == "tool"]
    return str(results[-1])


def test_a_command_is_shown_whole_and_runs_when_y_is_pressed(home: Home) -> None:
    with asked(home) as screen:
        assert "? The agent asks to run a command (deleting folders or many files)" in screen.text
        assert "    rm -r build" in screen.text
        assert "s and a allow exactly this, in" in screen.text
        assert (home.work / "build").exists()
        screen.type("y")
        screen.shows("Allowed once.")
        screen.shows("Done.")
        assert screen.end() == 0
    assert not (home.work / "build").exists()
    assert approvals(home) == [("user", "once", "")]


def test_a_long_command_is_shown_character_by_character(home: Home, model_server: ModelServer) -> None:
    command = f"rm -r build && echo '{'two  blanks ' * 12}'"
    model_server.follow(asks_for(AskedCall("terminal", {"command": command})))
    with asked(home) as screen:
        rows = screen.text.splitlines()
        shown = [row for row in rows if row.startswith("    ")]
        assert "".join(row[4:].ljust(96) for row in shown).rstrip() == command
        screen.type("n")
        assert screen.end() == 0


def test_keys_that_answer_nothing_are_passed_over_and_n_refuses(
    home: Home, model_server: ModelServer
) -> None:
    with asked(home) as screen:
        for times, key in enumerate(("\r", "x", "\x1b[A", "yes, of course"), 1):
            screen.type(key)
            screen.shows("y, s, a, n or r?", times)
        screen.type("n\r")
        screen.shows("Refused.")
        assert screen.end() == 0
    assert (home.work / "build").exists()
    assert "refused by user" in told(model_server)


def test_the_reason_of_a_refusal_reaches_the_model(home: Home, model_server: ModelServer) -> None:
    with asked(home) as screen:
        screen.type("r")
        screen.shows("Why?")
        screen.type("Use the bin instead.\r")
        screen.shows("the agent gets your reason")
        assert screen.end() == 0
    assert "who says: Use the bin instead." in told(model_server)
    with home.open_log() as log:
        (denied,) = [fact for fact in facts_of(log) if isinstance(fact, e.ApprovalDenied)]
    assert (denied.by, denied.reason) == ("user", "Use the bin instead.")


def test_for_this_session_holds_in_it_and_in_no_other(home: Home) -> None:
    with asked(home) as screen:
        screen.type("s")
        screen.shows("Allowed for this session.")
        assert screen.end() == 0
    (home.work / "build").mkdir()
    again = home.run("send", "-c", "Clean up.")
    assert (again.code, again.out) == (0, "Done.\n")
    assert not (home.work / "build").exists()
    assert approvals(home)[1] == ("rule", "once", "for this session: rm -r build")
    (home.work / "build").mkdir()
    with asked(home) as screen:
        screen.type("n")
        assert screen.end() == 0
    assert home.run("approvals", "list", "--json").json == []


def test_always_makes_a_rule_for_this_folder_that_can_be_removed(home: Home) -> None:
    with asked(home) as screen:
        screen.type("a")
        screen.shows("Allowed from now on.")
        assert screen.end() == 0
    (rule,) = home.run("approvals", "list", "--json").json
    assert (rule["ruling"], rule["pattern"], rule["exact"]) == ("allow", "rm -r build", True)
    assert (rule["folder"], rule["by"]) == (str(home.work.resolve()), "user")
    (home.work / "build").mkdir()
    assert home.run("send", "Clean up.").out == "Done.\n"
    assert not (home.work / "build").exists()
    assert approvals(home)[1] == ("rule", "once", "rule 1: rm -r build")
    assert home.run("approvals", "remove", "1").code == 0
    (home.work / "build").mkdir()
    with asked(home) as screen:
        screen.type("n")
        assert screen.end() == 0
    assert home.run("approvals", "remove", "1").code == 2


def test_a_pattern_is_offered_if_it_is_clear(home: Home, model_server: ModelServer) -> None:
    model_server.follow(asks_for(AskedCall("terminal", {"command": INSTALL})))
    with asked(home) as screen:
        assert "s and a allow npm install *, in" in screen.text
        screen.type("n")
        assert screen.end() == 0


def test_an_edit_is_shown_as_a_diff_and_a_protected_file_is_approved_once_only(
    home: Home, model_server: ModelServer
) -> None:
    hooks = home.work / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\nmake lint\n")
    edit = AskedCall(
        "patch_file",
        {"path": ".git/hooks/pre-commit", "old_string": "make lint", "new_string": "make check"},
    )
    model_server.follow(asks_for(edit))
    with asked(home) as screen:
        assert "-make lint" in screen.text
        assert "+make check" in screen.text
        assert "this session" not in screen.text
        screen.type("a")
        screen.shows("y, n or r?")
        screen.type("y")
        screen.shows("Allowed once.")
        assert screen.end() == 0
    assert (hooks / "pre-commit").read_text() == "#!/bin/sh\nmake check\n"


def test_an_answer_from_elsewhere_ends_the_question(home: Home) -> None:
    with asked(home) as screen:
        turn = home.run("turns", "list", "--json").json[0]["turn"]
        assert home.run("turns", "deny", turn, "--no-wait", "--reason", "Not today.").code == 0
        screen.shows("Done.")
        assert screen.end() == 0
    assert (home.work / "build").exists()


def test_who_answered_in_a_chat_is_named(home: Home) -> None:
    with asked(home) as screen, installed(home) as application:
        (turn,) = application.views.turns(status="waiting")
        denial = c.DenyCall(turn=turn.id, call=None, by="telegram:12", reason="Not today.")
        application.engine().execute(turn.stream, denial)
        screen.shows("· Refused by telegram:12.")
        screen.shows("Done.")
        assert screen.end() == 0


def test_ctrl_c_leaves_the_question_open(home: Home) -> None:
    with asked(home) as screen:
        screen.interrupt()
        screen.shows("turns follow")
        assert screen.end() == 130
    assert [each["status"] for each in home.run("turns", "list", "--json").json] == ["waiting"]
    turn = home.run("turns", "list", "--json").json[0]["turn"]
    assert home.run("turns", "approve", turn, "--always").out == "Done.\n"
    assert len(home.run("approvals", "list", "--json").json) == 1


def test_several_calls_are_asked_about_one_after_the_other(home: Home, model_server: ModelServer) -> None:
    (home.work / "dist").mkdir()
    model_server.follow(asks_for(CLEAN, AskedCall("terminal", {"command": "rm -r dist"})))
    with asked(home) as screen:
        screen.type("y")
        screen.shows("    rm -r dist")
        screen.shows("r no, and why ›", times=2)
        screen.type("n")
        assert screen.end() == 0
    assert not (home.work / "build").exists()
    assert (home.work / "dist").exists()


SHIFT_TAB = "\x1b[Z"
ANSWERED_BY = "waits for you: y, s, a, n or r"  # in the line below the prompt: a key answers from now on


def test_a_letter_answers_in_a_chat_where_something_waits(home: Home, model_server: ModelServer) -> None:
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows("? The agent asks to run a command")
        assert "without an answer it is refused at" in screen.text
        screen.shows(ANSWERED_BY)
        screen.type("y")
        screen.shows("Allowed once.")
        screen.shows("Done.")
        happened(home, e.TurnCompleted, 1)
        say(screen, "y")  # nothing waits: a text like any other
        screen.shows("You said: y")
    assert not (home.work / "build").exists()


@pytest.mark.parametrize(
    ("typed", "shown"),
    [((" ", "y"), "›  y"), (("\x1b[200~y\x1b[201~",), "› y"), (("yes it is",), "› yes it is")],
    ids=["behind a space", "pasted", "pasted on a terminal that does not say so"],
)
def test_typed_or_pasted_text_answers_nothing_before_enter(
    home: Home, typed: tuple[str, ...], shown: str
) -> None:
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows(ANSWERED_BY)
        for keys in typed:
            screen.type(keys)
            screen.shows(ANSWERED_BY, times=0)  # while something stands in the line, no key answers
        screen.shows(shown)
        screen.interrupt()  # takes back what is typed
        screen.shows(ANSWERED_BY)
        assert "Allowed" not in screen.text
        screen.type("n")
        screen.shows("Refused.")
        happened(home, e.TurnCompleted, 1)
    assert (home.work / "build").exists()


def test_a_turn_that_waits_shows_its_changes_and_is_not_called_running(
    home: Home, model_server: ModelServer
) -> None:
    write = AskedCall("write_file", {"path": "notes.md", "content": "one\n"})
    rounds = (Answer(tool_calls=(write,)), Answer(tool_calls=(CLEAN,)), Answer(text="Done."))
    model_server.follow(Script(rules=(Rule("Clean", rounds),)))
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows("It waits for you")
        say(screen, "/diff")
        screen.shows("+++ b/notes.md")
        for command in ("/undo --files", "/rewind", "/undo"):
            say(screen, command)
            screen.shows(f"› {command}")
        screen.shows("has not ended: it waits for your answer.", times=3)
        assert "still running" not in screen.text
        say(screen, "n")
        happened(home, e.TurnCompleted, 1)


def test_r_asks_for_the_reason_in_a_chat(home: Home, model_server: ModelServer) -> None:
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows(ANSWERED_BY)
        screen.type("r")
        screen.shows("› no:")
        say(screen, "use the bin")
        screen.shows("the agent gets your reason")
        happened(home, e.TurnCompleted, 1)
    assert "who says: use the bin" in told(model_server)


def test_a_key_answers_each_question_that_was_shown(home: Home, model_server: ModelServer) -> None:
    (home.work / "dist").mkdir()
    model_server.follow(asks_for(CLEAN, AskedCall("terminal", {"command": "rm -r dist"})))
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows("    rm -r build")
        screen.shows(ANSWERED_BY)
        screen.type("y")
        screen.shows("    rm -r dist")
        assert screen.text.index("Allowed once.") < screen.text.index("    rm -r dist")
        screen.shows(ANSWERED_BY)
        screen.type("n")
        screen.shows("Refused.")
        happened(home, e.TurnCompleted, 1)
    assert not (home.work / "build").exists()
    assert (home.work / "dist").exists()


def test_a_no_with_words_is_a_reason_in_a_chat(home: Home, model_server: ModelServer) -> None:
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows("It waits for you")
        say(screen, "no, use the bin")
        screen.shows("the agent gets your reason")
        screen.shows("Done.")
    assert "who says: use the bin" in told(model_server)
    assert (home.work / "build").exists()


def test_several_questions_of_a_chat_are_shown_one_after_the_other(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "dist").mkdir()
    model_server.follow(asks_for(CLEAN, AskedCall("terminal", {"command": "rm -r dist"})))
    with chatting(home) as screen:
        say(screen, "Clean up.")
        screen.shows("    rm -r build")
        assert "    rm -r dist" not in screen.text
        say(screen, "s")
        screen.shows("Allowed for this session.")
        screen.shows("    rm -r dist")
        say(screen, "/deny not that one")
        screen.shows("Done.")
    assert not (home.work / "build").exists()
    assert (home.work / "dist").exists()
    assert "not that one" in told(model_server)


def test_shift_tab_and_a_command_switch_the_mode(home: Home, model_server: ModelServer) -> None:
    with chatting(home) as screen:
        screen.shows("mode ask")
        screen.type(SHIFT_TAB)
        screen.shows("mode edits")
        screen.type(SHIFT_TAB)
        screen.shows("mode plan")
        say(screen, "Clean up.")
        screen.shows("refused (plan mode")
        screen.shows("Done.")
        happened(home, e.TurnCompleted, 1)
        screen.type(SHIFT_TAB)
        screen.shows("mode ask")
        say(screen, "/mode nonsense")
        screen.shows("There is no mode 'nonsense'.")
        say(screen, "/mode full")
        screen.shows("Mode full: asks only for keys")
        model_server.follow(asks_for(CLEAN))
        say(screen, "Clean up again.")
        screen.shows("Done.", times=2)
        screen.type(CTRL_D)
        assert screen.end() == 0
    assert not (home.work / "build").exists()
    with home.open_log() as log:
        facts = facts_of(log)
    assert [(fact.mode, fact.by) for fact in facts if isinstance(fact, e.ModeChanged)] == [
        ("ask", "user"),
        ("full", "user"),
    ]
    (opened,) = [fact.opening for fact in facts if isinstance(fact, e.TurnSubmitted) and fact.opening]
    assert opened.mode == "plan"
    with chatting(home, "-c", "--mode", "plan") as screen:
        screen.shows("mode plan")
        assert "[Plan mode" not in screen.text
    with chatting(home, "-c") as screen:
        screen.shows("mode plan")
