"""The memory of a home: its files are derived from the log, and users' edits become events."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from hermes_jobs.features.memory.events import MemoryEvent, MemoryTarget
from hermes_jobs.features.memory.files import NAMES, FileText, MemoryFiles, UnusableFile
from hermes_jobs.features.memory.rules.entries import Entry, Recorded, entries_with_history
from hermes_jobs.features.memory.rules.import_edits import Entries, digest_of, import_edits
from hermes_jobs.features.memory.rules.memory import (
    STREAM,
    TARGETS,
    Memory,
    entries_of,
    fold,
    states_at,
    text_of,
)
from hermes_jobs.folders.hand_edits import Content
from hermes_jobs.folders.history import FileHistory, StoredText
from hermes_jobs.folders.marks import Mark
from hermes_jobs.folders.sync import HAND_EDIT, SyncedFolder
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.text.moments import iso

EMPTY = "\n"  # reads of an empty file cannot be detected
ROUNDS = 5  # attempts to read and write a file that another process writes to


class RecordedWrite(msgspec.Struct, frozen=True):
    """One write to the memory: its version, its event, when it was recorded, by which process. `by`: the
    person who asked for it, if one is named."""

    version: int
    event: MemoryEvent
    at: str
    worker: str
    by: str = ""


class MemoryPreview(msgspec.Struct, frozen=True):
    """The memory as the next `sync` leaves it; its last `num_pending` writes are not in the log yet."""

    memory: Memory
    writes: tuple[RecordedWrite, ...]
    num_pending: int = 0

    def entries(self) -> tuple[Entry, ...]:
        """The data on each entry."""
        return entries_with_history(
            self.memory, (Recorded(write.version, write.event, write.at) for write in self.writes)
        )


class SyncedMemory(SyncedFolder):
    """The memory of one log in the files of one home.

    `history`: a folder on the home's file system, for past contents of the files and whether they were read.
    Methods raise `LogUnavailable`.
    """

    def __init__(self, engine: Engine, folder: Path, lock: Path, history: Path) -> None:
        super().__init__(engine, lock, "the files of the memory")
        self._files = MemoryFiles(folder)
        self._history = FileHistory(history / "memory.json", engine.log.log_id)
        self._cached_entries: tuple[tuple[int, int], tuple[Entry, ...]] = ((-1, 0), ())

    def sync(self) -> Memory:
        """Import users' edits and write the files from the log; returns the memory after that.

        A file that cannot be read or written on this host is reported in the process's log and skipped.
        """
        try:
            with self._locked():
                self._history.load()
                try:
                    forgotten = self._forgotten()
                    if self._history.forgotten != forgotten:
                        self._write_over(forgotten)
                    memory = self._load()
                    for target in TARGETS:
                        memory = self._sync_file(target, memory)
                    return memory
                finally:
                    self._history.store()
        except OSError as error:
            self._problem(f"the memory's folder cannot be used: {error.strerror}")
        return self._load()

    def preview(self) -> MemoryPreview:
        """The memory with users' edits of the files, for commands that only read; writes nothing."""
        memory, writes = self._load(), list(self.writes())
        del writes[memory.version :]
        with self._threads:
            try:
                self._history.load()
                if self._history.forgotten == self._forgotten():
                    for target in TARGETS:
                        memory = self._with_edits(memory, target, writes)
            except (OSError, UnusableFile) as error:
                self._problem(f"the memory's files cannot be read: {error}")
        return MemoryPreview(memory, tuple(writes), len(writes) - self._load().version)

    def writes(self) -> tuple[RecordedWrite, ...]:
        """All writes, in order."""
        return tuple(
            RecordedWrite(
                event.version,
                cast(MemoryEvent, event.event),  # the memory's stream has no other events
                event.recorded_at,
                event.meta.worker,
                event.meta.by,
            )
            for event in self._engine.log.read(STREAM)
        )

    def logged(self) -> Memory:
        """The memory in the log, without users' edits since the last `sync`."""
        return self._load()

    def entries(self, memory: Memory) -> tuple[Entry, ...]:
        """The log's data on each entry."""
        key = (memory.version, self._engine.log.forgotten)  # as of the read that the memory is from
        if self._cached_entries[0] != key:
            recorded = (
                Recorded(write.version, write.event, write.at) for write in self.writes()[: memory.version]
            )
            self._cached_entries = (key, entries_with_history(memory, recorded))
        return self._cached_entries[1]

    def _load(self) -> Memory:
        return cast(Memory, self._engine.state(STREAM))

    def _sync_file(self, target: MemoryTarget, memory: Memory) -> Memory:
        """Read and write until the file equals the log, at most `ROUNDS` times; the memory after that.

        `memory` was read under the lock: who appends to it meanwhile syncs afterwards.
        """
        try:
            for _ in range(ROUNDS):
                memory = self._import_left_over(target, memory)
                text = self._files.read(target)
                if text is not None:
                    memory = self._import_edits(target, text, memory)
                if entries_of(text.text if text is not None else "") == memory.entries(target):
                    return memory
                self._write(target, memory)
                memory = self._load()
        except UnusableFile as reason:
            self._problem(f"{NAMES[target]} is left as it is: {reason}.")
        except OSError as error:  # the other file may be usable
            self._problem(f"{NAMES[target]} cannot be used: {error.strerror}.")
        return self._load()

    def _write_over(self, forgotten: int) -> None:
        """Overwrite the files from the log: they may contain forgotten text."""
        memory = self._load()
        self._history.begin_again(forgotten)
        for target in TARGETS:
            for _ in self._files.left_over(target):
                pass
            try:
                text = self._files.read(target)
            except UnusableFile as reason:
                self._problem(f"{NAMES[target]} is left as it is: {reason}.")
                continue
            entries = memory.entries(target)
            if text is None or entries_of(text.text) == entries:
                continue
            mark = self._files.write(target, text_of(entries) or EMPTY)
            for _ in self._files.left_over(target):
                pass
            if mark is not None:
                content = StoredText(digest_of(entries), mark, memory.version)
                self._history.add_written(target, self._files.path(target), content)

    def _write(self, target: MemoryTarget, memory: Memory) -> None:
        """Write the file, and import an edit saved just before that."""
        entries = memory.entries(target)
        mark = self._files.write(target, text_of(entries) or EMPTY)
        if mark is None:
            return
        self._import_left_over(target, self._load())
        content = StoredText(digest_of(entries), mark, memory.version)
        self._history.add_written(target, self._files.path(target), content)

    def _import_left_over(self, target: MemoryTarget, memory: Memory) -> Memory:
        for text in self._files.left_over(target):
            memory = self._import_edits(target, text, memory)
        return memory

    def _import_edits(self, target: MemoryTarget, text: FileText, memory: Memory) -> Memory:
        """Import a user's edit of a target's file; returns the memory after that."""
        their_files = entries_of(text.text)
        if their_files != memory.entries(target):
            memory = self._merged(target, Content(their_files, text.at))
        content = StoredText(digest_of(their_files), Mark(text.at), memory.version, text.text)
        logged = their_files == memory.entries(target)
        self._history.add_read(target, self._files.path(target), content, logged=logged)
        return memory

    def _merged(self, target: MemoryTarget, saved: Content[Entries]) -> Memory:
        def change(load: StateLoader) -> DecisionResult:
            memory: Memory = load(STREAM)
            events = [write.event for write in self.writes()[: memory.version]]
            edits = self._edits(memory, target, saved, events)
            return DecisionResult(writes=(StreamEvents(STREAM, edits),) if edits else ())

        self._engine.change(change, HAND_EDIT)
        return self._load()

    def _edits(
        self, memory: Memory, target: MemoryTarget, saved: Content[Entries], events: Sequence[MemoryEvent]
    ) -> tuple[MemoryEvent, ...]:
        contents = self._contents(target, events)
        followed = self._history.of(target)[-1].version if contents else 0
        return import_edits(memory, target, saved, contents=contents, followed=followed, events=events)

    def _with_edits(self, memory: Memory, target: MemoryTarget, writes: list[RecordedWrite]) -> Memory:
        """The memory with a user's edits of that target's file, which are added to `writes`."""
        text = self._files.read(target)
        if text is None or entries_of(text.text) == memory.entries(target):
            return memory
        saved = Content(entries_of(text.text), text.at)
        edits = self._edits(memory, target, saved, [write.event for write in writes])
        at, version = iso(text.at / 1e9), len(writes)
        writes += (RecordedWrite(version + n, edit, at, "") for n, edit in enumerate(edits, start=1))
        return fold(memory, edits)

    def _contents(self, target: MemoryTarget, events: Sequence[MemoryEvent]) -> tuple[Content[Entries], ...]:
        past = states_at(events, (stored.version for stored in self._history.of(target)))

        def restore(stored: StoredText) -> Entries | None:
            if stored.version not in past:
                return None
            if stored.text is not None:
                return entries_of(stored.text)
            return past[stored.version].entries(target)

        return self._history.contents(target, self._files.path(target), restore, digest_of)

    def _problem(self, problem: str) -> None:
        self._log_once(logging.WARNING, problem)
