"""The check on files of a project that later prompts have: `AGENTS.md` and its kin."""

from __future__ import annotations

import re

from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.git_written import written_by_git
from hermes_jobs.tools.command_rules.written_paths import written_paths
from hermes_jobs.tools.glob_matches import GLOB
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.sensitive_paths import instructs
from hermes_jobs.tools.tables import words

_PART = re.compile(r"[\w.~/+@-]+")
_WRITING_VERBS = frozenset(("checkout", "restore", "mv", "apply", "show", "cat-file", "worktree", "archive"))
_WITHOUT_TEXT = frozenset(("mkdir", "rmdir", "touch", "rm", "chmod", "chown"))


def writes_instructions(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it may write a file that later prompts have, where the conversation has text of others.

    A program that does more than read may write whatever its words name, be it in code or in an address.
    """
    if not context.has_outside or invocation.name in _WITHOUT_TEXT:
        return False
    written = [*written_paths(invocation), *written_by_git(invocation)]
    if any(_instructs(invocation, context, word) for word in written):
        return True
    if invocation.name == "git":
        verb = git.split_verb(invocation)[0]
        named = verb.arguments if verb.name in _WRITING_VERBS else ()
    elif invocation.name in words("reading", "programs"):
        named = ()
    else:
        named = (*invocation.arguments, invocation.input)
    return any(
        _instructs(invocation, context, word) or any(map(_is_named, _PART.findall(word))) for word in named
    )


def _instructs(invocation: Invocation, context: CommandContext, word: str) -> bool:
    path = invocation.path(word)
    if path is None:
        return _is_named(word)
    matches = (context.folders.matching(path) or ()) if GLOB.search(word) else ()
    return any(_is_named(context.real(each)) for each in (path, *matches))


def _is_named(path: str) -> bool:
    return instructs(f"/{path}") is not None


CHECKS = (writes_instructions,)
