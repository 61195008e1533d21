"""Decodes one picture or document, in a subprocess of `subprocess_call`.

A hostile file can exhaust or crash a decoder there, without harm. Importing Pillow and pypdf takes a fifth of
a second: only this process does.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from hermes_jobs.features.attachments.decoding import SENT, TEXT, Decoded, DecodingRequest
from hermes_jobs.features.attachments.office import MAX_XML, TooLarge, office_texts
from hermes_jobs.kernel.turns.attachments import HEAD, PDF, is_document, is_zip
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.figures import pluralize
from hermes_jobs.tools.subprocess_call import REQUEST, respond

MAX_MEMORY = 2 * 1024**3
MAX_FILE = 64 * 1024**2
FORMATS = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
    "TIFF": "image/tiff",
    "AVIF": "image/avif",
}
"""The formats that are decoded, by Pillow's name."""
MAX_SENT = 3_500_000  # bytes of a picture: with base64 below Anthropic's 5 MB
QUALITY = 85
MAX_CHARACTERS = 2_000_000
TEXT_SHARE = 0.7  # of the seconds, after which no further page is read
CONVERT = "Convert it to PNG, JPEG or PDF, or name its path: the agent has tools to look at files."
UNPACK = "Unpack it, or name its path: the agent has tools to look at files."
BROKEN = "Save it again with another program, or take another copy of it."


class Unusable(Exception):
    """A file that cannot be sent: why, after its name, and what to do."""

    def __init__(self, wrong: str, hint: str) -> None:
        super().__init__(wrong)
        self.hint = hint


class DecodingOutOfTime(BaseException):
    """The time limit has passed."""


def main() -> None:
    """Handle the request in the environment."""
    asked = msgspec.json.decode(os.environ[REQUEST], type=described(DecodingRequest))
    logging.disable()
    with suppress(ValueError, OSError):  # not every system has it
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.alarm(asked.seconds)
    respond(msgspec.to_builtins(decoded(asked)))


def _on_alarm(_number: int, _frame: object) -> None:
    raise DecodingOutOfTime


def decoded(asked: DecodingRequest) -> Decoded:
    """What the file is; what is sent of it is written beside it. Whatever goes wrong is in the answer."""
    path = Path(asked.folder, "file")
    with path.open("rb") as file:
        head = file.read(HEAD)
    decode = document if is_document(head) else office if is_zip(head) else picture
    try:
        return decode(path, asked)
    except Unusable as unusable:
        return Decoded(wrong=str(unusable), hint=unusable.hint)
    except DecodingOutOfTime:
        return Decoded(wrong=f"took longer than {asked.seconds} s to decode.", hint=BROKEN)
    except (MemoryError, RecursionError):
        return Decoded(wrong="is too complex: it ran out of memory.", hint=BROKEN)
    except Exception as error:  # noqa: BLE001 - decoders raise anything for a hostile file
        return Decoded(wrong=f"is damaged ({type(error).__name__}).", hint=BROKEN)


def picture(path: Path, asked: DecodingRequest) -> Decoded:
    """Write the picture upright, at most `side` pixels long, without anything but its pixels."""
    with path.open("rb") as file:
        image, media_type, is_lossless = _upright(file, asked)
    from PIL import Image

    pixels = Image.new(image.mode, image.size)
    pixels.paste(image)
    _write_picture(pixels, path.with_name(SENT), lossless=is_lossless or image.mode == "RGBA")
    return Decoded(media_type=media_type, width=pixels.width, height=pixels.height)


