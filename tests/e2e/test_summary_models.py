"""A model for summaries or reviews that fails: the main one answers in its place, and that is told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.test_bookings import installed, submit, work
from tests.e2e.test_windows import CHECKPOINT, is_summary, kinds
from tests.home import Home, endpoint
from tests.model_script import Action, Answer, Raw, Refuse, Seen
from tests.model_server import ModelServer

SMALL = {
    "HERMES_JOBS_AUXILIARY__COMPRESSION__MODEL": "small",
    "HERMES_JOBS_AUXILIARY__REVIEW__MODEL": "small",
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "1",
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "16000",
}
FAILURES: dict[str, Action] = {
    "no such model": Refuse(status=404, message="The model `small` does not exist."),
    "a broken server": Refuse(status=500, message="Sorry."),
    "a refused key": Refuse(status=401, message="Incorrect API key provided."),
    "nonsense": Answer(text="I cannot help with that."),
    "no JSON": Raw(body="<html>Log in</html>", content_type="text/html"),
}


def failing(failure: Action, asked: list[str]) -> object:
    """The small model fails; the main one answers and summarises."""

    def choose(seen: Seen) -> Action:
        model = str(seen.body["model"])
        if is_summary(seen):
            asked.append(model)
        if model == "small":
            return failure
        return Answer(text=CHECKPOINT if is_summary(seen) else "word " * 300)

    return choose


@pytest.mark.slow  # a few seconds each
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_the_main_model_summarises_where_the_one_for_summaries_fails(
    tmp_path: Path, model_server: ModelServer, failure: Action
) -> None:
    asked: list[str] = []
    model_server.follow(failing(failure, asked))  # type: ignore[arg-type]
    with installed(tmp_path, model_server, **SMALL) as application:
        for number in range(7):
            submit(application, f"t{number}", f"text {number} " + "and so on " * 900)
        work(application)
        facts = facts_of(application.log)
    compressed = [fact for fact in facts if isinstance(fact, e.ContextCompressed)]
    assert len(compressed) > 1
    assert all(each.summary for each in compressed), "nothing is set aside while a model can summarise"
    assert [bool(each.failures) for each in compressed] == [True, *[False] * (len(compressed) - 1)]
    assert compressed[0].failures.startswith("small: ")
    assert set(asked[asked.index("scripted") :]) == {"scripted"}, "who has failed is not asked again at once"
    assert {fact.purpose for fact in kinds(facts, e.HelperPaused)} <= {"compression", "flush"}  # type: ignore[attr-defined]


@pytest.mark.slow  # seven processes
def test_a_failed_summary_model_is_named_once_also_in_a_pipe_and_by_doctor(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.follow(failing(FAILURES["no such model"], []))  # type: ignore[arg-type]
    home = Home(tmp_path, {**endpoint(model_server.base_url), **SMALL})
    said = "\n".join(
        home.run("send", *(["-c"] * bool(number)), f"text {number} " + "and so on " * 900).err
        for number in range(7)
    )
    assert said.count("another model summarised: small: 404: The model `small` does not exist.") == 1
    assert said.count("gave way to a summary") > 1
    assert "set aside" not in said
    assert "small rests until" in home.run("doctor").out


@pytest.mark.slow  # six processes
def test_a_full_window_without_a_summary_model_is_explained(
    tmp_path: Path, model_server: ModelServer
) -> None:
    def choose(seen: Seen) -> Action:
        return Refuse(status=404, message="No.") if is_summary(seen) else Answer(text="word " * 300)

    model_server.follow(choose)
    home = Home(tmp_path, {**endpoint(model_server.base_url), **SMALL})
    said = "\n".join(
        home.run("send", *(["-c"] * bool(number)), f"text {number} " + "and so on " * 900).err
        for number in range(6)
    )
    assert "were set aside without a summary" in said
    assert "gave way to a summary" not in said


def test_the_main_model_reviews_where_the_one_for_reviews_fails(
    tmp_path: Path, model_server: ModelServer
) -> None:
    asked: list[str] = []

    def choose(seen: Seen) -> Action:
        asked.append(str(seen.body["model"]))
        if seen.body["model"] == "small":
            return Refuse(status=404, message="The model `small` does not exist.")
        return Answer(text="Nothing to save.")

    model_server.follow(choose)
    with installed(tmp_path, model_server, **SMALL, HERMES_JOBS_MEMORY__NUDGE_INTERVAL="1") as application:
        for number in range(2):
            submit(application, f"t{number}", f"text {number}")
        work(application)
        facts = facts_of(application.log)
    assert len(kinds(facts, e.ReviewCompleted)) == 2
    assert asked.count("small") == 1
