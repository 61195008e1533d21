"""How a text file is written, and a new content in the form of the one that it replaces."""

from __future__ import annotations

from dataclasses import dataclass

_MARK = "\ufeff"


@dataclass(frozen=True)
class TextForm:
    """Whether a byte-order mark begins the file, and how many lines end with CRLF and with LF alone."""

    marked: bool = False
    crlf: int = 0
    lf: int = 0

    @classmethod
    def of(cls, head: bytes) -> TextForm:
        """The form of a file with that beginning."""
        crlf = head.count(b"\r\n")
        return cls(head.startswith(_MARK.encode()), crlf, head.count(b"\n") - crlf)

    def kept(self, content: str) -> tuple[str, str]:
        """The content in this form, as far as it states none of its own, and what to say about that."""
        said = ""
        if "\n" in content and "\r" not in content and self.crlf:
            if self.lf:
                said += " Some of its lines ended with CRLF before; all end with LF."
            else:
                content = content.replace("\n", "\r\n")
                said += " Its lines end with CRLF, as before."
        if self.marked and not content.startswith(_MARK):
            content = _MARK + content
            said += " It begins with a byte-order mark, as before."
        return content, said
