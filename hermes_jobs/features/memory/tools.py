"""The `memory` tool: entries across sessions. Its only effect is events of one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
from msgspec import Meta

from hermes_jobs.features.memory.events import MemoryClass, MemoryTarget
from hermes_jobs.features.memory.rules.memory import Limits
from hermes_jobs.features.memory.rules.writes import MemoryAction, Operation, Origin, Write
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.tools.tool import Arguments, Tool, ToolFailed, evidence_of, shared_resource, tool

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

MAX_OPERATIONS = 50
MAX_TAGS, MAX_TAG = 8, 40

Sync: TypeAlias = Callable[[], object]
"""Imports edits that users made to the memory's files."""


Tags: TypeAlias = Annotated[tuple[Annotated[str, Meta(max_length=MAX_TAG)], ...], Meta(max_length=MAX_TAGS)]


class MemoryStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of several operations."""

    action: MemoryAction | None = None
    target: MemoryTarget | None = None
    content: str | None = None
    old_text: str | None = None
    kind: MemoryClass | None = None
    tags: Tags = ()


Steps: TypeAlias = Annotated[tuple[MemoryStep, ...], Meta(max_length=MAX_OPERATIONS)]


class MemoryTools:
    """The tool. `limits` hold for every session; `sync` runs before each write."""

    def __init__(self, limits: Limits, sync: Sync) -> None:
        self._limits = limits
        self._sync = sync

    @property
    def tools(self) -> tuple[Tool, ...]:
        writing = tool(
            toolset="memory",
            effect="idempotent",
            writes=shared_resource("the memory of this home"),
            lasting=_texts,
        )
        return (writing(self.memory),)

    def memory(  # noqa: PLR0913, PLR0917 - a model's arguments
        self,
        context: ToolContext,
        action: Annotated[MemoryAction | None, "Unless `operations` is given."] = None,
        target: Annotated[
            MemoryTarget | None, "`user`: who they are and what they prefer. `memory`: all else."
        ] = None,
        content: Annotated[str | None, "add, replace: one short fact."] = None,
        old_text: Annotated[str | None, "replace, remove: a text that only this entry has."] = None,
        operations: Annotated[
            Steps | None, "Several, all or nothing; `action` and `target` default to the call's."
        ] = None,
        kind: Annotated[
            MemoryClass | None,
            "`identity`: in every prompt (default for `user`). `episodic`: in prompts while there is room, "
            "else recalled (default for `memory`). `working`: only in this conversation.",
        ] = None,
        tags: Annotated[Tags, "More words to find it by."] = (),
    ) -> ToolOutcome:
        """Save what will matter in later sessions: preferences, corrections, projects' context, proven facts.

        No credentials, guesses or temporary facts. It is in the prompt from the next session on; entries that
        do not fit are recalled when a message is about them.
        """
        requested = _operations(action, target, content, old_text, operations, kind=kind, tags=tags)
        self._sync()
        origin = Origin(
            context.author, evidence_of(context), context.lineage, provisional=context.provisional
        )
        return ToolOutcome(content="", change=Write(requested, origin, self._limits))


def _texts(arguments: Arguments) -> Sequence[str]:
    """What its entries say; of removals and of changes of kind, what names the entry."""
    steps = arguments["operations"] or (
        MemoryStep(content=arguments["content"], old_text=arguments["old_text"]),
    )
    texts = [text for step in steps if (text := step.content or step.old_text)]
    return (*texts, *arguments["tags"], *(tag for step in steps for tag in step.tags))


def _operations(
    action: MemoryAction | None,
    target: MemoryTarget | None,
    content: str | None,
    old_text: str | None,
    steps: Sequence[MemoryStep] | None,
    *,
    kind: MemoryClass | None,
    tags: Sequence[str],
) -> tuple[Operation, ...]:
    if steps:
        differs = action is not None and any(step.action not in {None, action} for step in steps)
        if differs or (content, old_text) != (None, None):
            raise ToolFailed("give either `operations` or one `action`, not both.")
        return tuple(
            _operation(
                step.action or action,
                step.target or target,
                step.content,
                step.old_text,
                step.kind or kind,
                step.tags or tags,
            )
            for step in steps
        )
    return (_operation(action, target, content, old_text, kind, tags),)


def _operation(
    action: MemoryAction | None,
    target: MemoryTarget | None,
    content: str | None,
    old_text: str | None,
    kind: MemoryClass | None,
    tags: Sequence[str],
) -> Operation:
    if action is None:
        raise ToolFailed("give `action` (add, replace or remove), or `operations`.")
    if target is None:
        raise ToolFailed("give `target`: `user` for who the user is, `memory` for everything else.")
    words = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    return Operation(action=action, target=target, content=content, old_text=old_text, kind=kind, tags=words)


def memory_tools(application: Application) -> tuple[Tool, ...]:
    """The tools, as configured."""
    return MemoryTools(application.memory_limits, application.memory.sync).tools


def prompt_sections(application: Application) -> Callable[[Session], str]:
    """The memories' sections of system prompts."""
    return application.providers.block
