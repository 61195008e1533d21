"""Detection rules: their shape, and the packaged data files that hold them.

A data file (`data/*.toml`) has a `kind` for its rules, `fragments` that its patterns name in braces, and
`rule` tables with the fields of `ScanRule`; the words of `near` are separated by blanks. Patterns are verbose
regular expressions without regard to case. `data/common.toml` has fragments for every file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, cast

import msgspec

from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.findings import Kind, Severity
from hermes_jobs.text.scan.kept import Key
from hermes_jobs.text.scan.normalization import bare
from hermes_jobs.text.scan.words import WordFinder

ALL_FILES = ("instructions", "intents", "poisoning", "languages", "machines", "credentials", "skills")
SCAN_FILES = ALL_FILES[:-1]


class Branch(NamedTuple):
    """An alternative of a rule's pattern.

    `needs`: groups of words; every match contains one of each. `starts`: words; every match begins with one,
    or they are not known. `gaps`: the characters that a try may go through between what it looks for.
    """

    pattern: str
    needs: tuple[tuple[str, ...], ...] = ()
    starts: tuple[str, ...] = ()
    gaps: int = 0


class ScanRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pattern and when its matches count.

    `near`, `also`: lower-case words, one of which every match contains. The pattern is tried only where one
    of each is close; an empty list asks for nothing. A match does not count where `unless` matches within it,
    or where one of `unless_preceded_by` matches the text that ends right before it. `severity` is for skills.
    `in_lower_case`: the pattern can be searched for in a text in lower case, which is much faster.
    Branches are the pattern's alternatives, each with bounds.
    """

    name: str
    pattern: str
    kind: Kind = "instruction"
    severity: Severity = "dangerous"
    near: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unless: str = ""
    unless_preceded_by: tuple[str, ...] = ()
    in_lower_case: bool = False
    branches: tuple[Branch, ...] = ()

    @property
    def flags(self) -> int:
        """Those of the pattern."""
        return int(re.VERBOSE) if self.in_lower_case else EXCUSE_FLAGS

    def patterns(self) -> Iterator[Key]:
        """All that a search for the rule may compile."""
        yield from ((branch.pattern, self.flags) for branch in self.branches)
        for each in (self.unless, *map(at_end, self.unless_preceded_by)):
            yield bounded(each), EXCUSE_FLAGS

    def is_excused(self, words: str, before: str) -> bool:
        """Whether a match of `words` does not count. `before` is the text that ends where they begin.

        Only its last line is looked at: an excuse on a line of its own is easily put there.
        """
        if self.unless and excuse(self.unless).search(words):
            return True
        line = before.rpartition("\n")[2]
        return any(excuse(at_end(pattern)).search(line) for pattern in self.unless_preceded_by)


def at_end(pattern: str) -> str:
    """The pattern for a text that ends with its match."""
    return f"(?:{pattern})$"


class Tried(NamedTuple):
    """A branch of a rule; every match has a word of each of these groups, which are numbered."""

    rule: ScanRule
    branch: Branch
    groups: tuple[int, ...]


class ScanRules:
    """Rules that are searched for together."""

    def __init__(self, rules: tuple[ScanRule, ...]) -> None:
        self.rules = rules
        groups: dict[tuple[str, ...], int] = {}
        self.tried = tuple(
            Tried(
                rule,
                branch,
                tuple(
                    groups.setdefault(group, len(groups))
                    for group in (rule.near, rule.also, *branch.needs)
                    if group
                ),
            )
            for rule in rules
            for branch in rule.branches
        )
        self.words = WordFinder(groups, {word for tried in self.tried for word in tried.branch.starts})


@cache
def scan_rules() -> ScanRules:
    """The rules for every text."""
    return ScanRules(tuple(rule for name in SCAN_FILES for rule in _load(name)))


@cache
def credential_rules() -> ScanRules:
    """The rules that detect secrets."""
    return ScanRules(_load("credentials"))


@cache
def skill_rules() -> ScanRules:
    """The rules for the files of skills alone."""
    return ScanRules(_load("skills"))


def warned_of() -> str:
    """A pattern for what ends right before an example of what not to do."""
    return cast("str | None", kept.table("warned_of")) or at_end(read_common()["warned_of"])


# --- data files ------------------------------------------------------------------------------


