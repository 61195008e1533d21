"""Whether the values of a line's variables are certain: those that the shell gives without a condition.

What stands behind `false &&`, in a subshell, a loop or a function may never happen, and then the variable
keeps the value that it had. So only what is given at the beginning of a line is certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.shell_words import NUMBER, UNKNOWN

_GIVEN = re.compile(
    r"\s*+[A-Za-z_]\w*\+?=(?:[^\s;&|()<>'\"`$\\#{}]|\$\w+|\$\{\w+\}|'[^']*'|\"(?:[^\"`$\\]|\$\w+|\$\{\w+\})*\")*+"
)
_ENDS = re.compile(r"[ \t]*+(?:;(?!;)|\n|&&|$)")
_LOOP = re.compile(r"\b(?:for|select)\s+(\w+)")
_USED = re.compile(r"\$\{?[#!]?(\w+)")


def uncertain_value(command: str, invocations: Sequence[Invocation]) -> str:
    """The first variable whose value may be another one than the line says; empty if there is none."""
    given = list(_given(invocations))
    for name, value in given[_given_at_the_beginning(command) :]:
        if UNKNOWN not in value and not value.replace(NUMBER, "").isdigit():
            return name
    used_behind = _USED.findall(command.rpartition("done")[2])
    return min(set(_LOOP.findall(command)).intersection(used_behind), default="")


def _given(invocations: Sequence[Invocation]) -> Iterator[tuple[str, str]]:
    """The variables that the shell itself gives a value, in order."""
    for invocation in invocations:
        words = invocation.words if not invocation.name else ()
        for match in map(
            ASSIGNMENT.fullmatch, invocation.arguments if invocation.name == "export" else words
        ):
            if match is not None:
                yield match["name"], match["value"]


def _given_at_the_beginning(command: str) -> int:
    """How many values are given before anything else."""
    at = count = 0
    while (given := _GIVEN.match(command, at)) and (ends := _ENDS.match(command, given.end())):
        at, count = ends.end(), count + 1
        if at >= len(command):
            break
    return count
