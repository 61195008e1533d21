"""An example of every event of `holding`."""

from __future__ import annotations

from hermes_jobs.features.holding import events as e

EXAMPLES = (
    e.CallHeld(
        held="3f0c9d2ab81e",
        tool="memory",
        arguments='{"action":"add","target":"memory","content":"Invoices go to «Müller»."}',
        outside=("https://portal.example/news", "the MCP server mail"),
        expires_at=1_800_000_000.25,
        session="s2",
        lineage="s1",
        turn="t1",
        call="t1-2-0",
        author="review",
        provisional=True,
        source="telegram",
        deliver=("telegram:12",),
        workdir="/srv",
    ),
    e.HeldCallKept(held="3f0c9d2ab81e", by="user"),
    e.HeldCallDropped(held="3f0c9d2ab81e", by="user"),
    e.HoldCounted(day="2026-11-29", turn="t1"),
)
