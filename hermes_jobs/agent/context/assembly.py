"""The history after a compression: head, summary, tail, open todos, in roles that providers accept."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hermes_jobs.agent.context.boundaries import HistorySplit
from hermes_jobs.agent.context.message_groups import flat, repaired
from hermes_jobs.agent.context.prune import pruned
from hermes_jobs.agent.context.summary import enclosed, todos_note
from hermes_jobs.domain.session.messages import AssistantMessage, Message, UserMessage


def assembled(parts: HistorySplit, summary: str, todos: Sequence[str]) -> tuple[Message, ...]:
    """The parts with the summary in the middle's place; `todos` are those that are open."""
    head = repaired(pruned(flat(parts.head)))
    tail = repaired(flat(parts.tail))
    said = _with_summary(head, enclosed(summary), tail)
    if not todos:
        return said
    note = todos_note(todos)
    if said and isinstance(said[-1], UserMessage):
        return (*said[:-1], UserMessage(f"{said[-1].content}\n\n{note}"))
    return (*said, UserMessage(note))


def _with_summary(head: tuple[Message, ...], summary: str, tail: tuple[Message, ...]) -> tuple[Message, ...]:
    """The summary in a role that neither of its neighbours has, or within the tail's first message."""
    user_before = bool(head) and isinstance(head[-1], UserMessage)
    user_after = bool(tail) and isinstance(tail[0], UserMessage)
    if not user_before and not user_after:
        return (*head, UserMessage(summary), *tail)
    if user_after and not user_before and not head:
        return (UserMessage(f"{summary}\n\n{tail[0].content}"), *tail[1:])
    speaks_before = bool(head) and isinstance(head[-1], AssistantMessage)
    if user_after and not speaks_before:
        return (*head, AssistantMessage(summary), *tail)
    if user_after:
        return (*head, UserMessage(f"{summary}\n\n{tail[0].content}"), *tail[1:])
    first = tail[0] if tail else None
    if isinstance(first, AssistantMessage):
        return (
            *head,
            replace(first, content=f"{summary}\n\n{first.content}".rstrip()),
            *tail[1:],
        )
    return (*head, AssistantMessage(summary), *tail)
