"""Decides a request to write a skill: an event, a proposal that needs approval, or a refusal.

Decisions are made on the skill's state in the log, and repeated if that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, assert_never

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.guard import Concern, new_concerns, verdict
from hermes_jobs.features.skills.names import checked_inside, checked_name, checked_path, unknown_skill
from hermes_jobs.features.skills.rules.skill import (
    MAIN_FILE,
    Skill,
    SkillProposal,
    evolve,
    restored,
    stream_of,
    undone,
)
from hermes_jobs.features.skills.skill_md import checked_file, strict
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.origins import Author, Evidence
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.session import stream_of as session_stream
from hermes_jobs.text.patch import patched

REFUSED = "The guard refused this: "
CHANGED = "The user has changed {path} since you read it (version {version})."
MAX_PRESENT_CHARACTERS = 20_000  # characters of a file in a refusal
MAX_CONCERNS = 5  # concerns in an answer
REPLACES_FILE = ("edit", "write_file")  # replaces the whole previous content of a file


class SkillWriteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request with its author and turn. `lineage`: of the session whose model makes it.
    `provisional`: the write is to be verified."""

    name: str
    request: skills_events.SkillRequest
    author: Author
    evidence: Evidence | None = None
    lineage: str = ""
    provisional: bool = False


def write_skill(write: SkillWriteRequest, *, guard: bool) -> Decision:
    """A change that executes a request; with `guard` its content is scanned first.

    The change raises `Rejected`.
    """

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(stream_of(write.name))
        event = event_for(skill, write)
        if event is None:
            return DecisionResult(answer=f"The skill {skill.name} reads so already; nothing was written.")
        _check_seen(skill, write, load)
        concerns = new_concerns(skill.files, evolve(skill, event).files) if guard else ()
        severity = verdict(concerns)
        if severity == "dangerous":
            raise Rejected(
                f"{REFUSED}{_described(concerns)}. Nothing was written.",
                kind="guard",
                hint="Write the skill without it, or leave it and tell the user why, who can allow it.",
            )
        if severity == "caution":
            proposed = _proposed(write, concerns)
            return DecisionResult.of(skill.stream, proposed, answer=_waits(concerns))
        return DecisionResult.of(skill.stream, event, answer=_saved(evolve(skill, event), event))

    return change


def _check_seen(skill: Skill, write: SkillWriteRequest, load: StateLoader) -> None:
    """Raise `Rejected` if the request replaces a file that a user wrote and the model has never read."""
    at_stake = _affected_paths(skill, write.request) & skill.persons
    if not write.lineage or not at_stake:
        return
    session: Session = load(session_stream(write.lineage))
    texts = [message.content for message in session.messages]
    for path in sorted(at_stake):
        content, notice = skill.files[path].content, CHANGED.format(path=path, version=skill.version)
        if not any(content in text or notice in text for text in texts):
            present = (
                content
                if len(content) <= MAX_PRESENT_CHARACTERS
                else f"{content[:MAX_PRESENT_CHARACTERS]}\n[… skill_view has the rest]"
            )
            raise Rejected(
                f"{notice} Nothing was written. It reads now:\n{present}\n",
                kind="skill_changed",
                hint="Keep what the user wrote: patch it, or ask again.",
            )


def _affected_paths(skill: Skill, request: skills_events.SkillRequest) -> Set[str]:
    """The files that a request replaces or removes. A patch is not among them: its old_string proves that the
    file was read."""
    match request.action:
        case "edit":
            return {MAIN_FILE}
        case "write_file" | "remove_file":
            return {request.path}
        case "delete":
            return skill.files.keys()
        case "create" | "patch":
            return frozenset()
        case _:
            assert_never(request.action)


def approve_proposal(name: str, number: int | None, by: str) -> Decision:
    """A change that approves a proposed write; `number` None: the only one. The change raises `Rejected`."""

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(stream_of(name))
        proposal = _proposal(skill, number)
        if proposal.request.action in REPLACES_FILE and skill.files.get(proposal.path) != proposal.before:
            raise Rejected(
                f"{proposal.path} of {name} has changed since its replacement was proposed.",
                kind="stale_proposal",
                hint=f"`hermes-jobs skills deny {name}`, and have it proposed anew.",
            )
        write = SkillWriteRequest(
            name=name, request=proposal.request, author=proposal.author, evidence=proposal.evidence
        )
        approved = skills_events.SkillApproved(name=name, proposal=proposal.version, by=by)
        event = event_for(skill, write)
        events = (approved,) if event is None else (approved, event)
        answer = _done(proposal.request.action, proposal.path)
        return DecisionResult.of(skill.stream, *events, answer=answer)

    return change


