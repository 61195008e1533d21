"""A turn's page: everything of the turn is in it, and nothing that could act or leak."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.html.samples import ANSWER, ASKED, SESSION, STATEMENT, TURN, append, busy_turn
from tests.written_home import WrittenHome

KEY = "sk-never-to-be-seen-0123456789"
ATTACK = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}'
MARKDOWN = f"{ATTACK}\n\n[a](javascript:alert(3)) ![b](http://example.com/b.png) [c](https://example.com)"


class Elements(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    with closing(WrittenHome(tmp_path)) as home:
        yield home


def page_of(home: WrittenHome, **environ: str) -> str:
    file = home.path / "turn.html"
    made = home.run("turns", "show", TURN[:4], "--html", str(file), **environ)
    assert (made.code, made.out, made.err) == (0, "", f"Wrote {file}.\n")
    assert file.stat().st_mode & 0o777 == 0o600
    return file.read_text()


def test_a_page_has_the_text_calls_answer_and_cost(home: WrittenHome) -> None:
    append(home.log, busy_turn())
    page = page_of(home)
    assert ASKED in page
    assert "2026-118 (Oak &amp; Sons" in page
    assert all(
        name in page for name in ("terminal", "read_file", "search_files", "compression", "memory flush")
    )
    assert "33,200" in page
    assert "$0.0033" in page
    assert "Rate limit reached" in page
    assert all(f'id="e{position}"' in page for position in range(3, 28)), "each fact under its position"
    lines = STATEMENT.replace("&", "&amp;")
    assert lines in page, "a long result is there whole"
    assert f"all {len(STATEMENT):,} characters" in page
    elements = Elements(page).found
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in elements}
    anchors = {attributes["id"] for _, attributes in elements if "id" in attributes}
    links = {attributes["href"] for tag, attributes in elements if tag == "a"}
    assert {str(link).removeprefix("#") for link in links} <= anchors, "every link leads somewhere"


@pytest.mark.parametrize(("zone", "shown"), [("Asia/Tokyo", "18:30:00"), ("America/New_York", "04:30:00")])
def test_its_moment_is_of_the_configured_zone(home: WrittenHome, zone: str, shown: str) -> None:
    append(home.log, busy_turn())
    assert f"Fri 20 Nov 2026 {shown}" in page_of(home, HERMES_JOBS_SCHEDULES__TIMEZONE=zone)


def test_nothing_that_was_said_becomes_markup(home: WrittenHome) -> None:
    append(home.log, busy_turn(text=ATTACK, answer=MARKDOWN, result=ATTACK * 100))
    page = page_of(home)
    elements = Elements(page).found
    tags = {tag for tag, _ in elements}
    assert not {"script", "img", "iframe"} & tags
    attributes = {name for _, attributes in elements for name in attributes}
    assert not [name for name in attributes if name.startswith("on")]
    hrefs = {str(each["href"]) for _, each in elements if "href" in each}
    assert all(re.match(r"#[es]\d+$|data:,$|https?://example\.com", href) for href in hrefs), hrefs
    assert "{{ 7*7 }}" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page


def test_secrets_are_redacted_everywhere(home: WrittenHome) -> None:
    append(home.log, busy_turn(text=f"my key is {KEY}", answer=f"it is {KEY}", result=KEY * 100))
    page = page_of(home, OPENAI_API_KEY=KEY)
    assert KEY not in page
    assert KEY[:12] not in page
    assert "[REDACTED]" in page


def test_a_key_that_is_cut_in_the_middle_is_not_half_shown(home: WrittenHome) -> None:
    append(home.log, busy_turn(result="x" * 1_490 + KEY + "y" * 3_000))
    assert KEY[:8] not in page_of(home, OPENAI_API_KEY=KEY)


def test_control_characters_and_broken_text_make_no_broken_page(home: WrittenHome) -> None:
    append(home.log, busy_turn("a\x00b\x1b[31mred\u202eright", "lone \ud800 surrogate", "\x07"))
    page = page_of(home)
    assert "abredright" in page
    assert "\x1b" not in page


def test_a_page_never_takes_the_place_of_a_device_or_a_link(home: WrittenHome) -> None:
    append(home.log, busy_turn())
    pipe, link = home.path / "pipe", home.path / "link.html"
    os.mkfifo(pipe)
    link.symlink_to("page.html")

    refused = home.run("turns", "show", TURN, "--html", str(pipe))
    written = home.run("turns", "show", TURN, "--html", str(link))

    assert (refused.code, pipe.is_fifo()) == (2, True)
    assert "is there already" in refused.err
    assert (written.code, link.is_symlink()) == (0, True)
    assert TURN in (home.path / "page.html").read_text()


def test_an_unwritable_file_is_a_usage_error_and_leaves_nothing(home: WrittenHome) -> None:
    append(home.log, busy_turn())
    missing = home.run("turns", "show", TURN, "--html", str(home.path / "no" / "t.html"))
    assert missing.code == 2
    assert "cannot be written: No such file or directory" in missing.err
    both = home.run("turns", "show", TURN, "--html", "t.html", "--json")
    assert (both.code, both.out) == (2, "")
    assert "exclude each other" in both.err
    assert not list(home.path.glob(".t.html*"))
    assert SESSION in home.run("turns", "show", TURN).out
    assert ANSWER.splitlines()[0] in home.run("turns", "show", TURN).out
