"""State by entity: the files, commands, decisions and open ends of a summarised history.

Files and commands are extracted from the recorded tool calls, by rules; decisions and open ends come from the
summariser. Of results only the outcome is stored, never their text, which is untrusted.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

import msgspec

from hermes_jobs.features.compression.message_groups import NO_RESULT
from hermes_jobs.features.compression.prune import ending
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, head, token_weight

MAX_LINE = 400  # ASCII characters of an entry
MAX_TOOLS = 4  # tools named beside a file
READERS = frozenset({"read_file"})
"""Tools with a `path` that do not change the file."""
FINDERS = frozenset({"search_files"})
"""Tools whose `path` is a place to search."""
OK = "ok"

_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"^\s*(?:(?:[-*•#]+|\d+[.)])\s+)+")


class FileTouched(msgspec.Struct, frozen=True):
    """A file, the tools that used it in the order of their first use, and the outcome of the last call
    that may have changed it, else of the last read."""

    path: str
    tools: tuple[str, ...]
    outcome: str

    @property
    def is_changed(self) -> bool:
        """Whether a tool other than reading was used."""
        return not READERS.issuperset(self.tools)


class CommandState(msgspec.Struct, frozen=True):
    """A command, and the outcome of its last run."""

    command: str
    outcome: str

    @property
    def has_failed(self) -> bool:
        """Whether the last run did not succeed."""
        return not self.outcome.startswith(OK)


class EntityState(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of each kind, the newest first, each at most once."""

    open_ends: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    commands: tuple[CommandState, ...] = ()
    files: tuple[FileTouched, ...] = ()


EMPTY_STATE = EntityState()
HEADINGS = {
    "open_ends": "# Open ends",
    "decisions": "# Decisions, the newest first",
    "commands": "# Commands, with the last outcome",
    "files": "# Files, with the tools that touched them and the last outcome",
}


# --- extraction ----------------------------------------------------------------------


def observe(messages: Iterable[Message], redact: Callable[[str], str]) -> EntityState:
    """The files and commands of the calls that have their results among the messages."""
    calls: dict[str, ToolCall] = {}
    state = EMPTY_STATE
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.update({call.id: call for call in message.tool_calls})
        elif isinstance(message, ToolMessage) and (call := calls.get(message.tool_call)) is not None:
            state = merge(state, _entry(call, message, redact))
    return state


def merge(old: EntityState, new: EntityState) -> EntityState:
    """Both, newest first; open ends are those of `old`."""
    files = {file.path: file for file in old.files}
    commands = {command.command for command in new.commands}
    return EntityState(
        open_ends=old.open_ends,
        decisions=distinct((*new.decisions, *old.decisions)),
        commands=(*new.commands, *(command for command in old.commands if command.command not in commands)),
        files=(
            *(_again(files.pop(file.path, None), file) for file in new.files),
            *files.values(),
        ),
    )


def _again(before: FileTouched | None, now: FileTouched) -> FileTouched:
    if before is None:
        return now
    tools = tuple(dict.fromkeys((*before.tools, *now.tools)))
    newest = before if before.is_changed and not now.is_changed else now
    return FileTouched(now.path, tools[:MAX_TOOLS], newest.outcome)


def _entry(call: ToolCall, result: ToolMessage, redact: Callable[[str], str]) -> EntityState:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return EMPTY_STATE
    if not isinstance(arguments, dict):
        return EMPTY_STATE
    path, command = arguments.get("path"), arguments.get("command")
    text = _outcome(result)
    if call.name == "terminal" and isinstance(command, str):
        how = f"{OK}, in the background" if arguments.get("background") and text.startswith(OK) else text
        return _of_command(entry_text(redact(command)), how)
    if call.name not in FINDERS and isinstance(path, str):
        return _of_file(redact(path).strip(), call.name, text)
    return EMPTY_STATE


def _of_command(command: str, result: str) -> EntityState:
    return EntityState(commands=(CommandState(command, result),)) if command else EMPTY_STATE


def _of_file(path: str, tool: str, result: str) -> EntityState:
    """A path of more than a line is omitted: half of one names another file."""
    if not path or path != entry_text(path):
        return EMPTY_STATE
    return EntityState(files=(FileTouched(posixpath.normpath(path), (tool,), result),))


def _outcome(result: ToolMessage) -> str:
    if result.content == NO_RESULT:
        return "its result was not kept"
    text, _ = ending(result.name, result.content)
    text = text.replace(": ", ", ")
    return "failed" if result.failed and text.startswith(OK) else text


