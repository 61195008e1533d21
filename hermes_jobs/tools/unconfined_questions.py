"""What asks in a line that no sandbox confines, whoever is there: by the whole of it and the folder."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from hermes_jobs.tools.command_rules.written_paths import changes_given
from hermes_jobs.tools.credentials import Credentials
from hermes_jobs.tools.git_program import Unreadable
from hermes_jobs.tools.glob_matches import TooManyEntries, entries_below
from hermes_jobs.tools.inside import real_path_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.listed_names import opens_named, told_by_text
from hermes_jobs.tools.tables import load

READS_KEYS = "reading keys or passwords"
READS_UNSEEN = "reading files that are known only when it runs"
WRITES_OUTSIDE = "writing outside the working folder"


def question_of_line(invocations: Sequence[Invocation], workdir: str, credentials: Credentials) -> str:
    """The rule by which a line asks; empty for none."""
    if any(map(_opens_given, invocations)) and told_by_text(invocations, workdir):
        return READS_UNSEEN
    if any(map(_unpacks, invocations)) and _leads_outside(workdir):
        return WRITES_OUTSIDE
    if any(one.name == "git" for one in invocations):
        return _by_settings_of_git(invocations, workdir, credentials)
    return ""


def _opens_given(invocation: Invocation) -> bool:
    """Whether it opens files whose names it is given."""
    readers = next(
        rule["programs"].split() for rule in load("unconfined")["rule"] if rule["name"] == READS_UNSEEN
    )
    opens = invocation.given and (invocation.name in readers or changes_given(invocation))
    return opens or opens_named(invocation)


def _unpacks(invocation: Invocation) -> bool:
    """Whether it writes files by names that are not in the line."""
    table = load("unconfined")["unpacks"].items()
    option = next((option for programs, option in table if invocation.name in programs.split()), None)
    first, *rest = invocation.arguments or ("",)
    words = (first, *(word for word in rest if word.startswith("-")))
    return option is not None and any(re.fullmatch(option, word) for word in words)


def _leads_outside(folder: str) -> bool:
    """Whether a link in the folder leads to a folder elsewhere, or that is not known."""
    try:
        return any(
            entry.is_symlink() and os.path.isdir(entry.path) and not real_path_inside(entry.path, folder)
            for entry in entries_below(folder)
        )
    except TooManyEntries:
        return True


def _by_settings_of_git(invocations: Sequence[Invocation], workdir: str, credentials: Credentials) -> str:
    """The rule for settings of a repository by which git reads keys, or writes elsewhere."""
    line, _ = credentials.line(invocations, workdir, {})
    try:
        settings = [setting for repository in line.repositories for setting in repository.settings]
    except Unreadable:
        return ""  # then git does nothing
    for setting in settings:
        if setting.file and line.paths.kind(os.path.realpath(setting.file)) == "secret":
            return READS_KEYS
        worktree = os.path.join(os.path.dirname(setting.file), setting.value)
        if setting.key == "core.worktree" and not setting.own and not real_path_inside(worktree, workdir):
            return WRITES_OUTSIDE
    return ""
