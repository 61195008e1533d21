"""A check on files that a command leaves empty: an output without content, or a cut to nothing."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH113, PTH119, PTH202

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.text_programs import sed_commands, sed_scripts
from hermes_jobs.tools.command_rules.written_paths import values, written_paths
from hermes_jobs.tools.glob_matches import GLOB
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_SILENT = ("", ":", "true", "exec", "false")
_NOTHING = "/dev/null"
_NOTHINGS = frozenset({_NOTHING, "/dev/zero", "/dev/urandom", "/dev/random"})
_CUTS_ALL = re.compile(
    r"(?:(?:1,\$|1,\d{4,}|[01]~1|/\^/|/\$/|/\.?\*?/|//)\s*)?[dz]|\$!(?:N;)*d|(?:N;)+d|s/\^?\.\*\$?//g?",
    re.IGNORECASE,
)
_SED_SHOWS = frozenset("pPiacrRlwW=")
_PRINTS = re.compile(r"\b(?:print\w*|puts|say|p|write|syswrite)\b|\$_\s*(?!=\s*(?:\"\"|''|undef))=|<<")
_PRINTS_NOTHING = re.compile(r"""\$_\s*=\s*(?:""|''|undef)\s*;?""")


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
    read_from = {one.target for one in invocation.redirects if one.operator in ("<", "<>")}
    reads_nothing = not _NOTHINGS.isdisjoint({*operands, *read_from})
    prints_nothing = name in _SILENT or (name in ("echo", "printf") and not "".join(operands))
    if name in ("head", "tail"):
        counts = values(invocation, "nc", "--lines", "--bytes")
        prints_nothing = "0" in counts or "-0" in invocation.arguments
    if prints_nothing or (name in ("cat", "head", "tail") and reads_nothing):
        yield from (one.target for one in invocation.redirects if one.operator in (">", ">|", "&>"))
    elif name == "ln" and operands[:1] == (_NOTHING,):
        yield from operands[1:]
    elif _writes_nothing(invocation, reads_nothing=reads_nothing, is_input=bool(read_from & _NOTHINGS)):
        yield from (word for word in written_paths(invocation) if word not in _NOTHINGS)
    elif name == "truncate" and re.fullmatch(r"0+\w*", "".join(values(invocation, "s", "--size"))):
        yield from (word for word in operands if not re.fullmatch(r"0+\w*", word))
    if name in words("deletions", "filters"):
        yield from _read_and_written(invocation)


def _writes_nothing(invocation: Invocation, *, reads_nothing: bool, is_input: bool) -> bool:
    """Whether what it writes has no content: it reads nothing, or its program lets nothing through."""
    name = invocation.name
    if name in ("tee", "sponge"):
        return is_input
    if name == "shuf" and "0" in values(invocation, "n", "--head-count"):
        return True
    if name in ("cp", "install", "rsync", "sort", "uniq", "shuf", "iconv"):
        return reads_nothing
    if name in words("interpreters", "seds"):
        return _sed_lets_nothing_through(invocation)
    if name in ("perl", "ruby"):
        codes = values(invocation, "e")
        quiet = any(re.match(r"-\w*n", word) for word in invocation.arguments)
        return any(_PRINTS_NOTHING.fullmatch(code) for code in codes) or (
            quiet and bool(codes) and not any(map(_PRINTS.search, codes))
        )
    return False


def _sed_lets_nothing_through(invocation: Invocation) -> bool:
    scripts = [script.strip() for script in sed_scripts(invocation)]
    if any(map(_CUTS_ALL.fullmatch, scripts)):
        return True
    parsed = map(sed_commands, scripts)
    commands = [one for each in parsed for one in ([("p", "")] if each is None else each)]
    quiet = invocation.has("-n", "--quiet", "--silent")
    return quiet and not any(
        name in _SED_SHOWS or (name == "s" and "p" in text) for name, text in commands if name
    )


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
    elif invocation.name == "openssl":
        pairs = list(pairwise(invocation.arguments))
        read = {invocation.path(word) for option, word in pairs if option == "-in"}
        yield from (word for option, word in pairs if option == "-out" and invocation.path(word) in read)


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
    found = context.folders.matching(path) if GLOB.search(word) else [path]
    return found is None or any(_is_full(context.real(one)) for one in found)


def _is_full(path: str) -> bool:
    """Whether it is a file with content, or a folder, which stands for the files that `find` finds there."""
    try:
        return os.path.isdir(path) or (os.path.isfile(path) and os.path.getsize(path) > 0)
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
