"""What the agent remembers, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.features.memory.events import MemoryClass, MemoryTarget
from hermes_jobs.features.memory.rules.entries import Entry, in_order
from hermes_jobs.features.memory.rules.writes import Operation, Origin, Write

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class Memory:
    """The memory's two targets: `user` (who the person is) and `memory` (everything else)."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def entries(self, target: MemoryTarget | None = None) -> tuple[Entry, ...]:
        """The entries, those in prompts, recalled and left out; of both targets unless one is named."""
        places = self._application.memory_places()
        return tuple(entry for entry in in_order(places) if target in {None, entry.target})

    def add(
        self,
        text: str,
        *,
        target: MemoryTarget = "memory",
        kind: MemoryClass | None = None,
        tags: tuple[str, ...] = (),
        by: str = "",
    ) -> None:
        """Add an entry; `by` is who asks for it. Raises `Rejected` for what looks like an instruction to the
        agent or a secret."""
        self._write(Operation(action="add", target=target, content=text, kind=kind, tags=tags), by)

    def replace(self, old: str, new: str, *, target: MemoryTarget = "memory", by: str = "") -> None:
        """Replace the one entry that contains `old`. Raises `Rejected` for none or several."""
        self._write(Operation(action="replace", target=target, content=new, old_text=old), by)

    def remove(self, old: str, *, target: MemoryTarget = "memory", by: str = "") -> None:
        """Remove the one entry that contains `old`. Raises `Rejected` for none or several."""
        self._write(Operation(action="remove", target=target, old_text=old), by)

    def _write(self, operation: Operation, by: str) -> None:
        application = self._application
        write = Write([operation], Origin("user"), application.memory_limits)
        application.memory.change(write, f"memory {operation.action}", by=by)
        application.memory.sync()
