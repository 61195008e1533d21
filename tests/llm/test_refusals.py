"""What an endpoint refused once is not sent to it again, by any process.

The refusals are those of public issues: Mistral's of `stream_options` (dnakov/anon-kode#53) and of
`max_completion_tokens` (Gitlawb/openclaude#739), llama.cpp's of tools without `--jinja`, OpenAI's of
`temperature`; an address without `/responses` answers 404 with the text of its web framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hermes_jobs.kernel.engine.ports import Model, ModelError
from hermes_jobs.llm.attachments import Takes
from hermes_jobs.llm.client import AnthropicModel, OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions, Dialect
from hermes_jobs.llm.families import FAMILIES
from hermes_jobs.llm.refusals import FEATURES, RecalledRefusals, Refusals, refused_features
from tests.llm.asking import ask, request
from tests.model_script import Action, Answer, Refuse, Seen
from tests.model_server import ModelServer
from tests.providers.anthropic_server import AnthropicServer


class Log:
    """What was recorded of all models, as the log has it."""

    def __init__(self) -> None:
        self.features: dict[str, dict[str, str]] = {}
        self.forgotten = 0

    def refusals(self) -> Refusals:
        return Refusals(self.recalled, self.record)

    def recalled(self, model: str) -> RecalledRefusals:
        return RecalledRefusals(self.features.get(model, {}), self.forgotten)

    def record(self, model: str, feature: str, message: str) -> None:
        self.features.setdefault(model, {})[feature] = message

    def forget(self) -> None:
        self.features.clear()
        self.forgotten += 1


@contextmanager
def process(server: ModelServer, log: Log, manner: ApiOptions | None = None) -> Iterator[Model]:
    """A model as a process makes it: it knows what the log knows."""
    model = OpenAIModel(
        api_key="sk-1", base_url=server.base_url, manner=manner or ApiOptions(), refusals=log.refusals()
    )
    try:
        yield model
    finally:
        model.close()


def forbidden(name: str) -> Refuse:
    detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
    return Refuse(
        status=422, body={"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
    )


def openai_error(text: str) -> Refuse:
    return Refuse(
        status=400, body={"error": {"message": text, "type": "invalid_request_error", "code": None}}
    )


def refusing(holds: Callable[[dict[str, Any]], bool], refusal: Refuse) -> Callable[[Seen], Action]:
    return lambda seen: refusal if holds(seen.body) else Answer(text="Yes.")


CASES: list[tuple[str, Callable[[dict[str, Any]], bool], Refuse]] = [
    ("stream_options", lambda body: "stream_options" in body, forbidden("stream_options")),
    (
        "stream",
        lambda body: bool(body.get("stream")),
        openai_error("Streaming is not supported for this model."),
    ),
    (
        "max_tokens",
        lambda body: "max_tokens" in body,
        openai_error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead."
        ),
    ),
    (
        "tools",
        lambda body: "tools" in body,
        Refuse(status=500, body={"error": {"code": 500, "message": "tools param requires --jinja flag"}}),
    ),
    (
        "reasoning_effort",
        lambda body: "reasoning_effort" in body,
        openai_error("Unrecognized request argument supplied: reasoning_effort"),
    ),
    (
        "system messages",
        lambda body: body["messages"][0]["role"] == "system",
        openai_error("System role not supported"),
    ),
]


@pytest.mark.parametrize(("feature", "holds", "refusal"), CASES, ids=[case[0] for case in CASES])
def test_no_second_request_and_no_other_process_contains_what_was_refused(
    model_server: ModelServer, feature: str, holds: Callable[[dict[str, Any]], bool], refusal: Refuse
) -> None:
    model_server.follow(refusing(holds, refusal))
    log, manner = Log(), ApiOptions(reasoning_effort="low")
    asked = request("Hello", tools=("terminal",), max_tokens=100)
    with process(model_server, log, manner) as model:
        assert ask(model, asked).content == "Yes."
        assert ask(model, asked).content == "Yes."
    assert len(model_server.requests) == 3
    assert list(log.features["some-model"]) == [feature]
    assert log.features["some-model"][feature]
    with process(model_server, log, manner) as model:
        assert ask(model, asked).content == "Yes."
    assert len(model_server.requests) == 4
    log.forget()
    with process(model_server, log, manner) as model:
        ask(model, asked)
    assert len(model_server.requests) == 6


def test_a_running_process_tries_again_what_a_user_has_reset(model_server: ModelServer) -> None:
    feature, holds, refusal = CASES[0]
    model_server.follow(refusing(holds, refusal))
    log = Log()
    with process(model_server, log) as model:
        ask(model)
        log.forget()
        ask(model)
        assert len(model_server.requests) == 4
        assert list(log.features["some-model"]) == [feature]


def test_a_refusal_is_not_remembered_where_the_call_failed_without_the_feature_too(
    model_server: ModelServer,
) -> None:
    model_server.follow([forbidden("stream_options"), Refuse(status=401, message="Bad key")])
    log = Log()
    with process(model_server, log) as model, pytest.raises(ModelError):
        ask(model)
    assert log.features == {}


def test_what_the_settings_require_is_sent_although_it_was_refused(model_server: ModelServer) -> None:
    log = Log()
    log.record("some-model", "tools", "No.")
    with process(model_server, log, ApiOptions(tool_calling="structured")) as model:
        ask(model, request("Hello", tools=("terminal",)))
    assert "tools" in model_server.requests[0].body


NOT_FOUND = Refuse(status=404, body={"detail": "Not Found"})


def responses_missing(seen: Seen) -> Action:
    return NOT_FOUND if "input" in seen.body else Answer(text="Yes.")


def test_where_there_is_no_responses_api_chat_completions_is_called_from_then_on(
    model_server: ModelServer,
) -> None:
    model_server.follow(responses_missing)
    log, manner = Log(), ApiOptions(api="responses", insists_on_api=False)
    with process(model_server, log, manner) as model:
        assert ask(model).content == "Yes."
    with process(model_server, log, manner) as model:
        assert ask(model).content == "Yes."
    assert ["input" in seen.body for seen in model_server.requests] == [True, False, False]
    assert list(log.features["some-model"]) == ["the Responses API"]


def test_a_missing_responses_api_is_an_error_where_the_settings_name_it(model_server: ModelServer) -> None:
    model_server.follow(responses_missing)
    with process(model_server, Log(), ApiOptions(api="responses")) as model, pytest.raises(ModelError) as no:
        ask(model)
    assert no.value.message.startswith("404")
    assert "model.api" in no.value.hint


def test_a_model_that_does_not_exist_is_no_missing_api(model_server: ModelServer) -> None:
    gone = {"error": {"message": "The model `some-model` does not exist.", "code": "model_not_found"}}
    model_server.follow(lambda seen: Refuse(status=404, body=gone))
    manner = ApiOptions(api="responses", insists_on_api=False)
    with process(model_server, Log(), manner) as model, pytest.raises(ModelError) as no:
        ask(model)
    assert no.value.kind == "model_not_found"
    assert len(model_server.requests) == 1


def test_a_gateway_of_the_messages_api_is_asked_once_for_what_it_refuses() -> None:
    def choose(seen: Seen) -> Action:
        if "cache_control" in str(seen.body):
            return Refuse(status=400, message="cache_control: Extra inputs are not permitted")
        return Answer(text="Yes.")

    server, log = AnthropicServer(choose).start(), Log()
    try:
        for _ in range(2):
            model = AnthropicModel(api_key="sk-1", base_url=server.base_url, refusals=log.refusals())
            assert ask(model, request("Hello", max_tokens=100)).content == "Yes."
            model.close()
    finally:
        server.close()
    assert len(server.requests) == 3
    assert list(log.features["some-model"]) == ["cache_control"]


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_that_is_left_out_is_recognised_and_is_left_out_once(name: str) -> None:
    full = Dialect(
        cache="5m", marks_tools=True, takes_effort=True, takes_cache_key=True, includes_reasoning=True
    )
    if name == "documents":
        full = Dialect(takes=Takes(files=True))
    if name == "sounds":
        full = Dialect(takes=Takes(sounds=True))
    if name in {"the Responses API", "include"}:
        full = Dialect(api="responses", includes_reasoning=True)
    if name == "max_completion_tokens":
        full = Dialect(limit_field="max_completion_tokens")
    before = [full, *(Dialect(family=family) for family in FAMILIES)]
    changed = [(dialect, FEATURES[name](dialect)) for dialect in before]
    assert any(name in refused_features(dialect, after) for dialect, after in changed)
    assert all(FEATURES[name](after) == after for _, after in changed)
    assert all(refused_features(dialect, dialect) == [] for dialect in before)
