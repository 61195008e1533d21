"""Answers that are cut off, repeat themselves, or stand in the reasoning alone."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.kernel.turns.synthetic_messages import REASONING_ONLY
from tests.home import Home, endpoint
from tests.model_script import Answer
from tests.model_server import ModelServer


def test_a_model_that_repeats_itself_is_not_asked_to_continue(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: Answer(text="I am helpful. " * 40, finish_reason="length"))
    sent = Home(tmp_path, endpoint(model_server.base_url)).run("send", "--json", "Hello").json
    assert (sent["stopped_by"], sent["num_model_calls"]) == ("length", 1)


def test_a_cut_answer_that_grows_is_continued(tmp_path: Path, model_server: ModelServer) -> None:
    pieces = [" ".join(f"{part}: item {n} of {n * 7}." for n in range(20)) for part in ("one", "two")]
    model_server.follow(
        [Answer(text=pieces[0], finish_reason="length"), Answer(text=pieces[1], finish_reason="stop")]
    )
    sent = Home(tmp_path, endpoint(model_server.base_url)).run("send", "--json", "Hello").json
    assert (sent["result"], sent["stopped_by"]) == ("".join(pieces), None)


def test_an_answer_in_the_reasoning_alone_is_shown_and_marked(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: Answer(reasoning="The capital is Paris."))
    sent = Home(tmp_path, endpoint(model_server.base_url)).run("send", "--json", "Hello").json
    assert sent["status"] == "completed"
    assert sent["result"] == f"{REASONING_ONLY}\n\nThe capital is Paris."
    assert len(model_server.requests) == 3
