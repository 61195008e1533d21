"""Small pictures and documents, made here."""

from __future__ import annotations

import wave
from collections.abc import Sequence
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from PIL import Image


def picture(form: str = "PNG", size: tuple[int, int] = (40, 20), mode: str = "RGB", **options: Any) -> bytes:
    """A picture whose left half is red, as a file of that format."""
    image = Image.new(mode, size, "blue")
    image.paste("red", (0, 0, size[0] // 2, size[1]))
    target = BytesIO()
    image.save(target, form, **options)
    return target.getvalue()


def photo() -> bytes:
    """A photo taken with the camera turned, and what a camera writes beside it."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010F] = "SECRET CAMERA"
    return picture("JPEG", (200, 100), exif=exif)


def document(pages: Sequence[str], *, count: int | None = None, trailer: str = "") -> bytes:
    """A PDF document with a line of text on each page; `count` is what it says of their number."""
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(pages)))
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages) if count is None else count} >>")
    for at, text in enumerate(pages):
        stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET"
        content = f"/Contents {4 + 2 * at} 0 R /Resources << /Font << /F1 {font} >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {content} >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        out
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}"
            f"trailer << /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
        ).encode()
    )


_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def archive(**parts: str) -> bytes:
    """A ZIP archive with these parts, whose names have `__` for a slash and `_dot_` for a dot."""
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as made:
        for name, content in {"[Content_Types].xml": "<Types/>", **parts}.items():
            made.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return target.getvalue()


def word(text: str = "The lamp is in room 7.", *, before: str = "") -> bytes:
    """A document of Word: a paragraph, and a table with two cells; `before` stands above its root."""
    run = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>".format
    table = f"<w:tbl><w:tr><w:tc>{run('a')}</w:tc><w:tc>{run('b')}</w:tc></w:tr></w:tbl>"
    body = f'<w:document xmlns:w="{_W}"><w:body>{run(text)}{table}</w:body></w:document>'
    return archive(word__document_dot_xml=before + body)


def slides(*texts: str) -> bytes:
    """A presentation whose slides are shown in the reverse order of their files."""
    numbers = range(len(texts), 0, -1)
    shown = "".join(f'<sldId r:id="r{number}"/>' for number in numbers)
    rels = "".join(f'<Relationship Id="r{n}" Target="slides/slide{n}.xml"/>' for n in numbers)
    parts = {
        f"ppt__slides__slide{number}_dot_xml": f'<s xmlns:a="{_A}"><a:p><a:t>{escape(text)}</a:t></a:p></s>'
        for number, text in zip(numbers, texts, strict=True)
    }
    return archive(
        ppt__presentation_dot_xml=f'<p xmlns:r="{_R}"><l>{shown}</l></p>',
        ppt___rels__presentation_dot_xml_dot_rels=f'<R xmlns="{_RELS}">{rels}</R>',
        **parts,
    )


def sheet(*rows: Sequence[str]) -> bytes:
    """A workbook with one sheet, "Sales"."""
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'.format
    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    kind = f"{_R}/worksheet"
    book = f'<Relationship Id="r1" Type="{_R}/officeDocument" Target="xl/workbook.xml"/>'
    return archive(
        _rels___dot_rels=f'<Relationships xmlns="{_RELS}">{book}</Relationships>',
        xl__workbook_dot_xml=(
            f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets><sheet name="Sales" sheetId="1" r:id="r1"/>'
            "</sheets></workbook>"
        ),
        xl___rels__workbook_dot_xml_dot_rels=(
            f'<Relationships xmlns="{_RELS}"><Relationship Id="r1" Type="{kind}" '
            'Target="worksheets/sheet1.xml"/></Relationships>'
        ),
        xl__worksheets__sheet1_dot_xml=(
            f'<worksheet xmlns="{_S}"><sheetData>{lines}</sheetData></worksheet>'
        ),
    )


def wav(seconds: float = 1.0) -> bytes:
    """Silence of 8,000 samples a second."""
    target = BytesIO()
    with wave.open(target, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(8_000)
        made.writeframes(bytes(int(16_000 * seconds)))
    return target.getvalue()


def mp3(seconds: float = 1.0) -> bytes:
    """A tag, then as many bytes as 64 kilobits a second give, after the header of a frame."""
    return b"ID3\4\0\0\0\0\0\5tag.." + b"\xff\xfb\x50\0" + bytes(int(8_000 * seconds))
