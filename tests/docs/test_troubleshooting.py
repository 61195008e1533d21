"""The errors that the troubleshooting page quotes are those that the program prints."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT, Page

PAGE = Page.read(ROOT / "docs" / "troubleshooting.md")
ROW = re.compile(r"^\| (?P<says>.+?) \| .+ \|$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
SEAM = re.compile(r"""["']\s*[rf]{0,2}["']""")
"""Where a text continues in the next line of code."""
LEAST = 4  # letters of what stands between two placeholders that are worth looking for


def test_every_error_that_is_quoted_is_printed_somewhere() -> None:
    code = "\n".join(
        SEAM.sub("", path.read_text())
        for package in ("hermes_jobs", "workers", "schedules")
        for path in (ROOT / package).rglob("*.py")
    )
    code = code.replace("\\n", " ")
    quoted = [text for row in ROW.finditer(PAGE.text) for text in QUOTED.findall(row["says"])]
    assert len(quoted) > 15
    missing = [
        (text, part)
        for text in quoted
        for part in re.split(r"…", text)
        if len(part.strip()) >= LEAST and part.strip() not in code
    ]
    assert missing == []
