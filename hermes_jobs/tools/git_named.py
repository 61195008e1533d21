"""What settings of git name: files that they include, and hooks in a folder of their own.

Read without git, and leniently: more may be found than git would obey, never less.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from hermes_jobs.tools import guarded_files
from hermes_jobs.tools.git_places import git_folder, worktrees
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sensitive_paths import guarded_names
from hermes_jobs.tools.tables import words

OWN = (".gitconfig", ".config/git/config", "/etc/gitconfig")
"""The files with settings of a person, from their home."""
MAX_LEVELS = 10  # of files that include others, as in git

_HEADER = re.compile(r'\s*\[([^\]"\s]*)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]')
_VALUE = re.compile(r'\s*((?:"(?:[^"\\]|\\.)*"|[^"#;])*)')


def named_in(roots: Iterable[str], repositories: Iterable[str], user_home: str) -> list[str]:
    """The paths in these folders that settings of the person and of the repositories name, also where nothing
    is yet."""
    roots = tuple(roots)
    own = [found for name in OWN for found in named_by(os.path.join(user_home, name), user_home)]
    named = [path for hook, path in own if not hook]
    for git in repositories:
        main = _main(git)
        files = (f"{main}/config", f"{main}/config.worktree", f"{git}/config.worktree")
        settings = [found for file in dict.fromkeys(files) for found in named_by(file, user_home)]
        named += [path for hook, path in settings if not hook]
        folders = {path for hook, path in (*own, *settings) if hook}
        for folder in (os.path.join(work, path) for work in _works(git) for path in folders):
            named += [os.path.join(folder, name) for name in words("sensitive_paths", "hooks")]
    paths = dict.fromkeys(map(os.path.normpath, named))
    paths |= dict.fromkeys(map(os.path.realpath, paths))
    return [path for path in paths if any(is_inside(path, root) for root in roots)]


def is_led_to(real: str) -> bool:
    """Whether a guarded name in one of the folders above, or a hook of a repository there, is a link to a
    file."""
    for folder in map(str, Path(real).parents):
        git = git_folder(folder)
        try:
            hooks = [entry.path for entry in os.scandir(f"{git}/hooks")] if git else []
        except OSError:
            hooks = []
        there = guarded_files.look(folder, guarded_files.When(time.time_ns())).names
        any_there = {*there, *(name.partition("/")[0] for name in guarded_names())}  # it may be unlistable
        named = guarded_files.places_of(guarded_names(), folder, any_there)
        if any(os.path.lexists(path) and os.path.realpath(path) == real for path in (*named, *hooks)):
            return True
    return False


def _main(git: str) -> str:
    """The repository of a linked worktree; any other one itself."""
    above = os.path.dirname(git)
    return os.path.dirname(above) if os.path.basename(above) == "worktrees" else git


def _works(git: str) -> Iterator[str]:
    """The working folders of a repository, in which git runs its hooks."""
    if _main(git) != git:
        yield os.path.dirname(_text(f"{git}/gitdir").strip())
    else:
        yield os.path.dirname(git) if os.path.basename(git) == ".git" else git
        yield from worktrees(git)


def named_by(file: str, user_home: str, level: int = 0) -> Iterator[tuple[bool, str]]:
    """What a file with settings names, and what the files do that it includes.

    Each with whether it is a folder of hooks, whose path may be relative."""
    for key, text in _entries(_text(file)):
        if key != "core.hookspath" and not re.fullmatch(r"include.*\.path", key):
            continue
        found = _VALUE.match(text)
        value = re.sub(r'\\(.)|"', lambda part: part[1] or "", found[1] if found else "").strip()
        value = f"{user_home}{value[1:]}" if value.startswith("~/") else value
        if value and key == "core.hookspath":
            yield True, value
        elif value:
            path = os.path.join(os.path.dirname(file), value)
            yield False, path
            yield from named_by(path, user_home, level + 1) if level < MAX_LEVELS else ()


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """The keys without their middle parts, and the text behind each."""
    section = ""
    for line in text.replace("\\\n", "").split("\n"):
        rest = line
        while header := _HEADER.match(rest):
            section, rest = header[1].lower(), rest[header.end() :]
        key, _, value = rest.partition("=")
        yield f"{section}.{key.strip().lower()}", value


def _text(path: str) -> str:
    file = guarded_files.read(os.path.realpath(path)).get(os.path.realpath(path))
    return (file.content or b"").decode("utf-8", "surrogateescape") if file else ""
