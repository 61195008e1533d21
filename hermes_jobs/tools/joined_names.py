"""Names of files that a program puts together from its words, which nobody has looked at before."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hermes_jobs.tools.glob_matches import holds_keys
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.known_files import holds_link
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


def joins_names(invocations: Sequence[Invocation], paths: PathPolicy) -> str:
    """What of a line puts names of files together, so that they may lie anywhere; empty if nothing does."""
    return next((found for one in invocations for found in _joined(one, paths)), "")


def _joined(invocation: Invocation, paths: PathPolicy) -> Iterator[str]:
    name, arguments = invocation.name, invocation.arguments
    if name == "find" and any(word in ("-execdir", "-okdir") for word in arguments):
        yield "`find -execdir` starts programs in other folders"
    if name == "find" and any("{}" in word and word != "{}" for word in arguments):
        yield "`find` puts names together"
    if name == "curl":
        for before, word in pairwise(("", *arguments)):
            is_data = _DATA_OF_CURL.fullmatch(before) or _DATA_WITHIN.fullmatch(word)
            if not is_data and _GLOBS_OF_CURL.search(word):
                yield "`curl` puts names together"
    if _keeps_links(invocation) and any(map(holds_link, list(_paths(invocation))[:-1])):
        yield f"`{name}` puts a link elsewhere"
    for word in arguments if name not in words("unconfined", "only_names") else ():
        if _may_be_folder_of_keys(word, invocation, paths):
            yield f"`{name}` reads a folder with keys"
    for path in _paths(invocation):
        if path is not None and differs_by_process(path):
            yield f"`{name}` reads through the folders of a process"


def _keeps_links(invocation: Invocation) -> bool:
    """Whether it puts links elsewhere as they are: there they may lead to another place."""
    if invocation.name == "ln":
        return not invocation.has("-s", "--symbolic")
    return invocation.name == "cp" and any(map(_KEEPING.fullmatch, invocation.arguments))


def _paths(invocation: Invocation) -> Iterator[str | None]:
    """The paths of its words, as far as they are known."""
    given = [redirect.target for redirect in invocation.redirects if "<" in redirect.operator]
    for word in (*invocation.operands, *given):
        yield None if UNKNOWN in word else os.path.join(invocation.folder, word)


def _may_be_folder_of_keys(word: str, invocation: Invocation, paths: PathPolicy) -> bool:
    """Whether a word, or the value of an option, is or may be a folder with keys below it."""
    value = word.partition("=")[2] if word.startswith("-") else word
    if re.search(r"[*?[]", value) and _PARENT.fullmatch(value):
        return True
    path = invocation.path(value) if value else None
    return path is not None and os.path.isdir(path) and holds_keys(os.path.realpath(path), paths)
