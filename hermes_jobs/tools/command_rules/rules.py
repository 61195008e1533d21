"""The rules for commands, and the matcher of programs and arguments.

The rules are in `data/*.toml`: `rule` tables with the fields of `CommandRule`. A field with `_of` behind its
name is a table: each entry makes a rule of its own for the programs in its key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.command_rules import (
    databases,
    deeds,
    emptied,
    git,
    inline_code,
    instructions,
    network,
    outside_code,
    paths,
    programs,
    project_secrets,
    servers,
    services,
    unconfined,
    unlisted,
)
from hermes_jobs.tools.command_rules.context import Check, CommandContext
from hermes_jobs.tools.command_rules.written_paths import written_paths
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.tables import load

FILES = (
    "privileges", "deletions", "interpreters", "outside_code", "software", "secrets", "writes", "network",
    "services", "system", "unconfined", "known", "code",
)  # fmt: skip
"""In this order: the first matching rule names the question."""

Decision: TypeAlias = Literal["ask", "deny"]

CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for module in (
        paths,
        emptied,
        project_secrets,
        programs,
        outside_code,
        inline_code,
        instructions,
        git,
        network,
        servers,
        services,
        databases,
        unconfined,
        unlisted,
        deeds,
    )
    for check in module.CHECKS
}
"""Conditions that need code, by the name that a rule calls them."""


class CommandRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule: commands that are never run (`deny`) or need approval, and the text for the user (`name`).

    The rule is for the `programs` named, separated by blanks and with `*` for any end; for all programs if
    none are. A verb of git is the program `git-VERB`, a module of Python `python-m-MODULE`. The rule is met
    when one of its conditions holds, or it has none, and no excuse applies. Regular expressions match the
    whole value.

    Conditions: `options` (`-x` also in a cluster), `first` (the first operand), `verbs` (one of the first
    two operands), `pattern` (one of the arguments, or of the first `within`), `line` (the arguments, joined
    by blanks), `redirects` (the target of a redirection), `writes` (the absolute path of a written file),
    `paths` (that of any named file), `loads` (options whose value is code outside the folders), `given`
    (`xargs` or the like adds arguments), `check` (of `CHECKS`).
    Also required: `also_options`, `also_first`. Excuses: all fields that begin with `unless`.
    """

    name: str
    decision: Decision = "ask"
    programs: str = ""
    options: str = ""
    first: str | None = None
    verbs: str = ""
    pattern: str | None = None
    within: int | None = None
    line: str | None = None
    redirects: str | None = None
    writes: str | None = None
    paths: str | None = None
    loads: str = ""
    given: bool = False
    check: str | None = None
    also_options: str = ""
    also_first: str | None = None
    unless: str = ""
    unless_options: str = ""
    unless_first: str | None = None
    unless_pattern: str | None = None
    unless_check: str | None = None
    unless_programs: str = ""

    def is_met(self, invocation: Invocation, context: CommandContext) -> bool:
        """Whether a program that `programs` names meets the rule."""
        conditions = [condition for field, condition in CONDITIONS.items() if getattr(self, field)]
        if conditions and not any(condition(self, invocation, context) for condition in conditions):
            return False
        if self.also_options and not invocation.has(*self.also_options.split()):
            return False
        if self.also_first is not None and not _any(self.also_first, invocation.operands[:1]):
            return False
        return not self._is_excused(invocation, context)

    def _is_excused(self, invocation: Invocation, context: CommandContext) -> bool:
        return (
            not set(self.unless.split()).isdisjoint(invocation.arguments)
            or (bool(self.unless_options) and invocation.has(*self.unless_options.split()))
            or _any(self.unless_first, invocation.operands[:1])
            or _any(self.unless_pattern, invocation.arguments)
            or invocation.name in self.unless_programs.split()
            or (self.unless_check is not None and CHECKS[self.unless_check](invocation, context))
        )


CONDITIONS: Mapping[str, Callable[[CommandRule, Invocation, CommandContext], bool]] = {
    "given": lambda _rule, invocation, _context: invocation.given,
    "options": lambda rule, invocation, _context: invocation.has(*rule.options.split()),
    "verbs": lambda rule, invocation, _context: (
        not set(rule.verbs.split()).isdisjoint(invocation.operands[:2])
    ),
    "first": lambda rule, invocation, _context: _any(rule.first, invocation.operands[:1]),
    "pattern": lambda rule, invocation, _context: _any(rule.pattern, invocation.arguments[: rule.within]),
    "line": lambda rule, invocation, _context: _any(rule.line, (" ".join(invocation.arguments),)),
    "redirects": lambda rule, invocation, _context: _any(
        rule.redirects, [one.target for one in invocation.redirects]
    ),
    "writes": lambda rule, invocation, _context: _any(
        rule.writes, _absolute(invocation, written_paths(invocation))
    ),
    "paths": lambda rule, invocation, context: _any(
        rule.paths, _absolute(invocation, context.path_words(invocation))
    ),
    "loads": lambda rule, invocation, context: outside_code.names_outside(
        invocation, context, outside_code.option_values(invocation, rule.loads)
    ),
    "check": lambda rule, invocation, context: (
        rule.check is not None and CHECKS[rule.check](invocation, context)
    ),
}


