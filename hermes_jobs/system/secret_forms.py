"""The forms in which a secret's value occurs in text: as it is, and as programs encode it.

They are looked for without regard to case, and long ones across the ends of lines.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b32encode, b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote

_SHORTEST_FORM = 6  # characters; what base64 leaves of a short value may occur in ordinary text
_WRAPPED = 16  # characters; a shorter form may occur across the end of a line by chance
_BREAK = r"(?:\s|\\[nr]){0,40}"  # also the indentation of the next line
_SOFT_BREAK = r"=\r?\n"  # of quoted-printable text, between any two bytes
_BASE64_REST = "[A-Za-z0-9+/_-]{0,3}"  # next to a value in base64: characters that hold a part of it


class SecretForms:
    """The forms of some values, to be replaced in texts."""

    def __init__(self, values: Iterable[str]) -> None:
        self._patterns: dict[str, str] = {}  # in lower case
        self._characters: list[tuple[str, str]] = []
        for value in values:
            encoded = value.encode(errors="surrogateescape")
            self._add((value, value[::-1], *_escaped(value), *_in_digits(encoded)))
            for each in (encoded, value.encode("utf-16-le", errors="surrogatepass")):
                self._add(_in_base64(each), around=_BASE64_REST)
            twice = (form for once in _in_base64(encoded) for form in _in_base64(once.encode()))
            self._add(twice, around=_BASE64_REST)
            for other in (encoded[::-1], encoded.hex().encode(), encoded.hex().upper().encode()):
                self._add(_in_base64(other), around=_BASE64_REST)
            self._add((form[::-1] for form in _in_base64(encoded)), around=_BASE64_REST)
            self._characters.append((value.lower(), _by_character(value)))

    def redact(self, text: str, mark: str) -> str:
        """The text with `mark` in the place of every form. Forms that do not occur cost a search each."""
        low = text.lower()
        joined = "".join(low.split()).replace("\\n", "").replace("\\r", "")
        present = [
            form for form in self._patterns if form in low or (len(form) >= _WRAPPED and form in joined)
        ]
        if present:
            # Longest first: a secret that contains another is replaced whole.
            patterns = (self._patterns[form] for form in sorted(present, key=lambda form: (-len(form), form)))
            text = re.sub("|".join(patterns), mark, text, flags=re.IGNORECASE)
        return self._without_escaped(text, mark)

    def _without_escaped(self, text: str, mark: str) -> str:
        """The text without values of which some characters are written as `%2d` or `=2d`."""
        for escape in "%=":
            if not re.search(f"{escape}[0-9A-Fa-f]{{2}}", text):
                continue
            plain = unquote(re.sub(_SOFT_BREAK, "", text).replace(escape, "%")).lower()
            for value, pattern in self._characters:
                if value in plain:
                    text = re.sub(pattern, mark, text, flags=re.IGNORECASE)
        return text

    def _add(self, forms: Iterable[str], around: str = "") -> None:
        for form in forms:
            if len(form) >= _SHORTEST_FORM:
                between = _BREAK if len(form) >= _WRAPPED else ""
                pattern = between.join(map(re.escape, form))
                after = f"{around}={{0,2}}" if around else ""
                self._patterns.setdefault(form.lower(), f"{around}{pattern}{after}")


def _by_character(value: str) -> str:
    """A pattern of the value whose characters may each be written in hexadecimal behind `%` or `=`."""
    encoded = (character.encode(errors="surrogateescape") for character in value)
    soft_break = f"(?:{_SOFT_BREAK})?"
    escapes = (soft_break.join(f"[%=]{byte:02x}" for byte in each) for each in encoded)
    return soft_break.join(
        f"(?:{re.escape(character)}|{escape})" for character, escape in zip(value, escapes, strict=True)
    )


def _escaped(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        written = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield written
        yield written.replace("/", r"\/")
        yield json.dumps(written, ensure_ascii=ascii_only)[1:-1]  # JSON within JSON
        yield written.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")  # Go's
    yield re.sub(r"([^\w@%+=:,./-])", r"\\\1", value)  # as `printf %q` and `declare -p` of bash
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield "".join(f"&#{ord(character)};" for character in value)
    yield "".join(f"&#x{ord(character):x};" for character in value)
    yield "".join(f"\\u{ord(character):04x}" for character in value)
    encoded = value.encode(errors="replace")
    yield quote(encoded, safe="")
    yield quote(encoded)
    yield quote_plus(encoded)
    yield quote(quote(encoded, safe=""), safe="")


def _in_digits(value: bytes) -> Iterator[str]:
    digits = [f"{byte:02x}" for byte in value]
    for before, between in (("", ""), ("%", "%"), (r"\x", r"\x"), ("", " "), ("", ":"), ("0x", ", 0x")):
        yield before + between.join(digits)
    for between in (" ", ",", ", "):
        yield between.join(map(str, value))
    for form in ("03o", "o", "04o"):
        octal = [format(byte, form) for byte in value]
        yield " ".join(octal)
        for before in ("\\", r"\0"):  # `\055` and `\55`; `\0055` and `\055` for `echo -e`
            yield before + before.join(octal)
    yield b32encode(value).decode().rstrip("=")


def _in_base64(value: bytes) -> Iterator[str]:
    """What of an encoded text is the value's alone, wherever in a group of three bytes it begins."""
    for before, shared in ((0, 0), (1, 2), (2, 3)):
        encoded = b64encode(bytes(before) + value).decode().rstrip("=")
        own = encoded[shared : -1 if (before + len(value)) % 3 else None]
        yield own
        yield own.translate(str.maketrans("+/", "-_"))
