"""What a sentence asks for, by the classes of its words: what is to be done, with what, to whom, how often.

`data/acts.toml` has the classes and the acts. An act is a set of classes in one sentence, in any order: one
table serves every language, and new wordings of an intent are found as well as known ones. A sentence is
read once, word by word, with look-ups in dictionaries; no pattern is compiled for an act.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from hermes_jobs.text.scan.hidden import Kind
from hermes_jobs.text.scan.sentences import NOTHING, UNSPACED, Word, parts, sentences

LONGEST_PHRASE = 4  # words
SHORTEST_STEM = 3
LONGEST_WORD = 24


class Act(NamedTuple):
    """Classes that must occur in a sentence (of each group one), and classes that must not."""

    name: str
    kind: Kind
    groups: tuple[frozenset[str], ...]
    unless: frozenset[str]


class Lexicon(NamedTuple):
    """Words and phrases with their classes; stems are the beginnings of words."""

    words: Mapping[str, frozenset[str]]
    stems: Mapping[str, frozenset[str]]
    unspaced_starts: frozenset[str]  # first letters of words of scripts without blanks
    verbs: frozenset[str]  # classes whose English words count where they are orders
    topical: frozenset[str]  # classes whose words do not count where a topic follows
    negatable: frozenset[str]  # classes whose words do not count after a negation
    packages: frozenset[str]
    bits: Mapping[str, int]  # the place of a class in a mask
    masks: tuple[
        tuple[int, tuple[int, ...], int, Act], ...
    ]  # an act's groups, the first one apart, and `unless`


class Found(NamedTuple):
    """An act in `text[start:end]`."""

    act: Act
    start: int
    end: int


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def acts(text: str, lexicon: Lexicon) -> Iterator[Found]:
    """The acts of every sentence; `text` is in lower case and without accents."""
    for sentence in sentences(text, lexicon.unspaced_starts):
        for words in parts(sentence):
            classes = _classes(words, lexicon)
            if len(classes) < 2:
                continue
            present = sum(1 << lexicon.bits[each] for each in classes if each in lexicon.bits)
            for first, others, unless, act in lexicon.masks:
                if present & first and not present & unless and all(present & other for other in others):
                    yield Found(act, words[0].start, words[-1].end)


# --- classes ---------------------------------------------------------------------------------

_STARTS = _words("""
    , please and then also now always never just quietly silently secretly simply must should shall
    will can may not don't dont do first instead or but so only kindly immediately automatically
    still additionally discreetly covertly cannot to_ better you it""")
_BEFORE_TO = _words("""
    have has need needs are is supposed told ordered required got remember sure want ready""")
_NEGATIONS = _words("""
    not never don't dont no cannot can't won't mustn't shouldn't doesn't avoid without nicht nie
    niemals kein keine nichts ne pas jamais n' no nunca jamas non mai nao niet nooit nie ne не
    никогда no""")


def _classes(words: list[Word], lexicon: Lexicon) -> set[str]:
    """The classes of a sentence: of a verb that is negated `not_CLASS` in their place."""
    present: set[str] = set()
    for at, word in enumerate(words):
        if word.classes and word.classes != {"unspaced"}:
            present |= word.classes
            continue
        for found, length, is_english in _look_up(words, at, lexicon):
            for each in found:
                if each in lexicon.verbs and is_english:
                    if not _is_order(words, at):
                        continue
                    if _is_negated(words, at):
                        present.add(f"not_{each}")
                        continue
                if each in lexicon.verbs and at and words[at - 1].text in _NEGATIONS:
                    present.add(f"not_{each}")
                elif each in lexicon.negatable and _is_negated(words, at):
                    continue
                elif each not in lexicon.topical or not _has_topic(words, at + length):
                    present.add(each)
    if "package" in present or "domain" in present:
        present.update(_look_alikes(words, lexicon))
    return present


MOST_NAMES = 12  # of a sentence that are compared with each other
_NAME = re.compile(r"[a-z][\w.-]{4,40}")


def _look_alikes(words: list[Word], lexicon: Lexicon) -> Iterator[str]:
    """Whether two names of a sentence can be mistaken for each other, or one for that of a known package."""
    names = list(
        dict.fromkeys(word.text.strip("`") for word in words if _NAME.fullmatch(word.text.strip("`")))
    )[:MOST_NAMES]
    if any(_is_alike(one, other) for at, one in enumerate(names) for other in names[:at]):
        yield "lookalike"
    if any(
        _is_alike(name, known) for name in names for known in lexicon.packages if name not in lexicon.packages
    ):
        yield "known_lookalike"


def _is_alike(one: str, other: str) -> bool:
    """Whether a letter was added, left out, changed, or two were exchanged; not forms of one word."""
    if abs(len(one) - len(other)) > 1 or one[0] != other[0] or one == other:
        return False
    if one.rstrip("0123456789") == other.rstrip("0123456789"):
        return False
    if one.removesuffix("s") == other.removesuffix("s") and not one.endswith("ss"):
        return False
    start = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    rest, other_rest = one[start:], other[start:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (rest[1::-1] + rest[2:] == other_rest and len(rest) > 1)
    )


def _look_up(words: list[Word], at: int, lexicon: Lexicon) -> Iterator[tuple[frozenset[str], int, bool]]:
    word = words[at]
    if "unspaced" in word.classes:
        for length in range(1, len(word.text) + 1):
            if found := lexicon.words.get(word.text[:length]):
                yield found, 1, False
        return
    phrase = word.text
    is_english = "english" in lexicon.words.get(phrase, NOTHING)
    for length in range(1, LONGEST_PHRASE + 1):
        if found := lexicon.words.get(phrase):
            yield found, length, "english" in found
        if at + length >= len(words):
            break
        phrase = f"{phrase} {words[at + length].text}"
    text = word.text[:LONGEST_WORD]
    for length in range(SHORTEST_STEM, len(text) + 1):
        if found := lexicon.stems.get(text[:length]):
            yield found, 1, is_english


_ADVERBIALS = _words("""
    at on in every each once before after whenever when if from during for as""")
_DETERMINERS = _words("""
    the a an each every of your his her their this that these those its our my any all no""")


def _is_order(words: list[Word], at: int) -> bool:
    """Whether the English verb is an order, or says what somebody must do; not what somebody does."""
    if at == 0:
        return True
    before = words[at - 1].text
    if before in _STARTS or before.endswith("ly") or before.startswith("<"):
        return True
    if before in {"to", "be"} and at > 1:
        earlier = words[at - 2].text
        return earlier in _BEFORE_TO or earlier in _STARTS or (before == "be" and earlier == "to")
    clause = next(
        (words[place + 1].text for place in range(at - 1, -1, -1) if words[place].text == ","), words[0].text
    )
    return (
        clause in _ADVERBIALS and before not in _DETERMINERS and before not in _ADVERBIALS and before != "to"
    )


_TOPIC = _words("""
    on of for to in about at""")


def _has_topic(words: list[Word], at: int) -> bool:
    """Whether what follows limits the rules to something other than this conversation."""
    following = [word.text for word in words[at : at + 2]]
    return (
        len(following) == 2
        and following[0] in _TOPIC
        and following[1] not in {"this", "your", "the_system", "shell"}
    )


def _is_negated(words: list[Word], at: int) -> bool:
    return any(word.text in _NEGATIONS for word in words[max(at - 3, 0) : at])


# --- the table -------------------------------------------------------------------------------


@cache
def lexicon() -> Lexicon:
    """The packaged table."""
    import tomllib
    from importlib import resources

    table = tomllib.loads(resources.files(f"{__package__}.data").joinpath("acts.toml").read_text("utf-8"))
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for language in ("english", "others"):
        for name, text in table[language].items():
            for word in text.split():
                plain = word.removesuffix("*").replace("_", " ")
                place = stems if word.endswith("*") else words
                place.setdefault(plain, set()).add(name)
                if language == "english" and place is words:
                    words[plain].add("english")
    table_acts = [_act(name, line) for name, lines in table["acts"].items() for line in lines]
    named = {each for act in table_acts for group in (*act.groups, act.unless) for each in group}
    bits = {each: at for at, each in enumerate(sorted(named))}
    return Lexicon(
        {word: frozenset(names) for word, names in words.items()},
        {stem: frozenset(names) for stem, names in stems.items()},
        frozenset(word[0] for word in words if UNSPACED.match(word)),
        frozenset(table["verbs"].split()),
        frozenset(table["topical"].split()),
        frozenset(table["negatable"].split()),
        frozenset(table["english"]["known_packages"].split()),
        bits,
        tuple(_masks(act, bits) for act in table_acts),
    )


def _masks(act: Act, bits: Mapping[str, int]) -> tuple[int, tuple[int, ...], int, Act]:
    first, *others = (_mask(group, bits) for group in act.groups)
    return first, tuple(others), _mask(act.unless, bits), act


def _mask(classes: frozenset[str], bits: Mapping[str, int]) -> int:
    return sum(1 << bits[each] for each in classes)


@cache
def vocabulary() -> frozenset[str]:
    """The single words of all classes."""
    return frozenset(part for word in lexicon().words for part in word.split())


def _act(name: str, line: str) -> Act:
    """`a|b c ! d`: a class of a or b, and c, without d. A name may begin with its kind and a colon."""
    kind, colon, rest = name.partition(": ")
    needed, _, unless = line.partition("!")
    groups = tuple(frozenset(group.split("|")) for group in needed.split())
    return Act(rest if colon else name, kind if colon else "instruction", groups, frozenset(unless.split()))  # type: ignore[arg-type]
