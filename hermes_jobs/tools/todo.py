"""The `todo` tool: the agent's list for a session. Its only effect is an event of the session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.events import Todo, TodoStatus, TodosWritten
from hermes_jobs.tools.tool import Tool, ToolFailed, shared_resource, tool

MAX_ITEMS = 100
MARKS: dict[TodoStatus, str] = {"pending": " ", "in_progress": ">", "completed": "x", "cancelled": "-"}
ENDED = ("completed", "cancelled")


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A todo."""

    id: Annotated[str, Meta(min_length=1, max_length=100)]
    text: Annotated[Annotated[str, Meta(min_length=1, max_length=1_000)] | None, "What to do."] = None
    status: TodoStatus | None = None


Items: TypeAlias = Annotated[tuple[Item, ...], Meta(max_length=MAX_ITEMS)]


def todo_tools() -> tuple[Tool, ...]:
    """The tool; it changes only the session."""
    return (
        tool(toolset="todo", effect="idempotent", writes=shared_resource("the todos of this session"))(todo),
    )


def todo(
    context: ToolContext,
    items: Annotated[Items | None, "In order. Default: only read the list."] = None,
    merge: Annotated[bool, "Change or add these by id; other items and missing fields stay."] = False,
) -> ToolOutcome:
    """Keep a to-do list, for work of three steps or more.

    Write it before you start, keep one item in_progress, and mark each completed as soon as it is.
    """
    if items is None:
        return ToolOutcome(content=show(context.todos))
    new = _merge(context.todos, items) if merge else tuple(_create(item) for item in items)
    if len({item.id for item in new}) < len(new):
        raise ToolFailed("two items have the same id: give each its own.")
    if len(new) > MAX_ITEMS:
        raise ToolFailed(f"the list would have {len(new)} items; it may have {MAX_ITEMS}.")
    events = () if new == context.todos else (TodosWritten(session=context.session, items=new),)
    return ToolOutcome(content=show(new), events=events)


def _merge(before: Sequence[Todo], items: Iterable[Item]) -> tuple[Todo, ...]:
    merged = {todo.id: todo for todo in before}
    for item in items:
        merged[item.id] = _create(item, merged.get(item.id))
    return tuple(merged.values())


def _create(item: Item, before: Todo | None = None) -> Todo:
    text = item.text or (before.text if before else None)
    if text is None:
        raise ToolFailed(f"the item `{item.id}` is new and has no text.")
    return Todo(id=item.id, text=text, status=item.status or (before.status if before else "pending"))


def show(todos: Sequence[Todo]) -> str:
    """The list as text, for the model and users."""
    if not todos:
        return "The list is empty."
    open_items = sum(todo.status not in ENDED for todo in todos)
    lines = [f"[{MARKS[todo.status]}] {todo.id}: {todo.text}" for todo in todos]
    return "\n".join([f"{open_items} of {len(todos)} open:", *lines])
