"""Reviews through the command line: one that failed is taken up again, and beside no other of its session."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.home import Home
from tests.model_script import Answer, Refuse, Rule, Script
from tests.model_server import ModelServer

SAVED_NOTHING = Rule("This is a review of the conversation", (Answer(text="Nothing to save."),))
FAILING = Script(
    sequence=(Answer(text="Hello."), Refuse(status=400, message="no")),
    rules=(SAVED_NOTHING,),
    default=Answer(text="Hello again."),
)
EACH_TURN = {"HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1"}


@pytest.fixture
def failed(home: Home, model_server: ModelServer) -> str:
    """A review that has failed."""
    model_server.follow(FAILING)
    home.environ.update(EACH_TURN)
    home.send("One")
    (review,) = home.run("reviews", "list", "--json").json
    assert review["status"] == "failed"
    review_id: str = review["review"]
    return review_id


def test_a_retried_review_is_running_and_can_be_cancelled(home: Home, failed: str) -> None:
    again = home.run("reviews", "retry", failed, "--json").json
    twice = home.run("reviews", "retry", failed)
    cancelled = home.run("reviews", "cancel", failed, "--json").json

    assert (again["status"], again["message"], again["ended_at"]) == ("running", "", None)
    assert twice.code == 1
    assert cancelled["status"] == "cancelled"


def test_two_reviews_of_a_conversation_never_run_at_once_also_after_a_retry(home: Home, failed: str) -> None:
    home.run("reviews", "retry", failed)
    home.send("-c", "Two")
    with home.open_log() as log:
        facts = [fact for fact in facts_of(log) if isinstance(fact, (e.ReviewStarted, e.ReviewCompleted))]
    reviews = home.run("reviews", "list", "--json").json

    assert [type(fact).__name__ for fact in facts[1:]] == ["ReviewStarted", "ReviewCompleted"] * 2
    assert {review["status"] for review in reviews} == {"completed"}


def test_a_review_is_not_retried_beside_another_one(home: Home, model_server: ModelServer) -> None:
    refused = Refuse(status=400, message="no")
    model_server.follow(Script(sequence=(Answer(text="One."), refused, Answer(text="Two."), refused)))
    home.environ.update(EACH_TURN)
    home.send("One")
    home.send("-c", "Two")
    later, earlier = (review["review"] for review in home.run("reviews", "list", "--json").json)
    home.run("reviews", "retry", later)
    beside = home.run("reviews", "retry", earlier)

    assert beside.code == 1
    assert f"Review {later} of the same conversation is under way." in beside.err
