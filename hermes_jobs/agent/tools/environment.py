"""The environment of commands: the worker's, without secrets and without variables of hermes-jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hermes_jobs.system.isolation import INSIDE_TOOL

_OURS = re.compile(r"(HERMES_JOBS|OPENAI|ANTHROPIC)_", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PWD$|_PASS$|_PAT$|AUTH(?!_SOCK|ORITY|OR_)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"://[^\s/@:]*:[^\s/@]+@")
SHORTEST_SECRET = 6

NO_TERMINAL = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Keeps programs from waiting for input on a terminal."""


def filtered_environment(environ: Mapping[str, str], secrets: Iterable[str] = ()) -> dict[str, str]:
    """A copy of the environment for a command.

    Left out is every variable whose name suggests a secret, whose value holds a known one or a URL with a
    password, and all of hermes-jobs', OpenAI's and Anthropic's own.
    """
    known = [each for each in secrets if len(each) >= SHORTEST_SECRET]
    kept = {
        name: value
        for name, value in environ.items()
        if not _OURS.match(name)
        and not _SECRET_NAME.search(name)
        and not _URL_PASSWORD.search(value)
        and not any(secret in value for secret in known)
    }
    return kept | NO_TERMINAL | {INSIDE_TOOL: "1"}
