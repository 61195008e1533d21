"""Secrets come from the environment or `.env`, and their values show nowhere."""

import html
import json
import pickle
import quopri
import re
import textwrap
from base64 import b32encode, b64encode, urlsafe_b64encode
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.pretty import pretty_repr

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import Secrets, load, render
from tests.processes import ROOT

KEY = "sk-proj-0123456789abcdef"


def write_env(home, text: str, mode: int = 0o600) -> None:
    (home / ".env").write_text(text)
    (home / ".env").chmod(mode)


def test_the_key_is_read_from_env_file_and_the_environment_wins(tmp_path):
    write_env(tmp_path, f"# mine\nexport OPENAI_API_KEY='{KEY}'\nTELEGRAM_BOT_TOKEN=\"123:abc\"\n")
    assert load({}, home=tmp_path).secrets.api_key == KEY
    settings = load({"OPENAI_API_KEY": " sk-other-key\n"}, home=tmp_path)
    assert settings.secrets.api_key == "sk-other-key"
    assert settings.secrets.get("TELEGRAM_BOT_TOKEN") == "123:abc"
    assert settings.secrets.names == ("OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN")


def test_a_dollar_sign_in_the_env_file_is_literal(tmp_path):
    write_env(tmp_path, "OPENAI_API_KEY=ab${HOME}cd$$\n")
    assert load({}, home=tmp_path).secrets.api_key == "ab${HOME}cd$$"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_an_env_file_that_others_can_read_or_write_is_refused(tmp_path, mode):
    write_env(tmp_path, f"OPENAI_API_KEY={KEY}\n", mode)
    with pytest.raises(Misconfigured) as caught:
        load({}, home=tmp_path)
    assert caught.value.hint == f"chmod 600 {tmp_path / '.env'}"
    assert KEY not in caught.value.message


def test_a_broken_line_of_the_env_file_is_named_by_its_number_alone(tmp_path):
    write_env(tmp_path, f"A=1\n\n{KEY}\n")
    with pytest.raises(Misconfigured) as caught:
        load({}, home=tmp_path)
    assert ", line 3: expected NAME=value." in caught.value.message
    assert KEY not in caught.value.message


def test_the_home_cannot_be_moved_by_the_file_in_it(tmp_path):
    write_env(tmp_path, "HERMES_JOBS_HOME=/elsewhere\n")
    with pytest.raises(Misconfigured, match="HERMES_JOBS_HOME cannot stand in"):
        load({}, home=tmp_path)


@pytest.mark.parametrize(
    "config",
    [
        f"OPENAI_API_KEY: {KEY}",
        f"model: {{api_key: {KEY}}}",
        f"openai: {{api_key: {KEY}}}",
        f"gateway: {{telegram: {{token: {KEY}}}}}",
        f"terminal: {{environment: {{GITHUB_TOKEN: {KEY}}}}}",
        f"gateway: {{telegram: {{bot-token: {KEY}}}}}",
        f"broker_url: redis://:{KEY}@127.0.0.1:6379/0",
        f"log_url: postgresql://hermes:{KEY}@db/hermes",
        f"log_url: postgresql://db/hermes?user=hermes&password={KEY}",
        f"model: {{base_url: 'https://me:{KEY}@models.example/v1'}}",
    ],
)
def test_a_secret_in_the_file_is_refused_with_the_place_where_it_belongs_and_without_its_value(
    tmp_path, config
):
    (tmp_path / "config.yaml").write_text(config)
    with pytest.raises(Misconfigured) as caught:
        load({}, home=tmp_path)
    assert ".env in the home (mode 600)" in caught.value.hint
    assert KEY not in caught.value.message + caught.value.hint


def test_a_secret_as_a_key_of_ours_in_the_environment_is_refused(tmp_path):
    with pytest.raises(Misconfigured) as caught:
        load({"HERMES_JOBS_MODEL__API_KEY": KEY}, home=tmp_path)
    assert "OPENAI_API_KEY" in caught.value.hint
    assert KEY not in caught.value.message + caught.value.hint


