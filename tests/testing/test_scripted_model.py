"""`hermes_jobs.testing` as a user's tests use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.client import Home, TextPart
from hermes_jobs.testing import Answer, Refuse, Reply, Request, ToolCall, scripted_model


def test_answers_are_given_in_order_and_requests_are_kept(tmp_path: Path) -> None:
    call = ToolCall("terminal", {"command": "echo three"})
    answers: list[Reply] = ["One.", Answer(tool_calls=(call,)), Answer(text="Two.")]
    with scripted_model(answers) as model, Home(tmp_path / "home", environ=model.environ) as home:
        first = home.send("First", workdir=tmp_path)
        second = home.send("Second", session=first.session)
    assert (first.result, second.result, second.num_tool_calls) == ("One.", "Two.", 1)
    assert [request.last_user_text for request in model.requests] == ["First", "Second", "Second"]
    assert [request.rounds for request in model.requests] == [0, 0, 1]
    assert "three" in model.requests[2].messages[-1]["content"]


def test_a_function_answers_by_the_request(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if "fail" in request.last_user_text:
            return Refuse(status=401, message="No such key")
        return f"I read {request.last_user_text!r}."

    with scripted_model(answer) as model, Home(tmp_path, environ=model.environ) as home:
        parts = [part.text for part in home.stream("a page") if isinstance(part, TextPart)]
        failed = home.send("fail")
    assert "".join(parts) == "I read 'a page'."
    assert failed.error is not None
    assert failed.error.kind == "auth"


def test_a_request_beyond_the_script_fails_and_says_so(tmp_path: Path) -> None:
    with scripted_model([]) as model, Home(tmp_path, environ=model.environ) as home:
        turn = home.send("Hello")
    assert turn.error is not None
    assert "no answer to request 1" in turn.error.message


def test_the_environment_names_only_this_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_JOBS_MODEL", "another")
    with scripted_model(["One."]) as model:
        environ = model.environ
        assert (environ["HERMES_JOBS_MODEL"], environ["OPENAI_BASE_URL"]) == ("scripted", model.url)
