"""What becomes of a file that is attached, by its content alone."""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from PIL import Image

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.api import AttachmentLimits, File, Intake, is_text
from hermes_jobs.features.attachments.decoding import SENT, TEXT, Decoded, DecodingRequest
from hermes_jobs.features.attachments.decoding_process import decoded
from hermes_jobs.kernel.log.blobs import BlobFiles
from tests.features.attachments.files import document, photo, picture

LIMITS = DecodingRequest(folder="", pages=3, pixels=1_000_000, side=100, seconds=20)
PAGES = ("The lamp is in room 7.", "Page two.")


def decode(content: bytes, folder: Path, **limits: int) -> Decoded:
    (folder / "file").write_bytes(content)
    for name in (SENT, TEXT):
        (folder / name).unlink(missing_ok=True)
    return decoded(replace(LIMITS, folder=str(folder), **limits))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_picture_is_scaled_down_to_a_format_that_every_provider_takes(form: str, tmp_path: Path) -> None:
    found = decode(picture(form, (300, 150)), tmp_path)
    assert (found.media_type, found.width, found.height) == (f"image/{form.lower()}", 100, 50)
    with Image.open(tmp_path / SENT) as sent:
        assert (sent.format in {"PNG", "JPEG"}, sent.size) == (True, (100, 50))


def test_a_photo_is_turned_upright_and_loses_what_the_camera_wrote(tmp_path: Path) -> None:
    content = photo()
    assert b"SECRET CAMERA" in content
    found = decode(content, tmp_path)
    assert (found.width, found.height) == (50, 100)
    sent = (tmp_path / SENT).read_bytes()
    assert b"SECRET CAMERA" not in sent
    with Image.open(BytesIO(sent)) as image:
        assert not image.getexif()
        red, _, blue = image.convert("RGB").getpixel((25, 20))
        assert red > blue


@pytest.mark.parametrize(("mode", "form"), [("RGBA", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("CMYK", "JPEG")])
def test_every_kind_of_pixels_can_be_sent(mode: str, form: str, tmp_path: Path) -> None:
    image = Image.new(mode, (20, 20))
    target = BytesIO()
    image.save(target, form)
    assert decode(target.getvalue(), tmp_path).wrong == ""


def test_the_pages_of_a_document_are_read_in_order(tmp_path: Path) -> None:
    found = decode(document(PAGES), tmp_path)
    assert (found.media_type, found.pages) == ("application/pdf", 2)
    assert tuple(page.strip() for page in (tmp_path / TEXT).read_text().split("\f")) == PAGES


def bomb() -> bytes:
    """A PNG of a few hundred bytes that says it has 10,000 million pixels."""
    size = (100_000).to_bytes(4, "big")
    header, pixels = b"IHDR" + size + size + b"\x08\x02\x00\x00\x00", b"IDAT" + zlib.compress(b"\0" * 99)
    chunks = (
        (len(chunk) - 4).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
        for chunk in (header, pixels)
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (bomb(), "has 100,000 × 100,000 pixels"),
        (document(["a"] * 4), "has 4 pages; a document may have 1 to 3"),
        (document([]), "has 0 pages"),
        (document(PAGES)[:80], "is a damaged"),
        (b"%PDF-1.7 and nothing else", "is a damaged"),
        (picture("JPEG", (300, 300))[:400], "is damaged"),
        (picture("PNG", (300, 300))[:200], "is damaged"),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 60, "is neither a picture, nor a PDF document, nor text"),
        (b"PK\x03\x04" + b"\0" * 60, "is damaged"),
    ],
)
def test_a_file_that_cannot_be_sent_is_refused_with_a_reason(
    content: bytes, wrong: str, tmp_path: Path
) -> None:
    found = decode(content, tmp_path)
    assert wrong in found.wrong
    assert found.hint


HOSTILE = (
    picture("PNG"),
    picture("JPEG"),
    picture("GIF"),
    picture("WEBP"),
    picture("TIFF"),
    document(PAGES),
    document(PAGES, count=10**9),
    document(PAGES, trailer="/Prev 9"),
    document(PAGES).replace(b"/Kids [3 0 R", b"/Kids [2 0 R"),
)


@given(content=st.sampled_from(HOSTILE), data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_file_is_decoded_or_refused_and_nothing_else(
    content: bytes, data: st.DataObject, tmp_path: Path
) -> None:
    changed = bytearray(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    for _ in range(data.draw(st.integers(0, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    found = decode(bytes(changed), tmp_path)
    assert bool(found.wrong) != bool(found.media_type)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", True),
        ("Grüße 🙂".encode(), True),
        ("Grüße".encode()[:3], True),  # the beginning of a text may end within a character
        ("Grüße".encode("latin-1"), False),
        (b"a\0b", False),
        (b"%PDF-1.4 1 0 obj", False),
        (picture(), False),
    ],
)
def test_text_is_known_by_its_content(content: bytes, expected: bool) -> None:
    assert is_text(content) is expected


def test_files_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    blobs = BlobFiles(tmp_path / "attachments")
    limits = AttachmentLimits(file_bytes=5_000, turn_bytes=6_000, files=2, pages=3)
    intake = Intake(blobs, limits, tmp_path / "tmp")
    good = File("a.png", picture())
    refused = {
        "broken.png": [good, File("broken.png", picture()[:50])],
        "6.0 kB": [File("large.png", b"x" * 6_000)],
        "together": [File("one", b"x" * 4_000), File("two", b"x" * 4_000)],
        "3 files": [good, good, good],
        "is empty": [File("nothing", b"")],
    }
    for words, files in refused.items():
        with pytest.raises(Rejected, match=words) as error:
            intake.attach(files)
        assert error.value.kind == "usage"
    assert list(blobs.digests()) == []
    (attachment,) = intake.attach([good])
    assert set(attachment.digests) == set(blobs.digests())
    assert blobs.get(attachment.digest) == good.content
    assert list((tmp_path / "tmp").iterdir()) == []
