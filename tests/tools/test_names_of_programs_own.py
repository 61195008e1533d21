"""Without a sandbox: names that a program makes itself, or takes for options, lead out of no folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .keys_support import Person

PROFILE = "echo hi\n"
Prepare = Callable[[Person], Any]


def _link(person: Person, name: str, to: str = ".profile") -> None:
    path = person.work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(person.folder / to)


def _bare(person: Person, link: str) -> None:
    _link(person, f"x.git/{link}", ".netrc")


OPTIONS: dict[str, tuple[Prepare, str]] = {
    "a program of sort": (lambda it: it.thief("--compress-program=./x"), "sort -S1k */*"),
    "a program of sort in a loop": (
        lambda it: it.thief("--compress-program=./x"),
        'for f in */*; do sort -S1k "$f" a.txt; done',
    ),
    "a folder of cp": (lambda it: it.write("--target-directory=../served", "x"), "cp * build/"),
    "a folder of cp, by its short option": (lambda it: it.write("-t..", "x"), "cp -r * build/"),
    "a file of sort": (lambda it: it.write("--output=./cfg", "x"), "sort */*"),
    "a file of git log": (lambda it: it.write("--output=./cfg", "x"), "git log --format=%B */*"),
    "a list of git add": (lambda it: it.write("--pathspec-from-file=./notes", "x"), "git add */*"),
    "the second name of uniq": (lambda it: _link(it, "z.txt"), "uniq *.txt"),
}
LINKS: dict[str, tuple[Prepare, str]] = {
    "cp into a folder": (lambda it: _link(it, "b/a.txt"), "cp a.txt b/"),
    "cp of a pattern": (lambda it: _link(it, "b/a.txt"), "cp a.* b/"),
    "cp of a folder": (lambda it: _link(it, "b/c/cfg"), "cp -r d/. b"),
    "cp into the folder of an option": (lambda it: _link(it, "b/a.txt"), "cp -t b a.txt"),
    "split": (lambda it: _link(it, "xaa"), "split a.txt"),
    "csplit": (lambda it: _link(it, "xx00"), "csplit -s a.txt 1"),
    "a message of git": (lambda it: _link(it, ".git/COMMIT_EDITMSG"), "git commit --allow-empty -m x"),
    "a merge of git": (lambda it: _link(it, ".git/MERGE_MSG"), "git merge --no-ff --no-commit -m x b"),
    "a log of git": (lambda it: _link(it, ".git/logs/refs/heads/t"), "git branch t"),
    "a log of a bare repository": (lambda it: _bare(it, "logs"), "git -C x.git branch t"),
    "a list of a bare repository": (lambda it: _bare(it, "packed-refs"), "git -C x.git log -1"),
    "the limits of a bare repository": (lambda it: _bare(it, "shallow"), "cd x.git && git branch"),
}


@pytest.mark.parametrize("name", [*OPTIONS, *LINKS])
def test_what_a_program_names_itself_asks(tmp_path: Path, people: Callable[..., Person], name: str) -> None:
    """Given a folder of an attacker, an everyday command that would reach outside asks."""
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    person.write(person.folder / ".profile", "mine\n")
    (person.work / "build").mkdir()
    person.write("d/c/cfg", PROFILE)
    person.git("init", "-q", "--bare", "x.git")
    (person.work / "b").mkdir()
    prepare, command = {**OPTIONS, **LINKS}[name]
    assert person.verdict(command).decision == "allow" or name == "the second name of uniq"
    prepare(person)
    assert person.verdict(command).decision == "ask"
    assert person.run(command, attended=False).refused


@pytest.mark.parametrize(
    "command",
    ["sort -- */*", "sort ./*/*", "cp d/c/cfg build/", "cp -r d build/", "split a.txt", "echo *", "ls */*"],
)
def test_names_that_are_none_do_not_ask(tmp_path: Path, people: Callable[..., Person], command: str) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    (person.work / "build").mkdir()
    person.write("d/c/cfg", PROFILE)
    if not command.startswith(("cp", "split")):
        person.write("--output=./cfg", "x")
    assert person.verdict(command).decision == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "sort -S 1k --compress-prog=./x a.txt",
        "awk '{f=$1; print @f($2)}' a.txt",
        "awk '@include \"lib.awk\"\n{print $1}' a.txt",
    ],
)
def test_a_question_about_another_program_says_what_it_may_read(
    tmp_path: Path, people: Callable[..., Person], command: str
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    assert "may run without a sandbox, and read your keys" in person.verdict(command).rule
