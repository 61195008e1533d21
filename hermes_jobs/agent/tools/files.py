"""The tools that read and write one file: in pages, whole, or a part of it; always atomically."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH103, PTH119, PTH120

from __future__ import annotations

import contextlib
import difflib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hermes_jobs.agent.tools.paging import DEFAULT_LINES, page, page_room, refuse_binary
from hermes_jobs.agent.tools.path_policy import PathPolicy, open_verified, verify_opened
from hermes_jobs.agent.tools.terminal import check_workdir
from hermes_jobs.agent.tools.tool import Arguments, Guard, Tool, ToolFailed, tool
from hermes_jobs.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.text.patch import patched
from hermes_jobs.text.plural import pluralize

LISTED = 40  # names shown of a folder
MAX_PATCHED_BYTES = 20 * 1024 * 1024


KeptFile = Callable[[str], Path | None]
"""The file with the whole result of a call; None if there is none."""


def nothing_kept(call: str) -> Path | None:  # noqa: ARG001 - a `KeptFile`
    """The `KeptFile` of an installation without any."""
    return None


class Files:
    """Files inside the roots.

    `write_file` is of effect `write`: repeated it gives the same file, but what somebody changed in it
    meanwhile would be lost. `patch_file` may fit again into what it has changed.
    """

    def __init__(self, paths: PathPolicy, kept: KeptFile = nothing_kept) -> None:
        """`kept` finds the file of a large result by its call."""
        self._paths = paths
        self._kept = kept

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""
        reads, writes = self._guard(writes=False), self._guard(writes=True)
        writing = tool(toolset="files", effect="write", writes=_path, guard=writes)
        return (
            tool(toolset="files", effect="read", reads=_path, guard=reads)(self.read_file),
            writing(self.write_file),
            writing(self.patch_file),
        )

    def _guard(self, *, writes: bool) -> Guard:
        return lambda arguments, context: self._paths.verdict(arguments["path"], context, writes=writes)

    def read_file(
        self,
        context: ToolContext,
        path: Annotated[str, "Path of the file, absolute or from the working folder."],
        offset: Annotated[int, Meta(ge=1, description="First line to read; 1 is the first.")] = 1,
        limit: Annotated[int, Meta(ge=1, description="Most lines to read.")] = DEFAULT_LINES,
        column: Annotated[
            int, Meta(ge=1, description="First character to read of the first line, for very long lines.")
        ] = 1,
    ) -> ToolOutcome:
        """Read a text file, a page at a time: at most 50,000 characters a call, fewer in a small window.

        The first line of the answer says which lines follow and how to go on; the text follows as it is.
        """
        check_workdir(context.workdir)
        real = self._paths.to_read(self._kept_file(path, context.workdir) or path, context.workdir)
        self._paths.check_approved(real, context, writes=False)
        with os.fdopen(_opened(path, real), "rb") as file:
            content = page(file, path, offset, limit, column, room=page_room(context))
            return ToolOutcome(content=content, source=path)

    def _kept_file(self, path: str, workdir: str) -> str | None:
        """The file behind `results/CALL.txt`, as a large result's stand-in names it on every host."""
        named = Path(path)
        if named.parent != Path("results") or named.suffix != ".txt" or (Path(workdir) / named).exists():
            return None
        kept = self._kept(named.stem)
        return None if kept is None else str(kept)

    def write_file(
        self,
        context: ToolContext,
        path: Annotated[str, "Path of the file, absolute or from the working folder."],
        content: Annotated[str, "The whole new content."],
    ) -> str:
        """Write a file whole, replacing what was there; missing folders are made.

        Readers see the old content or the new one, never a part.
        """
        check_workdir(context.workdir)
        real = self._paths.to_write(path, context.workdir)
        self._paths.check_approved(real, context, writes=True)
        data = content.encode()
        try:
            replaced = _replace(real, data)
        except OSError as error:
            raise ToolFailed(f"{path} cannot be written: {error.strerror}. It is as it was.") from error
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        done = "Replaced" if replaced else "Created"
        return f"{done} {path}: {pluralize(len(data), 'byte')}, {pluralize(lines, 'line')}."

    def patch_file(
        self,
        context: ToolContext,
        path: Annotated[str, "Path of the file, absolute or from the working folder."],
        old_string: Annotated[str, Meta(min_length=1, description="The text to replace, exactly as it is.")],
        new_string: Annotated[str, "What stands there instead; empty to delete it."],
        replace_all: Annotated[bool, "Replace every occurrence instead of the only one."] = False,
    ) -> str:
        """Replace a text in a file; everything else, line endings included, stays as it is.

        old_string must occur exactly once, unless replace_all is set: give enough of what is around it.
        """
        check_workdir(context.workdir)
        real = self._paths.to_write(path, context.workdir)
        self._paths.check_approved(real, context, writes=True)
        with os.fdopen(_opened(path, real), "rb") as file:
            seen = os.fstat(file.fileno())
            if seen.st_size > MAX_PATCHED_BYTES:
                raise ToolFailed(f"{path} is too large to be patched: {seen.st_size:,} bytes. Use `sed`.")
            refuse_binary(file, path, seen.st_size)
            # Bytes that are no UTF-8 come through as they were.
            text = file.read().decode(errors="surrogateescape")
        done = patched(text, old_string, new_string, replace_all=replace_all)
        try:
            _replace(real, done.text.encode(errors="surrogateescape"), seen)
        except OSError as error:
            raise ToolFailed(f"{path} cannot be written: {error.strerror}. It is as it was.") from error
        except UnicodeEncodeError:
            raise ToolFailed("new_string holds a character that UTF-8 cannot write.") from None
        places = pluralize(done.count, "place")
        return f"Changed {path} in {places}:\n{done.diff}".encode(errors="replace").decode()


