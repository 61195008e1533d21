from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.streams.context_windows import LEAST_WINDOW, WINDOW_SECONDS, LearnedWindow
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import OPENAI_URL
from hermes_jobs.llm.windows import (
    STEPS,
    UNKNOWN_WINDOW,
    RecalledWindow,
    Window,
    Windows,
    estimated_tokens,
    known_window,
)
from tests.llm.asking import ask, request
from tests.model_script import Refuse
from tests.model_server import ModelServer


def windows(override: int | None = None, **known: int) -> Windows:
    return Windows(override=override, known_window=known.get)


def test_settings_override_known_windows_and_unknown_models_have_128k() -> None:
    assert windows(known=4096).of("known") == 4096
    assert windows(32_768, known=4096).of("known") == 32_768
    assert windows().of("unknown") == UNKNOWN_WINDOW == 128_000


def test_a_named_window_is_remembered_for_its_model_when_it_is_smaller() -> None:
    learned = windows()
    assert learned.exceeded("a", 200_000) == 128_000
    assert learned.exceeded("a", 4096) == 4096
    assert learned.exceeded("a", 8192) == 4096
    assert (learned.of("a"), learned.of("b")) == (4096, 128_000)


def test_without_a_named_window_the_next_lower_step_is_assumed() -> None:
    learned = windows(large=200_000)
    steps = [learned.exceeded("large", None) for _ in range(8)]
    assert steps == [128_000, 64_000, 32_000, 16_000, 8_000, 4_000, LEAST_WINDOW, LEAST_WINDOW]


@pytest.mark.parametrize(
    ("size", "window"), [(150_000, 128_000), (100_000, 64_000), (4_200, 4_000), (4_000, 2_048), (100, 2_048)]
)
def test_without_a_stated_window_the_assumed_one_is_below_the_refused_size(size: int, window: int) -> None:
    assert windows(large=200_000).exceeded("large", None, size) == window


@pytest.mark.parametrize("nonsense", [0, 1, 100, 2_047])
def test_a_window_that_no_model_has_is_none_that_was_named(nonsense: int) -> None:
    learned = windows(large=200_000)
    assert learned.exceeded("large", nonsense, 150_000) == 128_000


@given(st.integers(1, 10**7), st.lists(st.none() | st.integers(-5, 10**7), max_size=8))
def test_a_window_never_grows_and_never_vanishes(first: int, named: list[int | None]) -> None:
    learned = windows(model=first)
    seen = [first, *(learned.exceeded("model", each) for each in named)]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] >= min(first, LEAST_WINDOW)
    assert seen[-1] in {first, *STEPS, *named}


@pytest.mark.parametrize(
    ("model", "url", "window"),
    [
        ("gpt-4o", OPENAI_URL, 128_000),
        ("gpt-4o", "http://127.0.0.1:8080/v1", 128_000),
        ("somebody/gpt-4o", "http://127.0.0.1:8080/v1", 128_000),
        ("no-such-model", OPENAI_URL, None),
        ("", None, None),
    ],
)
def test_the_list_has_the_windows_of_models_at_every_provider(
    model: str, url: str | None, window: int | None
) -> None:
    assert known_window(model, url) == window


def test_the_estimate_counts_prompt_messages_and_tools() -> None:
    plain = estimated_tokens(request("Hello"))
    assert estimated_tokens(request("Hello" + "x" * 4000)) - plain == pytest.approx(1000, abs=1)
    assert estimated_tokens(request("Hello", tools=("terminal",))) > plain + 10


@pytest.fixture
def learned() -> Windows:
    return windows(**{"some-model": 4000})


@pytest.fixture
def model(model_server: ModelServer, learned: Windows) -> Iterator[OpenAIModel]:
    made = OpenAIModel(api_key=None, base_url=model_server.base_url, windows=learned)
    yield made
    made.close()


def failure(model: OpenAIModel, said: str) -> ModelError:
    with pytest.raises(ModelError) as raised:
        ask(model, said)
    return raised.value


LLAMA: dict[str, Any] = {
    "code": 400,
    "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 5000,
    "n_ctx": 2048,
}


def test_a_refusal_teaches_the_window_and_advises_a_new_session(
    model: OpenAIModel, model_server: ModelServer, learned: Windows
) -> None:
    model_server.follow([Refuse(status=400, body={"error": LLAMA})])
    error = failure(model, "Hello")
    assert (error.kind, error.limit, error.retryable) == ("context_overflow", 2048, False)
    assert "new session" in error.hint
    assert learned.of("some-model") == 2048


