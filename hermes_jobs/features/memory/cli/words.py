"""Messages of `memory add`, `replace` and `remove`: the change, and hints for refusals.

The messages of the change itself are for the model, which calls it as a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import chars
from hermes_jobs.kernel import events as e
from hermes_jobs.text.figures import pluralize

SCANNED = "Rephrase it. If it is harmless, add it with `memory add --anyway`."


def describe_write(
    events: Iterable[e.Event], target: memory_events.MemoryTarget, entries: Sequence[str], limit: int
) -> str:
    """The effect of a write, and the fill level of its target. `limit` in characters."""
    size = chars(entries)
    fill = f"{pluralize(len(entries), 'entry', 'entries')}, {size * 100 // limit} % of {limit:,} characters"
    if size > limit:
        fill += "; what prompts have no room for is recalled"
    parts = [_done(event) for event in events]
    return f"{', '.join(parts) or 'Nothing to do: it has this text already'}. {target.capitalize()}: {fill}."


def _done(event: e.Event) -> str:
    match event:
        case memory_events.MemoryAdded():
            return "Added"
        case memory_events.MemoryReplaced(anyway=True) if event.old == event.content:
            return "Let into prompts"
        case memory_events.MemoryReplaced() if event.old == event.content:
            return f"Now {event.kind}" if event.kind else "Tagged"
        case memory_events.MemoryConfirmed():
            return "Confirmed: it is there already"
        case memory_events.MemoryReplaced():
            return "Replaced"
        case memory_events.MemoryRemoved():
            return "Removed"
        case _:
            return "Written"


def for_people(rejected: Rejected, *, adds: bool) -> Rejected:
    """The refusal with a hint for users."""
    match rejected.kind:
        case "memory_old_text":
            return Rejected("OLD is empty.", kind="usage", hint="Give a part of one entry.")
        case "memory_scan":
            hint = SCANNED if adds else "Rephrase it: memory entries go into every prompt."
            return Rejected(rejected.message, kind=rejected.kind, hint=hint)
        case _:
            return rejected
