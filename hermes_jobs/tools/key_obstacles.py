"""What in a line speaks against its seeing keys: code of the folder beside them, and unknown files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hermes_jobs.tools.command_line import CommandPart
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.credential_line import Line
from hermes_jobs.tools.git_changes import changes_only_plainly, writes_plain_files, written_files
from hermes_jobs.tools.git_program import Unreadable
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.key_environment import Inside
from hermes_jobs.tools.known_files import unknown_file
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, words


def obstacles(parts: Sequence[CommandPart], using: Sequence[CommandPart], line: Line) -> Iterator[str]:
    """What in the line speaks against its seeing keys, part by part. Raises `Unparsable`."""
    only_git = all(part.invocation.name == "git" for part in using)
    for part in parts:
        uses = part in using
        yield _obstacle(part, line, uses=uses)
        yield writing(part, line, only_git=only_git)
        yield unknown_file(part.invocation, line, uses=uses)


def _obstacle(part: CommandPart, line: Line, *, uses: bool) -> str:
    """Why a line with this part must not see keys; empty if nothing speaks against it."""
    invocation = part.invocation
    name = invocation.name or invocation.words[0] if invocation.words else ""
    if not invocation.name or invocation.words[:1] != (invocation.program,):
        return f"`{name}` changes variables"
    if invocation.name != "git" and not uses:
        printing = replace(part, invocation=replace(invocation, redirects=()))
        reads = printing.only_reads() or name in words("credentials", "runners")
        reads = reads or name in ("cat", "echo", "printf")
        return "" if reads else f"`{name}` may run code of this folder"
    found = shutil.which(invocation.program, path=line.environ["PATH"]) or invocation.program
    if "/" in found and Inside(line.paths, line.workdir).holds(found):
        return f"`{name}` is a program of this folder"
    if invocation.given or (uses and any(UNKNOWN in word for word in _known(invocation))):
        return f"the arguments of `{name}` are not known"
    return git_obstacle(part, uses=uses) if invocation.name == "git" else ""


def _known(invocation: Invocation) -> Iterator[str]:
    """The words that must be known: all but the message of a commit."""
    rest = iter(invocation.words)
    for word in rest:
        yield word
        if re.fullmatch(r"-[aqsnv]*m|--message", word) and invocation.name == "git":
            next(rest, None)


def git_obstacle(part: CommandPart, *, uses: bool) -> str:
    """Why a command of git must not be in a line with keys."""
    verb, _settings, _folders = git.split_verb(part.invocation)
    table = load("credentials")["git"]
    if not uses and changes_only_plainly(part.invocation) and UNKNOWN not in "".join(part.invocation.words):
        return ""
    if not uses and verb.name in table["transfers"].split():
        return f"`git {verb.name}` reaches a repository that may run code"
    if verb.name not in (*table["verbs"].split(), "submodule", "clone"):
        return f"`git {verb.name}` may run code of this folder"
    if verb.name == "remote" and verb.operands[:1] not in (
        (),
        ("show",),
        ("get-url",),
        ("prune",),
        ("update",),
    ):
        return "`git remote` changes addresses"
    other = [word for word in verb.arguments if re.fullmatch(table["unless"], word)]
    if other or any(UNKNOWN in word for word in _known(part.invocation)):
        return f"`git {verb.name} {''.join(other[:1])}` may run a program".replace(" `", "`")
    return ""


def writing(part: CommandPart, line: Line, *, only_git: bool) -> str:
    """Why a redirection of this part stands against its line seeing keys.

    Programs other than git read settings in the folder by names of their own: beside them nothing is written.
    """
    if not written_files(part.invocation):
        return ""
    try:
        plain = only_git and writes_plain_files(part.invocation, line.paths, line.workdir, line.repositories)
    except Unreadable:
        plain = False
    return "" if plain else f"`{part.invocation.name}` writes to a file"
