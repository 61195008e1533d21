"""The user's locale and zone: they are sent with a turn to workers that started under others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from hermes_jobs.settings.load import TIMEZONE
from hermes_jobs.settings.settings import Settings
from hermes_jobs.settings.turn_settings import ENVIRONMENT_OF_COMMANDS, TurnSettings

_LOCALE = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ")
_VALUE = re.compile(r"[\w.@:/+,<>-]{1,100}", re.ASCII)
_COERCED = {("LC_CTYPE", coerced) for coerced in ("C.UTF-8", "C.utf8", "UTF-8")}


class PersonLocale(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one process was started with. `variables`: LANG, LANGUAGE, LC_… and TZ; `zone`: an IANA name."""

    variables: Mapping[str, str] = {}
    zone: str = ""


def locale_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that set the locale and the zone.

    Malformed values are left out, and the LC_CTYPE that Python sets itself without a locale (PEP 538).
    """
    return {
        name: value
        for name, value in sorted(environ.items())
        if _LOCALE.fullmatch(name) and _VALUE.fullmatch(value)
        if (name, value) not in _COERCED
    }


def with_locale(
    carried: TurnSettings, settings: Settings, mine: PersonLocale, theirs: Iterable[PersonLocale]
) -> TurnSettings:
    """The turn's settings, with the user's locale and zone if a running worker has others.

    The variables apply to the agent's commands, the zone to formatted times. Configured values
    take precedence over both.
    """
    others = list(theirs)
    values = dict(carried.values)
    if mine.variables and any(other.variables != mine.variables for other in others):
        chosen = {
            **mine.variables,
            **settings.terminal.environment,
            **values.get(ENVIRONMENT_OF_COMMANDS, {}),
        }
        text = msgspec.json.encode(chosen).decode()
        if ENVIRONMENT_OF_COMMANDS not in carried.requires and settings.secrets.redact(text) == text:
            values[ENVIRONMENT_OF_COMMANDS] = chosen
    if mine.zone and settings.schedules.timezone is None and any(other.zone != mine.zone for other in others):
        values[TIMEZONE] = mine.zone
    return TurnSettings(values, carried.requires)
