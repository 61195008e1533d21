"""What was recalled stands beside its turn's message in each of the turn's requests."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hermes_jobs.features.compression.summary import enclose, todos_note
from hermes_jobs.kernel.engine.handlers import RequestBuilder
from hermes_jobs.kernel.events import ModelReplied
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.commands import FinishModelCall
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn
from tests.domain.world import World
from tests.engine.simulation import LIMITS, Gates, SimulatedToolbox

ASKED = "And now?"


def fenced(message: UserMessage, recalled: str) -> UserMessage:
    return UserMessage(f"{message.content} <{recalled}>")


@pytest.fixture
def begun() -> tuple[Session, Turn]:
    """A session whose turn has recalled something, and has asked the same before."""
    world = World()
    world.submit(ASKED)
    world.answer()
    world.submit(ASKED)
    world.prefetch()
    assert world.session.current is not None
    return world.session, replace(world.session.current, recalled="tea")


def sent(session: Session, turn: Turn) -> list[str]:
    request = RequestBuilder(SimulatedToolbox(Gates()), LIMITS, fenced).build(session, turn)
    return [message.content for message in request.messages]


def test_the_note_is_placed_at_the_newest_of_equal_messages(begun: tuple[Session, Turn]) -> None:
    assert sent(*begun) == [ASKED, "done", f"{ASKED} <tea>"]


@pytest.mark.parametrize(
    "merged",
    [f"{enclose('So far.')}\n\n{ASKED}", f"{ASKED}\n\n{todos_note(['rest'])}"],
    ids=["behind a summary", "before todos"],
)
def test_it_stays_there_when_a_compression_puts_a_note_into_the_message(
    begun: tuple[Session, Turn], merged: str
) -> None:
    session, turn = begun
    session = replace(session, messages=(*session.messages[:-1], UserMessage(merged)))
    assert sent(session, turn) == [ASKED, "done", f"{merged} <tea>"]


def test_where_the_message_is_gone_nothing_is_said_of_it(begun: tuple[Session, Turn]) -> None:
    session, turn = begun
    session = replace(session, messages=(UserMessage("Else."), AssistantMessage(ASKED)))
    assert sent(session, turn) == ["Else.", ASKED]


@pytest.mark.parametrize(
    ("configured", "cut_at", "longest", "asked_for"),
    [
        (None, 0, None, 16_384),
        (None, 64_000, None, 128_000),
        (None, 64_000, 128_000, 128_000),
        (None, 64_000, 64_000, 64_000),
        (None, 4_096, 8_192, 8_192),
        (1_000, 1_000, 128_000, 2_000),
        (1_000, 5_000, 128_000, 10_000),
    ],
)
def test_an_answer_that_was_cut_off_is_asked_for_with_more_room_than_it_had(
    begun: tuple[Session, Turn],
    configured: int | None,
    cut_at: int,
    longest: int | None,
    asked_for: int,
) -> None:
    session, turn = begun
    limits = replace(LIMITS, max_tokens=configured)
    requests = RequestBuilder(SimulatedToolbox(Gates()), limits, longest=lambda model: longest)
    assert requests.build(session, turn).max_tokens == configured
    enlarged = replace(turn, output_limit_raises=1, cut_at=cut_at)
    assert requests.build(session, enlarged).max_tokens == asked_for


def test_where_an_answer_was_cut_off_is_remembered() -> None:
    world = World()
    world.submit()
    world.prefetch()
    step = world.begin()
    cut = ModelReplied(
        turn=step.id.split("-")[0],
        step=step.id,
        content="",
        model="m",
        finish_reason="length",
        tool_calls=(ToolCall("c1", "write", '{"text": "It beg'),),
        usage=Usage(10, 64_000),
    )
    world.do(FinishModelCall(step=step.id, outcome=cut))
    assert world.session.current is not None
    assert (world.session.current.output_limit_raises, world.session.current.cut_at) == (1, 64_000)
