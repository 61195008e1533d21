"""Presents skills to an agent, in three tiers: names and descriptions, a complete skill, one file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import front_matter
from hermes_jobs.features.skills.catalog import SkillCatalog, SkillEntry, by_category
from hermes_jobs.features.skills.content import content_of
from hermes_jobs.features.skills.events import SkillRequest
from hermes_jobs.features.skills.rules.skill import MAIN_FILE
from hermes_jobs.features.skills.write_request import SkillWriteRequest
from hermes_jobs.kernel.events.origins import Author, Evidence
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.text.scan.scanner import scan

INDEX_CHARACTERS = 30_000  # a larger index has only names
GENERAL = "general"  # the heading of skills without a category

INDEX = """\
# Skills
Procedures that were written down for tasks like these. Before a task that one of them fits, even in part,
read it with skill_view and work by it."""


class SkillPresenter:
    """Presents the skills of a catalog to agents."""

    def __init__(self, catalog: SkillCatalog) -> None:
        self._catalog = catalog

    def index(self, toolsets: Collection[str] | None) -> str:
        """The section of a system prompt; empty if there are no skills."""
        lines = _lines(self._listed(toolsets))
        index_text = "\n".join(lines)
        if not index_text:
            return ""
        if len(index_text) > INDEX_CHARACTERS:
            names = "\n".join(line.split(":", 1)[0] if line.startswith("- ") else line for line in lines)
            index_text = f"{names}\n(skills_list has their descriptions.)"
        return f"{INDEX}\n\n{index_text}"

    def listing(self, category: str | None, toolsets: Collection[str] | None) -> str:
        """Names and descriptions, of one category or of all. Raises `Rejected` for an unknown category."""
        entries = self._listed(toolsets)
        if category:
            searched = "" if category == GENERAL else category
            categories = sorted({entry.place.category or GENERAL for entry in entries})
            if category not in categories:
                raise Rejected(
                    f"There is no category {category[:100]!r}.",
                    kind="unknown_category",
                    hint=f"There are: {', '.join(categories)}." if categories else "There are no skills yet.",
                )
            entries = [entry for entry in entries if entry.place.category == searched]
        return "\n".join(_lines(entries)) or "There are no skills yet."

    def view(self, name: str, path: str, toolsets: Collection[str] | None) -> str:
        """A complete skill, or one of its files. Raises `Rejected`."""
        entry = self._catalog.find(name)
        if path and path != MAIN_FILE:
            return self._file(entry, path)
        head = [f"The skill {entry.name}, in {entry.folder} (paths in it are relative to that folder)."]
        if entry.paths:
            head.append(f"Its files, to be read with skill_view: {', '.join(entry.paths)}.")
        hidden = entry.hidden(toolsets, self._catalog.platform)
        if hidden:
            head.append(f"Note: {hidden}.")
        lacking = self._catalog.lacking(entry)
        if lacking:
            head.append(f"Missing on this machine: {lacking}. Where the work needs that, tell the user.")
        return "\n".join([*head, "", entry.main])

    def writing(
        self,
        name: str,
        request: SkillRequest,
        author: Author,
        evidence: Evidence,
        lineage: str = "",
        *,
        provisional: bool = False,
    ) -> Decision:
        """The change for a request. Raises `Rejected`."""
        write = SkillWriteRequest(
            name=name,
            request=request,
            author=author,
            evidence=evidence,
            lineage=lineage,
            provisional=provisional,
        )
        return self._catalog.writing(write)

    def _file(self, entry: SkillEntry, path: str) -> str:
        file = self._catalog.file(entry, path)
        if not file.base64:
            return file.content
        size = len(content_of(file))
        return f"{path} is not text: {size:,} bytes, in {entry.folder / path}."

    def _listed(self, toolsets: Collection[str] | None) -> list[SkillEntry]:
        entries, _ = self._catalog.read_entries()
        return [entry for entry in entries if not entry.hidden(toolsets, self._catalog.platform)]


def without_skill(prompt: str, name: str) -> str:
    """The prompt without that skill in its index; unchanged if it is not there."""
    before, index, after = prompt.partition(INDEX)
    line = rf"^- {re.escape(name)}(?::[^\n]*)?\n?"
    return before + index + re.sub(line, "", after, count=1, flags=re.MULTILINE)


def with_skill(prompt: str, name: str, main: str, *, read: bool) -> str:
    """The prompt with that skill in its index, described as in `main`; `read`: with its text below."""
    line = f"- {name}: {describe(main)}\n"
    before, index, after = without_skill(prompt, name).partition(INDEX)
    result = f"{before}{index}\n{line}{after}" if index else f"{before.rstrip()}\n\n{INDEX}\n\n{line}"
    return f"{result.rstrip()}\n\n# The skill {name}, which you have read\n{main}\n" if read else result


def _lines(entries: Sequence[SkillEntry]) -> list[str]:
    return [
        line
        for category, category_entries in by_category(entries).items()
        for line in _category(category, category_entries)
    ]


def _category(category: str, entries: Sequence[SkillEntry]) -> Iterator[str]:
    yield f"{category or GENERAL}:"
    for entry in entries:
        yield f"- {entry.name}: {describe(entry.main, is_ours=entry.is_bundled)}"


def describe(main: str, *, is_ours: bool = False) -> str:
    """The description in a SKILL.md; a note instead if a scan rule matches, because prompts contain it.

    `is_ours`: it comes with this program, as the rules do.
    """
    try:
        text = front_matter.read(main).description
    except Rejected:
        text = ""
    findings = () if is_ours else scan(text)
    return f"[left out by the rule “{findings[0].rule}”]" if findings else text
