"""Whether a text is what a person said themselves: by words alone, the same for the same texts.

Every sentence of it has to be covered by one sentence of the person that denies the same, by words that stand
together there. Words of the grammar count for nothing, other words in any form; names, which are written with
a capital letter, as they are written; addresses and numbers in full, and none for the words in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from hermes_jobs.features.holding.statements import is_address, sentences, statements, without_addresses
from hermes_jobs.text.polarity import denied, negations
from hermes_jobs.text.search.folding import fold
from hermes_jobs.text.search.function_words import function_roots, roots_of_now
from hermes_jobs.text.search.question import root_sequence, roots

_AROUND = ".,;:!?()[]{}<>\"'“”„‘’«»"
_ABOUT_THE_PERSON = """
    user users person nutzer nutzerin benutzer benutzerin anwender utilisateur utilisatrice usuario usuaria
    utente gebruiker utilizador usuária användaren brukeren bruger live lives prefer prefers
    wohnt lebt habite vit vive called named heißt appelle llama chiama heet
"""
"""Words with which notes speak of a person and join a name to it; where they live fits with what they say of
a move."""


MAX_SAID, MAX_CHARS = 50_000, 10_000
"""Characters of the newest texts of a person that are compared; characters of what is compared with them:
more of it is never theirs."""


class _Sentence(NamedTuple):
    """What of a sentence is compared: its addresses and numbers, what it denies, its negations, the roots
    of its other significant words in their order, its words, and the roots of those without capitals."""

    exact: frozenset[str]
    denied: frozenset[str]
    negations: int
    roots: tuple[str, ...]
    words: frozenset[str]
    in_small_letters: frozenset[str]


def are_own_words(texts: Sequence[str], said: Sequence[str]) -> bool:
    """Whether a person said all of these texts, in what they wrote, oldest first; not if there are none."""
    if sum(map(len, texts)) > MAX_CHARS:
        return False
    theirs = [_parsed(each) for each in dict.fromkeys(_newest(said))]
    sought = [each for text in texts for each in sentences(text)]
    return bool(sought) and all(any(_is_covered(each, by) for by in theirs) for each in sought)


def _newest(said: Sequence[str]) -> Iterator[str]:
    """What the newest texts state."""
    room = MAX_SAID
    for message in reversed(said):
        room -= len(message)
        if room < 0:
            return
        yield from statements(message)


def _is_covered(sentence: str, by: _Sentence) -> bool:
    own = _parsed(sentence)
    if not own.exact <= by.exact or not _stand_together({*own.roots}, by.roots):
        return False
    if (own.denied, own.negations) != (by.denied, by.negations):
        return False
    if own.exact and not own.roots and by.roots:
        return False  # an address alone says nothing of what they said about it
    names = (word for word in re.findall(r"\w+", without_addresses(sentence)) if word != word.lower())
    return all(
        fold(name) in by.words or roots(name) <= by.in_small_letters | _insignificant() for name in names
    )


@lru_cache(maxsize=4_096)
def _parsed(sentence: str) -> _Sentence:
    plain = without_addresses(sentence)
    words = re.findall(r"\w+", plain)
    return _Sentence(
        exact=frozenset(word.strip(_AROUND).casefold() for word in sentence.split() if is_address(word)),
        denied=denied(sentence),
        negations=negations(sentence),
        roots=tuple(root for root in root_sequence(plain) if root not in _insignificant()),
        words=frozenset(map(fold, words)),
        in_small_letters=roots(" ".join(filter(str.islower, words))),
    )


def _stand_together(sought: set[str], found: Sequence[str]) -> bool:
    """Whether all of these words are there with no other one between them."""
    if not sought <= {*found}:
        return False
    together: set[str] = set()
    for root in found:
        together = together | {root} if root in sought else set()
        if sought <= together:
            return True
    return not sought


@cache
def _insignificant() -> frozenset[str]:
    return function_roots() | roots_of_now() | roots(_ABOUT_THE_PERSON)
