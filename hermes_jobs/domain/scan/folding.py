"""Disguises taken off a text: compatibility forms, accents, look-alike letters, letters spaced out.

Each way to take it is a `Reading`, which knows where in the text each of its characters came from.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.scan.hidden import is_unseen


class Reading(msgspec.Struct, frozen=True):
    """A text as a reader may take it; `origins[i]` is where `text[i]` stands in the original.

    `changed`: where it differs from the reading that it was made from; null: everywhere. `guessed`: taken so
    by a guess that would find secrets where there are none.
    """

    text: str
    origins: Sequence[int]
    changed: tuple[int, ...] | None = None
    guessed: bool = False

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that `text[start:end]`, which is not empty, was read from."""
        return self.origins[start], self.origins[end - 1] + 1


def readings(text: str) -> tuple[Reading, ...]:
    """All ways to read the text, each once; first without accents and compatibility forms."""
    plain = Reading(text, range(len(text)))
    found = [plain if text.isascii() else _by_character(plain, _bare)]
    for disguise in (_drawn_together, _latin, _cyrillic, _joined, _digits_read, _decoded):
        for reading in tuple(found):
            other = disguise(reading)
            if all(other.text != each.text for each in found):
                found.append(other)
    return tuple(found)


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


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    """The character without accents and compatibility forms; empty for one that is not seen."""
    if (character.isascii() and character.isprintable()) or character in "\n\t":
        return character
    if is_unseen(character):
        return ""
    parts = unicodedata.normalize("NFKD", _SIGNS.get(character, character))
    kept = "".join(each for each in parts if each not in _MARKS)
    return unicodedata.normalize("NFKC", kept)


def bare(text: str) -> str:
    """The text as readings have it: without accents and compatibility forms."""
    return "".join(map(_bare, text))


def _latin(reading: Reading) -> Reading:
    if reading.text.isascii():
        return reading
    return _replaced(reading, "".join(_LOOKALIKES.get(each, each) for each in reading.text))


def _cyrillic(reading: Reading) -> Reading:
    """Russian words with Latin letters in them, put right."""
    if reading.text.isascii():
        return reading

    def put_right(word: re.Match[str]) -> str:
        if not _RUSSIAN.search(word[0]):
            return word[0]
        return "".join(_CYRILLIC.get(each, each) for each in word[0])

    return _replaced(reading, _WORD.sub(put_right, reading.text))


def _replaced(reading: Reading, text: str) -> Reading:
    """The reading with a text of the same length in its place."""
    changed = tuple(at for at, (old, new) in enumerate(zip(reading.text, text, strict=True)) if old != new)
    return replace(reading, text=text, changed=changed)


def _by_character(reading: Reading, read: Callable[[str], str]) -> Reading:
    return _put_together(
        (read(character), origin) for character, origin in zip(reading.text, reading.origins, strict=True)
    )


def _put_together(pieces: Iterable[tuple[str, int]]) -> Reading:
    """The reading that consists of these texts, each read from one place."""
    text: list[str] = []
    origins: list[int] = []
    for piece, origin in pieces:
        text.append(piece)
        origins.extend([origin] * len(piece))
    return Reading("".join(text), origins)


# --- words far apart -------------------------------------------------------------------------

_BLANKS = re.compile(r"\s{20,}")


def _drawn_together(reading: Reading) -> Reading:
    """With one blank for many: no rule looks further than a screen for a sentence's next word."""
    pieces: list[tuple[str, int]] = []
    changed: list[int] = []
    done = 0
    for run in _BLANKS.finditer(reading.text):
        pieces.extend(_pieces(reading, done, run.start()))
        changed.append(len(pieces))
        pieces.append((" ", reading.origins[run.start()]))
        done = run.end()
    if not done:
        return reading
    pieces.extend(_pieces(reading, done, len(reading.text)))
    return replace(_put_together(pieces), changed=tuple(changed))


# --- letters spaced out ----------------------------------------------------------------------

_GAP = r"[ .\-_*•·|/,]"
_SPACED = re.compile(rf"(?<![^\W_])[^\W_](?:{_GAP}{{1,3}}[^\W_]){{3,}}(?![^\W_])")
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


def _joined(reading: Reading) -> Reading:
    """With words that are written letter by letter put together; where the words' ends are lost, guessed."""
    pieces: list[tuple[str, int]] = []
    changed: list[int] = []
    done = length = 0
    for run in _SPACED.finditer(reading.text):
        word = _words_of(reading, *run.span())
        pieces.extend((*_pieces(reading, done, run.start()), *word))
        start = length + run.start() - done
        length = start + sum(len(text) for text, _ in word)
        changed.extend(range(start, length))
        done = run.end()
    if not done:
        return reading
    pieces.extend(_pieces(reading, done, len(reading.text)))
    return replace(_put_together(pieces), changed=tuple(changed))


def _words_of(reading: Reading, start: int, end: int) -> list[tuple[str, int]]:
    letters: list[tuple[str, int]] = []
    gap = 0
    for text, origin in _pieces(reading, start, end):
        if text.isalnum():
            letters.extend([(" ", origin)] if gap > 1 else [])
            letters.append((text, origin))
            gap = 0
        else:
            gap += 1
    if any(text == " " for text, _ in letters):
        return letters
    joined = "".join(text for text, _ in letters)
    borders = {at for word in _WORDS.finditer(joined) for at in word.span()} - {0, len(joined)}
    return [(f" {text}" if at in borders else text, origin) for at, (text, origin) in enumerate(letters)]


def _pieces(reading: Reading, start: int, end: int) -> Iterable[tuple[str, int]]:
    return zip(reading.text[start:end], reading.origins[start:end], strict=True)


# --- digits for letters ----------------------------------------------------------------------

_MIXED = re.compile(
    r"(?<![\w@$])(?=[0-9@$]*[a-z])(?=[a-z]*[0134579@$])[a-z0134579@$]{2,}(?!\w)", re.IGNORECASE
)
_DIGITS = str.maketrans("0134579@$", "oieastgas")


def _digits_read(reading: Reading) -> Reading:
    """With `1gn0re` read as it sounds."""
    text = _MIXED.sub(lambda word: word[0].translate(_DIGITS), reading.text)
    return replace(_replaced(reading, text), guessed=True)


# --- what is encoded -------------------------------------------------------------------------

_BASE64 = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{16,}(?![\w+/])")


def _decoded(reading: Reading) -> Reading:
    """With the texts that stand there in base64."""
    pieces: list[tuple[str, int]] = []
    changed: list[int] = []
    done = 0
    for run in _BASE64.finditer(reading.text):
        said = _said_in(run[0])
        if said:
            pieces.extend(_pieces(reading, done, run.start()))
            changed.extend(range(len(pieces), len(pieces) + len(said)))
            origins = reading.origins[run.start() : run.end()]
            pieces.extend((each, origins[at * len(origins) // len(said)]) for at, each in enumerate(said))
            done = run.end()
    if not done:
        return reading
    pieces.extend(_pieces(reading, done, len(reading.text)))
    return replace(_put_together(pieces), changed=tuple(changed), guessed=True)


def _said_in(run: str) -> str:
    """The text that the run encodes; empty where it is none that can be read."""
    try:
        said = b64decode(run + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return ""
    return said if said.isprintable() and " " in said else ""
