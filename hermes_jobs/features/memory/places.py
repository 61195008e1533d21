"""Where the memory's entries are: in prompts, recalled when a message is about them, or left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.memory.rules.curation import MemoryProposal, proposals
from hermes_jobs.features.memory.rules.entries import Placement, Since, placed, with_uses
from hermes_jobs.features.memory.rules.memory import TARGETS, chars
from hermes_jobs.features.memory.tables import select_memory_uses
from hermes_jobs.features.replay.tables import select_verifications
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.features.memory.rules.entries import Entry
    from hermes_jobs.features.memory.rules.memory import Limits, Memory
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings.sections.learning import MemorySettings
    from hermes_jobs.system.clock import Clock

DAY = 86_400.0
EPISODIC_DAYS = 365  # a yearly matter comes up once more before its entry expires
WORKING_DAYS = 14  # a piece of work that rests for longer begins anew


class MemoryPlaces(msgspec.Struct, frozen=True, eq=False):
    """Where the memory's entries are: in prompts, recalled, or left out."""

    settings: MemorySettings
    files: SyncedMemory
    limits: Limits
    views: Views
    clock: Clock

    def __call__(self, lineage: str = "") -> Placement:
        """The places in a session of that lineage; empty: in a new one. Raises `LogUnavailable`."""
        return self._of(self.files.sync(), lineage)

    def preview(self) -> Placement:
        """The places in a new session, with users' edits of the files, which are not imported."""
        preview = self.files.preview()
        return self._placed(preview.entries(), preview.memory)

    def of_session(self, lineage: str) -> Placement:
        """The same for the prompt of a session, which needs no uses if prompts have all entries: then the
        views, which a worker would have to bring up to date, are not read."""
        memory = self.files.sync()
        return self._of(memory, lineage, uses=not self._fits(memory))

    def recalled(self, lineage: str) -> tuple[Entry, ...]:
        """The entries that only recall finds, as the log has them. Raises `LogUnavailable`."""
        memory = self.files.logged()
        return () if self._fits(memory) else self._of(memory, lineage).recalled

    def proposed(self) -> tuple[int, tuple[MemoryProposal, ...]]:
        """The memory's version, and the curator's proposals for it. Raises `LogUnavailable`."""
        memory = self.files.sync()
        return memory.version, self._proposals(self._of(memory, ""))

    def previewed_proposals(self) -> tuple[MemoryProposal, ...]:
        """The curator's proposals, with users' edits of the files, which are not imported."""
        return self._proposals(self.preview())

    def _proposals(self, places: Placement) -> tuple[MemoryProposal, ...]:
        harmful = {
            int(verification.name): verification.why
            for verification in self.views.read(select_verifications)
            if verification.kind == "memory" and verification.is_proposal
        }
        return proposals(places, harmful)

    def _fits(self, memory: Memory) -> bool:
        """Whether prompts have all entries."""
        if memory.has_observations:
            return False
        return all(chars(memory.entries(target)) <= self.limits.of(target) for target in TARGETS)

    def _of(self, memory: Memory, lineage: str, *, uses: bool = True) -> Placement:
        return self._placed(self.files.entries(memory), memory, lineage, uses=uses)

    def _placed(
        self, entries: tuple[Entry, ...], memory: Memory, lineage: str = "", *, uses: bool = True
    ) -> Placement:
        entries = with_uses(entries, self.views.read(select_memory_uses) if uses else {})
        since = Since(self._ago(EPISODIC_DAYS), self._ago(WORKING_DAYS))
        return placed(entries, self.limits, allowed=memory.allowed, lineage=lineage, since=since)

    def _ago(self, days: int) -> str:
        return iso(self.clock.now() - days * DAY)
