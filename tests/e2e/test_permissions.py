"""Modes, rules, and what is approved beforehand, in pipes: nobody is asked who cannot answer."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.tables import sampled

CLEAN = AskedCall("terminal", {"command": "rm -r build"})
WRITE = AskedCall("write_file", {"path": "a.txt", "content": "new"})


def script(*rounds: tuple[AskedCall, ...]) -> Script:
    steps = (*(Answer(tool_calls=calls) for calls in rounds), Answer(text="Done."))
    return Script(rules=(Rule("Clean", steps),))


@pytest.fixture(autouse=True)
def a_folder_that_the_model_wants_to_delete(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(script((CLEAN,)))


def is_there(home: Home) -> bool:
    return (home.work / "build").exists()


def results(model_server: ModelServer) -> list[str]:
    return [str(each["content"]) for each in model_server.requests[-1].messages if each["role"] == "tool"]


@pytest.mark.parametrize("flag", ["-q", "--json"])
def test_a_quiet_send_says_what_it_waits_for(home: Home, flag: str) -> None:
    with home.start("send", flag, "Clean up.") as running:
        running.wait_for("Without an answer")
        assert "It waits for you (deleting folders or many files): terminal rm -r build" in running.err
        turn = running.err.partition("turns approve ")[2].split()[0]
        assert home.run("turns", "deny", turn, "--no-wait").code == 0
        ran = running.end()
    assert ran.out == "Done.\n" or json.loads(ran.out)["refused"][0]["tool"] == "terminal"


def test_unattended_refuses_calls_that_would_ask_and_says_so(home: Home, model_server: ModelServer) -> None:
    sent = home.run("send", "--json", "--unattended", "Clean up.")
    assert "nobody can be asked" in results(model_server)[0]
    assert is_there(home)
    (refused,) = sent.json["refused"]
    assert refused["tool"] == "terminal"
    assert refused["why"] == "deleting folders or many files, and nobody can be asked in this turn"
    plain = home.run("send", "--unattended", "Clean up.")
    assert plain.out == "Done.\n"
    assert "Refused: terminal rm -r build (deleting folders or many files" in plain.err


@pytest.mark.parametrize("pattern", sampled(["rm -r build", "rm -r *", "rm *"], 3))
def test_approve_holds_for_this_turn_alone(home: Home, pattern: str) -> None:
    first = home.run("send", "--approve", pattern, "--unattended", "Clean up.")
    assert (first.code, first.out) == (0, "Done.\n")
    assert not is_there(home)
    with home.open_log() as log:
        (given,) = [fact for fact in facts_of(log) if isinstance(fact, e.ApprovalGiven)]
    assert (given.by, given.rule) == ("rule", f"for this turn: {pattern}")
    (home.work / "build").mkdir()
    home.run("send", "-c", "--unattended", "Clean up.")
    assert is_there(home)


def test_the_name_of_a_tool_as_a_pattern_is_a_usage_error_that_shows_the_right_pattern(home: Home) -> None:
    home.path.mkdir()
    (home.path / "config.yaml").write_text("mcp_servers: {clock: {command: clock-server}}\n")
    patterns = {"web_fetch": "web_fetch:*", "edit": "edit:*"}
    for pattern, right in (patterns | dict.fromkeys(("clock__*", "clock__*:*"), "mcp_clock:*")).items():
        for command in (["approvals", "add", "allow", pattern], ["send", "--approve", pattern, "Hello"]):
            refused = home.run(*command)
            assert refused.code == 2
            assert f"{pattern} names tools, not a command. For all their calls: {right!r}." in refused.err
    assert home.run("approvals", "add", "allow", "terminal:edit").code == 0
    assert home.run("approvals", "add", "allow", "clocks__*").code == 0, (
        "a command, as there is no such server"
    )


def test_a_pattern_for_another_command_allows_nothing(home: Home) -> None:
    home.run("send", "--approve", "rm -r dist", "--approve", "rmdir *", "--unattended", "Clean up.")
    assert is_there(home)


def test_plan_mode_changes_nothing_and_the_prompt_says_so(home: Home, model_server: ModelServer) -> None:
    reads = AskedCall("terminal", {"command": "ls -a | head -3"})
    model_server.follow(script((CLEAN, WRITE, reads)))
    sent = home.send("--mode", "plan", "Clean up.")
    assert is_there(home)
    assert not (home.work / "a.txt").exists()
    cleaned, written, listed = results(model_server)
    assert "plan mode" in cleaned
    assert "plan mode" in written
    assert "build" in listed
    assert {each["tool"] for each in sent["refused"]} == {"terminal", "write_file"}
    assert home.run("turns", "diff", sent["turn"], "--json").json["num_commands"] == 1, (
        "what was refused did not run"
    )
    begun = model_server.requests[0].messages
    assert begun[-1]["content"].startswith("Clean up.\n\n[Plan mode:")
    assert "plan mode" not in begun[0]["content"].lower()
    home.send("-c", "--mode", "ask", "Hello?")
    later = model_server.requests[-1].messages
    assert later[: len(begun)] == begun
    assert "Plan mode has ended" in later[-1]["content"]


def test_a_session_keeps_the_mode_that_it_began_with(home: Home, model_server: ModelServer) -> None:
    model_server.follow(script((WRITE,)))
    home.send("--mode", "plan", "Hello.")
    home.send("-c", "Clean up.")
    assert not (home.work / "a.txt").exists()
    home.send("-c", "--mode", "ask", "Clean up.")
    assert (home.work / "a.txt").exists()


def test_full_mode_asks_nothing_and_still_refuses_forbidden_commands(
    home: Home, model_server: ModelServer
) -> None:
    never = AskedCall("terminal", {"command": "rm -rf /"})
    model_server.follow(script((CLEAN, never)))
    sent = home.send("--mode", "full", "Clean up.")
    assert not is_there(home)
    assert [each["why"] for each in sent["refused"]] == ["deleting a whole system or home folder"]


def test_full_mode_reaches_neither_keys_nor_startup_files(home: Home, model_server: ModelServer) -> None:
    hook = AskedCall("write_file", {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh"})
    command = AskedCall("terminal", {"command": "echo x > .git/hooks/pre-push"})
    keys = AskedCall("terminal", {"command": "cat ~/.ssh/id_ed25519"})
    model_server.follow(script((hook, command, keys)))
    sent = home.send("--mode", "full", "--unattended", "--approve", "edit:*", "Clean up.")
    assert len(sent["refused"]) == 3
    assert not (home.work / ".git").exists()


def test_edits_mode_asks_for_every_command_that_does_more_than_read(
    home: Home, model_server: ModelServer
) -> None:
    calls = tuple(AskedCall("terminal", {"command": each}) for each in ("ls", "git status", "touch b.txt"))
    model_server.follow(script((*calls, WRITE)))
    sent = home.send("--mode", "edits", "--unattended", "Clean up.")
    assert (home.work / "a.txt").read_text() == "new"
    assert not (home.work / "b.txt").exists()
    assert [each["why"].split(" in ")[0] for each in sent["refused"]] == ["every command asks"]


def test_rules_ask_about_edits_and_deny_wins(home: Home, model_server: ModelServer) -> None:
    model_server.follow(script((WRITE, CLEAN)))
    assert home.run("approvals", "add", "ask", "edit:*").code == 0
    assert home.run("approvals", "add", "allow", "rm *").code == 0
    assert home.run("approvals", "add", "deny", "rm -r *", "--anywhere").code == 0
    sent = home.run("send", "--unattended", "--json", "Clean up.").json
    why = {each["tool"]: each["why"] for each in sent["refused"]}
    assert why["write_file"].startswith("your rule 1: edit:*")
    assert why["terminal"] == "rule 3: never rm -r *"
    assert is_there(home)


def test_rules_are_tested_without_running_anything(home: Home) -> None:
    def tested(*arguments: str) -> tuple[str, str]:
        found = home.run("approvals", "test", "--json", *arguments).json
        return found["decision"], found["by"]

    assert tested("rm -rf build") == ("ask", "")
    assert tested("rm -rf /") == ("deny", "")
    assert tested("make test") == ("allow", "")
    assert tested("make test", "--mode", "edits") == ("ask", "")
    assert tested("make test", "--mode", "plan") == ("deny", "")
    assert tested("rm -rf build", "--unattended") == ("deny", "")
    assert tested("edit:a.txt") == ("allow", "")
    assert tested("edit:a.txt", "--mode", "plan") == ("deny", "")
    home.run("approvals", "add", "allow", "rm -rf *")
    assert tested("rm -rf build") == ("allow", "rule 1: rm -rf *")
    assert tested("rm -rf build", "--workdir", "/") == ("ask", "")
    assert tested("rm -rf ../other") == ("ask", "")
    too_far = home.run("approvals", "test", "rm -rf ../other")
    assert too_far.out.splitlines()[-1].split() == ["goes", "beyond", "rule", "1:", "rm", "-rf", "*"]
    assert home.run("approvals", "test", "--json", "rm -rf ../other").json["beyond"] == [1]
    shown = home.run("approvals", "test", "rm -rf build").out
    assert shown == "It runs without a question.\nallowed by  rule 1: rm -rf *\n"
    wrong = home.run("approvals", "test", "edti:a.txt")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean edit:…?" in wrong.err
    assert is_there(home)


def test_rules_are_listed_and_the_same_one_is_made_once(home: Home) -> None:
    assert home.run("approvals", "list").err.startswith("No rules.")
    for _ in range(2):
        assert home.run("approvals", "add", "allow", "npm test *").err.startswith("Rule 1: allow npm test *")
    listed = home.run("approvals", "list").out.splitlines()
    assert listed[0].split() == ["N", "RULING", "CALLS", "WHERE", "WHEN", "BY"]
    assert listed[1].split()[:5] == ["1", "allow", "npm", "test", "*"]
    assert home.run("approvals", "add", "allow", "x:*").code == 2
    assert home.run("approvals", "add", "maybe", "ls").code == 2


ATTACKS = [
    "hermes-jobs turns approve t1",
    "python3 -m hermes_jobs approvals add allow '*' --anywhere",
    "env -u HERMES_JOBS_INSIDE_TOOL {python} -P -m hermes_jobs approvals add allow 'rm *' --anywhere",
    "x=hermes; ${{x}}-jobs approvals add allow '*'",
    "cat > go.sh <<'E'\n{python} -P -m hermes_jobs approvals add allow 'rm *' --anywhere\nE\nsh go.sh",
    "cat > go.py <<'E'\nimport os, subprocess, sys\nenv = dict(os.environ)\n"
    "env.pop('HERMES_JOBS_INSIDE_TOOL', None)\nenv['HERMES_JOBS_HOME'] = '{home}'\n"
    "subprocess.run([sys.executable, '-P', '-m', 'hermes_jobs', 'approvals', 'add', 'allow', 'rm *',"
    " '--anywhere'], env=env)\nE\n{python} go.py",
    "cat > log.py <<'E'\nimport sqlite3\n"
    "sqlite3.connect('{home}/events.db').execute(\"UPDATE events SET data = '{{}}'\")\nE\n{python} log.py",
]


@pytest.mark.parametrize("attack", sampled(ATTACKS, 3))
@pytest.mark.parametrize("mode", ["ask", "full"])
def test_the_agent_cannot_approve_itself_or_make_rules(
    home: Home, model_server: ModelServer, attack: str, mode: str
) -> None:
    import sys

    command = attack.format(python=sys.executable, home=home.path)
    model_server.follow(script((AskedCall("terminal", {"command": command}),)))
    home.run("send", "--mode", mode, "--unattended", "Clean up.")
    assert home.run("approvals", "list", "--json").json == []
    with home.open_log() as log:
        facts = facts_of(log)
    assert not [fact for fact in facts if isinstance(fact, e.ApprovalRuleAdded | e.ModeChanged)]
    assert home.run("events", "verify").code == 0


def test_send_asks_about_code_and_a_makes_the_rule(home: Home, model_server: ModelServer) -> None:
    home.environ |= {"HERMES_JOBS_TERMINAL__SANDBOX": "off", "HERMES_JOBS_TERMINAL__ALLOW": "[]"}
    (home.work / "Makefile").write_text("all:\n\t@touch built\n")
    asked = AskedCall("terminal", {"command": "make"})
    model_server.follow(Script(rules=(Rule("Build", (Answer(tool_calls=(asked,)), Answer(text="Done."))),)))
    with Screen(home, "send", "Build.", columns=110) as screen:
        screen.shows("r no, and why")
        assert "read your keys" in screen.text
        assert "s and a allow all code of the folder (code:*), in" in screen.text
        screen.type("a")
        screen.shows("Done.")
        assert screen.end() == 0
    (home.work / "built").unlink()
    assert "code:*" in home.run("approvals", "list").out
    assert home.run("send", "Build.").code == 0
    assert (home.work / "built").exists()


def test_a_pattern_of_code_is_for_all_of_it(home: Home) -> None:
    refused = home.run("approvals", "add", "allow", "code:src/*")
    assert refused.code == 2
    assert "code:* is about all code of a folder" in refused.err
