"""Keys of earlier builds, and what holds instead. A value that is left has no effect but a warning."""

from __future__ import annotations

from collections.abc import Mapping

_AUXILIARY = "auxiliary.model and auxiliary.base_url hold for it"

REMOVED: Mapping[str, str] = {
    "ask.expires": "a question waits for 7 days",
    "attachments.files": "a message may have 20 files",
    "attachments.megapixels": "pictures of up to 100 megapixels are decoded",
    "attachments.pages": "a document may have 100 pages",
    "attachments.side": "pictures are sent with at most 1,568 pixels a side",
    "attachments.turn_mb": "the files of a message may have 24 MB, or as much as one of attachments.file_mb",
    "auxiliary.consolidation": _AUXILIARY,
    "auxiliary.title.base_url": _AUXILIARY,
    "auxiliary.title.model": _AUXILIARY,
    "embeddings.dimensions": "vectors have the model's own length",
    "files.keep_file_mb": "files of up to 10 MiB are stored",
    "files.keep_total_mb": "500 MiB are stored, and files.keep_days bounds their age",
    "learning.judge": "auxiliary.model compares answers",
    "mcp.input_seconds": "terminal.approval_seconds holds for it",
    "mcp.task_seconds": "a task of a server may take a day",
    "memory.consolidate_day_usd": "memory.consolidate_per_day and budgets.day_usd bound it",
    "memory.consolidate_hours": "a conversation is finished after 6 hours",
    "memory.episodic_days": "they expire after 365 days without use",
    "memory.honcho.assistant": "the agent is called hermes there",
    "memory.honcho.user": "the user is called user there; memory.honcho.workspace separates homes",
    "memory.working_days": "they expire after 14 days",
    "schedules.by_schedules": "scheduled prompts add no schedules",
}
"""By name, of a key or of a whole section: what holds instead. A sentence's end."""


def removal_of(name: str) -> str | None:
    """What holds in place of the key of that dotted name; None where it was not removed."""
    parts = name.split(".")
    names = (".".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((REMOVED[above] for above in names if above in REMOVED), None)


def warning(name: str, origin: str) -> str:
    """The warning about a value of that key, given in the file or the variable `origin`."""
    return f"{name} is no longer a key and has no effect ({origin}): {removal_of(name)}."
