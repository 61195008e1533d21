from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import ModelError, ModelRequest, Reply
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.llm.client import AnthropicModel
from hermes_jobs.llm.dialect import ApiOptions
from hermes_jobs.llm.windows import Windows
from tests.llm.anthropic.histories import asked
from tests.llm.asking import nothing
from tests.model_script import Answer, AskedCall, Drop, Hold, Raw, Refuse, Seen
from tests.providers.anthropic_server import AnthropicServer, message_events

KEY = "sk-ant-nobody-may-see-this"
LOOK = AskedCall("look", {"path": "a.txt"})


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    made = AnthropicServer().start()
    yield made
    made.close()


def model_at(server: AnthropicServer, url: str | None = None, **manner: Any) -> AnthropicModel:
    windows = Windows(override=None, known_window=lambda name: 200_000)
    return AnthropicModel(
        api_key=KEY, base_url=url or server.base_url, manner=ApiOptions(**manner), windows=windows
    )


@pytest.fixture
def model(server: AnthropicServer) -> Iterator[AnthropicModel]:
    made = model_at(server)
    yield made
    made.close()


def ask(model: AnthropicModel, request: ModelRequest | None = None) -> Reply:
    return model.reply(request or asked(UserMessage("Hi")), CancelToken(), nothing)


def refused(model: AnthropicModel, request: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as raised:
        ask(model, request)
    assert KEY not in raised.value.message
    return raised.value


def answered(request: ModelRequest, reply: Reply) -> ModelRequest:
    """The request after that reply, with a result for each of its calls."""
    results = [ToolMessage(call.id, call.name, "one") for call in reply.tool_calls]
    said: list[Message] = [AssistantMessage(reply.content, reply.tool_calls, reply.payload), *results]
    following = [] if results else [UserMessage("And?")]
    return replace(request, messages=(*request.messages, *said, *following))


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_as_those_of_other_apis(server: AnthropicServer, end: str) -> None:
    model = model_at(server, server.base_url + end)
    assert ask(model).content == "You said: Hi"
    model.close()
    assert not server.violations


def test_usage_is_read_with_its_parts(server: AnthropicServer, model: AnthropicModel) -> None:
    used = {
        "input_tokens": 10,
        "output_tokens": 40,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 60,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 40},
        "output_tokens_details": {"thinking_tokens": 30},
    }
    server.follow([Answer(text="Hi", usage=used)])
    assert ask(model).usage == Usage(10, 40, 300, 60, 30, 40)


@pytest.mark.parametrize("name", ["claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5-5"])
def test_thoughts_go_back_with_their_calls(server: AnthropicServer, name: str) -> None:
    model = model_at(server, reasoning_effort="high")
    thought = Answer(text="I look.", reasoning="Let me see.", tool_calls=(LOOK, LOOK))
    server.follow([thought, replace(thought, reasoning="[redacted]"), Answer(text="Done.", reasoning="So.")])
    request = asked(UserMessage("Look."), model=name)
    for _ in range(2):
        reply = ask(model, request)
        request = answered(request, reply)
    reply = ask(model, request)
    ask(model, answered(request, reply))
    model.close()
    assert (reply.content, reply.reasoning, reply.notes) == ("Done.", "So.", ())
    assert not server.violations
    kinds = [block["type"] for block in server.requests[-1].body["messages"][1]["content"]]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]


def test_another_models_thoughts_are_left_out(server: AnthropicServer) -> None:
    model = model_at(server, reasoning_effort="high")
    server.follow([Answer(text="Hm.", reasoning="Let me see."), Answer(text="Yes.")])
    request = asked(UserMessage("Hi"), model="claude-opus-4-8")
    request = replace(answered(request, ask(model, request)), model="claude-opus-4-7")
    ask(model, request)
    model.close()
    assert [block["type"] for block in server.requests[-1].body["messages"][1]["content"]] == ["text"]


