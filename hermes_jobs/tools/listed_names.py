"""Where programs take names of files from: a text may hold any name, a list of a folder only its own."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise

from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.glob_matches import TooManyEntries, entries_below
from hermes_jobs.tools.inside import real_path_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words
from hermes_jobs.tools.wrappers import find_starts

_SPLIT_FOLDER = re.compile(r"[\s'\"\\]")
_SPLIT_FILE = re.compile(r"['\"\\]|(?:^|\s)\.\.(?:\s|$)")
"""Names of which `xargs` may make another one, unless it has `-0`."""


def takes_names(invocation: Invocation) -> bool:
    """Whether its words say that names of the files which it reads stand in a file."""
    table = load("credentials")["names_from"].items()
    option = next((option for programs, option in table if invocation.name in programs.split()), None)
    pairs = map(" ".join, pairwise(invocation.arguments))
    return option is not None and any(
        re.fullmatch(option, words, re.DOTALL) for words in (*invocation.arguments, *pairs)
    )


def opens_named(invocation: Invocation) -> bool:
    """The same, for those that may show or keep what is in these files: `sha256sum -c` does not."""
    return takes_names(invocation) and not invocation.name.endswith("sum")


def takes_any_name(invocations: Sequence[Invocation], workdir: str) -> str:
    """What of a line takes names of files from anything but a list of the working folder; else empty."""
    if told := told_by_text(invocations, workdir):
        return told
    feeding = next((one for one in invocations if one.name == "xargs"), None)
    if feeding is None or not any(map(_takes_given, invocations)):
        return ""
    before = invocations[: invocations.index(feeding)]
    if feeding.has("-0", "--null") and not any(map(_picks, before)):
        return ""
    if any(one.name == "git" for one in before):
        return "`xargs` splits names that git prints (with `-z` and `xargs -0` it does not)"
    return _name_that_splits(workdir)


def told_by_text(invocations: Sequence[Invocation], workdir: str) -> str:
    """What of a line takes names of files from a text, or from a list of another folder; else empty."""
    if named := next(filter(opens_named, invocations), None):
        return f"`{named.name}` takes names of files from a file"
    given = next(filter(_takes_given, invocations), None)
    if given is None:
        return ""
    feeding = [at for at, one in enumerate(invocations) if one.name in ("xargs", "parallel")]
    last, before = invocations[feeding[-1]], invocations[: feeding[-1]]
    options = last.arguments[: len(last.arguments) - len(given.words)]
    is_plain = all(map(pattern("unconfined", "plain_xargs").fullmatch, options))
    if len(feeding) > 1 or last.name != "xargs" or not (is_plain and last.piped) or last.redirects:
        return f"`{last.name}` takes names of files from a text"
    for one in before:
        if not (_lists(one, workdir) or _picks(one) or (one.name == "cd" and len(one.operands) == 1)):
            return f"`xargs` takes names of files from what `{one.name}` prints"
    return ""


def _takes_given(invocation: Invocation) -> bool:
    """Whether it is given names, as by `xargs`, and may do more with them than to show them."""
    return invocation.given and invocation.name not in words("credentials", "no_readers")


def _lists(invocation: Invocation, workdir: str) -> bool:
    """Whether it prints names of files in the working folder, and nothing else."""
    name, arguments, places = invocation.name, invocation.arguments, list(invocation.operands)
    if name == "find":
        places = list(find_starts(arguments))
    elif name == "git":
        verb, settings, folders = git.split_verb(invocation)
        if settings or folders:
            return False
        name, arguments, places = f"git-{verb.name}", verb.arguments, []
    table = load("unconfined")["lists"]
    known = next((table[programs] for programs in table if name in programs.split()), None)
    if known is None or invocation.redirects or UNKNOWN in "".join(invocation.words):
        return False
    options = [word for word in arguments if word.startswith("-")]
    if not all(re.fullmatch(known["options"], word) for word in options):
        return False
    if not any(re.fullmatch(known.get("with", ".*"), word) for word in (*options, "")):
        return False
    found = (os.path.join(invocation.folder, word) for word in (".", *places))
    return all(real_path_inside(path, workdir) for path in found if os.path.lexists(path))


def _picks(invocation: Invocation) -> bool:
    """Whether it prints whole lines of its input."""
    known = load("unconfined")["picks"].get(invocation.name)
    operands = [word for word in invocation.operands if not word.isdigit()]
    is_search = invocation.name in words("credentials", "expression_first")
    return (
        known is not None
        and invocation.piped
        and not invocation.redirects
        and len(operands) <= int(is_search)
        and all(re.fullmatch(known, word) for word in invocation.arguments if word.startswith("-"))
    )


def _name_that_splits(folder: str) -> str:
    """Why `xargs` may make other names of those in a folder; empty if it does not."""
    try:
        for entry in entries_below(folder):
            splits = _SPLIT_FOLDER if entry.is_dir(follow_symlinks=False) else _SPLIT_FILE
            if splits.search(entry.name):
                shown = os.path.relpath(entry.path, folder)
                return f"`xargs` splits the name {shown!r} (with `find -print0` and `xargs -0` it does not)"
    except TooManyEntries as error:
        return str(error)
    return ""
