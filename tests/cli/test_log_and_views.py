"""`events`, `views` and `config`: what lies below, as people and scripts see it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from hermes_jobs.kernel.events import TurnSubmitted
from tests.written_home import WrittenHome


@pytest.fixture
def answered(home: WrittenHome) -> WrittenHome:
    home.answered("aa", "t1")
    home.answered("bb", "t2")
    return home


def test_events_are_objects_a_line_with_growing_positions(answered: WrittenHome) -> None:
    lines = [json.loads(line) for line in answered.run("events", "--json").out.splitlines()]
    assert [line["position"] for line in lines] == list(range(1, len(lines) + 1))
    assert list(lines[0]) == ["position", "stream", "version", "type", "data", "meta", "recorded_at"]
    assert (lines[0]["type"], lines[0]["data"]["turn"]) == ("TurnSubmitted", "t1")
    assert list(lines[0]["data"]) == list(TurnSubmitted.__struct_fields__)  # with those that have defaults
    assert (lines[0]["meta"]["worker"], lines[0]["meta"]["schema"]) == ("w1", 1)
    versions = [line["version"] for line in lines if line["stream"] == "session-bb"]
    assert versions == list(range(1, len(versions) + 1))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["-n", "2"], [11, 12]),
        (["--after", "3", "-n", "2"], [4, 5]),
        (["--after", "10"], [11, 12]),
        (["--stream", "session-aa", "-n", "2"], [5, 6]),
        (["--stream", "session-bb", "--after", "7", "-n", "1"], [8]),
        (["-n", "99", "--stream", "session-aa"], [1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_part_of_the_events_can_be_asked_for(
    flags: list[str], expected: list[int], answered: WrittenHome
) -> None:
    lines = answered.run("events", "--json", *flags).out.splitlines()
    assert [json.loads(line)["position"] for line in lines] == expected


def test_a_log_without_events_says_so(home: WrittenHome) -> None:
    shown = home.run("events")
    assert (shown.code, shown.out, shown.err) == (0, "", "No events.\n")


def test_an_unknown_stream_is_a_usage_error(answered: WrittenHome) -> None:
    refused = answered.run("events", "--stream", "session-ab")
    assert (refused.code, refused.out) == (2, "")
    assert "session-aa" in refused.err


def test_an_intact_log_verifies(answered: WrittenHome) -> None:
    verified = answered.run("events", "verify", "--json")
    assert verified.code == 0
    assert verified.json["findings"] == []


def test_a_changed_event_is_found_and_is_exit_code_5(answered: WrittenHome) -> None:
    answered.close()
    connection = sqlite3.connect(answered.path / "events.db")
    connection.execute("UPDATE events SET data = replace(data, 'done', 'gone') WHERE position = 4")
    connection.commit()
    connection.close()
    verified = answered.run("events", "verify")
    assert verified.code == 5
    assert "session-aa: Version 4 was changed" in verified.out
    assert "Traceback" not in verified.err


def test_views_say_how_far_they_are_and_are_rebuilt(answered: WrittenHome) -> None:
    assert answered.run("views", "status", "--json").json["generations"] == []
    answered.run("turns", "list")
    answered.submit("aa", "t3")
    (generation,) = answered.run("views", "status", "--json").json["generations"]
    assert (generation["position"], generation["behind"], generation["rows"]["turns"]) == (12, 1, 2)
    rebuilt = answered.run("views", "rebuild")
    assert (rebuilt.code, rebuilt.out, rebuilt.err) == (0, "", "Rebuilt from 13 events.\n")
    assert "generation-2.db" in answered.run("views", "status").out


def test_a_rebuild_says_where_it_stops_before_an_event_that_is_too_new(answered: WrittenHome) -> None:
    answered.close()
    connection = sqlite3.connect(answered.path / "events.db")
    connection.execute("UPDATE events SET type = 'Novelty' WHERE position = 5")
    connection.commit()
    connection.close()
    rebuilt = answered.run("views", "rebuild")
    assert rebuilt.code == 0
    assert "Rebuilt from 4 events." in rebuilt.err
    assert "They stop before the log's end: " in rebuilt.err
    assert "Novelty" in rebuilt.err


def test_a_log_that_cannot_be_opened_is_exit_code_5(home: WrittenHome) -> None:
    home.close()
    (home.path / "events.db").write_bytes(b"this is no database, whatever its name may say " * 50)
    failed = home.run("turns", "list")
    assert (failed.code, failed.out) == (5, "")
    assert failed.err.startswith("Error: ")
    assert "Traceback" not in failed.err


def test_the_configuration_is_shown_with_its_origin_and_without_secrets(home: WrittenHome) -> None:
    environ = {"HERMES_JOBS_MODEL": "gpt-9", "OPENAI_API_KEY": "sk-very-secret-thing"}
    shown = home.run("config", "show", "--origin", "--json", **environ)
    assert shown.json["model.model"] == {"value": "gpt-9", "origin": "environment HERMES_JOBS_MODEL"}
    assert "very-secret" not in shown.out + shown.err
    assert home.run("config", "show", "--json").json["agent.max_iterations"] == 90
    assert "environment HERMES_JOBS_MODEL" in home.run("config", "show", "--origin", **environ).out


def test_a_key_is_written_and_read_back(home: WrittenHome) -> None:
    assert home.run("config", "path").out == f"{home.path}/config.yaml\n"
    done = home.run("config", "set", "compression.threshold", "0.4")
    assert (done.code, done.out) == (0, "")
    assert home.run("config", "show", "--json").json["compression.threshold"] == 0.4
    refused = home.run("config", "set", "compression.treshold", "0.4")
    assert refused.code == 2
    assert "compression.threshold" in refused.err


def test_a_wrong_setting_stops_every_command_before_anything_is_recorded(home: WrittenHome) -> None:
    refused = home.run("turns", "list", HERMES_JOBS_AGENT__MAX_ITERATIONS="many")
    assert (refused.code, refused.out) == (2, "")
    assert "agent.max_iterations" in refused.err
