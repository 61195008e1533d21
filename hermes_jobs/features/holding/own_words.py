"""Whether a text is what a person said themselves: by words alone, the same for the same texts.

Every sentence of it has to be covered by one sentence of the person that denies the same. Words of the
grammar count for nothing, other words in any form; names, which are written with a capital letter, as they
are written; addresses and numbers in full.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from hermes_jobs.text.polarity import denied
from hermes_jobs.text.search.folding import fold
from hermes_jobs.text.search.function_words import function_roots
from hermes_jobs.text.search.question import roots

_SENTENCE = re.compile(r"[.!?;]+\s+|\n+")
_FENCED = re.compile(r"^(`{3,}).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_EXACT = re.compile(r"\S*(?:\d|[@/\\_=]|\w[.:]\w)\S*")
_AROUND = ".,;:!?()[]{}<>\"'“”„‘’«»"
_ABOUT_THE_PERSON = """
    user users person nutzer nutzerin benutzer benutzerin anwender utilisateur utilisatrice usuario usuaria
    utente gebruiker utilizador usuária användaren brukeren bruger live lives prefer prefers
    wohnt lebt habite vit vive
"""
"""Words with which notes speak of the person; where they live fits with what they say of a move."""


def are_own_words(texts: Sequence[str], said: Sequence[str]) -> bool:
    """Whether a person said all of these texts, in what they wrote; not where there are none."""
    theirs = list(dict.fromkeys(each for message in said for each in _sentences(_FENCED.sub("\n", message))))
    sentences = [each for text in texts for each in _sentences(text)]
    return bool(sentences) and all(any(_is_covered(each, by) for by in theirs) for each in sentences)


def _sentences(text: str) -> list[str]:
    return [each for each in map(str.strip, _SENTENCE.split(text)) if each]


def _is_covered(sentence: str, by: str) -> bool:
    if denied(sentence) != denied(by) or not _exact(sentence) <= _exact(by):
        return False
    plain = _EXACT.sub(" ", sentence)
    if not roots(plain) - _insignificant() <= roots(by):
        return False
    words = re.findall(r"\w+", by)
    written, in_small_letters = set(map(fold, words)), roots(" ".join(filter(str.islower, words)))
    names = (word for word in re.findall(r"\w+", plain) if word != word.lower())
    return all(fold(name) in written or roots(name) <= in_small_letters | _insignificant() for name in names)


@cache
def _insignificant() -> frozenset[str]:
    return function_roots() | roots(_ABOUT_THE_PERSON)


def _exact(text: str) -> frozenset[str]:
    """Its addresses and numbers."""
    return frozenset(found.strip(_AROUND).casefold() for found in _EXACT.findall(text))
