"""The text of a message that is searched and quoted: its content and its tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec


def searchable_text(content: str, calls: Iterable[tuple[str, str]]) -> str:
    """The content, then each call's name and arguments in brackets on a separate line."""
    lines = [content] if content else []
    lines.extend(f"[{f'{name} {_readable(arguments)}'.rstrip()}]" for name, arguments in calls)
    return "\n".join(lines)


def _readable(arguments: str) -> str:
    """Arguments without JSON's escapes, which would join words; unchanged if they are not JSON."""
    try:
        return " ".join(_values(msgspec.json.decode(arguments)))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return arguments


def _values(value: object) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                yield f"{name}:"
                yield from _values(item)
        case list():
            for item in value:
                yield from _values(item)
        case str():
            yield value
        case _:
            yield msgspec.json.encode(value).decode()
