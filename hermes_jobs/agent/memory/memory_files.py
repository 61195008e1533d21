"""The memory of a home: its files as a projection of the log, and what people change in them as events.

Every use begins by settling: what people did is appended, then the files are written as the log has them. Any
process may do so at any time; a lock makes it one at a time on each host, and whoever dies in the middle
leaves nothing that the next one does not put right.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from hermes_jobs.agent.files.history import FileHistory, StoredText
from hermes_jobs.agent.files.marks import Mark, Witnesses
from hermes_jobs.agent.memory.files import NAMES, Found, MemoryFiles, Unusable
from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader, StreamEvents
from hermes_jobs.domain.events import MemoryEvent, MemoryTarget
from hermes_jobs.domain.hand_edits import Content
from hermes_jobs.domain.memory.import_edits import Entries, digest_of, import_edits
from hermes_jobs.domain.memory.memory import STREAM, TARGETS, Memory, entries_of, history, text_of
from hermes_jobs.engine.engine import Engine
from hermes_jobs.system.file_lock import WAIT_SECONDS, FileLock

logger = logging.getLogger(__name__)

HAND_EDIT = "hand edit"
EMPTY = "\n"  # of an empty file it could not be told whether it was read
ROUNDS = 5  # in which a file that people write to may come to rest


class Write(msgspec.Struct, frozen=True):
    """One write to the memory: its version, its fact, when it was recorded, by which process."""

    version: int
    fact: MemoryEvent
    at: str
    worker: str


class SyncedMemory:
    """The memory of one log in the files of one home. Safe for many threads and processes.

    The engine is one that nothing follows: its appends are laid out here. `shown` is a folder on the home's
    file system, for what the files have held and whether they were read. Methods raise `LogUnavailable`.
    """

    def __init__(self, engine: Engine, folder: Path, lock: Path, shown: Path) -> None:
        self._engine = engine
        self._files = MemoryFiles(folder, Witnesses(shown))
        self._held = FileHistory(shown / "memory.json", engine.log.log_id)
        self._lock = FileLock(lock, "the files of the memory", seconds=WAIT_SECONDS)
        self._threads = threading.Lock()
        self._told: set[str] = set()

    def sync(self) -> Memory:
        """Take in what people changed and write the files as the log has them; the memory by then.

        A file that cannot be read or written on this host is a problem of this host: it is logged, and the
        log counts.
        """
        with self._threads:
            try:
                with self._lock.held():
                    self._held.load()
                    try:
                        for target in TARGETS:
                            self._settle(target)
                    finally:
                        self._held.store()
            except OSError as error:
                self._problem(f"the memory's folder cannot be used: {error.strerror}")
        return self._load()

    def change(self, change: Decision, cause: str) -> DecisionResult:
        """Carry out a person's change after what they did by hand, and lay it out. Raises `Rejected`."""
        self.sync()
        changed = self._engine.change(change, cause)
        self.sync()
        return changed

    def writes(self) -> tuple[Write, ...]:
        """Everything that was ever written, in order."""
        return tuple(
            # The memory's stream holds nothing but the memory's facts.
            Write(each.version, cast(MemoryEvent, each.event), each.recorded_at, each.meta.worker)
            for each in self._engine.log.read(STREAM)
        )

    def _load(self) -> Memory:
        return cast(Memory, self._engine.state(STREAM))

    def _settle(self, target: MemoryTarget) -> None:
        """Until the file has what the log has, or somebody writes it faster than it can be read."""
        try:
            for _ in range(ROUNDS):
                self._take_in_left_over(target)
                found = self._files.read(target)
                memory = self._load() if found is None else self._take_in(target, found)
                if entries_of(found.text if found is not None else "") == memory.entries(target):
                    return
                self._write(target, memory)
        except Unusable as reason:
            self._problem(f"{NAMES[target]} is left as it is: {reason}.")
        except OSError as error:  # the other file may be well
            self._problem(f"{NAMES[target]} cannot be used: {error.strerror}.")

    def _write(self, target: MemoryTarget, memory: Memory) -> None:
        """Write the file, and take in what was saved in the last moment before that."""
        entries = memory.entries(target)
        mark = self._files.write(target, text_of(entries) or EMPTY)
        if mark is None:
            return
        before = self._held.of(target)
        self._take_in_left_over(target)
        nobody = bool(before) and self._files.is_unread(target, before[-1].mark)
        held = StoredText(digest_of(entries), mark, memory.version)
        self._held.add(target, held, instead=nobody and self._held.of(target) == before)
        self._files.watch(target)

    def _take_in_left_over(self, target: MemoryTarget) -> None:
        for found in self._files.left_over(target):
            self._take_in(target, found)

    def _take_in(self, target: MemoryTarget, found: Found) -> Memory:
        """The memory after what a person did to a target's file."""
        memory, theirs = self._load(), entries_of(found.text)
        held, digest = self._held.of(target), digest_of(theirs)
        unread = bool(held) and self._files.is_unread(target, held[-1].mark)
        if theirs != memory.entries(target):
            memory = self._merged(target, Content(theirs, found.at), held, unread=unread)
        if not held or held[-1].digest != digest:
            text = None if theirs == memory.entries(target) else found.text
            self._held.add(target, StoredText(digest, Mark(found.at), memory.version, text), instead=unread)
        return memory

    def _merged(
        self, target: MemoryTarget, saved: Content[Entries], held: Sequence[StoredText], *, unread: bool
    ) -> Memory:
        def change(load: StateLoader) -> DecisionResult:
            memory: Memory = load(STREAM)
            facts = [write.fact for write in self.writes()[: memory.version]]
            known = _contents(target, held, history(facts), unread=unread)
            followed = held[-1].version if known else 0
            found = import_edits(memory, target, saved, held=known, followed=followed, facts=facts)
            return DecisionResult(writes=(StreamEvents(STREAM, found),) if found else ())

        self._engine.change(change, HAND_EDIT)
        return self._load()

    def _problem(self, problem: str) -> None:
        """Log it once."""
        if problem not in self._told:
            self._told.add(problem)
            logger.warning("%s", problem)


def _contents(
    target: MemoryTarget, held: Sequence[StoredText], past: Sequence[Memory], *, unread: bool
) -> tuple[Content[Entries], ...]:
    """What the file held; nothing where it followed a log that was put back to an older state since."""
    found = []
    for each in held:
        if each.version >= len(past):
            return ()
        entries = entries_of(each.text) if each.text is not None else past[each.version].entries(target)
        if digest_of(entries) != each.digest:
            return ()
        unseen = unread and each is held[-1]
        found.append(Content(entries, each.mark.at, unread=unseen, by_hand=each.text is not None))
    return tuple(found)
