"""Names of files that a program puts together from its words, which nobody has looked at before."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH114, PTH115, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from hermes_jobs.tools.credential_line import Line
from hermes_jobs.tools.glob_matches import GLOB, TooManyEntries, entries_below, holds_keys
from hermes_jobs.tools.inside import real_path_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.process_paths import differs_by_process
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import words

_GLOBS_OF_CURL = re.compile(r"\{[^}]*,|\[\w+-\w+")
_DATA_OF_CURL = re.compile(
    r"-[dHFwoXAebu]|--(?:data|json|header|form|write-out|output|request|user|cookie)[\w-]*"
)
_DATA_WITHIN = re.compile(r"-[dHFwoXAebu].+|--(?:data|json|header|form|write-out)[\w-]*=.*", re.DOTALL)
_KEEPING = re.compile(r"-\w*[adlrPR]\w*|--(?:archive|link|no-deref|recursive|preserve).*")
_PARENT = re.compile(r"(?:.*/)?\.\.(?:/.*)?")


def joins_names(line: Line) -> str:
    """What of a line puts names of files together, so that they may lie anywhere; empty if nothing does.

    Raises `Unparsable`."""
    return next((found for one in line.invocations for found in _joined(one, line)), "")


def _joined(invocation: Invocation, line: Line) -> Iterator[str]:
    name, arguments = invocation.name, invocation.arguments
    if name == "find" and any(word in ("-execdir", "-okdir") for word in arguments):
        yield "`find -execdir` starts programs in other folders"
    if name == "find" and any("{}" in word and word != "{}" for word in arguments):
        yield "`find` puts names together"
    if name == "curl" and _curl_joins(arguments):
        yield "`curl` puts names together"
    if _keeps_links(invocation) and any(map(_changes_links, list(_paths(invocation, line))[:-1])):
        yield f"`{name}` puts a link elsewhere"
    for word in arguments if name not in words("unconfined", "only_names") else ():
        if _may_be_folder_of_keys(word, invocation, line.paths):
            yield f"`{name}` reads a folder with keys"
    for path in _paths(invocation, line):
        if path is not None and differs_by_process(path):
            yield f"`{name}` reads through the folders of a process"
    if name not in words("unconfined", "only_prints") and _has_option_among_names(invocation, line):
        yield f"`{name}` may take a name for an option"
    yield from _writes_through_link(invocation, line)


def _curl_joins(arguments: Sequence[str]) -> bool:
    return any(
        _GLOBS_OF_CURL.search(word)
        for before, word in pairwise(("", *arguments))
        if not (_DATA_OF_CURL.fullmatch(before) or _DATA_WITHIN.fullmatch(word))
    )


def _has_option_among_names(invocation: Invocation, line: Line) -> bool:
    """Whether a pattern stands for a name that begins like an option, or that is not known."""
    arguments = invocation.arguments
    behind = arguments.index("--") if "--" in arguments else len(arguments)
    for word in arguments[:behind]:
        if not GLOB.match(word):
            continue
        for folder in line.folders:
            found = line.files.matching(os.path.join(folder, word))
            if found is None or any(path[len(folder) :].startswith("/-") for path in found):
                return True
    return False


def _writes_through_link(invocation: Invocation, line: Line) -> Iterator[str]:
    """Why it may write through a link that leads outside, at a name that it makes itself."""
    name = invocation.name
    if name == "uniq" and any(map(GLOB.search, invocation.operands)):
        yield "`uniq` writes to the second of the names that a pattern stands for"
    goes_down = name == "rsync" or any(map(_KEEPING.fullmatch, invocation.arguments))
    if name in ("split", "csplit"):
        targets = [invocation.folder]
    elif name in ("cp", "install", "rsync", "mv", "ln"):
        targets = [path for path in _paths(invocation, line) if path is not None and os.path.isdir(path)]
    else:
        return
    for path in targets:
        try:
            entries = entries_below(path) if goes_down else _entries(path)
            if _leading_outside(entries, line.workdir):
                yield f"`{name}` may write through a link in {os.path.relpath(path, line.workdir)}"
        except (TooManyEntries, OSError) as error:
            yield str(error)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


def _leading_outside(entries: Iterable[os.DirEntry[str]], workdir: str) -> bool:
    """Whether one is a link that leads out of the working folder to what can be written."""
    return any(
        entry.is_symlink()
        and not real_path_inside(entry.path, workdir)
        and os.access(os.path.dirname(os.path.realpath(entry.path)), os.W_OK)
        for entry in entries
    )


def _keeps_links(invocation: Invocation) -> bool:
    """Whether it puts links elsewhere as they are: there they may lead to another place."""
    if invocation.name == "ln":
        return not invocation.has("-s", "--symbolic")
    if invocation.name == "mv":
        return True
    return invocation.name == "cp" and any(map(_KEEPING.fullmatch, invocation.arguments))


def _changes_links(path: str | None) -> bool:
    """Whether it is a link, or holds one that leads out of it: elsewhere these may lead to another place."""
    if path is None or os.path.islink(path):
        return True
    try:
        return os.path.isdir(path) and any(
            entry.is_symlink()
            and not os.path.isabs(os.readlink(entry.path))
            and not real_path_inside(entry.path, path)
            for entry in entries_below(path)
        )
    except (TooManyEntries, OSError):
        return True


def _paths(invocation: Invocation, line: Line) -> Iterator[str | None]:
    """The paths of its words and of what patterns in them stand for; None where that is not known."""
    given = [redirect.target for redirect in invocation.redirects if "<" in redirect.operator]
    for word in (*invocation.operands, *given):
        path = os.path.join(invocation.folder, word)
        if UNKNOWN in word:
            yield None
        elif GLOB.search(word):
            found = line.files.matching(path)
            yield from (None,) if found is None else found
        else:
            yield path


def _may_be_folder_of_keys(word: str, invocation: Invocation, paths: PathPolicy) -> bool:
    """Whether a word, or the value of an option, is or may be a folder with keys below it."""
    value = word.partition("=")[2] if word.startswith("-") else word
    if re.search(r"[*?[]", value) and _PARENT.fullmatch(value):
        return True
    path = invocation.path(value) if value else None
    return path is not None and os.path.isdir(path) and holds_keys(os.path.realpath(path), paths)
