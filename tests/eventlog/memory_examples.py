"""One example of each fact of the memory, every field set to something else than its default."""

from __future__ import annotations

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.kernel import events as e

EVIDENCE = memory_events.Evidence(session="s1", turn="t1", call="t1-1-0")
FILE = "0123456789abcdef0123456789abcdef"
EXAMPLES: tuple[e.Event, ...] = (
    memory_events.MemoryAdded(
        target="user",
        content="Likes «tea»\nat four",
        author="turn",
        evidence=EVIDENCE,
        undoes=3,
        file=FILE,
        anyway=True,
        kind="episodic",
        tags=("tea",),
        provisional=True,
        observed="2026-11-21",
        observed_in=("t1", "t3"),
        review="o1",
        said_at="2026-11-21T12:00:00Z",
        slot="Maya: town",
    ),
    memory_events.MemoryReplaced(
        target="memory",
        old="Builds take long",
        content="Builds take five minutes",
        author="hand_edit",
        evidence=EVIDENCE,
        undoes=4,
        file=FILE,
        anyway=True,
        kind="identity",
        tags=("builds", "time"),
        why="prompts have no room for it",
        curation="c1",
        provisional=True,
        observed="2026-11-21",
        observed_in=("t1", "t3"),
        review="o1",
        said_at="2026-11-21T12:00:00Z",
        slot="Maya: town",
    ),
    memory_events.MemoryConfirmed(
        target="memory", content="Builds take long", author="turn", evidence=EVIDENCE, undoes=8, file=FILE
    ),
    memory_events.MemoryRemoved(
        target="memory",
        old="Builds take long",
        author="review",
        evidence=EVIDENCE,
        undoes=5,
        file=FILE,
        why="it says the same as «Builds are slow»",
        curation="c1",
    ),
    memory_events.MemoryArranged(
        target="user",
        entries=("Likes tea", "Has a dog"),
        old=("Has a dog", "Likes tea"),
        author="hand_edit",
        evidence=EVIDENCE,
        undoes=6,
        file=FILE,
    ),
    memory_events.MemoryConflicted(
        target="user",
        old="Likes tea",
        ours="Likes green tea",
        theirs="Likes tea at four",
        author="hand_edit",
        evidence=EVIDENCE,
        undoes=7,
        file=FILE,
    ),
)
