"""A curator's proposals: recorded for the user or refused; applied or outdated.

A proposal changes no skill. Proposals are applied in a single append: all or none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.guard import new_concerns, verdict
from hermes_jobs.features.skills.names import SUBFOLDERS, is_read, unknown_skill
from hermes_jobs.features.skills.rules import curation as curations
from hermes_jobs.features.skills.rules.curation import Curation, CurationProposal
from hermes_jobs.features.skills.rules.skill import ARCHIVE, Skill, evolve, stream_of
from hermes_jobs.features.skills.write_request import SkillWriteRequest, event_for
from hermes_jobs.kernel.events.origins import Author, Evidence
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents

MAX_PROPOSALS = 20
BY: Author = "curator"

_FILE = re.compile(rf"\b(?:{'|'.join(SUBFOLDERS)})/[\w./-]*\w")


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """A merge of skills into one."""

    into: str
    skills: tuple[str, ...]
    content: str
    reason: str
    category: str | None = None

    def request(self, skill: Skill) -> skills_events.SkillRequest:
        """The write of the remaining skill, whose current state is given."""
        action: skills_events.SkillAction = "edit" if skill.exists else "create"
        return skills_events.SkillRequest(action=action, content=self.content, category=self.category)


def propose_merge(review: str, merge: Merge, evidence: Evidence) -> Decision:
    """A change that proposes a merge. The change raises `Rejected` if the skills cannot be merged."""

    def change(load: StateLoader) -> DecisionResult:
        curation: Curation = load(curations.stream_of(review))
        merged = tuple(dict.fromkeys(name for name in merge.skills if name != merge.into))
        into: Skill = load(stream_of(_readable(merge.into)))
        if len(merged) + into.exists < 2:
            raise _refused(
                "A merge takes two skills or more.", "Name those that give way in `skills`, by their names."
            )
        _check_open(curation, (merge.into, *merged))
        merged_away = [_present(load, name) for name in merged]
        _check_text(into, merge, evidence)
        proposed = skills_events.MergeProposed(
            review=review,
            number=len(curation.proposals) + 1,
            into=merge.into,
            skills=merged,
            content=merge.content,
            category=merge.category,
            reason=merge.reason,
            versions={skill.name: skill.version for skill in (into, *merged_away)},
            evidence=evidence,
        )
        return _recorded(curation, proposed)

    return change


def propose_archive(review: str, skill: str, reason: str, evidence: Evidence) -> Decision:
    """The change that proposes to archive a skill."""

    def change(load: StateLoader) -> DecisionResult:
        curation: Curation = load(curations.stream_of(review))
        _check_open(curation, (skill,))
        present = _present(load, skill)
        proposed = skills_events.ArchiveProposed(
            review=review,
            number=len(curation.proposals) + 1,
            skill=skill,
            reason=reason,
            version=present.version,
            evidence=evidence,
        )
        return _recorded(curation, proposed)

    return change


def apply_proposals(review: str, numbers: Collection[int], by: str) -> Decision:
    """The change that applies proposals, all or none; no `numbers`: all remaining ones."""

    def change(load: StateLoader) -> DecisionResult:
        curation: Curation = load(curations.stream_of(review))
        chosen = select_proposals(curation, numbers)
        writes: list[StreamEvents] = []
        for proposal in chosen:
            _check_current(load, proposal)
            writes.extend(_carry_out(load, proposal))
        applied = tuple(
            skills_events.ProposalApplied(review=review, number=item.number, by=by) for item in chosen
        )
        return DecisionResult(
            writes=(StreamEvents(curation.stream, applied), *writes),
            answer=", ".join(str(item.number) for item in chosen),
        )

    return change


def select_proposals(curation: Curation, numbers: Collection[int]) -> tuple[CurationProposal, ...]:
    """The proposals of those numbers. Raises `Rejected` if one cannot be applied."""
    review = curation.review
    by_number = {proposal.number: proposal for proposal in curation.proposals}
    if not by_number:
        raise Rejected(f"Review {review} proposes nothing.", kind="no_proposal")
    for number in numbers:
        if number not in by_number:
            there = ", ".join(map(str, by_number))
            raise Rejected(
                f"Review {review} has no proposal {number}.", kind="no_proposal", hint=f"There are: {there}."
            )
    chosen = tuple(by_number[number] for number in sorted(set(numbers) or by_number))
    applied = [str(item.number) for item in chosen if item.applied]
    if numbers and applied:
        raise _already(review, applied)
    remaining = tuple(item for item in chosen if not item.applied)
    if not remaining:
        raise _already(review, applied)
    return remaining


def _already(review: str, numbers: Sequence[str]) -> Rejected:
    which = f"Proposal {numbers[0]}" if len(numbers) == 1 else f"Proposals {', '.join(numbers)}"
    return Rejected(
        f"{which} of review {review} {'was' if len(numbers) == 1 else 'were'} applied already.",
        kind="already_applied",
        hint="`hermes-jobs skills undo NAME` takes a write back.",
    )


def _check_current(load: StateLoader, proposal: CurationProposal) -> None:
    for name, version in proposal.versions.items():
        skill: Skill = load(stream_of(name))
        if skill.version != version:
            raise Rejected(
                f"The skill {name} has changed since proposal {proposal.number} was made "
                f"(version {version} then, {skill.version} now).",
                kind="stale_proposal",
                hint="Nothing was changed. Apply others with --only, or `hermes-jobs reviews curate` anew.",
            )


def _carry_out(load: StateLoader, proposal: CurationProposal) -> Iterator[StreamEvents]:
    proposed = proposal.proposed
    if isinstance(proposed, skills_events.ArchiveProposed):
        yield _archive(load(stream_of(proposed.skill)), proposed.evidence)
        return
    into: Skill = load(stream_of(proposed.into))
    event = event_for(into, write_request_of(proposed, into))
    if event is not None:
        yield StreamEvents(into.stream, (event,))
    for name in proposed.skills:
        yield _archive(load(stream_of(name)), proposed.evidence)


def write_request_of(proposed: skills_events.MergeProposed, into: Skill) -> SkillWriteRequest:
    """The write of the remaining skill."""
    merge = Merge(
        into=proposed.into,
        skills=proposed.skills,
        content=proposed.content,
        reason=proposed.reason,
        category=proposed.category,
    )
    return SkillWriteRequest(
        name=into.name, request=merge.request(into), author=BY, evidence=proposed.evidence
    )


def _archive(skill: Skill, evidence: Evidence) -> StreamEvents:
    event = skills_events.SkillEdited(
        name=skill.name, content=skill.main, category=ARCHIVE, author=BY, evidence=evidence
    )
    return StreamEvents(skill.stream, (event,))


# --- checks of proposals -----------------------------------------------------------------------


def _recorded(
    curation: Curation, proposed: skills_events.MergeProposed | skills_events.ArchiveProposed
) -> DecisionResult:
    return DecisionResult.of(
        curation.stream,
        proposed,
        answer=f"Kept as proposal {proposed.number}. Nothing is changed: the user decides about it.",
    )


def _check_open(curation: Curation, names: Sequence[str]) -> None:
    if len(curation.proposals) >= MAX_PROPOSALS:
        raise _refused(f"There are {MAX_PROPOSALS} proposals already.", "Conclude.")
    for name in names:
        before = curation.about(name)
        if before is not None:
            raise _refused(
                f"Proposal {before.number} is about {name} already.", "A skill can be in one proposal only."
            )


def _present(load: StateLoader, name: str) -> Skill:
    skill: Skill = load(stream_of(_readable(name)))
    if not skill.exists:
        raise unknown_skill(name, ())
    if skill.is_archived:
        raise _refused(f"The skill {name} is archived already.", "Leave it.")
    return skill


def _readable(name: str) -> str:
    if not is_read(name):
        raise unknown_skill(name, ())
    return name


def _check_text(into: Skill, merge: Merge, evidence: Evidence) -> None:
    """Raise `Rejected` if the merged text is invalid, or the guard has new findings in it."""
    if into.is_archived:
        raise _refused(f"The skill {into.name} is archived.", "Merge into another one.")
    request = SkillWriteRequest(name=into.name, request=merge.request(into), author=BY, evidence=evidence)
    event = event_for(into, request)
    if event is None:
        raise _refused(
            f"{into.name} reads so already: nothing would be merged.",
            "Propose to archive the others, where it says all that they say.",
        )
    after = evolve(into, event)
    missing = sorted(set(_FILE.findall(merge.content)) - set(after.files))
    if missing:
        raise _refused(
            f"{into.name} has no file {', '.join(missing)}: files stay with the skills that give way.",
            "Say in the text itself what matters of them, or leave these skills apart.",
        )
    concerns = new_concerns(into.files, after.files)
    if verdict(concerns) != "safe":
        rules = ", ".join(sorted({f"“{concern.rule}”" for concern in concerns}))
        raise _refused(f"The guard found {rules} in the text.", "Write it without, or leave them apart.")


def _refused(message: str, hint: str) -> Rejected:
    return Rejected(message, kind="proposal", hint=hint)
