"""The tools that read and write one file: in pages, as a whole, or a part of it; always atomically."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH119, PTH120

from __future__ import annotations

import difflib
import fnmatch
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hermes_jobs.errors import Rejected
from hermes_jobs.features.snapshots.diffs import diff_of
from hermes_jobs.features.snapshots.file_writer import NO_SNAPSHOTS, FileWriter, Replaced
from hermes_jobs.features.snapshots.store import SnapshotStore
from hermes_jobs.kernel.engine.ports import Cancel, Documents, ToolContext, ToolOutcome
from hermes_jobs.kernel.events import CallPattern, FileWritten
from hermes_jobs.text.diff import bounded
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.patch import patched
from hermes_jobs.tools.folder_guard import accept
from hermes_jobs.tools.media_files import Wanted, has_media, read_media
from hermes_jobs.tools.path_policy import PathPolicy, open_verified, verify_opened
from hermes_jobs.tools.sensitive_paths import SECRETS
from hermes_jobs.tools.terminal import check_workdir
from hermes_jobs.tools.text_form import TextForm
from hermes_jobs.tools.text_pages import DEFAULT_LINES, page, page_room, refuse_binary
from hermes_jobs.tools.tool import Arguments, CallRules, Guard, Tool, ToolFailed, ToolRefused, tool

LISTED = 40  # names shown of a folder
FORM_BYTES = 65_536  # of a file, read to see how it is written
MAX_PATCHED_BYTES = 20 * 1024 * 1024


StoredFile = Callable[[str], Path | None]
"""The file with the whole result of a call; None if there is none."""


def no_stored_file(call: str) -> Path | None:  # noqa: ARG001 - a `StoredFile`
    """A `StoredFile` that finds none."""
    return None


class Files:
    """Files inside the roots.

    `write_file` has the effect `write`: a repetition gives the same file, but loses changes made
    meanwhile. `patch_file` may match its own result again.
    """

    def __init__(
        self,
        paths: PathPolicy,
        stored_file: StoredFile = no_stored_file,
        snapshots: SnapshotStore = NO_SNAPSHOTS,
        documents: Documents | None = None,
    ) -> None:
        """`stored_file` finds the file of a large result by its call; `snapshots` stores replaced texts.
        `documents` reads PDF; without it, only texts are read."""
        self._paths = paths
        self._stored_file = stored_file
        self._snapshots = snapshots
        self._documents = documents
        self._writer = FileWriter(snapshots, verify_opened)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The family's tools."""
        reads, writes = self._guard(writes=False), self._guard(writes=True)
        paths = self._paths
        editing = PathRules(paths, "edit", writes=True)
        writing = tool(toolset="files", effect="write", writes=path_of, guard=writes, rules=editing)
        reading = PathRules(paths, "read", writes=False)
        return (
            tool(toolset="files", effect="read", reads=path_of, guard=reads, rules=reading)(self.read_file),
            writing(self.write_file),
            writing(self.patch_file),
        )

    def _guard(self, *, writes: bool) -> Guard:
        return lambda arguments, context: self._paths.verdict(arguments["path"], context, writes=writes)

    def read_file(  # noqa: PLR0913, PLR0917 - what a model may ask for
        self,
        context: ToolContext,
        cancel: Cancel,
        path: Annotated[str, "Absolute, or relative to the working folder."],
        offset: Annotated[int, Meta(ge=1, description="First line, counted from 1.")] = 1,
        limit: Annotated[int, Meta(ge=1, description="Most lines.")] = DEFAULT_LINES,
        column: Annotated[
            int, Meta(ge=1, description="First character of that line, where it is very long.")
        ] = 1,
        pages: Annotated[str, "Of a PDF document: 3, 3-4 or 3-."] = "",
        as_images: Annotated[bool, "See the pages of a PDF document, at most 5 per call."] = False,
    ) -> ToolOutcome:
        """Read a text file, the text of a PDF document, or see a picture.

        At most 50,000 characters per call, fewer in a small context window. The first line of the result says
        which lines or pages follow and how to continue.
        """
        check_workdir(context.workdir)
        real = self._paths.to_read(self._kept_file(path, context.workdir) or path, context.workdir)
        self._paths.check_approved(real, context, writes=False)
        with os.fdopen(opened_file(path, real), "rb") as file:
            if self._documents is not None and has_media(file):
                wanted = Wanted(pages, as_images, page_room(context))
                return read_media(file, path, wanted, self._documents, cancel)
            content = page(file, path, offset, limit, column, limit_chars=page_room(context))
            return ToolOutcome(content=content, source=path)

    def _kept_file(self, path: str, workdir: str) -> str | None:
        """The file for `results/CALL.txt`, its name in the preview of a large result on every host, or for a
        picture there."""
        named_path = Path(path)
        if (
            named_path.parent != Path("results")
            or not named_path.suffix
            or (Path(workdir) / named_path).exists()
        ):
            return None
        stored = self._stored_file(named_path.stem if named_path.suffix == ".txt" else named_path.name)
        return None if stored is None else str(stored)

    def write_file(
        self,
        context: ToolContext,
        path: Annotated[str, "Absolute, or relative to the working folder."],
        content: str,
    ) -> ToolOutcome:
        """Write a complete file, atomically, replacing an existing one; missing folders are created."""
        check_workdir(context.workdir)
        real = self._paths.to_write(path, context.workdir)
        self._paths.check_approved(real, context, writes=True)
        form = _form_of(real)
        kept, said = form.kept(content)
        data = kept.encode()
        replaced = self._replace(path, real, data, context)
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        what = "Created" if replaced.change.before is None else "Replaced"
        answer = f"{what} {path}: {pluralize(len(data), 'byte')}, {pluralize(lines, 'line')}."
        return ToolOutcome(content=answer + said, events=(self._written(replaced, data, path, context),))

    def patch_file(
        self,
        context: ToolContext,
        path: Annotated[str, "Absolute, or relative to the working folder."],
        old_string: Annotated[str, Meta(min_length=1, description="The exact text.")],
        new_string: Annotated[str, "Empty deletes the text."],
        replace_all: bool = False,
    ) -> ToolOutcome:
        """Replace a text in a file; all else, including line endings, stays unchanged.

        old_string must occur once unless replace_all is set: include enough of the surrounding text.
        """
        check_workdir(context.workdir)
        real = self._paths.to_write(path, context.workdir)
        self._paths.check_approved(real, context, writes=True)
        with os.fdopen(opened_file(path, real), "rb") as file:
            expected = os.fstat(file.fileno())
            if expected.st_size > MAX_PATCHED_BYTES:
                raise ToolFailed(f"{path} is too large to be patched: {expected.st_size:,} bytes. Use `sed`.")
            refuse_binary(file, path, expected.st_size)
            # Bytes that are not UTF-8 come through as they were.
            text = file.read().decode(errors="surrogateescape")
        patch = patched(text, old_string, new_string, replace_all=replace_all)
        try:
            data = patch.text.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            raise ToolFailed("new_string holds a character that UTF-8 cannot write.") from None
        change = self._replace(path, real, data, context, expected)
        answer = f"Changed {path} in {pluralize(patch.count, 'place')}:\n{patch.diff}"
        return ToolOutcome(
            content=answer.encode(errors="replace").decode(),
            events=(self._written(change, data, path, context),),
        )

    def _replace(
        self, path: str, real: str, data: bytes, context: ToolContext, expected: os.stat_result | None = None
    ) -> Replaced:
        """Write the file, after storing the planned change."""
        store = self._snapshots
        try:
            replaced = self._writer.replace(
                real, data, expected=expected, planned=lambda change: store.plan(context.call, change)
            )
        except OSError as error:
            raise ToolFailed(f"{path} cannot be written: {error.strerror}. It is as it was.") from error
        except Rejected as rejection:
            raise ToolFailed(rejection.message) from rejection
        finally:
            store.prune_if_due(time.time())
        if replaced.change.before is None:
            self._check_written(real, context)
        return replaced

    def _check_written(self, real: str, context: ToolContext) -> None:
        """Remove a new file that, with one of another call at the same time, runs by itself."""
        try:
            self._paths.check_approved(real, context, writes=True)
        except ToolRefused:
            os.unlink(real)  # noqa: PTH108
            raise

    def _written(self, replaced: Replaced, data: bytes, path: str, context: ToolContext) -> FileWritten:
        change = replaced.change
        kind = self._paths.kind(change.path)
        protected = kind in SECRETS
        if self._paths.kind_written(change.path) == "startup":
            accept(self._paths.home, change.path)
        diff = diff_of(path, (change.before, replaced.old), (change.after, data), protected=protected)
        return FileWritten(
            turn=context.turn,
            call=context.call,
            change=change,
            host=socket.gethostname(),
            added=diff.added,
            removed=diff.removed,
            diff=diff.note or bounded(diff.lines),
            protected=protected,
        )