def _upright(file: BinaryIO, asked: DecodingRequest) -> tuple[Any, str, bool]:
    """The picture, scaled down and turned upright; its type; whether its format is lossless."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # they are counted below, before anything is decoded
    Image.init()
    known = [name for name in FORMATS if name in Image.OPEN and name != "MPO"]  # JPEG's opens that
    try:
        image: Any = Image.open(file, formats=known)
    except UnidentifiedImageError as error:
        raise Unusable("is neither a picture, nor a PDF document, nor text.", CONVERT) from error
    form, (width, height) = image.format, image.size
    if width * height > asked.pixels:
        raise Unusable(
            f"has {width:,} × {height:,} pixels; {asked.pixels:,} are decoded.",
            "Scale it down.",
        )
    image.draft("RGB", (asked.side, asked.side))
    image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    exif = image.getexif()
    image.thumbnail((asked.side, asked.side), Image.Resampling.LANCZOS)
    image.getexif().update(exif)
    return ImageOps.exif_transpose(image), FORMATS[form], form in {"PNG", "GIF", "BMP"}


def _write_picture(pixels: Any, target: Path, *, lossless: bool) -> None:
    """A PNG, or a JPEG where that would be too large; transparent parts are white then."""
    if lossless:
        pixels.save(target, "PNG", optimize=False)
        if target.stat().st_size <= MAX_SENT:
            return
    if pixels.mode == "RGBA":
        from PIL import Image

        background = Image.new("RGB", pixels.size, "white")
        background.paste(pixels, mask=pixels.getchannel("A"))
        pixels = background
    pixels.save(target, "JPEG", quality=QUALITY)


def document(path: Path, asked: DecodingRequest) -> Decoded:
    """Write the text of the pages, with a form feed between them. Raises `Unusable`."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    started = time.monotonic()
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unusable("is encrypted with a password.", "Save a copy without one.")
        count = len(reader.pages)
    except DependencyError as error:
        raise Unusable("is encrypted.", "Save a copy that is not.") from error
    except PdfReadError as error:
        raise Unusable("is a damaged PDF document.", BROKEN) from error
    if asked.first:
        return _some_pages(path, asked, reader, count)
    if not 0 < count <= asked.pages:
        raise Unusable(
            f"has {pluralize(count, 'page')}; a document may have 1 to {asked.pages}.",
            "Send a part of it.",
        )
    return Decoded(media_type=PDF, pages=count, characters=_write_texts(path, asked, reader.pages, started))


class OfficePart:
    """A sheet, a slide or a whole text, read like a page."""

    def __init__(self, text: str) -> None:
        self._text = text

    def extract_text(self) -> str:
        """Its text."""
        return self._text


def office(path: Path, asked: DecodingRequest) -> Decoded:
    """Write the text of the sheets or slides, with a form feed between them. Raises `Unusable`."""
    started = time.monotonic()
    try:
        found = office_texts(path)
    except TooLarge as error:
        raise Unusable(f"unpacks to more than {MAX_XML // 1_000_000} MB.", "Send a part of it.") from error
    if found is None:
        raise Unusable("is an archive, and no document of Word, Excel or PowerPoint.", UNPACK)
    media_type, parts = found[0], [OfficePart(text) for text in found[1]]
    if asked.first:
        if asked.as_images:
            raise Unusable("cannot be shown as pictures.", "Read its text, or convert it to PDF.")
        if asked.first > len(parts):
            raise Unusable(f"has {pluralize(len(parts), 'part')}; there is no {asked.first:,}th.", "")
        parts = parts[asked.first - 1 : asked.last]
    characters = _write_texts(path, asked, parts, started)
    return Decoded(media_type=media_type, pages=len(found[1]), characters=characters)


def _some_pages(path: Path, asked: DecodingRequest, reader: Any, count: int) -> Decoded:
    """Write the text of the pages from `first` to `last`, or their pictures."""
    if asked.first > count:
        raise Unusable(f"has {pluralize(count, 'page')}; there is no page {asked.first:,}.", "")
    pages = range(asked.first - 1, min(asked.last, count))
    if not asked.as_images:
        some = [reader.pages[at] for at in pages]
        return Decoded(
            media_type=PDF, pages=count, characters=_write_texts(path, asked, some, time.monotonic())
        )
    import pypdfium2

    rendered = pypdfium2.PdfDocument(path)
    for at in pages:
        page = rendered[at]
        drawn = page.render(scale=asked.side / max(*page.get_size(), 1)).to_pil()
        _write_picture(drawn.convert("RGB"), path.with_name(f"page-{at + 1}"), lossless=True)
        page.close()
    return Decoded(media_type=PDF, pages=count)


def _write_texts(path: Path, asked: DecodingRequest, pages: Iterable[Any], started: float) -> int:
    """Write the texts of the pages as far as time and characters last; their number of characters."""
    texts: list[str] = []
    remaining = MAX_CHARACTERS
    for page in pages:
        is_late = time.monotonic() - started > asked.seconds * TEXT_SHARE
        text = "" if is_late or remaining <= 0 else _text_of(page)[:remaining]
        remaining -= len(text)
        texts.append(text)
    whole = "\f".join(texts)
    path.with_name(TEXT).write_text(whole, encoding="utf-8", errors="replace", newline="")
    return len(whole)


def _text_of(page: Any) -> str:
    """The text of a page; none where its content cannot be read."""
    try:
        return str(page.extract_text()).replace("\f", "\n")
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - the other pages may be readable
        return ""


if __name__ == "__main__":
    main()