class _RawRule(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    pattern: str
    near: str = ""
    also: str = ""
    kind: Kind | None = None
    severity: Severity = "dangerous"
    unless: str = ""
    unless_preceded_by: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    kind: Kind
    rule: list[_RawRule]
    unless_preceded_by: str = ""
    fragments: dict[str, str] = {}
    language: list[dict[str, str]] = []


msgspec.json.Decoder(_File)  # describes the types while an import holds its lock: `system.struct_types`

_REFERENCE = re.compile(r"\{([a-z_]+)\}")


@cache
def _load(name: str) -> tuple[ScanRule, ...]:
    rows = cast("list[tuple[Any, ...]] | None", kept.table(name))
    if rows is None:
        return read_rules(name)
    return tuple(
        ScanRule(
            **dict(zip(ScanRule.__struct_fields__, (*row, tuple(map(Branch._make, branches))), strict=True))
        )
        for *row, branches in rows
    )


def read_rules(name: str) -> tuple[ScanRule, ...]:
    """The rules of one file, each with its pattern as the only branch."""
    file = msgspec.convert(_read(name), _File)
    fragments = _expanded(read_common(), file.fragments)
    if not file.language:
        return tuple(_rule(raw, file, fragments, fragments) for raw in file.rule)
    return tuple(rule for language in file.language for rule in _of_language(language, file, fragments))


def _read(name: str) -> dict[str, object]:
    """The only place where the scan reads a file."""
    return tomllib.loads(resources.files(f"{__package__}.data").joinpath(f"{name}.toml").read_text("utf-8"))


def _rule(raw: _RawRule, file: _File, fragments: Mapping[str, str], words: Mapping[str, str]) -> ScanRule:
    """The rule with `fragments` in its patterns and `words` in its `near`."""
    preceded = (file.unless_preceded_by, raw.unless_preceded_by)
    pattern = _filled(raw.pattern, fragments)
    return ScanRule(
        name=raw.name,
        kind=raw.kind or file.kind,
        severity=raw.severity,
        near=tuple(_filled(raw.near, words).split()),
        also=tuple(_filled(raw.also, words).split()),
        pattern=pattern,
        in_lower_case=re.search(r"(?<!\\)[A-Z]", pattern) is None,
        branches=(Branch(bounded(pattern)),),
        unless=_filled(raw.unless, fragments),
        unless_preceded_by=tuple(_filled(pattern, fragments) for pattern in preceded if pattern),
    )


def _of_language(
    language: Mapping[str, str], file: _File, fragments: Mapping[str, str]
) -> Iterator[ScanRule]:
    """The rules over the language's classes of words; without those of which it lacks a class."""
    classes = {name: bare(text) for name, text in language.items() if name != "names"}
    patterns = {**_OPTIONAL, **fragments, **{name: _alternatives(text) for name, text in classes.items()}}
    words = {name: _longest_words(text) for name, text in classes.items()}
    for raw in file.rule:
        if patterns.keys() >= set(_REFERENCE.findall(raw.pattern)):
            yield _rule(raw, file, patterns, words)


_OPTIONAL = {"other_than": "(?!)"}
"""Patterns for classes that a language need not have."""


def _alternatives(words: str) -> str:
    """A pattern for a class of words: whole ones, in scripts that separate words."""
    spaced: list[str] = []
    unspaced: list[str] = []
    for word in words.split("|"):
        text, any_ending, rest = (part.strip() for part in word.partition("~"))
        pattern = re.escape(text).replace(r"\ ", r"\s+") + (r"\w*" if any_ending else "")
        pattern += rf"\s*{re.escape(rest)}" if rest else ""
        (unspaced if _UNSPACED.match(text) else spaced).append(pattern)
    whole_words = [rf"(?<!\w) (?: {' | '.join(spaced)} ) (?!\w)"] if spaced else []
    return f"(?: {' | '.join((*unspaced, *whole_words))} )"


def _longest_words(words: str) -> str:
    """For each alternative a word that every match contains."""
    return " ".join(max(word.partition("~")[0].split(), key=len) for word in words.lower().split("|"))


_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Japanese and Chinese, which write words without blanks between them."""


@cache
def read_common() -> Mapping[str, str]:
    """The fragments for all files."""
    return _expanded({}, msgspec.convert(_read("common"), dict[str, str]))


def _expanded(definitions: Mapping[str, str], fragments: Mapping[str, str]) -> dict[str, str]:
    """The known fragments and these, each of which may name those before it."""
    expanded = dict(definitions)
    for name, text in fragments.items():
        expanded[name] = _filled(text, expanded)
    return expanded


def _filled(text: str, fragments: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda reference: fragments[reference[1]], text)


# --- patterns --------------------------------------------------------------------------------

MOST_REPEATS = 100
"""Upper bound for a repetition without one: with it, the cost of a try does not grow with the text."""

_REPEAT = re.compile(r"\\. | \[ \^? \]? (?: \\. | [^\]\\] )* \] | [*+] | \{(\d*),\}", re.VERBOSE | re.DOTALL)


EXCUSE_FLAGS = int(re.IGNORECASE | re.VERBOSE)


@cache
def excuse(pattern: str) -> re.Pattern[str]:
    """A pattern that is tried on a match or on what is before it."""
    return kept.compiled(bounded(pattern), EXCUSE_FLAGS)


def bounded(pattern: str) -> str:
    """The pattern with an upper bound for each repetition that has none."""

    def bound(match: re.Match[str]) -> str:
        match match[0]:
            case "*":
                return f"{{0,{MOST_REPEATS}}}"
            case "+":
                return f"{{1,{MOST_REPEATS}}}"
            case open_end if open_end.startswith("{"):
                return f"{{{match[1] or 0},{MOST_REPEATS + int(match[1] or 0)}}}"
            case other:
                return other

    return _REPEAT.sub(bound, pattern)
