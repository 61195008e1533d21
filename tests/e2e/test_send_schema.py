"""`send --schema`: an answer that fits the schema, or an error with an exit code of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.home import Home
from tests.model_script import Answer, AskedCall, Refuse
from tests.model_server import ModelServer

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ADA = '{"name": "Ada", "age": 36}'
UNFIT = 6


@pytest.fixture
def schema(home: Home) -> str:
    path = home.work / "person.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def test_the_answer_is_the_document_and_nothing_else(
    home: Home, model_server: ModelServer, schema: str
) -> None:
    model_server.follow([Answer(text=f"```json\n{ADA}\n```")])
    ran = home.run("send", "-q", "--schema", schema, "Who is this?")
    assert (ran.code, ran.out, ran.err) == (0, f"{ADA}\n", "")


def test_a_correction_is_requested_and_only_a_fitting_answer_is_printed(
    home: Home, model_server: ModelServer, schema: str
) -> None:
    model_server.follow([Answer(text="She is Ada, 36."), Answer(text=ADA)])
    ran = home.run("send", "--stream", "--schema", schema, "Who is this?")
    assert (ran.code, ran.out) == (0, f"{ADA}\n")
    assert "it is not JSON" in model_server.requests[1].last_user_text
    turn = home.run("turns", "list", "--json").json[0]["turn"]
    first, second = home.turn(turn)["steps"]
    assert "does not fit the schema: it is not JSON" in first["message"]
    assert second["message"] == ""
    assert "does not fit the schema" in home.run("turns", "show", turn).out
    assert home.run("turns", "follow", "--stream", turn).out == f"{ADA}\n"


def test_as_json_it_is_a_value_too(home: Home, model_server: ModelServer, schema: str) -> None:
    model_server.follow([Answer(text=ADA)])
    sent = home.run("send", "--json", "--schema", schema, "Who is this?").json
    assert (sent["result"], sent["structured"], sent["is_error"]) == (ADA, json.loads(ADA), False)
    assert home.turn(sent["turn"])["structured"] == json.loads(ADA)
    assert "structured" not in home.run("send", "--json", "Hello").json
    listed = home.run("turns", "list", "--json").json
    assert [each.get("structured") for each in listed] == [None, json.loads(ADA)]


@pytest.mark.parametrize("form", ["--json", "--jsonl", "-q"])
def test_one_that_never_fits_is_an_error_with_an_exit_code_of_its_own(
    home: Home, model_server: ModelServer, schema: str, form: str
) -> None:
    model_server.follow([Answer(text="Ada."), Answer(text='{"name": "Ada"}')])
    ran = home.run("send", form, "--schema", schema, "Who is this?")
    assert ran.code == UNFIT
    turn = home.run("turns", "list", "--json").json[0]
    assert (turn["status"], turn["stopped_by"], turn["is_error"]) == ("failed", "schema", True)
    assert turn["error"]["kind"] == "schema"
    assert "'age' is a required property" in turn["error"]["message"]
    assert turn["result"] is None
    if form == "-q":
        assert ran.out == ""
        assert f"hermes-jobs turns continue {turn['turn']}" in ran.err
    assert home.run("turns", "wait", turn["turn"]).code == UNFIT
    assert [each["turn"] for each in home.run("turns", "list", "--status", "stopped", "--json").json] == [
        turn["turn"]
    ]


def test_a_pattern_that_would_take_for_ever_is_a_fault_of_the_answer(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "endless.json").write_text(json.dumps({"type": "string", "pattern": "^(a+)+$"}))
    model_server.follow([Answer(text=json.dumps("a" * 200 + "!")), Answer(text='"aa"')])
    ran = home.run("send", "-q", "--schema", "endless.json", "Say a.")
    assert (ran.code, ran.out) == (0, '"aa"\n'), ran
    assert "the schema's patterns take more than 5 seconds" in model_server.requests[1].last_user_text


def test_it_is_continued_with_the_same_schema(home: Home, model_server: ModelServer, schema: str) -> None:
    model_server.follow([Answer(text="Ada."), Answer(text="Ada!"), Answer(text=ADA)])
    turn = home.run("send", "--json", "--schema", schema, "Who is this?").json["turn"]
    continued = home.run("turns", "continue", turn)
    assert (continued.code, continued.out) == (0, f"{ADA}\n")
    assert home.run("events", "verify").code == 0


def test_an_endpoint_that_refuses_the_parameter_is_asked_without_it(
    home: Home, model_server: ModelServer, schema: str
) -> None:
    refusal = Refuse(status=400, message="This response_format type is unavailable now")
    model_server.follow([Answer(text="Ada."), refusal, Answer(text=ADA)])
    ran = home.run("send", "--schema", schema, "Who is this?")
    assert (ran.code, ran.out) == (0, f"{ADA}\n")
    assert ["response_format" in seen.body for seen in model_server.requests] == [False, True, False]


def test_an_endpoint_is_asked_for_it_in_the_correction(
    home: Home, model_server: ModelServer, schema: str
) -> None:
    """With tools many servers would let the model call none."""
    look = Answer(tool_calls=(AskedCall("todo", {}),))
    model_server.follow([look, Answer(text="Ada."), Answer(text=ADA)])
    ran = home.run("send", "--schema", schema, "Who is this?")
    assert (ran.code, ran.out) == (0, f"{ADA}\n")
    first, second, correction = (seen.body for seen in model_server.requests)
    assert ["tools" in body for body in (first, second, correction)] == [True, True, False]
    assert "response_format" not in {*first, *second}
    assert correction["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        ("{", "not JSON"),
        ('{"type": "objekt"}', "'objekt'"),
        ('{"$ref": "https://schemas.example/x"}', "leads nowhere"),
    ],
)
def test_a_schema_that_cannot_be_used_is_a_usage_error_before_anything_begins(
    home: Home, model_server: ModelServer, content: str | None, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "schema.json"
    if content is not None:
        path.write_text(content)
    ran = home.run("send", "--schema", str(path), "Who is this?")
    assert ran.code == 2
    assert told in ran.err
    assert "--schema" in ran.err
    assert model_server.requests == []
    assert not (home.path / "events.db").exists()


def test_the_schema_is_forgotten_with_its_session(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "object", "title": "Ada Lovelace"}')
    model_server.follow([Answer(text="{}")])
    session = home.run("send", "--json", "--schema", str(path), "Who is this?").json["session"]
    assert "Ada Lovelace" in home.run("events", "--json").out
    assert home.run("sessions", "delete", session, "--yes").code == 0
    assert "Ada Lovelace" not in home.run("events", "--json").out
    assert home.run("events", "verify").code == 0
