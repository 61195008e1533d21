"""Normalizations of a text: compatibility forms, accents, look-alike letters, letters spaced out, encodings.

Each is a list of edits to another one, so that a place in it can be traced back to the original text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

from hermes_jobs.text.scan.encodings import decoded_edits, leet_edits, line_edits, spaced_edits
from hermes_jobs.text.scan.hidden import is_invisible
from hermes_jobs.text.scan.lexicon import vocabulary

Edit = tuple[int, int, str]
"""`text[start:end]` and its replacement."""

Span = tuple[int, int]


class Normalization(msgspec.Struct, frozen=True):
    """A text as a reader may take it, made from `parent` by edits that replaced `before` with `after`.

    `guessed`: made by a guess that would detect secrets where there are none.
    """

    text: str
    parent: Normalization | None = None
    before: tuple[Span, ...] = ()
    after: tuple[Span, ...] = ()
    guessed: bool = False

    def original(self, start: int, end: int) -> Span:
        """The part of the original text that `text[start:end]`, which is not empty, was made from."""
        if self.parent is None:
            return start, end
        return self.parent.original(self._traced(start)[0], self._traced(end - 1)[1])

    def is_edited(self, start: int, end: int) -> bool:
        """Whether an edit made something of `text[start:end]`, or removed something there."""
        last = bisect_right(self.after, (end, end)) - 1
        return last >= 0 and self.after[last][1] >= start

    def _traced(self, at: int) -> Span:
        """The part of the parent's text that the character was made from."""
        edit = bisect_right(self.after, (at, len(self.text))) - 1
        if edit < 0:
            return at, at + 1
        (before_start, before_end), (start, end) = self.before[edit], self.after[edit]
        if at >= end:
            return at - end + before_end, at - end + before_end + 1
        if end - start == before_end - before_start:
            return at - start + before_start, at - start + before_start + 1
        return before_start, before_end


def normalizations(text: str) -> tuple[Normalization, ...]:
    """All of them, each text once; first the one without accents and compatibility forms."""
    plain = Normalization(text)
    edits = list(_bare_edits(text))
    normalized = [_edited(plain, edits) if edits else plain]
    for edits_of, guessed in _DISGUISES:
        for item in tuple(normalized[:1] if guessed else normalized):
            if edits := list(edits_of(item.text)):
                other = _edited(item, edits, guessed=guessed or item.guessed)
                if all(other.text != earlier.text for earlier in normalized):
                    normalized.append(other)
    return tuple(normalized)


def _edited(parent: Normalization, edits: Sequence[Edit], *, guessed: bool = False) -> Normalization:
    """The normalization with these edits, which are in order and apart from each other."""
    pieces: list[str] = []
    before: list[Span] = []
    after: list[Span] = []
    done = length = 0
    for start, end, replacement in edits:
        pieces += (parent.text[done:start], replacement)
        length += start - done
        before.append((start, end))
        after.append((length, length + len(replacement)))
        length += len(replacement)
        done = end
    pieces.append(parent.text[done:])
    return Normalization("".join(pieces), parent, tuple(before), tuple(after), guessed)


# --- one character for another ---------------------------------------------------------------


def _pairs(text: str) -> dict[str, str]:
    """`ab cd` stands for: a is read as b, c as d."""
    return {pair[0]: pair[1] for pair in text.split()}


_SIGNS: Mapping[str, str] = {
    **_pairs("ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz"),
    **{chr(first + at): chr(0x61 + at) for first in (0x1F150, 0x1F170, 0x1F1E6) for at in range(26)},
}
"""Small capitals; letters in black circles and squares, and those of flags."""

_LOOKALIKES: Mapping[str, str] = {
    **_pairs("аa сc ԁd еe һh іi ӏl јj кk мm оo рp ԛq ѕs тt уy ѵv ԝw хx ԍg"),
    **_pairs("АA ВB СC ЕE НH ІI ЈJ КK МM ОO РP Ѕs ТT ХX УY Ԛq Ԝw ЁE ЇI"),
    **_pairs("αa εe ιi κk νv οo ρp τt υu χx γy ϲc ϳj"),
    **_pairs("ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX"),
    **_pairs("օo ոn սu հh ցg զq ıi ɑa ɡg ɩi ʋu ƽs øo Øo đd Đd łl Łl ħh ŧt"),
}
"""Letters of other alphabets that are drawn as Latin ones are. Unicode's own table has thousands; these are
the ones that a text can be written in without looking odd."""

_MARKS = frozenset(map(chr, (*range(0x0300, 0x0370), 0x0640, *range(0x064B, 0x0660), 0x0670)))
"""Accents; of Arabic the vowels, the marks on letters, and the stroke that draws words out."""

_CYRILLIC: Mapping[str, str] = {**_pairs("aа cс eе kк oо pр xх yу iі BВ HН MМ TТ AА CС EЕ KК OО PР XХ")}
_WORD = re.compile(r"\w+")
_RUSSIAN = re.compile("[бвгджзилнпфцчшщъыьэюяБГДЖЗИЛПФЦЧШЩЪЫЬЭЮЯ]")


