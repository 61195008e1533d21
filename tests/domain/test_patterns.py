"""A text that is to be removed is found however it was written."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from html import escape
from html.entities import codepoint2name
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.forgetting.patterns import Pattern, exact_texts, literal
from tests.tables import nightly, slow

Write = Callable[[str], str]


def units(text: str, form: str) -> str:
    """Each code unit of UTF-16 in that form."""
    data = text.encode("utf-16-be", "surrogatepass")
    return "".join(form.format(data[at] << 8 | data[at + 1]) for at in range(0, len(data), 2))


def within(text: str) -> str:
    """A JSON string without its quotes, characters beyond ASCII as they are."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def go(text: str) -> str:
    """`encoding/json`: what is special to HTML is escaped, too."""
    return re.sub("[<>&\u2028\u2029]", lambda match: units(match[0], "\\u{:04x}"), within(text))


def php(text: str) -> str:
    """`json_encode`: a slash is escaped, and what is beyond ASCII."""
    return json.dumps(text)[1:-1].replace("/", "\\/")


def percent_all(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def named(text: str) -> str:
    return "".join(f"&{codepoint2name[ord(c)]};" if ord(c) in codepoint2name else c for c in text)


def each_unit(form: str) -> Write:
    return lambda text: units(text, form)


WRITERS: dict[str, Write] = {
    "as it is": str,
    "Python": lambda text: json.dumps(text)[1:-1],
    "Python, not only ASCII": within,
    "JavaScript": within,
    "Go": go,
    "PHP": php,
    "units": each_unit("\\u{:04x}"),
    "units in capitals": each_unit("\\u{:04X}"),
    "bytes of a literal": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "Python's repr": lambda text: text.encode("unicode_escape").decode(),
    "git's quoted names": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "URL": lambda text: quote(text, safe=""),
    "URL in small letters": percent_all,
    "form": quote_plus,
    "JavaScript's escape": each_unit("%u{:04X}"),
    "HTML": escape,
    "HTML by name": named,
    "HTML by number": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "HTML by hexadecimal number": lambda text: "".join(f"&#x{ord(c):X};" for c in text),
}
NESTED: tuple[Write, ...] = (str, within, php, lambda text: quote(text, safe=""), escape)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\\%&+"), min_size=3, max_size=12).filter(
    str.strip
)
BEFORE = "HTTP/1.1 200 OK\ncontent-type: application/json\n\n<"


def is_pattern(text: str) -> Pattern | None:
    try:
        return Pattern(literal(text))
    except Rejected:
        return None


@given(WORDS, st.sampled_from(sorted(WRITERS)), st.sampled_from(NESTED), st.sampled_from(NESTED))
def test_whoever_wrote_it_and_however_often_it_is_found(
    wanted: str, writer: str, once: Write, twice: Write
) -> None:
    if (pattern := is_pattern(wanted)) is None:
        return
    stored = BEFORE + twice(once(WRITERS[writer](wanted))) + "> 100% & more \\ of it"
    assert pattern.found(stored)
    after = pattern(stored)
    assert not pattern.found(after)
    assert after.startswith("HTTP/1.1 200 OK"), "only the text goes"
    assert after.endswith("> 100% & more \\ of it")


@given(
    st.lists(
        st.tuples(st.characters(codec="utf-8"), st.sampled_from(sorted(WRITERS))), min_size=4, max_size=12
    )
)
def test_a_mixture_of_writers_is_found(parts: list[tuple[str, str]]) -> None:
    wanted = "".join(character for character, _ in parts)
    if len(wanted.strip()) < 3 or (pattern := is_pattern(wanted)) is None:
        return
    stored = "".join(WRITERS[writer](character) for character, writer in parts)
    assert pattern.found(f"<{stored}>")
    assert not pattern.found(pattern(f"<{stored}>"))


@pytest.mark.parametrize(
    "wanted", [r"C:\new ü", "100%25 für", "a&amp;b ü", r"\u00fc", "https://h/?k=a%20b&c=ü"]
)
@pytest.mark.parametrize("write", WRITERS.values(), ids=list(WRITERS))
def test_a_text_that_holds_escapes_itself_is_found(wanted: str, write: Write) -> None:
    assert Pattern(literal(wanted)).found(f"<{write(wanted)}>")


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        ("00\\\x1f", r"00\\u001f"),
        ("C:\\über", r"C:\\u00fcber"),
        ("5% für 3%41", r"5% f%C3%BCr 3%2541"),
        ("R&D <a>", "R&D &lt;a&gt;"),
        ("a\\b\\ü", r"a\\b\\\u00fc"),
    ],
)
def test_a_mark_that_was_left_as_it_is_beside_what_is_escaped_is_found(wanted: str, stored: str) -> None:
    assert Pattern(literal(wanted))(f"<{stored}>") == "<[redacted]>"


def test_what_a_text_with_escapes_would_be_read_as_stays() -> None:
    assert Pattern(literal("%41"))("An Apple, 100%") == "An Apple, 100%"
    assert Pattern(literal(r"\n"))("two\nlines") == "two\nlines"


def test_only_what_is_written_there_is_replaced() -> None:
    stored = 'first: 1\nlog {"name": "M\\u00FCller \\/ Caf\\u00e9", "next": "\\u00e9"} end'
    assert (
        Pattern(literal("müller / café"))(stored)
        == 'first: 1\nlog {"name": "[redacted]", "next": "\\u00e9"} end'
    )


def test_a_regular_expression_is_found_in_escaped_text_too() -> None:
    pattern = Pattern(re.compile(r"M.ller <\w+@"))
    assert pattern("to: M\\u00fcller \\u003cana@example.org") == "to: [redacted]example.org"
    assert pattern("to=M%C3%BCller%20%3Cana%40example.org") == "to=[redacted]example.org"


def test_whole_texts_are_found_in_escaped_text_and_not_within_a_word() -> None:
    pattern = Pattern(exact_texts(["Thé vert"]), "[forgotten]")
    assert pattern("a\nTh\\u00e9 vert\\nand Th\\u00e9 verts") == "a\n[forgotten]\\nand Th\\u00e9 verts"


@pytest.mark.parametrize(
    "piece",
    ["%25", "plain ", *slow("\\\\", "\\u005c"), *nightly("&amp;", "\\xc3\\xbc", '\\"', "%c3", "&")],
)
@pytest.mark.parametrize("wanted", ["zanzibar", r"\\\\zan%&"])
def test_the_time_grows_with_the_length(wanted: str, piece: str) -> None:
    pattern = Pattern(literal(wanted))

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        begun = time.process_time()
        pattern.found(text)
        return time.process_time() - begun

    seconds(10_000)
    assert min(seconds(100_000) for _ in range(2)) < 12 * min(seconds(25_000) for _ in range(2)) + 0.05
