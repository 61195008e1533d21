"""The list of `config show`."""

import msgspec
from msgspec import Struct

from hermes_jobs.settings.keys import known_keys
from hermes_jobs.settings.load import Settings


class Shown(Struct, frozen=True):
    """One key for display: its value as JSON types without secrets, and its origin."""

    key: str
    value: object
    origin: str
    description: str


def render(settings: Settings) -> list[Shown]:
    """List every key with its value and origin, in the order of `config.yaml`."""
    return [
        Shown(key.name, _shown(settings, key.parts), settings.origins[key.name], key.description)
        for key in known_keys().values()
    ]


def _shown(settings: Settings, parts: tuple[str, ...]) -> object:
    value: object = settings
    for part in parts:
        value = getattr(value, part)
    return _redacted(settings, msgspec.to_builtins(value))


def _redacted(settings: Settings, value: object) -> object:
    match value:
        case str():
            return settings.secrets.redact(value)
        case list() | tuple():
            return [_redacted(settings, item) for item in value]
        case dict():
            return {name: _redacted(settings, item) for name, item in value.items()}
        case _:
            return value
