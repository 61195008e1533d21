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


def path_words(invocation: Invocation) -> list[str]:
    """The arguments and redirection targets, and their parts behind `=`, `@`, `:` or a short option."""
    found: list[str] = []
    for word in (*invocation.arguments, *(each.target for each in invocation.redirects)):
        found.append(word)
        found.extend(part for part in re.split(r"[=@:]|^-\w", word)[1:] if part)
    return list(dict.fromkeys(found))


def written_paths(invocation: Invocation) -> list[str]:
    """The words that name files which the invocation writes, as far as a rule knows its program."""
    targets = [
        each.target
        for each in invocation.redirects
        if ">" in each.operator and not each.target.isdigit() and each.target != "-"
    ]
    operands = invocation.operands
    match invocation.name:
        case "tee" | "truncate" | "touch":
            targets += operands
        case "cp" | "mv" | "install" | "ln" | "rsync" if len(operands) > 1:
            targets.append(operands[-1])
        case "dd":
            targets += [each[3:] for each in invocation.arguments if each.startswith("of=")]
        case "sed" | "perl" if any(each.startswith(("-i", "--in-place")) for each in invocation.arguments):
            targets += operands[1:]
    return targets