@pytest.mark.parametrize("name", ["claude-sonnet-4-5", "claude-opus-5-5"])
def test_thoughts_that_are_refused_are_left_out_once_and_for_all(
    server: AnthropicServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_at(server, reasoning_effort="high")
    server.follow(lambda seen: Answer(text="I look.", reasoning="Let me see.", tool_calls=(LOOK,)))
    request = asked(UserMessage("Look."), model=name)
    reply = ask(model, request)
    assert reply.payload is not None
    spoilt = replace(reply.payload, data=reply.payload.data.replace('"signature": "', '"signature": "x'))
    request = answered(request, replace(reply, payload=spoilt))
    reply = ask(model, request)
    assert (reply.content, len(reply.notes), len(server.violations)) == ("I look.", 1, 1)
    assert "Invalid `signature`" in reply.notes[0]
    assert "left out" in caplog.text
    reply = ask(model, answered(request, reply))
    model.close()
    assert (reply.content, reply.notes, len(server.violations)) == ("I look.", (), 1)


def test_thoughts_that_are_bound_to_a_changed_past_are_left_out_before_they_are_refused(
    server: AnthropicServer,
) -> None:
    model = model_at(server, reasoning_effort="high")
    server.follow(lambda seen: Answer(text="Yes.", reasoning="Let me see."))
    request = asked(UserMessage("One"), model="claude-opus-5-5")
    for _ in range(2):
        request = answered(request, ask(model, request))
    summary = UserMessage("(A summary of what was said before.)")
    request = replace(request, messages=(summary, *request.messages[1:]))
    reply = ask(model, request)
    assert (reply.content, reply.notes) == ("Yes.", ())
    model.close()
    model = model_at(server, reasoning_effort="high")  # as another process
    ask(model, answered(request, reply))
    model.close()
    assert server.violations == []
    last = server.requests[-1].body["messages"]
    assert [message["content"][0]["type"] for message in last[1::2]] == ["text", "text", "thinking"]


def test_bound_thoughts_from_before_their_digest_was_stored_cost_one_refusal(
    server: AnthropicServer,
) -> None:
    model = model_at(server, reasoning_effort="high")
    server.follow(lambda seen: Answer(text="Yes.", reasoning="Let me see."))
    request = asked(UserMessage("One"), model="claude-opus-5-5")
    reply = ask(model, request)
    assert reply.payload is not None
    stored = {"content": json.loads(reply.payload.data)["content"]}
    request = answered(request, replace(reply, payload=replace(reply.payload, data=json.dumps(stored))))
    ask(model, request)
    assert server.violations == []
    changed = replace(request, messages=(UserMessage("(A summary.)"), *request.messages[1:]))
    reply = ask(model, changed)
    assert (reply.content, len(server.violations)) == ("Yes.", 1)
    ask(model, answered(changed, reply))
    model.close()
    assert len(server.violations) == 1


@pytest.mark.parametrize("changed", ["system_prompt", "tools"])
def test_bound_thoughts_are_left_out_where_tools_or_the_system_prompt_have_changed(
    server: AnthropicServer, changed: str
) -> None:
    model = model_at(server, reasoning_effort="high")
    server.follow(lambda seen: Answer(text="I look.", reasoning="Let me see.", tool_calls=(LOOK,)))
    request = asked(UserMessage("Look."), model="claude-opus-5-5")
    request = answered(request, ask(model, request))
    other = {"system_prompt": "Another.", "tools": ()}[changed]
    reply = ask(model, replace(request, **{changed: other}))
    model.close()
    assert (reply.notes, server.violations) == ((), [])
    kinds = [block["type"] for block in server.requests[-1].body["messages"][1]["content"]]
    assert "thinking" not in kinds


@pytest.mark.parametrize(
    ("refusal", "manner", "left_out"),
    [
        ("adaptive thinking is not supported on this model", {"reasoning_effort": "high"}, "thinking"),
        ("system.0.cache_control: Extra inputs are not permitted", {}, "cache_control"),
    ],
)
def test_parameters_unknown_to_an_endpoint_are_left_out_from_then_on(
    server: AnthropicServer, refusal: str, manner: dict[str, Any], left_out: str
) -> None:
    def choose(seen: Seen) -> Refuse | Answer:
        return Refuse(status=400, message=refusal) if left_out in str(seen.body) else Answer(text="Yes.")

    server.follow(choose)
    model = model_at(server, **manner)
    assert "left out" in ask(model).notes[0]
    assert ask(model).notes == ()
    assert len(server.requests) == 3
    model.close()


def test_marks_that_the_settings_insist_on_are_no_matter_of_taste(server: AnthropicServer) -> None:
    server.follow(lambda seen: Refuse(status=400, message="cache_control: Extra inputs are not permitted"))
    model = model_at(server, prompt_cache="on")
    assert refused(model).kind == "bad_request"
    model.close()


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("action", "kind", "retryable", "retry_after"),
    [
        (Refuse(status=529, message="Overloaded"), "overloaded", True, None),
        (Refuse(status=429, message="Rate limited", headers={"retry-after": "7"}), "rate_limit", True, 7.0),
        (Refuse(status=500, message="Internal server error"), "server", True, None),
        (Refuse(status=401, message="invalid x-api-key"), "auth", False, None),
        (Refuse(status=403, message="Your API key does not have permission"), "auth", False, None),
        (Refuse(status=404, message="model: claude-sonnet-9"), "model_not_found", False, None),
        (
            Refuse(status=400, message="Your credit balance is too low to access the Anthropic API."),
            "billing",
            False,
            None,
        ),
        (Refuse(status=400, message="messages.0: something is wrong"), "bad_request", False, None),
        (Raw(body="<html><title>Bad gateway</title></html>", status=502), "server", True, None),
        (Raw(body="<html>Welcome</html>", content_type="text/html"), "garbage", True, None),
        (Raw(body=""), "garbage", True, None),
        (Raw(body="data: {broken\n\n"), "garbage", True, None),
        (Drop(text="It begins"), "garbage", True, None),
        (Drop(), "connection", True, None),
    ],
)
def test_failures_are_classified(
    server: AnthropicServer,
    model: AnthropicModel,
    action: Any,
    kind: str,
    retryable: bool,
    retry_after: float | None,
) -> None:
    server.follow([action])
    error = refused(model)
    assert (error.kind, error.retryable, error.retry_after) == (kind, retryable, retry_after)
    if kind == "auth":
        assert "ANTHROPIC_API_KEY" in error.hint


