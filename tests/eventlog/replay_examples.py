"""An example of each event of replays, every field set."""

from __future__ import annotations

from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns.messages import Payload, ToolCall

USAGE = Usage(1, 2, 3, 4, 5)
RESERVED = Reservation(
    model="m", input_tokens=100, output_tokens=20, day="2026-11-23", max_tokens=20, cost_usd=0.5
)
EXAMPLES: tuple[e.Event, ...] = (
    replay_events.ReplayPlanned(
        replay="p1",
        turns=(
            replay_events.ReplayedTurn(
                turn="t1",
                stream="session-s1",
                calls=(replay_events.RecordedCall("t1-1", 4), replay_events.RecordedCall("t1-2", 9)),
                unrelated=True,
            ),
        ),
        variants=(
            replay_events.Variant(
                name="brief",
                model="m2",
                system="Sei kürzer.",
                without=(replay_events.Exclusion(kind="memory", name="7", text="Mag Tee."),),
                including=(
                    replay_events.Inclusion(
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
    replay_events.ReplayCallEnded(
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
        followed=(replay_events.FollowedCall("read", "Tee"),),
    ),
    replay_events.ReplayStopped(kind="budget", message="The budget is used up.", hint="Give it more."),
    replay_events.ReplayResumed(by="user", budget_usd=2.5),
)
