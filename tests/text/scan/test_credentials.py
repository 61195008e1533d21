"""Credentials taken out of what a summariser reads: whole, in every usual form, in time that is linear."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.scan import credentials
from hermes_jobs.text.scan.credentials import redact_credentials
from hermes_jobs.text.scan.rules import credential_rules
from tests.tables import slow_sample

MARK = "[REDACTED]"
BODY = "Proc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA7bqabcdefghijkl\nx/y+zabcdefghijklmnop0123456789=="
KINDS = ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
SECRETS = st.from_regex(r"[A-Za-z0-9/+_!-]{7,40}", fullmatch=True).filter(
    lambda text: re.search(r"[0-9]", text) and re.search(r"[A-Za-z]{2}", text) and text[0].isalpha()
)
NAMES = st.sampled_from(
    [
        *(
            "api_key",
            "apiKey",
            "API-KEY",
            "password",
            "db_password",
            "client_secret",
            "aws_secret_access_key",
        ),
        *("refresh_token", "accessToken", "passphrase", "private_key", "GITHUB_TOKEN", "secret"),
    ]
)


FORMS = r"""
DB_PASS=%
pw=%
mysql -u root -p% shop
curl -u ann:% https://x.example
curl --user 'ann:%' https://x.example
Cookie: session=%
Set-Cookie: sid=%; Path=/
https://x.example/file?sig=%
machine github.com login ann password %
passwd %
sshpass -p % ssh host
sshpass -p '%' ssh host
docker login -u ann -p %
docker login --password %
echo % | sudo -S ls
echo % | docker login -u ann --password-stdin
openssl enc -aes-256-cbc -k %
openssl rsa -passin pass:%
7z x -p% a.7z
unzip -P % a.zip
gpg --batch --passphrase % -d a.gpg
kubectl create secret generic x --from-literal=pw=%
SECRET_KEY_BASE: %
https://discord.com/api/webhooks/123456789012345678/%%%
https://api.telegram.org/bot123456789:AA%%/getMe
<password>%</password>
<wsse:Password Type="x">%</wsse:Password>
program --token %
program --client-secret "%"
lin_api_%%
dckr_pat_%%
shpat_%%
figd_%%
sntrys_%%
nvapi-%%
xai-%%
dp.pt.%%
ATATT3%%
""".strip().splitlines()


def redacted(text: str) -> str:
    return redact_credentials(text, MARK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_key_goes_from_its_first_line_to_its_last(kind: str) -> None:
    block = f"-----BEGIN {kind}-----\n{BODY}\n-----END {kind}-----"
    assert redacted(f"It is:\n{block}\nUse it.") == f"It is:\n{MARK}\nUse it."
    within = json.dumps({"key": block + "\n", "user": "deploy"})
    assert json.loads(redacted(within)) == {"key": MARK + "\n", "user": "deploy"}
    assert redacted(f"{block}\n{block}\nboth") == f"{MARK}\n{MARK}\nboth"


def test_a_private_key_whose_end_was_cut_off_goes_as_far_as_it_looks_like_one() -> None:
    cut = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n\nThe user said hello."
    assert redacted(cut) == f"{MARK}\n\nThe user said hello."


@given(NAMES, SECRETS)
def test_values_assigned_to_credential_names_are_redacted(name: str, secret: str) -> None:
    for text in (
        json.dumps({name: secret, "next": 1}),
        json.dumps({"content": json.dumps({name: secret})}),
        json.dumps({"outer": json.dumps({"content": json.dumps({name: secret})})}),
        f"{name} = {secret}\n",
        f"{name}='{secret}'",
        f"export {name}={secret}",
        f"{name}: {secret}\nport: 8080\n",
    ):
        assert secret not in redacted(text), text


@pytest.mark.parametrize(
    "text",
    [
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
        '{"password": "correct horse battery"}',
        "Authorization: Bearer abcdefghijklmnop1234567890",
        "postgres://user:pa55word@db.example/app",
        "the router's password is 'tr0ub4dor'",
        "curl -H 'X-Api-Key: abc123def456'",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    ],
)
def test_each_form_of_a_credential_goes(text: str) -> None:
    assert MARK in redacted(text)


@pytest.mark.parametrize("line", FORMS)
def test_a_password_goes_however_programs_and_files_write_it(line: str) -> None:
    assert "%" not in redacted(line.replace("%", "Zq7Xw2Lm9Kp4Rt8Vb3")).replace("Zq7Xw2Lm9Kp4Rt8Vb3", "%")


FILES = json.loads((Path(__file__).parent / "secrets_in_files.json").read_text("utf-8"))
"""Texts of files and requests, and what must not be left of each."""


@pytest.mark.parametrize("kind", FILES)
def test_a_secret_goes_wherever_files_and_headers_have_it(kind: str) -> None:
    text, secret = FILES[kind]
    assert secret not in redacted(text)
    assert secret not in redacted(json.dumps({"content": text}))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "X-Api-Key: $KEY",
            "Cookie: none",
            "auth: required",
            "12:30:45:10:11",
            "a:b:c",
            "user,role\nann,admin",
        ),
        *(
            "Authorization: Bearer <token>",
            "src/x.py:12:def f(a):",
            "localhost:5432",
            "10:20:30 token,password",
        ),
        *("name,password rules\nann,twelve characters", "the token, the password\nand more", "auth: basic"),
        *("max_tokens: 4096", '{"token_count": 12345}', "token = parser.next_token()", "password: str"),
        *(
            "pass: 12 tests, fail: 0",
            "mysql -u root -p shop",
            "docker run -p 8080:80 nginx",
            "ssh -p 2222 host",
        ),
        *(
            "curl -u ann https://x",
            "--password-stdin",
            "--token-file path/to/file",
            "echo hello | sudo tee x",
        ),
        *("the password must have 12 characters", "bypass: true1234", "key-value-store-for-the-platform2"),
        *("password = getpass()", "api_key=${API_KEY}", "secret_key: os.environ['X']", "tokens: 900"),
        *("the secret: be patient", "passwords: see the vault", '{"api_key": "<your key>"}'),
    ],
)
def test_mentions_of_credentials_stay(text: str) -> None:
    assert redacted(text) == text


@given(st.text())
def test_a_text_without_a_telling_word_stays(text: str) -> None:
    if not re.search(
        r"key|tok|pass|pw|sig|echo|curl|secret|cred|auth|:/|sen|mot|kenn|[^\x00-\x7f]|[-_.:]",
        text,
        re.IGNORECASE,
    ):
        assert redacted(text) == text


def test_every_repetition_before_which_a_search_can_begin_anywhere_is_bounded() -> None:
    """A pattern whose first repetition is unbounded reads a text without blanks once for each character."""
    patterns = [rule.pattern for rule in credential_rules().rules]
    patterns += [
        credentials._ARGUMENT.pattern,
        credentials._ECHOED.pattern,
        credentials._SECRET_VALUE.pattern,
        credentials._BEGIN.pattern,
        credentials._BODY.pattern,
    ]
    for pattern in patterns:
        without_blanks = re.sub(r"\\s[*+]", "", pattern)
        classes = re.findall(r"(?:\][*+]|\\[SwWD][*+]|\][{]\d+,[}])", without_blanks)
        assert [each for each in classes if each not in {r"\w+"}] in ([], ["]+"]), pattern


@pytest.mark.parametrize(
    "worst",
    slow_sample(
        [
            "Password=",
            "汉",
            "a",
            "eyJ-",
            "-----BEGIN PRIVATE KEY-----",
            "token=",
            '{"api_key":"',
            "\\",
            "AKIA",
        ],
        3,
    ),
)
def test_a_megabyte_without_blanks_is_read_to_its_end(worst: str) -> None:
    text = (worst * 1_000_000)[:1_000_000]
    assert len(redacted(text)) <= len(text)
