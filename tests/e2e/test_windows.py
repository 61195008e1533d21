"""Windows as they are learned, forgotten and guessed, against a server that refuses."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.test_bookings import installed, submit, work
from tests.home import Home, endpoint
from tests.model_script import Action, Answer, Refuse, Seen
from tests.model_server import ModelServer

CHECKPOINT = "## Active Task\nNone\n"
NAMES_A_LIMIT = Refuse(status=400, message="The prompt exceeds the max_model_len 16000.")


def is_summary(seen: Seen) -> bool:
    return "checkpoint of a conversation" in str(seen.body["messages"][0]["content"])


def answer(seen: Seen) -> Action:
    return Answer(text=CHECKPOINT if is_summary(seen) else "word " * 300)


def kinds(facts: list[e.Event], kind: type[e.Event]) -> list[e.Event]:
    return [fact for fact in facts if isinstance(fact, kind)]


def talk(folder: Path, server: ModelServer, refuse: Refuse, *, at: int, once: bool = True) -> list[e.Event]:
    """Eight turns, of which the request of number `at` is refused; what happened in the last."""
    refused: list[int] = []

    def choose(seen: Seen) -> Action:
        if not is_summary(seen) and len(server.requests) > at and not (once and refused):
            refused.append(seen.number)
            return refuse
        return answer(seen)

    server.follow(choose)
    with installed(folder, server, HERMES_JOBS_COMPRESSION__PROTECT_LAST_N="1") as application:
        for number in range(at + 1):
            submit(application, f"t{number}", f"text {number} " + "and so on " * 600)
        work(application)
        return [fact for fact in facts_of(application.log) if getattr(fact, "turn", "") in {f"t{at}", None}]


def test_a_refusal_of_unknown_words_is_answered_with_one_compression(
    tmp_path: Path, model_server: ModelServer
) -> None:
    facts = talk(tmp_path, model_server, Refuse(status=400, message="Nope."), at=7)
    (asked,) = kinds(facts, e.CompressionRequested)
    assert isinstance(asked, e.CompressionRequested)
    assert (asked.reason, asked.refusal) == ("refused", "400: Nope.")
    assert kinds(facts, e.TurnCompleted)


def test_if_that_does_not_help_the_turn_fails_with_the_endpoints_message(
    tmp_path: Path, model_server: ModelServer
) -> None:
    facts = talk(tmp_path, model_server, Refuse(status=400, message="Nope."), at=7, once=False)
    assert len(kinds(facts, e.CompressionRequested)) == 1
    (failed,) = kinds(facts, e.TurnFailed)
    assert isinstance(failed, e.TurnFailed)
    assert (failed.kind, failed.message) == ("bad_request", "400: Nope.")


def test_a_refusal_that_says_something_else_is_answered_with_none(
    tmp_path: Path, model_server: ModelServer
) -> None:
    refuse = Refuse(status=400, message="Invalid schema for function 'x'.")
    facts = talk(tmp_path, model_server, refuse, at=7)
    assert not kinds(facts, e.CompressionRequested)
    assert kinds(facts, e.TurnFailed)


def test_doctor_shows_a_learned_window_and_it_can_be_forgotten(
    tmp_path: Path, model_server: ModelServer
) -> None:
    talk(tmp_path, model_server, NAMES_A_LIMIT, at=7)
    home = Home(tmp_path, endpoint(model_server.base_url))
    assert "of 16,000 tokens (named by the provider (" in home.run("doctor").out
    told = home.run("models", "forget-limits", "another")
    assert "No limit was learned of the model another. There are limits of: scripted." in told.err
    told = home.run("models", "forget-limits")
    assert "Forgotten: scripted at" in told.err
    assert "of 128,000 tokens (assumed" in home.run("doctor").out
    assert home.run("models", "forget-limits", "--json").json == {"forgotten": []}


def test_what_an_endpoint_refuses_is_shown_by_doctor_and_can_be_forgotten(
    tmp_path: Path, model_server: ModelServer
) -> None:
    # https://github.com/dnakov/anon-kode/issues/53: what Mistral says
    detail = [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not …"}]
    refusal = Refuse(status=422, body={"object": "error", "message": {"detail": detail}})
    model_server.follow(lambda seen: refusal if "stream_options" in seen.body else Answer(text="Yes."))
    home = Home(tmp_path, endpoint(model_server.base_url))
    for _ in range(2):
        assert home.run("send", "-q", "Hello").out == "Yes.\n"
    assert ["stream_options" in seen.body for seen in model_server.requests] == [True, False, False]
    (check,) = [each for each in home.run("doctor", "--json").json["checks"] if each["check"] == "refused"]
    assert "scripted is called without stream_options: refused on" in check["message"]
    assert "extra_forbidden" in check["hint"]
    (forgotten,) = home.run("models", "forget-limits", "--json").json["forgotten"]
    assert (forgotten["window"], forgotten["refused"]) == (None, ["stream_options"])
    home.run("send", "-q", "Hello")
    assert [seen for seen in model_server.requests[3:] if "stream_options" in seen.body]


def test_a_window_that_is_set_is_the_one_that_counts(tmp_path: Path, model_server: ModelServer) -> None:
    talk(tmp_path, model_server, NAMES_A_LIMIT, at=7)
    home = Home(tmp_path, endpoint(model_server.base_url))
    home.run("config", "set", "model.context_length", "64000")
    assert "of 64,000 tokens (model.context_length)" in home.run("doctor").out
