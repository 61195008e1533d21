"""Each command in an interpreter that has imported nothing: other tests fork theirs (`tests.processes`)."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.test_help_and_errors import ALL
from tests.processes import STARTS_PROCESSES
from tests.tables import slow_sample
from tests.written_home import WrittenHome

DETERMINISTIC = """
    completion bash
    config show --json
    log events --json
    log events verify --json
    acp
    export --format sharegpt -
    held drop none
    held keep none
    held list --json
    held show none
    inbox list --json
    inbox read --json
    inbox show none
    show none
    mcp accept none
    mcp list --json
    mcp login none
    mcp read none none
    mcp resources --json
    mcp logout none
    mcp remove none
    mcp serve
    mcp show none
    mcp test none
    mcp tools --json
    memory at 2027-01-01 --json
    memory log --json
    memory show --json
    memory provider
    memory why milk --json
    processes kill none
    processes list --json
    processes read none
    queues --json
    reviews cancel vnone
    reviews list --json
    reviews retry vnone
    reviews show vnone
    schedule edit none --task "Something else"
    schedule history none
    schedule list --json
    schedule pause none
    schedule remove none
    schedule resume none
    schedule run none
    schedule show none
    sessions end none
    sessions list --json
    sessions rename aa "A title"
    sessions search hello
    sessions show aa --json
    setup
    skills approve none
    skills deny none
    skills install nosuch
    skills update none
    skills list --json
    skills log none
    skills scan none
    skills show none
    skills undo none
    tools --json
    changed .
    trigger none
    keys edit phone --budget none
    keys list --json
    keys revoke phone
    push list --json
    push remove none
    push test
    triggers add ci --task Look
    triggers edit ci --debounce 1m
    triggers list --json
    triggers show none
    triggers pause none
    triggers resume none
    triggers remove none
    turns approve t1
    turns answer t1 --decline
    turns cancel t1
    turns rate t1 up
    turns label t1 hard
    turns replay none
    experiments list --json
    experiments show none
    experiments run none
    experiments cancel none
    turns deny t1
    turns diff t1 --json
    turns rewind t1
    turns follow t1 --json
    turns list --json
    turns continue t1
    turns retry t1
    turns show t1 --json
    turns wait t1 --json
    usage --json
    log views rebuild
"""
OTHERS = """
    agents list
    agents show research
    turns tree t1
    approvals add allow "make *"
    approvals list
    approvals remove 9
    approvals accept 9
    approvals test "make it"
    backup {home}.zip
    chat
    config edit
    config get model
    config path
    config set model.model other
    config unset model
    doctor
    experiments new brief --turns newest:1 --variants nosuch.yaml
    help files
    import no-such-file
    keys add phone
    mcp add files --no-test -- no-such-program
    memory add user "Likes milk"
    memory curate
    memory embed
    memory forget 1 --dry-run
    memory remove milk
    memory replace milk tea
    memory undo w1
    restore {home}/config.yaml
    run metrics
    open
    serve --host 0.0.0.0
    models forget-limits
    models list
    models show none
    redact "Likes" --dry-run
    report
    reviews apply none
    reviews keep none
    skills why none
    reviews curate --no-wait
    schedule add --yes --every 1h --task "Look around"
    schedule preview "every day at 9"
    send "Hello again"
    service install --print
    service remove
    service status
    sessions compress aa --no-wait
    sessions consolidate --all-finished
    sessions delete aa --yes
    sessions export aa
    sessions fork aa
    sessions summary aa
    log views status
"""
"""What they print names the home, the time or a random id."""
FAST = {
    "chat",
    "config show --json",
    "doctor",
    "log events --json",
    "mcp serve",
    "report",
    'send "Hello again"',
    "setup",
}
"""One command for each group of libraries that commands import; CI tries a sixth of the others, and
`make nightly` the rest."""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def cases(text: str) -> list[Any]:
    every = lines(text)
    others = slow_sample((line for line in every if line not in FAST), 6)
    return [*(line for line in every if line in FAST), *others]


@pytest.fixture
def twin(home: WrittenHome, tmp_path: Path) -> Iterator[WrittenHome]:
    """A home equal to the other, in a folder of its own, so that both can be written."""
    home.answered("aa", "t1")
    home.close()
    shutil.copytree(home.path, tmp_path / "twin/home")
    with closing(WrittenHome(tmp_path / "twin")) as twin:
        yield twin


@pytest.mark.parametrize("line", cases(DETERMINISTIC))
def test_a_new_interpreter_prints_the_same_as_a_forked_one(
    line: str, home: WrittenHome, twin: WrittenHome
) -> None:
    twin.close()
    new, forked = twin.run_in_new_interpreter(*shlex.split(line)), home.run(*shlex.split(line))
    assert new == forked
    assert "Unexpected" not in new.err


@pytest.mark.parametrize("line", cases(OTHERS))
def test_a_new_interpreter_ends_as_a_forked_one_ends(line: str, home: WrittenHome, twin: WrittenHome) -> None:
    twin.close()
    new = twin.run_in_new_interpreter(*shlex.split(line.format(home=twin.path)))
    forked = home.run(*shlex.split(line.format(home=home.path)))
    assert (new.code, "Unexpected" in new.err) == (forked.code, False), new.err


def test_every_command_is_started_in_a_new_interpreter() -> None:
    leaves = {" ".join(path) for path, command in ALL.items() if not isinstance(command, click.Group)}
    others = {leaf for leaf in leaves if STARTS_PROCESSES.intersection(leaf.removeprefix("run ").split()[:1])}
    shown = lines(DETERMINISTIC + OTHERS)
    assert [
        leaf for leaf in leaves - others if not any(f"{line} ".startswith(f"{leaf} ") for line in shown)
    ] == []
