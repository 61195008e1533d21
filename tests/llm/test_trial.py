"""What the trial of a model finds out, with a scripted server behind it."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.llm.cache_support import PromptCaching
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.llm.price import OwnPrices, Price
from hermes_jobs.llm.trial import Trial
from tests.model_script import Action, Answer, AskedCall, Drop, Refuse, Seen
from tests.model_server import ModelServer

CALL = AskedCall("write_note", {"text": "blue"})
PRICE = Price(1, 1)
MARKS = PromptCaching("marks", "5m")


class NoPrices:
    def cost_usd(self, model: str, usage: Usage) -> float | None:
        return None


def tried(
    server: ModelServer,
    *,
    caching: PromptCaching = MARKS,
    price: Price | None = PRICE,
    window: int = 128_000,
) -> tuple[Trial, dict[str, tuple[str, str]]]:
    """The trial, and each verdict by its name."""
    model = OpenAIModel(api_key=None, base_url=server.base_url)
    prices = OwnPrices({"m": price} if price else {}, NoPrices())
    trial = Trial(model, "m", prices=prices, caching=caching, window=window)
    try:
        return trial, {each.name: (each.status, each.message) for each in trial.verdicts()}
    finally:
        model.close()


def cached(tokens: int) -> dict[str, Any]:
    details = {"cached_tokens": tokens}
    return {
        "prompt_tokens": 5000,
        "completion_tokens": 5,
        "total_tokens": 5005,
        "prompt_tokens_details": details,
    }


def able(seen: Seen) -> Action:
    """A model that can do everything."""
    if not seen.body.get("tools"):
        return Answer(text="1 2 3 4 5 6 7 8", piece=4)
    if seen.rounds:
        return Answer(text="done", usage=cached(4000))
    return Answer(tool_calls=(CALL,), reasoning="Blue it is.", usage=cached(0))


def test_a_model_that_can_everything_has_every_verdict_and_a_cost(model_server: ModelServer) -> None:
    model_server.follow(able)

    trial, found = tried(model_server)

    assert [status for status, _ in found.values()] == ["ok"] * 7
    assert list(found) == ["call", "streaming", "tools", "reasoning", "caching", "usage", "price"]
    assert "4,000 of 5,000 tokens were read from the cache" in found["caching"][1]
    assert (trial.num_calls, len(model_server.requests)) == (3, 3)
    assert trial.cost_usd is not None
    assert trial.cost_usd > 0


def test_its_reasoning_is_sent_back(model_server: ModelServer) -> None:
    model_server.follow(able)
    _, found = tried(model_server)
    said = next(each for each in model_server.requests[-1].messages if each["role"] == "assistant")
    assert "Blue it is." in str(said)
    assert found["reasoning"][1] == "it was sent back with its tool call, and accepted"


@pytest.mark.parametrize(
    ("answers", "name", "status", "told"),
    [
        ([Refuse(status=401, message="Incorrect API key")], "call", "fail", "It did not answer (auth)"),
        ([Answer(text="1")], "tools", "warn", "it did not call the tool"),
        (
            [Answer(text="1"), Answer(tool_calls=(AskedCall("write_note", "{broken"),))],
            "tools",
            "warn",
            "it called write_note({broken)",
        ),
        (
            [Answer(text="1"), Refuse(status=400, message="the schema of a tool is wrong")],
            "tools",
            "fail",
            "A request that offers a tool is refused (bad_request)",
        ),
        (
            [Answer(text="1"), Answer(tool_calls=(CALL,)), Refuse(status=400, message="wrong history")],
            "reasoning",
            "fail",
            "What it said was refused when it was sent back (bad_request)",
        ),
        (
            [Answer(text="1"), Answer(tool_calls=(CALL,)), Answer(text="done")],
            "caching",
            "warn",
            "nothing was reported as read from the cache",
        ),
    ],
)
def test_each_failure_is_a_verdict_of_its_trial(
    model_server: ModelServer, answers: list[Action], name: str, status: str, told: str
) -> None:
    model_server.follow(answers)
    _, found = tried(model_server)
    assert found[name][0] == status
    assert told in found[name][1]


@pytest.mark.parametrize(
    ("before", "name"),
    [([Answer(text="1")], "tools"), ([Answer(text="1"), Answer(tool_calls=(CALL,))], "reasoning")],
)
def test_a_lost_connection_is_no_refusal_of_the_ability(
    model_server: ModelServer, before: list[Action], name: str
) -> None:
    model_server.follow([*before, *[Drop()] * 5])
    _, found = tried(model_server)
    assert found[name][0] == "warn"
    assert found[name][1].startswith("not tested: the connection failed (connection)")


def test_a_small_window_is_not_filled_to_try_the_cache(model_server: ModelServer) -> None:
    model_server.follow(able)
    tried(model_server, window=2048)
    assert max(len(str(seen.body)) for seen in model_server.requests) < 2000
    assert all(seen.body["max_tokens"] == 512 for seen in model_server.requests)


def test_unknown_caching_is_no_finding_and_an_unknown_price_is_named(
    model_server: ModelServer,
) -> None:
    model_server.follow([Answer(text="1 2 3"), Answer(tool_calls=(CALL,)), Answer(text="done")])
    trial, found = tried(model_server, caching=PromptCaching("none"), price=None)
    assert found["caching"] == ("ok", "nothing reported (not at this endpoint)")
    assert found["price"][0] == "warn"
    assert trial.cost_usd is None
