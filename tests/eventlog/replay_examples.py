"""An example of each event of replays, every field set."""

from __future__ import annotations

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.messages import Payload, ToolCall
from hermes_jobs.domain.usage import Reservation, Usage

USAGE = Usage(1, 2, 3, 4, 5)
RESERVED = Reservation(
    model="m", input_tokens=100, output_tokens=20, day="2026-11-23", max_tokens=20, cost_usd=0.5
)
EXAMPLES: tuple[e.Event, ...] = (
    e.ReplayPlanned(
        replay="p1",
        turns=(
            e.ReplayedTurn(
                turn="t1",
                stream="session-s1",
                calls=(e.RecordedCall("t1-1", 4), e.RecordedCall("t1-2", 9)),
                unrelated=True,
            ),
        ),
        variants=(
            e.Variant(
                name="brief",
                model="m2",
                system="Sei kürzer.",
                without=(e.Exclusion(kind="memory", name="7", text="Mag Tee."),),
                including=(
                    e.Inclusion(
                        kind="memory",
                        name="8",
                        text="Mag Kaffee.",
                        versions=(8,),
                        target="user",
                        old="Mag Tee.",
                    ),
                ),
            ),
        ),
        samples=3,
        follow=True,
        allow_reads=True,
        budget_usd=1.5,
    ),
    e.ReplayCallStarted(step="p1-v1t1s1c1", attempt=2, reserved=RESERVED, lost=RESERVED),
    e.ReplayCallEnded(
        step="p1-v1t1s1c1",
        attempt=2,
        content="Müde?",
        model="m2",
        finish_reason="tool_calls",
        tool_calls=(ToolCall("call_1", "read_file", '{"path": "a.txt" }'),),
        payload=Payload("chat", "m2", "host", '{"reasoning": "x"}'),
        seconds=1.5,
        usage=USAGE,
        cost_usd=0.25,
        estimated=USAGE,
        estimated_cost_usd=0.5,
        followed=(e.FollowedCall("read", "Tee"),),
    ),
    e.ReplayCallFailed(
        step="p1-v1t1s1c1",
        attempt=2,
        kind="rate_limit",
        message="slow down",
        model="m2",
        retry_at=1795348800.0,
        usage=USAGE,
        cost_usd=0.25,
        estimated=USAGE,
        estimated_cost_usd=0.5,
    ),
    e.ReplayStopped(kind="budget", message="The budget is used up.", hint="Give it more."),
    e.ReplayResumed(by="user", budget_usd=2.5),
)
