"""The curator's view of the home's skills: inventory, usage, similar pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from itertools import combinations
from math import log, sqrt

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.catalog import SkillCatalog
from hermes_jobs.features.skills.events import MergeProposed
from hermes_jobs.features.skills.names import unknown_skill
from hermes_jobs.features.skills.presenter import describe
from hermes_jobs.features.skills.proposals import (
    BY,
    Merge,
    apply_proposals,
    propose_archive,
    propose_merge,
    select_proposals,
    write_request_of,
)
from hermes_jobs.features.skills.rules import curation as curations
from hermes_jobs.features.skills.rules.curation import Curation
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Skill, stream_of
from hermes_jobs.features.skills.write_request import SkillWriteRequest
from hermes_jobs.kernel.events.origins import Evidence
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult

MIN_SIMILARITY = 0.5
"""The least cosine of a similar pair: copies have 1, skills of one field 0.1 to 0.3."""

_WORD = re.compile(r"[^\W_][\w-]*[^\W_]|[^\W\d_]")


def similar_pairs(texts: Mapping[str, str]) -> tuple[tuple[str, str, float], ...]:
    """The pairs with similar texts, with their cosine from 0 to 1, the most similar first."""
    counts = {name: Counter(_WORD.findall(text.lower())) for name, text in texts.items()}
    occurs = Counter(word for words in counts.values() for word in words)
    vectors = {
        name: {word: count * log(1 + len(texts) / occurs[word]) for word, count in words.items()}
        for name, words in counts.items()
    }
    lengths = {
        name: sqrt(sum(weight * weight for weight in vector.values())) for name, vector in vectors.items()
    }
    pairs = []
    for one, other in combinations(sorted(texts), 2):
        if not (lengths[one] and lengths[other]):
            continue
        shared = vectors[one].keys() & vectors[other].keys()
        product = sum(vectors[one][word] * vectors[other][word] for word in shared)
        cosine = product / (lengths[one] * lengths[other])
        if cosine >= MIN_SIMILARITY:
            pairs.append((one, other, min(cosine, 1.0)))
    return tuple(sorted(pairs, key=lambda pair: (-pair[2], pair)))


INVENTORY_CHARACTERS = 60_000


class SkillUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The uses of a skill; times are ISO 8601, empty for never."""

    uses: int = 0
    completed: int = 0
    failed: int = 0
    last_used_at: str = ""
    written_at: str = ""


Uses = Callable[[Collection[str]], Mapping[str, SkillUsage]]
"""Returns the uses of the skills of these names."""


class Curator:
    """Lists the skills and records proposals about them. Every method may raise `Rejected`."""

    def __init__(self, catalog: SkillCatalog, uses: Uses, today: Callable[[], str]) -> None:
        """`today` is the day, as YYYY-MM-DD."""
        self._catalog = catalog
        self._uses = uses
        self._today = today

    def inventory(self) -> str:
        """The skills, a line each, and the similar pairs; empty if there are no skills."""
        skills = self._active()
        if not skills:
            return ""
        uses = self._uses(list(skills))
        lines = [_line(skill, uses.get(name, SkillUsage())) for name, skill in skills.items()]
        pairs = similar_pairs({name: skill.main for name, skill in skills.items()})
        message = [f"- {one} and {other}: {likeness:.0%}" for one, other, likeness in pairs]
        parts = [f"Skills, as of {self._today()} ({len(skills)}):", *lines]
        parts += (
            ["", "Alike by their words:", *message] if message else ["", "No two are alike by their words."]
        )
        text = "\n".join(parts)
        return (
            text
            if len(text) <= INVENTORY_CHARACTERS
            else f"{text[:INVENTORY_CHARACTERS]}\n[… more is left out]"
        )

    def read(self, name: str, path: str) -> str:
        """A complete skill, or one of its files."""
        entry = self._catalog.find(name)
        file = self._catalog.file(entry, path)
        return f"{path} is not text." if file.base64 else file.content

    def merge(
        self,
        review: str,
        *,
        into: str,
        skills: tuple[str, ...],
        content: str,
        category: str | None,
        reason: str,
        evidence: Evidence,
    ) -> Decision:
        """The change that proposes a merge."""
        merge = Merge(into=into, skills=skills, content=content, category=category, reason=reason)
        active = self._active()
        for name in merge.skills:
            self._check_own(name, active)
        if merge.into not in active:
            new = Skill(stream=stream_of(merge.into))
            self._catalog.check(SkillWriteRequest(name=merge.into, request=merge.request(new), author=BY))
        return propose_merge(review, merge, evidence)

    def archive(self, review: str, *, skill: str, reason: str, evidence: Evidence) -> Decision:
        """The change that proposes to archive a skill."""
        self._check_own(skill, self._active())
        return propose_archive(review, skill, reason, evidence)

    def apply(self, curation: Curation, numbers: Collection[int], by: str) -> DecisionResult:
        """Apply proposals, all or none; no `numbers`: all remaining ones."""
        skills = self._catalog.of_home()
        for proposal in select_proposals(curation, numbers):
            proposed = proposal.proposed
            if isinstance(proposed, MergeProposed) and proposed.into not in skills:
                self._catalog.check(write_request_of(proposed, Skill(stream=stream_of(proposed.into))))
        return self._catalog.change(
            apply_proposals(curation.review, numbers, by), curations.stream_of(curation.review)
        )

    def _active(self) -> dict[str, Skill]:
        return {name: skill for name, skill in self._catalog.of_home().items() if not skill.is_archived}

    def _check_own(self, name: str, skills: Mapping[str, Skill]) -> None:
        if name in skills:
            return
        if any(entry.name == name and entry.skill is None for entry in self._catalog.read_entries()[0]):
            raise Rejected(
                f"The skill {name} lies outside the home, where nothing is written.",
                kind="skill_read_only",
                hint="Leave it.",
            )
        raise unknown_skill(name, skills)


def _line(skill: Skill, use: SkillUsage) -> str:
    ended = f"({use.completed} completed, {use.failed} failed)"
    used = f"used {use.uses} times {ended}" if use.uses else "never used"
    last = f", last {use.last_used_at[:10]}" if use.last_used_at else ""
    text = f"written {use.written_at[:10]}" if use.written_at else ""
    files = [path for path in sorted(skill.files) if path != MAIN_FILE]
    parts = (
        f"{used}{last}",
        text,
        f"{len(skill.main):,} characters",
        f"files: {', '.join(files)}" if files else "",
    )
    place = f" (in {skill.category})" if skill.category else ""
    return f"- {skill.name}{place}: {describe(skill.main)} | {' | '.join(part for part in parts if part)}"
