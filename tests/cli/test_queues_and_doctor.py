"""`queues` and `doctor`: what waits, who works, and what to do about what is missing."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.runtime.queues import ALL_QUEUES
from tests.eventlog.test_opaque import STREAM, fill
from tests.home import KEY, Home, endpoint, is_confined
from tests.model_script import Refuse
from tests.model_server import ModelServer
from tests.services import postgres_schema


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, {})


def test_an_unclaimed_turn_waits_in_its_queue_and_ages(home: Home) -> None:
    home.run("send", "--no-wait", "hello")
    home.run("send", "--no-wait", "and hello")

    first, second = (home.run("queues", "--json").json for _ in range(2))

    assert [queue["name"] for queue in first["queues"]] == list(ALL_QUEUES)
    turns, *others = first["queues"]
    assert (turns["waiting"], turns["running"], turns["later"]) == (2, 0, 0)
    assert 0 <= turns["oldest_seconds"] <= second["queues"][0]["oldest_seconds"]
    assert {(queue["waiting"], queue["oldest_seconds"]) for queue in others} == {(0, None)}
    assert first["workers"] == []


def test_without_workers_the_table_says_what_to_do(home: Home) -> None:
    shown = home.run("queues")

    assert shown.out.split()[:5] == ["QUEUE", "WAITING", "OLDEST", "RUNNING", "LATER"]
    assert "hermes-jobs up" in shown.err


def test_a_fresh_home_has_no_failures_and_some_suggestions(home: Home) -> None:
    seen = home.run("doctor", "--json")
    checks = {check["check"]: check for check in seen.json["checks"]}

    assert seen.code == 0
    assert seen.json["ok"]
    warned = {name for name, check in checks.items() if check["status"] == "warn"}
    assert warned == {"model", "broker", "workers"} | (set() if is_confined() else {"sandbox"})
    assert "hermes-jobs setup" in checks["model"]["hint"]
    assert "hermes-jobs up" in checks["workers"]["hint"]
    assert all(check["hint"] for check in checks.values() if check["status"] != "ok")


def test_streams_of_a_feature_that_was_taken_away_are_named(home: Home) -> None:
    home.path.mkdir(mode=0o700)
    fill(home.log_url)

    [check] = [check for check in home.run("doctor", "--json").json["checks"] if check["check"] == "features"]
    verified = home.run("events", "verify")
    first, *_ = map(json.loads, home.run("events", "--stream", STREAM, "--json").out.splitlines())

    assert check["status"] == "warn"
    assert check["message"] == "1 stream of 'bookmark': of a feature that this installation does not have"
    assert verified.code == 0
    assert "Only the hashes were checked of 1 stream" in verified.err
    assert first["data"] == {"session": "s1", "title": "Lisbon"}


def test_an_unreadable_configuration_is_reported(home: Home) -> None:
    home.path.mkdir(mode=0o700)
    (home.path / "config.yaml").write_text("modell: {}\n")

    seen = home.run("doctor", "--json")

    assert seen.code == 2
    assert [check["check"] for check in seen.json["checks"]] == ["config"]
    assert "modell" in seen.json["checks"][0]["message"]


def test_a_mistyped_toolset_which_switches_nothing_off_is_a_warning(home: Home) -> None:
    seen = home.run("doctor", "--json", HERMES_JOBS_TOOLSETS__DISABLED="[termnal]")

    (warning,) = [check for check in seen.json["checks"] if check["check"] == "toolsets"]
    assert warning["status"] == "warn"
    assert "toolsets.disabled" in warning["message"]
    assert "termnal" in warning["message"]
    assert "terminal" in warning["hint"]


def test_toolsets_that_are_nowhere_and_those_that_nothing_turns_on_are_told(home: Home) -> None:
    environ = {
        "HERMES_JOBS_TOOLSETS__ENABLED": "[terminal, filse]",
        "HERMES_JOBS_TOOLSETS__DISABLED": "[web, mcp]",
        "HERMES_JOBS_AGENTS": "{reviewer: {toolsets: [files, git]}}",
    }
    seen = home.run("doctor", "--json", **environ)

    told = [check for check in seen.json["checks"] if check["check"] == "toolsets"]
    assert [(check["status"], check["message"].partition(":")[0]) for check in told] == [
        ("warn", "toolsets.enabled contains an unknown toolset"),
        ("warn", "agents.reviewer.toolsets contains an unknown toolset"),
        ("ok", "neither in toolsets.enabled nor in toolsets.disabled, so off"),
    ]
    assert {"files", "memory", "skills"} < set(re.findall(r"\w+", told[-1]["message"]))
    assert not {"terminal", "web", "mcp", "todo", "curation"} & set(re.findall(r"\w+", told[-1]["message"]))


def test_a_home_that_others_can_read_is_a_warning(home: Home) -> None:
    home.path.mkdir(mode=0o755)

    seen = home.run("doctor")

    assert seen.code == 0
    assert f"chmod 700 {home.path}" in seen.out


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("sendemail.smtpPass", "hunter2", "sendemail.smtppass"),
        (
            "url.https://ann:tok3n@git.example.org/.insteadOf",
            "x:",
            "url.https://…@git.example.org/.insteadof",
        ),
        ("http.https://git.example.org.extraHeader", "Authorization: Bearer t0k", "extraheader"),
        ("http.proxy", "http://ann:hunter2@proxy:3128", "http.proxy"),
        ("user.email", "ann@example.org", ""),
        ("url.git@github.com:.insteadOf", "https://github.com/", ""),
        ("credential.https://github.com.helper", "!gh auth git-credential", ""),
    ],
)
def test_a_password_in_the_settings_of_git_is_a_warning(
    home: Home, tmp_path: Path, setting: str, value: str, named: str
) -> None:
    file = tmp_path / "gitconfig"
    subprocess.run(["git", "config", "--file", str(file), setting, value], check=True)

    seen = home.run("doctor", "--json", GIT_CONFIG_GLOBAL=str(file))
    found = [check["message"] for check in seen.json["checks"] if check["check"] == "git"]

    assert len(found) == bool(named)
    assert all(named in message for message in found)
    assert not re.search("hunter2|tok3n|t0k", seen.out)


def test_an_unreachable_broker_and_log_fail_with_code_5_and_without_their_passwords(home: Home) -> None:
    away = {"HERMES_JOBS_LOG_URL": "postgresql://anna:sesame-open@127.0.0.1:1/test"}
    log = home.run("doctor", "--live", "--json", HERMES_JOBS_BUDGETS__DAY_USD="1", **away)
    broker = home.run("doctor", "--json", HERMES_JOBS_BROKER_URL="redis://:sesame-open@127.0.0.1:1/0")

    assert (log.code, broker.code) == (5, 5)
    looked_at = {check["check"]: check["status"] for check in log.json["checks"]}
    assert looked_at["log"] == "fail"
    assert {"broker", "commands", "disk"} <= looked_at.keys()
    assert "sesame-open" not in log.out + log.err + broker.out + broker.err


@pytest.mark.postgres
def test_doctor_says_which_keys_the_environment_sets(home: Home) -> None:
    unwritten = home.run("doctor", HERMES_JOBS_BUDGETS__DAY_USD="1").out
    assert "config.yaml (there is none) — set: " in unwritten
    assert "budgets.day_usd (environment HERMES_JOBS_BUDGETS__DAY_USD)" in unwritten
    home.run("config", "set", "terminal.timeout", "60")
    written = home.run("doctor").out
    assert "(there is none)" not in written
    assert "terminal.timeout" in written


@pytest.mark.parametrize("command", ["doctor", "up"])
def test_a_log_that_can_only_be_read_is_said_before_anything_is_started(home: Home, command: str) -> None:
    with postgres_schema() as url:
        open_log(url).close()
        seen = home.run(command, HERMES_JOBS_LOG_URL=f"{url}%20-cdefault_transaction_read_only%3Don")

    assert seen.code == 5
    assert "is read-only" in seen.out + seen.err


def test_live_tries_the_model_and_says_when_the_key_is_refused(home: Home, model_server: ModelServer) -> None:
    environ = endpoint(model_server.base_url)
    answered = home.run("doctor", "--live", **environ)
    model_server.follow([Refuse(status=401, message="Incorrect API key provided")])
    refused = home.run("doctor", "--live", "--json", **environ)

    assert answered.code == 0
    assert "answered in" in answered.out
    assert refused.code == 4
    assert KEY not in answered.out + answered.err + refused.out + refused.err
