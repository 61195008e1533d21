"""The skills tools: list, read and write skills, and propose merges and archiving as their curator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from msgspec import Meta

from hermes_jobs.features.skills.events import SkillRequest
from hermes_jobs.features.skills.presenter import SkillPresenter
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.events import Opening
from hermes_jobs.kernel.events.origins import Author, Evidence
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.reviews import CURATED
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.tools.tool import (
    RESOURCE,
    Arguments,
    Tool,
    ToolFailed,
    always,
    evidence_of,
    shared_resource,
    tool,
)

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

Action = Literal["create", "edit", "patch", "delete", "write_file", "remove_file"]

_PLACE = "the skills"  # calls of one reply for the same skill keep their order, as with paths


class Skills(Protocol):
    """Reads and writes skills. Every method may raise `Rejected`."""

    def listing(self, category: str | None, toolsets: Collection[str] | None) -> str:
        """Names and descriptions, for an agent with these toolsets; None: with all."""

    def view(self, name: str, path: str, toolsets: Collection[str] | None) -> str:
        """A complete skill, or one of its files."""

    def writing(
        self,
        name: str,
        request: SkillRequest,
        author: Author,
        evidence: Evidence,
        lineage: str,
        *,
        provisional: bool,
    ) -> Decision:
        """The change for a request of a model in that lineage."""


def skill_tools(skills: Skills) -> tuple[Tool, ...]:
    """The tools on these skills."""
    tools = _SkillTools(skills)
    return (
        tool(toolset="skills", effect="read", reads=shared_resource(_PLACE))(tools.skills_list),
        tool(toolset="skills", effect="read", reads=_the_skill)(tools.skill_view),
        tool(toolset="skills", effect="idempotent", writes=_the_skill, lasting=always)(tools.skill_manage),
    )


def _the_skill(arguments: Arguments) -> Sequence[str]:
    return (f"{RESOURCE}{_PLACE}/{arguments['name'].replace('/', '_')}",)


class _SkillTools:
    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def skills_list(self, context: ToolContext, category: str | None = None) -> str:
        """List all skills. Check it before unfamiliar work, and before you write a new skill."""
        return self._skills.listing(category, _toolsets(context))

    def skill_view(
        self,
        context: ToolContext,
        name: str,
        file_path: Annotated[str, "Such as references/api.md. Default: SKILL.md."] = "",
    ) -> str:
        """Read a skill, or one of its files; completely before you follow or change it."""
        return self._skills.view(name, file_path, _toolsets(context))

    def skill_manage(  # noqa: PLR0913, PLR0917 - what the six actions take between them
        self,
        context: ToolContext,
        action: Action,
        name: Annotated[str, "Lower-case letters, digits, single hyphens."],
        content: Annotated[
            str | None,
            "create, edit: the complete SKILL.md, with front matter between two lines of `---`: `name` and "
            "`description` (what it does, when to use it). write_file: the complete file.",
        ] = None,
        category: Annotated[str | None, "create, edit: a folder."] = None,
        file_path: Annotated[
            str | None,
            "write_file, remove_file, patch: in references/, templates/, scripts/ or assets/, or any "
            "existing file.",
        ] = None,
        file_content: Annotated[str | None, "The same as content."] = None,
        old_string: Annotated[str | None, "patch: the exact text, which must occur once."] = None,
        new_string: str | None = None,
        replace_all: bool = False,
    ) -> ToolOutcome:
        """Create and improve skills: instructions for doing a kind of task well.

        edit replaces SKILL.md, patch one passage (best for improving); write_file and remove_file are for
        supporting files. A skill says when to use it, the steps, the pitfalls and how to verify the result.
        Improve one rather than create another. In a conversation, ask the user before you create or delete
        one; corrections may be patched without asking.
        """
        fields = {
            "content": content if content is not None else file_content,
            "file_path": file_path,
            "old_string": old_string,
            "new_string": new_string,
        }
        request = _request(action, fields, category, replace_all=replace_all)
        if not name.strip():
            raise ToolFailed("`name` is empty: give the skill's name.")
        evidence = evidence_of(context)
        change = self._skills.writing(
            name.strip(),
            request,
            context.author,
            evidence,
            context.lineage,
            provisional=context.provisional,
        )
        return ToolOutcome(content="", change=change)


def _request(
    action: Action, fields: Mapping[str, str | None], category: str | None, *, replace_all: bool
) -> SkillRequest:
    """The request of a call of `skill_manage`. Raises `ToolFailed` if a field of its action is missing."""
    for needed in _NEEDED[action]:
        if fields[needed] is None:
            raise ToolFailed(f"`{action}` needs `{needed}`.")
    return SkillRequest(
        action=action,
        content=fields["content"] or "",
        category=(category or "").strip() or None,
        path=(fields["file_path"] or "").strip(),
        old_string=fields["old_string"] or "",
        new_string=fields["new_string"] or "",
        replace_all=replace_all,
    )


_NEEDED: dict[Action, tuple[str, ...]] = {
    "create": ("content",),
    "edit": ("content",),
    "patch": ("old_string", "new_string"),
    "delete": (),
    "write_file": ("file_path", "content"),
    "remove_file": ("file_path",),
}


def _toolsets(context: ToolContext) -> Collection[str] | None:
    """The toolsets whose skills are listed; a review sees all (None)."""
    return context.toolsets if context.author == "turn" else None


Names = Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)]


class ProposalRecorder(Protocol):
    """Records proposals. Every method may raise `Rejected`."""

    def read(self, name: str, path: str) -> str:
        """A complete skill, or one of its files."""

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

    def archive(self, review: str, *, skill: str, reason: str, evidence: Evidence) -> Decision:
        """The change that proposes to archive a skill."""


def curator_tools(curator: ProposalRecorder) -> tuple[Tool, ...]:
    """The tools of this curator."""
    tools = _CuratorTools(curator)
    writes = shared_resource("the proposals of this review")
    proposing = tool(toolset="curation", effect="idempotent", writes=writes)
    return (
        tool(toolset="curation", effect="read")(tools.skill_read),
        proposing(tools.propose_merge),
        proposing(tools.propose_archive),
    )


class _CuratorTools:
    def __init__(self, curator: ProposalRecorder) -> None:
        self._curator = curator

    def skill_read(
        self,
        name: str,
        file_path: Annotated[str, "One of its files, such as references/api.md. Default: SKILL.md."] = "",
    ) -> str:
        """Read a skill, or one file of it. Read skills completely before you propose to merge them."""
        return self._curator.read(name.strip(), file_path.strip())

    def propose_merge(
        self,
        context: ToolContext,
        into: Annotated[str, "The skill to keep, or the name of a new one."],
        skills: Annotated[Names, "The skills to archive, with their files."],
        content: Annotated[str, "The complete SKILL.md of the skill to keep, including front matter."],
        reason: Annotated[
            str, "For the user, in one sentence: what they have in common, and why one is better."
        ],
        category: Annotated[str | None, "Category of a new skill (a folder)."] = None,
    ) -> ToolOutcome:
        """Propose to merge skills into one. A skill can be in one proposal only."""
        change = self._curator.merge(
            _review(context),
            into=into.strip(),
            skills=tuple(skill.strip() for skill in skills),
            content=content,
            category=(category or "").strip() or None,
            reason=" ".join(reason.split()),
            evidence=evidence_of(context),
        )
        return ToolOutcome(content="", change=change)

    def propose_archive(
        self,
        context: ToolContext,
        name: str,
        reason: Annotated[str, "For the user, in one sentence: why the skill is no longer useful."],
    ) -> ToolOutcome:
        """Propose to archive a skill: it is stored with its files, and no longer offered."""
        change = self._curator.archive(
            _review(context),
            skill=name.strip(),
            reason=" ".join(reason.split()),
            evidence=evidence_of(context),
        )
        return ToolOutcome(content="", change=change)


def _review(context: ToolContext) -> str:
    """The review of that session."""
    if context.source != CURATED:
        raise ToolFailed("proposals are made in a review of all skills only.")
    return context.lineage


def tools(application: Application) -> tuple[Tool, ...]:
    """All of them, as configured."""
    return (*skill_tools(SkillPresenter(application.skills)), *curator_tools(application.curator))


def prompt_section(application: Application) -> Callable[[Session], str]:
    """The index of skills in prompts of sessions with the tools to read them; a review's has all skills."""
    toolbox, presenter = application.toolbox, SkillPresenter(application.skills)

    def index(session: Session) -> str:
        opening = session.opening or Opening()
        on = toolbox.toolsets_on(opening.toolsets)
        if "skills" not in on:
            return ""
        return presenter.index(None if opening.kind == "review" else on)

    return index
