"""The memory as a section of the system prompt: the user's profile, then the notes, each with its fill
level."""

from __future__ import annotations

import re

from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.features.memory.rules.entries import Placement
from hermes_jobs.features.memory.rules.memory import SEPARATOR, Limits, fill, is_shown
from hermes_jobs.text.figures import pluralize

HEADINGS: tuple[tuple[MemoryTarget, str], ...] = (
    ("user", "Who the user is"),
    ("memory", "What you have noted"),
)
FRESHNESS_NOTE = (
    "It was read when this session began; what you save meanwhile stands here from the next session on."
)


def prompt_section(placement: Placement, limits: Limits) -> str:
    """The section; empty if the memory is empty."""
    parts = [
        f"# {heading} [{fill(placement.in_prompt(target), limits.of(target))}]\n{SEPARATOR.join(lines)}"
        for target, heading in HEADINGS
        if (lines := _lines(placement, target))
    ]
    if placement.recalled:
        count = pluralize(len(placement.recalled), "more entry", "more entries")
        parts.append(f"You have {count}, recalled when a message is about them.")
    return "\n\n".join([*parts, FRESHNESS_NOTE]) if parts else ""


def without_entry(prompt: str, entry: str) -> str:
    """The prompt without that entry of the memory; unchanged if it does not have it."""
    mark, whole_entry = re.escape(SEPARATOR), re.escape(entry)
    headings = "|".join(re.escape(heading) for _, heading in HEADINGS)
    first = rf"(?P<head>^# (?:{headings}) \[[^\n]*\]\n)"
    if not entry:
        return prompt
    for pattern, instead in (
        (rf"{mark}{whole_entry}(?={mark}|\n\n|\Z)", ""),
        (rf"{first}{whole_entry}(?:{mark}|(?=\n\n|\Z))", r"\g<head>"),
    ):
        shortened = re.sub(pattern, instead, prompt, count=1, flags=re.MULTILINE)
        if shortened != prompt:
            return shortened
    return prompt


def with_entry(prompt: str, target: MemoryTarget, entry: str, old: str = "") -> str:
    """The prompt with that entry at the end of its target, or in the place of `old`; unchanged if it has
    it."""
    if is_shown(entry, prompt):
        return prompt
    without = without_entry(prompt, old)
    heading, note = re.escape(dict(HEADINGS)[target]), re.escape(FRESHNESS_NOTE)
    section = re.search(
        rf"^# {heading} \[[^\n]*\]\n(?P<entries>.*?)(?=\n\n# |\n\nYou have |\n\n{note}|\Z)",
        without,
        re.MULTILINE | re.DOTALL,
    )
    if section is None:
        return f"{without.rstrip()}\n\n# {dict(HEADINGS)[target]} [{len(entry):,} chars]\n{entry}"
    between = SEPARATOR if section["entries"] else ""
    return f"{without[: section.end()]}{between}{entry}{without[section.end() :]}"


def _lines(placement: Placement, target: MemoryTarget) -> list[str]:
    """The entries, with a note instead of each that a rule excludes."""
    return [
        entry.text if rule is None else f"[an entry was left out by the rule “{rule}”]"
        for entry, rule in placement.prompt.items()
        if entry.target == target
    ]
