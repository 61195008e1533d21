"""Markdown as messages: nothing is lost, entities are where their text is, and none crosses a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.telegram.markdown import Block, blocks, code_block, text_block
from hermes_jobs.features.telegram.messages import FilePart, Part, TextPart, packed
from hermes_jobs.features.telegram.rich_text import MAX_ENTITIES, Run, entities, plain
from hermes_jobs.features.telegram.splitting import units

WORDS = st.text(alphabet="abcäß€語😀👩‍🚀 .!", min_size=1, max_size=30)
CODE = st.text(alphabet="abc语😀 =()\n", min_size=1, max_size=120).filter(str.strip)
STYLES = st.sets(st.sampled_from(["bold", "italic", "strikethrough"]))
RUNS = st.builds(
    Run, WORDS, STYLES.map(frozenset), st.sampled_from(["", "https://a.example", "https://b.example"])
)
CODE_RUNS = WORDS.map(lambda text: Run(text, frozenset({"code"})))
TEXT_BLOCKS = st.lists(st.one_of(RUNS, CODE_RUNS), min_size=1, max_size=12).map(
    lambda runs: Block(tuple(runs))
)
BLOCKS = st.lists(st.one_of(TEXT_BLOCKS, CODE.map(lambda code: code_block(code, "python"))), max_size=8)
MARKDOWN = st.lists(
    st.one_of(
        WORDS,
        WORDS.map(lambda text: f"**{text}** and `{text}`"),
        WORDS.map(lambda text: f"- {text}\n  - *{text}*"),
        WORDS.map(lambda text: f"> {text}"),
        WORDS.map(lambda text: f"| a | b |\n|---|--:|\n| {text} | 1 |"),
        CODE.map(lambda code: f"```py\n{code}\n```"),
        st.text(max_size=40),
    ),
    max_size=8,
).map("\n\n".join)


def covered(part: TextPart, offset: int, length: int) -> str:
    """The text of an entity, read as Telegram reads it."""
    return part.text.encode("utf-16-le")[2 * offset : 2 * (offset + length)].decode("utf-16-le")


def text_of(part: Part) -> str:
    return part.content if isinstance(part, FilePart) else part.text


@given(BLOCKS, st.integers(40, 200))
def test_the_messages_together_are_the_text(given_blocks: list[Block], limit: int) -> None:
    parts = packed(given_blocks, limit)
    whole = "".join(block.text for block in given_blocks)
    assert "".join("".join(map(text_of, parts)).split()) == "".join(whole.split())


@given(st.one_of(BLOCKS, MARKDOWN.map(lambda text: list(blocks(text)))), st.integers(40, 200))
def test_every_message_fits_and_its_entities_are_inside(given_blocks: list[Block], limit: int) -> None:
    for part in packed(given_blocks, limit):
        if isinstance(part, FilePart):
            continue
        assert 0 < units(part.text) <= limit
        assert part.text == part.text.strip()
        assert len(part.entities) <= MAX_ENTITIES
        for entity in part.entities:
            assert entity.length > 0
            covered(part, entity.offset, entity.length)  # else a character is cut in half
            assert 0 <= entity.offset <= entity.offset + entity.length <= units(part.text)


@given(st.lists(st.one_of(RUNS, CODE_RUNS), max_size=12).map(tuple))
def test_an_entity_covers_the_characters_of_its_runs(runs: tuple[Run, ...]) -> None:
    part = TextPart(plain(runs), entities(runs))
    for style in ("bold", "italic", "strikethrough", "code"):
        styled = "".join(run.text for run in runs if style in run.styles)
        found = [each for each in part.entities if each.style == style]
        assert "".join(covered(part, each.offset, each.length) for each in found) == styled


@given(BLOCKS)
def test_code_has_no_other_entity_in_it_and_is_in_none(given_blocks: list[Block]) -> None:
    for part in packed(given_blocks, 200):
        if isinstance(part, FilePart):
            continue
        code = [each for each in part.entities if each.style in {"code", "pre"}]
        for one in code:
            for other in part.entities:
                apart = other.offset + other.length <= one.offset or one.offset + one.length <= other.offset
                assert other is one or apart


@given(st.lists(CODE, min_size=1, max_size=5), st.integers(60, 200))
def test_a_fence_is_in_one_message_or_a_file(codes: list[str], limit: int) -> None:
    parts = packed((code_block(code) for code in codes), limit)
    kept = [text_of(part) for part in parts]
    for code in codes:
        assert any(code.strip() in text for text in kept)


def shown(markdown: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The messages, and the style and text of each entity."""
    parts = [part for part in packed(blocks(markdown)) if isinstance(part, TextPart)]
    return [
        (part.text, [(each.style, covered(part, each.offset, each.length)) for each in part.entities])
        for part in parts
    ]


def test_markdown_becomes_entities() -> None:
    assert shown("# Title\n\n**b *i*** `c` ~~s~~ [there](https://a.example)") == [
        (
            "Title\n\nb i c s there",
            [
                ("bold", "Title"),
                ("bold", "b i"),
                ("italic", "i"),
                ("code", "c"),
                ("strikethrough", "s"),
                ("text_link", "there"),
            ],
        )
    ]


def test_lists_are_lines_with_marks_and_an_address_that_cannot_be_opened_is_shown() -> None:
    text = "Steps:\n\n1. one\n2. two\n   - deep\n\n[here](docs/x.md) & <b>"
    assert shown(text)[0][0] == "Steps:\n\n1. one\n2. two\n   • deep\n\nhere (docs/x.md) & <b>"


def test_a_table_is_aligned_and_a_fence_keeps_its_language() -> None:
    ((text, found),) = shown("| a | b |\n|---|--:|\n| x | 1 |\n| 日本 | 22 |\n\n```py\nx = 1\n```")
    assert text == "a      b\n────  ──\nx      1\n日本  22\n\nx = 1"
    assert [style for style, _ in found] == ["pre", "pre"]
    (part,) = packed(blocks("```py\nx = 1\n```"))
    assert isinstance(part, TextPart)
    assert part.entities[0].language == "py"


def test_long_code_is_a_file_between_the_texts() -> None:
    code = "x = 1\n" * 1_000
    before, file, after = packed(blocks(f"Before.\n\n```python\n{code}```\n\nAfter."))
    assert file == FilePart("code.py", code)
    assert [text_of(before), text_of(after)] == ["Before.", "After."]


def test_plain_text_is_cut_between_paragraphs() -> None:
    text = "\n\n".join("word " * 30 for _ in range(4)).strip()
    assert [text_of(part).count("word") for part in packed([text_block(text)], 320)] == [60, 60]


@pytest.mark.parametrize("count", [99, 300])
def test_more_entities_than_telegram_shows_are_left_out(count: int) -> None:
    (part,) = packed(blocks(" ".join(f"**b** {number}" for number in range(count))))
    assert isinstance(part, TextPart)
    assert len(part.entities) == min(count, MAX_ENTITIES)


def test_items_with_many_entities_are_put_into_several_messages() -> None:
    parts = packed(blocks("\n".join(f"- **b{number}**" for number in range(150))))
    assert [len(part.entities) for part in parts if isinstance(part, TextPart)] == [99, 51]
