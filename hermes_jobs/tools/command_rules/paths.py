"""Checks on the files that a program deletes, writes, reads or searches."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from hermes_jobs.tools.command_rules.context import MAX_PATH, CommandContext
from hermes_jobs.tools.command_rules.git_written import written_by_git
from hermes_jobs.tools.command_rules.written_paths import values, written_paths
from hermes_jobs.tools.glob_matches import fits
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.sensitive_paths import folders_above_secrets, kind_of, paths_in, runs_in_project
from hermes_jobs.tools.shell_words import SCRATCH_FILE, UNKNOWN
from hermes_jobs.tools.tables import words
from hermes_jobs.tools.wrappers import find_starts, is_narrowed

_GLOB = re.compile(r"[*?\[{]")
_OWN_PROCESS = re.compile(r"/proc/(?:thread-)?self/(?!root/|cwd/)")
_OTHER_PROCESS = re.compile(r"^//?proc/(?!(?:thread-)?self/)[^/]+/(?:task/[^/]+/)?(?:environ|mem)$")
_XPATH = re.compile(r"(?:\w{1,30}\()?//?(?:\*|@|\w+[\[:/])")
_PRIVATE_FILES = (".env", "config.yaml", "events.db", "events.db-wal", "views", "mcp")


def deletes_whole_folder(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it deletes a system folder, the user's home, or all of its content."""
    if invocation.name == "find":
        starts = find_starts(invocation.arguments)
        deletes = "-delete" in invocation.arguments and not is_narrowed(invocation.arguments)
        return deletes and _names_whole_folder(invocation, context, starts)
    if invocation.has("--no-preserve-root"):
        return True
    recursive = invocation.has("-r", "-R", "--recursive")
    return recursive and _names_whole_folder(invocation, context, invocation.operands)


