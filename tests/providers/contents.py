"""What providers check of the bytes in a request: valid base64, of the type that is named, not too large."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error

SIGNATURES = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/webp": b"RIFF",
    "image/gif": b"GIF8",
    "application/pdf": b"%PDF-",
    "audio/wav": b"RIFF",
    "audio/mp3": b"ID3",
}
"""The types that are taken, and how each content begins."""


def wrong_content(media_type: str, data: str, *, most: int = 0) -> str:
    """Why the content would be refused; empty for a good one. `most` is in characters of base64; 0: any."""
    if media_type not in SIGNATURES:
        return f"unsupported media type {media_type}"
    try:
        content = b64decode(data, validate=True)
    except Error:
        return "invalid base64 data"
    if not content.startswith(SIGNATURES[media_type]):
        return f"the content is not {media_type}"
    return f"exceeds the maximum of {most} bytes" if most and len(data) > most else ""


def wrong_url(url: str, *, most: int = 0) -> str:
    """The same for a `data:` URL."""
    head, separator, data = url.partition(";base64,")
    if not head.startswith("data:") or not separator:
        return "expected a base64-encoded data URL"
    return wrong_content(head.removeprefix("data:"), data, most=most)
