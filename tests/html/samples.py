"""A turn in which nearly everything happens, as events at their moments."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns.messages import ToolCall

TURN = "t7mq2xw4kd9ra"
SESSION = "s4h8c1zt6e0pj"
PARENT = "t5parentoftree"
BEGAN = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
ASKED = (
    "Compare the three invoices in this folder with the bank statement and tell me which one is not paid yet."
)
ANSWER = (
    "Two of the three are paid. Invoice 2026-118 (Oak & Sons, 1,240.00 EUR) has no matching entry in the "
    "statement: the transfer on 12 November went to the same name, but over 240.00 EUR.\n\n"
    "| invoice  | amount   | paid        |\n|----------|----------|-------------|\n"
    "| 2026-112 | 310.50   | 3 November  |\n| 2026-115 | 89.90    | 9 November  |\n"
    "| 2026-118 | 1,240.00 | no          |"
)
STATEMENT = "\n".join(
    f"{day:02} Nov 2026;transfer;{name};{amount}"
    for day in range(1, 31)
    for name, amount in (
        ("Oak & Sons", "-240.00"),
        ("City Waterworks", "-89.90"),
        ("Harbour Rent", "-950.00"),
    )
)
MODEL = "gpt-5-mini"


def planned(step: int, *calls: tuple[str, str, e.Effect]) -> dict[str, object]:
    ids = [f"{TURN}-{step}-{index}" for index in range(len(calls))]
    return {
        "tool_calls": tuple(
            ToolCall(f"call_{step}_{index}", name, arguments)
            for index, (name, arguments, _) in enumerate(calls)
        ),
        "plan": tuple(
            e.PlannedCall(call=call, effect=effect) for call, (_, _, effect) in zip(ids, calls, strict=True)
        ),
    }


def replied(step: int, content: str, tokens: int, **more: object) -> e.ModelReplied:
    return e.ModelReplied(
        turn=TURN,
        step=f"{TURN}-{step}",
        content=content,
        model=MODEL,
        finish_reason="tool_calls" if more else "stop",
        usage=Usage(
            input_tokens=tokens, output_tokens=180, cache_read_tokens=tokens * 3, reasoning_tokens=64
        ),
        cost_usd=tokens * 4e-7,
        **more,  # type: ignore[arg-type]
    )


def started(step: int, attempt: int = 1) -> e.ModelCallStarted:
    reserved = Reservation(model=MODEL, input_tokens=4_000, output_tokens=8_192, day="2026-11-20")
    return e.ModelCallStarted(turn=TURN, step=f"{TURN}-{step}", attempt=attempt, reserved=reserved)


def tool(step: int, index: int, name: str, arguments: str, attempt: int = 1) -> e.ToolStarted:
    return e.ToolStarted(
        turn=TURN,
        step=f"{TURN}-{step}",
        call=f"{TURN}-{step}-{index}",
        name=name,
        arguments=arguments,
        attempt=attempt,
        effect="read",
    )


def finished(step: int, index: int, content: str, *, ok: bool = True, attempt: int = 1) -> e.ToolFinished:
    return e.ToolFinished(turn=TURN, call=f"{TURN}-{step}-{index}", ok=ok, content=content, attempt=attempt)


def busy_turn(
    text: str = ASKED, answer: str = ANSWER, result: str = STATEMENT
) -> list[tuple[float, str, e.Event]]:
    """The events: seconds since the turn was submitted, who wrote it, the fact."""
    one, two = "worker-k2f8", "worker-p9x1"
    list_files, search = '{"command": "ls -la invoices"}', '{"pattern": "Oak", "path": "statement.csv"}'
    read = '{"path": "statement.csv", "offset": 0, "limit": 400}'
    remove = '{"command": "rm -r /tmp/invoices-copy"}'
    compressed = e.ContextCompressed(
        turn=TURN,
        step=f"{TURN}-compress-1",
        into="s9d3k5mw2x7vb",
        removed=14,
        summary="## Active Task\nCompare invoices with the statement.\n\n## Completed Actions\n1. ls",
        messages=(),
        number=1,
        tokens_before=61_200,
        tokens_after=9_800,
    )
    return [
        (0.0, "cli", e.TurnSubmitted(turn=TURN, text=text, source="cli", session=SESSION)),
        (
            0.4,
            one,
            e.SessionStarted(
                session=SESSION,
                kind="conversation",
                source="cli",
                model=MODEL,
                system_prompt="You are Hermes. " * 600,
            ),
        ),
        (0.4, one, e.ContextPrefetched(turn=TURN, model=MODEL, max_iterations=15)),
        (0.5, one, started(1)),
        (
            1.9,
            one,
            e.ModelCallFailed(
                turn=TURN,
                step=f"{TURN}-1",
                attempt=1,
                kind="rate_limit",
                message="Rate limit reached for gpt-5-mini: 30,000 tokens a minute.",
                retry_at=(BEGAN + timedelta(seconds=4.2)).timestamp(),
                model=MODEL,
            ),
        ),
        (4.5, two, started(1, 2)),
        (
            6.8,
            two,
            replied(
                1,
                "I look at the folder and the statement.",
                3_200,
                reasoning="The user wants unpaid invoices. First list, then read, then search.",
                attempt=2,
                **planned(
                    1,
                    ("terminal", list_files, "write"),
                    ("read_file", read, "read"),
                    ("search_files", search, "read"),
                    ("terminal", remove, "write"),
                ),
            ),
        ),
        (
            6.8,
            two,
            e.ApprovalRequested(
                turn=TURN, call=f"{TURN}-1-3", digest="d" * 64, rule="removes a folder", expires_at=2e9
            ),
        ),
        (6.9, one, tool(1, 0, "terminal", list_files)),
        (6.9, two, tool(1, 1, "read_file", read)),
        (7.3, two, tool(1, 2, "search_files", search)),
        (8.0, one, finished(1, 0, "2026-112.pdf\n2026-115.pdf\n2026-118.pdf\n")),
        (
            8.4,
            two,
            finished(1, 2, "Error: no file statement.csv here; did you mean bank/statement.csv?", ok=False),
        ),
        (9.1, two, e.StepAbandoned(turn=TURN, step=f"{TURN}-1-1", worker=two, attempt=1, reason="died")),
        (9.9, one, tool(1, 1, "read_file", read, attempt=2)),
        (11.6, one, finished(1, 1, result, attempt=2)),
        (13.0, "cli", e.ApprovalDenied(turn=TURN, call=f"{TURN}-1-3", by="user")),
        (13.0, "cli", finished(1, 3, "Error: the user denied this command.", ok=False)),
        (13.1, one, e.CompressionRequested(turn=TURN, reason="threshold", tokens=61_200, window=128_000)),
        (13.2, one, e.CompressionStarted(turn=TURN, step=f"{TURN}-flush-1", attempt=1)),
        (
            14.3,
            one,
            e.ContextFlushed(turn=TURN, step=f"{TURN}-flush-1", saved="Pays invoices by bank transfer."),
        ),
        (14.4, one, e.CompressionStarted(turn=TURN, step=f"{TURN}-compress-1", attempt=1)),
        (17.0, one, compressed),
        (17.1, one, started(2)),
        (21.6, one, replied(2, answer, 5_100)),
        (
            21.7,
            one,
            e.UsageRecorded(turn=TURN, model=MODEL, input_tokens=8_300, output_tokens=360, num_model_calls=3),
        ),
        (21.7, one, e.TurnCompleted(turn=TURN, answer=answer)),
    ]


def append_tree(log: EventLog, goal: str) -> None:
    """Append the turn `PARENT` with a sub-agent, which has one, which has one."""
    above = e.ChildRef(session="s5parentoftree", turn=PARENT, goal=goal)
    asked = e.TurnSubmitted(turn=PARENT, text=goal, source="cli", session=above.session)
    append(log, [(0.0, "cli", asked)], stream=f"session-{above.session}")
    for depth in range(1, 4):
        child = e.ChildRef(session=f"s5child{depth}", turn=f"t5child{depth}", goal=goal, role="research")
        begun = e.ChildrenStarted(turn=above.turn, call=f"{above.turn}-1-0", children=(child,))
        told = e.TurnSubmitted(
            turn=child.turn,
            text=goal,
            source=f"parent:{above.session}",
            session=child.session,
            opening=e.Opening(kind="child"),
        )
        append(log, [(float(depth), "w", begun)], stream=f"session-{above.session}")
        append(log, [(float(depth), "w", told)], stream=f"session-{child.session}")
        above = child


def append(log: EventLog, facts: Iterable[tuple[float, str, e.Event]], *, stream: str | None = None) -> None:
    """Append the facts as they are."""
    for at, worker, fact in facts:
        step = getattr(fact, "step", None) or getattr(fact, "call", None)
        log.append(
            Append(
                meta=EventMeta(worker=worker, causation=step or f"{TURN}-prefetch", correlation=TURN),
                recorded_at=f"{BEGAN + timedelta(seconds=at):%Y-%m-%dT%H:%M:%S.%fZ}",
                writes=(StreamWrite(stream=stream or f"session-{SESSION}", events=(fact,), expected=None),),
                durable=False,
            )
        )
