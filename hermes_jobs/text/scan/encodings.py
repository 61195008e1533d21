"""Encoded text as a model reads it: base64, base32, hexadecimal, percent, escapes, entities, numbers, rot13.

Each function gives edits, in order and apart from each other. What does not decode to readable text stays.
"""

from __future__ import annotations

import codecs
import html
import re
from base64 import b32decode, urlsafe_b64decode
from collections.abc import Iterator
from functools import cache
from itertools import product

Edit = tuple[int, int, str]

DEEPEST = 3  # encodings within each other

_ENCODED = re.compile(
    r"""
    (?P<entity> (?:&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});){1,400} )
    | (?P<escape> (?:\\u\{?[0-9a-fA-F]{4,6}\}?){2,400} )
    | (?P<octal> (?:\\[0-7]{3}){4,400} )
    | (?P<percent> (?:[\w.~/:,'-]{0,40}%[0-9a-fA-F]{2}){3,400} [\w.~/:,'-]{0,40} )
    | (?P<binary> (?<!\w)(?:[01]{8}[\s,]{0,2}){6,400}(?!\w) )
    | (?P<decimal> (?<!\w)(?:\d{2,3}[\s,;]{1,2}){9,400}\d{2,3}(?!\w) )
    | (?P<hex> (?<!\w)(?:(?:\\x|0x|%)?[0-9a-fA-F]{2}[\s,;:-]{0,2}){10,4000}(?!\w) )
    | (?P<base32> (?<!\w)[A-Z2-7]{24,4000}={0,6}(?!\w) )
    | (?P<base64> (?<![\w+/-])[A-Za-z0-9+/_-]{16,8000}={0,2}
        (?:(?:\\n|\r?\n)[A-Za-z0-9+/]{4,400}={0,2}){0,99}(?![\w+/-]) )
    """,
    re.VERBOSE,
)
_HEX_BYTE = re.compile(r"(?:\\x|0x|%)?([0-9a-fA-F]{2})")
_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})\}?")


def decoded_edits(text: str) -> Iterator[Edit]:
    """What is encoded, decoded."""
    for run in _ENCODED.finditer(text):
        kind = run.lastgroup or ""
        readable = _decoded(kind, run[0])
        if not readable and kind == "base64" and (first := re.match(r"\S+?(?=\\n|\n|$)", run[0])):
            readable = _decoded(kind, first[0])
        if readable and readable != run[0]:
            yield *run.span(), readable


def _decoded(kind: str, run: str, depth: int = 1) -> str:
    """The readable text that the run encodes, also in several ways at once; empty if there is none."""
    try:
        text = _DECODERS[kind](run)
    except (ValueError, OverflowError):
        return ""
    if kind in {"entity", "escape", "percent"}:
        return text
    if depth < DEEPEST and (inner := _ENCODED.fullmatch(text.strip())):
        text = _decoded(inner.lastgroup or "", inner[0], depth + 1) or text
    plain = text.replace("\n", " ").replace("\t", " ")
    return text if plain.isprintable() and " " in plain.strip() else ""


def _from_escapes(run: str) -> str:
    return "".join(chr(int(digits, 16)) for digits in _ESCAPE.findall(run))


def _from_percent(run: str) -> str:
    data = re.sub(rb"%([0-9a-fA-F]{2})", lambda digits: bytes.fromhex(digits[1].decode()), run.encode())
    return data.decode(errors="replace")


def _from_base64(run: str) -> str:
    data = re.sub(r"\\n|\s|=", "", run).replace("+", "-").replace("/", "_")
    return urlsafe_b64decode(data + "=" * (-len(data) % 4)).decode()


def _from_base32(run: str) -> str:
    data = run.rstrip("=")
    return b32decode(data + "=" * (-len(data) % 8)).decode()


_DECODERS = {
    "entity": html.unescape,
    "escape": _from_escapes,
    "octal": lambda run: bytes(int(digits, 8) % 256 for digits in run.split("\\")[1:]).decode(),
    "percent": _from_percent,
    "binary": lambda run: bytes(int(digits, 2) for digits in re.findall("[01]{8}", run)).decode(),
    "decimal": lambda run: bytes(map(int, re.findall(r"\d+", run))).decode(),
    "hex": lambda run: bytes.fromhex("".join(_HEX_BYTE.findall(run))).decode(),
    "base32": _from_base32,
    "base64": _from_base64,
}

# --- whole lines -----------------------------------------------------------------------------

_MARKERS = """
    ignore disregard forget instructions instruction rules prompt password passwords secret secrets
    user send print reveal read keys token tokens without always every tell system administrator
    everything previous memory forward message pretend ignoriere alle regeln anweisungen nutzer
    vergiss sende the and all you your to is"""
_FEWEST_MARKERS = 3
_LINE = re.compile(r"[^\n]{12,4000}")
_LATIN_WORD = re.compile(r"[a-z]+")


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _reversed(text: str) -> str:
    return text[::-1]


_CIPHERS = tuple((frozenset(map(read, _MARKERS.split())), read) for read in (_rot13, _reversed))


def line_edits(text: str) -> Iterator[Edit]:
    """Lines in rot13, and lines that are written backwards."""
    low = text.lower()
    present = set(_LATIN_WORD.findall(low))
    for markers, read in _CIPHERS:
        if len(markers & present) >= _FEWEST_MARKERS:
            for line in _LINE.finditer(text):
                words = _LATIN_WORD.findall(line[0].lower())
                if len(markers.intersection(words)) >= _FEWEST_MARKERS:
                    yield *line.span(), read(line[0])
            return


_LEET_WORD = re.compile(r"[a-zA-Z0-9@$!|+]{2,24}")
_LEET = {
    "0": "o",
    "1": "il",
    "3": "e",
    "4": "a",
    "5": "s",
    "7": "t",
    "8": "b",
    "9": "g",
    "@": "a",
    "$": "s",
    "!": "i",
    "|": "l",
    "+": "t",
}
_SIGNS = frozenset(_LEET)
_FEWEST_DISGUISED = 3  # words of a line


def leet_edits(text: str, vocabulary: frozenset[str]) -> Iterator[Edit]:
    """Lines with several words in which digits and signs stand for letters; `1` makes a known word."""
    read = cache(lambda word: _read_leet(word, vocabulary))
    for line in _LINE.finditer(text):
        words = list(_LEET_WORD.finditer(line[0]))
        if sum(1 for word in words if _is_disguised(word[0])) >= _FEWEST_DISGUISED:
            for word in words:
                low = word[0].lower()
                if read(low) != low:
                    yield line.start() + word.start(), line.start() + word.end(), read(low)


def _is_disguised(word: str) -> bool:
    """Whether signs stand among the letters; digits at the end, as in `base64`, are a number."""
    body = word.rstrip("!0123456789")
    return not _SIGNS.isdisjoint(body) and any(map(str.isalpha, body))


def _read_leet(word: str, vocabulary: frozenset[str]) -> str:
    choices = [_LEET.get(char, char) for char in word]
    readings = ("".join(reading) for _, reading in zip(range(16), product(*choices), strict=False))
    first = "".join(choice[0] for choice in choices)
    return next((reading for reading in readings if reading in vocabulary), first)


_SPACED = re.compile(r"(?<!\S)\S(?: {1,3}\S){11,400}(?!\S)")


def spaced_edits(text: str) -> Iterator[Edit]:
    """Text, with its signs, that is written character by character."""
    for run in _SPACED.finditer(text):
        yield *run.span(), " ".join(word.replace(" ", "") for word in re.split(" {2,}", run[0]))
