"""What a summary names that the conversation does not: files, commands, figures, quoted errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_NAMED = 12

_NAMED = re.compile(
    r"`(?P<code>[^`\n]{3,120})`"
    r"|(?P<path>(?<![\w/.])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*|(?<![\w/.])[\w@+-]+(?:/[\w.@+-]+)+)"
    r"|(?P<file>(?<![\w/.])[\w-]+\.(?:py|md|txt|json|ya?ml|toml|js|ts|tsx|go|rs|c|h|cpp|java|sh|sql|html|css|csv|log|lock|cfg|ini)\b)"
    r"|(?P<figure>(?<![\w.])\d[\d.,:]{2,}\d(?!\w))"
)
_BLANKS = re.compile(r"\s+")
_NUMBERED = re.compile(r"^\s*\d+[.)]\s*", re.MULTILINE)


def hallucinated_references(summary: str, source: str) -> tuple[str, ...]:
    """The things that the summary names exactly and that the source does not hold, at most a dozen."""
    known = _plain(source)
    missing = (name for name in _names(_NUMBERED.sub("", summary)) if _plain(name) not in known)
    return tuple(dict.fromkeys(missing))[:MAX_NAMED]


def _names(text: str) -> Iterator[str]:
    for match in _NAMED.finditer(text):
        name = next(group for group in match.groups() if group)
        if name != "[REDACTED]":
            yield name


def _plain(text: str) -> str:
    """Without what a summary may write differently: blanks, the case, separators of thousands, quotes."""
    return _BLANKS.sub(" ", text).lower().replace(",", "").replace('"', "'").replace("\\", "").strip(" .'")
