"""What every `Model` holds to, whatever stands behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Model, ModelError, ModelRequest, Reply
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.llm.client import AnthropicModel, OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions
from hermes_jobs.llm.rehearsal import RehearsalModel
from hermes_jobs.llm.scripted_model import HeldCall, ScriptedModel
from tests.llm.asking import ask, request
from tests.model_script import Answer, Hold, Script
from tests.model_server import ModelServer
from tests.providers.anthropic_server import AnthropicServer

LONG = "help"  # what the echoing models repeat, and the rehearsal answers at length


@dataclass
class Subject:
    """A model whose answers hold the user's text, and how to make it wait."""

    model: Model
    hold: Callable[[], None]  # the next call waits until it is cancelled
    stop_after_a_piece: Callable[[], None]  # the next call shows a piece, and more only after that
    wait_for_request: Callable[[], None]


def the_openai_model(server: ModelServer) -> Iterator[Subject]:
    yield from openai_model(server, ApiOptions())


def the_openai_model_by_responses(server: ModelServer) -> Iterator[Subject]:
    yield from openai_model(server, ApiOptions(api="responses"))


def the_openai_model_by_text(server: ModelServer) -> Iterator[Subject]:
    yield from openai_model(server, ApiOptions(tool_calling="text"))


def openai_model(server: ModelServer, manner: ApiOptions) -> Iterator[Subject]:
    model = OpenAIModel(api_key="sk-test-0123456789", base_url=server.base_url, manner=manner)
    server.follow(lambda seen: Answer(text=f"You said: {seen.last_user_text}", piece=4))
    yield Subject(
        model,
        hold=lambda: server.follow(Script(default=Hold())),
        stop_after_a_piece=lambda: server.follow(Script(default=Hold(first="It begins"))),
        wait_for_request=lambda: server.wait_until(lambda: bool(server.requests)),
    )
    model.close()


def the_anthropic_model(server: ModelServer) -> Iterator[Subject]:
    double = AnthropicServer(lambda seen: Answer(text=f"You said: {seen.last_user_text}", piece=4)).start()
    model = AnthropicModel(api_key="sk-ant-test-0123456789", base_url=double.base_url)
    yield Subject(
        model,
        hold=lambda: double.follow(Script(default=Hold())),
        stop_after_a_piece=lambda: double.follow(Script(default=Hold(first="It begins"))),
        wait_for_request=lambda: double.wait_until(lambda: bool(double.requests)),
    )
    model.close()
    double.close()
    assert not double.violations


def the_scripted_model(server: ModelServer) -> Iterator[Subject]:
    held = threading.Event()

    def line(asked: ModelRequest) -> Reply | HeldCall:
        last = asked.messages[-1]
        assert isinstance(last, UserMessage)
        reply = Reply(content=f"You said a text of many pieces: {last.content}")
        return HeldCall(reply) if held.is_set() else reply

    model = ScriptedModel(line)
    yield Subject(model, held.set, nothing_to_do, lambda: model.wait_for_requests(1))


def the_rehearsal(server: ModelServer) -> Iterator[Subject]:
    yield Subject(RehearsalModel(), nothing_to_do, nothing_to_do, nothing_to_do)


def nothing_to_do() -> None:
    """This model is so by itself."""


WAITING = [
    the_openai_model,
    the_openai_model_by_responses,
    the_openai_model_by_text,
    the_anthropic_model,
    the_scripted_model,
]
ALL = [*WAITING, the_rehearsal]  # the rehearsal never waits


@pytest.fixture(params=ALL, ids=lambda made: made.__name__)
def subject(request: Any, model_server: ModelServer) -> Iterator[Subject]:
    yield from request.param(model_server)


@pytest.fixture(params=WAITING, ids=lambda made: made.__name__)
def waiting_subject(request: Any, model_server: ModelServer) -> Iterator[Subject]:
    yield from request.param(model_server)


def test_the_pieces_that_are_shown_make_up_the_content(subject: Subject) -> None:
    pieces: list[str] = []
    reply = ask(subject.model, LONG, on_text=pieces.append)
    assert "".join(pieces) == reply.content
    assert len(pieces) > 1
    assert all(pieces)


def test_the_pieces_are_shown_in_the_thread_that_asks(subject: Subject) -> None:
    threads: set[str] = set()
    ask(subject.model, LONG, on_text=lambda text: threads.add(threading.current_thread().name))
    assert threads == {threading.current_thread().name}


def test_twenty_threads_each_get_their_own_answer(subject: Subject) -> None:
    together = threading.Barrier(20)

    def one(number: int) -> tuple[str, str]:
        pieces: list[str] = []
        together.wait()
        return ask(subject.model, f"number <{number}>", on_text=pieces.append).content, "".join(pieces)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert all(f"number <{number}>" in content for number, (content, _) in enumerate(answers))
    assert all(shown == content for content, shown in answers)


def test_a_request_that_was_cancelled_before_is_not_answered(subject: Subject) -> None:
    cancel = CancelToken()
    cancel.fire("cancelled")
    pieces: list[str] = []
    with pytest.raises(ModelError) as raised:
        ask(subject.model, LONG, cancel, pieces.append)
    assert raised.value.kind == "cancelled"
    assert not raised.value.retryable
    assert pieces == []


def test_a_cancel_in_the_middle_of_the_text_ends_the_call(subject: Subject) -> None:
    cancel = CancelToken()
    pieces: list[str] = []

    def show(text: str) -> None:
        pieces.append(text)
        cancel.fire("cancelled")

    subject.stop_after_a_piece()
    with pytest.raises(ModelError) as raised:
        ask(subject.model, LONG, cancel, show)
    assert raised.value.kind == "cancelled"
    assert len(pieces) == 1


def test_a_cancel_from_another_thread_ends_a_call_that_waits(waiting_subject: Subject) -> None:
    subject = waiting_subject
    subject.hold()
    cancel = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, subject.model, LONG, cancel)
        subject.wait_for_request()
        assert not waiting.done()
        cancel.fire("shutdown")
        error = waiting.exception()
    assert isinstance(error, ModelError)
    assert error.kind == "cancelled"
    assert "shutdown" in error.message


def test_an_error_while_showing_reaches_the_caller_and_leaves_the_model_usable(subject: Subject) -> None:
    def fail(text: str) -> None:
        raise OSError("the terminal is gone")

    with pytest.raises(OSError, match="the terminal is gone"):
        ask(subject.model, LONG, on_text=fail)
    assert ask(subject.model, LONG).content


def test_a_call_that_ended_is_forgotten_by_its_cancel(subject: Subject) -> None:
    cancel = CancelToken()
    ask(subject.model, LONG, cancel)
    assert cancel._callbacks == []
    cancel.fire("cancelled")


def test_a_request_is_left_as_it_is(subject: Subject) -> None:
    asked, same = request(LONG), request(LONG)
    ask(subject.model, asked)
    assert asked == same
