"""Rules that a whole command line meets, by what its programs do together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.downloads import runs_fetched
from hermes_jobs.tools.command_rules.git import pushes_elsewhere
from hermes_jobs.tools.command_rules.paths import lists_secrets, reads_whole_home
from hermes_jobs.tools.command_rules.project_secrets import looks_for_keys, prints_environment
from hermes_jobs.tools.command_rules.text_programs import reads_named_files
from hermes_jobs.tools.command_rules.written_paths import changes_given
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.wrappers import find_starts


def rule_of_line(invocations: Sequence[Invocation], context: CommandContext) -> str | None:
    """The rule that matches the whole line."""
    if runs_fetched(invocations):
        return "running downloaded or unseen text"
    if pushes_elsewhere(invocations):
        return "another host"
    if prints_environment(invocations, context) or looks_for_keys(invocations, context):
        return "reading keys or passwords"
    home = {"/", "/home", "/root", context.paths.user_home, context.paths.home}
    finds = any(
        invocation.name in ("find", "fd", "fdfind", "ls", "locate")
        and home.intersection(map(invocation.path, _starts(invocation)))
        for invocation in invocations
    )
    reads_names = any(map(_reads_named, invocations))
    if any(map(_finds_in_place, invocations, repeat(context))) and any(map(changes_given, invocations)):
        return "writing outside the working folder"
    if reads_names and (finds or any(lists_secrets(invocation, context) for invocation in invocations)):
        return "reading keys or passwords"
    if any(reads_whole_home(invocation, context) for invocation in invocations):
        return "reading keys or passwords"
    return None


def _starts(finder: Invocation) -> Sequence[str]:
    """Where `find` and the like look; the first operand of `fd` is a pattern."""
    return finder.operands[1:] if finder.name in ("fd", "fdfind") else find_starts(finder.arguments)


def _reads_named(invocation: Invocation) -> bool:
    """Whether it reads files whose names are its input, or runs a program with what it finds."""
    if invocation.name in ("fd", "fdfind"):
        return invocation.has("-x", "-X", "--exec", "--exec-batch")
    return (
        invocation.given
        or invocation.name in ("read", "mapfile", "readarray")
        or reads_named_files(invocation)
    )


def _finds_in_place(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it finds files outside the folders where commands may write."""
    if invocation.name not in ("find", "fd", "fdfind"):
        return False
    paths = map(invocation.path, _starts(invocation))
    real = [context.real(path) for path in paths if path is not None]
    return any(not any(is_inside(path, folder) for folder in context.writable) for path in real)
