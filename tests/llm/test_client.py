"""`OpenAIModel` against the scripted server, over real HTTP."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.llm.client import OpenAIModel
from tests.llm.asking import ask, request
from tests.model_script import Answer, AskedCall, Drop, Hold, Raw, Refuse
from tests.model_server import ModelServer

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=KEY, base_url=model_server.base_url)
    yield made
    made.close()


def failure(model: OpenAIModel, said: str = "Hello") -> ModelError:
    with pytest.raises(ModelError) as raised:
        ask(model, said)
    return raised.value


def events(*chunks: object) -> Raw:
    return Raw(body="".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n")


def delta(finish_reason: str | None = None, **said: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": finish_reason}]}


def test_a_streamed_reply_arrives_whole(model: OpenAIModel, model_server: ModelServer) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
    text = "One <think>two</think> three."
    model_server.follow([Answer(text=text, reasoning="Hm.", usage=usage, piece=3)])
    pieces: list[str] = []
    reply = ask(model, on_text=pieces.append)
    assert reply.content == "".join(pieces) == "One  three."
    assert reply.reasoning == "Hm.\ntwo"
    assert reply.finish_reason == "stop"
    assert reply.usage == Usage(4, 4, 6)
    assert reply.model == "some-model"


def test_tool_calls_are_joined_from_their_pieces(model: OpenAIModel, model_server: ModelServer) -> None:
    asked = (AskedCall("terminal", {"command": "ls"}, id="a"), AskedCall("read_file", "{not json", id="b"))
    model_server.follow([Answer(text="Looking.", tool_calls=asked)])
    reply = ask(model, request("Look", tools=("terminal", "read_file")))
    assert reply.tool_calls == (
        ToolCall("a", "terminal", '{"command": "ls"}'),
        ToolCall("b", "read_file", "{not json"),
    )
    assert reply.finish_reason == "tool_calls"
    assert [tool["function"]["name"] for tool in model_server.requests[0].body["tools"]] == [
        "terminal",
        "read_file",
    ]


def test_the_key_goes_to_the_endpoint_and_a_missing_one_is_no_error(model_server: ModelServer) -> None:
    for key in (KEY, None, ""):
        model = OpenAIModel(api_key=key, base_url=model_server.base_url)
        ask(model)
        model.close()
    sent = [seen.headers["authorization"] for seen in model_server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer no-key", "Bearer no-key"]


@pytest.mark.parametrize(
    ("message", "left_out"),
    [
        ("Unknown parameter: 'stream_options'.", "stream_options"),
        ("Your organization must be verified to stream this model.", "stream"),
        ("Streaming is not supported for this model", "stream"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
def test_parameters_that_an_endpoint_refuses_are_left_out_from_then_on(
    model: OpenAIModel, model_server: ModelServer, message: str, left_out: str
) -> None:
    model_server.follow([Refuse(status=400, message=message)])
    for _ in range(2):
        assert ask(model, request("Hello", max_tokens=9)).content == "You said: Hello"
    refused, *accepted = (seen.body for seen in model_server.requests)
    assert len(accepted) == 2
    assert refused[left_out]
    assert not any(body.get(left_out) for body in accepted)


def test_an_endpoint_that_refuses_everything_is_asked_only_a_few_times(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    said = "stream, stream_options, max_tokens and max_completion_tokens are unsupported"
    model_server.follow(lambda seen: Refuse(status=400, message=said))
    assert failure(model).kind == "bad_request"
    assert len(model_server.requests) <= 6


def test_a_whole_answer_to_a_streamed_request_is_read(model: OpenAIModel, model_server: ModelServer) -> None:
    message = {"role": "assistant", "content": "Whole.", "tool_calls": None}
    body = {
        "model": "m",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    model_server.follow([Raw(body=json.dumps(body), content_type="application/json; charset=utf-8")])
    pieces: list[str] = []
    reply = ask(model, on_text=pieces.append)
    assert (reply.content, pieces, reply.usage) == ("Whole.", ["Whole."], Usage(3))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            Raw(body="<html><title>Welcome to nginx!</title></html>", content_type="text/html"),
            "Welcome to nginx!",
        ),
        (Raw(body="<html><title>Welcome</title></html>", content_type="text/plain"), "Welcome"),
        (Raw(body="", content_type="text/event-stream"), "empty stream"),
        (Raw(body="data: [DONE]\n\n"), "empty stream"),
        (Raw(body="", content_type="application/json"), "is empty"),
        (Raw(body="{", content_type="application/json"), "not JSON"),
        (Raw(body="[1]", content_type="application/json"), "not an object"),
        (Raw(body='{"choices": []}', content_type="application/json"), "no choices"),
        (Raw(body='{"hello": "world"}', content_type="application/json"), "no choices"),
        (Raw(body='data: {"choices": [{"delta"\n\n'), "not JSON"),
        (Raw(body='data: "hello"\n\n'), "not an object"),
        (Raw(body='data: {"choices": [{"delta": {"content": "Hal"}}]}\n\n'), "before it was complete"),
        (Drop(text="Half an answer"), "broke off in the middle"),
    ],
)
def test_an_answer_that_is_no_reply_is_garbage(
    model: OpenAIModel, model_server: ModelServer, answer: Raw | Drop, words: str
) -> None:
    model_server.follow([answer])
    error = failure(model)
    assert error.kind == "garbage"
    assert words in error.message
    assert error.retryable
    assert error.hint
    assert ask(model).content == "You said: Hello"


def test_a_stream_that_is_marked_as_done_is_complete_without_a_finish_reason(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([events(delta(content="All "), delta(content="of it."))])
    reply = ask(model)
    assert (reply.content, reply.finish_reason) == ("All of it.", "stop")
    assert len(model_server.requests) == 1


@pytest.mark.parametrize("odd", ["data:\n\n", "data: \r\n\r\n", ": comment\n\n", "event: ping\n\n", "\n\n\n"])
def test_events_without_data_are_passed_over(model: OpenAIModel, model_server: ModelServer, odd: str) -> None:
    first, last = json.dumps(delta(content="Whole")), json.dumps(delta("stop", content="."))
    model_server.follow([Raw(body=f"{odd}data: {first}\n\n{odd}data: {last}\n\n{odd}data: [DONE]\n\n")])
    assert ask(model).content == "Whole."
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("content_filter", "content_policy"),
        ("SAFETY", "content_policy"),
        ("sensitive", "content_policy"),
        ("error", "server"),
        ("network_error", "server"),
        ("insufficient_system_resource", "overloaded"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_that_the_provider_broke_off_is_no_answer(
    model: OpenAIModel, model_server: ModelServer, reason: str, kind: str, streamed: bool
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    chunk = {**delta(reason, content="Half of"), "usage": usage}
    whole = {**chunk, "choices": [{"message": {"content": "Half of"}, "finish_reason": reason}]}
    answer = events(chunk) if streamed else Raw(body=json.dumps(whole), content_type="application/json")
    model_server.follow([answer])
    error = failure(model)
    assert (error.kind, error.retryable) == (kind, kind != "content_policy")
    assert error.usage == Usage(10, 2)
    assert reason.lower() in error.message


def test_an_error_inside_a_choice_is_one(model: OpenAIModel, model_server: ModelServer) -> None:
    error = {"code": 502, "message": "Upstream idle timeout exceeded"}
    chunk = {"choices": [{"index": 0, "delta": {"content": "Ha"}, "finish_reason": "error", "error": error}]}
    model_server.follow([events(chunk)])
    assert "Upstream idle timeout exceeded" in failure(model).message


def test_an_excerpt_of_garbage_is_short(model: OpenAIModel, model_server: ModelServer) -> None:
    model_server.follow([Raw(body="x" * 100_000, content_type="application/json")])
    assert len(failure(model).message) < 300


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ({"content": None}, ""),
        ({"content": 5}, ""),
        ({"content": [{"type": "text", "text": "parts"}]}, "parts"),
        ({"content": "x", "tool_calls": "nonsense"}, "x"),
        ({"content": "x", "tool_calls": [None, 3, {}]}, "x"),
        ({"refusal": "I will not."}, "I will not."),
    ],
)
def test_odd_shapes_are_read_or_passed_over(
    model: OpenAIModel, model_server: ModelServer, said: dict[str, Any], content: str
) -> None:
    model_server.follow([events(delta(**said), {"choices": None}, {}, delta("stop"))])
    assert ask(model).content == content


def test_half_characters_are_joined_over_chunks_or_replaced(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    model_server.follow([events(delta(content="a\ud83d"), delta(content="\ude00b\ud83d"), delta("stop"))])
    pieces: list[str] = []
    reply = ask(model, on_text=pieces.append)
    assert reply.content == "".join(pieces) == "a\N{GRINNING FACE}b\N{REPLACEMENT CHARACTER}"


def test_an_error_inside_the_stream_is_classified_and_keeps_the_usage(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    error = {"error": {"code": 502, "message": "Provider disconnected"}, "choices": []}
    billed = {**delta(content="Hal"), "usage": {"prompt_tokens": 7, "completion_tokens": 1}}
    model_server.follow([events(billed, error)])
    raised = failure(model)
    assert (raised.kind, raised.retryable, raised.usage) == ("server", True, Usage(7, 1))


def test_an_error_in_a_successful_response_is_classified(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    body = json.dumps({"error": {"code": 429, "message": "Rate limited, try again in 3s"}})
    model_server.follow([Raw(body=body, content_type="application/json")])
    raised = failure(model)
    assert (raised.kind, raised.retry_after) == ("rate_limit", 3.0)


def test_a_refusal_has_the_providers_message_and_wait(model: OpenAIModel, model_server: ModelServer) -> None:
    model_server.follow([Refuse(status=429, message="Slow down.", headers={"Retry-After": "7"})])
    error = failure(model)
    assert (error.kind, error.message, error.retryable) == ("rate_limit", "429: Slow down.", True)
    assert error.retry_after == 7.0
    assert len(model_server.requests) == 1


def test_a_page_in_place_of_an_error_is_described_by_its_title(
    model: OpenAIModel, model_server: ModelServer
) -> None:
    page = "<html><head><title>502 Bad\nGateway</title></head><body>billing billing</body></html>"
    model_server.follow([Raw(body=page, status=502, content_type="text/html")])
    error = failure(model)
    assert (error.kind, error.message) == ("server", "502: 502 Bad Gateway")


def test_the_key_is_in_no_message(model: OpenAIModel, model_server: ModelServer) -> None:
    model_server.follow(
        [
            Refuse(status=401, message=f"Incorrect API key provided: {KEY}."),
            Raw(body=f"your key {KEY}", content_type="application/json"),
        ]
    )
    for kind in ("auth", "garbage"):
        error = failure(model)
        assert error.kind == kind
        assert KEY not in f"{error} {error.message} {error.hint}"
        assert "[REDACTED]" in error.message


@pytest.mark.parametrize("key", ["…", "sk-12\n34567", "sk-12\x1b34567"])
def test_a_key_that_no_request_can_carry_is_a_refused_one(model_server: ModelServer, key: str) -> None:
    model = OpenAIModel(api_key=key, base_url=model_server.base_url)
    with pytest.raises(ModelError, match="characters that no key has") as refused:
        ask(model)
    model.close()
    assert (refused.value.kind, refused.value.retryable) == ("auth", False)
    assert not model_server.requests


def test_a_server_that_is_gone_is_a_connection_error(model: OpenAIModel, model_server: ModelServer) -> None:
    model_server.follow([Drop()])
    assert failure(model).kind == "connection"
    model_server.close()
    error = failure(model)
    assert (error.kind, error.retryable) == ("connection", True)
    assert "refused" in error.message


def test_a_name_that_does_not_exist_is_said(model_server: ModelServer) -> None:
    model = OpenAIModel(api_key=KEY, base_url="http://nowhere.invalid/v1")
    error = failure(model)
    model.close()
    assert error.kind == "connection"
    assert "nowhere.invalid" in error.message


@pytest.fixture
def limited(model_server: ModelServer) -> Iterator[Callable[..., OpenAIModel]]:
    made: list[OpenAIModel] = []

    def make(idle_timeout: float = 60.0, timeout: float | None = None) -> OpenAIModel:
        base_url = model_server.base_url
        made.append(OpenAIModel(api_key=KEY, base_url=base_url, idle_timeout=idle_timeout, timeout=timeout))
        return made[-1]

    yield make
    for each in made:
        each.close()


Limited = Callable[..., OpenAIModel]


@pytest.mark.parametrize("first", ["", "It begins"])
def test_silence_is_a_timeout(model_server: ModelServer, limited: Limited, first: str) -> None:
    model_server.follow([Hold(first=first)])
    error = failure(limited(idle_timeout=0.3))
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "No data for 0.3 s" in error.message
    assert "model.idle_timeout" in error.hint
    model_server.wait_until(lambda: model_server.disconnects == 1)


def test_an_answer_that_flows_is_not_cut_however_long_it_takes(
    model_server: ModelServer, limited: Limited
) -> None:
    text = "word " * 20
    model_server.follow([Answer(text=text, piece=5, pace=0.05)])
    assert ask(limited(idle_timeout=0.5)).content == text


@pytest.mark.parametrize(("first", "again"), [("", True), ("It begins", False)])
def test_the_total_timeout_ends_a_call_without_a_retry(
    model_server: ModelServer, limited: Limited, first: str, again: bool
) -> None:
    model_server.follow([Hold(first=first)])
    error = failure(limited(timeout=0.3))
    assert (error.kind, error.retryable) == ("timeout", again)
    assert "model.timeout" in error.message
    model_server.wait_until(lambda: model_server.disconnects == 1)


@pytest.fixture
def self_signed() -> Iterator[str]:
    """The address of a server whose certificate nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent / "self_signed.pem")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):  # also a handshake that the client breaks off
                connection, _ = listening.accept()
                with connection, context.wrap_socket(connection, server_side=True):
                    pass

        with ThreadPoolExecutor(1) as pool:
            pool.submit(serve)
            yield f"https://127.0.0.1:{listening.getsockname()[1]}/v1"
            with suppress(OSError):  # ends `accept`, if no client came
                listening.shutdown(socket.SHUT_RDWR)


