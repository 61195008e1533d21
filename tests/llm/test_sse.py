"""Server-sent events from bytes in any pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.llm.sse import EventDecoder


def decoded(*pieces: bytes) -> list[str]:
    decoder = EventDecoder()
    found = [data for piece in pieces for data in decoder.feed(piece)]
    return [*found, *decoder.finish()]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: one\n\ndata: two\n\n", ["one", "two"]),
        (b"data:one\r\n\r\ndata: two\r\n\r\n", ["one", "two"]),
        (b"data: one\r\rdata: two\r\r", ["one", "two"]),
        (b"event: delta\nid: 7\nretry: 10\ndata: one\n\n", ["one"]),
        (b"data: {\ndata: }\n\n", ["{\n}"]),
        (b"data: one\n\ndata: two", ["one", "two"]),
        (b"data: one\n\ndata: two\n", ["one", "two"]),
        (b": comment\n\ndata:\n\ndata:  \n\n\n\n", []),
        ("data: a\u2028b\x0bc\x85\n\n".encode(), ["a\u2028b\x0bc\x85"]),
        (b"", []),
    ],
)
def test_a_stream_is_its_events(stream: bytes, data: list[str]) -> None:
    assert decoded(stream) == data


texts = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])).filter(str.strip)


@given(st.lists(texts, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_the_pieces_in_which_a_stream_arrives_make_no_difference(
    said: list[str], end: str, draw: st.DataObject
) -> None:
    stream = "".join(f"data: {each}{end}{end}" for each in said).encode()
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decoded(*pieces) == said
