"""What was recalled stands beside its turn's message in each of the turn's requests."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hermes_jobs.agent.context.summary import enclosed, todos_note
from hermes_jobs.domain.session.messages import AssistantMessage, UserMessage
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.engine.handlers import Requests
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
    request = Requests(SimulatedToolbox(Gates()), LIMITS, fenced).next(session, turn)
    return [message.content for message in request.messages]


def test_it_stands_beside_the_newest_of_equal_messages(begun: tuple[Session, Turn]) -> None:
    assert sent(*begun) == [ASKED, "done", f"{ASKED} <tea>"]


@pytest.mark.parametrize(
    "merged",
    [f"{enclosed('So far.')}\n\n{ASKED}", f"{ASKED}\n\n{todos_note(['rest'])}"],
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
