"""What reviews have saved, by name: memory entries by their texts or numbers, and the names of skills."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import msgspec

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import STREAM
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.system.struct_types import described

SKILL_TOOL = "skill_manage"
SHOWN = 60  # characters of an entry, so that two of them fit into a cell


class _Named(msgspec.Struct):
    name: str = ""


def saved_names(log: EventLog, reviews: Collection[str], *, texts: bool = True) -> Mapping[str, str]:
    """The names for each of the reviews that has saved something. Raises `LogUnavailable`.

    Without `texts` a memory entry is named by its number in `memory log`.
    """
    names: defaultdict[str, list[str]] = defaultdict(list)
    for recorded in log.read(STREAM) if reviews else ():
        event = recorded.event
        if isinstance(event, memory_events.MemoryAdded | memory_events.MemoryReplaced):
            writer = event.review or (event.evidence.session if event.evidence is not None else "")
            if writer in reviews:
                entry = f"“{_short(event.content)}”" if texts else f"memory write {recorded.version}"
                names[writer].append(entry)
    for review in reviews:
        names[review] += [f"skill {name}" for name in dict.fromkeys(_skills(log, review))]
    return {review: ", ".join(found) for review, found in names.items() if found}


def _skills(log: EventLog, review: str) -> Iterator[str]:
    """The skills that the calls of the review's session have changed."""
    called: dict[str, str] = {}
    for recorded in log.read(stream_of(review)):
        match recorded.event:
            case e.ToolStarted(name=name, call=call, arguments=arguments) if name == SKILL_TOOL:
                try:
                    called[call] = msgspec.json.decode(arguments, type=described(_Named)).name
                except msgspec.MsgspecError:
                    continue
            case e.ToolFinished(call=call, ok=True) if called.get(call):
                yield called[call]


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= SHOWN else f"{words[: SHOWN - 1]}…"
