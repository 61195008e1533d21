"""The list of `config show`, and the value of one key."""

import msgspec
from msgspec import Struct

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings.keys import Key, known_keys
from hermes_jobs.settings.load import Settings
from hermes_jobs.settings.sources import named_key


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


def value_of(settings: Settings, name: str) -> Shown:
    """One key for display: by its name, a section's with one obvious key, or an entry's of a mapping.

    Raises `Misconfigured` where there is no such key, or a mapping has no such entry.
    """
    key = named_key(name, "config get")
    origin = settings.origins[key.mapping or key.name]
    if key.mapping is None:
        return Shown(key.name, _shown(settings, key.parts), origin, key.description)
    entries = _shown(settings, tuple(key.mapping.split(".")))
    if key.part:
        return Shown(key.name, _part_of(entries, key), origin, key.description)
    entry = key.parts[-1]
    if not isinstance(entries, dict) or entry not in entries:
        raise Misconfigured(
            f"{key.mapping} has no entry {entry!r}.", hint=f"hermes-jobs config get {key.mapping}"
        )
    return Shown(key.name, entries[entry], origin, key.description)


def _part_of(entries: object, key: Key) -> object:
    """The part of an entry. Raises `Misconfigured` where the entry, or what is named in it, is not there."""
    value, above = entries, key.mapping
    for part in key.parts[len(key.parts) - len(key.part) - 1 :]:
        if not isinstance(value, dict) or part not in value:
            raise Misconfigured(f"{above} has no entry {part!r}.", hint=f"hermes-jobs config get {above}")
        value, above = value[part], f"{above}.{part}"
    return value


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
