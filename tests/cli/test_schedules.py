"""`schedule`: what is added in words or by flags, shown back, listed, changed, run and refused."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.home import Ran
from tests.processes import ROOT
from tests.tools.support import wait_until
from tests.written_home import WrittenHome

MAIL = "Check my mail every weekday at 9am and summarise it"
BERLIN = {"HERMES_JOBS_SCHEDULES__TIMEZONE": "Europe/Berlin"}


def added(home: WrittenHome, *arguments: str, environ: Mapping[str, str] = BERLIN) -> Any:
    """`schedule add --yes --json`, which has to succeed; the schedule."""
    done = home.run("schedule", "add", *arguments, "--yes", "--json", **environ)
    assert done.code == 0, done
    return done.json


def shown(home: WrittenHome, name: str) -> Any:
    return home.run("schedule", "show", name, "--json").json


def test_a_sentence_is_taken_apart_and_shown_back_before_it_is_recorded(home: WrittenHome) -> None:
    done = home.run("schedule", "add", MAIL, "--yes", **BERLIN)

    assert done.code == 0
    told = done.err.splitlines()
    assert told[:3] == [
        "Understood:",
        "  when    every weekday at 09:00, Europe/Berlin",
        "  task    Check my mail and summarise it",
    ]
    assert [line[2:6] for line in told[3:6]] == ["next", "    ", "    "]
    assert all(line.endswith(" 09:00") for line in told[3:6])
    schedule = shown(home, done.out.strip())
    assert (schedule["canonical"], schedule["timezone"]) == ("every weekday at 09:00", "Europe/Berlin")
    assert (schedule["task"], schedule["said"]) == ("Check my mail and summarise it", MAIL)
    assert (schedule["status"], schedule["kind"], len(schedule["next"])) == ("active", "calendar", 3)
    assert "hermes-jobs up" in told[-1]


def test_without_a_terminal_and_without_yes_nothing_is_recorded(home: WrittenHome) -> None:
    done = home.run("schedule", "add", MAIL)

    assert (done.code, done.out) == (2, "")
    assert "every weekday at 09:00" in done.err
    assert "--yes" in done.err
    assert home.run("schedule", "list", "--json").json == []


@pytest.mark.parametrize(("answer", "code", "there"), [("y", 0, 1), ("n", 1, 0)])
def test_on_a_terminal_it_is_asked(home: WrittenHome, answer: str, code: int, there: int) -> None:
    ours, theirs = pty.openpty()
    environ = {"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(home.path)}
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "schedule", "add", MAIL],
        cwd=ROOT,
        env=environ,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.write(ours, f"{answer}\n".encode())
        out, err = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)

    assert process.returncode == code, err
    assert "Add it? [Y/n]" in err
    assert bool(out) == bool(there)
    assert len(home.run("schedule", "list", "--json").json) == there


@pytest.mark.parametrize(
    ("flags", "kind", "canonical"),
    [
        (("--cron", "0 9 * * mon-fri"), "cron", "0 9 * * MON-FRI"),
        (("--every", "30m"), "interval", "every 30 minutes"),
        (("--every", "weekday at 9"), "calendar", "every weekday at 09:00"),
        (("--at", "2090-01-02T03:04:05+00:00"), "once", "at 2090-01-02T04:04:05+01:00"),
    ],
)
def test_flags_say_when_as_well(home: WrittenHome, flags: tuple[str, ...], kind: str, canonical: str) -> None:
    schedule = added(home, *flags, "--task", "Look.")

    assert (schedule["kind"], schedule["canonical"], schedule["task"]) == (kind, canonical, "Look.")


def test_a_cron_expression_says_its_zone_in_front(home: WrittenHome) -> None:
    schedule = added(home, "--cron", "CRON_TZ=asia/tokyo 0 9 * * 1-5", "--task", "Look.")
    wrong = home.run("schedule", "add", "--cron", "TZ=Asia/Tokio 0 9 * * *", "--task", "Look.", "--yes")

    assert (schedule["canonical"], schedule["timezone"]) == ("0 9 * * 1-5", "Asia/Tokyo")
    assert (wrong.code, "There is no time zone 'Asia/Tokio'" in wrong.err) == (2, True)


def test_in_counts_from_now(home: WrittenHome) -> None:
    schedule = added(home, "--in", "2 hours", "--task", "Look.")

    assert schedule["kind"] == "once"
    assert len(schedule["next"]) == 1


def test_every_option_is_kept_and_shown(home: WrittenHome) -> None:
    home.answered("sab1", "t1", "plan a trip")
    schedule = added(
        home,
        MAIL,
        *("--tz", "UTC", "--name", "Mail", "--session", "sab", "--missed", "all", "--overlap", "queue"),
        *("--toolsets", "web,files", "--model", "m2"),
        *("--deliver", "cli", "--deliver", "file:~/mail.md"),
    )

    assert {name: schedule[name] for name in ("name", "timezone", "session", "missed", "overlap")} == {
        "name": "Mail",
        "timezone": "UTC",
        "session": "sab1",
        "missed": "all",
        "overlap": "queue",
    }
    assert schedule["deliver"] == ["cli", "file:~/mail.md"]
    assert (schedule["toolsets"], schedule["model"]) == (["web", "files"], "m2")
    assert len(home.run("schedule", "show", "mail", "-n", "5", "--json").json["next"]) == 5
    told = home.run("schedule", "show", "mail").out
    for text in ("Mail", "every weekday at 09:00, UTC", "sab1", "file:~/mail.md", "queue", "m2", "$0.00"):
        assert text in told


HOOK = ("every day at 9", "--task", "Look.", "--deliver", "webhook:https://example.com/hook", "--yes")


def test_a_webhook_without_a_secret_is_warned_of(home: WrittenHome) -> None:
    without = home.run("schedule", "add", *HOOK)
    with_secret = home.run("schedule", "add", *HOOK, WEBHOOK_SECRET="s3cret")

    assert (without.code, with_secret.code) == (0, 0)
    assert "WEBHOOK_SECRET is not set" in without.err
    assert "WEBHOOK_SECRET" not in with_secret.err


def test_a_relative_file_lies_in_the_folder_where_it_was_said(home: WrittenHome) -> None:
    assert added(home, MAIL, "--deliver", "file:mail.md")["deliver"] == [f"file:{home.work}/mail.md"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Give a time"),
        (("30m",), ""),
        (("every day at 25:00",), ""),
        (("Look at the sky every 10 seconds",), ""),
        (("every day at 9",), "but no task"),
        (("Look", "--cron", "0 9 * * *"), "exclude each other"),
        (("--cron", "0 9 * *", "--task", "Look"), "five fields"),
        (("--at", "every day at 9", "--task", "Look"), "not a timing for --at"),
        (("--every", "day at 9 check the mail", "--task", "Look"), "--task"),
        ((MAIL, "--task", "Look"), "has a task already"),
        ((MAIL, "--tz", "Europe/Atlantis"), "no time zone 'Europe/Atlantis'"),
        (("Look at 9am Berlin time every day", "--tz", "UTC"), "--tz says UTC"),
        ((MAIL, "--deliver", "pigeon:Anna"), "pigeon:Anna"),
        ((MAIL, "--session", "s404"), "no session 's404'"),
        ((MAIL, "--toolsets", "spanners"), "no toolset 'spanners'"),
        ((MAIL, "--budget", "much"), "not an amount"),
        ((MAIL, "--missed", "never"), "run_once"),
    ],
)
def test_an_impossible_schedule_is_refused_before_anything_is_recorded(
    home: WrittenHome, arguments: tuple[str, ...], says: str
) -> None:
    done = home.run("schedule", "add", *arguments, "--yes")

    assert (done.code, done.out) == (2, ""), done
    assert "Error: " in done.err
    assert says in done.err
    assert "Traceback" not in done.err
    assert home.log.last_position() == 0


def test_a_list_shows_the_year_of_times_in_another_one(home: WrittenHome) -> None:
    added(home, "--at", "2099-03-01T09:30", "--task", "Look back")

    assert "Sun 1 Mar 2099 09:30 CET" in home.run("schedule", "list").out


def test_a_name_belongs_to_one_schedule(home: WrittenHome) -> None:
    first, second = added(home, MAIL), added(home, MAIL)
    refused = home.run("schedule", "add", MAIL, "--yes", "--name", "check MY mail and summarise it")

    assert (first["name"], second["name"]) == (
        "Check my mail and summarise it",
        "Check my mail and summarise it 2",
    )
    assert refused.code == 2
    assert "already" in refused.err


def test_no_schedule_takes_the_name_of_another_when_it_is_changed(home: WrittenHome) -> None:
    added(home, MAIL, "--name", "Mail")
    news = added(home, MAIL, "--name", "News")["schedule"]
    refused = home.run("schedule", "edit", news, "--name", "mail")
    spelt = home.run("schedule", "edit", news, "--name", "NEWS", "--json")

    assert (refused.code, "already" in refused.err) == (2, True)
    assert spelt.json["name"] == "NEWS"


def test_it_is_changed_paused_resumed_and_removed(home: WrittenHome) -> None:
    name = added(home, MAIL, "--name", "Mail")["schedule"]

    edited = home.run("schedule", "edit", "mail", "every day at 8", "--yes", "--json").json
    assert (edited["canonical"], edited["task"]) == ("every day at 08:00", "Check my mail and summarise it")
    assert (edited["timezone"], edited["said"]) == ("Europe/Berlin", "every day at 8")
    moved = home.run("schedule", "edit", "mail", "--tz", "Asia/Tokyo", "--overlap", "parallel", "--json").json
    assert (moved["timezone"], moved["overlap"]) == ("Asia/Tokyo", "parallel")
    assert home.run("schedule", "edit", "mail", "--overlap", "parallel").code == 2

    assert home.run("schedule", "pause", "mail", "--json").json["status"] == "paused"
    assert "none while it is paused" in home.run("schedule", "show", "mail").out
    resumed = home.run("schedule", "resume", name[:6])
    assert "continues; next:" in resumed.err

    assert home.run("schedule", "remove", "mail").code == 0
    assert home.run("schedule", "list", "--json").json == []
    assert [each["status"] for each in home.run("schedule", "list", "--all", "--json").json] == ["removed"]
    assert home.run("schedule", "show", "mail", "--json").json["status"] == "removed"
    gone = home.run("schedule", "run", "mail")
    assert gone.code == 2
    assert "no schedule 'mail'" in gone.err


def test_a_run_at_once_answers_and_is_in_the_history(home: WrittenHome) -> None:
    name = added(home, MAIL, "--deliver", "cli")["schedule"]
    home.close()
    ran = home.run("schedule", "run", name)
    left = home.run("schedule", "run", name, "--no-wait")

    assert ran.code == 0, ran
    assert "No language model is connected" in ran.out
    assert left.code == 0
    history = home.run("schedule", "history", name, "--json").json
    assert [(run["outcome"], run["by"]) for run in history] == [("running", "user"), ("completed", "user")]
    assert history[0]["turn"] == left.out.strip()
    assert [each["status"] for each in history[1]["deliveries"]] == ["unread"]
    table = home.run("schedule", "history", name).out.splitlines()
    assert len(table) == 3
    listed = home.run("schedule", "list").out
    assert "running" in listed
    busy = home.run("schedule", "run", name)
    assert busy.code == 1
    assert "is running already" in busy.err
    sessions = home.run("sessions", "list", "--json").json
    assert {each["kind"] for each in sessions} == {"scheduled"}
    assert all(each["title"].startswith("Check my mail") for each in sessions)


def test_an_unknown_schedule_is_answered_with_the_nearest(home: WrittenHome) -> None:
    added(home, MAIL, "--name", "Morning mail")
    done = home.run("schedule", "show", "Mornin mial")

    assert done.code == 2
    assert "Morning mail" in done.err


def test_doctor_says_when_nothing_would_run(home: WrittenHome) -> None:
    before = checks(home.run("doctor", "--json"))
    added(home, MAIL)
    after = checks(home.run("doctor", "--json"))

    assert before["scheduler"]["status"] == "ok"
    assert (after["scheduler"]["status"], after["scheduler"]["hint"]) == (
        "warn",
        "`hermes-jobs up` starts everything.",
    )


def checks(done: Ran) -> dict[str, Any]:
    return {each["check"]: each for each in done.json["checks"]}


def test_send_cannot_act_as_a_schedule(home: WrittenHome) -> None:
    done = home.run("send", "hello", "--source", "schedule:p1")

    assert done.code == 2
    assert "for the runs of schedules" in done.err


def test_an_overdue_schedule_is_shown_with_the_reason(home: WrittenHome) -> None:
    later = added(home, "--in", "2 hours", "--task", "Look.")["schedule"]
    assert home.run("schedule", "list").err == ""
    due = added(home, "--in", "1s", "--task", "Look.")["schedule"]
    wait_until(lambda: "Overdue" in home.run("schedule", "list").err, "its due time")
    told = f"Overdue: {due}. No worker is alive, so nothing fires schedules: hermes-jobs up\n"
    assert home.run("schedule", "list").err == told
    assert home.run("schedule", "show", due).err.endswith(told)
    assert "Overdue" not in home.run("schedule", "show", later).err
    assert home.run("schedule", "list", "--json").err == ""
