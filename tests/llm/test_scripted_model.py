from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hermes_jobs.kernel.engine.ports import ModelError, Reply
from hermes_jobs.llm.scripted_model import HeldCall, ScriptedModel
from tests.llm.asking import ask, request


def test_a_sequence_is_said_in_order_and_requests_are_kept() -> None:
    model = ScriptedModel([Reply(content="One."), ModelError("server", "Broken."), Reply(content="Two.")])
    assert ask(model, "a").content == "One."
    with pytest.raises(ModelError, match="Broken"):
        ask(model, "b")
    assert ask(model, "c").content == "Two."
    assert model.requests == [request("a"), request("b"), request("c")]


def test_a_sequence_that_is_at_its_end_says_so() -> None:
    with pytest.raises(LookupError, match="ended before request 1"):
        ask(ScriptedModel([]))


def test_held_replies_wait_for_their_release() -> None:
    model = ScriptedModel([HeldCall(Reply(content="One.")), HeldCall(Reply(content="Two."))])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, model)
        model.wait_for_requests(1)
        assert not waiting.done()
        model.release()
        assert waiting.result().content == "One."
    assert ask(model).content == "Two."
