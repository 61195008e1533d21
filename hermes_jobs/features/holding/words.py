"""A held call in words: what it would do, in few words and in full."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.reviews import MAX_SAVED_WORDS, MEMORY_TOOL, SKILL_TOOL, saved_by
from hermes_jobs.text.clip import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.holding.tables import HeldView

SCHEDULE_TOOL = "schedule"
_DESCRIPTION = re.compile(r"^description:[ \t]*(.+)$", re.MULTILINE)

Arguments = Mapping[str, object]


def about(held: HeldView) -> str:
    """A few words about what the call would do."""
    arguments = _arguments(held)
    if arguments and held.tool == SCHEDULE_TOOL:
        return _in_words("schedule", arguments, _of_schedule(arguments))
    if arguments and held.tool == SKILL_TOOL:
        return _in_words("skill", arguments, _of_skill(arguments))
    return saved_by(ToolCall("", held.tool, held.arguments))


def whole(held: HeldView) -> str:
    """The arguments of the call: texts as they are, other values as JSON; as it was made if they are none."""
    arguments = _arguments(held)
    if arguments is None:
        return held.arguments
    shown = {
        name: value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value)).decode()
        for name, value in arguments.items()
    }
    return "\n".join(
        f"{name}:\n{value}" if "\n" in value else f"{name}: {value}" for name, value in shown.items()
    )


def replaced(application: Application, held: HeldView) -> tuple[str, ...]:
    """The entries of the memory that the call would remove or replace, as they are; those that are there."""
    if held.tool != MEMORY_TOOL:
        return ()
    memory = application.memory.preview().memory
    return tuple(
        entry
        for target, text in _removed(_arguments(held) or {})
        for entry in _only(memory.user if target == "user" else memory.memory, text)
    )


def _arguments(held: HeldView) -> Arguments | None:
    try:
        return msgspec.json.decode(held.arguments, type=dict[str, object])
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def _in_words(what: str, arguments: Arguments, words: Sequence[str]) -> str:
    text = one_line(": ".join(filter(None, words)), MAX_SAVED_WORDS)
    action = _text(arguments, "action")
    return " ".join(filter(None, (what, action, f'"{text}"' if text else "")))


def _of_schedule(arguments: Arguments) -> Sequence[str]:
    if _text(arguments, "action") == "add":
        return _text(arguments, "when"), _text(arguments, "task")
    return (_text(arguments, "schedule"),)


def _of_skill(arguments: Arguments) -> Sequence[str]:
    """Its name, the file unless it is SKILL.md, and what is in it then: its description, or the new text."""
    content = _text(arguments, "content") or _text(arguments, "file_content")
    described = _DESCRIPTION.search(content)
    new = _text(arguments, "new_string") or (described[1] if described else "")
    return _text(arguments, "name"), _text(arguments, "file_path"), new


def _removed(arguments: Arguments) -> Iterator[tuple[str, str]]:
    """The target and the text of each entry that goes."""
    operations = arguments.get("operations")
    whole_target = _text(arguments, "target")
    for each in operations if isinstance(operations, list) and operations else [arguments]:
        if isinstance(each, dict) and (text := _text(each, "old_text").strip()):
            yield _text(each, "target") or whole_target, text


def _only(entries: Sequence[str], text: str) -> Sequence[str]:
    """The only entry that has the text, as the tool finds it."""
    found = [text] if text in entries else [entry for entry in entries if text in entry]
    return found if len(found) == 1 else ()


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""
