"""Commands that only read, and dry runs, leave the home as it is, byte for byte.

Every command stands in one of the two tables: a new one has to be sorted into one. Only what is derived
may change: the views, which every reader brings up to date, `run/`, SQLite's files beside the log, and the
lock of the log's writers, which `doctor` tries.
"""

from __future__ import annotations

import json
import shlex
import sys

import click
import pytest

from tests.cli.test_help_and_errors import ALL
from tests.home import Home
from tests.mcp.conftest import SERVER
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

READS = """
    agents list
    agents show research
    approvals list
    approvals test "make it"
    completion bash
    config get model.model
    config path
    config show --origin
    doctor
    doctor --json
    log events
    log events --json
    log events verify
    experiments list
    experiments show first
    experiments show first --html {out}/experiment.html
    export --format sharegpt -
    held list --all
    held show {held}
    help files
    inbox list --all
    inbox show {delivery}
    mcp list
    mcp resources
    mcp show test
    mcp tools
    memory at tomorrow
    memory curate
    memory curate --json
    memory forget 1 --dry-run
    memory log
    memory log --json
    memory show
    memory show --json
    memory why tea
    run metrics
    models
    models list
    keys list
    models show scripted
    processes list --all
    push list
    queues
    queues --json
    redact coffee --dry-run
    redact --regex te. --dry-run
    report
    report --html {out}/report.html
    reviews list
    reviews show {review}
    schedule history {schedule}
    schedule list --all
    schedule preview "every day at 9"
    schedule show {schedule}
    sessions delete {session} --dry-run
    sessions export {session}
    sessions list --all
    sessions search tea
    sessions show {session}
    sessions summary {session}
    show {turn}
    service install --print
    service status
    skills list
    skills log brew
    skills scan {home}/skills/brew
    skills show brew
    skills show brew --json
    skills show pour
    skills why brew
    tools
    triggers list
    triggers show release
    turns diff {turn}
    turns follow {turn}
    turns list --all
    turns rewind {turn} --dry-run
    turns show {turn}
    turns show {turn} --html {out}/turn.html
    turns show {turn} --prompt
    turns tree {turn}
    turns wait {turn}
    usage
    usage --estimated
    log views status
"""
WRITES = """
    acp, approvals accept, approvals add, approvals remove
    backup, changed, chat, config edit, config set, config unset, down, export
    experiments cancel, experiments new, experiments run, held drop, held keep
    import, inbox read, keys add, keys edit, keys revoke
    mcp accept, mcp add, mcp login, mcp logout, mcp read, mcp remove, mcp serve, mcp test
    memory add, memory embed, memory provider, memory remove, memory replace, memory undo
    models forget-limits, processes kill, processes read, push remove, push test
    reviews apply, reviews cancel, reviews curate, reviews keep, reviews retry
    schedule add, schedule edit, schedule pause, schedule remove, schedule resume, schedule run
    send, service remove
    sessions compress, sessions consolidate, sessions end, sessions fork, sessions rename
    setup, skills approve, skills deny, skills install, skills undo, skills update
    trigger, triggers add, triggers edit, triggers pause, triggers remove, triggers resume
    turns answer, turns approve, turns cancel, turns continue, turns deny, turns label, turns rate
    turns replay, turns retry, up
    log views rebuild, restore, run beat, run flower, run gateway telegram, serve
    open, run worker
"""
DERIVED = ("views", "run")
MAKES = AskedCall("write_file", {"path": "made.txt", "content": "Made.\n"})
SAVES = AskedCall("memory", {"action": "add", "target": "memory", "content": "The shop has moved"})
SKILL = "---\nname: {name}\ndescription: How to make tea.\n---\n\n{text}\n"


def reads() -> list[str]:
    return [line.strip() for line in READS.splitlines() if line.strip()]


def called(line: str) -> tuple[str, ...]:
    """The command that a line calls."""
    words = tuple(shlex.split(line))
    return max((path for path in ALL if words[: len(path)] == path), key=len)


def contents(home: Home) -> dict[str, bytes]:
    """The files of the home and the working folder, apart from what is derived."""
    files = (path for root in (home.path, home.work) for path in root.rglob("*") if path.is_file())
    return {
        str(path): path.read_bytes()
        for path in files
        if not path.name.endswith(("-wal", "-shm", ".lock")) and not {*path.parts}.intersection(DERIVED)
    }


