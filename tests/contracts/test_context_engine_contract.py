"""What every `ContextEngine` holds to, the built-in one and those that others write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.compression import compressor
from hermes_jobs.features.compression.checkpoint import SECTIONS
from hermes_jobs.features.compression.isolated_engine import IsolatedEngine
from hermes_jobs.features.compression.message_groups import message_groups, newest_request
from hermes_jobs.features.compression.setup import CompressorOptions, EngineSetup
from hermes_jobs.features.compression.summary import without_notes
from hermes_jobs.kernel.engine.ports import (
    AskSummariser,
    CompressedHistory,
    ContextEngine,
    ContextSize,
    History,
    ModelError,
)
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.plugins.circuit_breaker import FAILURES, CircuitBreaker
from hermes_jobs.plugins.instances import TimeLimits
from hermes_jobs.system.clock import SystemClock
from tests.context import sliding
from tests.context.histories import histories, history_of

CHECKPOINT = "\n".join(f"## {name}\nNone" for name, _ in SECTIONS)
WINDOW = 4_000
PATIENT = TimeLimits(ask=30.0, begin=30.0, tool=30.0, compress=30.0)

Make = Callable[..., ContextEngine]


def setup(**options: float | bool) -> EngineSetup:
    return EngineSetup(
        options=CompressorOptions(**{"protect_last": 4, **options}),  # type: ignore[arg-type]
        folder=Path("/nowhere"),
        secret=lambda name: None,
        redact=lambda text: text,
    )


def built_in(**options: float | bool) -> ContextEngine:
    return compressor.from_setup(setup(**options))


def another(**options: float | bool) -> ContextEngine:
    return sliding.engine(setup(**options))


def contained(**options: float | bool) -> ContextEngine:
    return held("sliding", another(**options), built_in(**options))


def held(
    name: str, engine: ContextEngine, own: ContextEngine, limits: TimeLimits = PATIENT
) -> IsolatedEngine:
    circuit = CircuitBreaker(
        f"context engine {name}",
        SystemClock(),
        redact=lambda text: text.replace("sk-secret", "***"),
        passes=(ModelError,),
    )
    return IsolatedEngine(name, engine, own, circuit, limits)


@pytest.fixture(params=[built_in, another, contained], ids=lambda make: make.__name__, scope="module")
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


def answer(system_prompt: str, text: str, max_tokens: int) -> str:
    return CHECKPOINT


def nobody(system_prompt: str, text: str, max_tokens: int) -> str:
    raise AssertionError("there is no summariser to ask")


def history(messages: tuple[Message, ...]) -> History:
    return History(messages=messages, todos=(), focus="", window=WINDOW, summary_window=WINDOW)


def size(tokens: int, **changes: object) -> ContextSize:
    given = {"num_messages": 50, "is_measured": True, "first_call": False, "num_compressions": 0, **changes}
    return ContextSize(window=WINDOW, tokens=tokens, **given)  # type: ignore[arg-type]


def request_of(messages: tuple[Message, ...]) -> str:
    _, plain = without_notes(messages)
    units = message_groups(plain)
    at = newest_request(units)
    assert at is not None
    return units[at][0].content.removeprefix(sliding.NOTE).strip("\n")


def assert_can_be_sent_and_stored(shortened: CompressedHistory) -> None:
    messages = shortened.messages
    for unit in message_groups(messages):
        first = unit[0]
        asked = {call.id for call in first.tool_calls} if isinstance(first, AssistantMessage) else set()
        assert {each.tool_call for each in unit if isinstance(each, ToolMessage)} == asked
    for before, after in pairwise(messages):
        assert not (isinstance(before, UserMessage) and isinstance(after, UserMessage))
        assert not (isinstance(before, AssistantMessage) and isinstance(after, AssistantMessage))
    assert msgspec.json.decode(msgspec.json.encode(shortened), type=CompressedHistory) == shortened


@given(messages=histories(), has_summariser=st.booleans())
def test_the_result_is_valid_and_has_the_users_newest_message(
    make: Make, messages: tuple[Message, ...], has_summariser: bool
) -> None:
    engine = make()
    given = history(messages)
    shortened = engine.compress(given, answer) if has_summariser else engine.set_aside(given)
    if shortened.removed == 0:
        assert shortened.messages == messages
        return
    assert_can_be_sent_and_stored(shortened)
    assert request_of(shortened.messages) == request_of(messages)


@given(messages=histories())
def test_something_is_taken_away_where_an_engine_says_that_there_is_something(
    make: Make, messages: tuple[Message, ...]
) -> None:
    engine = make()
    shortened = engine.compress(history(messages), answer)
    assert shortened.removed > 0 or not engine.has_content_to_compress(messages, WINDOW)


@given(messages=histories(), later=histories())
def test_it_can_be_compressed_again_and_again_and_comes_to_an_end(
    make: Make, messages: tuple[Message, ...], later: tuple[Message, ...]
) -> None:
    engine = make()
    shortened = engine.compress(history(messages), answer)
    joined = (*shortened.messages, AssistantMessage("Done."), *later)
    again = engine.compress(history(joined), answer)
    for _ in range(20):
        if again.removed == 0:
            break
        assert_can_be_sent_and_stored(again)
        assert request_of(again.messages) == request_of(later)
        again = engine.compress(history(again.messages), answer)
    sizes = [engine.estimate(again.messages)]
    for _ in range(3):
        again = engine.compress(history(again.messages), answer)
        sizes.append(engine.estimate(again.messages))
    assert max(sizes) <= sizes[0], "it does not grow"


@given(messages=histories(), room=st.integers(0, 20_000))
def test_the_newest_messages_fit_into_their_room_and_begin_with_a_user(
    make: Make, messages: tuple[Message, ...], room: int
) -> None:
    engine = make()
    newest = engine.newest(messages, room)
    assert engine.estimate(newest) <= room
    assert newest == messages[len(messages) - len(newest) :]
    assert not newest or isinstance(newest[0], UserMessage)


def test_a_long_history_becomes_smaller(make: Make) -> None:
    engine = make()
    messages = history_of(40, 2, seed=7)
    shortened = engine.compress(history(messages), answer)
    assert 0 < shortened.removed < len(messages)
    assert engine.estimate(shortened.messages) < engine.estimate(messages) / 2


def test_it_is_compressed_from_the_threshold_on_and_not_below(make: Make) -> None:
    engine = make()
    threshold = engine.threshold(WINDOW)
    assert 0 < threshold <= WINDOW
    assert engine.should_compress(size(threshold)) == "threshold"
    assert engine.should_compress(size(threshold // 2)) is None
    assert engine.pressure(size(threshold))
    assert not engine.pressure(size(threshold // 2))


def test_one_that_is_turned_off_compresses_only_when_asked_to(make: Make) -> None:
    engine = make(enabled=False)
    assert engine.should_compress(size(WINDOW)) is None
    assert not engine.pressure(size(WINDOW))
    assert engine.compress(history(history_of(40, 0, seed=7)), answer).removed > 0


def test_messages_can_be_set_aside_without_anybody_to_ask(make: Make) -> None:
    assert make().set_aside(history(history_of(40, 2, seed=7))).removed > 0


# --- one that fails ----------------------------------------------------------------------------


class Broken(sliding.SlidingWindow):
    """Fails in every way that the test asks for."""

    def __init__(self, result: CompressedHistory | None) -> None:
        super().__init__(setup())
        self._result = result

    def threshold(self, window: int, fixed: int = 0) -> int:
        raise RuntimeError("no threshold")

    def should_compress(self, size: ContextSize):
        return "because"

    def set_aside(self, history: History) -> CompressedHistory:
        if self._result is None:
            raise RuntimeError("sk-secret is broken")
        return self._result


def broken(result: CompressedHistory | None = None) -> IsolatedEngine:
    return held("broken", Broken(result), built_in())


def test_where_an_engine_fails_the_built_in_one_answers(caplog: pytest.LogCaptureFixture) -> None:
    engine = broken()
    assert engine.threshold(WINDOW) == built_in().threshold(WINDOW)
    assert engine.should_compress(size(WINDOW)) == "threshold"
    assert engine.set_aside(history(history_of(40, 2, seed=7))).removed > 0
    assert "the built-in one stands in: ValueError: 'because' is no reason to compress" in caplog.text
    assert "sk-secret" not in caplog.text


def test_a_compression_that_an_engine_stumbles_over_has_failed_and_says_so() -> None:
    with pytest.raises(ModelError, match=r"broken failed: RuntimeError: \*\*\* is broken") as failed:
        broken().compress(history(history_of(4, 2, seed=7)), answer)
    assert failed.value.kind == "engine_failed"


LONG = history_of(4, 1, seed=7)


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        (LONG[-2:], "without its call|without its result|newest message"),
        ((UserMessage("Something else"),), "newest message is gone"),
        ((*LONG, UserMessage("one"), UserMessage("two")), "one after the other|without"),
        (({"role": "user"},), "ValidationError"),
    ],
)
def test_a_history_that_cannot_be_sent_is_a_compression_that_failed(
    messages: tuple[Message, ...], why: str
) -> None:
    result = CompressedHistory(messages=messages, summary="", removed=3)
    with pytest.raises(ModelError, match=why):
        broken(result).compress(history(LONG), answer)


def test_a_failure_of_the_summariser_is_not_the_engines() -> None:
    class Asking(sliding.SlidingWindow):
        def compress(self, history: History, ask: AskSummariser) -> CompressedHistory:
            ask("", "", 1)
            raise AssertionError

    def overloaded(system_prompt: str, text: str, max_tokens: int) -> str:
        raise ModelError("overloaded", "Busy.", retryable=True)

    engine = held("asking", Asking(setup()), built_in())
    with pytest.raises(ModelError, match="Busy") as failed:
        engine.compress(history(LONG), overloaded)
    assert failed.value.kind == "overloaded"


def test_one_that_takes_for_ever_is_given_up_and_then_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    released, asked = threading.Event(), []

    class Hanging(sliding.SlidingWindow):
        def threshold(self, window: int, fixed: int = 0) -> int:
            asked.append(window)
            released.wait()
            return 1

        def compress(self, history: History, ask: AskSummariser) -> CompressedHistory:
            released.wait()
            ask("", "", 1)
            raise AssertionError

    hasty = TimeLimits(ask=0.01, begin=30.0, tool=30.0, compress=0.01)
    engine = held("hanging", Hanging(setup()), built_in(), hasty)
    with pytest.raises(ModelError, match="gave no answer"):
        engine.compress(history(LONG), nobody)
    for _ in range(FAILURES + 2):
        assert engine.threshold(WINDOW) == built_in().threshold(WINDOW)
    assert len(asked) == FAILURES - 1
    assert "context engine hanging is left alone" in caplog.text
    released.set()