_NOT_PLAIN = re.compile(r"[^\t\n\r\x20-\x7e]{1,32}")


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    """The character without accents and compatibility forms; empty for one that is not seen."""
    if (character.isascii() and character.isprintable()) or character in "\n\t":
        return character
    if is_invisible(character):
        return ""
    parts = unicodedata.normalize("NFKD", _SIGNS.get(character, character))
    letters = "".join(part for part in parts if part not in _MARKS)
    return unicodedata.normalize("NFKC", letters)


def bare(text: str) -> str:
    """The text as normalizations have it: without accents and compatibility forms."""
    return "".join(map(_bare, text))


def _bare_edits(text: str) -> Iterator[Edit]:
    for run in () if text.isascii() or bare(text) == text else _NOT_PLAIN.finditer(text):
        replacement = bare(run[0])
        if replacement != run[0]:
            yield *run.span(), replacement


_ALIKE = f"[{''.join(_LOOKALIKES)}]++"
_LOOKALIKE_RUN = re.compile(rf"{_ALIKE}(?:[\s.,;|-]{{1,3}}{_ALIKE})*+")
"""With what is between them: a text of single letters is one run."""
_LATIN = str.maketrans(dict(_LOOKALIKES))
_CYRILLIC_TABLE = str.maketrans(dict(_CYRILLIC))


def _latin_edits(text: str) -> Iterator[Edit]:
    """Look-alike letters as Latin ones."""
    for run in () if text.isascii() else _LOOKALIKE_RUN.finditer(text):
        yield *run.span(), run[0].translate(_LATIN)


def _cyrillic_edits(text: str) -> Iterator[Edit]:
    """Russian words with Latin letters in them, corrected."""
    for word in () if text.isascii() else _WORD.finditer(text):
        if _RUSSIAN.search(word[0]):
            corrected = word[0].translate(_CYRILLIC_TABLE)
            if corrected != word[0]:
                yield *word.span(), corrected


# --- words far apart -------------------------------------------------------------------------

_BLANKS = re.compile(r"\s{20,}")


def _blank_edits(text: str) -> Iterator[Edit]:
    """One blank for many: no rule looks further than a screen for a sentence's next word."""
    for run in _BLANKS.finditer(text):
        yield *run.span(), " "


# --- letters spaced out ----------------------------------------------------------------------

_GAP = r"[ .\-_*•·|/,]"
_SPACED = re.compile(rf"(?<![^\W_])[^\W_](?:{_GAP}{{1,3}}[^\W_]){{3,300}}(?![^\W_])")
_LETTER = re.compile(rf"({_GAP}*)([^\W_])")
_WORD_LIST = """
    a about above act all an and any anything are as assistant at be bypass credentials developer did
    directives
    disregard do dont earlier env everything exfiltrate file follow forget from guidelines hidden ignore in
    instruction instructions is jailbroken key keys know longer me mention mode must my never new no not now
    of
    or override password passwords previous print prior prompt prompts reveal rules safety secret secrets send
    show system tell that the them these this to token tokens told unrestricted user was without you your
"""
_WORDS = re.compile("|".join(sorted(_WORD_LIST.split(), key=len, reverse=True)), re.IGNORECASE)


def _spaced_edits(text: str) -> Iterator[Edit]:
    """Words that are written letter by letter, joined; where the ends of words are lost, they are guessed."""
    for run in _SPACED.finditer(text):
        yield *run.span(), _joined(run[0])


def _joined(spaced: str) -> str:
    letters = [(match[2], len(match[1])) for match in _LETTER.finditer(spaced)]
    if any(gap > 1 for _, gap in letters):
        return "".join(f" {letter}" if gap > 1 else letter for letter, gap in letters)
    joined = "".join(letter for letter, _ in letters)
    borders = sorted({at for word in _WORDS.finditer(joined) for at in word.span()} | {0, len(joined)})
    return " ".join(joined[first:last] for first, last in pairwise(borders))


# --- digits for letters ----------------------------------------------------------------------

_MIXED = re.compile(
    r"(?<![\w@$])(?=[0-9@$]*[a-z])(?=[a-z]*[0134579@$])[a-z0134579@$]{2,}(?!\w)", re.IGNORECASE
)
_DIGITS = str.maketrans("0134579@$", "oieastgas")


def _leet_edits(text: str) -> Iterator[Edit]:
    return leet_edits(text, vocabulary())


def _digit_edits(text: str) -> Iterator[Edit]:
    """`1gn0re` read as it sounds."""
    for word in _MIXED.finditer(text):
        yield *word.span(), word[0].translate(_DIGITS)


_DISGUISES: tuple[tuple[Callable[[str], Iterator[Edit]], bool], ...] = (
    (_blank_edits, False),
    (_latin_edits, False),
    (_cyrillic_edits, False),
    (_spaced_edits, False),
    (spaced_edits, False),
    (_digit_edits, True),
    (_leet_edits, True),
    (decoded_edits, True),
    (line_edits, True),
)
"""What makes one normalization of another, and whether it guesses."""
