"""Checks by what a command's words say that it does, in whatever program: delete, send, change a service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from hermes_jobs.tools.carried import has_no_rule
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.outside_code import is_own_program
from hermes_jobs.tools.command_rules.unlisted import is_unlisted, options_of, own_arguments
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.tables import pattern, words

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUM_VERBS = 3
"""Of the operands, those among which a verb stands: values of options may stand before it."""


def does_harm(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a program that is not the project's deletes, as its words say, or acts and has no rule."""
    if _takes_words(invocation) or is_own_program(invocation, context):
        return False
    arguments = _up_to_dashes(invocation)
    if any(map(pattern("known", "harsh_options").fullmatch, arguments)):
        return True
    is_strange = is_unlisted(invocation, context)
    parts = _said(arguments)
    named = _ends(invocation.name.removesuffix(".sh")) if is_strange else frozenset()  # as `x-uninstall.sh`
    if not words("known", "harsh_deeds").isdisjoint(parts | named):
        return True
    acting = words("known", "deeds") - words("known", "working_deeds")
    if is_strange:
        skips = any(map(pattern("known", "unasked_options").fullmatch, arguments))
        return (skips and not _builds(invocation)) or not words("known", "deeds").isdisjoint(
            parts - words("known", "working_words")
        )
    return has_no_rule(invocation.name) and not acting.isdisjoint(invocation.operands[:2])


def _builds(invocation: Invocation) -> bool:
    return not words("known", "building").isdisjoint(invocation.operands[:2])


def _up_to_dashes(invocation: Invocation) -> Sequence[str]:
    arguments = invocation.arguments
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _said(arguments: Sequence[str]) -> frozenset[str]:
    """What the first operands begin or end with; of one behind an option, the beginning."""
    found: set[str] = set()
    behind = [pair for pair in pairwise(("", *arguments)) if not pair[1].startswith("-")]
    for before, word in behind[:_NUM_VERBS]:
        found |= set(_parts(word)[:1]) if before.startswith("-") else _ends(word)
    return frozenset(found)


def _ends(word: str) -> frozenset[str]:
    parts = _parts(word)
    return frozenset((*parts[:1], *parts[-1:]))


def _parts(word: str) -> Sequence[str]:
    """The words within a word, in small letters: of `stanza-delete`, `vm.destroy`, `flywayClean`."""
    name, _, ending = word.rpartition(".")
    if "/" in word or " " in word or len(word) > _LONGEST_VERB or (name and not ending.isalpha()):
        return ()
    return (ending.lower(),) if name else [part.lower() for part in _PART.findall(word)]


_LONGEST_VERB = 40


def _takes_words(invocation: Invocation) -> bool:
    """Whether the words of the program are texts, names or paths, or rules of its own judge its verbs."""
    return without_version(invocation.name) in _word_takers()


@cache
def _word_takers() -> frozenset[str]:
    tables = (
        ("reading", "programs"),
        ("known", "takes_paths"),
        ("known", "builtins"),
        ("wrappers", "keep_words"),
        ("interpreters", "languages"),
        ("interpreters", "editors"),
        ("services", "controllers"),
    )
    return frozenset().union(*(words(file, table) for file, table in tables))


def commands_service(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an unlisted program that is by its name the client of a service, `xctl` or `x-admin`, does more
    than look; or one is told to work on what is called production."""
    if not is_unlisted(invocation, context) or is_own_program(invocation, context):
        return False
    production = pattern("known", "production")
    if not _builds(invocation) and any(
        pattern("known", "place_options").fullmatch(option) and production.fullmatch(value)
        for option, value in options_of(invocation.arguments)
    ):
        return True
    if pattern("known", "names_of_clients").fullmatch(invocation.name) is None or not invocation.operands:
        return False
    looking = words("services", "looking") | words("services", "looking_things")
    verbs = invocation.operands[:_NUM_VERBS]
    return looking.isdisjoint(verbs) and not any(map(pattern("services", "looking_verbs").match, verbs))


def states_change(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an argument or the input of a program that no rule knows is a statement of SQL that changes."""
    if _takes_words(invocation) or is_own_program(invocation, context):
        return False
    if not (is_unlisted(invocation, context) or has_no_rule(invocation.name)):
        return False
    changes = pattern("known", "changing_statement")
    return any(map(changes.match, (*invocation.arguments, invocation.input, invocation.echoed)))


def reveals_keys(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an option asks for keys or passwords in the open: `--show-secrets`."""
    if invocation.name in words("reading", "programs") or is_own_program(invocation, context):
        return False
    return any(map(pattern("known", "revealing_options").fullmatch, own_arguments(invocation)))


CHECKS = (does_harm, commands_service, states_change, reveals_keys)
