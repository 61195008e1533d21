"""Stemming: which words of Latin script are forms of one another, near enough to find them by.

English words are stemmed as Porter describes it ("An algorithm for suffix stripping", Program 14(3), 1980);
then one of the commonest endings of its neighbours (German, French, Spanish, Italian, Dutch) is taken off,
where enough of the word is left. A stem need not be a word; it is never shown.
"""

from __future__ import annotations

import re
from functools import lru_cache

SHORTEST = 4  # a shorter word is its own stem
OTHER_ENDINGS = ("en", "n", "a", "o")
MIN_STEM = 4  # letters that have to stand before these

_LATIN = re.compile(r"[a-z\u00df\u00e6\u00f0\u00f8\u00fe\u0111\u0131\u0142\u0153]+")
_NOT_DOUBLED = "lsz"
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive"),
    *("ize", "sion", "tion", "al", "er", "ic", "ou"),
)
_SUFFIXES = (
    *("", "s", "es", "ed", "e", "ing", "er", "ers", "y", "ies", "ied", "iness", "ly", "en", "n", "ion"),
    *("ions", "ation", "ations", "ate", "ated", "ment", "ments", "able", "al", "ance", "ence", "ive"),
    *("ness", "ize"),
)
_SUFFIXES_DOUBLED = ("ed", "en", "ing", "er", "ers", "y")
_DOUBLES = "bdfgklmnprt"  # planned, running, bigger


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """What the forms of a folded word have in common; the word itself where it is not of Latin script."""
    if len(word) < SHORTEST or _LATIN.fullmatch(word) is None:
        return word
    root = _without_e(_step_4(_step_3(_step_2(_step_1(word)))))
    for ending in OTHER_ENDINGS:
        if root.endswith(ending) and len(root) - len(ending) >= MIN_STEM:
            return _undoubled(root[: -len(ending)])
    return root


def forms(word: str) -> tuple[str, ...]:
    """The word first, then what is commonly written with the same stem."""
    base = stem(word)
    if len(word) < SHORTEST - 1 or _LATIN.fullmatch(word) is None:
        return (word,)
    bases = [base, base[:-1]] if base.endswith(("i", "e")) else [base]
    written = [start + suffix for start in bases for suffix in _SUFFIXES]
    if base[-1] in _DOUBLES:
        written += [base + base[-1] + suffix for suffix in _SUFFIXES_DOUBLED]
    return tuple(dict.fromkeys((word, *(form for form in written if stem(form) == base))))


def _step_1(word: str) -> str:
    """Plurals, past tenses and participles; a final y becomes i."""
    if word.endswith(("sses", "ies")) and len(word) > SHORTEST:
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) else word
    else:
        for ending in ("ed", "ing"):
            if word.endswith(ending) and "v" in _shape(word[: -len(ending)]):
                word = _mended(word[: -len(ending)])
                break
    return f"{word[:-1]}i" if word.endswith("y") and "v" in _shape(word[:-1]) else word


def _mended(word: str) -> str:
    """The word before `ed` or `ing`: hop of hopped, file of filing, rate of rating, use of used."""
    if word.endswith(("at", "bl", "iz")) or (len(word) == 2 and (_measure(word) or word.endswith("i"))):
        return f"{word}e"
    if (undoubled := _undoubled(word)) != word:
        return undoubled
    return f"{word}e" if _measure(word) == 1 and _is_short(word) else word


def _undoubled(word: str) -> str:
    """With one of two consonants at its end."""
    is_doubled = len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"
    return word[:-1] if is_doubled and word[-1] not in _NOT_DOUBLED else word


def _step_2(word: str) -> str:
    return _replaced(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replaced(word, _STEP_3)


def _replaced(word: str, endings: dict[str, str]) -> str:
    ending = _longest(word, tuple(endings))
    if ending is None or not _measure(word[: -len(ending)]):
        return word
    return word[: -len(ending)] + endings[ending]


def _step_4(word: str) -> str:
    ending = _longest(word, _STEP_4)
    if ending is None:
        return word
    length = 3 if ending in {"sion", "tion"} else len(ending)
    return word[:-length] if _measure(word[:-length]) > 1 else word


def _without_e(word: str) -> str:
    """Without a final e, and with one l of two; a word of three letters, which is its own stem, keeps it."""
    if word.endswith("e") and len(word) >= SHORTEST:
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _is_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _longest(word: str, endings: tuple[str, ...]) -> str | None:
    if not word.endswith(endings):  # as with most words
        return None
    return max((ending for ending in endings if word.endswith(ending)), key=len)


def _shape(word: str) -> str:
    """Its letters as v (vowel) and c (consonant); y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How often consonants follow vowels in it."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
