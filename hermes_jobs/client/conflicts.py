"""Messages about entries of the memory and lines of skills that both the user and the agent changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_jobs.features.memory.events import MemoryConflicted
from hermes_jobs.features.skills.rules.skill import MAIN_FILE
from hermes_jobs.kernel.turns.titles import printable

if TYPE_CHECKING:
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.features.skills.catalog import SkillCatalog
    from hermes_jobs.kernel.log.log import EventLog


def conflicts(
    memory: SyncedMemory, skills: SkillCatalog, log: EventLog, since: str, until: str | None = None
) -> Iterator[str]:
    """A sentence about each conflict recorded after `since` and up to `until` (None: now), moments as the log
    writes them. Raises `LogUnavailable`."""
    for write in memory.writes():
        if isinstance(write.event, MemoryConflicted) and _is_between(write.at, since, until):
            yield f"In the memory, {conflict(write.event)} (hermes-jobs memory log)."
    for skill in skills.all_known():
        for record in log.read(skill.stream) if skill.conflicts else ():
            if record.version in skill.conflicts and _is_between(record.recorded_at, since, until):
                path = getattr(record.event, "path", MAIN_FILE)
                yield (
                    f"In the skill {skill.name}, you and the agent changed the same lines of {path}; look at "
                    f"what was made of it (hermes-jobs skills show {skill.name})."
                )


def conflict(event: MemoryConflicted) -> str:
    """A sentence about an entry that both sides changed, and which version was stored."""
    was = _quoted(event.old)
    match event.ours, event.theirs:
        case str(ours), None:
            return f"you removed {was} while the agent changed it; the agent's is kept: {_quoted(ours)}"
        case None, str(theirs):
            return f"you changed {was} while the agent removed it; yours is kept: {_quoted(theirs)}"
        case ours, theirs:
            both = f"{_quoted(ours or '')} and yours {_quoted(theirs or '')}"
            return f"you and the agent changed {was}; both are kept: the agent's {both}"


def _quoted(text: str) -> str:
    return f"“{' '.join(printable(text).split())}”"


def _is_between(at: str, since: str, until: str | None) -> bool:
    return since < at and (until is None or at <= until)
