"""Examples of what compressions, reviews and listeners leave in a session's stream."""

from __future__ import annotations

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events import WritesTold
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

EXAMPLES: tuple[e.Event, ...] = (
    e.ResponseBooked(
        turn="t1",
        step="t1-compress-1",
        purpose="compression",
        model="m",
        usage=Usage(1, 2, 3, 4, 5),
        cost_usd=0.5,
        estimated=Usage(6, 7),
        estimated_cost_usd=0.25,
    ),
    e.ContextPressure(
        turn="t1", tokens=55_000, threshold=64_000, window=128_000, high=False, advice="Fewer tools."
    ),
    e.CompressionRequested(
        turn="t1",
        reason="manual",
        tokens=70_000,
        window=128_000,
        focus="Rome",
        refusal="400: no",
        not_before=1.5,
    ),
    e.CompressionStarted(
        turn="t1",
        step="t1-flush-1",
        attempt=2,
        reserved=Reservation(
            model="m", input_tokens=100, output_tokens=20, day="2026-11-22", max_tokens=20, cost_usd=0.5
        ),
    ),
    e.ContextFlushed(turn="t1", step="t1-flush-1", saved="Saved: added.", message="The model was away."),
    e.ContextCompressed(
        turn="t1",
        step="t1-compress-1",
        into="s2",
        removed=40,
        summary="## Active Task\nNone",
        messages=(
            UserMessage("first"),
            AssistantMessage("", (ToolCall("call_1", "read_file", '{"path": "a.txt" }'),)),
            ToolMessage("call_1", "read_file", "text"),
        ),
        number=2,
        tokens_before=70_000,
        tokens_after=9_000,
        in_vain=2,
        failures="small: no",
    ),
    e.CompressionFailed(
        turn="t1",
        step="t1-compress-1",
        attempt=2,
        kind="overloaded",
        message="Busy.",
        retry_at=1.5,
        hint="Wait.",
    ),
    e.HelperPaused(
        purpose="review", model="m", endpoint="https://llm.example/v1", kind="auth", message="No.", until=1.5
    ),
    e.ReviewRequested(
        review="v1",
        kind="combined",
        reason="10 turns since the last",
        turn="t1",
        account="api-key-phone-2026-11",
        account_usd=20.0,
    ),
    e.ReviewStarted(review="v1", session="v1", turn="t2"),
    e.ReviewCompleted(review="v1", saved="Likes tea.", failures="small: It is down."),
    e.ReviewFailed(review="v1", kind="cancelled", message="Cancelled by user."),
    e.ListenerTold(listener="memory:notes", upto=12, attempt=2, message="It was away.", retry_at=1.5),
    WritesTold(listener="memory:notes", upto=3),
)