@pytest.fixture
def names(home: Home, model_server: ModelServer) -> dict[str, str]:
    """A home with something of everything, and with edits of memory and skills that nothing has imported."""
    makes = Rule("make", (Answer(tool_calls=(MAKES,)), Answer(text="Made.")))
    saves = Rule("Input of this trigger", (Answer(tool_calls=(SAVES,)), Answer(text="It waits.")))
    model_server.follow(Script(rules=(makes, saves)))
    home.path.mkdir()
    folder = home.path.parent / "server"
    folder.mkdir()
    server = {
        "command": sys.executable,
        "args": ["-I", "-S", str(SERVER)],
        "env": {"MCP_TEST": str(folder)},
        "writable": [str(folder)],
    }
    (home.path / "config.yaml").write_text(json.dumps({"mcp_servers": {"test": server}}))
    (home.work / "variants.yaml").write_text("variants: [{name: now}, {name: large, model: large}]\n")
    skill = home.path / "skills" / "brew" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL.format(name="brew", text="Boil water."))
    turn = home.send("make tea")
    for line in (
        "memory add 'Likes tea'",
        "experiments new first --turns newest:1 --variants variants.yaml",
        "send -q --deliver cli 'Hello.'",
        "mcp test test",
        "triggers add release --task 'Make a release.'",
    ):
        ran = home.run(*shlex.split(line))
        assert ran.code == 0, ran
    schedule = home.run("schedule", "add", "--yes", "--json", "every day at 9 say hello").json
    (delivered,) = home.run("inbox", "list", "--all", "--json").json
    assert home.run("trigger", "release", "-f", "-", "--wait", stdin="We moved.").code == 0
    (held,) = home.run("held", "list", "--json").json
    curated = home.run("reviews", "curate", "--json", "--wait")
    assert curated.code == 0, curated
    (home.path / "memories" / "MEMORY.md").write_text("Likes coffee\n")
    skill.write_text(SKILL.format(name="brew", text="Boil water twice."))
    new = home.path / "skills" / "pour" / "SKILL.md"
    new.parent.mkdir()
    new.write_text(SKILL.format(name="pour", text="Pour it slowly."))
    return {
        "turn": turn["turn"],
        "session": turn["session"],
        "schedule": schedule["schedule"],
        "review": curated.json["review"],
        "delivery": delivered["delivery"],
        "held": held["held"],
    }


def test_every_command_is_known_to_read_or_to_write() -> None:
    writes = {tuple(name.split()) for line in WRITES.split("\n") for name in line.split(",") if name.strip()}
    both = {called(line) for line in reads()} & writes
    dry = {path for path, command in ALL.items() if any("--dry-run" in p.opts for p in command.params)}
    assert both <= {("export",)}
    assert {called(line) for line in reads()} | writes == {
        path
        for path, command in ALL.items()
        if not isinstance(command, click.Group) or command.invoke_without_command
    }
    assert dry == {called(line) for line in reads() if "--dry-run" in line}


@pytest.mark.slow
def test_commands_that_read_change_nothing_beside_edits_that_wait(home: Home, names: dict[str, str]) -> None:
    out = home.path.parent
    before = contents(home)
    said, wrong = {}, {}
    for line in reads():
        ran = home.run(*shlex.split(line.format(**names, out=out, home=home.path)))
        if (ran.code and called(line) != ("doctor",)) or "Traceback" in ran.err:
            wrong[line] = [str(ran)]
        after = contents(home)
        changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        if changed:
            wrong.setdefault(line, []).extend(changed)
        before, said[line] = after, ran.out + ran.err
    assert not wrong
    assert "Likes coffee" in said["memory show"], "edits are shown"
    assert "Likes coffee" in said["memory log"]
    assert "1 edit of the files" in said["memory log"]
    assert "twice" in said["skills show brew"]
    assert "slowly" in said["skills show pour"]
    imported = home.run("memory", "add", "Likes milk")
    assert imported.code == 0
    assert [each["content"] for each in home.run("memory", "log", "--json").json][:2] == [
        "Likes milk",
        "Likes coffee",
    ]
