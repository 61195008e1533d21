"""A check on files that a command leaves empty: an output without content, or a cut to nothing."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH113, PTH119, PTH202

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values, written_paths
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.path_policy import is_inside
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_SILENT = ("", ":", "true", "exec", "false")
_NOTHING = "/dev/null"
_NOTHINGS = frozenset({_NOTHING, "/dev/zero", "/dev/urandom", "/dev/random"})
_CUTS_ALL = re.compile(r"(?:1,\$)?d|\$!d|/\^/d|/\.\*/d")


def empties_file(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it empties a file that has content or is named as data are: `> a.csv`, `truncate -s 0 a.db`."""
    emptied = any(
        _is_data(invocation, word, context) or _has_content(invocation, word, context)
        for word in _emptied(invocation)
    )
    return (
        emptied
        or any(_has_content(invocation, word, context) for word in _replaced(invocation))
        or any(
            _has_content(invocation, word, context) or _is_database(word) for word in _overwritten(invocation)
        )
    )


def _emptied(invocation: Invocation) -> Iterator[str]:
    """The files that it leaves without content."""
    name, operands = invocation.name, invocation.operands
    reads_nothing = not _NOTHINGS.isdisjoint(operands) or any(
        redirect.operator in ("<", "<>") and redirect.target in _NOTHINGS for redirect in invocation.redirects
    )
    prints_nothing = name in _SILENT or (name in ("echo", "printf") and not "".join(operands))
    if prints_nothing or (name in ("cat", "head", "tail") and reads_nothing):
        yield from (one.target for one in invocation.redirects if one.operator in (">", ">|", "&>"))
    elif name == "ln" and operands[:1] == (_NOTHING,):
        yield from operands[1:]
    elif reads_nothing and not invocation.piped and name in ("cp", "install", "tee", "sort", "uniq"):
        yield from (word for word in written_paths(invocation) if word not in _NOTHINGS)
    elif name == "truncate" and "".join(values(invocation, "s", "--size")) == "0":
        yield from (word for word in operands if word != "0")
    elif name in ("sed", "gsed") and any(map(_CUTS_ALL.fullmatch, operands[:1])):
        yield from written_paths(invocation)
    if name in words("deletions", "filters"):
        yield from _read_and_written(invocation)


def _overwritten(invocation: Invocation) -> Iterator[str]:
    """The files of which it overwrites or cuts off a part, bytes by bytes."""
    if invocation.name == "truncate":
        sizes = values(invocation, "s", "--size")
        yield from (
            word for word in invocation.operands if word not in sizes and not "".join(sizes).startswith("+")
        )
    elif invocation.name == "fallocate" and invocation.has(
        "-p", "-c", "-z", "--punch-hole", "--collapse-range"
    ):
        yield from invocation.operands[-1:]
    elif invocation.name == "dd":
        yield from written_paths(invocation)


def _read_and_written(invocation: Invocation) -> Iterator[str]:
    """The files that the shell has emptied before the program reads them: `sort a.csv > a.csv`."""
    read = {invocation.path(word) for word in invocation.operands}
    read |= {invocation.path(one.target) for one in invocation.redirects if one.operator == "<"}
    for redirect in invocation.redirects:
        if redirect.operator in (">", ">|", "&>") and invocation.path(redirect.target) in read - {None}:
            yield redirect.target


def _replaced(invocation: Invocation) -> Iterator[str]:
    """The databases that another file takes the place of."""
    if invocation.name in ("cp", "mv", "install"):
        yield from filter(_is_database, invocation.operands[-1:])
    elif invocation.name not in ("sqlite", "sqlite3"):
        targets = (one.target for one in invocation.redirects if one.operator in (">", ">|", "&>"))
        yield from filter(_is_database, targets)


def _is_database(word: str) -> bool:
    return pattern("deletions", "databases").search(word) is not None


def _is_data(invocation: Invocation, word: str, context: CommandContext) -> bool:
    path = invocation.path(word)
    if UNKNOWN in word:
        return word.replace(UNKNOWN, "") == ""  # any file at all
    return (
        path is not None
        and not _is_passing(path, context)
        and pattern("deletions", "data_files").search(path) is not None
    )


def _is_passing(path: str, context: CommandContext) -> bool:
    """Whether it lies where files do not stay. A project may itself lie in a folder called `target`."""
    inside = os.path.relpath(path, context.workdir) if is_inside(path, context.workdir) else path
    return pattern("deletions", "passing").search(inside) is not None


def _has_content(invocation: Invocation, word: str, context: CommandContext) -> bool:
    path = invocation.path(word)
    if path is None or _is_passing(path, context):
        return False
    real = context.real(path)
    try:
        return os.path.isfile(real) and os.path.getsize(real) > 0
    except OSError:
        return False


def deletes_data(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether it deletes a database, or files by a pattern that are not left by programs: `rm *.csv`."""
    return any(_is_kept(word) for word in invocation.operands)


def _is_kept(word: str) -> bool:
    name = os.path.basename(word)
    if pattern("deletions", "passing").search(word):
        return False
    return pattern("deletions", "databases").search(name) is not None or (
        re.search(r"[*?\[]", name) is not None and pattern("deletions", "made_again").search(name) is None
    )


CHECKS = (empties_file, deletes_data)