def test_a_limit_that_is_used_up_is_waited_for_until_it_is_reset(
    server: AnthropicServer, model: AnthropicModel
) -> None:
    def reset(hours: int) -> str:
        return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()

    headers = {
        "anthropic-ratelimit-requests-remaining": "12",
        "anthropic-ratelimit-requests-reset": reset(5),
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": reset(2),
    }
    server.follow([Refuse(status=429, message="This request would exceed your limit.", headers=headers)])
    assert refused(model).retry_after == pytest.approx(2 * 3600, abs=600)


def test_an_overload_in_the_middle_of_a_stream_is_one(server: AnthropicServer, model: AnthropicModel) -> None:
    def choose(seen: Seen) -> Raw:
        begun = message_events(server, seen, Answer(text="It begins"))[:-3]
        events = [*begun, OVERLOADED]
        return Raw(body="".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events))

    server.follow(choose)
    error = refused(model)
    assert (error.kind, error.retryable) == ("overloaded", True)
    assert error.usage.input_tokens > 0


@pytest.fixture
def limited(server: AnthropicServer) -> Iterator[Callable[..., AnthropicModel]]:
    made: list[AnthropicModel] = []

    def make(idle_timeout: float = 60.0, timeout: float | None = None) -> AnthropicModel:
        made.append(
            AnthropicModel(api_key=KEY, base_url=server.base_url, idle_timeout=idle_timeout, timeout=timeout)
        )
        return made[-1]

    yield make
    for each in made:
        each.close()


Limited = Callable[..., AnthropicModel]


@pytest.mark.parametrize("first", ["", "It begins"])
def test_silence_is_a_timeout(server: AnthropicServer, limited: Limited, first: str) -> None:
    server.follow([Hold(first=first)])
    error = refused(limited(idle_timeout=0.3))
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "No data for 0.3 s" in error.message
    assert "model.idle_timeout" in error.hint
    server.wait_until(lambda: server.disconnects == 1)


def test_an_answer_that_flows_is_not_cut_however_long_it_takes(
    server: AnthropicServer, limited: Limited
) -> None:
    text = "word " * 20
    server.follow([Answer(text=text, piece=5, pace=0.05)])
    assert ask(limited(idle_timeout=0.5)).content == text


