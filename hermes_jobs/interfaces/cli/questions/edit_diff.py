"""What a call would do, whole and without colours: the command that it runs, or the diff of its edit."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.streams.approval_rules import COMMANDS
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.system.regular_file import opened
from hermes_jobs.text.diff import file_diff
from hermes_jobs.text.patch import patched

MAX_READ = 4 * 1024 * 1024  # bytes of a file in a diff


def command_of(call: ToolCall) -> str:
    """The command that the call runs; empty for other calls."""
    command = arguments_of(call).get("command")
    return command if call.name == COMMANDS and isinstance(command, str) else ""


def diff_of(call: ToolCall, folder: str) -> list[str]:
    """The diff of an edit, if this process can read the file; else none."""
    before, after = edited_texts(call, folder)
    return file_diff(str(arguments_of(call)["path"]), before, after) if after is not None else []


def edited_texts(call: ToolCall, folder: str) -> tuple[str | None, str | None]:
    """The file's text before an edit, None where there is none, and after it, None where it is unknown."""
    arguments = arguments_of(call)
    path = arguments.get("path")
    if call.name not in {"write_file", "patch_file"} or not isinstance(path, str):
        return None, None
    before = _content(Path(folder, path).expanduser())
    try:
        return before, _after(before, arguments)
    except Rejected:
        return before, None


def arguments_of(call: ToolCall) -> dict[str, object]:
    """The arguments of a call; none where they are not a JSON object."""
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}


def _content(path: Path) -> str | None:
    """The text of a file; None if it is missing or cannot be shown."""
    try:
        with opened(str(path)) as file:
            content = file.read(MAX_READ + 1)
        text = content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError):
        return None
    return text if len(content) <= MAX_READ else None


def _after(before: str | None, arguments: dict[str, object]) -> str | None:
    """The text after the edit; None if unknown. Raises `Rejected`."""
    content, old, new = (arguments.get(name) for name in ("content", "old_string", "new_string"))
    if isinstance(content, str):
        return content
    if before is None or not isinstance(old, str) or not isinstance(new, str):
        return None
    return patched(before, old, new, replace_all=arguments.get("replace_all") is True).text
