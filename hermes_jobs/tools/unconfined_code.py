"""Which commands may run code of the working folder, where nobody is asked and no sandbox confines them.

There whatever runs such code reads all keys. So a command runs only if each program of its line is known to
run nothing of the folder: by `data/unconfined.toml`, by the table of keys, and for git by a look at the
repository.
"""

# Paths are compared as text, which pathlib hides.

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence

from hermes_jobs.text.clip import clip
from hermes_jobs.tools.command_line import CommandPart
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.command_rules.text_programs import is_partly_unknown
from hermes_jobs.tools.credential_checks import CHECKS
from hermes_jobs.tools.credential_checks_git import reaches_folder
from hermes_jobs.tools.credential_line import Line
from hermes_jobs.tools.credentials import Credentials, rows_of
from hermes_jobs.tools.git_changes import changes_only_plainly
from hermes_jobs.tools.glob_matches import link_to_keys
from hermes_jobs.tools.invocations import SHELLS, Invocation
from hermes_jobs.tools.joined_names import joins_names
from hermes_jobs.tools.judging_budget import Unparsable
from hermes_jobs.tools.key_environment import Inside
from hermes_jobs.tools.key_obstacles import git_obstacle, writing
from hermes_jobs.tools.known_files import MAY_CHANGE, unknown_file, writes_what_may_change
from hermes_jobs.tools.listed_names import takes_any_name
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words

WITHOUT_SANDBOX = "code of the working folder may run without a sandbox, and read your keys"


def code_of_folder(
    parts: Sequence[CommandPart], workdir: str, credentials: Credentials, *, only_git: bool = False
) -> str:
    """Which program of the line may run code of the folder; empty if none does.

    `only_git`: only git counts."""
    line, obstacle = credentials.line([part.invocation for part in parts], workdir, {})
    runs_git = any(part.invocation.name == "git" for part in parts)
    if obstacle and runs_git:
        return obstacle
    reasons = (_reason(part, line, beside_git=runs_git) for part in parts if _counts(part, only_git=only_git))
    return next(filter(None, reasons), "")


def reads_through_link(parts: Sequence[CommandPart], workdir: str, credentials: Credentials) -> str:
    """What of the line reads files that are not known by name, where a link in the folder leads to keys, or
    that the line may make a link, or whose names a text tells."""
    line, _ = credentials.line([part.invocation for part in parts], workdir, {})
    if named := takes_any_name(line.invocations, workdir):
        return named
    for invocation in line.invocations:
        if writes_what_may_change(invocation, line):
            return f"`{invocation.name}` writes a file that the line may change, to a link too"
    try:
        if joined := joins_names(line):
            return joined
        found = [unknown_file(part.invocation, line, uses=False) for part in parts]
    except Unparsable as error:
        found = [str(error)]
    if changed := next((one for one in found if one.endswith(MAY_CHANGE)), ""):
        return f"{changed}, to a link too"
    reason = next(filter(None, found), "")
    link = link_to_keys(workdir, line.paths) if reason else ""
    return f"{reason}, and {link}" if link else ""


def _counts(part: CommandPart, *, only_git: bool) -> bool:
    return part.invocation.name == "git" or not only_git


def _reason(part: CommandPart, line: Line, *, beside_git: bool) -> str:
    """Why a program may run code of the folder."""
    invocation = part.invocation
    if name := _variable(invocation, line):
        return f"the variable {name}"
    if not invocation.name:
        return ""
    shown = f"`{clip(invocation.name.replace(UNKNOWN, '…'), 60)}`"
    found = shutil.which(invocation.program, path=line.environ["PATH"]) or invocation.program
    if "/" in found and Inside(line.paths, line.workdir).holds(found):
        return shown
    if invocation.name == "git":
        return _of_git(part, line)
    if beside_git and not _keeps_repository(part, line):
        return f"git beside {shown}"
    return "" if runs_nothing_of_folder(invocation) or _is_in_table_of_keys(invocation, line) else shown


