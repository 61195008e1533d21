"""The memory of a home: its files as a projection of the log, and what people change in them as events.

Every use begins by settling: what people did is appended, then the files are written as the log has them. Any
process may do so at any time; a lock makes it one at a time on each host, and whoever dies in the middle
leaves nothing that the next one does not put right.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import cast

import msgspec

from hermes_jobs.domain.changes import Change, Changed, Load, StreamFacts
from hermes_jobs.domain.events import MemoryEvent, MemoryTarget
from hermes_jobs.domain.memory import STREAM, TARGETS, Memory, entries_of, text_of
from hermes_jobs.domain.memory_intake import taken_in
from hermes_jobs.engine.engine import Engine
from hermes_jobs.eventlog.file_lock import FileLock
from hermes_jobs.memory.files import NAMES, MemoryFiles, Unusable

logger = logging.getLogger(__name__)

HAND_EDIT = "hand edit"
ROUNDS = 5  # in which a file that people write to may come to rest


class Write(msgspec.Struct, frozen=True):
    """One write to the memory: its version, its fact, when it was recorded, by which process."""

    version: int
    fact: MemoryEvent
    at: str
    worker: str


class HomeMemory:
    """The memory of one log in the files of one home. Safe for many threads and processes.

    The engine is one that nothing follows: its appends are laid out here. Methods raise `LogUnavailable`.
    """

    def __init__(self, engine: Engine, folder: Path, lock: Path) -> None:
        self._engine = engine
        self._files = MemoryFiles(folder)
        self._lock = FileLock(lock)
        self._threads = threading.Lock()
        self._settled: dict[MemoryTarget, tuple[str, ...]] = {}
        self._told: set[str] = set()

    def settle(self) -> Memory:
        """Take in what people changed and write the files as the log has them; the memory by then.

        A file that cannot be read or written on this host is a problem of this host: it is logged, and the
        log counts.
        """
        with self._threads:
            try:
                with self._lock.held():
                    for target in TARGETS:
                        self._settle(target)
            except OSError as error:
                self._problem(f"the memory's folder cannot be used: {error.strerror}")
        return self._load()

    def change(self, change: Change, cause: str) -> Changed:
        """Carry out a person's change after what they did by hand, and lay it out. Raises `Rejected`."""
        self.settle()
        changed = self._engine.change(change, cause)
        self.settle()
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
                for text in self._files.left_over(target):
                    self._take_in(target, text)
                there = self._files.read(target)
                entries = self._take_in(target, there)
                if entries_of(there or "") == entries:
                    self._settled[target] = entries
                    return
                self._files.write(target, text_of(entries))
        except Unusable as reason:
            self._problem(f"{NAMES[target]} is left as it is: {reason}.")
        except OSError as error:  # the other file may be well
            self._problem(f"{NAMES[target]} cannot be used: {error.strerror}.")

    def _take_in(self, target: MemoryTarget, there: str | None) -> tuple[str, ...]:
        """The target's entries, after what a person did to its file."""
        entries = self._load().entries(target)
        if there is None or entries_of(there) in (entries, self._settled.get(target)):
            return entries

        def change(load: Load) -> Changed:
            memory: Memory = load(STREAM)
            before = [write.fact for write in self.writes()[: memory.version]]
            facts = taken_in(memory, target, there, before)
            return Changed(writes=(StreamFacts(STREAM, facts),) if facts else ())

        self._engine.change(change, HAND_EDIT)
        return self._load().entries(target)

    def _problem(self, problem: str) -> None:
        """Log it once."""
        if problem not in self._told:
            self._told.add(problem)
            logger.warning("%s", problem)
