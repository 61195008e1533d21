"""`hermes_jobs.celery` in an application without a broker: tasks run eagerly, turns to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery, chord, group

from hermes_jobs.celery import NAME, TurnFailed, register
from hermes_jobs.client import Home
from tests.client.test_home import PERSON
from tests.home import Home as ProcessHome
from tests.home import endpoint
from tests.model_script import Answer, Refuse, Rule, Script
from tests.model_server import ModelServer


@pytest.fixture
def outside(tmp_path: Path, model_server: ModelServer) -> ProcessHome:
    return ProcessHome(tmp_path, endpoint(model_server.base_url))


@pytest.fixture
def home(outside: ProcessHome) -> Iterator[Home]:
    with Home(outside.path, environ=outside.environ) as home:
        yield home


@pytest.fixture
def app(outside: ProcessHome) -> Celery:
    app = Celery("own", set_as_current=False)
    app.conf.update(task_always_eager=True, task_eager_propagates=True)
    register(app, outside.path, environ=outside.environ)
    return app


@pytest.fixture
def turn(app: Celery) -> Any:
    return app.tasks[NAME]


@pytest.fixture
def fetch(app: Celery) -> Any:
    def fetch(url: str) -> dict[str, Any]:
        return {"url": url, "words": ["a", "b"]}

    return app.task(name="fetch", shared=False)(fetch)


def test_a_chain_hands_the_answer_on(turn: Any, fetch: Any, app: Celery) -> None:
    def shout(text: str) -> str:
        return text.upper()

    publish = app.task(name="publish", shared=False)(shout)
    chain = fetch.s("example.com") | turn.s("Summarise {0[url]}: {0}") | publish.s()
    assert (
        chain.apply_async().get()
        == 'YOU SAID: SUMMARISE EXAMPLE.COM: {"URL":"EXAMPLE.COM","WORDS":["A","B"]}'
    )


def test_groups_and_chords_hand_on_all_answers(turn: Any) -> None:
    header = group(turn.s(f"Number {number}") for number in range(2))
    compared = chord(header, turn.s("Compare {0[0]} with {0[1]}")).apply_async().get()
    assert compared == "You said: Compare You said: Number 0 with You said: Number 1"


def test_a_session_begins_under_its_title_and_goes_on(turn: Any, home: Home) -> None:
    for text in ("One", "Two"):
        turn.s(text, session="The  news", system="You are brief.").apply_async()
    (session,) = home.sessions.list()
    assert (session.title, session.num_turns) == ("The news", 2)
    turns = home.turns.list()
    assert {listed.source for listed in turns} == {"celery"}


def test_the_whole_turn_or_the_value_of_a_schema_is_returned(turn: Any, model_server: ModelServer) -> None:
    model_server.follow(Script(rules=(Rule("Who", (Answer(text='{"name": "Ada"}'),)),)))
    assert turn.s("Who?", schema=PERSON).apply_async().get() == {"name": "Ada"}
    whole = turn.s("Hello.", result="turn").apply_async().get()
    assert (whole["status"], whole["result"]) == ("completed", "You said: Hello.")


def test_a_text_without_values_keeps_its_braces(turn: Any) -> None:
    assert turn.s("What is {x: 1}?").apply_async().get() == "You said: What is {x: 1}?"


@pytest.mark.parametrize(
    ("text", "options", "kind"),
    [
        ("Summarise", {}, "usage"),
        ("Summarise {page}", {}, "usage"),
        ("Summarise {0}", {"toolsets": ["no_such_toolset"]}, "usage"),
    ],
    ids=str,
)
def test_what_cannot_be_submitted_fails_the_task(
    turn: Any, fetch: Any, home: Home, text: str, options: dict[str, Any], kind: str
) -> None:
    with pytest.raises(TurnFailed) as caught:
        (fetch.s("url") | turn.s(text, **options)).apply_async()
    assert (caught.value.kind, caught.value.turn) == (kind, "")
    assert home.turns.list() == ()


def test_a_failed_turn_fails_the_task_with_its_reason(
    turn: Any, home: Home, model_server: ModelServer
) -> None:
    model_server.follow([Refuse(status=401, message="Incorrect API key provided")])
    with pytest.raises(TurnFailed, match="Incorrect API key provided") as caught:
        turn.s("Hello.").apply_async()
    assert (caught.value.kind, caught.value.turn) == ("auth", home.turns.list()[0].turn)
    again = TurnFailed(*caught.value.args)  # as result backends make it
    assert str(again) == str(caught.value)


def test_the_same_task_is_the_same_turn(turn: Any, home: Home, model_server: ModelServer) -> None:
    model_server.follow([Answer(text="Once."), Answer(text="Twice.")])
    results = {turn.apply_async(("Hello.",), task_id="the task").get() for _ in range(2)}
    assert results == {"Once."}
    assert len(home.turns.list()) == 1


def test_called_as_a_function_it_is_a_turn_of_its_own(turn: Any) -> None:
    assert turn("Hello.") == "You said: Hello."
