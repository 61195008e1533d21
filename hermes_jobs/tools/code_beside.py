"""What else a line runs with the rights of its commands that are approved: the question names it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from hermes_jobs.text.clip import clip
from hermes_jobs.tools.command_line import CommandPart
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.rules import rule_set
from hermes_jobs.tools.credentials import Credentials
from hermes_jobs.tools.git_program import Unreadable
from hermes_jobs.tools.invocations import Invocation, shown
from hermes_jobs.tools.known_files import unknown_file
from hermes_jobs.tools.tables import pattern, words
from hermes_jobs.tools.unconfined_code import code_of_folder, runs_nothing_of_folder


def code_beside(
    invocations: Sequence[Invocation], where: CommandContext, credentials: Credentials, *, asks: bool
) -> Iterator[str]:
    """What of a line that asks may run code of the folder once it is approved. `asks`: a rule asks, not only
    keys. Raises `Unparsable`."""
    own = [invocation for invocation in invocations if not invocation.inner and invocation.name]
    if beside := _beside_unconfined(own, where, credentials):
        yield f"without the sandbox, which hides your keys: {beside}"
    elif asks and (beside := _beside_asking(own, where, credentials)):
        yield f"with the same rights: {beside}"


def _beside_unconfined(own: Sequence[Invocation], where: CommandContext, credentials: Credentials) -> str:
    """The first program that may run code of the folder, or read through its links, beside one that
    cannot work in the sandbox: once approved, all of the line runs without it. Empty if there is none."""
    outside = [each for each in own if each.name in words("secrets", "outside_sandbox")]
    if not outside:
        return ""
    for one in own:
        for word in one.words:
            if pattern("secrets", "elsewhere").fullmatch(f"{one.name} {word}"):
                return f"`{one.name}` with `{clip(word, 80)}`"
    run_by_them = {one.words[start:] for one in outside for start in range(len(one.words))}
    line, _ = credentials.line(own, where.workdir, {})
    for each in own:
        if each.words in run_by_them:
            continue
        if not runs_nothing_of_folder(each) or unknown_file(each, line, uses=False):
            return f"`{shown(each)}`"
    parts = [CommandPart(invocation, ()) for invocation in own]
    return code_of_folder(parts, where.workdir, credentials, only_git=True)


def _beside_asking(own: Sequence[Invocation], where: CommandContext, credentials: Credentials) -> str:
    """The first program beside those that ask that may run code of the folder: once approved, all of the
    line may write what runs later. Empty if there is none."""
    asking = [each.words for each in own if list(rule_set("ask").met(each, where))]
    run_by_them = {inner[start:] for inner in asking for start in range(len(inner))}
    others = [
        each
        for each in own
        if each.words not in run_by_them and not any(each.words[-len(inner) :] == inner for inner in asking)
    ]
    for each in others:
        if each.name not in words("unconfined", "builtins") and not runs_nothing_of_folder(each):
            return f"`{shown(each)}`"
    line, _ = credentials.line(others, where.workdir, {})
    with suppress(Unreadable):  # then git does nothing
        return ", ".join(line.finding((), line.hooks).code) if line.verbs and line.repositories else ""
    return ""