def _variable(invocation: Invocation, line: Line) -> str:
    """The first variable that it sets and that may name code; empty if there is none."""
    before = invocation.words[: len(invocation.words) - len(invocation.arguments)]
    declares = invocation.name in words("unconfined", "declaring")
    names = [word.partition("=")[0] for word in before if ASSIGNMENT.fullmatch(word)]
    if declares:
        given = (word for word in invocation.arguments if not word.startswith("-"))
        names += [word.partition("=")[0] for word in given if invocation.name != "env" or "=" in word]
    for name in (name.rstrip("+") for name in names):
        is_exported = bool(invocation.name) or name in line.environ
        obeyed = is_exported or pattern("unconfined", "shell_variables").fullmatch(name)
        if obeyed and not pattern("unconfined", "plain_variables").fullmatch(name):
            return name.replace(UNKNOWN, "…")
    for name in _taken(invocation):
        if (
            UNKNOWN in name
            or name in line.environ
            or pattern("unconfined", "shell_variables").fullmatch(name)
        ):
            return name.replace(UNKNOWN, "…")
    return ""


def _taken(invocation: Invocation) -> list[str]:
    """The variables to which it gives values that are not known."""
    arguments = invocation.arguments
    if invocation.name == "printf":
        return (
            [arguments[0][2:] or "".join(arguments[1:2])]
            if arguments[:1] and arguments[0][:2] == "-v"
            else []
        )
    if invocation.name not in ("read", "mapfile", "readarray", "getopts"):
        return []
    return [re.sub(r"^-\w*a|\[.*", "", word) for word in arguments]


def runs_nothing_of_folder(invocation: Invocation) -> bool:
    """Whether the table has it among those that run nothing of the folder, with these arguments."""
    name, arguments = invocation.name, invocation.arguments
    if name in SHELLS:  # what it is given with `-c` is judged as commands of the line
        return pattern("unconfined", "with_text").fullmatch(next(iter(arguments), "")) is not None
    if name not in words("reading", "programs") | words("unconfined", "programs"):
        return False
    if is_partly_unknown(invocation):
        return False
    unless = load("unconfined")["unless"].get(name)
    if unless is None:
        return True
    may_be_options = invocation.given or any(word[:1] in (UNKNOWN, "*", "?") for word in arguments)
    return not may_be_options and not any(re.fullmatch(unless, word, re.DOTALL) for word in arguments)


_COMPOSED = frozenset(("config", "convert"))
"""Verbs by which `docker compose` prints the files that its own name."""


def _is_in_table_of_keys(invocation: Invocation, line: Line) -> bool:
    """Whether the table of keys knows the verb, with nothing of the folder that it would run."""
    rows = [row for row in rows_of(invocation.name) if not row.approved and row.is_for(invocation)]
    prints = not _COMPOSED.isdisjoint(invocation.operands) and invocation.name.startswith(
        ("docker", "podman")
    )
    if not rows or invocation.given or prints:
        return False
    for row in rows:
        if row.code or row.told or row.other_option(invocation):
            return False
        finding = CHECKS[row.check](invocation, row.places, line) if row.check else None
        if finding is not None and (finding.code or finding.withheld):
            return False
    return True


def _of_git(part: CommandPart, line: Line) -> str:
    """What git would run of the folder: its settings and hooks, or a verb that runs programs."""
    verb = git.split_verb(part.invocation)[0]
    if part.invocation.given:
        return "`git` with arguments that are not known"
    is_plain = _only_lists(verb) or changes_only_plainly(part.invocation)
    if not is_plain and (obstacle := git_obstacle(part, uses=True)):
        return obstacle
    code = line.finding((), line.hooks).code
    if not _only_lists(verb) and (link := line.link_out_of_repository()):
        code = (*code, link)
    if verb.name == "submodule":
        code = (*code, *CHECKS["submodules"](part.invocation, (), line).code)
    elif verb.name in load("credentials")["git"]["transfers"].split():
        code = (*code, *reaches_folder(part.invocation, line))
    return ", ".join(dict.fromkeys(code))


def _only_lists(verb: Invocation) -> bool:
    """Whether it is `git config` that reads."""
    reads = len(verb.arguments) == 1 or verb.has("--get", "--get-all", "--get-regexp", "--list", "-l")
    return verb.name == "config" and reads and not verb.has("-e", "--edit")


def _keeps_repository(part: CommandPart, line: Line) -> bool:
    """Whether it changes nothing that git obeys."""
    invocation = part.invocation
    plain = invocation.name in words("reading", "programs") | words("unconfined", "beside_git")
    return (plain or invocation.name in SHELLS) and not writing(part, line, only_git=True)
