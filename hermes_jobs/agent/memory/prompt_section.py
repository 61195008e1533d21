"""The memory as a section of the system prompt: who the user is, then everything else, each with its fill."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hermes_jobs.domain.events import MemoryTarget
from hermes_jobs.domain.memory.memory import SEPARATOR, Limits, Memory, chars, fill
from hermes_jobs.text.plural import pluralize
from hermes_jobs.text.scan import scan

HEADINGS: tuple[tuple[MemoryTarget, str], ...] = (
    ("user", "Who the user is"),
    ("memory", "What you have noted"),
)
OVER = "the limit"
ADVICE = "merge, shorten or remove entries"
FRESH = "It was read when this session began; what you save meanwhile stands here from the next session on."


def prompt_section(memory: Memory, limits: Limits) -> str:
    """The section; empty where nothing is remembered."""
    parts = [
        f"# {heading} [{fill(entries, limit)}]\n{SEPARATOR.join(shown(entries, limit, memory.allowed))}"
        for target, heading in HEADINGS
        if (entries := memory.entries(target)) and (limit := limits.of(target))
    ]
    return "\n\n".join([*parts, FRESH]) if parts else ""


def shown(entries: Sequence[str], limit: int, allowed: Collection[str] = ()) -> tuple[str, ...]:
    """The entries as a prompt has them: those that fit, with a note in the place of what is left out."""
    out = left_out(entries, limit, allowed)
    lines = [_noted(entry, out.get(entry)) for entry in entries]
    over = [entry for entry in entries if out.get(entry) == OVER]
    if over:
        lines.append(_cut(entries, over, limit))
    return tuple(line for line in lines if line)


def left_out(entries: Sequence[str], limit: int, allowed: Collection[str] = ()) -> Mapping[str, str]:
    """The entries that prompts do not have, each with the reason: `OVER`, or the rule that names it.

    `allowed` are those that a person wants in prompts whatever a rule says.
    """
    kept: list[str] = []
    out: dict[str, str] = {}
    for entry in entries:
        if len(entry) > limit or chars([*kept, entry]) > limit:
            out[entry] = OVER
            continue
        kept.append(entry)
        findings = () if entry in allowed else scan(entry)
        if findings:
            out[entry] = f"the rule «{findings[0].rule}»"
    return out


def _noted(entry: str, why: str | None) -> str:
    if why is None:
        return entry
    return "" if why == OVER else f"[an entry was left out by {why}]"


def _cut(entries: Sequence[str], over: Sequence[str], limit: int) -> str:
    """What stands for the entries that are beyond the limit; of an only one, its beginning."""
    count = pluralize(len(over), "entry", "entries")
    size = sum(len(entry) for entry in over)
    note = f"[{count} of {size:,} characters left out: beyond the limit of {limit:,}. Consolidate: {ADVICE}.]"
    if len(over) < len(entries) or scan(over[0][:limit]):
        return note
    return f"{over[0][:limit]}\n{note}"
