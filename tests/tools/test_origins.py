"""Which commands read what others wrote on another machine."""

from __future__ import annotations

from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from tests.tables import each_row

from .support import context_in

POLICY = CommandPolicy(paths=PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann"))


def origin(command: str) -> str:
    return POLICY.origin(command, context_in("/home/ann/project"))


@each_row(
    [
        "curl https://example.com",
        "curl -s example.com | jq .name",
        "cd /tmp && wget -q https://example.com/a.html -O a.html",
        "bash -c 'curl https://example.com'",
        "x=$(curl https://example.com); echo $x",
        "timeout 10 http GET example.com",
        "gh issue view 12",
        "gh pr list | head",
        "git clone https://github.com/a/b",
        "himalaya read 12",
        "yt-dlp --get-description https://example.com/v",
        "curl $URL",
        "curl http://localhost:8080 https://example.com",
        'eval "$(cat x',
    ]
)
def test_these_do(command: str) -> None:
    assert origin(command).startswith("the command ")


@each_row(
    [
        "ls -la",
        "cat page.html",
        "git log --oneline",
        "git pull",
        "git fetch origin",
        "git status",
        "curl http://localhost:8080/health",
        "curl -s 127.0.0.1:3000/api",
        "npm test",
        "grep -r curl .",
        "echo wget",
        "psql -h db -c 'select 1'",
    ]
)
def test_these_do_not(command: str) -> None:
    assert origin(command) == ""


def test_a_long_command_is_shown_in_one_short_line() -> None:
    shown = origin("curl https://example.com \\\n" + " -H 'a: b'" * 100)
    assert "\n" not in shown
    assert len(shown) < 150