def test_keys_that_only_sound_secret_are_keys_like_others(tmp_path):
    (tmp_path / "config.yaml").write_text("model: {max_tokens: 5}\ngateway: {users: {pat: ['telegram:1']}}\n")
    assert load({}, home=tmp_path).gateway.users == {"pat": ("telegram:1",)}


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_a_url_with_a_password_is_read_from_environment_and_env_file_and_shown_without_it(tmp_path, place):
    url = "redis://user:p%40ss-word@127.0.0.1:6379/0"
    variables = {"HERMES_JOBS_BROKER_URL": url}
    if place == ".env":
        write_env(tmp_path, f"HERMES_JOBS_BROKER_URL={url}\n")
        variables = {}

    settings = load(variables, home=tmp_path)

    assert settings.broker_url == url
    shown = next(row for row in render(settings) if row.key == "broker_url")
    assert shown.value == "redis://user:[REDACTED]@127.0.0.1:6379/0"
    assert "p@ss-word" not in settings.secrets.redact("refused: p@ss-word")


@pytest.mark.parametrize("url", [":hunter2@127.0.0.1:6379", "user:hunter2@host/db"])
def test_a_malformed_url_is_refused_without_its_password(tmp_path, url):
    with pytest.raises(Misconfigured) as caught:
        load({"HERMES_JOBS_BROKER_URL": url}, home=tmp_path)
    assert "hunter2" not in caught.value.message
    assert "[REDACTED]@" in caught.value.message


def test_a_known_secret_in_a_wrong_value_is_not_repeated(tmp_path):
    with pytest.raises(Misconfigured) as caught:
        load({"OPENAI_API_KEY": KEY, "HERMES_JOBS_TERMINAL__POLICY": KEY}, home=tmp_path)
    assert KEY not in caught.value.message


def test_nothing_that_prints_settings_shows_a_secret(tmp_path):
    url = f"redis://:{KEY}@127.0.0.1/0"
    settings = load({"OPENAI_API_KEY": KEY, "HERMES_JOBS_BROKER_URL": url}, home=tmp_path)
    rows = json.dumps(msgspec.to_builtins(render(settings)))
    shown = [
        repr(settings),
        str(settings),
        pretty_repr(settings),
        repr(settings.secrets),
        f"{settings.secrets}",
        rows,
    ]
    assert not [text for text in shown if KEY in text]
    assert repr(settings.secrets) == "Secrets(OPENAI_API_KEY)"


def test_secrets_are_not_serialised(tmp_path):
    settings = load({"OPENAI_API_KEY": KEY}, home=tmp_path)
    with pytest.raises(TypeError):
        pickle.dumps(settings.secrets)
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


secret_values = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=6, max_size=40)


@given(values=st.lists(secret_values, min_size=1, max_size=4), around=st.text(max_size=20))
def test_no_secret_of_six_characters_survives_redaction(values, around):
    # A value that is itself part of the mark would stand in every redacted text.
    values = [value for value in values if value not in "[REDACTED]"]
    secrets = Secrets({f"KEY_{number}": value for number, value in enumerate(values)})
    for value in values:
        redacted = secrets.redact(f"{around}\n{value}\n{around}")
        assert f"\n{value}\n" not in redacted


def test_a_secret_within_a_longer_one_does_not_leave_the_rest():
    assert Secrets({"A_KEY": "abcdef", "B_KEY": "abcdef-ghij"}).redact("x abcdef-ghij y") == "x [REDACTED] y"


