"""Skills that a user adds to a turn by name: their text is attached like a file's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.interfaces.cli.turns.text import fenced
from hermes_jobs.prompt.project_files import redact_findings_in

if TYPE_CHECKING:
    from hermes_jobs.features.skills.catalog import SkillCatalog, SkillEntry


class TextWithSkills(msgspec.Struct, frozen=True):
    """A complete text, the names of the skills in it, and notes on their problems."""

    text: str
    names: tuple[str, ...]
    notes: tuple[str, ...]


def with_skills(catalog: SkillCatalog, names: Sequence[str], text: str) -> TextWithSkills:
    """The text, followed by each named skill, once. Raises `Rejected` for a name that no skill has."""
    entries = list({entry.name: entry for entry in map(catalog.find, names)}.values())
    if not entries:
        return TextWithSkills(text, (), ())
    title = " and ".join(f"the skill {entry.name}" for entry in entries)
    parts, notes = [text if text.strip() else f"Work by {title}."], []
    for entry in entries:
        main = entry.main if entry.skill is not None else redact_findings_in(entry.main)
        parts.append(fenced(". ".join(_head(catalog, entry)), main))
        notes += _notes(catalog, entry, is_whole=main == entry.main)
    return TextWithSkills("\n\n".join(parts), tuple(entry.name for entry in entries), tuple(notes))


def _head(catalog: SkillCatalog, entry: SkillEntry) -> list[str]:
    head = [f"Work by the skill {entry.name}, in {entry.folder} (paths in it are relative to that folder)"]
    if entry.paths:
        head.append(f"Its files, to be read with skill_view: {', '.join(entry.paths)}")
    if lacking := catalog.lacking(entry):
        head.append(f"Missing on this machine: {lacking}. Where the work needs that, tell the user")
    return head


def _notes(catalog: SkillCatalog, entry: SkillEntry, *, is_whole: bool) -> list[str]:
    notes = []
    if reason := entry.hidden(None, catalog.platform):
        notes.append(f"{entry.name}: {reason}.")
    if lacking := catalog.lacking(entry):
        notes.append(f"{entry.name} needs what is missing here: {lacking}.")
    if not is_whole:
        notes.append(f"Parts of {entry.name} were left out: they look like an attack on the agent.")
    return notes