def _path(arguments: Arguments) -> tuple[str, ...]:
    return (arguments["path"],)


def _opened(path: str, real: str) -> int:
    """The descriptor of the regular file at a checked path. Raises `ToolFailed`."""
    try:
        descriptor = open_verified(real)
    except FileNotFoundError:
        raise ToolFailed(_missing(path, real)) from None
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror}.") from error
    try:
        _refuse_irregular(descriptor, path, real)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_irregular(descriptor: int, path: str, real: str) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise ToolFailed(_is_folder(path, real))
    if not stat.S_ISREG(mode):
        raise ToolFailed(f"{path} is no regular file but a device, pipe or socket.")


def _replace(real: str, data: bytes, seen: os.stat_result | None = None) -> bool:
    """Put the data in the place of the file, on the disk when this returns; whether there was one before.

    `seen` is the file that the data was made from. Raises `OSError`, and `ToolFailed` for what is no regular
    file or has changed since it was seen.
    """
    folder, name = os.path.split(real)
    os.makedirs(folder, exist_ok=True)
    with _opened_folder(folder) as at:
        before = _status(name, at)
        if before is not None and not stat.S_ISREG(before.st_mode):
            kind = "a folder" if stat.S_ISDIR(before.st_mode) else "no regular file"
            raise ToolFailed(f"{real} is {kind}: it cannot be written.")
        temporary = f".{secrets.token_hex(8)}.tmp"  # not after the file, whose name may be as long as can be
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=at)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if before is not None:
                    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            if seen is not None:
                _refuse_changed(_status(name, at), seen, real)
            os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=at)
            raise
        os.fsync(at)
    return before is not None


@contextlib.contextmanager
def _opened_folder(folder: str) -> Iterator[int]:
    """The folder by a descriptor, so that it stays the one that was checked."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        verify_opened(at, folder)
        yield at
    finally:
        os.close(at)


def _status(name: str, at: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _refuse_changed(now: os.stat_result | None, seen: os.stat_result, real: str) -> None:
    """Raise `ToolFailed` unless it is still the file that was seen, unchanged."""
    if now is None or any(
        getattr(now, each) != getattr(seen, each) for each in ("st_dev", "st_ino", "st_size", "st_mtime_ns")
    ):
        raise ToolFailed(f"{real} was changed by somebody else meanwhile. Read it again.")


def _missing(path: str, real: str) -> str:
    folder = os.path.dirname(real)
    names = _names(folder)
    if names is None:
        return f"{path} does not exist, nor does its folder {folder}."
    nearest = difflib.get_close_matches(os.path.basename(real), names, n=5, cutoff=0.4)
    there = f"Nearest in that folder: {', '.join(nearest)}." if nearest else _listing(names)
    return f"{path} does not exist. {there}"


def _is_folder(path: str, real: str) -> str:
    return f"{path} is a folder. {_listing(_names(real) or [])}"


def _listing(names: list[str]) -> str:
    if not names:
        return "The folder is empty."
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"It holds: {', '.join(names[:LISTED])}{more}."


def _names(folder: str) -> list[str] | None:
    try:
        with os.scandir(folder) as entries:
            return sorted(each.name + "/" * each.is_dir(follow_symlinks=False) for each in entries)
    except OSError:
        return None
