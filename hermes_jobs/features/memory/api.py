"""The history of the memory, for interfaces: its writes, why an entry is there, and undoing a write. Every
function raises `LogUnavailable`, and `Rejected` where it says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.rules.provenance import Undo
from hermes_jobs.kernel.streams.streams import combine

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.memory.events import MemoryTarget
    from hermes_jobs.kernel.events.recorded import RecordedEvent


def writes(application: Application, limit: int) -> tuple[Mapping[str, object], ...]:
    """The writes as `memory log --json` prints them, newest first, each with `what`, its change in words."""
    from hermes_jobs.features.memory.cli.format import what_changed, write_json

    preview, removals = application.memory.preview(), forgotten(application)
    return tuple(
        {**write_json(write, preview.memory.undone, removals), "what": what_changed(write, removals)}
        for write in preview.writes[::-1][:limit]
    )


def why(application: Application, text: str, target: MemoryTarget) -> Mapping[str, object]:
    """The origin of the entry with exactly that text, as `memory why --json` prints it."""
    from hermes_jobs.features.memory.cli.format import MemoryEntry, Provenance

    preview = application.memory.preview()
    evidence = Provenance(application, preview.writes, forgotten(application))
    return evidence.as_object(MemoryEntry(target, text), preview.memory)


def undo(application: Application, number: int, *, by: str = "") -> str:
    """Undo that write; what was done, in words. `by` is who asks for it.

    Raises `Rejected` for a number that there is not, a write that was undone or whose text is forgotten, and
    an entry that was changed since.
    """
    from hermes_jobs.features.memory.cli.format import removal_note
    from hermes_jobs.features.replay.api import undone_elsewhere

    application.memory.sync()
    recorded = application.memory.writes()
    if not 0 < number <= len(recorded):
        there = f"`hermes-jobs memory log` lists 1 to {len(recorded)}." if recorded else "There is none yet."
        raise Rejected(f"There is no write {number}.", kind="usage", hint=there)
    removal = forgotten(application).get(number)
    if removal is not None:
        raise Rejected(
            f"Write {number} cannot be undone: {removal_note(removal)}.",
            kind="memory_forgotten",
            hint="Add an entry: hermes-jobs memory add TEXT",
        )
    event = recorded[number - 1].event
    is_tried = event.evidence is not None and getattr(event, "provisional", False)
    review = event.evidence.session if event.evidence is not None and is_tried else ""
    trials = undone_elsewhere(application, review, "memory", str(number), by or "user")
    changed = application.memory.change(
        combine([Undo(number, event), *trials], all_or_none=True), "memory undo", by=by
    )
    return changed.answer.strip()


def forgotten(application: Application) -> Mapping[int, RecordedEvent]:
    """The writes without text, and the removal of each."""
    from hermes_jobs.features.forgetting.erase import Forgetter, forgotten_in
    from hermes_jobs.features.memory.rules.memory import STREAM

    return forgotten_in(Forgetter(application).past(), STREAM)
