"""Markdown on a terminal: as coloured lines, and the final part of a growing text."""

from __future__ import annotations

import re
from functools import cache
from io import StringIO
from typing import ClassVar

from click import unstyle
from markdown_it import MarkdownIt
from pygments.token import Generic, Keyword, Name, Number, String, Text
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.style import Style
from rich.syntax import ANSI_LIGHT, ANSISyntaxTheme, Syntax
from rich.theme import Theme

THEME = Theme({"markdown.code": "bold cyan", "markdown.block_quote": "italic"})
CODE_THEME = ANSISyntaxTheme(
    {
        **ANSI_LIGHT,
        Keyword: Style(color="magenta"),
        Name.Tag: Style(color="magenta"),
        String: Style(color="green"),
        Number: Style(color="cyan"),
        Generic.Deleted: Style(color="red"),
        Generic.Error: Style(color="red"),
        Text.Whitespace: Style(color="bright_black"),
    }
)
"""The terminal's own colours, on its own background: those that are legible on a dark and on a light one."""


class PlainHeading(Heading):
    """A heading at the left, without a box around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class IndentedCode(CodeBlock):
    """Code with an indent, on the terminal's own background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        syntax = Syntax(code, self.lexer_name, theme=CODE_THEME, word_wrap=True, background_color="default")
        yield Padding(syntax, (0, 0, 0, 2))


class TerminalMarkdown(Markdown):
    """Markdown as this program shows it: no text is omitted."""

    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": PlainHeading,
        "fence": IndentedCode,
        "code_block": IndentedCode,
    }

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
        self.parsed = _parser().parse(text)


_UNDECIDED = re.compile(r"[\s\d.)\-+*>#`~=_|<:]*")  # may still become the next item of the list before


@cache
def _parser() -> MarkdownIt:
    """Rich's own parser, without syntax that it would omit or misplace: that stays text."""
    parser = MarkdownIt(options_update={"html": False}).enable(["strikethrough", "table"])
    return parser.disable(["reference", "image"])


def blocks(text: str) -> list[str]:
    """The text's paragraphs, lists, tables, code and so on, each with the empty lines before it."""
    starts = [token.map[0] for token in _parser().parse(text) if token.level == 0 and token.map]
    *lines_, last = text.split("\n")  # what else may pass for a line's end is none in Markdown
    lines = [*(f"{line}\n" for line in lines_), last]
    cuts = sorted({0, *starts[1:]}) if starts else [0]
    texts = ["".join(lines[start:end]) for start, end in zip(cuts, [*cuts[1:], len(lines)], strict=True)]
    return [block for block in texts if block]


def complete_blocks(text: str) -> tuple[list[str], str]:
    """Split a growing text into its final blocks, and the rest."""
    *finished, growing = blocks(text) or [""]
    if finished and _UNDECIDED.fullmatch(growing):
        growing = finished.pop() + growing
    return finished, growing


def render(block: str, columns: int) -> list[str]:
    """A block as lines of at most `columns` columns, with the escape sequences of their colours."""
    if not block.strip():
        return []
    output = StringIO()
    console = Console(
        file=output,
        width=max(columns, 8),
        theme=THEME,
        force_terminal=True,
        highlight=False,
        legacy_windows=False,
    )
    console.print(TerminalMarkdown(block.strip("\n")), end="")
    lines = [line.rstrip() for line in output.getvalue().split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not unstyle(lines[0]).strip():  # above a table
        lines.pop(0)
    return lines
