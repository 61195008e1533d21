"""A prompt that a server cuts without an error.

The server does what Ollama was measured to do: it serves 4,096 tokens by default, reads half of them of a
longer prompt (ollama/ollama#17889), or all (older versions, #10368), answers 200, and names the window at
`/api/ps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hermes_jobs.kernel.engine.ports import ModelError, Reply
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions
from hermes_jobs.llm.windows import Windows, estimated_tokens
from tests.llm.asking import ask, request
from tests.model_script import Action, Answer, Seen
from tests.model_server import Handler, ModelServer

WINDOW = 4_096
LONG = "A sentence of some words. " * 1_000


class OllamaHandler(Handler):
    def do_GET(self) -> None:
        if self.path == "/api/ps" and isinstance(self.server.model, OllamaServer):
            self.server.model.num_asked += 1
            loaded = {"name": "some-model:latest", "model": "some-model:latest", "context_length": WINDOW}
            self._send_json(200, {"models": [loaded]})
        else:
            super().do_GET()


class OllamaServer(ModelServer):
    """`reads`: tokens of a prompt that does not fit."""

    handler = OllamaHandler
    num_asked = 0
    reads = WINDOW // 2 + 2

    def cut(self, seen: Seen) -> Action:
        prompt = len(str(seen.messages)) // 4
        counted = prompt if prompt < WINDOW else self.reads
        usage: dict[str, Any] = {
            "prompt_tokens": counted,
            "completion_tokens": 5,
            "total_tokens": counted + 5,
        }
        return Answer(text="Yes.", usage=usage)


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    made = OllamaServer()
    made.follow(made.cut)
    made.start()
    yield made
    made.close()


def asked(server: ModelServer, provider: str, *texts: str, windows: Windows | None = None) -> list[Reply]:
    model = OpenAIModel(
        api_key=None, base_url=server.base_url, manner=ApiOptions(provider=provider), windows=windows
    )
    try:
        return [ask(model, request(text)) for text in texts]
    finally:
        model.close()


@pytest.mark.parametrize("provider", ["ollama", "custom"])
@pytest.mark.parametrize("reads", [WINDOW // 2 + 2, 3_000])
def test_a_cut_prompt_is_an_overflow_that_names_the_served_window(
    server: OllamaServer, provider: str, reads: int
) -> None:
    server.reads = reads
    windows = Windows(override=None, known_window=lambda model: None)
    with pytest.raises(ModelError) as cut:
        asked(server, provider, LONG, windows=windows)
    assert (cut.value.kind, cut.value.limit) == ("context_overflow", WINDOW)
    assert f"it serves {WINDOW:,}, and read {reads:,}" in cut.value.message
    assert "OLLAMA_CONTEXT_LENGTH" in cut.value.hint
    assert cut.value.usage.prompt_tokens == reads
    assert windows.of("some-model") == WINDOW


def test_a_prompt_cut_to_the_whole_window_is_noticed(server: OllamaServer) -> None:
    server.reads = WINDOW
    slightly_more = LONG[: WINDOW * 4 + 200]
    assert estimated_tokens(request(slightly_more)) < WINDOW * 1.1
    with pytest.raises(ModelError) as cut:
        asked(server, "ollama", slightly_more)
    assert cut.value.limit == WINDOW


def test_the_served_window_is_asked_for_once_and_used_from_then_on(server: OllamaServer) -> None:
    windows = Windows(override=None, known_window=lambda model: 128_000)
    replies = asked(server, "ollama", "Hello", "Hello again", windows=windows)
    assert [reply.content for reply in replies] == ["Yes.", "Yes."]
    assert [reply.notes for reply in replies] == [(), ()]
    assert (server.num_asked, windows.of("some-model")) == (1, WINDOW)


def test_other_servers_are_not_asked_while_they_count_what_was_sent(server: OllamaServer) -> None:
    asked(server, "custom", "Hello", LONG[:10_000])
    assert server.num_asked == 0


def test_without_a_served_window_the_log_says_once_what_was_counted(
    model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    usage = {"prompt_tokens": 2_050, "completion_tokens": 5, "total_tokens": 2_055}
    model_server.follow(lambda seen: Answer(text="Yes.", usage=usage))
    assert [reply.content for reply in asked(model_server, "custom", LONG, LONG)] == ["Yes.", "Yes."]
    (warning,) = [each for each in caplog.messages if "may have cut it" in each]
    assert "counted 2,050 tokens of a prompt of about" in warning


def test_providers_on_other_machines_are_not_judged(model_server: ModelServer) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    model_server.follow(lambda seen: Answer(text="Yes.", usage=usage))
    (reply,) = asked(model_server, "openai", LONG)
    assert reply.content == "Yes."