def _any(pattern: str | None, texts: Sequence[str]) -> bool:
    return pattern is not None and any(_compiled(pattern).fullmatch(text) for text in texts)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _absolute(invocation: Invocation, words: Sequence[str]) -> list[str]:
    return [path for word in words if (path := invocation.path(word)) is not None]


class CommandRuleSet:
    """Rules of one decision, found by the program's name."""

    def __init__(self, rules: Sequence[CommandRule]) -> None:
        self.rules = tuple(rules)
        self._asks = all(rule.decision == "ask" for rule in rules)
        self._general: list[int] = []
        self._by_name: dict[str, list[int]] = {}
        self._by_prefix: dict[str, list[int]] = {}
        for index, rule in enumerate(rules):
            if not rule.programs:
                self._general.append(index)
            for name in rule.programs.split():
                table = self._by_prefix if name.endswith("*") else self._by_name
                table.setdefault(name.removesuffix("*"), []).append(index)

    def met(self, invocation: Invocation, context: CommandContext) -> Iterator[str]:
        """The names of all matching rules of an invocation, and of programs run with its arguments.

        In the order of the rules, with repetitions.
        """
        views = () if self._asks and _asks_about_itself(invocation) else _views(invocation)
        candidates = [(index, view) for view in views for index in self._candidates(view.name)]
        candidates += [(index, invocation) for index in self._general]
        for index, view in sorted(candidates, key=lambda item: item[0]):
            if self.rules[index].is_met(view, context):
                yield self.rules[index].name

    def _candidates(self, name: str) -> set[int]:
        unversioned = without_version(name)
        numbers = {*self._by_name.get(name, ()), *self._by_name.get(unversioned, ())}
        for prefix, indexes in self._by_prefix.items():
            if name.startswith(prefix):
                numbers.update(indexes)
        return numbers


def _asks_about_itself(invocation: Invocation) -> bool:
    """Whether an installed program only prints its version or its help."""
    return (
        invocation.arguments in (("--version",), ("--help",))
        and "/" not in invocation.program
        and not invocation.given
        and not invocation.redirects
    )


def _views(invocation: Invocation) -> Iterator[Invocation]:
    """The invocation, a verb of git as the program `git-VERB`, a module of Python as `python-m-MODULE`, a
    build tool behind its wrapper in the project."""
    yield invocation
    if invocation.name in _WRAPPERS_OF_BUILDS:
        yield replace(invocation, name=_WRAPPERS_OF_BUILDS[invocation.name])
    elif invocation.name == "git":
        verb = git.split_verb(invocation)[0]
        yield replace(verb, name=f"git-{verb.name}")
    elif without_version(invocation.name) == "python":
        for index, argument in enumerate(invocation.arguments):
            if match := _MODULE.fullmatch(argument):
                after = invocation.arguments[index + 1 :]
                name, rest = (match["name"], after) if match["name"] else ("".join(after[:1]), after[1:])
                yield replace(invocation, name=f"python-m-{name}", arguments=rest)
                return


_WRAPPERS_OF_BUILDS = {"gradlew": "gradle", "mvnw": "mvn"}
_MODULE = re.compile(r"-\w*m(?P<name>.*)", re.DOTALL)


def _entries() -> Iterator[dict[str, Any]]:
    """The fields of each rule, in order."""
    for name in FILES:
        for rule in load(name).get("rule", ()):
            plain = {field: value for field, value in rule.items() if not field.endswith("_of")}
            tables = [(field, value) for field, value in rule.items() if field.endswith("_of")]
            if not tables:
                yield plain
            for field, table in tables:
                for names, value in table.items():
                    yield {**plain, "programs": names, field.removesuffix("_of"): value}


@cache
def rule_set(decision: Decision) -> CommandRuleSet:
    """The rules of the data files with one decision. Raises `ValueError` for a rule that is badly written."""
    rules = [msgspec.convert(entry, described(CommandRule)) for entry in _entries()]
    unknown = {check for rule in rules for check in (rule.check, rule.unless_check)} - {None, *CHECKS}
    if unknown:
        raise ValueError(f"rules call checks that are not there: {', '.join(map(str, unknown))}")
    return CommandRuleSet([command_rule for command_rule in rules if command_rule.decision == decision])
