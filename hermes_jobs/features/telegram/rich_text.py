"""Text with styles, as runs of characters, and Telegram's entities for it.

Runs keep the rules of https://core.telegram.org/bots/api#messageentity by their form: code contains no other
entity, and none crosses the end of a message, because a message's entities follow from its own runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.telegram.splitting import spans, units

Style = Literal["bold", "italic", "strikethrough", "blockquote", "code", "pre", "text_link"]

MAX_ENTITIES = 100
"""Entities of a message; Telegram ignores further ones
(https://docs.python-telegram-bot.org/en/stable/telegram.constants.html#telegram.constants.MessageLimit)."""


class Run(msgspec.Struct, frozen=True):
    """Characters of one style. `link`: the address behind them; `language`: of code in a `pre`."""

    text: str
    styles: frozenset[Style] = frozenset()
    link: str = ""
    language: str = ""

    @property
    def is_code(self) -> bool:
        """Whether it is code, which has no other style."""
        return bool(self.styles & {"code", "pre"})


class Entity(msgspec.Struct, frozen=True):
    """An entity of a message; `offset` and `length` are in UTF-16 units."""

    style: Style
    offset: int
    length: int
    link: str = ""
    language: str = ""


Runs = tuple[Run, ...]


def plain(runs: Runs) -> str:
    """The characters without styles."""
    return "".join(run.text for run in runs)


def sliced(runs: Runs, begin: int, end: int) -> Runs:
    """The runs of the characters from `begin` up to `end`."""
    found, at = [], 0
    for run in runs:
        text = run.text[max(begin - at, 0) : max(end - at, 0)]
        if text:
            found.append(replace(run, text=text))
        at += len(run.text)
    return tuple(found)


def stripped(runs: Runs) -> Runs:
    """The runs without white space around them, which Telegram removes, too."""
    text = plain(runs)
    return sliced(runs, len(text) - len(text.lstrip()), len(text.rstrip()))


def parts(runs: Runs, limit: int) -> Iterator[Runs]:
    """The runs in parts of at most `limit` UTF-16 units, cut at the best boundaries."""
    for begin, end in spans(plain(runs), limit):
        yield sliced(runs, begin, end)


def entities(runs: Runs) -> Sequence[Entity]:
    """The entities of a message with these runs, in order, at most `MAX_ENTITIES`."""
    found: list[Entity] = []
    at, last = 0, Run("")
    open_: dict[Style, int] = {}  # the place in `found` of each style of the last run
    for run in runs:
        size = units(run.text)
        styles = _of(run)
        same = styles & _of(last) if (run.link, run.language) == (last.link, last.language) else frozenset()
        open_ = {style: index for style, index in open_.items() if style in same}
        for index in open_.values():
            found[index] = replace(found[index], length=found[index].length + size)
        for style in sorted(styles - open_.keys()):
            open_[style] = len(found)
            link, language = run.link if style == "text_link" else "", run.language if style == "pre" else ""
            found.append(Entity(style, at, size, link, language))
        at, last = at + size, run
    return tuple(found[:MAX_ENTITIES])


def _of(run: Run) -> frozenset[Style]:
    return run.styles | {"text_link"} if run.link and not run.is_code else run.styles
