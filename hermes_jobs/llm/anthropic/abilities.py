"""Abilities of Claude models: thinking, effort levels, and output limits.

Sources: https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting (the table of thinking
types and of what is rejected), https://platform.claude.com/docs/en/build-with-claude/effort (the levels),
https://platform.claude.com/docs/en/about-claude/models/overview (output limits, in tokens).
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Thinking = Literal["none", "budget", "adaptive"]
ThinkingOff = Literal["omitted", "disabled", "between_tools", "never"]
Version = tuple[int, int]


class Abilities(msgspec.Struct, frozen=True):
    """The abilities of a family of models.

    `longest`: the longest answer in tokens. `thinking`: with a token budget, or adaptive. `off`: the value of
    `thinking.type` that turns thinking off; `omitted` if it is off by default. `efforts`: the levels of
    `output_config.effort`, from low to high. `binds`: a thinking block is refused after any other prefix than
    its own.
    """

    longest: int
    thinking: Thinking
    off: ThinkingOff = "omitted"
    efforts: tuple[str, ...] = ()
    binds: bool = False


_LEVELS = ("low", "medium", "high")
_ALL_LEVELS = (*_LEVELS, "max")
_UNKNOWN_CLAUDE = Abilities(32_000, "adaptive", "never", _ALL_LEVELS, binds=True)
"""A model newer than this table: later models accepted what earlier ones did, with longer answers."""
_NO_CLAUDE = Abilities(8_192, "budget", "disabled")
"""Other models behind an endpoint with this API: most accept a budget."""


class _Row(msgspec.Struct, frozen=True):
    """Abilities of a line (empty: of every line) from a version on."""

    line: str
    since: Version
    abilities: Abilities

    def fits(self, line: str, version: Version) -> bool:
        return self.line in {"", line} and version >= self.since


_TABLE = (  # newest first
    _Row("", (5, 6), _UNKNOWN_CLAUDE),
    _Row("sonnet", (5, 5), Abilities(128_000, "adaptive", "between_tools", _ALL_LEVELS, binds=True)),
    _Row("haiku", (5, 5), Abilities(128_000, "adaptive", "disabled", _ALL_LEVELS, binds=True)),
    _Row("opus", (5, 5), Abilities(128_000, "adaptive", "never", _ALL_LEVELS, binds=True)),
    _Row("fable", (5, 1), Abilities(128_000, "adaptive", "never", _ALL_LEVELS, binds=True)),
    _Row("mythos", (5, 1), Abilities(128_000, "adaptive", "never", _ALL_LEVELS, binds=True)),
    _Row("sonnet", (5, 0), Abilities(128_000, "adaptive", "disabled", _ALL_LEVELS)),
    _Row("opus", (5, 0), Abilities(128_000, "adaptive", "disabled", _ALL_LEVELS)),
    _Row("", (5, 0), Abilities(128_000, "adaptive", "never", _ALL_LEVELS)),
    _Row("", (4, 7), Abilities(128_000, "adaptive", "omitted", _ALL_LEVELS)),
    _Row("opus", (4, 6), Abilities(128_000, "adaptive", "omitted", _ALL_LEVELS)),
    _Row("", (4, 6), Abilities(64_000, "adaptive", "omitted", _ALL_LEVELS)),
    _Row("opus", (4, 5), Abilities(64_000, "budget", "omitted", _LEVELS)),
    _Row("opus", (4, 0), Abilities(32_000, "budget")),
    _Row("", (3, 7), Abilities(64_000, "budget")),
    _Row("", (3, 5), Abilities(8_192, "none")),
    _Row("", (0, 0), Abilities(4_096, "none")),
)
_NAME = re.compile(
    r"claude-(?:(?P<line>[a-z]+)-)?(?P<major>\d)(?:[-.](?P<minor>\d{1,2})(?!\d))?(?!\d)(?:-(?P<old>[a-z]+))?"
)


def abilities(model: str) -> Abilities:
    """The model's abilities, by its name in any form used by clouds and gateways."""
    name = model.lower()
    match = _NAME.search(name)
    if match is None:
        return _UNKNOWN_CLAUDE if "claude" in name else _NO_CLAUDE
    line = match["line"] or match["old"] or ""
    version = (int(match["major"]), int(match["minor"] or 0))
    return next(row.abilities for row in _TABLE if row.fits(line, version))
