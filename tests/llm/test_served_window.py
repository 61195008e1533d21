"""The window that a server of one's own serves, and prompts that it cuts without an error."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError, ModelRequest, Reply
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, UserMessage
from hermes_jobs.llm import served_window
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import ApiOptions
from hermes_jobs.llm.server_windows import is_near
from hermes_jobs.llm.windows import Windows, estimated_tokens
from tests.llm.asking import ask, request
from tests.llm.own_servers import MODEL, SERVERS, WINDOW, LlamaCpp, LmStudio, Ollama, OwnServer
from tests.model_script import Answer
from tests.model_server import ModelServer
from tests.tables import each_row

LONG = "A sentence of some words. " * 1_000


@pytest.fixture
def each_call_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer of the server counts for the next call."""
    monkeypatch.setattr(served_window, "FRESH", 0.0)


@pytest.fixture
def server() -> Iterator[Ollama]:
    made = Ollama()
    made.start()
    yield made
    made.close()


def unknown(override: int | None = None) -> Windows:
    return Windows(override=override, known_window=lambda model: None)


def client(server: ModelServer, provider: str, windows: Windows | None = None) -> OpenAIModel:
    return OpenAIModel(
        api_key=None,
        base_url=server.base_url,
        manner=ApiOptions(provider=provider),
        windows=windows or unknown(),
    )


def asked(
    server: ModelServer, provider: str, *texts: str | ModelRequest, windows: Windows | None = None
) -> list[Reply]:
    model = client(server, provider, windows)
    try:
        return [ask(model, request(text) if isinstance(text, str) else text) for text in texts]
    finally:
        model.close()


@each_row([(kind, named) for kind in SERVERS for named in (True, False)])
def test_each_server_is_asked_for_its_window_in_its_own_way(kind: type[OwnServer], named: bool) -> None:
    """Named by its provider, and as an unknown one on this machine."""
    server, windows = kind(), unknown()
    server.start()
    server.is_loaded = kind is LmStudio
    model = client(server, kind.provider if named else "custom", windows)
    try:
        assert model.served_window(MODEL) == WINDOW
        assert (windows.of(MODEL), windows.window(MODEL).source) == (WINDOW, "server")
    finally:
        model.close()
        server.close()


@pytest.mark.usefixtures("each_call_asks")
def test_a_model_that_is_not_loaded_has_no_window_yet_and_is_asked_about_again() -> None:
    server, windows = LmStudio(), unknown()
    server.start()
    model = client(server, "lmstudio", windows)
    try:
        assert model.served_window(MODEL) is None
        ask(model, request("Hello"))  # loads it
        assert model.served_window(MODEL) == WINDOW
    finally:
        model.close()
        server.close()


@pytest.mark.usefixtures("each_call_asks")
def test_ollama_loads_a_model_to_name_its_window_unless_the_modelfile_does(server: Ollama) -> None:
    model = client(server, "ollama")
    try:
        assert model.served_window(MODEL) == WINDOW
        assert server.asked == ["/api/ps", "/api/show", "/api/generate", "/api/ps"]
        server.asked.clear()
        server.is_loaded = False
        server.parameters += "\nnum_ctx                        16384"
        assert model.served_window(MODEL) == 16_384
        assert server.asked == ["/api/ps", "/api/show"]
    finally:
        model.close()


def test_sessions_that_begin_together_ask_once(server: Ollama) -> None:
    model = client(server, "ollama")
    try:
        with ThreadPoolExecutor(8) as sessions:
            assert set(sessions.map(model.served_window, [MODEL] * 8)) == {WINDOW}
        assert server.asked == ["/api/ps", "/api/show", "/api/generate", "/api/ps"]
    finally:
        model.close()


@pytest.mark.usefixtures("each_call_asks")
def test_a_server_that_was_given_another_window_is_believed(server: Ollama) -> None:
    windows = unknown()
    model = client(server, "ollama", windows)
    try:
        model.served_window(MODEL)
        server.window = 32_768
        model.served_window(MODEL)
    finally:
        model.close()
    assert windows.of(MODEL) == 32_768


def test_the_settings_come_before_the_server(server: Ollama) -> None:
    windows = unknown(override=16_000)
    model = client(server, "ollama", windows)
    try:
        assert model.served_window(MODEL) == WINDOW
    finally:
        model.close()
    assert windows.window(MODEL).source == "setting"