def changes_whole_folder(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it changes the rights of such a folder, all below included."""
    recursive = invocation.has("-R", "--recursive")
    return recursive and _names_whole_folder(invocation, context, invocation.operands[1:])


def _names_whole_folder(invocation: Invocation, context: CommandContext, targets: Sequence[str]) -> bool:
    precious = words("writes", "system_folders") | {os.path.normpath(context.paths.user_home)}
    for word in targets:
        path = invocation.path(word)
        if path is None:
            continue
        folder, last = os.path.split(path)
        takes_all = folder == "/" or (folder in precious and last.strip(".?[]!^{},*") == "")
        if path in precious or (_GLOB.search(last) and takes_all):
            return True
    return False


def deletes_many(invocation: Invocation, context: CommandContext) -> bool:
    """Whether all files of a folder are deleted or moved, or unknown ones, or a folder leaves the session."""
    moves = invocation.name == "mv"
    deleted = invocation.operands[:-1] if moves else invocation.operands
    if moves and _moves_folder_away(invocation, context):
        return True
    return invocation.given or any(
        UNKNOWN in word or os.path.basename(word) in ("*", ".*", "**", ".", "..") for word in deleted
    )


def deletes_what_is_made_again(invocation: Invocation, context: CommandContext) -> bool:
    """Whether all that it deletes is what `mktemp` has made in the same line, or caches in the folders."""
    paths = [invocation.path(word) or "" for word in invocation.operands]
    return bool(paths) and not invocation.given and all(_is_made_again(path, context) for path in paths)


def _is_made_again(path: str, context: CommandContext) -> bool:
    if f"{path}/".startswith(f"{SCRATCH_FILE}/"):
        return True
    real = context.real(path)
    is_within = any(is_inside(real, root) for root in context.paths.real_roots(context.workdir))
    return is_within and os.path.basename(real) in words("deletions", "caches")


def _moves_folder_away(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a folder of the session leaves it, for instance to /tmp, which is emptied."""
    roots = context.paths.real_roots(context.workdir)
    *operands, last = invocation.operands or ("",)
    targets = values(invocation, "t", "--target-directory")
    sources = [*operands, last] if targets else operands

    def is_in_session(word: str) -> bool:
        path = invocation.path(word)
        return path is not None and any(is_inside(context.real(path), root) for root in roots)

    return not is_in_session((targets or [last])[0]) and any(
        is_in_session(word) and os.path.isdir(invocation.path(word) or "") for word in sources
    )


def finds_leftovers(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it finds, by name and in the folders, only files that programs leave and make again."""
    arguments = invocation.arguments
    tests = [word for word in arguments if word.startswith(("-", "!", "("))]
    names = [name for test, name in pairwise(arguments) if test in ("-name", "-iname")]
    starts = [invocation.path(word) for word in find_starts(arguments)]
    return (
        bool(names)
        and set(tests)
        <= {"-name", "-iname", "-type", "-delete", "-print", "-maxdepth", "-mindepth", "-mtime"}
        and words("deletions", "leftovers").issuperset(names[-1:])
        and all(
            path is not None and any(is_inside(context.real(path), folder) for folder in context.writable)
            for path in starts
        )
    )


# --- written files --------------------------------------------------------------------------------


def _written(invocation: Invocation) -> list[str]:
    return [*written_paths(invocation), *written_by_git(invocation)]


def writes_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it writes a file outside the folders where commands may."""
    paths = [path for word in _written(invocation) if (path := invocation.path(word)) is not None]
    # Devices such as /dev/stdout resolve to files of this process: their own name counts.
    real = [path if path.startswith("/dev/") else context.real(path) for path in paths]
    return any(not any(is_inside(path, folder) for folder in context.writable) for path in real)


def writes_startup_file(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it writes a file that a shell, a session, an editor or git runs by itself."""
    if "startup" in kinds_of(invocation, context, _written(invocation)):
        return True
    if invocation.name in words("reading", "programs") | words("writes", "startup_readers"):
        return False
    return "startup" in kinds_of(invocation, context, invocation.operands)


# --- secrets --------------------------------------------------------------------------------------


def uses_secrets(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it reads or writes a file with keys or passwords; programs that list names read none."""
    if "secret" in kinds_of(invocation, context, _written(invocation)):
        return True
    if invocation.name in words("secrets", "listers"):
        return any(
            "secret" in kinds_of(invocation, context, (redirect.target,)) for redirect in invocation.redirects
        )
    patterns: tuple[str, ...] = ()
    if invocation.name in words("secrets", "searchers") and not invocation.has("-e", "-f"):
        patterns = invocation.operands[:1]
    elif invocation.name in words("secrets", "queriers_of_xml"):
        patterns = tuple(word for word in invocation.arguments if _XPATH.match(word))
    named = [word for word in context.path_words(invocation) if word not in patterns]
    if "secret" in kinds_of(invocation, context, named):
        return True
    roots = context.paths.real_roots(context.workdir)
    elsewhere = [
        word
        for word in named
        if (path := invocation.path(word)) and not any(is_inside(path, root) for root in roots)
    ]
    return "project secret" in kinds_of(invocation, context, elsewhere)


def lists_secrets(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it prints names of files with keys or passwords, for other programs to read."""
    lists = invocation.name in words("secrets", "listers")
    return lists and "secret" in kinds_of(invocation, context, invocation.operands)


def kinds_of(invocation: Invocation, context: CommandContext, files: Sequence[str]) -> Iterator[str | None]:
    """The protections of the named files: by name, by link, by pattern."""
    user_home = context.paths.user_home
    for word in files:
        path = invocation.path(word)
        if path is None:
            yield kind_of("/" + word.rpartition(UNKNOWN)[2][-MAX_PATH:].lstrip("/"), user_home)
            continue
        if _OWN_PROCESS.match(path) or len(path) > MAX_PATH:
            continue
        if re.search(r"\s", word) and not word.startswith("/") and not os.path.lexists(path):
            continue
        kinds = context.kinds(path)
        yield from kinds
        if "project secret" in kinds and runs_in_project(path.casefold()):
            yield "startup"
        if _GLOB.search(word) and context.once(_may_be_secret, path, user_home):
            yield "secret"
        if _GLOB.search(word):
            yield from context.kinds_of_matches(path)


def _may_be_secret(pattern: str, user_home: str) -> bool:
    """Whether a pattern can stand for a path at or below one of the secrets."""
    parts = pattern.split("/")
    for secret_parts in _parts_of_secrets(user_home):
        if len(parts) < len(secret_parts):
            continue
        pairs = list(zip(secret_parts, parts, strict=False))
        if all(name == part or fits(name, part) for name, part in pairs) and not all(
            part.strip("*") == "" for name, part in pairs if name != part
        ):
            return True
    return False


@lru_cache(maxsize=8)
def _parts_of_secrets(user_home: str) -> Sequence[Sequence[str]]:
    own = (os.path.join(user_home, secret) for secret in paths_in("secrets"))
    return [secret.split("/") for secret in (*own, *paths_in("system_secrets"))]


def reads_whole_home(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it reads the whole home of the user, or a folder like `~/.config`, with the keys below it."""
    user_home = os.path.normpath(context.paths.user_home)
    above = {"/", "/home", "/Users", "/root", user_home}
    with_keys = above | {os.path.join(user_home, folder) for folder in folders_above_secrets()}
    if invocation.name == "find":
        runs = {"-exec", "-execdir", "-ok", "-okdir"}.intersection(invocation.arguments)
        starts = map(invocation.path, find_starts(invocation.arguments))
        return bool(runs) and not with_keys.isdisjoint(starts)
    if invocation.name in ("grep", "egrep", "fgrep") and not invocation.has("-r", "-R", "--recursive"):
        return False
    named_words = context.path_words(invocation)
    recursive = invocation.name == "git" and invocation.has("--no-index")
    if recursive or invocation.name in words("secrets", "recursive_readers") | {"grep", "egrep", "fgrep"}:
        above = with_keys
    else:
        if invocation.name in words("secrets", "home_lookers"):
            return False
        above.discard("/")  # a lone slash is not a folder to most of the others
        named_words = [word for word in named_words if word.startswith("/")]  # and `..` to build from
    return not above.isdisjoint((invocation.path(word) or "").removesuffix("/*") for word in named_words)


# --- the home of hermes-jobs ----------------------------------------------------------------------


def touches_private(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it names settings, secrets or databases of hermes-jobs: as a path, by a pattern, or in code."""
    named_words = context.path_words(invocation)
    if any(_is_private(invocation, context, word) for word in named_words):
        return True
    if invocation.name in words("secrets", "listers") or not invocation.arguments:
        return False
    home = re.escape(os.path.normpath(context.paths.home))
    pattern = home + r"/(?:\.env|config\.yaml|views|events\.db|mcp)"
    return any(re.search(pattern, word) for word in named_words)


def _is_private(invocation: Invocation, context: CommandContext, word: str) -> bool:
    if _OTHER_PROCESS.match(os.path.normpath(os.path.join(invocation.folder, word))):
        return True
    path = invocation.path(word)
    if path is None or len(path) > MAX_PATH:
        return False
    real, home = context.real(path), context.home
    lists = invocation.name in words("secrets", "listers")
    if real == home:
        runs = any(argument.startswith(("-exec", "-ok")) for argument in invocation.arguments)
        reads = invocation.name in words("secrets", "whole_folder_readers")
        return (invocation.name == "find" and runs) or reads
    if context.paths.is_private(real):
        return not lists or bool(invocation.redirects)
    if _GLOB.search(word) and not lists and fits(home, os.path.dirname(real)):
        return any(fits(file, os.path.basename(real)) for file in _PRIVATE_FILES)
    return False


CHECKS = (
    deletes_whole_folder,
    changes_whole_folder,
    deletes_many,
    deletes_what_is_made_again,
    finds_leftovers,
    writes_outside,
    writes_startup_file,
    uses_secrets,
    touches_private,
)
