"""Names of files that a text tells: without a sandbox, an unattended turn takes those of its folder only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .keys_support import Person

NAMED = [
    "xargs -a list cat",
    "xargs cat < list",
    "cat list | xargs cat",
    "cat list | xargs -n1 head -c 100",
    "(cat list; find .) | xargs cat",
    "tar cf - -T list | strings",
    "wc -L --files0-from=list",
    "find . -type f | xargs cat | xargs cat",
    "find . -name list | sed 's/list//' | xargs cat",
    "find . | cut -c2- | xargs cat",
    "find . | tail -c 40 | xargs cat",
    "find . | grep -o '/.*' | xargs cat",
    "find . | xargs -d x cat",
    "find . -printf '/%P' | xargs cat",
    "find .. -name '*25519' | xargs cat",
    "cd .. && ls -d .ssh/* | xargs cat",
    "git ls-files | xargs cat",
    "git grep --no-index NEEDLE ..",
    "git grep --no-index NEEDLE ~",
    "xargs -a list cp -t .; cat id_ed25519",
    "find -files0-from list -exec head {} +",
    "strings @list",
    "xargs -a list cp evil",
    "xargs cp evil < list",
    "xargs -a list sort evil -o",
    "jq -n -L ~/.docker 'import \"config\" as $d; $d'",
    'jq -n \'import "config" as $d {search: "../.docker"}; $d\'',
    "jq -nf p.jq",
    "jq -n --from-file p.jq",
    "tar cf - -C .. .npmrc | cat",
    "tar -cf - -C / -C ..//../ .ssh | cat",
    "tar c --directory=.. .npmrc | cat",
    "tar -C../project/.. -cf - .npmrc | cat",
    "git config -f inc --includes -l",
    "git config --file=inc --inc --get-regexp .",
    "git config --blob HEAD:inc --includes -l",
]


@pytest.mark.parametrize("command", NAMED)
def test_a_text_names_no_key_to_an_unattended_turn(
    tmp_path: Path, people: Callable[..., Person], command: str
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    person.write("list", f"{person.folder}/.ssh/id_ed25519\n../.ssh/id_ed25519\n")
    person.write("evil", "touch pwned\n")
    person.write("p.jq", 'import "config" as $d {search: "../.docker"}; $d')
    person.write("inc", f"[include]\npath={person.folder}/.pypirc\n")
    person.write(person.folder / ".pypirc", "[pypi]\npassword = NEEDLE\n")
    person.git("add", "-A")
    done = person.run(command, attended=False)
    assert done.refused
    assert "NEEDLE" not in done.content
    assert (person.folder / ".ssh/id_ed25519").read_text() == "NEEDLE-ssh"


LISTED_BY_GIT = {"git ls-files | xargs cat"}
"""In attended turns these run: git lists names of the folder, if one does not think of its spaces."""


@pytest.mark.parametrize("command", [each for each in NAMED if each not in LISTED_BY_GIT])
def test_an_attended_turn_asks_before_a_text_names_files(
    tmp_path: Path, people: Callable[..., Person], command: str
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    assert person.verdict(command).decision == "ask"


def test_git_works_in_no_other_folder_unseen(tmp_path: Path, people: Callable[..., Person]) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    person.git("config", "core.worktree", "../..")
    for command in ("git add .npmrc; git show :.npmrc", "git checkout HEAD -- .bashrc"):
        assert "writing outside the working folder" in person.verdict(command).rule
        assert person.run(command, attended=False).refused
    person.git("config", "core.worktree", "..")
    assert person.verdict("git status").decision == "allow"


def test_git_lists_no_key_that_settings_include(tmp_path: Path, people: Callable[..., Person]) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    person.write(person.folder / ".pypirc", "[pypi]\npassword = NEEDLE\n")
    person.git("config", "include.path", "~/.pypirc")
    assert person.verdict("git config -l").rule.endswith("; reading keys or passwords")
    assert person.run("git config -l", attended=False).refused


@pytest.mark.parametrize("name", ["docs ", "docs\n", "docs ..", "docs '"])
@pytest.mark.parametrize("command", ["find . -type f | xargs cat", "find . -type f | grep -v x | xargs cat"])
def test_a_name_that_xargs_splits_is_no_way_to_a_key(
    tmp_path: Path, people: Callable[..., Person], name: str, command: str
) -> None:
    """`./docs /home/ann/.ssh/id_ed25519` is two names to `xargs`."""
    person = people(tmp_path.resolve(), mode="off")
    inner = "/.ssh/id_ed25519" if ".." in name else f"{person.folder}/.ssh/id_ed25519"
    person.write(f"{person.work}/{name}{inner}", "x")
    done = person.run(command, attended=False)
    assert done.refused
    assert "xargs` splits the name" in done.content
    assert person.run("find . -type f -print0 | xargs -0 cat", attended=False).content.startswith("x")


EVERYDAY = [
    "find . -name '*.txt' | xargs grep a",
    "find . -type f -not -path './.git/*' | grep -v x | sort | head -20 | xargs wc -l",
    "find . -name '*.txt' -print0 | xargs -0 -n1 wc -l",
    "ls *.txt | xargs -n1 wc -l",
    "grep -rl a . | xargs grep -l a",
    "git ls-files -z '*.txt' | xargs -0 cat",
    "git diff --name-only -z | xargs -0 cat",
    "cd docs && find . -name '*.md' | xargs cat | wc -l",
    "seq 3 | xargs -n1 echo",
    "sha256sum a.txt > sums; sha256sum -c sums",
]


@pytest.mark.parametrize("command", EVERYDAY)
def test_names_that_a_folder_lists_are_taken(
    tmp_path: Path, people: Callable[..., Person], command: str
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    person.write("docs/a.md", "a\n")
    done = person.run(command, attended=False)
    assert done.ok, done.content


@pytest.mark.parametrize(
    "program",
    [
        '{print > "up/x.desktop"}',
        '{print >> "up/" $1}',
        '{print > ("up/" $1 ".desktop")}',
        '{printf "%s", $0 > "up/x"}',
    ],
)
def test_awk_writes_nowhere_through_a_link(
    tmp_path: Path, people: Callable[..., Person], program: str
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.write("a.txt", "line\n")
    autostart = person.folder / ".config/autostart"
    autostart.mkdir(parents=True)
    (person.work / "up").symlink_to(autostart)
    assert person.run(f"awk '{program}' a.txt", attended=False).refused
    assert person.verdict(f"awk '{program}' a.txt").decision == "ask"
    assert list(autostart.iterdir()) == []


@pytest.mark.parametrize("program", ['{print > "out.txt"}', '$1 > "b" {print}', '{print > "/dev/stderr"}'])
def test_awk_writes_in_the_folder(tmp_path: Path, people: Callable[..., Person], program: str) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.write("a.txt", "line\n")
    assert person.run(f"awk '{program}' a.txt", attended=False).ok