@pytest.mark.parametrize("provider", ["ollama", "custom"])
@pytest.mark.parametrize("reads", [WINDOW // 2 + 2, 3_000])
def test_a_cut_prompt_is_an_overflow_that_names_the_served_window(
    server: Ollama, provider: str, reads: int
) -> None:
    server.reads = reads
    windows = unknown()
    with pytest.raises(ModelError) as cut:
        asked(server, provider, LONG, windows=windows)
    assert (cut.value.kind, cut.value.limit) == ("context_overflow", WINDOW)
    assert f"it serves {WINDOW:,}, and read {reads:,}" in cut.value.message
    assert "OLLAMA_CONTEXT_LENGTH" in cut.value.hint
    assert "PARAMETER num_ctx" in cut.value.hint
    assert cut.value.usage.prompt_tokens == reads
    assert windows.of(MODEL) == WINDOW


def test_a_prompt_cut_to_the_whole_window_is_noticed(server: Ollama) -> None:
    server.reads = WINDOW
    slightly_more = LONG[: WINDOW * 4 + 200]
    assert estimated_tokens(request(slightly_more)) < WINDOW * 1.1
    with pytest.raises(ModelError) as cut:
        asked(server, "ollama", slightly_more)
    assert cut.value.limit == WINDOW


def test_the_served_window_is_asked_for_once_and_used_from_then_on(server: Ollama) -> None:
    windows = Windows(override=None, known_window=lambda model: 128_000)
    replies = asked(server, "ollama", "Hello", "Hello again", windows=windows)
    assert [reply.content for reply in replies] == ["Yes.", "Yes."]
    assert [(reply.notes, reply.warning) for reply in replies] == [((), "")] * 2
    assert (server.asked.count("/api/ps"), windows.of(MODEL)) == (1, WINDOW)


def test_without_a_served_window_the_log_says_once_what_was_counted(
    model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    usage = {"prompt_tokens": 2_050, "completion_tokens": 5, "total_tokens": 2_055}
    model_server.follow(lambda seen: Answer(text="Yes.", usage=usage))
    replies = asked(model_server, "custom", LONG, LONG)
    assert [reply.warning for reply in replies] == ["", ""]
    (warning,) = [each for each in caplog.messages if "may have cut it" in each]
    assert "counted 2,050 tokens of a prompt of about" in warning


def growing(counts: list[int], *, reasoning: bool = False) -> list[str]:
    """The warnings of a conversation whose prompts are counted so."""
    server, left = ModelServer(), list(counts)

    def answer(seen: object) -> Answer:
        count = left.pop(0)
        usage = {"prompt_tokens": count, "completion_tokens": 5, "total_tokens": count + 5}
        return Answer(text="Yes.", usage=usage, reasoning="Thought." if reasoning else "")

    server.follow(answer)
    server.start()
    model, warnings = client(server, "custom"), list[str]()
    said: list[Message] = [UserMessage("Привет " * 100)]
    try:
        for _ in counts:
            asking = ModelRequest(
                model=MODEL, system_prompt="You are helpful.", messages=tuple(said), session="s1"
            )
            reply = ask(model, asking)
            warnings.append(reply.warning)
            said += [AssistantMessage(reply.content, (), reply.payload), UserMessage("Дальше " * 100)]
    finally:
        model.close()
        server.close()
    return warnings


def test_a_prompt_that_only_grows_and_is_counted_a_fifth_shorter_was_cut() -> None:
    """However few tokens its language takes: the earlier count is compared, not an estimate."""
    assert growing([300, 500, 700]) == ["", "", ""]
    assert growing([300, 290, 250]) == ["", "", ""]
    first, cut, later = growing([300, 239, 480])
    assert (first, later) == ("", "")
    assert cut.startswith("The server cut the prompt: it counted 239 tokens of a prompt of about")


def test_templates_may_leave_earlier_reasoning_out() -> None:
    assert growing([300, 3_000, 500], reasoning=True) == ["", "", ""]


def test_providers_on_other_machines_are_neither_asked_nor_judged(model_server: ModelServer) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    model_server.follow(lambda seen: Answer(text="Yes.", usage=usage))
    (reply,) = asked(model_server, "openai", LONG)
    assert (reply.content, reply.warning) == ("Yes.", "")


NEAR = ("127.0.0.1:8080", "[::1]:1", "192.168.1.7", "10.0.0.2:11434", "gpu-box", "ollama:1", "nas.local")
FAR = ("api.example.com", "8.8.8.8", "llm.company.example:8000")


@each_row([*((host, True) for host in NEAR), *((host, False) for host in FAR)])
def test_only_hosts_nearby_are_asked_what_kind_they_are(host: str, near: bool) -> None:
    assert is_near(f"http://{host}/v1") is near


def test_a_refusal_of_llama_cpp_names_its_window() -> None:
    server = LlamaCpp()
    server.start()
    try:
        with pytest.raises(ModelError) as refused:
            asked(server, "llamacpp", LONG)
    finally:
        server.close()
    assert (refused.value.kind, refused.value.limit) == ("context_overflow", WINDOW)


def test_the_bytes_of_a_picture_are_not_kept_with_what_was_counted(server: Ollama) -> None:
    class Content(bytes):
        """Bytes of which one can know that they have gone."""

        def __del__(self) -> None:
            gone.append(len(self))

    def content(digest: str) -> bytes:
        return Content(b"\x89PNG" + bytes(100))

    gone: list[int] = []
    picture = Attachment(digest="d1", media_type="image/png", size=104, file_name="a.png", width=8, height=8)
    message = UserMessage("What is it?", attachments=(picture,))
    model = OpenAIModel(
        api_key=None, base_url=server.base_url, manner=ApiOptions(provider="ollama"), content=content
    )
    try:
        ask(model, replace(request(message), session="s1"))
        gc.collect()
        assert gone == [104]
    finally:
        model.close()
