"""Without a sandbox code of the folder asks; `code:*` allows it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.ports import Verdict
from hermes_jobs.kernel.events import CallPattern, Mode, Ruling
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule, Permissions, parse_pattern

from .keys_support import LAYERS, Person

CODE = "code of the working folder may run without a sandbox, and read your keys"

Judge = Callable[..., Verdict]


@pytest.fixture
def judge(tmp_path: Path, people: Callable[..., Person]) -> Judge:
    """The verdict on a command in a home without a sandbox, with these rules."""
    person = people(tmp_path.resolve(), mode="off")

    def judged(
        command: str, *rules: tuple[Ruling, str], attended: bool = True, mode: Mode = "ask"
    ) -> Verdict:
        made = [(ruling, parse_pattern(text, str(person.work))) for ruling, text in rules]
        person.permissions = Permissions(
            mode=mode,
            rules=tuple(
                ApprovalRule(number=number, ruling=ruling, calls=calls, by="user")
                for number, (ruling, calls) in enumerate(made, 1)
            ),
        )
        return person.verdict(command, attended=attended)

    return judged


def test_code_of_the_folder_asks_once_in_a_folder(judge: Judge) -> None:
    """Given no sandbox, `make` asks and offers all code of the folder; once that is a rule, it runs."""
    asked = judge("make test")
    assert (asked.decision, asked.rule) == ("ask", f"{CODE}: `make`")
    assert asked.offer is not None
    assert (asked.offer.tool, asked.offer.pattern) == ("code", "*")
    runs = judge("python3 run.py && make test", ("allow", "code:*"))
    assert (runs.decision, runs.by) == ("allow", "rule 1: code:*")


@pytest.mark.parametrize("command", ["ls", "git status", "grep -r x .", "cat a.txt | head", "mkdir -p a/b"])
def test_what_runs_no_code_of_the_folder_does_not_ask(judge: Judge, command: str) -> None:
    assert judge(command).decision == "allow"


@pytest.mark.parametrize(
    "command", ["rm -r build", "make && rm -r build", "cat ~/.ssh/id_ed25519", "git push"]
)
def test_code_of_the_folder_answers_no_other_question(judge: Judge, command: str) -> None:
    asked = judge(command, ("allow", "code:*"))
    assert asked.decision == "ask"
    assert CODE not in asked.rule


def test_a_push_that_is_allowed_answers_nothing_about_code(judge: Judge) -> None:
    """Given the rule that a push offers, a build beside it asks and names itself; with both it runs."""
    push = ("allow", "git push *")
    asked = judge("make && git push origin main")
    assert asked.rule == f"{CODE}: git beside `make`; pushing to a shared repository"
    assert asked.offer is not None
    assert asked.offer.exact
    assert judge("make && git push origin main", push).decision == "ask"
    assert judge("git push origin main", push).decision == "allow"
    assert judge("make && git push origin main", push, ("allow", "code:*")).decision == "allow"


def test_a_rule_that_a_question_offered_answers_only_what_that_question_said(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    """Given a rule for pushes alone, a hook that would run makes the push ask again."""
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    assert person.verdict("git push origin main").decision == "allow"
    person.thief(".git/hooks/pre-push")
    assert CODE in person.verdict("git push origin main").rule


def test_a_rule_for_the_command_allows_its_code(judge: Judge) -> None:
    assert judge("make test", ("allow", "make *")).decision == "allow"
    assert judge("make test && ./x", ("allow", "make *")).decision == "ask"


def test_deny_and_ask_rules_name_all_code(judge: Judge) -> None:
    assert judge("make", ("allow", "code:*"), ("deny", "code:*")).rule == "rule 2: never code:*"
    assert judge("ls", ("deny", "code:*")).decision == "allow"
    assert judge("make", ("allow", "code:*"), ("ask", "code:*")).decision == "ask"


def test_rules_hold_in_the_folder_only_and_for_people_only(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    elsewhere = CallPattern(tool="code", pattern="*", folder=str(tmp_path / "other"))
    person = people(tmp_path.resolve(), mode="off")
    person.permissions = Permissions(session=(elsewhere,))
    assert person.verdict("make").decision == "ask"
    person.permissions = Permissions(session=(CallPattern(tool="code", pattern="*"),))
    assert person.verdict("make").by == "for this session: code:*"


def test_modes_ask_as_they_do_elsewhere(judge: Judge) -> None:
    assert judge("make", mode="full").by == "the mode full"
    assert judge("make", ("allow", "code:*"), mode="edits").rule == "every command asks in the mode `edits`"
    assert judge("make", ("allow", "code:*"), mode="plan").decision == "deny"


@pytest.mark.parametrize(("mode", "rules"), [("edits", ()), ("ask", (("ask", "make *"),))])
def test_all_code_is_offered_only_where_that_answers_the_question(
    judge: Judge, mode: Mode, rules: tuple[tuple[Ruling, str], ...]
) -> None:
    """Where the mode or a rule asks as well, the next command would ask again."""
    offer = judge("make test", *rules, mode=mode).offer
    assert offer is not None
    assert (offer.tool, offer.pattern) == ("terminal", "make test *")


@pytest.mark.parametrize(
    "command",
    ["f=a.txt; false && f=.netrc; cat $f", "cat names | xargs cat", "unzip -o a.zip; head README"],
)
def test_files_that_are_not_known_by_name_ask_too(judge: Judge, command: str) -> None:
    assert judge(command).decision == "ask"


def test_a_link_to_a_key_asks_before_all_files_are_read(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    assert person.verdict("grep -r x .").decision == "allow"
    (person.work / "data").symlink_to(person.folder / ".netrc")
    asked = person.verdict("grep -R x .")
    assert (asked.decision, "leads to" in asked.rule) == ("ask", True)


def test_what_goes_on_in_the_background_asks(tmp_path: Path, people: Callable[..., Person]) -> None:
    """It would read what a later command puts in the place of its files: a branch with a link to a key."""
    person = people(tmp_path.resolve(), mode="off")
    waits = person.use("terminal", command="sleep 2; cat a.txt", background=True)
    assert waits.refused
    assert "it goes on while later commands change its files" in waits.rule
    assert person.verdict("sleep 2; cat a.txt").decision == "allow"


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
def test_in_a_sandbox_nothing_asks_and_no_rule_is_about_it(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    person = people(tmp_path.resolve())
    never = ApprovalRule(number=1, ruling="deny", calls=parse_pattern("code:*"), by="user")
    person.permissions = Permissions(rules=(never,))
    assert person.verdict("make test").decision == "allow"
