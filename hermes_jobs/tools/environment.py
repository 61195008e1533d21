"""The environment of commands: the worker's, without secrets, without variables of hermes-jobs, and without
the virtual environment that hermes-jobs itself is installed in.
"""

# PATH is a list of texts, which pathlib would change.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence

from hermes_jobs.system.isolation import INSIDE_TOOL
from hermes_jobs.tools.sensitive_paths import caches, downloads, session_variables

_OURS = re.compile(r"(HERMES_JOBS|OPENAI|ANTHROPIC)_", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PWD$|_PASS$|_PAT$|AUTH(?!_SOCK|ORITY|OR_)",
    re.IGNORECASE,
)
_LOCALE = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+")
_URL_PASSWORD = re.compile(r"://[^\s/@:]*:[^\s/@]+@")
MIN_SECRET = 6

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

    Without variables whose name suggests a secret, whose value contains a known one or a URL with a password,
    and those of hermes-jobs, OpenAI and Anthropic. Python's virtual environment is the user's: see
    `without_own_venv`.
    """
    known_secrets = [value for value in secrets if len(value) >= MIN_SECRET]
    filtered = {
        name: value
        for name, value in without_own_venv(environ).items()
        if not is_withheld(name, value) and not any(secret in value for secret in known_secrets)
    }
    return filtered | NO_TERMINAL | {INSIDE_TOOL: "1"}


def overlay(environ: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The environment with other variables over it; a locale (LANG or LC_ALL) replaces the one there."""
    replaced = {"LANG", "LC_ALL"} & chosen.keys()
    inherited = {name: value for name, value in environ.items() if not (replaced and _LOCALE.fullmatch(name))}
    return {**inherited, **chosen}


def is_withheld(name: str, value: str) -> bool:
    """Whether commands never get that variable: it looks like a secret, or belongs to hermes-jobs."""
    return bool(_OURS.match(name) or _SECRET_NAME.search(name) or _URL_PASSWORD.search(value))


def without_session(environ: Mapping[str, str], seen: Sequence[str] = ()) -> dict[str, str]:
    """The environment without variables that lead to services of the person's session, such as agents with
    keys, buses and displays; those that `seen` names with a `$` stay."""
    withheld = {name for name in session_variables() if f"${name}" not in seen}
    return {name: value for name, value in environ.items() if name not in withheld}


def cache_variables(
    environ: Mapping[str, str], folder: str, user_home: str, keep: Sequence[str] = ()
) -> dict[str, str]:
    """The variables that move the caches of programs below `folder`, unless one names a place in `keep`.

    A cache is run by whoever uses it later, so that of the person is not written by commands of the agent.
    """
    variables = {
        name: os.path.join(folder, place)
        for name, place in caches().items()
        if not any(os.path.realpath(environ.get(name) or "/").startswith(f"{each}/") for each in keep)
    }
    there = {name: os.path.join(user_home, place) for name, place in downloads().items()}
    found = {name: path for name, path in there.items() if name not in environ and os.path.isdir(path)}  # noqa: PTH112
    return variables | found


def without_own_venv(environ: Mapping[str, str], prefix: str | None = None) -> dict[str, str]:
    """The environment without the virtual environment at `prefix`; None: the one that this process runs in.

    Its folder of programs is removed from PATH, and so is VIRTUAL_ENV if it names it. Another one that
    the user has activated stays. Unchanged if this process does not run in a virtual environment.
    """
    if prefix is None:
        prefix = sys.prefix if sys.prefix != sys.base_prefix else ""
    if not prefix:
        return dict(environ)
    own = os.path.realpath(prefix)
    programs = os.path.realpath(os.path.join(own, "bin"))
    variables = dict(environ)
    if "PATH" in variables:
        folders = [
            folder
            for folder in variables.pop("PATH").split(os.pathsep)
            if not folder or not _is(folder, programs)
        ]
        if folders:  # an empty PATH would mean the current folder; without one a shell has its own default
            variables["PATH"] = os.pathsep.join(folders)
    if variables.get("VIRTUAL_ENV") and _is(variables["VIRTUAL_ENV"], own):
        for name in ("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT"):
            variables.pop(name, None)
    return variables


def _is(path: str, real: str) -> bool:
    return os.path.realpath(path) == real