def test_an_untrusted_certificate_is_no_passing_failure(self_signed: str) -> None:
    model = OpenAIModel(api_key=KEY, base_url=self_signed)
    error = failure(model)
    model.close()
    assert (error.kind, error.retryable) == ("connection", False)
    assert "certificate" in error.message
    assert "SSL_CERT_FILE" in error.hint


@pytest.mark.parametrize("first", ["", "It begins"])
def test_a_cancel_closes_the_connection(model: OpenAIModel, model_server: ModelServer, first: str) -> None:
    model_server.follow([Hold(first=first)])
    cancel = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, model, "Hello", cancel)
        model_server.wait_until(lambda: len(model_server.requests) == 1)
        cancel.fire("cancelled")
        assert isinstance(waiting.exception(), ModelError)
    model_server.wait_until(lambda: model_server.disconnects == 1)


def test_closing_the_model_ends_its_calls(model_server: ModelServer) -> None:
    model_server.follow([Hold()])
    model = OpenAIModel(api_key=KEY, base_url=model_server.base_url)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, model, "Hello")
        model_server.wait_until(lambda: len(model_server.requests) == 1)
        model.close()
        error = waiting.exception()
    assert isinstance(error, ModelError)
    assert error.kind in {"cancelled", "connection"}


def test_making_a_model_does_not_import_its_client() -> None:
    program = (
        "import sys\n"
        "from hermes_jobs.llm.client import OpenAIModel\n"
        "model = OpenAIModel(api_key='k', base_url='http://127.0.0.1:9/v1')\n"
        "assert 'openai' not in sys.modules and 'asyncio' in sys.modules\n"
        "model.warm()\n"
        "assert 'openai' in sys.modules and 'anthropic' not in sys.modules\n"
        "model.close()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
