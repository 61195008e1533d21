"""What a sentence asks for, by the classes of its words: what is to be done, with what, to whom, how often.

`data/acts.toml` has the classes and the acts. An act is a set of classes in one sentence, in any order: one
table serves every language, and new wordings of an intent are found as well as known ones. A sentence is
read once, word by word, with look-ups in dictionaries; no pattern is compiled for an act.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from operator import or_
from typing import Any, NamedTuple

from hermes_jobs.text.scan.lexicon import ENGLISH, Act, Lexicon, lexicon
from hermes_jobs.text.scan.sentences import UNSPACED_WORD, Word, parts, sentences

SHORTEST_STEM = 3
LONGEST_WORD = 24


class Found(NamedTuple):
    """An act in `text[start:end]`."""

    act: Act
    start: int
    end: int


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def acts(text: str, reader: Reader) -> Iterator[Found]:
    """The acts of every sentence; `text` is in lower case and without accents."""
    for sentence in sentences(text, reader.unspaced_starts):
        for words in parts(sentence):
            present = reader.classes(words)
            if not present & (present - 1):
                continue  # one class or none
            for act in reader.acts(present):
                yield Found(act, words[0].start, words[-1].end)


def _is_in(act: Act, present: int) -> bool:
    if present & act.unless:
        return False
    for group in act.groups:  # noqa: SIM110 - a sentence is compared with a hundred acts; `all` takes twice as long
        if not present & group:
            return False
    return True


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


MOST_KNOWN = 20_000  # words and sets of classes that are remembered


class Reader:
    """Looks words up; each word's classes, and the acts of a set of classes, once."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.unspaced_starts = lexicon.unspaced_starts
        self._acts: dict[int, tuple[Act, ...]] = {}
        self._known: dict[str, int] = {}
        self._unspaced: dict[str, int] = {}
        self._others: dict[frozenset[str], int] = {}
        self._like_packages: dict[str, bool] = {}
        self._names = lexicon.mask(("package", "domain"))

    def acts(self, present: int) -> tuple[Act, ...]:
        """Those of a sentence with these classes."""
        found = self._acts.get(present)
        if found is None:
            _make_room(self._acts)
            found = self._acts[present] = tuple(act for act in self._lexicon.acts if _is_in(act, present))
        return found

    def classes(self, words: list[Word]) -> int:
        """The classes of a sentence: of a verb that is negated `not_CLASS` in their place."""
        present = 0
        known = self._known
        for at, word in enumerate(words):
            if word.classes:
                present |= self._of_other(word)
                continue
            found = known.get(word.text)
            if found is None:
                found = self._of_word(word.text)
                if len(word.text) <= LONGEST_WORD:
                    _make_room(known)
                    known[word.text] = found
            if found > ENGLISH:
                present |= self._in_place(found, words, at, 1)
            if word.text in self._lexicon.phrases:
                present |= self._of_phrases(words, at)
        if present & self._names:
            present |= self._lexicon.mask(self._look_alikes(words))
        return present

    def _look_alikes(self, words: list[Word]) -> Iterator[str]:
        """Whether two names can be mistaken for each other, or one for that of a known package."""
        names = list(dict.fromkeys(name for word in words if _NAME.fullmatch(name := word.text.strip("`"))))
        names = names[:MOST_NAMES]
        if any(_is_alike(one, other) for at, one in enumerate(names) for other in names[:at]):
            yield "lookalike"
        if any(map(self._is_like_a_package, names)):
            yield "known_lookalike"

    def _is_like_a_package(self, name: str) -> bool:
        found = self._like_packages.get(name)
        if found is None:
            packages = self._lexicon.packages
            _make_room(self._like_packages)
            found = name not in packages and any(_is_alike(name, known) for known in packages)
            self._like_packages[name] = found
        return found

    def _of_other(self, word: Word) -> int:
        if word.classes is UNSPACED_WORD:
            return self._of_unspaced(word.text)
        found = self._others.get(word.classes)
        if found is None:
            found = self._others[word.classes] = self._lexicon.mask(word.classes)
        return found

    def _of_unspaced(self, text: str) -> int:
        found = self._unspaced.get(text)
        if found is None:
            _make_room(self._unspaced)
            words = self._lexicon.words
            found = sum_of(words.get(text[:length], 0) for length in range(1, len(text) + 1))
            self._unspaced[text] = found
        return found

    def _of_word(self, text: str) -> int:
        stems, start = self._lexicon.stems, text[:LONGEST_WORD]
        of_stems = (stems.get(start[:length], 0) for length in range(SHORTEST_STEM, len(start) + 1))
        return sum_of((self._lexicon.words.get(text, 0), *of_stems))

    def _of_phrases(self, words: list[Word], at: int) -> int:
        present, phrase = 0, words[at].text
        for length in range(2, self._lexicon.phrases[phrase] + 1):
            if at + length > len(words):
                break
            phrase = f"{phrase} {words[at + length - 1].text}"
            if found := self._lexicon.words.get(phrase):
                present |= self._in_place(found, words, at, length)
        return present

    def _in_place(self, found: int, words: list[Word], at: int, length: int) -> int:
        """Those of a word's classes that count where it stands."""
        verbs, present = found & self._lexicon.verbs, found & ~self._lexicon.verbs & ~ENGLISH
        if verbs and found & ENGLISH:
            if _is_order(words, at):
                present |= self._lexicon.negated(verbs) if _is_negated(words, at) else verbs
        elif verbs:
            negated = at and words[at - 1].text in _NEGATIONS
            present |= self._lexicon.negated(verbs) if negated else verbs
        if present & self._lexicon.negatable and _is_negated(words, at):
            present &= ~self._lexicon.negatable
        if present & self._lexicon.topical and _has_topic(words, at + length):
            present &= ~self._lexicon.topical
        return present


@cache
def packaged() -> Reader:
    """The one of the packaged table."""
    return Reader(lexicon())


def _make_room(remembered: dict[Any, Any]) -> None:
    if len(remembered) >= MOST_KNOWN:
        remembered.clear()


def sum_of(masks: Iterable[int]) -> int:
    """All classes of these sets."""
    return reduce(or_, masks, 0)


MOST_NAMES = 12  # of a sentence that are compared with each other
_NAME = re.compile(r"[a-z][\w.-]{4,40}")


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