def encodings(value: str) -> list[str]:
    """Texts that programs make of a value, with something before and after it."""
    data = value.encode()
    sh = "".join(f"\\x{byte:02X}" for byte in data)
    return [
        value,
        value.upper(),
        value.swapcase(),
        *(
            b64encode(b"?" * before + data + b"?" * after).decode()
            for before in range(4)
            for after in range(3)
        ),
        *(urlsafe_b64encode(b"u:" * before + data).decode() for before in range(3)),
        "\n".join(textwrap.wrap(b64encode(b"A=1\nKEY=" + data + b"\nB=2\n").decode(), 20)),
        json.dumps("\n".join(textwrap.wrap(b64encode(b"KEY=" + data).decode(), 20))),
        *(
            b64encode(b64encode(b"?" * before + data + end)).decode()
            for before in range(3)
            for end in (b"", b"!")
        ),
        b64encode(b"k=" + b64encode(data)).decode(),
        b64encode(value.encode("utf-16-le")).decode(),
        " ".join(f"{byte:03o}" for byte in data),
        "".join(f"\\{byte:03o}" for byte in data),
        " ".join(f"{byte:o}" for byte in data),
        "".join(f"\\{byte:o}" for byte in data),
        "".join(f"\\0{byte:o}" for byte in data),
        "".join(f"\\0{byte:03o}" for byte in data),
        str(list(data)),
        ",".join(map(str, data)),
        re.sub(r"([^\w@%+=:,./-])", r"\\\1", value),
        b32encode(data).decode(),
        quote(value, safe=""),
        quote(value, safe="").lower(),
        "".join(f"%{byte:02X}" for byte in data),
        data.hex(),
        data.hex(" "),
        data.hex(":").upper(),
        sh,
        json.dumps(value),
        json.dumps(json.dumps(value)),
        json.dumps(value).replace("/", "\\/"),
        "".join(f"\\u{ord(each):04X}" for each in value),
        html.escape(value),
        "".join(f"&#{ord(each)};" for each in value),
        value[::-1],
        b64encode(data.hex().encode()).decode(),
        b64encode(data.hex().upper().encode()).decode(),
        b64encode(data).decode()[::-1],
        b64encode(data[::-1]).decode(),
        "".join(f"%{ord(each):02x}" if at % 2 and each.isascii() else each for at, each in enumerate(value)),
        quopri.encodestring(data).decode(),
        "\n        ".join(textwrap.wrap(value, 20, break_on_hyphens=False)),
        "\n".join(textwrap.wrap(value, 20, break_on_hyphens=False)),
    ]


@given(value=st.text(st.sampled_from('abcXYZ019+/=-_!&<"é'), min_size=16, max_size=60))
def test_a_secret_is_found_however_a_program_encodes_it(value):
    secrets = Secrets({"A_KEY": value})
    for text in encodings(value):
        left = secrets.redact_known(f"before: {text} :after")
        assert left.startswith("before: ")
        assert left.endswith(" :after")
        assert len(left.replace("[REDACTED]", "")) <= len("before:  :after") + 24, text


def test_text_without_a_secret_stays_as_it_is():
    secrets = Secrets({"A_KEY": "sk-proj-0123456789abcdefABCDEF"})
    text = (ROOT / "README.md").read_text("utf-8")
    assert secrets.redact_known(text) == text


def test_short_values_are_not_redacted():
    assert Secrets({"A_KEY": "abc"}).redact("abc") == "abc"


@pytest.mark.parametrize("name", ["SMTP_PASS", "DB_PWD", "REGISTRY_AUTH", "FLOWER_BASIC_AUTH", "A_TOKEN"])
def test_what_the_env_file_names_as_a_login_is_a_secret_whole_and_its_password_alone(tmp_path, name):
    write_env(tmp_path, f"{name}=boss:open-sesame\nHERMES_JOBS_MODEL=gpt\nPWD={tmp_path}\n")
    secrets = load({}, home=tmp_path).secrets
    assert secrets.names == (name,)
    assert secrets.redact("boss:open-sesame") == "[REDACTED]"
    basic = b64encode(b"boss:open-sesame").decode()
    assert secrets.redact(f"Authorization: Basic {basic}") == "Authorization: Basic [REDACTED]"
    alone = "[REDACTED]" if name.endswith("_AUTH") else "open-sesame"
    assert secrets.redact(f"boss says open-sesame in {tmp_path}") == f"boss says {alone} in {tmp_path}"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("redis://:p@ss@h:1/0", "redis://:[REDACTED]@h:1/0"),
        ("sentinel://:a@h1:1;sentinel://:b@h2:1", "sentinel://:[REDACTED]@h1:1;sentinel://:[REDACTED]@h2:1"),
        ("https://h/x?a=1&password=b&c=2", "https://h/x?a=1&password=[REDACTED]&c=2"),
        ("http://127.0.0.1:8080/v1 and me@example.org", "http://127.0.0.1:8080/v1 and me@example.org"),
    ],
)
def test_passwords_in_urls_are_redacted_too(text, redacted):
    assert Secrets({}).redact(text) == redacted