def allow_write(write: SkillWriteRequest) -> Decision:
    """The change by which a user makes a write that the guard refused."""

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(stream_of(write.name))
        event = event_for(skill, write)
        if event is None:
            return DecisionResult(answer="it reads so already")
        rules = _rules(new_concerns(skill.files, evolve(skill, event).files))
        approved = skills_events.SkillApproved(name=write.name, proposal=0, by="user", rules=rules)
        answer = f"{_done(write.request.action, write.request.path)} although: {'; '.join(rules)}"
        return DecisionResult.of(skill.stream, approved, event, answer=answer)

    return change


def deny_proposal(name: str, number: int | None, by: str) -> Decision:
    """The change by which a user denies a proposed write."""

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(stream_of(name))
        proposal = _proposal(skill, number)
        denied = skills_events.SkillDenied(name=name, proposal=proposal.version, by=by)
        return DecisionResult.of(skill.stream, denied, answer="denied")

    return change


def undo_writes(name: str) -> Decision:
    """A change that undoes a skill's last write. The change raises `Rejected`."""

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(stream_of(name))
        if not skill.version:
            raise unknown_skill(name, ())
        event = undone(skill)
        answer = f"version {event.undoes} was undone"
        return DecisionResult.of(skill.stream, event, answer=answer)

    return change


def restore_skill(name: str, then: Skill) -> Decision:
    """A change that restores a skill to its state `then`. The change raises `Rejected`."""

    def change(load: StateLoader) -> DecisionResult:
        skill: Skill = load(stream_of(name))
        answer = f"it is as it was at version {then.version}"
        return DecisionResult.of(skill.stream, restored(skill, then), answer=answer)

    return change


def event_for(skill: Skill, write: SkillWriteRequest) -> skills_events.SkillWritten | None:
    """The event for a request on this skill; None if it changes nothing. Raises `Rejected`."""
    request = write.request
    fields: Mapping[str, Any] = {"name": skill.name, "author": write.author, "evidence": write.evidence}
    writes: Mapping[str, Any] = {**fields, "provisional": write.provisional}
    if request.action == "create":
        return _creation(skill, request, writes)
    if not skill.exists:
        raise unknown_skill(skill.name, ())
    match request.action:
        case "edit":
            return _edit(skill, request, writes)
        case "patch":
            return _patch(skill, request, writes)
        case "delete":
            return skills_events.SkillDeleted(**fields)
        case "write_file":
            path = request.path if request.path in _support(skill) else checked_path(request.path)
            content = checked_file(path, request.content)
            if skill.files.get(path) == skills_events.SkillFile(content):
                return None
            return skills_events.SkillFileWritten(path=path, content=content, **writes)
        case "remove_file":
            return skills_events.SkillFileRemoved(path=_existing(skill, request.path), **fields)
        case _:
            assert_never(request.action)


def _creation(
    skill: Skill, request: skills_events.SkillRequest, fields: Mapping[str, Any]
) -> skills_events.SkillCreated:
    checked_name(skill.name)
    if skill.exists:
        raise Rejected(
            f"The skill {skill.name!r} exists already.",
            kind="skill_exists",
            hint="Improve it with `patch` or `edit`, or give the new one another name.",
        )
    category = checked_name(request.category, "category") if request.category else ""
    return skills_events.SkillCreated(
        content=strict(request.content, skill.name), category=category, **fields
    )


def _edit(
    skill: Skill, request: skills_events.SkillRequest, fields: Mapping[str, Any]
) -> skills_events.SkillEdited | None:
    category = checked_name(request.category, "category") if request.category else request.category
    content = strict(request.content, skill.name)
    moved = None if category in (None, skill.category) else category
    if content == skill.main and moved is None:
        return None
    return skills_events.SkillEdited(content=content, category=moved, **fields)


