"""Outside text: what of a conversation others wrote, and who watches a turn."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hermes_jobs.features.gateway.rules.commands import (
    GatewayPolicy,
    NewIds,
    handle_message,
)
from hermes_jobs.features.gateway.rules.messages import IncomingMessage
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers.tool_context import tool_context
from hermes_jobs.kernel.streams.streams import initial_state
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.outside import MAX_ORIGINS
from hermes_jobs.kernel.turns.session import fork_of
from tests.domain.world import World, turn_of
from tests.tables import each_row

PAGE = "https://portal.example"


def submitted(text: str = "Read it", **more: Any) -> World:
    """A turn whose first model call is due."""
    world = World()
    turn = e.TurnSubmitted(**{"turn": "t1", "session": "s1", "text": text, "source": "cli", **more})
    world.do(c.SubmitTurn(turn))
    world.prefetch()
    return world


def fetch(world: World, *origins: str) -> None:
    """A reply with one call for each origin, and their results; an empty one is no outside text."""
    world.reply("", [("web_fetch", "read")] * len(origins))
    for step, origin in zip(world.due, origins, strict=True):
        world.begin(step)
        finished = e.ToolFinished(turn=turn_of(step), call=step.id, ok=True, content="…", outside=origin)
        world.do(c.FinishToolCall(step=step.id, outcome=finished))


def test_a_result_counts_once_its_round_is_complete() -> None:
    world = submitted()
    world.reply("", [("web_fetch", "read"), ("read_file", "read")])
    first, second = world.due
    for step, origin in ((first, PAGE), (second, "")):
        world.begin(step)
        assert world.session.outside == ()
        finished = e.ToolFinished(turn="t1", call=step.id, ok=True, content="…", outside=origin)
        world.do(c.FinishToolCall(step=step.id, outcome=finished))

    assert world.session.outside == (PAGE,)


def test_it_counts_for_all_later_turns_after_a_compression_and_in_forks() -> None:
    world = submitted()
    fetch(world, PAGE)
    world.answer()
    world.submit("more", turn="t2")
    world.answer()
    world.do(c.RequestCompression(reason="manual"))
    (flush,) = world.due
    world.do(c.BeginStep(step=flush.id))
    world.do(c.FinishFlush(step=flush.id))
    (summary,) = world.due
    world.do(c.BeginStep(step=summary.id))
    compressed = e.ContextCompressed(
        turn=None, step=summary.id, into="s2", removed=4, summary="…", messages=(UserMessage("…"),), number=1,
        tokens_before=9, tokens_after=1,
    )  # fmt: skip
    world.do(c.FinishCompression(step=summary.id, outcome=compressed))

    assert world.session.outside == (PAGE,)
    assert world.session.typed == ("Read it", "more")
    assert fork_of(world.session, "session-s9").outside == (PAGE,)


def test_the_newest_origins_are_known_each_once() -> None:
    world = submitted()
    origins = [f"{PAGE}/{number}" for number in range(MAX_ORIGINS + 2)]
    fetch(world, *origins, "", origins[-1])

    assert list(world.session.outside) == origins[2:]


def test_a_text_of_others_counts_when_the_conversation_has_it() -> None:
    world = submitted()
    steered = e.TurnSubmitted(
        turn="t2", session="s1", text="…", source="trigger:mail", if_busy="steer", outside="the trigger mail"
    )
    world.do(c.SubmitTurn(steered))
    assert not world.session.outside
    world.reply("", [("read_file", "read")])
    (step,) = world.due
    world.begin(step)
    world.finish_tool(step)
    world.begin()

    assert world.session.outside == ("the trigger mail",)
    assert world.session.typed == ("Read it",)


@each_row(
    [
        ({"source": "cli"}, True, True),
        ({"source": "chat"}, True, True),
        ({"source": "web:anna"}, True, True),
        ({"source": "cli", "unattended": True}, False, False),
        ({"source": "telegram"}, True, True),
        ({"source": "telegram", "outside": "a forwarded message"}, True, False),
        ({"source": "telegram", "unwatched": True}, False, True),
        ({"source": "cli", "unwatched": True}, False, True),
        ({"source": "schedule:p1", "attended": False}, False, False),
        ({"source": "review:memory", "attended": False}, False, False),
        ({"source": "python"}, True, False),
        ({"source": "api:phone"}, True, False),
        ({"source": "cli", "outside": "the MCP server mail"}, True, False),
        ({"source": "cli", "piped": True}, True, False),
        ({"source": "parent:s0", "unwatched": True}, False, False),
        ({"source": "child:s2", "unwatched": True}, False, False),
    ]
)
def test_a_turn_is_watched_and_its_text_a_person_s(given: dict[str, Any], watched: bool, typed: bool) -> None:
    world = submitted("I moved to Bern", **given)
    assert world.session.current is not None
    assert world.session.current.is_watched is watched
    assert world.session.typed == (("I moved to Bern",) if typed else ())


def test_a_tool_is_told_of_it_only_where_there_is_outside_text() -> None:
    world = submitted()
    assert world.session.current is not None
    assert tool_context(world.session, world.session.current, "").typed == ()
    fetch(world, PAGE)
    context = tool_context(world.session, world.session.current, "")
    assert (context.watched, context.outside, context.typed) == (True, (PAGE,), ("Read it",))


def test_who_writes_in_a_chat_watches_and_has_typed_it() -> None:
    message = IncomingMessage(key="telegram:1", user="telegram:12", target="telegram:12", text="Hello")
    change = handle_message(message, GatewayPolicy(), NewIds("t1", "s1"))(initial_state)
    events = [event for write in change.writes for event in write.events]
    (turn,) = [event for event in events if isinstance(event, e.TurnSubmitted)]

    world = World()
    world.do(c.SubmitTurn(replace(turn, opening=None)))
    assert world.session.current is not None
    assert world.session.current.is_watched
    assert world.session.current.typed == ("Hello",)
