"""Examples of what delegation leaves in the streams of parents and children, and in that of their places."""

from __future__ import annotations

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Usage

PLACE = e.Delegation(
    turn="t2",
    parent="s1",
    parent_turn="t1",
    call="t1-1-0",
    payers=(e.Payer(turn="t0", stream="session-s0", budget_usd=2.5), e.Payer(turn="t1", stream="session-s1")),
    depth=2,
    role="research",
    max_iterations=20,
    withheld=("memory",),
    model_is_fixed=True,
    outside=("https://example.com/b",),
)
EXAMPLES: tuple[e.Event, ...] = (
    e.ChildrenStarted(
        turn="t1",
        call="t1-1-0",
        children=(
            e.ChildRef(session="s2", turn="t2", goal="Look at «pears»", role="research"),
            e.ChildRef(session="s3", turn="t3", goal="Look at plums"),
        ),
        waits=False,
    ),
    e.ChildEnded(
        turn="t1",
        call="t1-1-0",
        child="s2",
        status="stopped",
        answer="Pears «are» sweet.",
        message="Stopped before it was done.",
        num_model_calls=3,
        num_tool_calls=4,
        usage=Usage(1, 2, 3, 4, 5),
        cost_usd=0.5,
        outside=("https://example.com/a",),
    ),
    e.TurnReleased(turn="t2"),
    e.ChildrenQueued(
        children=(e.QueuedChild(session="s2", root="t0"), e.QueuedChild(session="s3", root="t0")),
        per_root=3,
        per_home=10,
    ),
    e.ChildSlotTaken(child="s2", root="t0"),
    e.ChildSlotFreed(child="s2"),
)