@pytest.mark.parametrize(("first", "again"), [("", True), ("It begins", False)])
def test_the_total_timeout_ends_a_call_without_a_retry(
    server: AnthropicServer, limited: Limited, first: str, again: bool
) -> None:
    server.follow([Hold(first=first)])
    error = refused(limited(timeout=0.3))
    assert (error.kind, error.retryable) == ("timeout", again)
    assert "model.timeout" in error.message
    server.wait_until(lambda: server.disconnects == 1)


@pytest.mark.parametrize(
    ("said", "kind", "limit"),
    [
        (
            "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000",
            "output_limit",
            10_000,
        ),
        (
            "input length and `max_tokens` exceed context limit: 199900 + 8192 > 200000",
            "context_overflow",
            200_000,
        ),
        (
            "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens",
            "output_limit",
            64_000,
        ),
    ],
)
def test_a_refusal_names_the_limit_that_it_is_about(
    server: AnthropicServer, model: AnthropicModel, said: str, kind: str, limit: int
) -> None:
    server.follow([Refuse(status=400, message=said)])
    error = refused(model)
    assert (error.kind, error.limit) == (kind, limit)


def test_a_prompt_that_is_too_long_names_the_window() -> None:
    small = AnthropicServer(window=300).start()
    model = model_at(small)
    error = refused(model, asked(UserMessage("word " * 500)))
    model.close()
    small.close()
    assert (error.kind, error.limit) == ("context_overflow", 300)


def test_a_limit_that_the_model_does_not_have_names_the_longest_answer(
    server: AnthropicServer, model: AnthropicModel
) -> None:
    error = refused(model, replace(asked(UserMessage("Hi")), max_tokens=500_000))
    assert (error.kind, error.limit) == ("output_limit", 64_000)


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        ("refusal", "content_policy", "declined to answer (category: cyber)"),
        ("model_context_window_exceeded", "context_overflow", "200,000 tokens"),
    ],
)
def test_an_answer_that_is_none_is_a_failure_with_its_usage(
    server: AnthropicServer, model: AnthropicModel, reason: str, kind: str, words: str
) -> None:
    server.follow([Answer(text="I", finish_reason=reason)])
    error = refused(model)
    assert (error.kind, error.retryable) == (kind, False)
    assert words in error.message
    assert error.usage.output_tokens > 0


def test_a_model_that_pauses_is_asked_to_go_on(server: AnthropicServer, model: AnthropicModel) -> None:
    def choose(seen: Seen) -> Answer:
        again = seen.body["messages"][-1]["role"] == "assistant"
        return Answer(text="and found it.") if again else Answer(text="I search ", finish_reason="pause_turn")

    server.follow(choose)
    reply = ask(model)
    assert (reply.content, reply.finish_reason) == ("I search and found it.", "stop")
    assert len(server.requests) == 2


def test_a_cancelled_call_leaves_the_server(server: AnthropicServer, model: AnthropicModel) -> None:
    server.follow([Hold(first="It begins")])
    cancel = CancelToken()
    with pytest.raises(ModelError) as raised:
        model.reply(asked(UserMessage("Hi")), cancel, lambda text: cancel.fire("cancelled"))
    assert raised.value.kind == "cancelled"
    server.wait_until(lambda: server.disconnects == 1)
    assert ask(model, asked(UserMessage("Hi"))).content == "You said: Hi"


def test_a_whole_message_is_taken_where_the_endpoint_does_not_stream(
    server: AnthropicServer, model: AnthropicModel
) -> None:
    whole = {
        "type": "message",
        "content": [{"type": "text", "text": "Whole."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    server.follow([Raw(body=json.dumps(whole), content_type="application/json")])
    assert ask(model).content == "Whole."


def test_the_client_is_imported_only_where_claude_is_asked() -> None:
    program = (
        "import sys\n"
        "from hermes_jobs.llm.client import AnthropicModel\n"
        "from hermes_jobs.llm.client import OpenAIModel\n"
        "one = AnthropicModel(api_key='k', base_url='http://127.0.0.1:1')\n"
        "other = OpenAIModel(api_key='k', base_url='http://127.0.0.1:1')\n"
        "assert not {'openai', 'anthropic'} & sys.modules.keys()\n"
        "one.warm()\n"
        "assert 'anthropic' in sys.modules and 'openai' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
