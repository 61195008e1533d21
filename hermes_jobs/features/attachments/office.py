"""The texts of Word, Excel, PowerPoint and OpenDocument sheets: imported only by the process that decodes.

Tables are read by calamine. Text and slides are read here from their XML (ECMA-376, WordprocessingML and
DrawingML): the libraries for them write documents, too, and need lxml, for the elements of a text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

OFFICE = "application/vnd.openxmlformats-officedocument."
WORD = f"{OFFICE}wordprocessingml.document"
SLIDES = f"{OFFICE}presentationml.presentation"
SHEETS = f"{OFFICE}spreadsheetml.sheet"
OPEN_SHEETS = "application/vnd.oasis.opendocument.spreadsheet"

MAX_XML = 200_000_000
"""Bytes of all parts that are read, once they are unpacked."""
MAX_ROWS = 20_000  # of a sheet
NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_AFTER = {"tab": "\t", "br": "\n", "cr": "\n", "p": "\n", "tr": "\n"}


class TooLarge(Exception):
    """It unpacks to more than `MAX_XML`."""


def office_texts(path: Path) -> tuple[str, Sequence[str]] | None:
    """The media type and the text of each sheet or slide, or of the whole; None for another file.

    Raises `TooLarge`, and anything for a damaged file.
    """
    with ZipFile(path) as archive:
        names = set(archive.namelist())
        read = (info for info in archive.infolist() if info.filename.endswith((".xml", ".rels", "mimetype")))
        if sum(info.file_size for info in read) > MAX_XML:
            raise TooLarge
        if "word/document.xml" in names:
            parts = ("word/document.xml", *(name for name in NOTES if name in names))
            return WORD, ["\n".join(_text(archive, name) for name in parts)]
        if "ppt/presentation.xml" in names:
            return SLIDES, [_text(archive, name) for name in _slides(archive) if name in names]
        is_open = "mimetype" in names and archive.read("mimetype").decode() == OPEN_SHEETS
    if is_open or "xl/workbook.xml" in names:
        return OPEN_SHEETS if is_open else SHEETS, list(_sheets(path))
    return None


def _elements(archive: ZipFile, name: str) -> Iterator[tuple[str, str, Element]]:
    """Begin and end of each element, with its name without its namespace."""
    from xml.etree.ElementTree import iterparse

    with archive.open(name) as part:
        for event, element in iterparse(part, ("start", "end")):
            yield event, element.tag.rpartition("}")[2], element


def _text(archive: ZipFile, name: str) -> str:
    """The text of a part: a line for each paragraph, cells between tabs; what older programs show is left
    out."""
    pieces: list[str] = []
    hidden = 0
    for event, tag, element in _elements(archive, name):
        if tag == "Fallback":
            hidden += 1 if event == "start" else -1
        if event == "start" or hidden:
            continue
        if tag == "t":
            pieces.append(element.text or "")
        elif tag == "tc" and pieces and pieces[-1] == "\n":
            pieces[-1] = "\t"
        elif tag in _AFTER:
            pieces.append(_AFTER[tag])
        if tag in {"p", "tr"}:
            element.clear()
    return re.sub(r"\n{3,}", "\n\n", "".join(pieces)).strip()


def _slides(archive: ZipFile) -> Iterator[str]:
    """The parts of the slides, in their order."""
    targets = {
        element.get("Id"): element.get("Target", "")
        for event, tag, element in _elements(archive, "ppt/_rels/presentation.xml.rels")
        if event == "end" and tag == "Relationship"
    }
    for event, tag, element in _elements(archive, "ppt/presentation.xml"):
        if event == "end" and tag == "sldId":
            slide = next((value for key, value in element.items() if key.endswith("}id")), "")
            yield posixpath.normpath(posixpath.join("ppt", targets[slide])).lstrip("/")


def _sheets(path: Path) -> Iterator[str]:
    """Each sheet: its name, then a line for each row, with tabs between cells."""
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(str(path)) as book:
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True, nrows=MAX_ROWS)
            lines = ("\t".join(map(_cell, row)).rstrip() for row in rows)
            yield "\n".join((f"Sheet {name}", *lines))


def _cell(value: object) -> str:
    """A cell's value; a whole number without its fraction."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return re.sub(r"\s+", " ", str(value))
