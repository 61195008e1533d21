"""The table of `acts.py`: words and phrases with their classes, and acts, each as classes of one sentence.

A set of classes is an integer with a bit for each class: a sentence is compared with a hundred acts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, cast

from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.findings import Kind
from hermes_jobs.text.scan.sentences import UNSPACED

ENGLISH = 1
"""The bit of an English word."""


class Act(NamedTuple):
    """A sentence with a class of each of `groups`, and none of `unless`."""

    name: str
    kind: Kind
    groups: tuple[int, ...]
    unless: int


class Lexicon(NamedTuple):
    """Words and phrases with their classes; stems are the beginnings of words."""

    words: Mapping[str, int]
    stems: Mapping[str, int]
    phrases: Mapping[str, int]  # the number of words of the longest phrase that begins with this word
    unspaced_starts: frozenset[str]  # first letters of words of scripts without blanks
    classes: Mapping[str, int]
    verbs: int  # classes whose English words count where they are orders
    topical: int  # classes whose words do not count where a topic follows
    negatable: int  # classes whose words do not count after a negation
    packages: frozenset[str]
    acts: tuple[Act, ...]

    def mask(self, names: Iterable[str]) -> int:
        """The set of these classes; an act's `not_verb` is also the verb after a negation."""
        return sum(self.classes.get(name, 0) for name in names)

    def negated(self, verbs: int) -> int:
        """The classes that stand for these verbs where they are negated."""
        return verbs << len(self.classes) + 1


@cache
def lexicon() -> Lexicon:
    """The packaged table."""
    rows = cast("tuple[Any, ...] | None", kept.table("lexicon"))
    if rows:
        return Lexicon._make((*rows[:-1], tuple(map(Act._make, rows[-1]))))
    return read_lexicon()


@cache
def vocabulary() -> frozenset[str]:
    """The single words of all classes."""
    return frozenset(part for word in lexicon().words for part in word.split())


def read_lexicon() -> Lexicon:
    """The table, read from its file."""
    table = tomllib.loads(resources.files(f"{__package__}.data").joinpath("acts.toml").read_text("utf-8"))
    lines = [(name, line) for name, lines in table["acts"].items() for line in lines]
    named = {each for _, line in lines for each in line.replace("|", " ").replace("!", " ").split()}
    names = sorted({*named, *table["english"], *table["others"], "lookalike", "known_lookalike"})
    classes = {name: 2 << at for at, name in enumerate(names)}
    words: dict[str, int] = {}
    stems: dict[str, int] = {}
    for language, english in (("english", ENGLISH), ("others", 0)):
        for name, text in table[language].items():
            for word in text.split():
                plain = word.removesuffix("*").replace("_", " ")
                place, bits = (stems, 0) if word.endswith("*") else (words, english)
                place[plain] = place.get(plain, 0) | classes[name] | bits
    phrases: dict[str, int] = {}
    for word in words:
        first, *others = word.split(" ")
        phrases[first] = max(phrases.get(first, 1), len(others) + 1)
    read = Lexicon(
        words,
        stems,
        {first: length for first, length in phrases.items() if length > 1},
        frozenset(word[0] for word in words if UNSPACED.match(word)),
        classes,
        sum(classes[name] for name in table["verbs"].split()),
        sum(classes[name] for name in table["topical"].split()),
        sum(classes[name] for name in table["negatable"].split()),
        frozenset(table["english"]["known_packages"].split()),
        (),
    )
    return read._replace(acts=tuple(_act(name, line, read) for name, line in lines))


def _act(name: str, line: str, table: Lexicon) -> Act:
    """`a|b c ! d`: a class of a or b, and c, without d. A name may begin with its kind and a colon."""
    kind, colon, rest = name.partition(": ")
    needed, _, unless = line.partition("!")
    groups = tuple(_group(group.split("|"), table) for group in needed.split())
    return Act(
        rest if colon else name,
        cast(Kind, kind) if colon else "instruction",
        groups,
        _group(unless.split(), table),
    )


def _group(names: Iterable[str], table: Lexicon) -> int:
    verbs = table.mask(name.removeprefix("not_") for name in names if name.startswith("not_"))
    return table.mask(names) | table.negated(verbs & table.verbs)
