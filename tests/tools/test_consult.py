"""The `consult` tool: whom it asks, what it answers, what is booked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hermes_jobs.features.ensembles.tools import ANSWER_TOKENS, Consult, SharedPrice
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Cancel, ModelError, ModelRequest, Reply, ToolContext
from hermes_jobs.kernel.events import ResponseBooked
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.tool import ToolFailed

CALLER = ToolContext(session="s1", turn="t1", call="t1-1-0", workdir="/", attended=True)


class Panel:
    """A model by name: `broken` fails, `mute` says nothing, others say their name."""

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        if request.model == "broken":
            raise ModelError("server", "it broke", usage=Usage(5, 0))
        said = "" if request.model == "mute" else f"{request.model} says so"
        return Reply(content=said, usage=Usage(10, 2), model=request.model)

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        return None if model == "free-of-price" else usage.total_tokens / 1000


def consult(**ensembles: tuple[str, ...]) -> Consult:
    panel = Panel()
    return Consult(ensembles=ensembles, others=("judge",), model=panel, pricing=panel)


def test_the_first_ensembles_members_are_asked_unless_others_are_named() -> None:
    family = consult(panel=("a", "b", "a"), other=("c",))
    assert family.members(()) == ("a", "b", "a")
    assert family.members(("other", "judge", "b")) == ("c", "judge", "b")


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ToolFailed, match=r"no model `pannel` to ask; did you mean `panel`\? These can be asked: "
    ):
        consult(panel=("a",)).members(("pannel",))


def test_more_models_than_fit_are_refused() -> None:
    with pytest.raises(ToolFailed, match="9 models are too many: at most 8"):
        consult(panel=("a", "b", "c")).members(("panel", "panel", "panel"))


def test_each_answer_is_under_its_model_and_each_response_is_booked() -> None:
    outcome = consult(panel=("a", "broken", "mute")).consult(CALLER, CancelToken(), question="Why?")
    assert outcome.ok
    assert outcome.content.split("\n\n") == [
        "[a]\na says so",
        "[broken gave no answer: it broke]",
        "[mute gave no answer: the model gave an empty answer]",
    ]
    booked = [fact for fact in outcome.events if isinstance(fact, ResponseBooked)]
    assert [(each.model, each.purpose, each.turn, each.step) for each in booked] == [
        ("a", "reference", "t1", "t1-1-0"),
        ("broken", "reference", "t1", "t1-1-0"),
        ("mute", "reference", "t1", "t1-1-0"),
    ]


def test_without_any_answer_the_call_fails() -> None:
    assert not consult(panel=("broken",)).consult(CALLER, CancelToken(), question="Why?").ok


def test_a_cancelled_consultation_is_interrupted() -> None:
    cancel = CancelToken()
    cancel.fire("cancelled")
    assert consult(panel=("a",)).consult(CALLER, cancel, question="Why?").interrupted


def test_the_models_and_cost_of_a_call_are_known_before_it_runs() -> None:
    family = consult(panel=("a", "b"))
    names, sent, said = family.asking(ToolCall("c", "consult", '{"question": "Why?"}')) or ((), 0, 0)
    assert (names, said) == (("a", "b"), ANSWER_TOKENS)
    assert sent > 50
    assert family.asking(ToolCall("c", "consult", '{"question": "Why?", "models": ["x"]}')) is None
    assert family.asking(ToolCall("c", "terminal", "{}")) is None
    price = SharedPrice(names, Panel())
    assert price.cost_usd("", Usage(200, 20)) == pytest.approx(0.22)
    assert SharedPrice(("a", "free-of-price"), Panel()).cost_usd("", Usage(200, 20)) is None