def _patch(
    skill: Skill, request: skills_events.SkillRequest, fields: Mapping[str, Any]
) -> skills_events.SkillPatched | None:
    path = MAIN_FILE if request.path in ("", MAIN_FILE) else _existing(skill, request.path)
    file = skill.files[path]
    if file.base64:
        raise Rejected(f"{path} is not text.", kind="skill_path", hint="Write it anew with `write_file`.")
    if not request.old_string:
        raise Rejected("old_string is empty.", kind="usage", hint="Give the text to replace.")
    patch = patched(file.content, request.old_string, request.new_string, replace_all=request.replace_all)
    content = strict(patch.text, skill.name) if path == MAIN_FILE else checked_file(path, patch.text)
    if content == file.content:
        return None
    return skills_events.SkillPatched(
        path=path, old_string=request.old_string, new_string=request.new_string, content=content, **fields
    )


def _support(skill: Skill) -> Sequence[str]:
    """The files other than SKILL.md, including those that a user added."""
    return sorted(set(skill.files) - {MAIN_FILE})


def _existing(skill: Skill, path: str) -> str:
    if path in _support(skill):
        return path
    checked_inside(path)
    there = ", ".join(_support(skill)) or "none"
    raise Rejected(
        f"The skill {skill.name} has no file {path!r}.", kind="skill_path", hint=f"Its files are: {there}."
    )


def _proposed(write: SkillWriteRequest, concerns: Iterable[Concern]) -> skills_events.SkillProposed:
    return skills_events.SkillProposed(
        name=write.name,
        request=write.request,
        rules=_rules(concerns),
        author=write.author,
        evidence=write.evidence,
    )


def _rules(concerns: Iterable[Concern]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{concern.rule}: {concern.excerpt}" for concern in concerns))


def _proposal(skill: Skill, number: int | None) -> SkillProposal:
    proposals = [proposal for proposal in skill.proposals if number in (None, proposal.version)]
    if len(proposals) == 1:
        return proposals[0]
    if not proposals:
        which = "" if number is None else f" as version {number}"
        raise Rejected(
            f"Nothing is proposed for the skill {skill.name!r}{which}.",
            kind="no_proposal",
            hint="`hermes-jobs skills list` shows what waits.",
        )
    waiting = ", ".join(
        f"{proposal.version} ({proposal.request.action} {proposal.path})" for proposal in proposals
    )
    raise Rejected(
        f"Several writes of the skill {skill.name!r} wait: {waiting}.",
        kind="ambiguous",
        hint="Say which with --version.",
    )


# --- answers ---------------------------------------------------------------------------------


def _described(concerns: Iterable[Concern]) -> str:
    descriptions = list(
        dict.fromkeys(
            f"“{concern.rule}” ({concern.path}, line {concern.line}: {concern.excerpt})"
            for concern in concerns
        )
    )
    more = f" and {len(descriptions) - MAX_CONCERNS} more" if len(descriptions) > MAX_CONCERNS else ""
    return "; ".join(descriptions[:MAX_CONCERNS]) + more


def _waits(concerns: Iterable[Concern]) -> str:
    return (
        f"Not written yet: it waits for the user's approval, because the guard found {_described(concerns)}. "
        "Tell the user, who can approve or deny it; do not ask for it again."
    )


def _saved(after: Skill, event: skills_events.SkillWritten) -> str:
    path = getattr(event, "path", MAIN_FILE)
    text = _done(_ACTIONS[type(event)], path)
    if isinstance(event, skills_events.SkillDeleted):
        return f"Saved: the skill {after.name} was {text}, with all its files."
    files = len(after.files) - 1
    size_text = f"SKILL.md has {len(after.main):,} characters; files besides it: {files}"
    return f"Saved: the skill {after.name}: {text}. {size_text}. Nothing more is needed."


_ACTIONS: Mapping[type[e.Event], skills_events.SkillAction] = {
    skills_events.SkillCreated: "create",
    skills_events.SkillEdited: "edit",
    skills_events.SkillPatched: "patch",
    skills_events.SkillDeleted: "delete",
    skills_events.SkillFileWritten: "write_file",
    skills_events.SkillFileRemoved: "remove_file",
    skills_events.SkillInstalled: "create",
}


def _done(action: skills_events.SkillAction, path: str) -> str:
    match action:
        case "create":
            return "created"
        case "edit":
            return f"{MAIN_FILE} was written again"
        case "patch":
            return f"{path or MAIN_FILE} was patched"
        case "delete":
            return "deleted"
        case "write_file":
            return f"{path} was written"
        case "remove_file":
            return f"{path} was removed"
        case _:
            assert_never(action)