class PathRules(CallRules):
    """Rules for file tools: a path relative to the rule's folder, with `*` for any part of it."""

    def __init__(self, paths: PathPolicy, group: str, *, writes: bool) -> None:
        self.group = group
        self._paths = paths
        self._writes = writes

    def is_named(self, calls: CallPattern, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.is_named`. A search in a folder also reads the files below it."""
        real, pattern = self._compared(calls, arguments, context)
        begins = re.split(r"[*?[]", pattern)[0]
        below = not self._writes and begins.startswith(real.rstrip(os.sep) + os.sep)
        return below or self._is_meant(calls, arguments, context)

    def _is_meant(self, calls: CallPattern, arguments: Arguments, context: ToolContext) -> bool:
        """Whether the pattern matches the path itself."""
        real, pattern = self._compared(calls, arguments, context)
        anything = calls.pattern == "*" and not calls.folder
        return anything or (real == pattern if calls.exact else fnmatch.fnmatchcase(real, pattern))

    def _compared(self, calls: CallPattern, arguments: Arguments, context: ToolContext) -> tuple[str, str]:
        """The real paths of the call and of the pattern, which begins in the rule's folder."""
        folder = os.path.realpath(calls.folder or context.workdir)
        return self._paths.real(arguments["path"], context.workdir), self._paths.real(calls.pattern, folder)

    def allowed_by(
        self, patterns: Sequence[CallPattern], arguments: Arguments, context: ToolContext
    ) -> tuple[CallPattern, ...]:
        """See `CallRules.allowed_by`. Keys, passwords and startup files are approved one at a time."""
        if self.is_always_asked(arguments, context):
            return ()
        return tuple(pattern for pattern in patterns if self._is_meant(pattern, arguments, context))[:1]

    def offer(self, tool: str, arguments: Arguments, context: ToolContext) -> CallPattern | None:
        """See `CallRules.offer`: all files of the folder, without those that are protected."""
        if self.is_always_asked(arguments, context):
            return None
        return CallPattern(tool=self.group, pattern="*", folder=os.path.realpath(context.workdir))

    def is_always_asked(self, arguments: Arguments, context: ToolContext) -> bool:
        """See `CallRules.is_always_asked`."""
        return self._paths.verdict(arguments["path"], context, writes=self._writes).decision != "allow"


def path_of(arguments: Arguments) -> tuple[str, ...]:
    """The path that a call names."""
    return (arguments["path"],)


def opened_file(path: str, real: str) -> int:
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
        raise ToolFailed(f"{path} is not a regular file but a device, pipe or socket.")


def _missing(path: str, real: str) -> str:
    folder = os.path.dirname(real)
    names = _names(folder)
    if names is None:
        return f"{path} does not exist, nor does its folder {folder}."
    nearest = difflib.get_close_matches(os.path.basename(real), names, n=5, cutoff=0.4)
    there = f"Nearest in that folder: {', '.join(map(_shown, nearest))}." if nearest else _listing(names)
    return f"{path} does not exist. {there}"


def _is_folder(path: str, real: str) -> str:
    return f"{path} is a folder. {_listing(_names(real) or [])}"


def _listing(names: list[str]) -> str:
    if not names:
        return "The folder is empty."
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"It holds: {', '.join(map(_shown, names[:LISTED]))}{more}."


def _shown(name: str) -> str:
    """A name with characters that are not seen, or look like a plain blank, as escapes; bytes that are no
    text are left to who stores it."""
    return "".join(c if c == " " or _is_seen(c) else ascii(c)[1:-1] for c in name)


def _is_seen(character: str) -> bool:
    is_byte = "\ud800" <= character <= "\udfff"
    return is_byte or (character.isprintable() and not character.isspace())


def _names(folder: str) -> list[str] | None:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name + "/" * entry.is_dir(follow_symlinks=False) for entry in entries)
    except OSError:
        return None


def _form_of(real: str) -> TextForm:
    """The form of the file there; that of a new one where it cannot be read."""
    try:
        with os.fdopen(opened_file(real, real), "rb") as file:
            return TextForm.of(file.read(FORM_BYTES))
    except (OSError, ToolFailed):
        return TextForm()