@pytest.mark.parametrize(
    ("status", "message", "characters", "kind"),
    [
        (400, "Bad Request", 10_000, "context_overflow"),
        (400, None, 10_000, "context_overflow"),
        (400, "Provider returned error", 10_000, "context_overflow"),
        (400, "Bad Request", 100, "bad_request"),
        (400, "messages must not be empty", 10_000, "bad_request"),
        (403, "Error", 10_000, "auth"),
        (413, "Request Entity Too Large", 10_000, "context_overflow"),
        (413, None, 100, "context_overflow"),
    ],
)
def test_a_body_too_large_and_a_refusal_without_reason_of_a_long_request_count_as_overflow(
    model: OpenAIModel,
    model_server: ModelServer,
    status: int,
    message: str | None,
    characters: int,
    kind: str,
) -> None:
    body = {"error": {"message": message, "param": None}}
    model_server.follow([Refuse(status=status, body=body)])
    assert failure(model, "x" * characters).kind == kind


def test_a_window_that_a_provider_named_to_another_process_counts_too() -> None:
    remembered_of = {"a": RecalledWindow(LearnedWindow(16_000, 200_000, 1.0)), "b": RecalledWindow()}
    remembered = Windows(
        override=None, known_window=lambda name: 200_000, recalled=lambda name: remembered_of[name]
    )
    assert (remembered.of("a"), remembered.of("b")) == (16_000, 200_000)
    assert remembered.assumed("a") == 200_000
    assert remembered.exceeded("a", 8_000) == 8_000
    assert remembered.exceeded("a", 12_000) == 8_000


@pytest.mark.parametrize(
    ("override", "known", "learned", "window", "source"),
    [
        (None, None, LearnedWindow(16_000, 128_000, 1.0), 16_000, "refusal"),
        (None, 64_000, LearnedWindow(16_000, 128_000, 1.0), 64_000, "list"),
        (128_000, None, LearnedWindow(16_000, 128_000, 1.0), 128_000, "setting"),
        (32_000, None, LearnedWindow(16_000, 128_000, 1.0), 32_000, "setting"),
        (None, None, LearnedWindow(100, 128_000, 1.0), 128_000, "default"),
        (None, None, LearnedWindow(16_000, 128_000, 2.0 - WINDOW_SECONDS), 128_000, "default"),
        (None, None, None, 128_000, "default"),
    ],
)
def test_a_remembered_window_counts_while_the_same_is_assumed_and_no_setting_names_another(
    override: int | None, known: int | None, learned: LearnedWindow | None, window: int, source: str
) -> None:
    remembered = Windows(
        override=override,
        known_window=lambda name: known,
        recalled=lambda name: RecalledWindow(learned),
        now=lambda: 2.0,
    )
    told = remembered.window("a")
    assert (told.tokens, told.source) == (window, source)


def test_a_deleted_limit_is_deleted_in_every_process() -> None:
    forgotten = [0]
    learned = Windows(
        override=None,
        known_window=lambda name: None,
        recalled=lambda name: RecalledWindow(None, forgotten[0]),
    )
    assert learned.exceeded("a", 4096) == 4096
    forgotten[0] += 1
    assert learned.window("a") == Window(UNKNOWN_WINDOW, "default")
    assert learned.exceeded("a", 8192) == 8192


@pytest.mark.parametrize(
    ("message", "max_tokens", "kind", "limit"),
    [
        ("Refused: 2500 over 2100.", None, "context_overflow", 2_100),
        ("Refused (id 17): you sent 2,600, we take 2,048.", None, "context_overflow", 2_048),
        ("Refused: 9000 over 2100.", None, "bad_request", None),
        ("Refused: 2500 over 100.", None, "bad_request", None),
        ("Refused: 2500.", None, "bad_request", None),
        ("Refused: 5000 over 1024.", 5_000, "output_limit", 1_024),
        ("Refused: 5000 over 12.", 5_000, "bad_request", None),
        ("Refused (id 20261124): 2500 over 2100.", None, "context_overflow", 2_100),
        ("В запросе 2600 токенов, модель принимает 2048.", None, "context_overflow", 2_048),
        ("请求共2600个令牌，模型最多支持2048个", None, "context_overflow", 2_048),
        ("リクエストは2600トークンで、2048トークンまでです。", None, "context_overflow", 2_048),
        ("max_tokens: expected 1..4096", 5_000, "output_limit", 4_096),
        ("max_new_tokens=5000 geht nicht, höchstens 4096", 5_000, "output_limit", 4_096),
        ("max_tokens: expected 1..4096", None, "bad_request", None),
        ("max_tokens: expected an integer", 5_000, "bad_request", None),
    ],
)
def test_a_refusal_of_unknown_words_is_a_limit_where_its_larger_number_is_the_requests_size(
    model: OpenAIModel,
    model_server: ModelServer,
    message: str,
    max_tokens: int | None,
    kind: str,
    limit: int | None,
) -> None:
    model_server.follow([Refuse(status=400, body={"error": {"message": message, "param": None}})])
    with pytest.raises(ModelError) as raised:
        ask(model, replace(request("x" * 10_000), max_tokens=max_tokens))
    assert (raised.value.kind, raised.value.limit) == (kind, limit)
