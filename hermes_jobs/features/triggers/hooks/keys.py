"""The key of the home from which the secrets of all hooks are derived (ADR 179)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

VARIABLE = "HOOKS_KEY"


def home_key(application: Application) -> str:
    """The key; empty where there is none. `.env` is read where this process started before it was made.

    Raises `Misconfigured` for a file that others can read.
    """
    from hermes_jobs.settings.sources import read_env_file

    settings = application.settings
    return settings.secrets.get(VARIABLE) or read_env_file(settings.paths.env_file).get(VARIABLE, "")


def made_key(application: Application) -> str:
    """The key, which is made and stored in `.env` where there is none. Raises `Misconfigured`."""
    from hermes_jobs.settings.env_file import set_secret

    if key := home_key(application):
        return key
    key = secrets.token_hex(32)
    set_secret(application.settings.paths.home, VARIABLE, key)
    return key