def entry_text(text: str) -> str:
    """The text as one line, cut to the length of an entry."""
    line = _BLANKS.sub(" ", text).strip()
    return line if token_weight(line) <= MAX_LINE else f"{head(line, MAX_LINE - 3).rstrip()}…"


def without_mark(line: str) -> str:
    """The line without the marks of a list or a heading before it."""
    return _MARKS.sub("", line)


def plain(line: str) -> str:
    """The key by which lines are compared: the words, without marks, case and final punctuation."""
    return _BLANKS.sub(" ", without_mark(line)).casefold().strip(" .;,*_`")


def distinct(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines without empty ones and repetitions."""
    unique: dict[str, str] = {}
    for line in lines:
        unique.setdefault(plain(line), line)
    unique.pop("", None)
    return tuple(unique.values())


def count(state: EntityState) -> int:
    """The number of entries of all kinds."""
    return len(state.open_ends) + len(state.decisions) + len(state.commands) + len(state.files)


# --- as text --------------------------------------------------------------------------------------


def fit(state: EntityState, limit: int) -> EntityState:
    """The entries that fit into `limit` tokens: of each kind in turn the newest, open and failed ones
    first."""
    failed = [command for command in state.commands if command.has_failed]
    others = [command for command in state.commands if not command.has_failed]
    changed = [file for file in state.files if file.is_changed]
    read = [file for file in state.files if not file.is_changed]
    kinds: tuple[tuple[str, Sequence[str | CommandState | FileTouched]], ...] = (
        ("open_ends", state.open_ends),
        ("commands", failed),
        ("files", changed),
        ("decisions", state.decisions),
        ("commands", others),
        ("files", read),
    )
    in_turn = chain.from_iterable(zip_longest(*([(kind, item) for item in items] for kind, items in kinds)))
    remaining, included = limit * CHARACTERS_A_TOKEN, set[tuple[str, str | CommandState | FileTouched]]()
    headed = set[str]()
    for entry in filter(None, in_turn):
        kind, value = entry
        remaining -= token_weight(line_of(value)) + 1
        remaining -= 0 if kind in headed else token_weight(HEADINGS[kind]) + 2
        if remaining < 0:
            break
        headed.add(kind)
        included.add(entry)
    return EntityState(
        open_ends=tuple(open_end for open_end in state.open_ends if ("open_ends", open_end) in included),
        decisions=tuple(decision for decision in state.decisions if ("decisions", decision) in included),
        commands=tuple(command for command in state.commands if ("commands", command) in included),
        files=tuple(file for file in state.files if ("files", file) in included),
    )


def line_of(entry: str | CommandState | FileTouched) -> str:
    """The entry as a line of a summary."""
    match entry:
        case CommandState():
            return f"- {entry.outcome}: {entry.command}"
        case FileTouched():
            return f"- {', '.join(entry.tools)}; {entry.outcome}: {entry.path}"
        case _:
            return f"- {entry}"


def render(state: EntityState) -> Iterator[str]:
    """A block of lines for each kind with entries."""
    kinds: Sequence[Sequence[str | CommandState | FileTouched]] = (
        state.open_ends,
        state.decisions,
        state.commands,
        state.files,
    )
    for heading, items in zip(HEADINGS.values(), kinds, strict=True):
        if items:
            yield "\n".join((heading, *(line_of(item) for item in items)))


def parse(blocks: Mapping[str, Sequence[str]]) -> EntityState:
    """Parse the entries below each heading; other lines are ignored."""
    items = {
        kind: [line[2:] for line in blocks.get(heading, ()) if line.startswith("- ")]
        for kind, heading in HEADINGS.items()
    }
    return EntityState(
        open_ends=distinct(items["open_ends"]),
        decisions=distinct(items["decisions"]),
        commands=tuple(CommandState(what, how) for how, what in _pairs(items["commands"])),
        files=tuple(
            FileTouched(what, tuple(tools.split(", ")), outcome)
            for how, what in _pairs(items["files"])
            for tools, _, outcome in [how.partition("; ")]
        ),
    )


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Outcome and subject; of the same subject the first."""
    seen_keys = set[str]()
    for line in lines:
        how, _, what = line.partition(": ")
        if what and what not in seen_keys:
            seen_keys.add(what)
            yield how, what
