"""The diff of a changed file, or why there is none."""

from __future__ import annotations

import msgspec

from hermes_jobs.features.snapshots.store import format_size
from hermes_jobs.kernel.events import FileState
from hermes_jobs.text.diff import changed_lines, file_diff

MAX_DIFFED_BYTES = 4 * 1024 * 1024


class FileDiff(msgspec.Struct, frozen=True):
    """The lines of a unified diff; or none, and `note` has the reason in parentheses."""

    lines: tuple[str, ...]
    added: int = 0
    removed: int = 0
    note: str = ""


def diff_of(
    path: str,
    before: tuple[FileState | None, bytes | None],
    after: tuple[FileState | None, bytes | None],
    *,
    protected: bool = False,
) -> FileDiff:
    """The diff from one state and its content to another; `path` is the name in its head.

    A state None: there is no file. A content None beside a state: unknown.
    """
    if protected:
        return FileDiff((), note="(it holds keys or passwords: not shown)")
    for state, content in (before, after):
        if state is not None and content is None:
            return FileDiff((), note=f"(what it was is not kept: {state.not_kept or 'no longer there'})")
    old, new = (None if content is None else _text(content) for _, content in (before, after))
    if (old is None and before[0] is not None) or (new is None and after[0] is not None):
        sizes = ["no file" if state is None else format_size(state.size) for state, _ in (before, after)]
        return FileDiff((), note=f"(not text, or too large to compare: {sizes[0]}, then {sizes[1]})")
    lines = file_diff(path, old, new)
    added, removed = changed_lines(lines)
    return FileDiff(tuple(lines), added, removed, "" if lines else "(the same content)")


def _text(content: bytes) -> str | None:
    """The content as text; None if it is binary or too large to be compared."""
    if len(content) > MAX_DIFFED_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
