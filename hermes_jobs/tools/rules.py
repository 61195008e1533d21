"""What a rule for commands is, and what rules ask about a program: which files it names and writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.roots import Roots


@dataclass(frozen=True)
class Place:
    """Where a command runs: the session's folder, and the roots with the user's home and hermes-jobs' own."""

    workdir: str
    roots: Roots


@dataclass(frozen=True)
class Rule:
    """`name` says what is forbidden or dangerous, in words for the user."""

    name: str
    matches: Callable[[Invocation, Place], bool]


def first_match(rules: Sequence[Rule], invocation: Invocation, place: Place) -> Rule | None:
    """The first rule that an invocation meets."""
    return next((rule for rule in rules if rule.matches(invocation, place)), None)


DELETERS = frozenset({"rm", "unlink", "shred", "srm"})
LISTERS = frozenset(
    {"cd", "echo", "ls", "mkdir", "printf", "pushd", "pwd", "stat", "test", "[", "du", "realpath"}
)
"""Programs that name files without opening them."""

_IN_PLACE = re.compile(r"-[nrEsuzlapwFX\d]*i|--in-place")  # alone or in a cluster, as in `perl -pi`
_INTO = re.compile(r"-[a-zA-Z]*t")


def path_words(invocation: Invocation) -> list[str]:
    """The arguments and redirection targets, and their parts behind `=`, `@`, `:` or a short option."""
    found: list[str] = []
    for word in (*invocation.arguments, *(each.target for each in invocation.redirects)):
        found.append(word)
        found.extend(part for part in re.split(r"[=@:]|^-\w", word)[1:] if part)
    return list(dict.fromkeys(found))


def written_paths(invocation: Invocation) -> list[str]:
    """The words that name files which the invocation writes or deletes, as far as its program is known."""
    targets = [
        each.target
        for each in invocation.redirects
        if ">" in each.operator and not each.target.isdigit() and each.target != "-"
    ]
    operands = invocation.operands
    match invocation.name:
        case "tee" | "truncate" | "touch" | "rm" | "rmdir" | "unlink":
            targets += operands
        case "cp" | "mv" | "install" | "ln" if folder := _target_folder(invocation.arguments):
            targets.append(folder)
        case "cp" | "mv" | "install" | "ln" | "rsync" if len(operands) > 1:
            targets.append(operands[-1])
        case "dd":
            targets += [each[3:] for each in invocation.arguments if each.startswith("of=")]
        case "sed" | "perl" if any(_IN_PLACE.match(each) for each in invocation.arguments):
            targets += operands[1:]
    return targets


def _target_folder(arguments: Sequence[str]) -> str | None:
    """The folder that `-t` names, for the programs that copy or move into one."""
    for index, each in enumerate(arguments):
        if each.startswith("--target-directory="):
            return each.partition("=")[2]
        if each == "--target-directory" or _INTO.fullmatch(each):
            return next(iter(arguments[index + 1 :]), None)
    return None
