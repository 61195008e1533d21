"""What a turn does when its model calls fail, in the words of real providers over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.dialect import Dialect
from hermes_jobs.llm.retry import RETRYABLE
from tests.llm.test_errors import CASES, judged
from tests.llm.turns import OneSession
from tests.model_script import Action, Answer, Drop, Raw, Refuse, Seen
from tests.model_server import ModelServer
from tests.tables import sampled

Fact = TypeVar("Fact", bound=e.Event)
Start = Callable[..., OneSession]
BACKING_OFF = [1.5, 3.0, 6.0]  # 2, 4 and 8 seconds, of which the test's chance leaves three quarters


@pytest.fixture
def start(model_server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    model = OpenAIModel(api_key=None, base_url=model_server.base_url)
    started: list[OneSession] = []

    def begin(**limits: Any) -> OneSession:
        started.append(OneSession(tmp_path, model, name="some-model", **limits))
        return started[-1]

    yield begin
    for each in started:
        each.close()
    model.close()


def of(kind: type[Fact], facts: Sequence[e.Event]) -> list[Fact]:
    return [fact for fact in facts if isinstance(fact, kind)]


def refusing(case: dict[str, Any]) -> Action:
    body, status = case["body"], case["status"] or 200
    if isinstance(body, str):
        return Raw(body=body, status=status, content_type="text/plain")
    return Refuse(status=status, body=body)


def booked(facts: Sequence[e.Event]) -> Usage:
    (recorded,) = of(e.UsageRecorded, facts)
    return Usage(recorded.input_tokens, recorded.output_tokens, recorded.cache_read_tokens)


def usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion}


# What names a moment depends on the clock of this machine; `test_errors` has these.
HTTP_CASES = [case for case in CASES if (case["status"] or 0) >= 400 and "wait" not in case]


@pytest.mark.parametrize("case", sampled(HTTP_CASES, 5, in_ci=4), ids=[case["name"] for case in HTTP_CASES])
def test_each_refusal_ends_the_turn_after_its_own_number_of_requests_and_waits(
    start: Start, model_server: ModelServer, case: dict[str, Any]
) -> None:
    model_server.follow(lambda seen: refusing(case))
    session = start(max_tokens=1_000_000)
    facts = session.send()
    failures = of(e.ModelCallFailed, facts)
    (failed,) = of(e.TurnFailed, facts)
    # A body that is too large for the endpoint is a prompt that is too long.
    kind = "context_overflow" if case["kind"] == "payload_too_large" else case["kind"]
    assert {failure.kind for failure in failures} == {failed.kind} == {kind}
    assert failed.hint
    if case["kind"] in RETRYABLE and not failed.hint.startswith("The quota resets"):
        assert len(failures) == 4
        asked_wait = judged(case["status"], case["body"]).retry_after
        assert session.waits == (BACKING_OFF if asked_wait is None else [round(asked_wait + 0.5, 3)] * 3)
    elif case["kind"] == "output_limit":
        asked = [seen.body["max_tokens"] for seen in model_server.requests]
        assert asked == sorted(set(asked), reverse=True)
        assert asked[:2] == [1_000_000, case.get("limit", 500_000)]
        assert session.waits == []
    else:
        assert len(failures) == 1
        assert session.waits == []
    if adapt(Dialect(), case["status"], json.dumps(case["body"])) is None:
        times = 2 if "generation" in case["name"] else 1  # once more, with the refusal
        assert len(model_server.requests) == times * len(failures)
    assert booked(facts) == NO_USAGE
    assert of(e.UsageRecorded, facts)[0].num_model_calls == len(failures)


@pytest.mark.parametrize("kind", sorted(RETRYABLE - {"connection", "garbage", "unknown"}))
def test_a_call_that_succeeds_after_refusals_is_booked_as_the_server_counted(
    start: Start, model_server: ModelServer, kind: str
) -> None:
    case = next(case for case in HTTP_CASES if case["kind"] == kind)
    model_server.follow([refusing(case), Answer(text="Yes.", usage=usage(100, 5))])
    facts = start().send()
    assert of(e.TurnCompleted, facts)[0].answer == "Yes."
    assert booked(facts) == Usage(100, 5)
    assert of(e.UsageRecorded, facts)[0].num_model_calls == 2


@pytest.mark.parametrize(
    ("headers", "wait"), [({"retry-after": "7"}, 7.5), ({"retry-after-ms": "1500"}, 2.0)]
)
def test_the_wait_that_a_provider_asks_for_is_kept(
    start: Start, model_server: ModelServer, headers: dict[str, str], wait: float
) -> None:
    model_server.follow([Refuse(status=429, message="Slow down.", headers=headers)])
    session = start()
    assert of(e.TurnCompleted, session.send())
    assert session.waits == [wait]


def test_a_wait_of_hours_is_given_up_at_once(start: Start, model_server: ModelServer) -> None:
    model_server.follow([Refuse(status=429, message="Slow down.", headers={"retry-after": "7200"})])
    session = start()
    (failed,) = of(e.TurnFailed, session.send())
    assert "The quota resets in 2 h" in failed.hint
    assert "model.wait_for_quota" in failed.hint
    assert (len(model_server.requests), session.waits) == (1, [])


def test_a_connection_that_breaks_is_tried_again(start: Start, model_server: ModelServer) -> None:
    model_server.follow(
        [Drop(), Drop(text="Half an ans"), Raw(body=""), Answer(text="Yes.", usage=usage(9, 1))]
    )
    session = start()
    facts = session.send()
    assert [failure.kind for failure in of(e.ModelCallFailed, facts)] == ["connection", "garbage", "garbage"]
    assert session.waits == BACKING_OFF
    assert booked(facts) == Usage(9, 1)


def test_usage_billed_before_a_failed_stream_is_booked(start: Start, model_server: ModelServer) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hal"}}], "usage": usage(50, 2)}
    error = {"error": {"code": 502, "message": "Provider disconnected"}}
    broken = "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, error))
    model_server.follow([Raw(body=broken), Answer(text="Yes.", usage=usage(60, 5))])
    facts = start().send()
    assert of(e.ModelCallFailed, facts)[0].usage == Usage(50, 2)
    assert booked(facts) == Usage(110, 7)


def test_continuations_and_empty_answers_are_booked(start: Start, model_server: ModelServer) -> None:
    model_server.follow(
        [
            Answer(text="One ", finish_reason="length", usage=usage(10, 1)),
            Answer(text="two.", usage=usage(20, 2)),
            Answer(text="", usage=usage(40, 3)),
            Answer(text="Three.", usage=usage(80, 4)),
        ]
    )
    session = start()
    first, second = session.send(), session.send()
    assert of(e.TurnCompleted, first)[0].answer == "One two."
    assert (booked(first), booked(second)) == (Usage(30, 3), Usage(120, 7))


def test_a_prompt_that_is_too_long_fails_with_advice_and_the_next_turn_can_be_sent(
    start: Start, model_server: ModelServer
) -> None:
    case = next(case for case in CASES if case["name"] == "llama.cpp context")
    model_server.follow([refusing(case)])
    session = start()
    (failed,) = of(e.TurnFailed, session.send("x" * 5000))
    assert failed.kind == "context_overflow"
    assert "new session" in failed.hint
    assert of(e.TurnCompleted, session.send("Shorter."))


def within(room: int | None, said: str) -> Callable[[Seen], Action]:
    """Refuses in these words whoever asks for more than there is room for; null: whoever names a limit."""

    def choose(seen: Seen) -> Action:
        asked = seen.body.get("max_tokens")
        if asked is None or (room is not None and asked <= room):
            return Answer(text="Yes.", usage=usage(10, 1))
        return Refuse(status=400, message=said)

    return choose


VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested 8000 output tokens and your "
    "prompt contains at least 3500 input tokens, for a total of at least 11500 tokens."
)


@pytest.mark.parametrize(
    ("said", "room", "asked"),
    [
        (VLLM, 596, [8000, 596]),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4000]", 4000, [8000, 4000]),
        ("max_tokens is too large: it is more than the model allows", 2500, [8000, 4000, 2000]),
    ],
)
def test_an_answer_limit_that_is_too_large_is_lowered_for_this_call_alone(
    start: Start, model_server: ModelServer, said: str, room: int, asked: list[int]
) -> None:
    model_server.follow(within(room, said))
    session = start(max_tokens=8000)
    facts = session.send()
    assert of(e.TurnCompleted, facts)
    assert [seen.body["max_tokens"] for seen in model_server.requests] == asked
    assert [failure.max_tokens for failure in of(e.ModelCallFailed, facts)] == asked[1:]
    assert session.waits == []
    assert booked(facts) == Usage(10, 1)
    session.send()
    assert [seen.body["max_tokens"] for seen in model_server.requests] == asked * 2


def test_an_answer_limit_that_cannot_be_lowered_further_fails_with_advice(
    start: Start, model_server: ModelServer
) -> None:
    model_server.follow(within(None, "max_tokens is too large"))
    session = start(max_tokens=300)
    (failed,) = of(e.TurnFailed, session.send())
    assert (failed.kind, len(model_server.requests)) == ("output_limit", 1)
    assert "model.max_tokens" in failed.hint
