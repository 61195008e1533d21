"""What `doctor` says of a Telegram bot: nothing where none is set up, else what is missing."""

from __future__ import annotations

import pytest

from tests.written_home import WrittenHome

TOKEN = "4242:nobody-may-ever-see-this-token-0123"
ALLOWED = {"HERMES_JOBS_GATEWAY__TELEGRAM__ALLOWED_USERS": "[12, 13]"}


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, None),
        (ALLOWED, "there is no TELEGRAM_BOT_TOKEN"),
        ({"TELEGRAM_BOT_TOKEN": TOKEN}, "nobody may write; nobody listens"),
        ({"TELEGRAM_BOT_TOKEN": TOKEN, **ALLOWED}, "2 may write; nobody listens"),
    ],
)
def test_doctor_names_the_missing_settings_of_a_bot(
    home: WrittenHome, environ: dict[str, str], told: str | None
) -> None:
    done = home.run("doctor", "--json", **environ)
    found = [check["message"] for check in done.json["checks"] if check["check"] == "telegram"]
    assert [told in message for message in found] == ([] if told is None else [True])
    assert TOKEN not in done.out + done.err
