"""A terminal's screen as an SVG: text in cells, with its colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

from pyte.screens import Char

WIDTH, HEIGHT, BASELINE = 8.4, 18, 13  # of a cell, in pixels
MARGIN, BAR = 14, 30
BACK, FRONT, DIM = "#16181d", "#d7dae0", "#8b93a1"
COLOURS: Mapping[str, str] = {
    "black": "#3b4048",
    "red": "#f0717b",
    "green": "#8fce6b",
    "brown": "#e6c46e",
    "yellow": "#e6c46e",
    "blue": "#6cb2f5",
    "magenta": "#cf8ee6",
    "cyan": "#5fc9d1",
    "white": FRONT,
    "brightblack": DIM,
}
NO_BREAK = "\u00a0"  # blanks side by side are one blank in XML
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def drawn(rows: Sequence[Sequence[Char]], *, command: str) -> str:
    """The rows of a screen up to the last that holds something, below the command line that made them."""
    prompt = [Char("$", fg="green"), Char(" "), *(Char(each, bold=True) for each in command)]
    shown = [prompt, *rows]
    while shown and not _text(shown[-1]).strip():
        shown.pop()
    columns = max(len(_text(row).rstrip()) for row in shown)
    width, height = columns * WIDTH + 2 * MARGIN, len(shown) * HEIGHT + MARGIN + BAR
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}"'
            f' height="{height}" font-family="{FONT}" font-size="14">',
            f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
            *(
                f'<circle cx="{18 + 18 * at}" cy="15" r="5" fill="{colour}"/>'
                for at, colour in enumerate(("#ec6a5e", "#f4bf4f", "#61c554"))
            ),
            *(line for number, row in enumerate(shown) for line in _row(row, BAR + number * HEIGHT)),
            "</svg>\n",
        ]
    )


def _text(row: Sequence[Char]) -> str:
    return "".join(cell.data for cell in row)


def _row(row: Sequence[Char], top: int) -> Iterator[str]:
    """The runs of cells that look alike, each a text, with a ground where it has one."""
    cells = list(enumerate(row))
    for (front, back, bold, italics, underline), run in groupby(cells, lambda each: _look(each[1])):
        taken = list(run)
        text = "".join(cell.data for _, cell in taken)
        left, wide = MARGIN + taken[0][0] * WIDTH, len(taken) * WIDTH
        if back != BACK:
            yield f'<rect x="{left:g}" y="{top}" width="{wide:g}" height="{HEIGHT}" fill="{back}"/>'
        kept = text.strip()
        if not kept:
            continue
        left += text.index(kept) * WIDTH
        style = ' font-weight="bold"' * bold + ' font-style="italic"' * italics
        style += ' text-decoration="underline"' * underline
        length = len(kept) * WIDTH
        yield (
            f'<text x="{left:g}" y="{top + BASELINE}" fill="{front}" textLength="{length:g}"{style}>'
            f"{escape(kept, quote=False).replace(' ', NO_BREAK)}</text>"
        )


def _look(cell: Char) -> tuple[str, str, bool, bool, bool]:
    front, back = _colour(cell.fg, FRONT), _colour(cell.bg, BACK)
    if cell.reverse:
        front, back = back, front
    return front, back, cell.bold, cell.italics, cell.underscore


def _colour(name: str, usual: str) -> str:
    if name == "default":
        return usual
    return COLOURS.get(name) or COLOURS.get(name.removeprefix("bright")) or f"#{name}"
