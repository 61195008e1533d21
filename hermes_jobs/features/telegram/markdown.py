"""Markdown, as models write it, as blocks of styled text. The parser is markdown-it-py (CommonMark)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from hermes_jobs.features.telegram.rich_text import Run, Runs, Style, plain, stripped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BULLET = "• "
INDENT = "   "
RULE = "———"
COLUMN_GAP = "  "
LINKS = ("http://", "https://", "tg://", "mailto:")
"""How addresses begin that Telegram opens."""

_STYLES: dict[str, Style] = {"strong": "bold", "em": "italic", "s": "strikethrough"}


class Block(msgspec.Struct, frozen=True):
    """A paragraph, a list item, or code, which is never cut; `gap` separates it from the one before."""

    runs: Runs
    gap: str = "\n\n"
    is_code: bool = False

    @property
    def language(self) -> str:
        """The language of code; empty where it is not named."""
        return self.runs[0].language if self.runs else ""

    @property
    def text(self) -> str:
        """The characters without styles."""
        return plain(self.runs)


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text, in order."""
    return _Reader(_parser().parse(text.replace("\0", "\ufffd"))).blocks()


def code_block(code: str, language: str = "") -> Block:
    """A block of code; without the line end after it."""
    return Block((Run(code.rstrip("\n"), frozenset({"pre"}), language=language),), is_code=True)


def text_block(text: str) -> Block:
    """A block of text without styles."""
    return Block((Run(text),))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Reader:
    """The tokens of one text, read once from the front."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._lists: list[int | None] = []  # the next number of each open list; None: bullets
        self._mark = ""  # the bullet or number that the next block begins with
        self._quotes = 0
        self._in_heading = False
        self._is_tight = False

    def blocks(self) -> Iterator[Block]:
        """The blocks; those of a table are read by its own loop."""
        tokens = iter(self._tokens)
        for token in tokens:
            match token.type:
                case "list_item_close":
                    if self._mark:  # an item without a text
                        yield self._text((Run(""),))
                case "fence" | "code_block":
                    yield from self._code(token)
                case "hr":
                    yield self._text((Run(RULE),))
                case "table_open":
                    yield code_block(_table(tokens))
                case "inline":
                    yield self._text(tuple(_runs(token, is_heading=self._in_heading)))
                case _:
                    self._enter(token)

    def _enter(self, token: Token) -> None:
        """Begin or end a list, an item, a quotation or a heading."""
        match token.type:
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                self._is_tight = bool(self._lists)
            case "list_item_open":
                self._mark = self._next_mark()
            case "blockquote_open" | "blockquote_close":
                self._quotes += token.nesting
            case "heading_open" | "heading_close":
                self._in_heading = token.nesting > 0
            case _:
                pass

    def _next_mark(self) -> str:
        number = self._lists[-1]
        if number is None:
            return BULLET
        self._lists[-1] = number + 1
        return f"{number}. "

    def _code(self, token: Token) -> Iterator[Block]:
        if self._mark:
            yield self._text((Run(""),))
        if token.content.strip():
            language = (token.info.split() or [""])[0]
            yield code_block(token.content, language)

    def _text(self, runs: Runs) -> Block:
        """A block of text: with its mark, moved in below a list, and as a quotation."""
        depth = max(len(self._lists) - 1, 0)
        hanging = INDENT if self._lists and not self._mark else ""
        before = INDENT * depth + (self._mark or hanging)
        gap = "\n" if self._lists and self._is_tight else "\n\n"
        self._mark, self._is_tight = "", bool(self._lists)
        if self._quotes:
            runs = tuple(_quoted(run) for run in runs)
        return Block((Run(before), *runs) if before else runs, gap)


def _quoted(run: Run) -> Run:
    return run if run.is_code else msgspec.structs.replace(run, styles=run.styles | {"blockquote"})


def _runs(token: Token, *, is_heading: bool) -> Iterator[Run]:
    """The runs of a line or a paragraph."""
    open_: list[Style] = ["bold"] if is_heading else []
    links: list[str] = []
    for child in token.children or ():
        kind, nesting = child.type.removesuffix("_open").removesuffix("_close"), child.nesting
        styles, link = frozenset(open_), links[-1] if links else ""
        if kind in _STYLES:
            open_.append(_STYLES[kind]) if nesting > 0 else open_.remove(_STYLES[kind])
        elif kind == "link" and nesting > 0:
            links.append(str(child.attrs.get("href", "")))
        elif kind == "link":
            yield from _address(links.pop())
        elif kind == "image":
            yield Run(child.content or "image", styles, _opened(str(child.attrs.get("src", ""))))
        elif kind == "code_inline":
            yield Run(child.content, frozenset({"code"}))
        elif kind in {"softbreak", "hardbreak"}:
            yield Run("\n", styles)
        elif child.content:
            yield Run(child.content, styles, _opened(link))


def _opened(address: str) -> str:
    return address if address.lower().startswith(LINKS) else ""


def _address(address: str) -> Iterator[Run]:
    """The address of a link that Telegram would not open, behind its text."""
    if address and not _opened(address):
        yield Run(f" ({address})")


def _table(tokens: Iterator[Token]) -> str:
    """The rows of the table that was opened, with aligned columns."""
    rows: list[list[str]] = []
    sides: list[Literal["left", "right"]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            sides.append("right" if "right" in str(token.attrs.get("style", "")) else "left")
        elif token.type == "inline":
            rows[-1].append(plain(stripped(tuple(_runs(token, is_heading=False)))))
    return _aligned(rows, sides)


def _aligned(rows: list[list[str]], sides: Sequence[Literal["left", "right"]]) -> str:
    from rich.cells import cell_len

    widths = [max(cell_len(row[column]) for row in rows if column < len(row)) for column in range(len(sides))]

    def line(row: Sequence[str]) -> str:
        cells = []
        for cell, width, side in zip(row, widths, sides, strict=False):
            space = " " * (width - cell_len(cell))
            cells.append(space + cell if side == "right" else cell + space)
        return COLUMN_GAP.join(cells).rstrip()

    header, *body = rows
    under = ["─" * width for width in widths]
    return "\n".join(map(line, (header, under, *body)))
