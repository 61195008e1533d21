"""Shortened long options: what stands for an option that a rule names is judged as that option."""

from __future__ import annotations

import pytest

from hermes_jobs.tools.long_options import with_whole_options
from hermes_jobs.tools.policy import CommandPolicy

from .support import context_in
from .test_policy import PATHS, WORKDIR, verdict

SHORTENED = {
    "rm --rec src": "deleting folders or many files",
    "rm --r src": "deleting folders or many files",
    "timeout --sig 9 5 rm --recurs src": "deleting folders or many files",
    "script --comm='rm -r src' /dev/null": "deleting folders or many files",
    "script -qc'rm -r src' /dev/null": "deleting folders or many files",
    "flock f --command='rm -r src'": "deleting folders or many files",
    "git reset --har": "rewriting git history or discarding changes",
    "git -C sub reset --har": "rewriting git history or discarding changes",
    "git -C push reset --har": "rewriting git history or discarding changes",
    "git switch --disc other": "rewriting git history or discarding changes",
    "git branch --del --for x": "rewriting git history or discarding changes",
    "git checkout --forc": "rewriting git history or discarding changes",
    "git tag --del v1": "rewriting git history or discarding changes",
    "git init --separate=../x": "writing outside the working folder",
    "tar --remove -cf x.tar src": "deleting folders or many files",
    "tar --one-top=../x -xf a.tar": "writing outside the working folder",
    "tar --absolute-n -xf a.tar": "writing outside the working folder",
    "sort --outp=../x a": "writing outside the working folder",
    "shuf --outp=../x a": "writing outside the working folder",
    "iconv --outp=../x a": "writing outside the working folder",
    "csplit --pref=../x a 1": "writing outside the working folder",
    "wget --output-doc=../x http://example.org/": "writing outside the working folder",
    "wget --append=../x http://example.org/": "writing outside the working folder",
    "wget --exec=output_document=../x http://example.org/": "having one program run another",
    "wget --post-f=a.txt http://example.org/": "another host",
    "wget --body-f=a.txt http://example.org/": "another host",
    "wget --meth=DELETE http://example.org/": "another host",
    "npm ci --regist=http://example.org": "another host",
    "make --ev='$(shell ./x)'": "having one program run another",
    "gdb --ev 'shell ./x'": "having one program run another",
    "psql --comm 'drop table x'": "changing a database",
    "mysql --exec 'drop table x'": "changing a database",
    "split --filt=./x a": "having one program run another",
    "tar --to-c=./x -xf a.tar": "having one program run another",
    "sed --expr='1e./x' a": "code on the command line that does more than compute",
}


@pytest.mark.parametrize("command", SHORTENED)
def test_a_shortened_option_is_judged_as_the_whole_one(command: str) -> None:
    assert SHORTENED[command] in verdict(command).rule.split("; ")


def test_a_file_that_a_shortened_option_would_empty_is_asked_about(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    asked = CommandPolicy(paths=PATHS).verdict("sort --outp=a.txt /dev/null", context_in(tmp_path))
    assert asked.rule == "emptying files"


def test_a_command_that_writes_by_a_shortened_option_does_not_only_read() -> None:
    judged = CommandPolicy(paths=PATHS)
    assert not judged.line("git diff --outpu=out", context_in(WORKDIR)).only_reads()
    assert judged.line("git diff --stat", context_in(WORKDIR)).only_reads()


@pytest.mark.parametrize(
    "command",
    [
        "git push --force-with-lease",
        "curl --head --data-raw x --cookie a=b",
        "curl --output-dir x -O http://example.org/",
        "rsync --delete-after a b",
        "git diff --text",
        "npm ls --global",
        "pytest --co -q",
        "du --exclude=x",
        "cp --no-preserve=mode a b",
        "grep -- --rec a",
        "unknown --rec --har",
    ],
)
def test_whole_options_keep_their_meaning(command: str) -> None:
    """Given an option that is the beginning of another one, when it is whole, then it is left as it is."""
    name, *arguments = command.split()
    assert with_whole_options(name, tuple(arguments)) == tuple(arguments)


@pytest.mark.parametrize(
    "command",
    [
        "ls --col --all",
        "git log --onel -3",
        "git commit --am --no-ed",
        "grep --rec --incl=*.py x .",
        "sort --rev a",
    ],
)
def test_harmless_shortened_options_run(command: str) -> None:
    assert verdict(command).decision == "allow"
