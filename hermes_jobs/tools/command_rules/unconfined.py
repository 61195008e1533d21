"""Checks that matter only where no sandbox confines a command: lasting writes and reads that text hides."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118, PTH120

from __future__ import annotations

import os
import re
from functools import wraps

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.tools.command_rules.context import Check, CommandContext
from hermes_jobs.tools.command_rules.text_programs import names_computed_files
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_words import NUMBER, SUBSTITUTED, UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_OF_OTHERS = re.compile(r"/proc/.*/(?:root|cwd|fd|map_files)(?:/|$)", re.DOTALL)
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_MAX_NPMRC = 100_000


def links_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it makes a link, symbolic or hard, to a place outside the folders where commands may write."""
    symbolic = invocation.has("-s", "--symbolic", "--symbolic-link")
    if invocation.name == "cp" and not (symbolic or invocation.has("-l", "--link")):
        return False
    into = values(invocation, "t", "--target-directory")
    targets = [word for word in invocation.operands if word not in into]
    at = into[0] if into else targets.pop() if len(targets) > 1 else "."
    link = invocation.path(at)
    if invocation.given or link is None:
        return True
    folder = link if os.path.isdir(link) else os.path.dirname(link)
    reached = [os.path.join(folder, word) if symbolic else invocation.path(word) for word in targets]
    return any(
        path is None or UNKNOWN in path or _is_outside(os.path.normpath(path), context) for path in reached
    )


def unpacks_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it writes files of which an archive, a patch or a server has the names, in a folder outside."""
    if invocation.name in ("tar", "bsdtar", "gtar"):
        first = next(iter(invocation.arguments), "").lstrip("-")
        unpacks = "x" in first or invocation.has("-x", "--extract", "--get")
        if not unpacks or values(invocation, "C", "--directory"):
            return False
    return _is_outside(invocation.folder, context)


def records_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a variable has a program write records to a file outside the folders."""
    for match in filter(None, map(_ASSIGNED.fullmatch, invocation.words)):
        if not pattern("unconfined", "recording_variables").fullmatch(match["name"]):
            continue
        path = invocation.path(match["value"])
        if path is None or (match["value"][:1] in ("/", "~", ".") and _is_outside(path, context)):
            return True
    return False


def reads_unknown(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether an operand of a program that reads files is an expansion that cannot be evaluated, or an `awk`
    computes the names of files."""
    if names_computed_files(invocation):
        return True
    operands = list(invocation.operands)
    if invocation.name in words("secrets", "searchers") and not invocation.has("-e", "-f"):
        operands = operands[1:]  # the first one is a pattern
    operands += [one.target for one in invocation.redirects if one.operator in ("<", "<>")]
    folder = invocation.folder
    return any(_is_unknown(word, os.path.join(folder, word)) for word in operands)


def writes_unknown(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether the name of a file that it writes is known only when it runs."""
    return _redirects_unknown(invocation, ">")


def takes_unknown(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether the name of a file that is its input is known only when it runs."""
    return _redirects_unknown(invocation, "<")


def _redirects_unknown(invocation: Invocation, mark: str) -> bool:
    targets = (one.target for one in invocation.redirects if mark in one.operator)
    return any(UNKNOWN in word.replace(NUMBER, "").replace(SUBSTITUTED, "") for word in targets)


def _is_unknown(word: str, path: str) -> bool:
    computed = UNKNOWN in word.replace(NUMBER, "") and not word.startswith("/dev/fd/")
    return computed or word.startswith("~") or _OF_OTHERS.search(path) is not None


def npm_goes_elsewhere(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an option or `.npmrc` of the folder has another server see npm's requests with the token."""
    elsewhere = pattern("unconfined", "npm_servers")
    named = any(elsewhere.match(word.lstrip("-")) for word in invocation.arguments if word.startswith("--"))
    user_home = context.paths.user_home
    if not named and not context.once(_names_server, os.path.join(invocation.folder, ".npmrc"), user_home):
        return False
    return os.path.lexists(os.path.join(user_home, ".npmrc"))


def _names_server(npmrc: str, _user_home: str) -> bool:
    """Whether a setting in the file names a server. A file that cannot be read or is too long may do so."""
    try:
        text = beginning(npmrc, _MAX_NPMRC + 1)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    elsewhere = pattern("unconfined", "npm_servers")
    return len(text) > _MAX_NPMRC or any(elsewhere.match(line.strip()) for line in text.splitlines())


def sends_netrc(invocation: Invocation, context: CommandContext) -> bool:
    """Whether wget sends a password of `.netrc` to a server that it names."""
    if invocation.has("--no-netrc"):
        return False
    try:
        text = beginning(os.path.join(context.paths.user_home, ".netrc"), _MAX_NPMRC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    servers = set(re.findall(r"\bmachine\s+(\S+)", text))
    named = " ".join(invocation.arguments)
    return re.search(r"\bdefault\b", text) is not None or any(server in named for server in servers)


def _is_outside(path: str, context: CommandContext) -> bool:
    real = context.real(path)
    return not any(is_inside(real, folder) for folder in context.writable)


def _where_unconfined(check: Check) -> Check:
    """The check, which finds nothing where a sandbox confines commands."""

    @wraps(check)
    def judge(invocation: Invocation, context: CommandContext) -> bool:
        return check(invocation, context) and not context.is_confined()

    return judge


CHECKS = tuple(
    map(
        _where_unconfined,
        (
            links_outside,
            unpacks_outside,
            records_outside,
            reads_unknown,
            writes_unknown,
            takes_unknown,
            npm_goes_elsewhere,
            sends_netrc,
        ),
    )
)
