"""The configuration: every key typed and documented, read once from environment, `.env` and file.

Nothing else in the project reads the environment: the starting process passes its variables to `load`.
"""

from hermes_jobs.settings.choices import SETUP, Choice, is_same_host, missing_key
from hermes_jobs.settings.edit import Draft, Shown, render, set_up, set_value, unset_value, value_of
from hermes_jobs.settings.env_file import (
    is_secret_variable,
    known_secrets,
    near_secrets,
    set_secret,
    unset_secret,
)
from hermes_jobs.settings.home import Paths, ensure_home, find_home
from hermes_jobs.settings.keys import Key, known_keys, near_keys
from hermes_jobs.settings.load import load
from hermes_jobs.settings.reread import LiveSettings, needs_restart
from hermes_jobs.settings.secrets import REDACTED, Secrets
from hermes_jobs.settings.sections.models import DEFAULT_MODEL, REHEARSAL_MODEL
from hermes_jobs.settings.settings import Settings
from hermes_jobs.settings.sources import variables_of
