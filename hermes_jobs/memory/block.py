"""The memory as a section of the system prompt: who the user is, then everything else, each with its fill."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.domain.events import MemoryTarget
from hermes_jobs.domain.memory import SEPARATOR, Limits, Memory, fill
from hermes_jobs.domain.scan import scan

HEADINGS: tuple[tuple[MemoryTarget, str], ...] = (
    ("user", "Who the user is"),
    ("memory", "What you have noted"),
)
FRESH = "It was read when this session began; what you save meanwhile stands here from the next session on."


def memory_block(memory: Memory, limits: Limits) -> str:
    """The section; empty where nothing is remembered."""
    parts = [
        f"# {heading} [{fill(entries, limits.of(target))}]\n{SEPARATOR.join(shown(entries))}"
        for target, heading in HEADINGS
        if (entries := memory.entries(target))
    ]
    return "\n\n".join([*parts, FRESH]) if parts else ""


def shown(entries: Sequence[str]) -> tuple[str, ...]:
    """The entries, with a note in the place of one that a rule names."""
    return tuple(_noted(entry) for entry in entries)


def _noted(entry: str) -> str:
    findings = scan(entry)
    if not findings:
        return entry
    return f"[an entry was left out by the rule «{findings[0].rule}»; `hermes-jobs memory show` has it]"
