"""Small pictures and documents, made here."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

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
